//! swish(group norm(convolution(x) + treatment term)): what a U-Net is made of.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::RngExt as _;

use super::conv::{Window, convolve, convolve_transposed};
use super::norm::GroupNorm;
use super::{swish, tensor};
use crate::Rng;

/// A convolution, or its transpose, with what follows it.
#[derive(Module, Debug)]
pub(crate) struct ConvBlock {
    /// `[cover * inputs, outputs]`, or transposed `[inputs, cover * outputs]`.
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) norm: GroupNorm,
    #[module(skip)]
    pub(crate) window: Window,
    pub(crate) transposed: bool,
}

/// The channels that go in and come out of a block, and the groups that they are normalised in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    pub inputs: usize,
    pub outputs: usize,
    pub groups: usize,
}

impl ConvBlock {
    /// A convolution over the window.
    pub fn init(window: Window, channels: Channels, rng: &mut Rng, device: &Device) -> Self {
        let rows = window.cover() * channels.inputs;
        let weight = uniform([rows, channels.outputs], rows, rng, device);
        let norm = GroupNorm::init(channels.outputs, channels.groups, device);
        Self { weight, norm, window, transposed: false }
    }

    /// The transposed convolution over the window; `channels.inputs` counts those of the skip input too.
    pub fn init_transposed(window: Window, channels: Channels, rng: &mut Rng, device: &Device) -> Self {
        let columns = window.cover() * channels.outputs;
        let weight = uniform([channels.inputs, columns], columns, rng, device);
        let norm = GroupNorm::init(channels.outputs, channels.groups, device);
        Self { weight, norm, window, transposed: true }
    }

    /// # Shapes
    /// x `[n, positions, inputs]` (with the channels of `skip` put after its own), term `[n, outputs]`, to
    /// `[n, places, outputs]`; positions and places change sides if transposed
    pub fn forward(&self, x: Tensor<3>, skip: Option<Tensor<3>>, term: Tensor<2>) -> Tensor<3> {
        let x = join(x, skip);
        let convolution = if self.transposed { convolve_transposed } else { convolve };
        let z = convolution(x, self.weight.val(), &self.window);
        swish(self.norm.forward(z + term.unsqueeze_dim(1)))
    }
}

/// The last layer: a transposed convolution with a bias.
#[derive(Module, Debug)]
pub(crate) struct ConvOut {
    /// `[inputs, cover * outputs]`
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) bias: Param<Tensor<1>>,
    #[module(skip)]
    pub(crate) window: Window,
}

impl ConvOut {
    /// From `inputs` channels, those of the skip input counted, to `outputs`.
    pub fn init(window: Window, inputs: usize, outputs: usize, rng: &mut Rng, device: &Device) -> Self {
        let columns = window.cover() * outputs;
        let weight = uniform([inputs, columns], columns, rng, device);
        Self { weight, bias: uniform([outputs], columns, rng, device), window }
    }

    /// # Shapes
    /// x and skip `[n, places, their channels]` to `[n, positions, outputs]`
    pub fn forward(&self, x: Tensor<3>, skip: Tensor<3>) -> Tensor<3> {
        let y = convolve_transposed(join(x, Some(skip)), self.weight.val(), &self.window);
        y + self.bias.val().unsqueeze()
    }
}

/// Both inputs' channels side by side.
fn join(x: Tensor<3>, skip: Option<Tensor<3>>) -> Tensor<3> {
    match skip {
        Some(skip) => Tensor::cat(vec![x, skip], 2),
        None => x,
    }
}

/// Uniform within 1/sqrt(fan_in), as in PyTorch, which counts a transposed convolution's outputs as its fan-in.
fn uniform<const D: usize>(
    shape: [usize; D],
    fan_in: usize,
    rng: &mut Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    let bound = 1.0 / (fan_in as f32).sqrt();
    let draw = |_| rng.random_range(-bound..=bound);
    let values = (0..shape.iter().product()).map(draw).collect();
    Param::from_tensor(tensor(values, shape, device))
}
