//! Attention as one differentiable operation of the CPU backend.

use std::sync::Arc;

use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension, tensor::FloatTensor};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;
use rayon::prelude::*;

use super::kernel::{self, Scratch, UnitMask};
use super::{AttentionPlan, Mask};
use crate::math::simd::with_simd;
use crate::nn::flex::{floats, from_floats};

/// The arguments of the operation besides its tensors.
#[derive(Clone, Debug)]
pub(super) struct AttentionArgs {
    pub(super) plan: AttentionPlan,
    pub(super) mask: Option<Arc<Mask>>,
}

/// The attention operation of a backend.
#[backend_extension(Autodiff, Flex)]
pub(super) trait AttentionOps: Backend {
    /// # Shapes
    /// `[n * steps, 3 width]` to `[n * read, width]`
    fn attend(projected: FloatTensor<Self>, args: AttentionArgs) -> FloatTensor<Self>;
}

/// Attention of a batch.
///
/// # Shapes
/// projected `[n * steps, 3 width]` to `[n * read, width]`
pub(super) fn attend(projected: Tensor<2>, args: AttentionArgs) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::attend(projected.into_dispatch(), args))
}

impl AttentionArgs {
    /// The mask, and the start of this unit's part.
    fn mask(&self, unit: usize) -> UnitMask<'_> {
        let weights = self.plan.heads * self.plan.read * self.plan.seq.steps;
        self.mask.as_deref().map(|mask| (mask, unit * weights))
    }

    /// Units are independent of each other: the same bits on any number of threads.
    fn forward(&self, projected: &FlexTensor) -> FlexTensor {
        let AttentionPlan { seq, read, .. } = self.plan;
        let width = self.plan.width();
        let mut out = vec![0.0; seq.n * read * width];
        let units = out.par_chunks_mut(read * width).zip(floats(projected).par_chunks(seq.steps * 3 * width));
        units.enumerate().for_each_init(
            || Scratch::new(&self.plan),
            |scratch, (i, (out, projected))| {
                with_simd(
                    #[inline(always)]
                    || kernel::forward(&self.plan, projected, self.mask(i), out, scratch),
                );
            },
        );
        from_floats(out, &[seq.n * read, width])
    }

    fn backward(&self, projected: &FlexTensor, d_out: &FlexTensor) -> FlexTensor {
        let AttentionPlan { seq, read, .. } = self.plan;
        let (width, unit) = (self.plan.width(), seq.steps * 3 * self.plan.width());
        let mut d_projected = vec![0.0; seq.n * unit];
        let units = d_projected.par_chunks_mut(unit).zip(floats(projected).par_chunks(unit));
        units.zip(floats(d_out).par_chunks(read * width)).enumerate().for_each_init(
            || Scratch::new(&self.plan),
            |scratch, (i, ((d_projected, projected), d_out))| {
                let mask = self.mask(i);
                with_simd(
                    #[inline(always)]
                    || kernel::backward(&self.plan, projected, mask, d_out, d_projected, scratch),
                );
            },
        );
        from_floats(d_projected, &[seq.n * seq.steps, 3 * width])
    }
}

impl AttentionOps for Flex {
    fn attend(projected: FloatTensor<Self>, args: AttentionArgs) -> FloatTensor<Self> {
        args.forward(&projected.to_contiguous())
    }
}

impl<C: CheckpointStrategy> AttentionOps for Autodiff<Flex, C> {
    fn attend(projected: FloatTensor<Self>, args: AttentionArgs) -> FloatTensor<Self> {
        let (projected, node) = projected.into_parts();
        let projected = projected.to_contiguous();
        let out = args.forward(&projected);
        match Attend.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((projected, args), out),
            OpsKind::UnTracked(prepared) => prepared.finish(out),
        }
    }
}

#[derive(Debug)]
struct Attend;

impl Backward<Flex, 1> for Attend {
    type State = (FlexTensor, AttentionArgs);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let d_out = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (projected, args) = ops.state;
        if let [Some(parent)] = ops.parents {
            grads.register::<Flex>(parent.id, args.backward(&projected, &d_out));
        }
    }
}
