//! The CPU kernels as differentiable operations of Burn.
//!
//! Each has a composition of Burn's own operations as its definition, which serves all other devices.

use std::sync::Arc;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Dispatch, Flex, backend_extension, tensor::FloatTensor};
use burn::tensor::{Bytes, DType, Device, Shape, Tensor};
use burn_flex::{FlexTensor, Layout};

use super::Window;
use super::kernels::{Block, Buffer, Convolution, LinearSwish, Out, Saved};

/// Whether the fused operations work on tensors of this device.
pub(crate) fn available(device: &Device) -> bool {
    *device == Device::flex()
}

/// swish(x W + b)
///
/// # Shapes
/// x `[n, inputs]`, weight `[inputs, outputs]`, bias `[outputs]`, to `[n, outputs]`
pub(crate) fn linear_swish(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    let [x, weight, bias] = [x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch()];
    Tensor::from_dispatch(Dispatch::linear_swish(x, weight, bias))
}

/// The parameters of a block.
pub(crate) struct BlockParams {
    pub weight: Tensor<2>,
    pub gamma: Tensor<1>,
    pub beta: Tensor<1>,
}

/// What a block is, besides its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockKind {
    pub window: Window,
    pub transposed: bool,
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
    let skip = skip.unwrap_or_else(|| nothing_beside(&x));
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

/// A second input without channels.
fn nothing_beside(x: &Tensor<3>) -> Tensor<3> {
    let [n, sites, _] = x.dims();
    Tensor::zeros([n, sites, 0], &x.device())
}

/// The operations, on any backend that has them.
#[backend_extension(Autodiff, Flex)]
pub trait FusedOps: burn::backend::Backend {
    /// See [`linear_swish`].
    fn linear_swish(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
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
}

// ---- tensors and slices ----

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous tensor of f32")
}

fn dims<const D: usize>(tensor: &FlexTensor) -> [usize; D] {
    tensor.layout().shape().as_slice().try_into().expect("the rank that the wrapper gave it")
}

fn tensor(values: Buffer, shape: &[usize]) -> FlexTensor {
    let layout = Layout::contiguous(Shape::from(shape.to_vec()));
    FlexTensor::new(Bytes::from_elems(values.into_vec()), layout, DType::F32)
}

/// The gradient as a tensor of the same shape as what it is the gradient of.
fn like(values: Buffer, of: &FlexTensor) -> FlexTensor {
    tensor(values, of.layout().shape().as_slice())
}

/// Keeps the memory of tensors that nobody else holds for the next buffers.
pub(super) fn recycle<const N: usize>(tensors: [FlexTensor; N]) {
    for tensor in tensors {
        let whole = tensor.bytes().len() == tensor.layout().num_elements() * size_of::<f32>();
        if whole && tensor.is_unique() && tensor.is_contiguous() && tensor.dtype() == DType::F32 {
            let (bytes, _, _) = tensor.into_data().into_parts();
            drop(bytes.try_into_vec().map(Buffer::from));
        }
    }
}

// ---- swish(x W + b) ----

/// The inputs, contiguous, and z = x W + b.
#[derive(Clone, Debug)]
struct LinearState {
    x: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
    z: Arc<Buffer>,
}

impl LinearState {
    fn forward(x: &FlexTensor, weight: &FlexTensor, bias: &FlexTensor) -> (FlexTensor, Self) {
        let (x, weight, bias) = (x.to_contiguous(), weight.to_contiguous(), bias.to_contiguous());
        let linear = LinearSwish { weight: slice(&weight), bias: slice(&bias) };
        let (y, z) = linear.forward(slice(&x));
        let y = tensor(y, &[dims::<2>(&x)[0], dims::<1>(&bias)[0]]);
        (y, Self { x, weight, bias, z: Arc::new(z) })
    }
}

#[derive(Debug)]
struct LinearBackward;

impl Backward<Flex, 3> for LinearBackward {
    type State = LinearState;

    fn backward(self, ops: Ops<LinearState, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let LinearState { x, weight, bias, z } = &ops.state;
        let linear = LinearSwish { weight: slice(weight), bias: slice(bias) };
        let found = linear.backward(slice(x), z, slice(&dy), ops.parents[0].is_some());
        let found = [(found.x, x), (found.weight, weight), (found.bias, bias)];
        register(grads, ops.parents.map(|parent| parent.map(|node| node.id)), found);
        recycle([dy, ops.state.x]);
    }
}

/// Hands the gradients to the inputs that want one.
fn register<const N: usize>(
    grads: &mut Gradients,
    wanting: [Option<NodeId>; N],
    found: [(Buffer, &FlexTensor); N],
) {
    for (input, (values, of)) in wanting.into_iter().zip(found) {
        if let Some(input) = input {
            grads.register::<Flex>(input, like(values, of));
        }
    }
}

// ---- blocks ----

/// The inputs, contiguous, and what the forward pass saved.
#[derive(Clone, Debug)]
struct BlockState {
    x: [FlexTensor; 2],
    weight: FlexTensor,
    term: FlexTensor,
    gamma: FlexTensor,
    beta: FlexTensor,
    kind: BlockKind,
    saved: Option<Arc<Saved>>,
}

