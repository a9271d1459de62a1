//! Random choices.

use rand::RngExt as _;

use crate::Rng;
use crate::sim::{normal, uniform};

/// A value drawn in proportion to its weight.
///
/// # Panics
/// If there are no values.
pub(super) fn choose<T: Copy>(rng: &mut Rng, options: &[(f64, T)]) -> T {
    let mut left = rng.random::<f64>() * options.iter().map(|(weight, _)| weight).sum::<f64>();
    for &(weight, value) in options {
        left -= weight;
        if left < 0.0 {
            return value;
        }
    }
    options.last().expect("there is something to choose from").1
}

/// Whether an event of this probability happens.
pub(super) fn happens(rng: &mut Rng, probability: f64) -> bool {
    rng.random::<f64>() < probability
}

/// A number whose logarithm is uniform.
pub(super) fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    uniform(rng, low.ln(), high.ln()).exp()
}

/// `count` different numbers below `n`, in random order; all of them if there are fewer.
pub(super) fn choose_several(rng: &mut Rng, n: usize, count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..n).collect();
    let count = count.min(n);
    for i in 0..count {
        numbers.swap(i, rng.random_range(i..n));
    }
    numbers.truncate(count);
    numbers
}

/// A factor of 1 or -1.
pub(super) fn sign(rng: &mut Rng) -> f64 {
    if rng.random::<bool>() { 1.0 } else { -1.0 }
}

/// A standard normal.
pub(super) fn standard(rng: &mut Rng) -> f64 {
    normal(rng, 1.0)
}

/// Mean and standard deviation; a deviation of 0 is 1.
pub(super) fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (mean, if variance > 1e-12 { variance.sqrt() } else { 1.0 })
}
