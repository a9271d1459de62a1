//! Residual addition and layer norm: y = (z - mean) / sqrt(variance + 1e-5) * gain + bias with z = x + a m, over the last
//! axis, where a is the result of a layer with input x, and m a dropout mask.

mod fused;

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, module::layer_norm};

use super::dropout::{Dropout, Mask, SharedMask, masked};
use super::fused::available;

/// Added to the variance.
pub(crate) const EPSILON: f32 = 1e-5;

/// Layer norm with a gain and a bias per column.
///
/// # Shapes
/// gain and bias `[width]`
#[derive(Module, Debug)]
pub(crate) struct LayerNorm {
    pub(crate) gain: Param<Tensor<1>>,
    pub(crate) bias: Param<Tensor<1>>,
}

impl LayerNorm {
    /// Gain one, bias zero.
    pub(crate) fn init(width: usize, device: &Device) -> Self {
        Self {
            gain: Param::from_tensor(Tensor::ones([width], device)),
            bias: Param::from_tensor(Tensor::zeros([width], device)),
        }
    }

    /// norm(x + a m)
    ///
    /// # Shapes
    /// x and a `[n, width]` to `[n, width]`
    pub(crate) fn add(&self, x: Tensor<2>, a: Tensor<2>, dropout: &mut Dropout) -> Tensor<2> {
        let mask = dropout.mask(a.shape().num_elements());
        if available(&x.device()) {
            fused::add(x, a, self.gain.val(), self.bias.val(), mask.map(Arc::new))
        } else {
            self.composed(x, a, mask.as_ref())
        }
    }

    /// The operation composed of Burn's own: the definition, and the implementation for other devices.
    fn composed(&self, x: Tensor<2>, a: Tensor<2>, mask: Option<&Mask>) -> Tensor<2> {
        layer_norm(x + masked(a, mask), self.gain.val(), Some(self.bias.val()), EPSILON.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nn::tensor, stream};
    use rand::RngExt as _;

    #[test]
    fn the_fused_operation_is_the_composition_forward_and_backward() {
        let device = Device::flex().autodiff();
        let mut rng = stream(1, &["norm"]);
        for (rows, width, rate) in [(3, 5, 0.0), (700, 64, 0.2), (600, 24, 0.0)] {
            let mut draw = |n: usize| (0..n).map(|_| rng.random_range(-2.0..2.0)).collect::<Vec<f32>>();
            let [x, a, weight] = [(); 3].map(|()| tensor::<2>(draw(rows * width), [rows, width], &device));
            let [gain, bias] = [(); 2].map(|()| Param::from_tensor(tensor(draw(width), [width], &device)));
            let norm = LayerNorm { gain, bias };
            let (x, a) = (x.require_grad(), a.require_grad());
            let mask = Dropout::new(rate, Some(4)).mask(rows * width);
            let composed = norm.composed(x.clone(), a.clone(), mask.as_ref());
            let fused = norm.add(x.clone(), a.clone(), &mut Dropout::new(rate, Some(4)));
            assert!(fused.clone().all_close(composed.clone(), Some(1e-4), Some(1e-5)));
            let [fused, composed] = [fused, composed].map(|y| {
                let grads = (y * weight.clone()).sum().backward();
                let vector = |v: &Param<Tensor<1>>| v.val().grad(&grads).unwrap().reshape([1, width]);
                let all =
                    [x.grad(&grads), a.grad(&grads), Some(vector(&norm.gain)), Some(vector(&norm.bias))];
                Tensor::cat(all.map(Option::unwrap).to_vec(), 0)
            });
            assert!(fused.all_close(composed, Some(1e-4), Some(2e-4)));
        }
    }
}
