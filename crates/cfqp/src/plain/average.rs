//! Average effects of one treatment against another by plain estimators.
//!
//! - Difference of means of the units that received exactly these treatments, where both are levels of a treatment with
//!   few values: unadjusted, so confounded wherever covariates drive the treatment.
//! - Regression adjustment: the mean difference of the predictions of a cross-fitted ridge regression.
//! - Doubly robust: the same of the best of that regression, boosted trees and the mean of both, corrected by the weighted residuals of units that received the treatment (AIPW, with a
//!   logistic propensity) or nearly received it (continuous treatment: kernel weights over a Gaussian density).
//!
//! The adjusted ones assume that the covariates contain every common cause of treatment and outcome.

use std::ops::Range;

use serde::Serialize;

use super::cluster_error::clustered_error;
use super::contrast::{Contrast, Estimate};
use super::level_effects::{Levels, difference_of_means};
use super::levels::treatment_levels;
use super::outcome_regression::OutcomeRegression;
use super::regression::{CrossFitted, Outcomes};
use super::weights::ContrastWeights;
use crate::data::{Dataset, Units};
use crate::math::normal_half_width;
use crate::runtime::{Pool, Resources};
use crate::{Error, Result};

/// The largest number of units that estimates are made from ...
const MAX_UNITS: usize = 20_000;
/// ... and of units times covariates.
const MAX_VALUES: usize = 1_000_000;
/// The largest number of covariates.
const MAX_COVARIATES: usize = 256;
/// The smallest number of units of an adjusted estimate.
const MIN_UNITS: usize = 30;

/// A plain estimator of an average effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainMethod {
    /// The difference of the mean outcomes of units that received either treatment.
    DifferenceOfMeans,
    /// The mean difference of the predictions of a regression.
    Regression,
    /// A regression corrected by weighted residuals.
    DoublyRobust,
}

impl PlainMethod {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::DifferenceOfMeans => "difference of means",
            Self::Regression => "regression",
            Self::DoublyRobust => "doubly robust",
        }
    }
}

/// A plain estimate of an average effect, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlainEstimate {
    /// The estimator.
    pub method: PlainMethod,
    /// The average effect.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end of its interval.
    pub upper: f64,
    /// The number of units it is based on.
    pub units: usize,
}

/// Plain estimates of the average effect of `to` against `from` for every outcome, the mean of a range of elements of y.
/// At most 20,000 evenly spaced units are used, and only those with all outcomes observed. An estimate that the data do
/// not allow is left out: too few units, a treatment that nobody received, more than 256 covariates.
///
/// ```
/// use cfqp::data::{Dataset, Units};
/// use cfqp::plain::{PlainMethod, plain_estimates};
///
/// let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
/// for i in 0..200 {
///     let (covariate, treatment) = ((i % 17) as f32, (i % 2) as f32);
///     x.push(covariate);
///     t.push(treatment);
///     y.push(covariate + 3.0 * treatment + (i % 5) as f32);
/// }
/// let units = |values| Units::new("a", vec![1], values);
/// let data = Dataset::new(units(x)?, units(t)?, units(y)?)?;
/// let estimates = plain_estimates(&data, &[0..1], &[0.0], &[1.0], 0.9)?;
/// let robust = estimates[0].iter().find(|estimate| estimate.method == PlainMethod::DoublyRobust).unwrap();
/// assert!((robust.effect - 3.0).abs() < 3.0 * robust.standard_error);
/// # Ok::<(), cfqp::Error>(())
/// ```
///
/// # Errors
/// If the treatments have another dimension than those of the data.
pub fn plain_estimates(
    data: &Dataset,
    outcomes: &[Range<usize>],
    from: &[f32],
    to: &[f32],
    level: f64,
) -> Result<Vec<Vec<PlainEstimate>>> {
    let d_t = data.t().elements();
    if from.len() != d_t || to.len() != d_t {
        let problem = format!("{} and {} numbers per treatment, the data have {d_t}", from.len(), to.len());
        return Err(Error::data("treatment", problem, "give as many numbers as t has in the data"));
    }
    let mut found = vec![Vec::new(); outcomes.len()];
    let Some((units, y)) = observed_units(data, outcomes)? else { return Ok(found) };
    let treatment = |values: &[f32]| Units::new("treatment", vec![d_t], values.to_vec());
    let contrast =
        Contrast { data: &units, y, outcomes: outcomes.len(), from: treatment(from)?, to: treatment(to)? };
    let z = normal_half_width(level);
    for (method, estimates) in estimate_all(&contrast)? {
        for (found, estimate) in found.iter_mut().zip(estimates) {
            let Estimate { effect, standard_error, units } = estimate;
            let (lower, upper) = (effect - z * standard_error, effect + z * standard_error);
            if effect.is_finite() && standard_error.is_finite() {
                found.push(PlainEstimate { method, effect, standard_error, lower, upper, units });
            }
        }
    }
    Ok(found)
}

