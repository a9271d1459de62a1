//! What the tests of operations share.

use burn::tensor::{Device, Gradients, Tensor};
use rand::RngExt as _;

use super::tensor;
use crate::Rng;

/// Values between -1 and 1 that want a gradient.
pub fn random<const D: usize>(shape: [usize; D], rng: &mut Rng, device: &Device) -> Tensor<D> {
    let values = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
    tensor(values, shape, device).require_grad()
}

/// An operation's output and the gradients of a loss that weighs each of its elements differently.
pub struct Grads {
    grads: Gradients,
    values: Vec<Vec<f32>>,
}

impl Grads {
    /// Notes the gradient of `tensor`.
    pub fn of<const D: usize>(&mut self, tensor: &Tensor<D>) -> &mut Self {
        let grad = tensor.grad(&self.grads).expect("every input has a gradient");
        self.values.push(grad.into_data().try_into_vec().unwrap());
        self
    }
}

/// The output and the gradients that `inputs` asks for.
pub fn with_grads<const D: usize>(y: Tensor<D>, inputs: impl FnOnce(&mut Grads)) -> Vec<Vec<f32>> {
    let dims = y.dims();
    let weights = (0..dims.iter().product()).map(|i| (i as f32 * 0.7).sin()).collect();
    let weights = tensor(weights, dims, &y.device());
    let values = vec![y.clone().into_data().try_into_vec().unwrap()];
    let mut grads = Grads { grads: (y * weights).sum().backward(), values };
    inputs(&mut grads);
    grads.values
}

/// Every array near its counterpart, against the largest of its elements or, where sums cancel, against 1.
pub fn assert_near(ours: &[Vec<f32>], expected: &[Vec<f32>], tolerance: f32) {
    assert_eq!(ours.len(), expected.len());
    for (i, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        assert_eq!(ours.len(), expected.len(), "array {i}");
        let scale = expected.iter().fold(1f32, |m, v| m.max(v.abs()));
        let off = ours.iter().zip(expected).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(off <= tolerance * scale, "array {i}: off by {off}, largest {scale}");
    }
}
