//! Base models m(x, t) of one class's mean outcome, or, told the class, of all classes'.

mod linear;
mod mlp;
mod net;
pub(crate) mod ridge;
mod shapes;

pub use linear::{LinearConfig, LinearMap};
pub use mlp::{Mlp, MlpConfig};
pub use net::{BaseConfig, Net};
pub use shapes::Shapes;

mod transformer;

#[cfg(test)]
mod contract;

pub use transformer::{Transformer, TransformerConfig};
mod unet;

pub use unet::{Unet, UnetConfig};

use burn::module::Module;
use burn::tensor::Tensor;

/// What a network is told of a batch of n units, everything standardised and flattened.
#[derive(Clone, Debug)]
pub struct Input {
    /// Covariates `[n, x elements]`; what is missing holds zero, the training mean.
    pub x: Tensor<2>,
    /// 1 where x is missing, `[n, x elements]`, for networks made for data with missing values.
    pub missing: Option<Tensor<2>>,
    /// Treatments `[n, d_t]`.
    pub t: Tensor<2>,
    /// The class, one-hot `[n, classes]`, for a network that serves all classes.
    pub class: Option<Tensor<2>>,
    /// The seed of this batch's dropout masks in training, None in evaluation. A network that drops nothing
    /// ignores it. The seed alone fixes the masks, whatever runs beside it: give every batch its own.
    pub dropout: Option<u64>,
}

/// A differentiable m(x, t).
pub trait Network: Module {
    /// # Shapes
    /// A batch of n units to standardised outcomes `[n, y elements]`.
    fn forward(&self, input: &Input) -> Tensor<2>;
}
