//! The weights of units in a doubly robust estimate of a contrast.

use super::design::Columns;
use super::folds::regression_folds;
use super::level_effects::level_weights;
use super::levels::treatment_levels;
use super::local_effects::local_weights;
use crate::data::Dataset;
use crate::{Result, stream};

/// The smallest number of units that received each of both levels.
const MIN_RECEIVED: usize = 20;
/// The smallest number of units, and the largest number of covariates.
const MIN_UNITS: usize = 30;
const MAX_COVARIATES: usize = 256;

/// How much the residual of every unit counts for its outcome under either treatment: the inverse of the probability that it received
/// this treatment, or one near it, and 0 if it received another. Means are 1. Probabilities are those of units of other folds.
#[derive(Clone, Debug)]
pub(crate) struct ContrastWeights {
    pub from: Vec<f64>,
    pub to: Vec<f64>,
    /// Whether the treatments are amounts, near which units count the more the nearer they are.
    pub are_local: bool,
}

impl ContrastWeights {
    /// The weights for `to` against `from`; none if too few units received these treatments, or similar ones.
    ///
    /// # Errors
    /// If there are fewer than two units or subjects.
    pub(crate) fn fit(data: &Dataset, from: &[f32], to: &[f32], seed: u64) -> Result<Option<Self>> {
        if data.len() < MIN_UNITS || data.x().elements() > MAX_COVARIATES {
            return Ok(None);
        }
        let folds = regression_folds(data, seed)?;
        let columns = Columns::fit(data.x(), &mut stream(seed, &["plain", "weights"]));
        let x: Vec<Vec<f32>> = (0..data.len()).map(|i| columns.row(data.x(), i)).collect();
        Self::with_columns(data, from, to, &x, &folds).map(Ok).transpose()
    }

    /// The same, given the covariate columns and the fold of every unit.
    pub(super) fn with_columns(
        data: &Dataset,
        from: &[f32],
        to: &[f32],
        x: &[Vec<f32>],
        folds: &[usize],
    ) -> Option<Self> {
        let t = data.t();
        if treatment_levels(t).is_some() {
            let received =
                |level: &[f32]| -> Vec<bool> { (0..t.len()).map(|i| t.row(i)[..] == *level).collect() };
            let [from, to] = [from, to].map(received);
            let count = |received: &[bool]| received.iter().filter(|received| **received).count();
            let enough = count(&from).min(count(&to)) >= MIN_RECEIVED;
            return enough.then(|| Self {
                from: level_weights(x, &from, folds),
                to: level_weights(x, &to, folds),
                are_local: false,
            });
        }
        if t.elements() != 1 {
            return None;
        }
        let amounts: Vec<f64> = t.values().iter().map(|&t| t.into()).collect();
        let at = [f64::from(from[0]), f64::from(to[0])];
        let [from, to] = local_weights(x, &amounts, at, folds)?;
        Some(Self { from, to, are_local: true })
    }

    /// What the residual of unit `i` adds to its own effect.
    pub(crate) fn of(&self, i: usize) -> f64 {
        self.to[i] - self.from[i]
    }
}
