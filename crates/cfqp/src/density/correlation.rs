//! The correlation of the noise under two treatments.

use serde::{Deserialize, Serialize};

use crate::math::UNIFORM_NODES;

/// The correlation of the noise under both treatments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Correlation {
    Known(f64),
    /// Uniform on [0, 1].
    Unknown,
}

impl Correlation {
    /// The mean of rho.
    pub(super) fn mean(self) -> f64 {
        match self {
            Self::Known(rho) => rho,
            Self::Unknown => 0.5,
        }
    }

    /// Weights and values.
    pub(super) fn nodes(self) -> Vec<(f64, f64)> {
        match self {
            Self::Known(rho) => vec![(1.0, rho)],
            Self::Unknown => UNIFORM_NODES.iter().map(|node| (node.weight, node.at)).collect(),
        }
    }
}
