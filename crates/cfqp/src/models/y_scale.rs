//! The setting for the scale of outcomes.

use serde::{Deserialize, Serialize};

/// The scale on which outcomes are modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YScale {
    /// For positive outcomes of at most 8 elements, the better of both on held-out units; else the scale of the data.
    #[default]
    Auto,
    /// The scale of the data.
    Linear,
    /// The logarithm: for positive outcomes of at most 8 elements.
    Log,
}
