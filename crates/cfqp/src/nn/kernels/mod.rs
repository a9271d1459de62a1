//! Fused operations on plain slices for the CPU, free of Burn.
//!
//! Two rules give the same bits on any number of threads: a batch is cut into parts by its size alone, each part
//! worked on by one thread; and what the parts sum up is added in their order. Loops are compiled for several
//! instruction sets and chosen at run time; they keep to element-wise arithmetic in a fixed order, so that the
//! choice does not change the result. (The matrix products have their own kernel for each instruction set.)

#[macro_use]
mod vectorised;

mod adam;
mod block;
mod buffer;
mod columns;
mod convolution;
mod error;
mod linear;
mod matrix;
mod norm;
mod out;
mod parts;

pub(crate) use adam::{Step, adam};
pub(crate) use block::{Block, Saved};
pub(crate) use buffer::{Buffer, release_buffers};
pub(crate) use convolution::Convolution;
pub(crate) use error::{scaled_difference, sum_of_squares};
pub(crate) use linear::Affine;
pub(crate) use out::Out;
pub(in crate::nn) use vectorised::exp;
