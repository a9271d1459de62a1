//! Two treatments to compare on some units, and the estimate of their difference.

use super::cluster_error::clustered_error;
use crate::data::{Dataset, Units};

/// An estimate of one outcome: the effect, its standard error and the number of units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub effect: f64,
    pub standard_error: f64,
    pub units: usize,
}

impl Estimate {
    /// The mean of `terms` over units, with a standard error clustered by subject.
    pub(super) fn from_terms(terms: &[f64], groups: Option<&[u32]>) -> Self {
        let n = terms.len() as f64;
        let effect = terms.iter().sum::<f64>() / n;
        let influence: Vec<f64> = terms.iter().map(|term| (term - effect) / n).collect();
        Self { effect, standard_error: clustered_error(&influence, groups), units: terms.len() }
    }
}

/// Units with every outcome as one number, and the two treatments to compare.
pub(super) struct Contrast<'a> {
    pub data: &'a Dataset,
    /// `[n, outcomes]`
    pub y: Vec<f32>,
    pub outcomes: usize,
    pub from: Units,
    pub to: Units,
}

impl Contrast<'_> {
    /// Outcome `j` of unit `i`.
    pub(super) fn outcome(&self, i: usize, j: usize) -> f64 {
        f64::from(self.y[i * self.outcomes + j])
    }
}
