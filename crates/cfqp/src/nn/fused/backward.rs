//! The backward passes of the operations, and the state that they need.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn_flex::FlexTensor;

use super::BlockKind;
use super::slices::{dims, like, recycle, slice, tensor};
use crate::nn::Window;
use crate::nn::kernels::{
    Affine, Block, Buffer, Convolution, OutputLayer, SavedActivations, scaled_difference, sum_of_squares,
};

// ---- x W + b ----

/// The inputs, contiguous, and z = x W + b where swish follows.
#[derive(Clone, Debug)]
pub(super) struct LinearState {
    pub x: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
    z: Arc<Buffer>,
    swish: bool,
}

impl LinearState {
    /// The output, and the state of the backward pass.
    pub(super) fn forward(
        x: &FlexTensor,
        weight: &FlexTensor,
        bias: &FlexTensor,
        swish: bool,
    ) -> (FlexTensor, Self) {
        let (x, weight, bias) = (x.to_contiguous(), weight.to_contiguous(), bias.to_contiguous());
        let (y, z) = Affine { weight: slice(&weight), bias: slice(&bias), swish }.forward(slice(&x));
        let y = tensor(y, &[dims::<2>(&x)[0], dims::<1>(&bias)[0]]);
        (y, Self { x, weight, bias, z: Arc::new(z), swish })
    }
}

/// The backward pass of x W + b or swish(x W + b).
#[derive(Debug)]
pub(super) struct LinearBackward;

impl Backward<Flex, 3> for LinearBackward {
    type State = LinearState;

    fn backward(self, ops: Ops<LinearState, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let LinearState { x, weight, bias, z, swish } = &ops.state;
        let linear = Affine { weight: slice(weight), bias: slice(bias), swish: *swish };
        let found = linear.backward(slice(x), z, slice(&dy), ops.parents[0].is_some());
        let found = [(found.x, x), (found.weight, weight), (found.bias, bias)];
        register(grads, ops.parents.map(|parent| parent.map(|node| node.id)), found);
        recycle([dy, ops.state.x]);
    }
}

/// Registers the gradients of the inputs that need one.
fn register<const N: usize>(
    grads: &mut Gradients,
    inputs: [Option<NodeId>; N],
    gradients: [(Buffer, &FlexTensor); N],
) {
    for (input, (values, variable)) in inputs.into_iter().zip(gradients) {
        if let Some(input) = input {
            grads.register::<Flex>(input, like(values, variable));
        }
    }
}

// ---- blocks ----

/// The inputs, contiguous, and the saved activations.
#[derive(Clone, Debug)]
pub(super) struct BlockState {
    pub x: [FlexTensor; 2],
    weight: FlexTensor,
    term: FlexTensor,
    gamma: FlexTensor,
    beta: FlexTensor,
    kind: BlockKind,
    saved: Option<Arc<SavedActivations>>,
}

impl BlockState {
    /// `params` are weight, term, gamma and beta.
    pub(super) fn new(x: [FlexTensor; 2], params: [FlexTensor; 4], kind: BlockKind) -> Self {
        let [weight, term, gamma, beta] = params.map(|tensor| tensor.to_contiguous());
        let x = x.map(|tensor| tensor.to_contiguous());
        Self { x, weight, term, gamma, beta, kind, saved: None }
    }

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

    /// The output; with `save`, the state keeps what the backward pass needs.
    pub(super) fn forward(&mut self, save: bool) -> FlexTensor {
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

/// The backward pass of a block.
#[derive(Debug)]
pub(super) struct BlockBackward;

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

// ---- the output layer ----

/// The inputs, contiguous.
#[derive(Clone, Debug)]
pub(super) struct OutState {
    pub x: [FlexTensor; 2],
    weight: FlexTensor,
    bias: FlexTensor,
    window: Window,
}

impl OutState {
    /// `params` are weight and bias.
    pub(super) fn new(x: [FlexTensor; 2], params: [FlexTensor; 2], window: Window) -> Self {
        let [weight, bias] = params.map(|tensor| tensor.to_contiguous());
        Self { x: x.map(|tensor| tensor.to_contiguous()), weight, bias, window }
    }

    fn layer(&self) -> OutputLayer<'_> {
        let [[_, _, first], [_, _, second]] = [dims(&self.x[0]), dims(&self.x[1])];
        let ([outputs], window) = (dims(&self.bias), self.window);
        let convolution = Convolution { window, transposed: true, inputs: [first, second], outputs };
        OutputLayer { convolution, weight: slice(&self.weight), bias: slice(&self.bias) }
    }

    fn slices(&self) -> [&[f32]; 2] {
        [slice(&self.x[0]), slice(&self.x[1])]
    }

    /// The output.
    pub(super) fn forward(&self) -> FlexTensor {
        let ([n, _, _], [outputs]) = (dims(&self.x[0]), dims(&self.bias));
        tensor(self.layer().forward(self.slices(), n), &[n, self.window.positions(), outputs])
    }
}

/// The backward pass of the output layer.
#[derive(Debug)]
pub(super) struct OutBackward;

impl Backward<Flex, 4> for OutBackward {
    type State = OutState;

    fn backward(self, ops: Ops<OutState, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let state = &ops.state;
        let wants_x = ops.parents[0].is_some() || ops.parents[1].is_some();
        let found = state.layer().backward(state.slices(), slice(&dy), wants_x);
        let [x, skip] = found.x;
        let found =
            [(x, &state.x[0]), (skip, &state.x[1]), (found.weight, &state.weight), (found.bias, &state.bias)];
        register(grads, ops.parents.map(|parent| parent.map(|node| node.id)), found);
        let [x, skip] = ops.state.x;
        recycle([dy, x, skip]);
    }
}

// ---- the loss ----

/// Output and target, contiguous.
#[derive(Clone, Debug)]
pub(super) struct ErrorState {
    output: FlexTensor,
    y: FlexTensor,
    scale: f32,
}

impl ErrorState {
    pub(super) fn new(output: FlexTensor, y: FlexTensor, scale: f32) -> Self {
        Self { output: output.to_contiguous(), y: y.to_contiguous(), scale }
    }

    /// The loss.
    pub(super) fn forward(&self) -> FlexTensor {
        let error = sum_of_squares(slice(&self.output), slice(&self.y));
        tensor(vec![self.scale * error].into(), &[1])
    }
}

/// The backward pass of scale * sum (output - y)^2 with respect to the output.
#[derive(Debug)]
pub(super) struct ErrorBackward;

impl Backward<Flex, 1> for ErrorBackward {
    type State = ErrorState;

    fn backward(self, ops: Ops<ErrorState, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node).to_contiguous();
        let ErrorState { output, y, scale } = ops.state;
        if let [Some(parent)] = ops.parents {
            let values = scaled_difference(2.0 * scale * slice(&dy)[0], slice(&output), slice(&y));
            grads.register::<Flex>(parent.id, like(values, &output));
        }
        recycle([output, y]);
    }
}
