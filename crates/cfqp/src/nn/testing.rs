//! Helpers of the tests of operations.

use burn::tensor::{Device, Gradients, Tensor};
use rand::RngExt as _;

use super::tensor;
use crate::Rng;

/// A tensor of values between -1 and 1 that requires a gradient.
pub(crate) fn random<const D: usize>(shape: [usize; D], rng: &mut Rng, device: &Device) -> Tensor<D> {
    let values = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
    tensor(values, shape, device).require_grad()
}

/// Records the output of an operation and the gradients of a loss that weights each of its elements differently.
pub(crate) struct Grads {
    grads: Gradients,
    values: Vec<Vec<f32>>,
}

impl Grads {
    /// Records the gradient of `tensor`.
    pub(crate) fn record<const D: usize>(&mut self, tensor: &Tensor<D>) -> &mut Self {
        let grad = tensor.grad(&self.grads).expect("every input has a gradient");
        self.values.push(grad.into_data().try_into_vec().unwrap());
        self
    }
}

/// The output and the gradients that `inputs` records.
pub(crate) fn with_grads<const D: usize>(y: Tensor<D>, inputs: impl FnOnce(&mut Grads)) -> Vec<Vec<f32>> {
    let dims = y.dims();
    let weights = (0..dims.iter().product()).map(|i| (i as f32 * 0.7).sin()).collect();
    let weights = tensor(weights, dims, &y.device());
    let values = vec![y.clone().into_data().try_into_vec().unwrap()];
    let mut grads = Grads { grads: (y * weights).sum().backward(), values };
    inputs(&mut grads);
    grads.values
}

/// Asserts that arrays agree within `tolerance` times their largest element, or times 1 where that is smaller.
pub(crate) fn assert_near(ours: &[Vec<f32>], expected: &[Vec<f32>], tolerance: f32) {
    assert_eq!(ours.len(), expected.len());
    for (i, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        assert_eq!(ours.len(), expected.len(), "array {i}");
        let scale = expected.iter().fold(1f32, |m, v| m.max(v.abs()));
        let off = ours.iter().zip(expected).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(off <= tolerance * scale, "array {i}: off by {off}, largest {scale}");
    }
}
