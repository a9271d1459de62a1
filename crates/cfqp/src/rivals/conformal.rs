//! Cross-conformal prediction: boosted trees on covariates and treatment, with intervals from their held-out residuals.
//!
//! ```text
//! m(x, t') +- q,  q = the quantile of |y_i - m_-i(x_i, t_i)| under weights w_i = p(t_i) / p(t_i | x_i)
//! ```
//!
//! Residuals are those on the scale of the regression, linear or logarithmic.
//!
//! The unit that is asked about has its own weight p(t') / p(t' | x) at infinity (weighted conformal prediction under a
//! shift of covariates: here from treatments as received to treatments that are set). Where enough units received the
//! level t', only their residuals count. Units' own outcomes are not used: these are intervals of what covariates and
//! treatment tell, with any noise.

use super::plain::{PlainForm, PlainRegression, Regressor, ResidualShare, Scale};
use super::{Counterfactual, PredictIntervals};
use crate::Result;
use crate::data::{Dataset, Units};
use crate::plain::{TreatmentRatio, treatment_levels};
use crate::runtime::Pool;

/// The level of the intervals.
const LEVEL: f64 = 0.9;
/// The smallest number of units whose residuals are used for their level alone.
const MIN_LEVEL_UNITS: usize = 50;

/// A regression with the residuals that its intervals come from.
#[derive(Clone, Debug)]
pub(super) struct Conformal {
    regression: PlainRegression,
    ratio: Option<TreatmentRatio>,
    all: Calibration,
    /// The residuals of units that received a level.
    levels: Vec<(Vec<f32>, Calibration)>,
}

/// Held-out residuals of some units.
#[derive(Clone, Debug)]
struct Calibration {
    /// For every element of y, sizes of residuals in ascending order, with the sum of weights up to each.
    elements: Vec<Vec<(f64, f64)>>,
}

impl Conformal {
    /// Fits the regression and keeps its held-out residuals.
    pub(super) fn fit(data: &Dataset, seed: u64, pool: &Pool) -> Result<Self> {
        let form = PlainForm { regressor: Regressor::Trees, share: ResidualShare::None };
        let regression = PlainRegression::fit(data, form, seed, pool)?;
        let predicted = regression.counterfactual(data, data.t())?;
        let ratio = TreatmentRatio::fit(data, seed);
        let weight =
            |i: usize| ratio.as_ref().map_or(1.0, |ratio| ratio.value(data.x(), i, &data.t().row(i)));
        let weights: Vec<f64> = (0..data.len()).map(weight).collect();
        let scale = regression.scale();
        let calibration = |rows: &[usize]| Calibration::new(data, scale, &predicted, &weights, rows);
        let of_level =
            |t: &[f32]| -> Vec<usize> { (0..data.len()).filter(|&i| data.t().row(i)[..] == *t).collect() };
        let levels = treatment_levels(data.t()).unwrap_or_default().into_iter();
        let levels = levels
            .filter(|level| level.units >= MIN_LEVEL_UNITS)
            .map(|level| (level.t.clone(), calibration(&of_level(&level.t))))
            .collect();
        let all = calibration(&(0..data.len()).collect::<Vec<_>>());
        Ok(Self { regression, ratio, all, levels })
    }
}

impl Calibration {
    fn new(data: &Dataset, scale: Scale, predicted: &Units, weights: &[f64], rows: &[usize]) -> Self {
        let (y, d) = (data.y(), data.y().elements());
        let element = |j: usize| {
            let observed = rows.iter().filter(|&&i| y.mask_row(i).is_none_or(|mask| mask[j]));
            let value = |units: &Units, i: usize| f64::from(scale.apply(units.values()[i * d + j]));
            let gap = |i: usize| (value(y, i) - value(predicted, i)).abs();
            let mut scores: Vec<(f64, f64)> = observed.map(|&i| (gap(i), weights[i])).collect();
            scores.sort_by(|a, b| a.0.total_cmp(&b.0));
            scores.iter_mut().fold(0.0, |sum, (_, weight)| {
                *weight += sum;
                *weight
            });
            scores
        };
        Self { elements: (0..d).map(element).collect() }
    }

