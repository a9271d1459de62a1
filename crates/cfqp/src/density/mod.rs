//! Mixture density networks for short outcomes, where one look at an outcome does not tell the class.
//!
//! All class means, scales and weights are trained on the exact marginal likelihood. Forms of the network compete: they differ in
//! the number of classes, in how covariates change responses, in the noise, and in whether predictions of boosted trees and Gaussian
//! processes are a part of the means.
//! Each is fitted without every fold in turn; the networks of the best forms answer together, with weights by their held-out
//! likelihood.

mod additive;
mod alike;
mod basis;
mod candidate;
mod coefficients;
mod correlation;
mod discrete;
mod ensemble;
mod expected;
mod group;
mod heads;
mod jobs;
mod known;
mod law;
mod member;
mod members;
mod network;
mod numbers;
mod offsets;
mod refit;
mod regressor;
mod relevance;
mod rows;
mod scale;
mod selection;
mod streaming;
#[cfg(test)]
mod testing;
mod training;
mod views;

pub(crate) use basis::{T_HALF_RANGE, X_HALF_RANGE};
pub(crate) use correlation::Correlation;
pub(crate) use ensemble::{Ensemble, RowAnswer};
pub(crate) use expected::Expected;
pub(crate) use group::Group;
pub(crate) use heads::HeadLaw;
pub(crate) use jobs::{Finished, Jobs, KeptJobs};
pub(crate) use known::KnownRows;
pub(crate) use law::Noise;
pub use law::NoiseLaw;
pub(crate) use member::{FittedMember, Member, RowSummary};
pub(crate) use members::{JACKKNIFE_RATIO, MemberGroup, UnitErrors};
pub use network::ClassWeights;
pub(crate) use network::{Element, Form, HIDDEN, MAX_LOGIT_CHANGE, MAX_SCALE_CHANGE, T_COSINES};
pub(crate) use offsets::{Offsets, fit_offsets, row_folds};
pub(crate) use regressor::Regressor;
pub(crate) use rows::Rows;
pub(crate) use scale::{OutcomeRange, OutcomeScale};
pub(crate) use selection::{FOLDS, Problem, SUBJECTS_PER_CLASS, Selected, Tried, best_score};
pub(crate) use streaming::{Shards, Streamed};
pub(crate) use views::{Question, class_views};
