//! Units: what was seen of them, in memory and in files.

mod atomic;
mod container;
mod dataset;
mod npy;
mod npz;

pub use atomic::write_atomically;
pub use container::{read_container, write_container};
pub use dataset::{Dataset, Units, View};
pub use npz::{NpzArray, NpzValues, read_array, write_npz};
