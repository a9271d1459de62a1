//! Multi-head self-attention: softmax(q k' / sqrt(d)) v per head, the heads concatenated, then an affine map.

mod fused;
mod kernel;

use std::ops::Range;
use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, activation::softmax};
use rand::RngExt as _;

use super::dropout::{Mask, masked};
use super::fused::available;
use super::{Dropout, Linear, tensor};
use crate::Rng;

/// A batch of n sequences of equal length, whose steps are the rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences {
    /// The number of sequences.
    pub n: usize,
    /// The steps of each.
    pub steps: usize,
    /// The first `causal` steps attend to the steps up to themselves, the others to all steps.
    pub causal: usize,
}

impl Sequences {
    /// The number of steps, from the first, that `step` attends to.
    pub(crate) fn reach(&self, step: usize) -> usize {
        if step < self.causal { step + 1 } else { self.steps }
    }

    /// The rows of `steps`.
    ///
    /// # Shapes
    /// `[n * all steps, width]` to `[n * steps, width]`
    pub(crate) fn rows(&self, x: Tensor<2>, steps: &Range<usize>) -> Tensor<2> {
        if steps.len() == self.steps {
            return x;
        }
        let width = x.dims()[1];
        let x = x.reshape([self.n, self.steps, width]).narrow(1, steps.start, steps.len());
        x.reshape([self.n * steps.len(), width])
    }
}

/// The sizes of an attention: `read` steps from `start` on attend to the steps in their reach.
#[derive(Clone, Copy, Debug)]
struct AttentionPlan {
    seq: Sequences,
    start: usize,
    read: usize,
    heads: usize,
    depth: usize,
}

impl AttentionPlan {
    fn width(&self) -> usize {
        self.heads * self.depth
    }

    /// 1/sqrt(depth)
    fn scale(&self) -> f32 {
        1.0 / (self.depth as f32).sqrt()
    }

    /// The mask added to scores: 0 where a step attends to another, else far below every score.
    ///
    /// # Shapes
    /// `[1, 1, read, steps]`
    fn bias(&self, device: &Device) -> Tensor<4> {
        let Self { seq, start, read, .. } = *self;
        let row = |from| (0..seq.steps).map(move |to| if to < seq.reach(from) { 0.0 } else { -1e9 });
        tensor((start..start + read).flat_map(row).collect(), [1, 1, read, seq.steps], device)
    }
}

/// Multi-head attention.
#[derive(Module, Debug)]
pub(crate) struct Attention {
    /// The projections to query, key and value, concatenated.
    pub(crate) project: Linear,
    pub(crate) output: Linear,
    pub(crate) heads: usize,
}

impl Attention {
    /// Initialises as PyTorch does: projections uniform within sqrt(6 / (inputs + outputs)), biases zero. `heads` divides `width`.
    pub(crate) fn init(width: usize, heads: usize, rng: &mut Rng, device: &Device) -> Self {
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

    /// The outputs of the steps `read`.
    ///
    /// # Shapes
    /// x `[n * steps, width]` to `[n * read, width]`
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        seq: Sequences,
        read: &Range<usize>,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let depth = x.dims()[1] / self.heads;
        let plan = AttentionPlan { seq, start: read.start, read: read.len(), heads: self.heads, depth };
        let mask = dropout.mask(seq.n * self.heads * plan.read * seq.steps);
        let projected = self.project.forward(x);
        let gathered = if available(&projected.device()) {
            fused::attend(projected, fused::AttentionArgs { plan, mask: mask.map(Arc::new) })
        } else {
            attend(projected, &plan, mask.as_ref())
        };
        self.output.forward(gathered)
    }
}

/// Attention composed of Burn's operations: the definition, and the implementation for other devices.
///
/// # Shapes
/// projected `[n * steps, 3 width]`, mask `[n, heads, read, steps]`, to `[n * read, width]`
fn attend(projected: Tensor<2>, plan: &AttentionPlan, mask: Option<&Mask>) -> Tensor<2> {
    let AttentionPlan { seq, start, read, heads, depth } = *plan;
    let all = projected.reshape([seq.n, seq.steps, 3 * heads, depth]).swap_dims(1, 2);
    let [q, k, v] = [0, 1, 2].map(|part| all.clone().narrow(1, part * heads, heads));
    let q = q.narrow(2, start, read) * plan.scale();
    let weights = softmax(q.matmul(k.swap_dims(2, 3)) + plan.bias(&all.device()), 3);
    masked(weights, mask).matmul(v).swap_dims(1, 2).reshape([seq.n * read, heads * depth])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::isa::testing::with_each_isa;
    use crate::nn::testing::{random, with_grads};
    use crate::stream;

    fn close(a: Tensor<2>, b: Tensor<2>) -> bool {
        a.all_close(b, Some(1e-4), Some(1e-5))
    }

    #[test]
    fn the_fused_operation_equals_the_composed_one_forward_and_backward() {
        let device = Device::flex().autodiff();
        let mut rng = stream(1, &["attention"]);
        for (start, read, heads, depth, rate) in [(0, 21, 2, 4, 0.0), (6, 14, 3, 5, 0.3), (20, 1, 1, 1, 0.1)]
        {
            let seq = Sequences { n: 5, steps: 21, causal: 9 };
            let plan = AttentionPlan { seq, start, read, heads, depth };
            let mut draw = |rows, columns| {
                let values = (0..rows * columns).map(|_| rng.random_range(-2.0..2.0)).collect();
                tensor::<2>(values, [rows, columns], &device)
            };
            let projected = draw(seq.n * seq.steps, 3 * plan.width()).require_grad();
            let weight = draw(seq.n * read, plan.width());
            let mask = Dropout::new(rate, Some(4)).mask(seq.n * heads * read * seq.steps);
            let composed = attend(projected.clone(), &plan, mask.as_ref());
            let args = fused::AttentionArgs { plan, mask: mask.map(Arc::new) };
            let fused = fused::attend(projected.clone(), args);
            let gradient = |y: Tensor<2>| projected.grad(&(y * weight.clone()).sum().backward()).unwrap();
            assert!(close(fused.clone(), composed.clone()), "forward, {plan:?}");
            assert!(close(gradient(fused), gradient(composed)), "backward, {plan:?}");
        }
    }

    #[test]
    fn the_fused_operation_gives_the_same_bits_with_each_instruction_set() {
        let results = with_each_isa(2, || {
            let device = Device::flex().autodiff();
            let seq = Sequences { n: 5, steps: 21, causal: 9 };
            let plan = AttentionPlan { seq, start: 0, read: 21, heads: 3, depth: 5 };
            let rng = &mut stream(1, &["attention"]);
            let projected = random([seq.n * seq.steps, 3 * plan.width()], rng, &device);
            let mask = Dropout::new(0.3, Some(4)).mask(seq.n * 3 * 21 * seq.steps).map(Arc::new);
            let y = fused::attend(projected.clone(), fused::AttentionArgs { plan, mask });
            with_grads(y, |grads| {
                grads.record(&projected);
            })
        });
        assert!(results.iter().all(|(_, result)| *result == results[0].1));
    }
}
