//! The CPU kernels as differentiable operations of Burn.
//!
//! Each is defined by a composition of Burn's own operations, which is the implementation for other devices.

mod backward;
mod slices;

use std::sync::atomic::{AtomicBool, Ordering};

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::ops::{Backward as _, OpsKind};
use burn::backend::{Autodiff, Dispatch, Flex, backend_extension, tensor::FloatTensor};
use burn::tensor::{Device, Tensor};

use super::Window;
use backward::{
    BlockBackward, BlockState, ErrorBackward, ErrorState, LinearBackward, LinearState, OutBackward, OutState,
};
pub(super) use slices::recycle;

/// Set by benchmarks only, to measure the compositions.
static COMPOSE: AtomicBool = AtomicBool::new(false);

/// Whether the fused operations work on tensors of this device.
pub(crate) fn available(device: &Device) -> bool {
    *device == Device::flex() && !COMPOSE.load(Ordering::Relaxed)
}

/// Switches to the compositions on every device, or back.
pub(crate) fn compose(on: bool) {
    COMPOSE.store(on, Ordering::Relaxed);
}

/// x W + b or swish(x W + b)
///
/// # Shapes
/// x `[n, inputs]`, weight `[inputs, outputs]`, bias `[outputs]`, to `[n, outputs]`
pub(crate) fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, swish: bool) -> Tensor<2> {
    let [x, weight, bias] = [x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch()];
    Tensor::from_dispatch(Dispatch::linear(x, weight, bias, swish))
}

/// The parameters of a block.
pub(crate) struct BlockParams {
    /// `[cover * inputs, outputs]`, or transposed `[inputs, cover * outputs]`.
    pub weight: Tensor<2>,
    /// Scale of the group norm `[outputs]`.
    pub gamma: Tensor<1>,
    /// Shift of the group norm `[outputs]`.
    pub beta: Tensor<1>,
}

/// The structure of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockKind {
    /// The window of the convolution.
    pub window: Window,
    /// Whether the convolution is transposed.
    pub transposed: bool,
    /// Groups of the norm.
    pub groups: usize,
}

/// swish(group norm(convolution(x, skip) + term)); only a transposed convolution has a skip input.
///
/// # Shapes
/// x and skip `[n, sites, channels]`, term `[n, outputs]`, to `[n, sites, outputs]`
pub(crate) fn conv_block(
    x: Tensor<3>,
    skip: Option<Tensor<3>>,
    term: Tensor<2>,
    params: BlockParams,
    kind: BlockKind,
) -> Tensor<3> {
    let skip = skip.unwrap_or_else(|| no_skip(&x));
    Tensor::from_dispatch(Dispatch::conv_block(
        x.into_dispatch(),
        skip.into_dispatch(),
        params.weight.into_dispatch(),
        term.into_dispatch(),
        params.gamma.into_dispatch(),
        params.beta.into_dispatch(),
        kind,
    ))
}

/// Transposed convolution of x and skip, plus bias.
///
/// # Shapes
/// x and skip `[n, places, channels]`, weight `[inputs, cover * outputs]`, to `[n, positions, outputs]`
pub(crate) fn conv_out(
    x: Tensor<3>,
    skip: Tensor<3>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    window: Window,
) -> Tensor<3> {
    let [x, skip] = [x.into_dispatch(), skip.into_dispatch()];
    Tensor::from_dispatch(Dispatch::conv_out(x, skip, weight.into_dispatch(), bias.into_dispatch(), window))
}

/// scale * sum (output - y)^2
///
/// # Shapes
/// output and y `[n, elements]`, to `[1]`
pub(crate) fn squared_error(output: Tensor<2>, y: Tensor<2>, scale: f32) -> Tensor<1> {
    Tensor::from_dispatch(Dispatch::squared_error(output.into_dispatch(), y.into_dispatch(), scale))
}

/// A second input without channels.
fn no_skip(x: &Tensor<3>) -> Tensor<3> {
    let [n, sites, _] = x.dims();
    Tensor::zeros([n, sites, 0], &x.device())
}

/// The operations of a backend.
#[backend_extension(Autodiff, Flex)]
pub(super) trait FusedOps: burn::backend::Backend {
    /// See [`linear`].
    fn linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        swish: bool,
    ) -> FloatTensor<Self>;

    /// See [`conv_block`].
    fn conv_block(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        term: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        kind: BlockKind,
    ) -> FloatTensor<Self>;

    /// See [`conv_out`].
    fn conv_out(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
    ) -> FloatTensor<Self>;

    /// See [`squared_error`].
    fn squared_error(output: FloatTensor<Self>, y: FloatTensor<Self>, scale: f32) -> FloatTensor<Self>;
}

// ---- the backends ----

impl FusedOps for Flex {
    fn linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        swish: bool,
    ) -> FloatTensor<Self> {
        let (y, state) = LinearState::forward(&x, &weight, &bias, swish);
        drop(x);
        recycle([state.x]);
        y
    }

    fn conv_block(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        term: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        kind: BlockKind,
    ) -> FloatTensor<Self> {
        let mut state = BlockState::new([x, skip], [weight, term, gamma, beta], kind);
        let y = state.forward(false);
        recycle(state.x);
        y
    }

    fn conv_out(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
    ) -> FloatTensor<Self> {
        let state = OutState::new([x, skip], [weight, bias], window);
        let y = state.forward();
        recycle(state.x);
        y
    }

    fn squared_error(output: FloatTensor<Self>, y: FloatTensor<Self>, scale: f32) -> FloatTensor<Self> {
        ErrorState::new(output, y, scale).forward()
    }
}

impl<C: CheckpointStrategy> FusedOps for Autodiff<Flex, C> {
    fn linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        swish: bool,
    ) -> FloatTensor<Self> {
        let [(x, nx), (weight, nw), (bias, nb)] = [x, weight, bias].map(|tensor| tensor.into_parts());
        let (y, state) = LinearState::forward(&x, &weight, &bias, swish);
        match LinearBackward.prepare::<C>([nx, nw, nb]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }

    fn conv_block(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        term: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        kind: BlockKind,
    ) -> FloatTensor<Self> {
        let inputs = [x, skip, weight, term, gamma, beta].map(|tensor| tensor.into_parts());
        let [(x, n0), (skip, n1), (weight, n2), (term, n3), (gamma, n4), (beta, n5)] = inputs;
        let mut state = BlockState::new([x, skip], [weight, term, gamma, beta], kind);
        match BlockBackward.prepare::<C>([n0, n1, n2, n3, n4, n5]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let y = state.forward(true);
                prepared.finish(state, y)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(state.forward(false)),
        }
    }

    fn conv_out(
        x: FloatTensor<Self>,
        skip: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
    ) -> FloatTensor<Self> {
        let inputs = [x, skip, weight, bias].map(|tensor| tensor.into_parts());
        let [(x, n0), (skip, n1), (weight, n2), (bias, n3)] = inputs;
        let state = OutState::new([x, skip], [weight, bias], window);
        let y = state.forward();
        match OutBackward.prepare::<C>([n0, n1, n2, n3]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }

    fn squared_error(output: FloatTensor<Self>, y: FloatTensor<Self>, scale: f32) -> FloatTensor<Self> {
        let ((output, node), (y, _)) = (output.into_parts(), y.into_parts());
        let state = ErrorState::new(output, y, scale);
        let error = state.forward();
        match ErrorBackward.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, error),
            OpsKind::UnTracked(prepared) => prepared.finish(error),
        }
    }
}