    /// The quantile for element `j` of a unit with this weight. The largest residual stands for infinity.
    fn quantile(&self, j: usize, weight: f64) -> f64 {
        let scores = &self.elements[j];
        let Some(&(largest, total)) = scores.last() else { return 0.0 };
        let needed = LEVEL * (total + weight);
        let at = scores.partition_point(|(_, sum)| *sum < needed);
        scores.get(at).map_or(largest, |(score, _)| *score)
    }
}

impl Counterfactual for Conformal {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.regression.counterfactual(data, to)
    }

    fn validation_loss(&self) -> Option<f64> {
        self.regression.validation_loss()
    }

    fn intervals(&self) -> Option<&dyn PredictIntervals> {
        Some(self)
    }
}

impl PredictIntervals for Conformal {
    fn interval_ends(&self, data: &Dataset, to: &Units) -> Result<[Units; 2]> {
        let point = self.counterfactual(data, to)?;
        let (d, scale) = (point.elements(), self.regression.scale());
        let [mut lower, mut upper] = [point.values().to_vec(), point.values().to_vec()];
        for i in 0..data.len() {
            let t = to.row(if to.len() == 1 { 0 } else { i });
            let own = self.levels.iter().find(|(level, _)| level[..] == t[..]);
            let calibration = own.map_or(&self.all, |(_, calibration)| calibration);
            let weight = self.ratio.as_ref().map_or(1.0, |ratio| ratio.value(data.x(), i, &t));
            for j in 0..d {
                let width = calibration.quantile(j, weight);
                let centre = f64::from(scale.apply(point.values()[i * d + j]));
                (lower[i * d + j], upper[i * d + j]) =
                    (scale.restore(centre - width), scale.restore(centre + width));
            }
        }
        let units = |name: &str, values| Units::new(name, point.shape().to_vec(), values);
        Ok([units("lower", lower)?, units("upper", upper)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;
    use rand_distr::{Distribution, StandardNormal};

    /// Noise grows with x, and so does the chance of the treatment 1. With the outcome of every unit under 0.
    fn skewed(n: usize, seed: u64) -> (Dataset, Vec<f32>) {
        let rng = &mut stream(seed, &["skewed"]);
        let (mut x, mut t, mut y, mut second) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n {
            let own: f32 = rng.random_range(0.0..1.0);
            let treated = f32::from(u8::from(rng.random_range(0.0..1.0) < 0.1 + 0.8 * own));
            let mut noise = || (0.1 + 2.0 * own) * Distribution::<f32>::sample(&StandardNormal, rng);
            x.push(own);
            t.push(treated);
            y.push(own + 3.0 * treated + noise());
            second.push(own + noise());
        }
        let units = |values: Vec<f32>| Units::new("a", vec![1], values).unwrap();
        (Dataset::new(units(x), units(t), units(y)).unwrap(), second)
    }

    fn covered(conformal: &Conformal, data: &Dataset, truth: &[f32]) -> f64 {
        let to = Units::new("t", vec![1], vec![0.0]).unwrap();
        let [lower, upper] = conformal.interval_ends(data, &to).unwrap();
        let ends = lower.values().iter().zip(upper.values());
        let inside = ends.zip(truth).filter(|((lower, upper), y)| (*lower..=*upper).contains(y)).count();
        inside as f64 / truth.len() as f64
    }

    #[test]
    fn intervals_cover_what_they_say_although_treatments_depend_on_x() {
        let (data, second) = skewed(1500, 1);
        let mut fitted = Conformal::fit(&data, 1, &Pool::new(2).unwrap()).unwrap();
        let (new, truth) = skewed(1500, 2);
        let [own, other] = [covered(&fitted, &data, &second), covered(&fitted, &new, &truth)];
        assert!((0.87..0.93).contains(&own) && (0.87..0.93).contains(&other), "{own} {other}");
        // units that received 0 have little noise: without weights intervals are too narrow
        fitted.ratio = None;
        let rows: Vec<usize> = (0..1500).filter(|&i| data.t().row(i)[0] == 0.0).collect();
        let predicted = fitted.counterfactual(&data, data.t()).unwrap();
        fitted.levels[0].1 = Calibration::new(&data, Scale::Linear, &predicted, &[1.0; 1500], &rows);
        fitted.levels[1].1 = fitted.levels[0].1.clone();
        assert!(covered(&fitted, &new, &truth) < 0.85, "{}", covered(&fitted, &new, &truth));
    }
}
