//! What a model predicts with: networks of class means, or mixture density networks.

use super::calibration::Calibration;
use super::mixture::Mixture;
use crate::density::Ensemble;

/// The fitted networks.
#[derive(Clone, Debug)]
pub(crate) enum Predictor {
    /// Networks of the class means, for series, images and other large outcomes.
    ClassNetworks(ClassNetworks),
    /// Mixture density networks, for outcomes of few elements.
    Density(Ensemble),
}

/// Networks of the class means, and what was learned about their errors.
#[derive(Clone, Debug)]
pub(crate) struct ClassNetworks {
    pub mixture: Mixture,
    /// Other solutions that held-out units do not rule out.
    pub alternatives: Vec<Mixture>,
    pub calibration: Calibration,
}

impl Predictor {
    /// The number of members.
    pub(crate) fn members(&self) -> usize {
        match self {
            Self::ClassNetworks(networks) => networks.mixture.members.len(),
            Self::Density(ensemble) => ensemble.members.len(),
        }
    }
}
