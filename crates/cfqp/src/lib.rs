//! Counterfactual queries under hidden response classes.

mod data;
mod error;
mod models;
mod nn;
mod rng;

pub use data::{Dataset, Units, View};
pub use error::{Error, Result};
pub use models::{Input, Network, Shapes, Unet, UnetConfig};
pub use nn::*;
pub use rng::{Rng, stream};
