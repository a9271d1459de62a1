//! How much of held-out outcomes the model predicts from covariates and treatment.

use crate::data::Units;
use crate::model::HeldOutR2;
use crate::plain::clustered_error;

/// Predictions of the standardised outcomes of some units.
///
/// # Shapes
/// y and predicted `[rows, y elements]`
#[derive(Clone, Debug, Default)]
pub(super) struct HeldOutPredictions {
    pub rows: Vec<usize>,
    pub y: Vec<f32>,
    pub predicted: Vec<f32>,
}

impl HeldOutPredictions {
    /// Adds the predictions for other units.
    pub(super) fn append(&mut self, mut more: Self) {
        self.rows.append(&mut more.rows);
        self.y.append(&mut more.y);
        self.predicted.append(&mut more.predicted);
    }

    /// R2 against the mean of every element, over all elements that were observed in `outcomes`; none if they do not vary.
    /// Its standard error is clustered by `groups`, the subject of every row of the data.
    pub(super) fn r2(&self, outcomes: &Units, groups: Option<&[u32]>) -> Option<HeldOutR2> {
        let d = outcomes.elements();
        let observed = |i: usize, j: usize| outcomes.mask_row(self.rows[i]).is_none_or(|mask| mask[j]);
        let means: Vec<f64> = (0..d)
            .map(|j| {
                let own = (0..self.rows.len()).filter(|&i| observed(i, j));
                let (n, sum) =
                    own.fold((0.0, 0.0), |(n, sum), i| (n + 1.0, sum + f64::from(self.y[i * d + j])));
                sum / f64::max(n, 1.0)
            })
            .collect();
        let squares = |i: usize| {
            (0..d).filter(|&j| observed(i, j)).fold((0.0, 0.0), |(error, total), j| {
                let (y, predicted) = (f64::from(self.y[i * d + j]), f64::from(self.predicted[i * d + j]));
                (error + (y - predicted).powi(2), total + (y - means[j]).powi(2))
            })
        };
        let units: Vec<(f64, f64)> = (0..self.rows.len()).map(squares).collect();
        let (error, total) = units.iter().fold((0.0, 0.0), |(e, t), (error, total)| (e + error, t + total));
        if total <= 0.0 {
            return None;
        }
        let ratio = error / total;
        let influence: Vec<f64> = units.iter().map(|(error, own)| (error - ratio * own) / total).collect();
        let own: Option<Vec<u32>> = groups.map(|groups| self.rows.iter().map(|&row| groups[row]).collect());
        Some(HeldOutR2 { value: 1.0 - ratio, standard_error: clustered_error(&influence, own.as_deref()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r2(y: &[f32], predicted: &[f32]) -> Option<HeldOutR2> {
        let units = Units::new("y", vec![1], y.to_vec()).unwrap();
        let rows = (0..y.len()).collect();
        HeldOutPredictions { rows, y: y.to_vec(), predicted: predicted.to_vec() }.r2(&units, None)
    }

    #[test]
    fn r2_compares_with_the_mean() {
        let y = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(r2(&y, &y).unwrap(), HeldOutR2 { value: 1.0, standard_error: 0.0 });
        assert_eq!(r2(&y, &[2.5; 4]).unwrap(), HeldOutR2 { value: 0.0, standard_error: 0.0 });
        let worse = r2(&y, &[4.0, 3.0, 2.0, 1.0]).unwrap();
        assert!((worse.value + 3.0).abs() < 1e-9, "{worse:?}");
        assert_eq!(r2(&[1.0; 3], &[0.0; 3]), None);
        let noisy = r2(&[0.0, 1.0, 0.0, 1.0], &[0.0, 1.0, 0.0, 0.0]).unwrap();
        assert_eq!(noisy.value, 0.0);
        assert!((noisy.standard_error - 1.0).abs() < 0.4, "{noisy:?}");
    }
}
