//! Baselines: a regression of the outcome on covariates and treatment, alone or with the unit's own residual. It is of boosted
//! trees or of Gaussian processes.
//!
//! ```text
//! m(x, t') + c (y - m(x, t))
//! ```
//!
//! with c = 0, c = 1, or c between: the share of a residual that a second measurement of the same subject has in common
//! with the first. It is the correlation of held-out residuals within subjects where the data have subjects with repeats,
//! else 0.5, the mean over a share of which nothing is known. A unit that the regression was fitted to is predicted by the
//! fold that left out its subject.
//!
//! Positive outcomes over several decades may be modelled on the logarithmic scale: whichever scale gives the held-out outcomes
//! the larger Gaussian likelihood.

use std::collections::HashMap;

use serde::Serialize;

use super::Counterfactual;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::math::mean;
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

/// What the regression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regressor {
    Trees,
    Process,
}

/// A regressor, and how much of the residual is added.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainForm {
    pub regressor: Regressor,
    pub share: ResidualShare,
}

/// The logarithmic scale is tried if the standard deviation of the logarithm of some outcome is above this.
const MIN_LOG_DEVIATION: f64 = 1.0;

/// The scale on which outcomes are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

impl Scale {
    pub(super) fn apply(self, y: f32) -> f32 {
        match self {
            Self::Linear => y,
            Self::Log => y.ln(),
        }
    }

    pub(super) fn restore(self, value: f64) -> f32 {
        match self {
            Self::Linear => value as f32,
            Self::Log => value.exp() as f32,
        }
    }

    /// The mean of the logarithm of the slope of this scale.
    fn log_slope(self, y: &Units) -> f64 {
        match self {
            Self::Linear => 0.0,
            Self::Log => {
                let logs: Vec<f64> = observed(y).map(|y| f64::from(y).ln()).collect();
                -mean(&logs)
            }
        }
    }
}

/// A fitted regression with a share of the residual.
#[derive(Clone, Debug)]
pub(super) struct PlainRegression {
    regression: OutcomeRegression,
    shapes: Shapes,
    scale: Scale,
    /// The mean and the deviation of every element of y, on this scale.
    moments: Vec<(f64, f64)>,
    share: f64,
    /// The fold of every unit that was fitted, by a hash of its values.
    folds: HashMap<u64, usize>,
}

impl PlainRegression {
    /// Fits the regression to `data`, on the scale with the larger held-out likelihood.
    pub(super) fn fit(data: &Dataset, form: PlainForm, seed: u64, pool: &Pool) -> Result<Self> {
        let linear = Self::on_scale(Scale::Linear, data, form, seed, pool)?;
        if !is_wide(data.y()) {
            return Ok(linear);
        }
        let log = Self::on_scale(Scale::Log, data, form, seed, pool)?;
        Ok(if log.log_likelihood(data.y()) > linear.log_likelihood(data.y()) { log } else { linear })
    }

    fn on_scale(scale: Scale, data: &Dataset, form: PlainForm, seed: u64, pool: &Pool) -> Result<Self> {
        let moments = moments(data.y(), scale);
        let y = standardise(data.y(), scale, &moments);
        let outputs = moments.len();
        let outcomes = Outcomes { values: &y, outputs };
        let regression = match form.regressor {
            Regressor::Trees => OutcomeRegression::fit(data, outcomes, seed, pool)?,
            Regressor::Process => OutcomeRegression::process(data, outcomes, seed, pool)?,
        };
        let folds = (0..data.len()).map(|i| (unit_hash(data, i), regression.folds()[i])).collect();
        let share = match form.share {
            ResidualShare::None => 0.0,
            ResidualShare::All => 1.0,
            ResidualShare::Learned => shared_part(data, &regression, &y).unwrap_or(UNKNOWN_SHARE),
        };
        Ok(Self { regression, shapes: Shapes::from_data(data), scale, moments, share, folds })
    }

    /// The scale on which outcomes are modelled.
    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// The Gaussian log-likelihood of a held-out outcome, the mean over units, up to a constant.
    fn log_likelihood(&self, y: &Units) -> f64 {
        let deviations = self.moments.iter().map(|(_, deviation)| deviation.ln()).collect::<Vec<_>>();
        self.scale.log_slope(y) - mean(&deviations) - 0.5 * self.regression.mse().max(1e-12).ln()
    }
}

