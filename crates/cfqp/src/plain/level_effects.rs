//! Effects between two levels of a treatment that takes few values.

use super::cluster_error::clustered_error;
use super::contrast::{Contrast, Estimate};
use super::propensity::Propensity;

/// The smallest number of units that received each of both levels, for a difference of means.
const MIN_RECEIVED: usize = 10;
/// Probabilities of a level are at least this.
const MIN_PROBABILITY: f64 = 0.01;

/// Which units received either level.
pub(super) struct Levels {
    from: Vec<bool>,
    to: Vec<bool>,
}

impl Levels {
    pub(super) fn new(contrast: &Contrast<'_>) -> Self {
        let t = contrast.data.t();
        let received = |level: &[f32]| (0..t.len()).map(|i| t.row(i)[..] == *level).collect();
        Self { from: received(&contrast.from.row(0)), to: received(&contrast.to.row(0)) }
    }

    fn received(&self) -> usize {
        let count = |received: &[bool]| received.iter().filter(|received| **received).count();
        count(&self.from).min(count(&self.to))
    }
}

/// The difference of the mean outcomes of both levels, with the standard error of Welch, or clustered by subject.
pub(super) fn difference_of_means(contrast: &Contrast<'_>, levels: &Levels) -> Option<Vec<Estimate>> {
    if levels.received() < MIN_RECEIVED {
        return None;
    }
    let estimate = |j: usize| {
        let [from, to] = [&levels.from, &levels.to].map(|received| LevelMean::new(contrast, received, j));
        let standard_error = match contrast.data.groups() {
            None => (from.variance + to.variance).sqrt(),
            groups => {
                let influence: Vec<f64> =
                    to.influence.iter().zip(&from.influence).map(|(to, from)| to - from).collect();
                clustered_error(&influence, groups)
            }
        };
        Estimate { effect: to.mean - from.mean, standard_error, units: from.units + to.units }
    };
    Some((0..contrast.outcomes).map(estimate).collect())
}

/// The mean outcome of units that received a level.
struct LevelMean {
    mean: f64,
    /// The variance of the mean.
    variance: f64,
    /// What every unit adds to the error of the mean.
    influence: Vec<f64>,
    units: usize,
}

impl LevelMean {
    fn new(contrast: &Contrast<'_>, received: &[bool], j: usize) -> Self {
        let rows: Vec<usize> = (0..received.len()).filter(|&i| received[i]).collect();
        let n = rows.len() as f64;
        let mean = rows.iter().map(|&i| contrast.outcome(i, j)).sum::<f64>() / n;
        let mut influence = vec![0.0; received.len()];
        rows.iter().for_each(|&i| influence[i] = (contrast.outcome(i, j) - mean) / n);
        let variance = influence.iter().map(|value| value * value).sum::<f64>() * n / (n - 1.0);
        Self { mean, variance, influence, units: rows.len() }
    }
}

/// 1[received] / P(received | x) for every unit, from units of other folds, scaled to a mean of 1.
pub(super) fn level_weights(x: &[Vec<f32>], received: &[bool], folds: &[usize]) -> Vec<f64> {
    let mut weights = vec![0.0; x.len()];
    for fold in 0..=folds.iter().max().copied().unwrap_or(0) {
        let (own, others): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|&i| folds[i] == fold);
        let propensity = Propensity::fit(x, received, &others);
        for i in own.into_iter().filter(|&i| received[i]) {
            weights[i] = 1.0 / propensity.probability(&x[i]).max(MIN_PROBABILITY);
        }
    }
    scale_to_mean_one(weights)
}

/// `weights` divided by their mean.
pub(super) fn scale_to_mean_one(mut weights: Vec<f64>) -> Vec<f64> {
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    if mean > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= mean);
    }
    weights
}
