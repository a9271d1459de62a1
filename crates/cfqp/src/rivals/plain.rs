//! Baselines: boosted trees of the outcome on covariates and treatment, alone or with the unit's own residual.
//!
//! ```text
//! m(x, t') + c (y - m(x, t))
//! ```
//!
//! with c = 0, c = 1, or c between: the share of a residual that a second measurement of the same subject has in common
//! with the first. It is the correlation of held-out residuals within subjects where the data have subjects with repeats,
//! else 0.5, the mean over a share of which nothing is known. A unit that the regression was fitted to is predicted by the
//! fold that left out its subject.

use std::collections::HashMap;

use serde::Serialize;

use super::Counterfactual;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::models::Shapes;
use crate::plain::{OutcomeRegression, Outcomes, intraclass_correlation};
use crate::rng::fnv1a;
use crate::runtime::Pool;

/// The share of a residual that is carried over where the data do not tell it.
const UNKNOWN_SHARE: f64 = 0.5;

/// How much of a unit's residual is added to the prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum ResidualShare {
    None,
    All,
    /// What the units of a subject share.
    Learned,
}

/// A fitted regression with a share of the residual.
#[derive(Clone, Debug)]
pub(super) struct PlainRegression {
    regression: OutcomeRegression,
    shapes: Shapes,
    /// The mean and the deviation of every element of y.
    moments: Vec<(f64, f64)>,
    share: f64,
    /// The fold of every unit that was fitted, by a hash of its values.
    folds: HashMap<u64, usize>,
}

impl PlainRegression {
    /// Fits the regression to `data`.
    pub(super) fn fit(data: &Dataset, share: ResidualShare, seed: u64, pool: &Pool) -> Result<Self> {
        let moments = moments(data.y());
        let y = standardise(data.y(), &moments);
        let outputs = moments.len();
        let regression = OutcomeRegression::fit(data, Outcomes { values: &y, outputs }, seed, pool)?;
        let folds = (0..data.len()).map(|i| (unit_hash(data, i), regression.folds()[i])).collect();
        let share = match share {
            ResidualShare::None => 0.0,
            ResidualShare::All => 1.0,
            ResidualShare::Learned => shared_part(data, &regression, &y).unwrap_or(UNKNOWN_SHARE),
        };
        Ok(Self { regression, shapes: Shapes::from_data(data), moments, share, folds })
    }
}

/// The correlation of held-out residuals within subjects; none if no subject has repeats.
fn shared_part(data: &Dataset, regression: &OutcomeRegression, y: &[f32]) -> Option<f64> {
    let groups = data.groups()?;
    let predicted = regression.held_out(data.x(), data.t());
    // missing where the outcome is
    let residuals: Vec<f64> = y.iter().zip(&predicted).map(|(y, m)| f64::from(y - m)).collect();
    intraclass_correlation(&residuals, data.y().elements(), groups)
}

impl Counterfactual for PlainRegression {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.shapes.check(data)?;
        self.shapes.check_treatments(to, data.len())?;
        let fold = |i: usize| self.folds.get(&unit_hash(data, i)).copied();
        let mut answers = self.regression.predict(data.x(), to, fold);
        if self.share > 0.0 {
            let factual = self.regression.predict(data.x(), data.t(), fold);
            let y = standardise(data.y(), &self.moments);
            let observed = |i: &usize| data.y().mask().is_none_or(|mask| mask[*i]);
            for i in (0..y.len()).filter(observed) {
                answers[i] += self.share as f32 * (y[i] - factual[i]);
            }
        }
        for unit in answers.chunks_exact_mut(self.moments.len()) {
            for (value, (mean, deviation)) in unit.iter_mut().zip(&self.moments) {
                *value = (mean + deviation * f64::from(*value)) as f32;
            }
        }
        Units::new("answer", self.shapes.y.clone(), answers)
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.regression.mse())
    }
}

/// Mean and standard deviation of every element, over observed values; a deviation of 1 where it does not vary.
fn moments(y: &Units) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0, 0.0); y.elements()];
    for i in 0..y.len() {
        let (values, mask) = (y.row(i), y.mask_row(i));
        for (j, sums) in sums.iter_mut().enumerate().filter(|(j, _)| mask.is_none_or(|mask| mask[*j])) {
            let value = f64::from(values[j]);
            *sums = (sums.0 + 1.0, sums.1 + value, sums.2 + value * value);
        }
    }
    let moments = |(count, sum, squares): (f64, f64, f64)| {
        let mean = sum / count.max(1.0);
        let variance = squares / count.max(1.0) - mean * mean;
        (mean, if variance > 1e-12 * mean.abs().max(1e-6) { variance.sqrt() } else { 1.0 })
    };
    sums.into_iter().map(moments).collect()
}

