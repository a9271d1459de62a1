//! Dropout, residual addition and layer norm as one differentiable operation of the CPU backend.
//!
//! With h = (z - mean) r, r = 1/sqrt(variance + 1e-5), y = h gain + bias and g = dy gain:
//!
//! ```text
//! dx = r (g - mean g - h mean(g h)),   da = dx m,   dgain = sum dy h,   dbias = sum dy
//! ```

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

use super::{EPSILON, Mask, SharedMask};
use crate::math::simd::{dot, sum, with_simd};
use crate::nn::flex::{ROWS_PER_TASK, add_columns, floats, from_floats, into_exact_buffer};

/// The operation of a backend.
#[backend_extension(Autodiff, Flex)]
pub(super) trait NormOps: Backend {
    /// norm(x + a m)
    fn add_norm(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        mask: SharedMask,
    ) -> FloatTensor<Self>;
}

/// norm(x + a m)
///
/// # Shapes
/// x and a `[n, width]`, gain and bias `[width]`, to `[n, width]`
pub(super) fn add(
    x: Tensor<2>,
    a: Tensor<2>,
    gain: Tensor<1>,
    bias: Tensor<1>,
    mask: Option<Arc<Mask>>,
) -> Tensor<2> {
    let (x, a, gain, bias) =
        (x.into_dispatch(), a.into_dispatch(), gain.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(Dispatch::add_norm(x, a, gain, bias, SharedMask(mask)))
}

/// The values that the backward pass needs.
#[derive(Clone, Debug)]
struct State {
    gain: FlexTensor,
    /// h `[n, width]`
    normal: Arc<Vec<f32>>,
    /// r `[n]`
    rate: Arc<Vec<f32>>,
    mask: SharedMask,
}

fn forward(
    x: &FlexTensor,
    a: FlexTensor,
    gain: FlexTensor,
    bias: &FlexTensor,
    mask: SharedMask,
) -> (FlexTensor, State) {
    let (mut y, gain, bias) = (into_exact_buffer(a), gain.to_contiguous(), bias.to_contiguous());
    let shape = y.layout().shape().to_vec();
    let (n, width) = (shape[0], shape[1]);
    let (mut normal, mut rate) = (vec![0.0; n * width], vec![0.0; n]);
    let parts = y
        .storage_mut::<f32>()
        .par_chunks_mut(ROWS_PER_TASK * width)
        .zip(floats(x).par_chunks(ROWS_PER_TASK * width));
    let saved = normal.par_chunks_mut(ROWS_PER_TASK * width).zip(rate.par_chunks_mut(ROWS_PER_TASK));
    parts.zip(saved).enumerate().for_each(|(i, ((y, x), (normal, rate)))| {
        with_simd(
            #[inline(always)]
            || {
                if let Some(mask) = &mask.0 {
                    mask.multiply(i * ROWS_PER_TASK * width, y);
                }
                let rows = y.chunks_exact_mut(width).zip(x.chunks_exact(width));
                for ((row, rate), (y, x)) in normal.chunks_exact_mut(width).zip(rate).zip(rows) {
                    row.iter_mut().zip(y.iter().zip(x)).for_each(|(z, (a, x))| *z = x + a);
                    *rate = normalise(row);
                    affine(y, row, floats(&gain), floats(&bias));
                }
            },
        );
    });
    (y, State { gain, normal: Arc::new(normal), rate: Arc::new(rate), mask })
}

/// Replaces z by (z - mean) r; returns r.
#[inline(always)]
fn normalise(z: &mut [f32]) -> f32 {
    let width = z.len() as f32;
    let mean = sum(z) / width;
    z.iter_mut().for_each(|z| *z -= mean);
    let rate = 1.0 / (dot(z, z) / width + EPSILON).sqrt();
    z.iter_mut().for_each(|z| *z *= rate);
    rate
}

/// y = h gain + bias
#[inline(always)]
fn affine(y: &mut [f32], h: &[f32], gain: &[f32], bias: &[f32]) {
    for ((y, h), (gain, bias)) in y.iter_mut().zip(h).zip(gain.iter().zip(bias)) {
        *y = h * gain + bias;
    }
}

/// The gradients of x, a, gain and bias.
fn backward(state: &State, dy: &FlexTensor) -> [FlexTensor; 4] {
    let gain = floats(&state.gain);
    let (n, width) = (state.rate.len(), gain.len());
    let (mut dx, mut da) = (vec![0.0; n * width], vec![0.0; n * width]);
    let read =
        floats(dy).par_chunks(ROWS_PER_TASK * width).zip(state.normal.par_chunks(ROWS_PER_TASK * width));
    let written = dx.par_chunks_mut(ROWS_PER_TASK * width).zip(da.par_chunks_mut(ROWS_PER_TASK * width));
    let parts = read.zip(state.rate.par_chunks(ROWS_PER_TASK)).zip(written).enumerate();
    let sums = parts.map(|(i, (((dy, normal), rate), (dx, da)))| {
        let (mut d_gain, mut d_bias) = (vec![0.0; width], vec![0.0; width]);
        with_simd(
            #[inline(always)]
            || {
                let rows = dy.chunks_exact(width).zip(normal.chunks_exact(width)).zip(rate);
                for (dx, ((dy, h), rate)) in dx.chunks_exact_mut(width).zip(rows) {
                    d_gain.iter_mut().zip(dy.iter().zip(h)).for_each(|(sum, (dy, h))| *sum += dy * h);
                    d_bias.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy);
                    dx.iter_mut().zip(dy.iter().zip(gain)).for_each(|(g, (dy, gain))| *g = dy * gain);
                    let (mean, slope) = (sum(dx) / width as f32, dot(dx, h) / width as f32);
                    dx.iter_mut().zip(h).for_each(|(g, h)| *g = rate * (*g - mean - h * slope));
                }
                da.copy_from_slice(dx);
                if let Some(mask) = &state.mask.0 {
                    mask.multiply(i * ROWS_PER_TASK * width, da);
                }
            },
        );
        (d_gain, d_bias)
    });
    let (d_gain, d_bias): (Vec<_>, Vec<_>) = sums.collect::<Vec<_>>().into_iter().unzip();
    let vector = |parts| from_floats(add_columns(parts, width), &[width]);
    [from_floats(dx, &[n, width]), from_floats(da, &[n, width]), vector(d_gain), vector(d_bias)]
}

impl NormOps for Flex {
    fn add_norm(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        mask: SharedMask,
    ) -> FloatTensor<Self> {
        forward(&x.to_contiguous(), a, gain, &bias, mask).0
    }
}

impl<C: CheckpointStrategy> NormOps for Autodiff<Flex, C> {
    fn add_norm(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        mask: SharedMask,
    ) -> FloatTensor<Self> {
        let ((x, node_x), (a, node_a)) = (x.into_parts(), a.into_parts());
        let ((gain, node_gain), (bias, node_bias)) = (gain.into_parts(), bias.into_parts());
        let (y, state) = forward(&x.to_contiguous(), a, gain, &bias, mask);
        match AddNorm.prepare::<C>([node_x, node_a, node_gain, node_bias]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}

#[derive(Debug)]
struct AddNorm;

impl Backward<Flex, 4> for AddNorm {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let gradients = backward(&ops.state, &dy);
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}
