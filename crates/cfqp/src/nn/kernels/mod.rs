//! Fused operations on plain slices for the CPU, independent of Burn.
//!
//! Two rules give the same bits on any number of threads: a batch is split into parts by its size only, each processed by
//! one thread; and sums over parts are taken in the order of the parts. Loops are compiled for several instruction sets
//! and dispatched at run time; their arithmetic has a fixed order, so that the choice does not change the result. Matrix
//! products have a kernel of their own for each instruction set, and differ in their last bits.

#[macro_use]
mod vectorised;

mod adam;
mod batch_split;
mod block;
mod buffer;
mod columns;
mod convolution;
mod error;
mod linear;
mod norm;
mod output;

pub(crate) use adam::{AdamStep, adam};
pub(crate) use block::{Block, SavedActivations};
pub(crate) use buffer::{Buffer, release_buffers};
pub(crate) use convolution::Convolution;
pub(crate) use error::{scaled_difference, sum_of_squares};
pub(crate) use linear::Affine;
pub(crate) use output::OutputLayer;
pub(in crate::nn) use vectorised::exp;