/// The estimates of every method that can be used, one per outcome.
fn estimate_all(contrast: &Contrast<'_>) -> Result<Vec<(PlainMethod, Vec<Estimate>)>> {
    let mut found = Vec::new();
    let levels = treatment_levels(contrast.data.t()).map(|_| Levels::new(contrast));
    if let Some(levels) = &levels {
        found.extend(difference_of_means(contrast, levels).map(|e| (PlainMethod::DifferenceOfMeans, e)));
    }
    if contrast.data.len() < MIN_UNITS || contrast.data.x().elements() > MAX_COVARIATES {
        return Ok(found);
    }
    let y = Outcomes { values: &contrast.y, outputs: contrast.outcomes };
    let regression = CrossFitted::fit(contrast.data, y, 0)?;
    found.push((PlainMethod::Regression, adjust(contrast, &regression)?));
    let x: Vec<Vec<f32>> =
        (0..contrast.data.len()).map(|i| regression.covariate_row(contrast.data.x(), i)).collect();
    let outcome = || -> Result<OutcomeRegression> {
        let pool = Pool::new(Resources::default().threads)?;
        OutcomeRegression::best(contrast.data, y, &regression, 0, &pool)
    };
    let (from, to) = (contrast.from.row(0), contrast.to.row(0));
    let weights = ContrastWeights::with_columns(contrast.data, &from, &to, &x, regression.folds());
    if let Some(weights) = weights {
        found.push((PlainMethod::DoublyRobust, doubly_robust(contrast, &weights, &outcome()?)));
    }
    Ok(found)
}

/// Augmented inverse probability weighting, cross-fitted: the mean over units of
///
/// ```text
/// m(x, to) - m(x, from) + (w_to - w_from) (y - m(x, t))
/// ```
fn doubly_robust(
    contrast: &Contrast<'_>,
    weights: &ContrastWeights,
    regression: &OutcomeRegression,
) -> Vec<Estimate> {
    let data = contrast.data;
    let [low, high, own] = [&contrast.from, &contrast.to, data.t()].map(|t| regression.held_out(data.x(), t));
    let estimate = |j: usize| {
        let term = |i: usize| {
            let at = i * contrast.outcomes + j;
            let residual = contrast.outcome(i, j) - f64::from(own[at]);
            f64::from(high[at] - low[at]) + weights.of(i) * residual
        };
        Estimate::from_terms(&(0..data.len()).map(term).collect::<Vec<_>>(), data.groups())
    };
    (0..contrast.outcomes).map(estimate).collect()
}

/// Regression adjustment. The influence of a unit is its own effect's and that of its residual on the regression.
fn adjust(contrast: &Contrast<'_>, regression: &CrossFitted) -> Result<Vec<Estimate>> {
    let Contrast { data, outcomes, from, to, .. } = contrast;
    let [low, high, own] = [from, to, data.t()].map(|t| regression.held_out(data.x(), t));
    let weights = regression.contrast_weights(data, from, to)?;
    let n = data.len();
    let estimate = |j: usize| {
        let effect = |i: usize| f64::from(high[i * outcomes + j] - low[i * outcomes + j]);
        let mean = (0..n).map(effect).sum::<f64>() / n as f64;
        let influence: Vec<f64> = (0..n)
            .map(|i| {
                let residual = contrast.outcome(i, j) - f64::from(own[i * outcomes + j]);
                (effect(i) - mean) / n as f64 + weights[i] * residual
            })
            .collect();
        Estimate { effect: mean, standard_error: clustered_error(&influence, data.groups()), units: n }
    };
    Ok((0..*outcomes).map(estimate).collect())
}

/// The units with all outcomes observed, at most as many as can be used, and their outcomes; none if there are none.
fn observed_units(data: &Dataset, outcomes: &[Range<usize>]) -> Result<Option<(Dataset, Vec<f32>)>> {
    let outcome = |i: usize, range: &Range<usize>| {
        let (values, mask) = (data.y().row(i), data.y().mask_row(i));
        let observed = range.clone().filter(|&j| mask.is_none_or(|mask| mask[j]));
        let (n, sum) = observed.fold((0.0, 0.0), |(n, sum), j| (n + 1.0, sum + f64::from(values[j])));
        (n > 0.0).then(|| (sum / n) as f32)
    };
    let row = |i: usize| outcomes.iter().map(|range| outcome(i, range)).collect::<Option<Vec<f32>>>();
    let rows: Vec<(usize, Vec<f32>)> = (0..data.len()).filter_map(|i| Some((i, row(i)?))).collect();
    if rows.is_empty() || outcomes.is_empty() {
        return Ok(None);
    }
    let max = MAX_UNITS.min((MAX_VALUES / data.x().elements()).max(MIN_UNITS));
    let step = rows.len().div_ceil(max);
    let (rows, y): (Vec<usize>, Vec<Vec<f32>>) = rows.into_iter().step_by(step).unzip();
    Ok(Some((data.pick(&rows)?, y.concat())))
}

#[cfg(test)]
#[path = "average_tests.rs"]
mod tests;
