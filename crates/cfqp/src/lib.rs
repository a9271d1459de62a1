//! Counterfactual queries under hidden response classes.

mod data;
mod em;
mod error;
mod eval;
mod models;
mod nn;
mod rng;

pub use data::{
    Dataset, NpzArray, NpzValues, Units, View, read_array, read_container, write_atomically, write_container,
    write_npz,
};
pub use em::{Choice, Clusters, KMeans, Mixture, MixtureFit, Rows};
pub use error::{Error, Result};
pub use eval::{
    Coverage, Pehe, adjusted_rand_index, best_matching, class_accuracy, coverage, mse, pehe, ssim,
};
pub use models::{Input, Network, Shapes};
pub use nn::*;
pub use rng::{Rng, stream};
