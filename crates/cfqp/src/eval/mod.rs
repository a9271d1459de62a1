//! How good answers are.

mod classes;
mod evaluate;
mod measures;
mod ssim;

pub use classes::{adjusted_rand_index, best_matching, class_accuracy};
pub use evaluate::{Evaluation, Reference, evaluate, read_truth};
pub use measures::{Coverage, Pehe, coverage, mse, pehe};
pub use ssim::ssim;
