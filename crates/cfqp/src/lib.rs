//! Counterfactual queries under hidden response classes.

mod config;
mod data;
mod em;
mod error;
mod models;
mod nn;
mod rng;

pub use data::{Dataset, Units, View};
pub use error::{Error, Result};
pub use models::{Input, Network, Shapes};
pub use nn::*;
pub use rng::{Rng, stream};