impl BlockState {
    fn block(&self) -> Block<'_> {
        let [[_, _, first], [_, _, second]] = [dims(&self.x[0]), dims(&self.x[1])];
        let [outputs] = dims(&self.gamma);
        let BlockKind { window, transposed, groups } = self.kind;
        Block {
            convolution: Convolution { window, transposed, inputs: [first, second], outputs },
            weight: slice(&self.weight),
            gamma: slice(&self.gamma),
            beta: slice(&self.beta),
            groups,
        }
    }

    fn slices(&self) -> [&[f32]; 2] {
        [slice(&self.x[0]), slice(&self.x[1])]
    }

    /// The output; with `save`, what the backward pass needs stays in the state.
    fn forward(&mut self, save: bool) -> FlexTensor {
        let block = self.block();
        let [n, outputs] = dims(&self.term);
        let shape = [n, block.convolution.sites_out(), outputs];
        if save {
            let (y, saved) = block.forward_saved(self.slices(), slice(&self.term));
            self.saved = Some(Arc::new(saved));
            tensor(y, &shape)
        } else {
            tensor(block.forward(self.slices(), slice(&self.term)), &shape)
        }
    }
}

#[derive(Debug)]
struct BlockBackward;

impl Backward<Flex, 6> for BlockBackward {
    type State = BlockState;

    fn backward(self, ops: Ops<BlockState, 6>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let state = &ops.state;
        let wants_x = ops.parents[0].is_some() || ops.parents[1].is_some();
        let saved = state.saved.as_ref().expect("the forward pass of a tracked operation saves");
        let found = state.block().backward(state.slices(), saved, slice(&dy), wants_x);
        let [x, skip] = found.x;
        let found = [
            (x, &state.x[0]),
            (skip, &state.x[1]),
            (found.weight, &state.weight),
            (found.term, &state.term),
            (found.gamma, &state.gamma),
            (found.beta, &state.beta),
        ];
        register(grads, ops.parents.map(|parent| parent.map(|node| node.id)), found);
        let [x, skip] = ops.state.x;
        recycle([dy, x, skip]);
    }
}

// ---- the last layer ----

/// The inputs, contiguous.
#[derive(Clone, Debug)]
struct OutState {
    x: [FlexTensor; 2],
    weight: FlexTensor,
    bias: FlexTensor,
    window: Window,
}

impl OutState {
    fn out(&self) -> Out<'_> {
        let [[_, _, first], [_, _, second]] = [dims(&self.x[0]), dims(&self.x[1])];
        let ([outputs], window) = (dims(&self.bias), self.window);
        let convolution = Convolution { window, transposed: true, inputs: [first, second], outputs };
        Out { convolution, weight: slice(&self.weight), bias: slice(&self.bias) }
    }

    fn slices(&self) -> [&[f32]; 2] {
        [slice(&self.x[0]), slice(&self.x[1])]
    }

    fn forward(&self) -> FlexTensor {
        let ([n, _, _], [outputs]) = (dims(&self.x[0]), dims(&self.bias));
        tensor(self.out().forward(self.slices(), n), &[n, self.window.positions(), outputs])
    }
}

#[derive(Debug)]
struct OutBackward;

impl Backward<Flex, 4> for OutBackward {
    type State = OutState;

    fn backward(self, ops: Ops<OutState, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let state = &ops.state;
        let wants_x = ops.parents[0].is_some() || ops.parents[1].is_some();
        let found = state.out().backward(state.slices(), slice(&dy), wants_x);
        let [x, skip] = found.x;
        let found =
            [(x, &state.x[0]), (skip, &state.x[1]), (found.weight, &state.weight), (found.bias, &state.bias)];
        register(grads, ops.parents.map(|parent| parent.map(|node| node.id)), found);
        let [x, skip] = ops.state.x;
        recycle([dy, x, skip]);
    }
}

// ---- the backends ----

impl FusedOps for Flex {
    fn linear_swish(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (y, state) = LinearState::forward(&x, &weight, &bias);
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
        let mut state = block_state([x, skip], [weight, term, gamma, beta], kind);
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
        let state = out_state([x, skip], [weight, bias], window);
        let y = state.forward();
        recycle(state.x);
        y
    }
}

fn block_state(x: [FlexTensor; 2], params: [FlexTensor; 4], kind: BlockKind) -> BlockState {
    let [weight, term, gamma, beta] = params.map(|tensor| tensor.to_contiguous());
    let x = x.map(|tensor| tensor.to_contiguous());
    BlockState { x, weight, term, gamma, beta, kind, saved: None }
}

fn out_state(x: [FlexTensor; 2], params: [FlexTensor; 2], window: Window) -> OutState {
    let [weight, bias] = params.map(|tensor| tensor.to_contiguous());
    OutState { x: x.map(|tensor| tensor.to_contiguous()), weight, bias, window }
}

impl<C: CheckpointStrategy> FusedOps for Autodiff<Flex, C> {
    fn linear_swish(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [(x, nx), (weight, nw), (bias, nb)] = [x, weight, bias].map(|tensor| tensor.into_parts());
        let (y, state) = LinearState::forward(&x, &weight, &bias);
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
        let mut state = block_state([x, skip], [weight, term, gamma, beta], kind);
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
        let state = out_state([x, skip], [weight, bias], window);
        let y = state.forward();
        match OutBackward.prepare::<C>([n0, n1, n2, n3]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}
