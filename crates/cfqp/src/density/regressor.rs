//! Regressors whose predictions are a part of the means of networks.

use crate::process::Process;
use crate::trees::Boosted;

/// A regressor that was fitted without one fold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Regressor {
    Trees(Boosted),
    Process(Process),
}

impl Regressor {
    /// The prediction for standardised inputs.
    pub(crate) fn predict(&self, inputs: &[f32]) -> f64 {
        match self {
            Self::Trees(trees) => trees.predict(inputs),
            Self::Process(process) => process.predict(inputs),
        }
    }
}
