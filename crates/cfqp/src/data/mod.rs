//! Units: what was seen of them, in memory and in files.

mod dataset;
mod idx;

pub use dataset::{Dataset, Units, View};
pub use idx::{Idx, Mnist, MnistPart, read_idx};
