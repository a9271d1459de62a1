//! The affine map y = x W + b.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::RngExt as _;

use super::{fused, swish, tensor};
use crate::Rng;

/// An affine map of the last axis.
///
/// # Shapes
/// weight `[inputs, outputs]`, bias `[outputs]`
#[derive(Module, Debug)]
pub(crate) struct Linear {
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) bias: Param<Tensor<1>>,
}

impl Linear {
    /// Weights and bias uniform within 1/sqrt(inputs), as PyTorch initialises them.
    pub(crate) fn init(inputs: usize, outputs: usize, rng: &mut Rng, device: &Device) -> Self {
        let bound = 1.0 / (inputs as f32).sqrt();
        let mut draw = |n: usize| (0..n).map(|_| rng.random_range(-bound..=bound)).collect::<Vec<f32>>();
        Self {
            weight: Param::from_tensor(tensor(draw(inputs * outputs), [inputs, outputs], device)),
            bias: Param::from_tensor(tensor(draw(outputs), [outputs], device)),
        }
    }

    /// # Shapes
    /// `[n, inputs]` to `[n, outputs]`
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        if fused::available(&x.device()) {
            fused::linear(x, self.weight.val(), self.bias.val(), false)
        } else {
            self.composed(x)
        }
    }

    /// The map composed of Burn's operations: the definition, and the implementation for other devices.
    fn composed(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }
}

/// swish(x W + b), fused where the device supports it.
///
/// # Shapes
/// `[n, inputs]` to `[n, outputs]`
pub(crate) fn linear_swish(x: Tensor<2>, linear: &Linear) -> Tensor<2> {
    if fused::available(&x.device()) {
        fused::linear(x, linear.weight.val(), linear.bias.val(), true)
    } else {
        swish(linear.composed(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_near, random, with_grads};
    use crate::stream;

    #[test]
    fn the_fused_maps_equal_the_composed_ones() {
        let device = Device::flex().autodiff();
        for (n, inputs, outputs) in [(1, 3, 2), (7, 4, 33), (64, 20, 16)] {
            let linear = Linear::init(inputs, outputs, &mut stream(1, &["linear"]), &device);
            let run = |forward: fn(Tensor<2>, &Linear) -> Tensor<2>| {
                let x = random([n, inputs], &mut stream(2, &["x"]), &device);
                with_grads(forward(x.clone(), &linear), |grads| {
                    grads.record(&x).record(&linear.weight.val()).record(&linear.bias.val());
                })
            };
            assert_near(&run(linear_swish), &run(|x, linear| swish(linear.composed(x))), 1e-5);
            assert_near(&run(|x, linear| linear.forward(x)), &run(|x, linear| linear.composed(x)), 1e-5);
        }
    }
}
