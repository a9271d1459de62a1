//! Counterfactual queries under hidden response classes: this unit had covariates x, got treatment t and showed
//! outcome y; what would it have shown under another treatment?
//!
//! Units of different hidden classes respond differently. A mixture of outcome models, one mean per class, is fitted
//! by EM; a query infers the unit's class and noise from what it showed, sets the new treatment and predicts. Equal
//! settings, data and seed give equal bits, whatever the number of threads.
//!
//! ```
//! use cfqp::sim::Oscillator;
//! use cfqp::{Ask, Base, Classes, FitConfig, Resources, Units, fit};
//!
//! # fn main() -> cfqp::Result<()> {
//! let world = Oscillator::default().simulate(300, 1)?;
//! let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
//! let model = fit(&world.data, None, &config, &Resources::default(), &())?;
//!
//! let half = Units::new("treatment", vec![1], vec![0.5])?;
//! let answers = model.query(&world.data, &half, &Ask::default())?;
//! assert_eq!(answers.point.shape(), [2, 20]);
//! assert!(answers.diagnoses.iter().filter(|unit| unit.ok()).count() > 250);
//! # Ok(())
//! # }
//! ```
//!
//! The map, in the order in which data flow:
//!
//! | | |
//! |---|---|
//! | data | [`Dataset`], [`Units`], [`View`], [`Scaler`]; `.npz`, IDX and model files |
//! | tables | [`Table`] by [`TableSpec`] from CSV, Parquet, Arrow; [`Layout`], [`Counts`], [`Study`] |
//! | simulators | [`sim`]: data whose counterfactuals are known |
//! | base models | [`Network`]: linear, multilayer perceptron, U-Net, transformer, on Burn |
//! | fitting | [`fit`] by [`FitConfig`]: starts, EM, choice of base model and K, ensemble, calibration; [`Fitted`] |
//! | asking | [`Fitted::query`], [`Fitted::effect`], [`Fitted::curve`] with an [`Ask`]; [`Answers`]; [`Tabulation`] |
//! | trusting | [`Fitted::judge`]: a [`Verdict`] for each assumption; [`Report`]: all that there is to say |
//! | rivals | [`Method`]: other ways to answer, all behind [`Counterfactual`] |
//! | judging | [`evaluate`], [`Comparison`] and the measures, where the truth is known |

mod baselines;
mod config;
mod data;
mod em;
mod error;
mod eval;
#[doc(hidden)]
pub mod measure;
mod models;
mod nn;
mod query;
mod rng;
pub mod sim;

pub use baselines::{
    Counterfactual, DeepIte, DeepScm, DeepScmConfig, DiffScm, DiffScmConfig, Method, MethodConfig, Own,
    Published, SyntheticControl, SyntheticControlConfig,
};
pub use config::{Base, Classes, FitConfig, Recipe, Sharing, Start};
pub use data::{
    Block, ColumnCount, Counts, Dataset, Dropped, Feature, Form, Format, Grid, Ids, Idx, Layout, Long, Mnist,
    MnistPart, Moments, NpzArray, NpzValues, Part, Parts, Scaler, Sheet, SheetCells, Study, Table, TableSpec,
    Tally, TreatedAt, Treatment, Units, View, columns_of, panics_are_errors, read_array, read_container,
    read_idx, write_atomically, write_container, write_npz, write_sheets,
};
pub use em::{
    Calibration, Choice, Clusters, DeviceKind, FitReport, Fitted, GaussianMixture, GaussianMixtureFit,
    KMeans, Monitor, Prior, Resources, Rows, Scales, Schedule, StartReport, Stillness, Support, Tried,
    compare_classes, fit,
};
pub use error::{Error, Result};
pub use eval::{
    Comparison, Coverage, Effects, Evaluation, MEASURES, Measure, Oracle, Pehe, Reference, Run, Scores,
    Showcase, Spread, Summary, ToldOracle, Trial, Watch, adjusted_rand_index, best_matching, class_accuracy,
    coverage, evaluate, mse, pehe, read_classes, read_truth, ssim, summarise,
};
pub use models::{
    BaseConfig, Input, LinearConfig, LinearMap, Mlp, MlpConfig, Net, Network, Shapes, Transformer,
    TransformerConfig, Unet, UnetConfig,
};
pub use nn::*;
pub use query::{
    Answers, Ask, Asked, AverageEffect, Averages, ClassSummary, CovariateMeans, Curve, Curves, Diagnosis,
    Evidence, Glance, Grade, Histogram, ModelSummary, OutcomeCurves, OutcomeEffects, OutcomeGlance, Report,
    ReportEffects, ReportQuestion, ReportSpec, Tabulation, TreatmentGlance, UnitCurve, UnitSummary, Verdict,
    repeat_over,
};
pub use rng::{Rng, stream};
