//! Multi-head attention of a sequence to itself:
//! softmax(q k' / sqrt(d) + bias) v per head, the heads side by side, then an affine map.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, activation::softmax};
use rand::RngExt as _;

use super::{Dropout, Linear, tensor};
use crate::Rng;

/// The n sequences of equal length that a layer works on, their steps as rows: unit by unit, step by step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences {
    /// How many.
    pub n: usize,
    /// Steps of each.
    pub steps: usize,
}

impl Sequences {
    /// The rows of some steps only.
    ///
    /// # Shapes
    /// `[n steps, width]` to `[n len, width]`
    pub(crate) fn rows(&self, x: Tensor<2>, of: &Range<usize>) -> Tensor<2> {
        if of.len() == self.steps {
            return x;
        }
        let width = x.dims()[1];
        let x = x.reshape([self.n, self.steps, width]).narrow(1, of.start, of.len());
        x.reshape([self.n * of.len(), width])
    }
}

/// Multi-head attention.
#[derive(Module, Debug)]
pub struct Attention {
    /// To query, key and value, side by side.
    pub(crate) project: Linear,
    pub(crate) output: Linear,
    heads: usize,
}

impl Attention {
    /// As in PyTorch: projections uniform within sqrt(6 / (inputs + outputs)), biases zero. `heads` divides `width`.
    pub fn init(width: usize, heads: usize, rng: &mut Rng, device: &Device) -> Self {
        let bound = (6.0 / (4 * width) as f32).sqrt();
        let values = (0..3 * width * width).map(|_| rng.random_range(-bound..=bound)).collect();
        let project = Linear {
            weight: Param::from_tensor(tensor(values, [width, 3 * width], device)),
            bias: Param::from_tensor(Tensor::zeros([3 * width], device)),
        };
        let mut output = Linear::init(width, width, rng, device);
        output.bias = Param::from_tensor(Tensor::zeros([width], device));
        Self { project, output, heads }
    }

    /// What the steps `read` gather from all steps; `bias` is added to their scores.
    ///
    /// # Shapes
    /// x `[n steps, width]`, bias `[1, 1, read, steps]`, to `[n read, width]`
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        seq: Sequences,
        read: &Range<usize>,
        bias: Tensor<4>,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let width = x.dims()[1];
        let depth = width / self.heads;
        let [q, k, v] = self.heads(self.project.forward(x), seq, depth);
        let q = q.narrow(2, read.start, read.len()) / (depth as f32).sqrt();
        let weights = dropout.apply(softmax(q.matmul(k.swap_dims(2, 3)) + bias, 3));
        let gathered = weights.matmul(v).swap_dims(1, 2).reshape([seq.n * read.len(), width]);
        self.output.forward(gathered)
    }

    /// Query, key and value, each `[n, heads, steps, depth]`.
    fn heads(&self, projected: Tensor<2>, seq: Sequences, depth: usize) -> [Tensor<4>; 3] {
        let all = projected.reshape([seq.n, seq.steps, 3 * self.heads, depth]).swap_dims(1, 2);
        [0, 1, 2].map(|part| all.clone().narrow(1, part * self.heads, self.heads))
    }
}
