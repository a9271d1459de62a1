//! Base models: m(x, t), the mean outcome of one class, or m(x, t, k) of all classes with the class as input.

mod batch;
#[cfg(test)]
mod contract;
mod linear;
mod mlp;
mod net;
pub(crate) mod ridge;
mod shapes;
mod size;
mod transformer;
mod unet;
mod y_scale;

pub(crate) use batch::{Batcher, ClassInput, Target};
pub use linear::LinearConfig;
pub(crate) use linear::LinearMap;
pub(crate) use mlp::Mlp;
pub use mlp::MlpConfig;
pub use net::BaseConfig;
pub(crate) use net::Net;
pub use shapes::Shapes;
pub use transformer::TransformerConfig;
pub(crate) use transformer::{Layer as TransformerLayer, Transformer, position_features};
pub use unet::UnetConfig;
pub(crate) use unet::{Frame, Unet};
pub use y_scale::YScale;

pub use crate::nn::TreatmentEmbeddingConfig;

use burn::module::Module;
use burn::tensor::Tensor;

/// The input of a network for a batch of n units, standardised and flattened.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Covariates `[n, x elements]`; missing values are zero, the training mean.
    pub x: Tensor<2>,
    /// 1 where x is missing, `[n, x elements]`, for networks for data with missing values.
    pub missing: Option<Tensor<2>>,
    /// Treatments `[n, d_t]`.
    pub t: Tensor<2>,
    /// The class, one-hot `[n, classes]`, for a network with the class as input.
    pub class: Option<Tensor<2>>,
    /// The seed of this batch's dropout masks in training, None in evaluation. The seed alone determines the masks, on
    /// any number of threads: give every batch its own.
    pub dropout: Option<u64>,
}

/// A differentiable m(x, t).
pub(crate) trait Network: Module {
    /// The mean outcomes of a batch, standardised.
    ///
    /// # Shapes
    /// a batch of n units to `[n, y elements]`
    fn forward(&self, input: &Input) -> Tensor<2>;
}