/// The observed values.
fn observed(y: &Units) -> impl Iterator<Item = f32> {
    let is_observed = |i: &usize| y.mask().is_none_or(|mask| mask[*i]);
    (0..y.values().len()).filter(is_observed).map(|i| y.values()[i])
}

/// Whether all outcomes are positive, and one of them is spread over several decades.
fn is_wide(y: &Units) -> bool {
    observed(y).all(|y| y > 0.0)
        && moments(y, Scale::Log).iter().any(|(_, deviation)| *deviation > MIN_LOG_DEVIATION)
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
            let y = standardise(data.y(), self.scale, &self.moments);
            let observed = |i: &usize| data.y().mask().is_none_or(|mask| mask[*i]);
            for i in (0..y.len()).filter(observed) {
                answers[i] += self.share as f32 * (y[i] - factual[i]);
            }
        }
        for unit in answers.chunks_exact_mut(self.moments.len()) {
            for (value, (mean, deviation)) in unit.iter_mut().zip(&self.moments) {
                *value = self.scale.restore(mean + deviation * f64::from(*value));
            }
        }
        Units::new("answer", self.shapes.y.clone(), answers)
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.regression.mse())
    }
}

/// Mean and standard deviation of every element on a scale, over observed values; a deviation of 1 where it does not vary.
fn moments(y: &Units, scale: Scale) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0, 0.0); y.elements()];
    for i in 0..y.len() {
        let (values, mask) = (y.row(i), y.mask_row(i));
        for (j, sums) in sums.iter_mut().enumerate().filter(|(j, _)| mask.is_none_or(|mask| mask[*j])) {
            let value = f64::from(scale.apply(values[j]));
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

/// Standardised values on a scale; NaN where they are missing.
fn standardise(y: &Units, scale: Scale, moments: &[(f64, f64)]) -> Vec<f32> {
    let mut out = Vec::with_capacity(y.len() * y.elements());
    for i in 0..y.len() {
        let (values, mask) = (y.row(i), y.mask_row(i));
        out.extend(values.iter().zip(moments).enumerate().map(|(j, (value, (mean, deviation)))| {
            if mask.is_none_or(|mask| mask[j]) {
                ((f64::from(scale.apply(*value)) - mean) / deviation) as f32
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

    fn trees(share: ResidualShare) -> PlainForm {
        PlainForm { regressor: Regressor::Trees, share }
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
        let share = |kind, grouped| {
            PlainRegression::fit(&repeats(1500, grouped).0, trees(kind), 1, &pool()).unwrap().share
        };
        let learned = share(ResidualShare::Learned, true);
        assert!((learned - 0.75).abs() < 0.04, "{learned}");
        assert_eq!(share(ResidualShare::Learned, false), 0.5);
        assert_eq!((share(ResidualShare::None, true), share(ResidualShare::All, true)), (0.0, 1.0));
    }

    #[test]
    fn outcomes_over_many_decades_are_modelled_on_the_logarithmic_scale() {
        let (data, _) = repeats(300, false);
        let positive: Vec<f32> = data.y().values().iter().map(|y| (2.0 * y).exp()).collect();
        let y = Units::new("y", vec![1], positive).unwrap();
        let wide = Dataset::new(data.x().clone(), data.t().clone(), y).unwrap();
        let fit =
            |data: &Dataset| PlainRegression::fit(data, trees(ResidualShare::Learned), 1, &pool()).unwrap();
        assert_eq!((fit(&data).scale(), fit(&wide).scale()), (Scale::Linear, Scale::Log));
        let answers = fit(&wide).counterfactual(&wide, wide.t()).unwrap();
        assert!(answers.values().iter().all(|answer| *answer > 0.0));
    }

    #[test]
    fn a_shrunk_residual_has_the_smallest_error_where_noise_is_partly_shared() {
        let (data, second) = repeats(800, true);
        let to = Units::new("t", vec![1], vec![0.0]).unwrap();
        let error = |share: ResidualShare| {
            let answers = PlainRegression::fit(&data, trees(share), 1, &pool())
                .unwrap()
                .counterfactual(&data, &to)
                .unwrap();
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
        let fitted = PlainRegression::fit(&data, trees(ResidualShare::None), 1, &pool()).unwrap();
        assert_eq!(fitted.folds[&unit_hash(&data, 5)], fitted.regression.folds()[5]);
        let other = Dataset::new(data.x().clone(), data.t().clone(), data.t().clone()).unwrap();
        let [own, new] = [&data, &other].map(|data| fitted.counterfactual(data, data.t()).unwrap());
        assert_ne!(own, new);
    }
}
