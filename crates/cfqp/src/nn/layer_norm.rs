//! y = (x - mean) / sqrt(variance + 1e-5) * gain + bias, over the last axis

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, module::layer_norm};

/// Normalisation of each row.
///
/// # Shapes
/// gain and bias `[width]`
#[derive(Module, Debug)]
pub struct LayerNorm {
    pub(crate) gain: Param<Tensor<1>>,
    pub(crate) bias: Param<Tensor<1>>,
}

impl LayerNorm {
    /// Gain one, bias zero.
    pub fn init(width: usize, device: &Device) -> Self {
        Self {
            gain: Param::from_tensor(Tensor::ones([width], device)),
            bias: Param::from_tensor(Tensor::zeros([width], device)),
        }
    }

    /// # Shapes
    /// `[n, width]` to `[n, width]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        layer_norm(x, self.gain.val(), Some(self.bias.val()), 1e-5)
    }
}
