//! y = relu(z + b) m, with dropout mask m, in one pass forward and one backward.

use std::sync::Arc;

use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension, tensor::FloatTensor};
use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;
use rayon::prelude::*;

use super::Linear;
use super::dropout::{Dropout, Mask, SharedMask, masked};
use super::flex::{ROWS_PER_TASK, add_columns, floats, from_floats, into_exact_buffer};
use super::fused::available;
use crate::math::simd::with_simd;

/// relu(x W + b) m
///
/// # Shapes
/// x `[n, inputs]` to `[n, outputs]`
pub(crate) fn linear_relu(x: Tensor<2>, linear: &Linear, dropout: &mut Dropout) -> Tensor<2> {
    let z = x.matmul(linear.weight.val());
    let mask = dropout.mask(z.shape().num_elements());
    if available(&z.device()) {
        fused(z, linear.bias.val(), mask.map(Arc::new))
    } else {
        composed(z, linear.bias.val(), mask.as_ref())
    }
}

/// The operation composed of Burn's own: the definition, and the implementation for other devices.
fn composed(z: Tensor<2>, bias: Tensor<1>, mask: Option<&Mask>) -> Tensor<2> {
    masked(activation::relu(z + bias.unsqueeze()), mask)
}

fn fused(z: Tensor<2>, bias: Tensor<1>, mask: Option<Arc<Mask>>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::bias_relu(z.into_dispatch(), bias.into_dispatch(), SharedMask(mask)))
}

/// The operation of a backend.
#[backend_extension(Autodiff, Flex)]
pub(super) trait ReluOps: Backend {
    /// relu(z + b) m
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, mask: SharedMask) -> FloatTensor<Self>;
}

/// Works in place if nothing else holds z.
fn forward(z: FlexTensor, bias: &FlexTensor, mask: Option<&Mask>) -> FlexTensor {
    let (mut y, bias) = (into_exact_buffer(z), bias.to_contiguous());
    let bias = floats(&bias);
    let parts = y.storage_mut::<f32>().par_chunks_mut(ROWS_PER_TASK * bias.len());
    parts.enumerate().for_each(|(i, y)| {
        with_simd(
            #[inline(always)]
            || {
                for row in y.chunks_exact_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(y, b)| *y = (*y + b).max(0.0));
                }
                if let Some(mask) = mask {
                    mask.multiply(i * ROWS_PER_TASK * bias.len(), y);
                }
            },
        );
    });
    y
}

/// dz = kept dy where y > 0, else 0; db = sum dz; `kept` is the mask's factor of values that are not dropped
fn backward(y: &FlexTensor, dy: &FlexTensor, kept: f32) -> [FlexTensor; 2] {
    let shape = y.layout().shape().to_vec();
    let width = shape[1];
    let mut dz = vec![0.0; shape[0] * width];
    let rows = floats(y).par_chunks(ROWS_PER_TASK * width).zip(floats(dy).par_chunks(ROWS_PER_TASK * width));
    let parts = dz.par_chunks_mut(ROWS_PER_TASK * width).zip(rows).map(|(dz, (y, dy))| {
        let mut db = vec![0.0; width];
        with_simd(
            #[inline(always)]
            || {
                let rows = y.chunks_exact(width).zip(dy.chunks_exact(width));
                for (dz, (y, dy)) in dz.chunks_exact_mut(width).zip(rows) {
                    let pairs = y.iter().zip(dy);
                    dz.iter_mut()
                        .zip(pairs)
                        .for_each(|(dz, (y, dy))| *dz = if *y > 0.0 { dy * kept } else { 0.0 });
                    db.iter_mut().zip(dz).for_each(|(db, dz)| *db += *dz);
                }
            },
        );
        db
    });
    let db = add_columns(parts.collect(), width);
    [from_floats(dz, &shape), from_floats(db, &[width])]
}

impl ReluOps for Flex {
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, mask: SharedMask) -> FloatTensor<Self> {
        forward(z, &bias, mask.0.as_deref())
    }
}

impl<C: CheckpointStrategy> ReluOps for Autodiff<Flex, C> {
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, mask: SharedMask) -> FloatTensor<Self> {
        let ((z, node_z), (bias, node_bias)) = (z.into_parts(), bias.into_parts());
        let y = Flex::bias_relu(z, bias, mask.clone());
        match BiasRelu.prepare::<C>([node_z, node_bias]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let kept = mask.0.map_or(1.0, |mask| mask.kept_factor());
                prepared.finish((y.clone(), kept), y)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}

#[derive(Debug)]
struct BiasRelu;

impl Backward<Flex, 2> for BiasRelu {
    type State = (FlexTensor, f32);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (y, kept) = ops.state;
        for (parent, gradient) in ops.parents.into_iter().zip(backward(&y, &dy, kept)) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nn::tensor, stream};
    use burn::tensor::Device;
    use rand::RngExt as _;

    #[test]
    fn the_fused_operation_equals_the_composed_one_forward_and_backward() {
        let device = Device::flex().autodiff();
        let mut rng = stream(1, &["relu"]);
        for (rows, width, rate) in [(3, 5, 0.0), (600, 24, 0.2)] {
            let mut draw = |n: usize| (0..n).map(|_| rng.random_range(-2.0..2.0)).collect::<Vec<f32>>();
            let [z, weight] = [(); 2].map(|()| tensor::<2>(draw(rows * width), [rows, width], &device));
            let (z, bias) = (z.require_grad(), tensor::<1>(draw(width), [width], &device).require_grad());
            let mask = Dropout::new(rate, Some(4)).mask(rows * width);
            let one = composed(z.clone(), bias.clone(), mask.as_ref());
            let other = fused(z.clone(), bias.clone(), mask.map(Arc::new));
            assert!(one.clone().all_close(other.clone(), None, None));
            let [one, other] = [one, other].map(|y| {
                let grads = (y * weight.clone()).sum().backward();
                let db = bias.grad(&grads).unwrap().reshape([1, width]);
                Tensor::cat(vec![z.grad(&grads).unwrap(), db], 0)
            });
            assert!(one.all_close(other, Some(1e-4), Some(1e-4)));
        }
    }
}
