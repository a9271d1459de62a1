//! Class probabilities: constant, or by covariates.

use serde::{Deserialize, Serialize};

use super::draw::choose;
use super::surface::Surface;
use crate::Rng;
use crate::sim::uniform;

/// What the class probabilities depend on, or what depends on the class besides the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightKind {
    /// Constant.
    Constant,
    /// By covariates.
    Covariates,
    /// Constant, but the class drives the treatment.
    DrivesTreatment,
}

/// w_k(x) ~ exp(level_k + s_k(x))
#[derive(Clone, Debug)]
pub(super) struct Weights {
    levels: Vec<f64>,
    surfaces: Option<Vec<(f64, Surface)>>,
}

impl Weights {
    pub(super) fn new(rng: &mut Rng, classes: usize, surfaces: Option<Vec<Surface>>) -> Self {
        let levels = (0..classes).map(|_| uniform(rng, -0.6, 0.6)).collect();
        let surfaces = surfaces.map(|all| all.into_iter().map(|one| (uniform(rng, 0.6, 1.8), one)).collect());
        Self { levels, surfaces }
    }

    /// log w_k(x), up to a constant.
    pub(super) fn logs(&self, x: &[f64]) -> Vec<f64> {
        let log = |(k, level): (usize, &f64)| match &self.surfaces {
            None => *level,
            Some(surfaces) => level + surfaces[k].0 * surfaces[k].1.at(x),
        };
        self.levels.iter().enumerate().map(log).collect()
    }

    pub(super) fn draw(&self, rng: &mut Rng, x: &[f64]) -> usize {
        let weights: Vec<(f64, usize)> = self.logs(x).iter().map(|log| log.exp()).zip(0..).collect();
        choose(rng, &weights)
    }
}
