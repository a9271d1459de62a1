//! y = relu(z + b) m: bias, rectifier and dropout in one pass, forward and backward.

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
use super::dropout::{Dropout, Mask, masked};
use super::flex::{PART, add_columns, floats, from_floats, whole};
use super::fused::available;
use super::simd::wide;

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

/// A composition of Burn's operations: the definition, and what other devices do.
fn composed(z: Tensor<2>, bias: Tensor<1>, mask: Option<&Mask>) -> Tensor<2> {
    masked(activation::relu(z + bias.unsqueeze()), mask)
}

fn fused(z: Tensor<2>, bias: Tensor<1>, mask: Option<Arc<Mask>>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::bias_relu(z.into_dispatch(), bias.into_dispatch(), Drop(mask)))
}

/// What the operation is told beside its tensors.
#[derive(Clone, Debug)]
pub struct Drop(Option<Arc<Mask>>);

/// Bias, rectifier and dropout, as the CPU backend does them.
#[backend_extension(Autodiff, Flex)]
pub trait ReluOps: Backend {
    /// relu(z + b) m
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, drop: Drop) -> FloatTensor<Self>;
}

/// In place, where nothing else holds z.
fn forward(z: FlexTensor, bias: &FlexTensor, mask: Option<&Mask>) -> FlexTensor {
    let (mut y, bias) = (whole(z), bias.to_contiguous());
    let bias = floats(&bias);
    let parts = y.storage_mut::<f32>().par_chunks_mut(PART * bias.len());
    parts.enumerate().for_each(|(i, y)| {
        wide(
            #[inline(always)]
            || {
                for row in y.chunks_exact_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(y, b)| *y = (*y + b).max(0.0));
                }
                if let Some(mask) = mask {
                    mask.multiply(i * PART * bias.len(), y);
                }
            },
        );
    });
    y
}

/// dz = dy where y > 0, scaled as the mask scales what it keeps, else 0; db = sum dz
fn backward(y: &FlexTensor, dy: &FlexTensor, kept: f32) -> [FlexTensor; 2] {
    let shape = y.layout().shape().to_vec();
    let width = shape[1];
    let mut dz = vec![0.0; shape[0] * width];
    let told = floats(y).par_chunks(PART * width).zip(floats(dy).par_chunks(PART * width));
    let parts = dz.par_chunks_mut(PART * width).zip(told).map(|(dz, (y, dy))| {
        let mut db = vec![0.0; width];
        wide(
            #[inline(always)]
            || {
                let told = y.chunks_exact(width).zip(dy.chunks_exact(width));
                for (dz, (y, dy)) in dz.chunks_exact_mut(width).zip(told) {
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
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, drop: Drop) -> FloatTensor<Self> {
        forward(z, &bias, drop.0.as_deref())
    }
}

impl<C: CheckpointStrategy> ReluOps for Autodiff<Flex, C> {
    fn bias_relu(z: FloatTensor<Self>, bias: FloatTensor<Self>, drop: Drop) -> FloatTensor<Self> {
        let ((z, node_z), (bias, node_bias)) = (z.into_parts(), bias.into_parts());
        let y = Flex::bias_relu(z, bias, drop.clone());
        match BiasRelu.prepare::<C>([node_z, node_bias]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let kept = drop.0.map_or(1.0, |mask| mask.kept());
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
    fn the_fused_operation_is_the_composition_forward_and_backward() {
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
