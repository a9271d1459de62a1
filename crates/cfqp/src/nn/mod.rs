//! Layers and operations on Burn tensors.
//!
//! Initial weights are drawn from the library's own generator. Burn's generator is shared by the whole process, so that a
//! seed would not determine the weights of networks that are made on several threads.

mod adam;
mod attention;
mod block;
mod conv;
mod dropout;
mod embedding;
mod flex;
mod fused;
#[cfg(test)]
mod isa_tests;
mod kernels;
mod layer_norm;
mod linear;
mod loss;
mod norm;
mod perceptron;
mod relu;
#[cfg(test)]
pub(crate) mod testing;
mod weights;
mod window;

pub(crate) use block::{Channels, ConvBlock, ConvOut};
pub(crate) use window::Window;

pub(crate) use adam::Adam;
pub use embedding::TreatmentEmbeddingConfig;
pub(crate) use embedding::{Embedding, TreatmentEmbedding};
pub(crate) use linear::{Linear, linear_swish};
pub(crate) use weights::{load_weights, save_weights};

pub(crate) use attention::{Attention, Sequences};
pub(crate) use dropout::Dropout;
pub(crate) use fused::compose;
pub(crate) use kernels::release_buffers;
pub(crate) use layer_norm::{EPSILON as LAYER_NORM_EPSILON, LayerNorm};
pub(crate) use loss::squared_error;
pub(crate) use norm::{EPSILON as GROUP_NORM_EPSILON, GroupNorm};
pub(crate) use perceptron::{Gradients, Perceptron};
pub(crate) use relu::linear_relu;

use burn::tensor::{Tensor, TensorData, activation};

/// A tensor of `shape` with `values`.
pub(crate) fn tensor<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &burn::tensor::Device,
) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// swish(x) = x / (1 + exp(-x))
pub(crate) fn swish<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activation::silu(x)
}
