//! Counterfactual queries under hidden response classes.

mod config;
mod data;
mod em;
mod error;
mod models;
mod nn;
mod rng;
pub mod sim;

pub use data::{Dataset, Units, View};
pub use data::{Idx, Mnist, MnistPart, read_idx};
pub use error::{Error, Result};
pub use models::{Input, Network, Shapes, Transformer, TransformerConfig, Unet, UnetConfig};
pub use nn::*;
pub use rng::{Rng, stream};
