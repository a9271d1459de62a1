//! Units: what was seen of them, in memory and in files.

mod dataset;

pub use dataset::{Dataset, Units, View};
