//! Counterfactual queries under hidden response classes.

mod config;
mod data;
mod em;
mod error;
mod eval;
mod models;
mod nn;
mod query;
mod rng;
pub mod sim;

pub use config::{Base, Classes, FitConfig, Recipe, Sharing, Start};
pub use data::{
    Dataset, Idx, Mnist, MnistPart, Moments, NpzArray, NpzValues, Scaler, Units, View, read_array,
    read_container, read_idx, write_atomically, write_container, write_npz,
};
pub use em::{
    Calibration, Choice, Clusters, DeviceKind, FitReport, Fitted, GaussianMixture, GaussianMixtureFit,
    KMeans, Monitor, Prior, Resources, Rows, Scales, Schedule, StartReport, Support, Tried, fit,
};
pub use error::{Error, Result};
pub use eval::{
    Coverage, Evaluation, Pehe, Reference, adjusted_rand_index, best_matching, class_accuracy, coverage,
    evaluate, mse, pehe, read_truth, ssim,
};
pub use models::{
    BaseConfig, Input, LinearConfig, LinearMap, Mlp, MlpConfig, Net, Network, Shapes, Transformer,
    TransformerConfig, Unet, UnetConfig,
};
pub use nn::*;
pub use query::{Answers, Ask, Diagnosis};
pub use rng::{Rng, stream};
