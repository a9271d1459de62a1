//! Mixture density networks for outcomes of few elements, where one look at an outcome does not tell the class.
//!
//! All class means, scales and weights are trained on the exact marginal likelihood. An ensemble of networks, each
//! fitted to a random half of the subjects, answers as a mixture over members and classes.

mod additive;
mod alike;
mod calibration;
mod discrete;
mod ensemble;
mod heads;
mod jobs;
mod law;
mod levels;
mod member;
mod members;
mod network;
mod refit;
mod rows;
mod scale;
mod selection;
mod streaming;
#[cfg(test)]
mod testing;
mod training;
mod views;

pub(crate) use calibration::SecondWorld;
pub(crate) use ensemble::{Ensemble, IntervalQuestion, RowAnswer};
pub(crate) use heads::HeadLaw;
pub(crate) use jobs::{Finished, Jobs, KeptJobs};
pub(crate) use law::Noise;
pub use law::NoiseLaw;
pub(crate) use levels::{Correlation, LevelCalibration};
pub(crate) use member::{Member, RowSummary};
pub(crate) use members::FittedMember;
pub use network::ClassWeights;
pub(crate) use network::{
    Form, HIDDEN, MAX_LOGIT_CHANGE, MAX_SCALE_CHANGE, T_COSINES, T_HALF_RANGE, X_HALF_RANGE,
    interaction_count,
};
pub(crate) use rows::Rows;
pub(crate) use scale::OutcomeScale;
pub(crate) use selection::{Problem, Score, Selected, Tried};
pub(crate) use streaming::{Shards, Streamed};
pub(crate) use views::{Question, class_views};
