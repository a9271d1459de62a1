//! The blocks of a U-Net: swish(group norm(convolution(x) + e V + v)), with e the embedding of the treatment.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::RngExt as _;

use super::conv::{convolve, convolve_transposed};
use super::fused::{self, BlockKind, BlockParams};
use super::norm::GroupNorm;
use super::{Linear, Window, swish, tensor};
use crate::Rng;

/// A convolution or transposed convolution with treatment term, group norm and swish.
#[derive(Module, Debug)]
pub(crate) struct ConvBlock {
    /// `[cover * inputs, outputs]`, or transposed `[inputs, cover * outputs]`.
    pub(crate) weight: Param<Tensor<2>>,
    /// The map from the embedding of the treatment to the term that is added at every site.
    pub(crate) term: Linear,
    pub(crate) norm: GroupNorm,
    #[module(skip)]
    pub(crate) window: Window,
    pub(crate) transposed: bool,
}

/// The sizes of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    /// Input channels, including those of a skip input.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// The number of groups of the norm; it divides the outputs.
    pub groups: usize,
    /// Width of the embedding of the treatment.
    pub embed: usize,
}

impl ConvBlock {
    /// A block with a convolution over the window.
    pub(crate) fn init(window: Window, channels: Channels, rng: &mut Rng, device: &Device) -> Self {
        let rows = window.cover() * channels.inputs;
        let weight = uniform([rows, channels.outputs], rows, rng, device);
        let term = Linear::init(channels.embed, channels.outputs, rng, device);
        let norm = GroupNorm::init(channels.outputs, channels.groups, device);
        Self { weight, term, norm, window, transposed: false }
    }

    /// A block with a transposed convolution over the window.
    pub(crate) fn init_transposed(
        window: Window,
        channels: Channels,
        rng: &mut Rng,
        device: &Device,
    ) -> Self {
        let columns = window.cover() * channels.outputs;
        let weight = uniform([channels.inputs, columns], columns, rng, device);
        let term = Linear::init(channels.embed, channels.outputs, rng, device);
        let norm = GroupNorm::init(channels.outputs, channels.groups, device);
        Self { weight, term, norm, window, transposed: true }
    }

    /// The output of the block for x with the channels of `skip` appended.
    ///
    /// # Shapes
    /// x and skip `[n, positions, channels]`, embedding `[n, embed]`, to `[n, places, outputs]`; positions and places are
    /// swapped if transposed
    pub(crate) fn forward(&self, x: Tensor<3>, skip: Option<Tensor<3>>, embedding: Tensor<2>) -> Tensor<3> {
        let term = self.term.forward(embedding);
        if fused::available(&x.device()) && (self.transposed || skip.is_none()) {
            self.fused(x, skip, term)
        } else {
            self.composed(x, skip, term)
        }
    }

    fn fused(&self, x: Tensor<3>, skip: Option<Tensor<3>>, term: Tensor<2>) -> Tensor<3> {
        let (gamma, beta) = (self.norm.gamma.val(), self.norm.beta.val());
        let params = BlockParams { weight: self.weight.val(), gamma, beta };
        let kind = BlockKind { window: self.window, transposed: self.transposed, groups: self.norm.groups };
        fused::conv_block(x, skip, term, params, kind)
    }

    /// The layer composed of Burn's operations: the definition, and the implementation for other devices.
    fn composed(&self, x: Tensor<3>, skip: Option<Tensor<3>>, term: Tensor<2>) -> Tensor<3> {
        let x = concatenate(x, skip);
        let convolution = if self.transposed { convolve_transposed } else { convolve };
        let z = convolution(x, self.weight.val(), &self.window);
        swish(self.norm.forward(z + term.unsqueeze_dim(1)))
    }
}

/// The output layer: a transposed convolution with a bias.
#[derive(Module, Debug)]
pub(crate) struct ConvOut {
    /// `[inputs, cover * outputs]`
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) bias: Param<Tensor<1>>,
    #[module(skip)]
    pub(crate) window: Window,
}

impl ConvOut {
    /// A layer from `inputs` channels, including those of the skip input, to `outputs`.
    pub(crate) fn init(
        window: Window,
        inputs: usize,
        outputs: usize,
        rng: &mut Rng,
        device: &Device,
    ) -> Self {
        let columns = window.cover() * outputs;
        let weight = uniform([inputs, columns], columns, rng, device);
        Self { weight, bias: uniform([outputs], columns, rng, device), window }
    }

