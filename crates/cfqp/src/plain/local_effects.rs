//! Effects between two values of a continuous treatment: a doubly robust estimate from units treated nearly so.

use super::contrast::{Contrast, Estimate};
use super::level_effects::scale_to_mean_one;
use super::outcome_regression::OutcomeRegression;
use super::propensity::TreatmentDensity;
use crate::Result;

/// The smallest effective number of units near either treatment.
const MIN_EFFECTIVE: f64 = 20.0;
/// Densities are at least this share of their largest value, so that no unit counts too much.
const MIN_DENSITY: f64 = 0.05;

/// The mean over units of
///
/// ```text
/// m(x, to) - m(x, from) + (w_to - w_from) (y - m(x, t)),   w_a = K((t - a) / h) / f(a | x)
/// ```
///
/// with a Gaussian kernel K of width h = sd(t | x) n^(-1/5), the density f of a Gaussian linear model of t given x, both
/// from units of other folds, and weights scaled to a mean of 1. None for several treatments, or where too few units were
/// treated nearly so.
pub(super) fn doubly_robust_local(
    contrast: &Contrast<'_>,
    x: &[Vec<f32>],
    folds: &[usize],
    outcome: impl Fn() -> Result<OutcomeRegression>,
) -> Result<Option<Vec<Estimate>>> {
    let data = contrast.data;
    if data.t().elements() != 1 {
        return Ok(None);
    }
    let t: Vec<f64> = data.t().values().iter().map(|&t| t.into()).collect();
    let at = [&contrast.from, &contrast.to].map(|t| f64::from(t.row(0)[0]));
    let Some([from, to]) = local_weights(x, &t, at, folds) else { return Ok(None) };
    let regression = outcome()?;
    let [low, high, own] = [&contrast.from, &contrast.to, data.t()].map(|t| regression.held_out(data.x(), t));
    let estimate = |j: usize| {
        let term = |i: usize| {
            let at = i * contrast.outcomes + j;
            let residual = contrast.outcome(i, j) - f64::from(own[at]);
            f64::from(high[at] - low[at]) + (to[i] - from[i]) * residual
        };
        Estimate::from_terms(&(0..data.len()).map(term).collect::<Vec<_>>(), data.groups())
    };
    Ok(Some((0..contrast.outcomes).map(estimate).collect()))
}

/// The weights of every unit for two treatments; none if a treatment has too few units near it.
fn local_weights(x: &[Vec<f32>], t: &[f64], at: [f64; 2], folds: &[usize]) -> Option<[Vec<f64>; 2]> {
    let mut weights = at.map(|_| vec![0.0; x.len()]);
    for fold in 0..=folds.iter().max().copied().unwrap_or(0) {
        let (own, others): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|&i| folds[i] == fold);
        let density = TreatmentDensity::fit(x, t, &others)?;
        let width = density.deviation() * (x.len() as f64).powf(-0.2);
        for (weights, at) in weights.iter_mut().zip(at) {
            for &i in &own {
                let kernel = (-0.5 * ((t[i] - at) / width).powi(2)).exp();
                weights[i] = kernel / density.relative(&x[i], at).max(MIN_DENSITY);
            }
        }
    }
    let is_supported = |weights: &Vec<f64>| effective_units(weights) >= MIN_EFFECTIVE;
    weights.iter().all(is_supported).then(|| weights.map(scale_to_mean_one))
}

/// (sum_i w_i)^2 / sum_i w_i^2
fn effective_units(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}
