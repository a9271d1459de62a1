//! Counterfactual questions under hidden response classes: this unit had covariates x, received treatment t and showed
//! outcome y; what would its outcome have been under another treatment?
//!
//! Units of different hidden classes respond differently. A mixture of outcome models, one mean per class, is fitted by
//! EM. A question infers the unit's class and noise from its factual outcome, sets the new treatment and predicts. Equal
//! settings, data and seed give equal bits, for any number of threads.
//!
//! ```
//! use cfqp::sim::Oscillator;
//! use cfqp::{Base, Classes, Fit, FitConfig};
//!
//! # fn main() -> cfqp::Result<()> {
//! let simulated = Oscillator::default().simulate(300, 1)?;
//! let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
//! let model = Fit::new(config).run(&simulated.data)?;
//!
//! let answers = model.ask(&simulated.data).under(0.5).level(0.9).answers()?;
//! assert_eq!(answers.point.shape(), [2, 20]);
//! assert!(answers.diagnoses.iter().filter(|unit| unit.ok()).count() > 250);
//! # Ok(())
//! # }
//! ```
//!
//! The modules, in the order in which data flow; the names used most are re-exported here:
//!
//! | | |
//! |---|---|
//! | [`data`] | units, data sets, standardisation; `.npz`, IDX; [`data::table`]: CSV, Parquet and Arrow files |
//! | [`sim`] | simulators, whose counterfactuals are known |
//! | [`models`] | settings of the base models: linear, multilayer perceptron, U-Net, transformer; scale of outcomes |
//! | [`plain`] | average effects by difference of means, regression adjustment and doubly robust estimation |
//! | [`Fit`] | fits a [`Model`] by a [`FitConfig`]: starts, EM, choice of base model and K, ensemble, calibration |
//! | [`Model::ask`] | outcomes, effects and dose-response curves with intervals; [`ask`]: answers, averages, verdicts |
//! | [`report`] | everything a report on a model shows, as numbers |
//! | [`rivals`] | other methods behind the same interface |
//! | [`eval`] | measures and comparisons where the truth is known |
//!
//! # Features
//!
//! `wgpu` and `cuda` add graphics cards; without them networks run on the processor, with nothing to install.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod ask;
mod choice;
mod config;
pub mod data;
mod density;
mod error;
pub mod eval;
mod fit;
#[doc(hidden)]
pub mod fuzzing;
mod math;
#[doc(hidden)]
pub mod measure;
mod model;
pub mod models;
mod nn;
mod onnx;
pub mod plain;
mod process;
pub mod report;
pub mod rivals;
mod rng;
mod runtime;
mod search;
pub mod sim;
mod train;
mod trees;

pub use ask::{Answers, AskOptions, Rho};
pub use config::{Base, Classes, FitConfig, Recipe, Sharing, Start};
pub use data::table::{Layout, Table, TableSpec};
pub use data::{Dataset, Units};
pub use density::{ClassWeights, NoiseLaw};
pub use error::{Error, Result};
pub use fit::{Fit, Study};
pub use model::{ClassScore, FitReport, HeldOutR2, Model, SplitSizes, StartReport, TrainingLength};
pub(crate) use rng::{Rng, stream};
pub use runtime::{DeviceKind, Monitor, Resources, Stage};