/// Standardised values; NaN where they are missing.
fn standardise(y: &Units, moments: &[(f64, f64)]) -> Vec<f32> {
    let mut out = Vec::with_capacity(y.len() * y.elements());
    for i in 0..y.len() {
        let (values, mask) = (y.row(i), y.mask_row(i));
        out.extend(values.iter().zip(moments).enumerate().map(|(j, (value, (mean, deviation)))| {
            if mask.is_none_or(|mask| mask[j]) {
                ((f64::from(*value) - mean) / deviation) as f32
            } else {
                f32::NAN
            }
        }));
    }
    out
}

/// A hash of the values of a unit, by which it is recognised.
fn unit_hash(data: &Dataset, i: usize) -> u64 {
    let arrays = [data.x(), data.t(), data.y()];
    fnv1a(
        arrays
            .into_iter()
            .flat_map(|units| units.row(i).iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    fn pool() -> Pool {
        Pool::new(2).unwrap()
    }

    /// Subjects with two units each: y = x + t + shared + own noise, with variances 3 and 1.
    fn repeats(subjects: usize, grouped: bool) -> (Dataset, Vec<f32>) {
        let rng = &mut stream(4, &["repeats"]);
        let mut normal = || Distribution::<f32>::sample(&StandardNormal, rng);
        let (mut x, mut t, mut y, mut second) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..subjects {
            let shared = 3.0_f32.sqrt() * normal();
            for _ in 0..2 {
                let (own_x, own_t) = (normal(), normal());
                x.push(own_x);
                t.push(own_t);
                y.push(own_x + own_t + shared + normal());
                second.push(own_x + shared + normal());
            }
        }
        let units = |values: Vec<f32>| Units::new("a", vec![1], values).unwrap();
        let data = Dataset::new(units(x), units(t), units(y)).unwrap();
        let groups = (0..2 * subjects as u32).map(|i| i / 2).collect();
        (if grouped { data.with_groups(groups).unwrap() } else { data }, second)
    }

    #[test]
    fn the_share_of_the_residual_is_learned_from_repeats() {
        let share =
            |kind, grouped| PlainRegression::fit(&repeats(1500, grouped).0, kind, 1, &pool()).unwrap().share;
        let learned = share(ResidualShare::Learned, true);
        assert!((learned - 0.75).abs() < 0.04, "{learned}");
        assert_eq!(share(ResidualShare::Learned, false), 0.5);
        assert_eq!((share(ResidualShare::None, true), share(ResidualShare::All, true)), (0.0, 1.0));
    }

    #[test]
    fn a_shrunk_residual_has_the_smallest_error_where_noise_is_partly_shared() {
        let (data, second) = repeats(800, true);
        let to = Units::new("t", vec![1], vec![0.0]).unwrap();
        let error = |share: ResidualShare| {
            let answers =
                PlainRegression::fit(&data, share, 1, &pool()).unwrap().counterfactual(&data, &to).unwrap();
            let gaps = answers.values().iter().zip(&second).map(|(a, b)| f64::from(a - b).powi(2));
            gaps.sum::<f64>() / second.len() as f64
        };
        // the variances of the second measurement given nothing, the first, and the first with the right share
        let [none, all, learned] =
            [ResidualShare::None, ResidualShare::All, ResidualShare::Learned].map(error);
        assert!(
            (none - 4.0).abs() < 0.4 && (all - 2.0).abs() < 0.3 && (learned - 1.75).abs() < 0.2,
            "{none} {all} {learned}"
        );
    }

    #[test]
    fn fitted_units_are_recognised_and_others_get_the_mean_over_folds() {
        let (data, _) = repeats(30, false);
        let fitted = PlainRegression::fit(&data, ResidualShare::None, 1, &pool()).unwrap();
        assert_eq!(fitted.folds[&unit_hash(&data, 5)], fitted.regression.folds()[5]);
        let other = Dataset::new(data.x().clone(), data.t().clone(), data.t().clone()).unwrap();
        let [own, new] = [&data, &other].map(|data| fitted.counterfactual(data, data.t()).unwrap());
        assert_ne!(own, new);
    }
}
