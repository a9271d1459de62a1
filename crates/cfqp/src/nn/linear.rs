//! y = x W + b

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::RngExt as _;

use super::tensor;
use crate::Rng;

/// An affine map of the last axis.
///
/// # Shapes
/// weight `[inputs, outputs]`, bias `[outputs]`
#[derive(Module, Debug)]
pub struct Linear {
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) bias: Param<Tensor<1>>,
}

impl Linear {
    /// Weights and bias uniform within 1/sqrt(inputs), as in PyTorch.
    pub fn init(inputs: usize, outputs: usize, rng: &mut Rng, device: &Device) -> Self {
        let bound = 1.0 / (inputs as f32).sqrt();
        let mut draw = |n: usize| (0..n).map(|_| rng.random_range(-bound..=bound)).collect::<Vec<f32>>();
        Self {
            weight: Param::from_tensor(tensor(draw(inputs * outputs), [inputs, outputs], device)),
            bias: Param::from_tensor(tensor(draw(outputs), [outputs], device)),
        }
    }

    /// # Shapes
    /// `[n, inputs]` to `[n, outputs]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }
}
