//! The fitted model: a mixture of outcome models with class weights and noise scales, calibration, support, abduction,
//! and the model file.

pub(crate) mod abduction;
mod calibration;
mod components;
mod density_units;
mod file;
mod fitted;
mod header;
mod mixture;
mod predictor;
mod prior;
mod report;
mod scales;
mod sparse_effects;
mod support;

pub(crate) use calibration::{Calibration, CalibrationElement, CalibrationUnit, MemberFactor};
pub(crate) use components::{Components, residuals};
pub(crate) use density_units::density_rows;
pub use fitted::Model;
pub(crate) use header::Header;
pub(crate) use mixture::{Joint, Mixture, class_residuals};
pub(crate) use predictor::{ClassNetworks, Predictor};
pub(crate) use prior::Prior;
pub use report::{ClassScore, FitReport, HeldOutR2, SplitSizes, StartReport, TrainingLength};
pub(crate) use scales::{Residuals, ScaleCurve, Scales};
pub(crate) use sparse_effects::SparseEffects;
pub(crate) use support::Support;
