//! Files of arrays: numpy's `.npz`, IDX (MNIST) and the container of a fitted model.

mod atomic;
mod container;
mod deferring;
#[cfg(test)]
pub(crate) mod faulty;
mod idx;
mod mnist;
mod npy;
mod npz;
mod open;
mod retrying;
mod unfinished;

pub use atomic::write_atomically;
pub(crate) use container::{container_bytes, read_container, read_unverified, write_container};
pub(crate) use idx::read_from as read_idx_from;
pub use idx::{IdxArray, read_idx};
pub use mnist::{Mnist, MnistSplit};
pub(crate) use npy::check_bytes as check_npy;
pub use npz::{NpzArray, NpzValues, read_array, write_npz, write_npz_with};
pub(crate) use open::{open_file, read_bytes};
pub(crate) use retrying::Retrying;
pub use unfinished::remove_unfinished_files;
