//! How good answers are.

mod classes;
mod measures;
mod ssim;

pub use classes::{adjusted_rand_index, best_matching, class_accuracy};
pub use measures::{Coverage, Pehe, coverage, mse, pehe};
pub use ssim::ssim;