    /// The output for x with the channels of `skip` appended.
    ///
    /// # Shapes
    /// x and skip `[n, places, channels]` to `[n, positions, outputs]`
    pub(crate) fn forward(&self, x: Tensor<3>, skip: Tensor<3>) -> Tensor<3> {
        if fused::available(&x.device()) {
            fused::conv_out(x, skip, self.weight.val(), self.bias.val(), self.window)
        } else {
            self.composed(x, skip)
        }
    }

    /// The layer composed of Burn's operations: the definition, and the implementation for other devices.
    fn composed(&self, x: Tensor<3>, skip: Tensor<3>) -> Tensor<3> {
        let y = convolve_transposed(concatenate(x, Some(skip)), self.weight.val(), &self.window);
        y + self.bias.val().unsqueeze()
    }
}

/// The channels of both inputs, concatenated.
fn concatenate(x: Tensor<3>, skip: Option<Tensor<3>>) -> Tensor<3> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_near, random, with_grads};
    use crate::stream;

    /// Windows over a series, over a short series at once, and over images; with the channels of a second input.
    fn windows() -> [(Window, usize); 4] {
        [
            (Window::new([1, 8], [1, 3], [1, 2]), 0),
            (Window::new([1, 3], [1, 3], [1, 2]), 5),
            (Window::new([6, 9], [3, 3], [1, 1]), 3),
            (Window::new([6, 7], [3, 3], [2, 2]), 0),
        ]
    }

    #[test]
    fn a_fused_block_equals_the_composed_one() {
        let device = Device::flex().autodiff();
        let mut rng = stream(1, &["block"]);
        let channels = Channels { inputs: 5, outputs: 8, groups: 2, embed: 6 };
        for (window, second) in windows() {
            for n in [1, 5] {
                let down = ConvBlock::init(window, channels, &mut rng, &device);
                let inputs = Channels { inputs: channels.inputs + second, ..channels };
                let up = ConvBlock::init_transposed(window, inputs, &mut rng, &device);
                for (block, sites, second) in [(down, window.positions(), 0), (up, window.places(), second)] {
                    let skip = |tensor: Tensor<3>| (second > 0).then_some(tensor);
                    let run = |fused: bool| {
                        let mut rng = stream(2, &["input"]);
                        let x = random([n, sites, channels.inputs], &mut rng, &device);
                        let beside = random([n, sites, second], &mut rng, &device);
                        let term = random([n, channels.outputs], &mut rng, &device);
                        let forward = if fused { ConvBlock::fused } else { ConvBlock::composed };
                        let y = forward(&block, x.clone(), skip(beside.clone()), term.clone());
                        let norm = &block.norm;
                        with_grads(y, |grads| {
                            grads.record(&x).record(&block.weight.val()).record(&term);
                            grads.record(&norm.gamma.val()).record(&norm.beta.val());
                            if let Some(beside) = skip(beside) {
                                grads.record(&beside);
                            }
                        })
                    };
                    assert_near(&run(true), &run(false), 1e-5);
                }
            }
        }
    }

    #[test]
    fn a_fused_output_layer_equals_the_composed_one() {
        let device = Device::flex().autodiff();
        for (window, second) in windows() {
            let second = second + 1;
            let out = ConvOut::init(window, 4 + second, 3, &mut stream(1, &["out"]), &device);
            let run = |forward: fn(&ConvOut, Tensor<3>, Tensor<3>) -> Tensor<3>| {
                let mut rng = stream(2, &["input"]);
                let x = random([3, window.places(), 4], &mut rng, &device);
                let skip = random([3, window.places(), second], &mut rng, &device);
                let y = forward(&out, x.clone(), skip.clone());
                with_grads(y, |grads| {
                    grads.record(&x).record(&skip).record(&out.weight.val()).record(&out.bias.val());
                })
            };
            assert_near(&run(ConvOut::forward), &run(ConvOut::composed), 1e-5);
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let device = Device::flex().autodiff();
        let window = Window::new([6, 7], [3, 3], [2, 2]);
        let channels = Channels { inputs: 32, outputs: 64, groups: 8, embed: 6 };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut rng = stream(1, &["block"]);
                let block = ConvBlock::init(window, channels, &mut rng, &device);
                let x = random([301, window.positions(), 32], &mut rng, &device);
                let e = random([301, 6], &mut rng, &device);
                let y = block.forward(x.clone(), None, e.clone());
                with_grads(y, |grads| {
                    grads.record(&x).record(&block.weight.val()).record(&e).record(&block.norm.gamma.val());
                })
            })
        };
        assert_eq!(run(1), run(3));
    }
}
