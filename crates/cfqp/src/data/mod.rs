//! Units: what was seen of them, in memory and in files.

mod batch;
mod dataset;
mod idx;
mod scaler;

pub(crate) use batch::{Batcher, Target, Told};
pub use dataset::{Dataset, Units, View};
pub use idx::{Idx, Mnist, MnistPart, read_idx};
pub use scaler::{Moments, Scaler};
