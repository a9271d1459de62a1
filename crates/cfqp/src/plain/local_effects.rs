//! Effects between two values of a continuous treatment: the weights of units treated nearly so.
//!
//! ```text
//! w_a = K((t - a) / h) / f(a | x)
//! ```
//!
//! with a Gaussian kernel K of width h = sd(t | x) n^(-1/5) and the density f of a Gaussian linear model of t given x, both from
//! units of other folds, and weights scaled to a mean of 1.

use super::level_effects::scale_to_mean_one;
use super::propensity::TreatmentDensity;

/// The smallest effective number of units near either treatment.
const MIN_EFFECTIVE: f64 = 20.0;
/// Densities are at least this share of their largest value, so that no unit counts too much.
const MIN_DENSITY: f64 = 0.05;

/// The weights of every unit for two treatments; none if a treatment has too few units near it.
pub(super) fn local_weights(
    x: &[Vec<f32>],
    t: &[f64],
    at: [f64; 2],
    folds: &[usize],
) -> Option<[Vec<f64>; 2]> {
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
