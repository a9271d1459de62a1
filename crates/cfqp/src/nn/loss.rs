//! The loss of networks.

use burn::tensor::Tensor;

use super::fused;

/// sum (output - y)^2 / count
///
/// # Shapes
/// output and y `[n, elements]`, to `[1]`; y is not differentiated
pub(crate) fn squared_error(output: Tensor<2>, y: Tensor<2>, count: f64) -> Tensor<1> {
    if fused::available(&output.device()) {
        fused::squared_error(output, y, (1.0 / count) as f32)
    } else {
        composed(output, y, count)
    }
}

/// The loss composed of Burn's operations: the definition, and the implementation for other devices.
fn composed(output: Tensor<2>, y: Tensor<2>, count: f64) -> Tensor<1> {
    (output - y).square().sum() / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_near, random, with_grads};
    use crate::stream;
    use burn::tensor::Device;

    #[test]
    fn the_fused_loss_equals_the_composed_one() {
        let device = Device::flex().autodiff();
        for shape in [[1, 1], [7, 5], [33, 130]] {
            let run = |loss: fn(Tensor<2>, Tensor<2>, f64) -> Tensor<1>| {
                let output = random(shape, &mut stream(1, &["output"]), &device);
                let y = random(shape, &mut stream(2, &["y"]), &device).detach();
                let loss = loss(output.clone(), y, 12.0);
                with_grads(Tensor::cat(vec![loss.clone(), loss], 0), |grads| {
                    grads.record(&output);
                })
            };
            assert_near(&run(squared_error), &run(composed), 1e-5);
        }
    }
}
