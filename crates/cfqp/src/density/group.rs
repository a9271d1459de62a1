//! Members that answer together.

use serde::{Deserialize, Serialize};

/// Members of one form, with classes in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// The number of members.
    pub members: usize,
    /// The weight of their answers; those of all groups add up to 1.
    pub weight: f64,
    /// The variance of the error of the group's answer over that between its members.
    pub error_ratio: f64,
    /// The variance of responses that differ between units without a class of the fit, over that of the noise, for treatments far
    /// from the one received; 0 in models of 0.1.0.
    #[serde(default)]
    pub unseen_share: f64,
}
