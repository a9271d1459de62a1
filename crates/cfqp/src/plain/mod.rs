//! Plain estimates: a cross-fitted regression of the outcome on covariates and treatment, and average effects by
//! difference of means, regression adjustment and doubly robust estimation. They know nothing of classes and are shown
//! beside the model's answers. Standard errors are clustered by subject where units belong to subjects.

mod average;
mod cluster_error;
mod contrast;
mod design;
mod folds;
mod level_effects;
mod levels;
mod local_effects;
mod outcome_regression;
mod process_regression;
mod propensity;
mod regression;
mod treatment_ratio;
mod tree_regression;
mod weights;

pub use average::{PlainEstimate, PlainMethod, plain_estimates};
pub(crate) use cluster_error::{clustered_error, intraclass_correlation};
pub(crate) use levels::treatment_levels;
pub(crate) use outcome_regression::OutcomeRegression;
pub(crate) use regression::Outcomes;
pub(crate) use treatment_ratio::TreatmentRatio;
pub(crate) use weights::ContrastWeights;
