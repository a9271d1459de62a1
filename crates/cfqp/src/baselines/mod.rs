//! Rivals: other ways to answer the same question, on the same data, behind the same contract as our own model.
//!
//! | | |
//! |---|---|
//! | Deep-ITE | m(x, t') of one model for all units: ignores what the unit showed |
//! | SC | the unit's x rebuilt from training units that got t' |
//! | Deep-SCM | a conditional normalising flow: the unit's noise is read off and pushed through under t' |
//! | Diff-SCM | a diffusion: noise is read off along its probability flow and followed back under t' |
//! | CFQP, k-means or GMM | the published algorithm |
//!
//! None of them sees the truth. Each is fixed by data, settings and seed, to the bit, for any number of threads.

#[cfg(test)]
mod contract;
mod deep_scm;
mod descent;
mod diff_scm;
mod dopri;
mod flow;
mod method;
mod mixture;
mod pyramid;
mod simplex;
mod synthetic_control;

pub use deep_scm::{DeepScm, DeepScmConfig};
pub use diff_scm::{DiffScm, DiffScmConfig};
pub use method::{Method, MethodConfig};
pub use mixture::{DeepIte, Published};
pub use synthetic_control::{SyntheticControl, SyntheticControlConfig};

use crate::data::{Dataset, Units};
use crate::em::Fitted;
use crate::{Ask, Result};

/// A fitted method.
pub trait Counterfactual: Send + Sync {
    /// The outcome of each unit of `data`, had its treatment been that of `to`, in the units of the data.
    ///
    /// `to` has one treatment per unit, or one for all.
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units>;

    /// The mixture of classes behind the answers, where there is one, and how it is asked.
    fn mixture(&self) -> Option<(&Fitted, Ask)> {
        None
    }
}
