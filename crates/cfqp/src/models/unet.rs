//! The U-Net: convolutions down to a coarse grid and transposed convolutions back up, with skip connections.
//!
//! ```text
//! e = embedding(t, class)                     h0 = x (and its missing-value indicators)
//! down, i = 1..4:  h_i = block_i(h_{i-1}, e)  windows of 3, strides 1, 2, 2, 2, no padding
//! up:              g4 = block(h_4, e), g3 = block([g4, h_3], e), g2 = block([g3, h_2], e)
//! y = transposed convolution([g2, h_1]) + bias
//! block(h, e) = swish(group norm(convolution(h) + (e V + v)))
//! ```
//!
//! Each layer up inverts the window of its layer down. A series is an image of height 1. Windows of 3 with these
//! strides need 17 positions along an axis; shorter data are padded with zeros and the output is cropped.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Input, Network, Shapes};
use crate::nn::{Channels, ConvBlock, ConvOut, TreatmentEmbedding, TreatmentEmbeddingConfig, Window};
use crate::{Error, Result, Rng};

#[cfg(test)]
mod tests;

/// The shortest series, or side of an image, that a U-Net accepts.
const MIN_SIDE: usize = 8;
/// The smallest side that four windows fit on: 17, 15, 7, 3, 1.
const MIN_PADDED_SIDE: usize = 17;
/// The side of the windows.
const KERNEL: usize = 3;
/// The strides of the layers down.
const STRIDES: [usize; 4] = [1, 2, 2, 2];
/// The maximal number of groups of the first layer.
const MAX_FIRST_GROUPS: usize = 4;

/// The sizes of a U-Net; the defaults are the paper's, except for the treatment embedding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UnetConfig {
    /// The number of channels after each layer down.
    pub channels: [usize; 4],
    /// The width of the treatment embedding.
    pub embed: usize,
    /// Groups of the group norms: at most 4 in the first layer, at most one per channel everywhere.
    pub groups: usize,
    /// The features of the treatment.
    pub treatment: TreatmentEmbeddingConfig,
}

impl Default for UnetConfig {
    fn default() -> Self {
        Self {
            channels: [32, 64, 128, 256],
            embed: 256,
            groups: 32,
            treatment: TreatmentEmbeddingConfig::SMOOTH,
        }
    }
}

impl UnetConfig {
    /// Validates the settings for data of these shapes.
    pub(crate) fn check(&self, shapes: &Shapes) -> Result<()> {
        if self.embed == 0 {
            return Err(Error::config("embed", "is zero", "256 is usual"));
        }
        if self.groups == 0 {
            return Err(Error::config("groups", "is zero", "32 is usual"));
        }
        if let Some((layer, c)) = (0..4).map(|i| (i, self.channels[i])).find(|&(i, c)| !self.fits(i, c)) {
            let problem =
                format!("layer {layer} has {c} channels, which {} groups do not divide", self.groups);
            return Err(Error::config("channels", problem, "make every layer a multiple of the groups"));
        }
        Frame::new(shapes).map(drop)
    }

    /// A network for data of these shapes, with weights drawn from `rng`.
    pub(crate) fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Unet> {
        self.check(shapes)?;
        let frame = Frame::new(shapes)?;
        let windows = frame.windows();
        let [c1, c2, c3, c4] = self.channels;
        let embedding =
            TreatmentEmbedding::init(&self.treatment, shapes.t, shapes.classes, self.embed, rng, device);
        let inputs = [frame.inputs, c1, c2, c3];
        let down = (0..4).map(|i| {
            let groups = if i == 0 { self.groups.min(MAX_FIRST_GROUPS) } else { self.groups };
            let channels = self.block(inputs[i], self.channels[i], groups);
            ConvBlock::init(windows[i], channels, rng, device)
        });
        let down = down.collect();
        // from the coarsest grid up; except for the first, the inputs are the layer below and a skip connection
        let up = [(3, c4, c3), (2, 2 * c3, c2), (1, 2 * c2, c1)].map(|(i, inputs, outputs)| {
            ConvBlock::init_transposed(windows[i], self.block(inputs, outputs, self.groups), rng, device)
        });
        let out = ConvOut::init(windows[0], 2 * c1, frame.outputs, rng, device);
        Ok(Unet { embedding, down, up: up.into(), out, frame })
    }

    fn block(&self, inputs: usize, outputs: usize, groups: usize) -> Channels {
        Channels { inputs, outputs, groups: groups.min(outputs), embed: self.embed }
    }

    /// Whether the groups of layer `i` divide its channels, on the way down and up.
    fn fits(&self, i: usize, channels: usize) -> bool {
        let first = if i == 0 { MAX_FIRST_GROUPS } else { usize::MAX };
        let divide = |groups: usize| channels.is_multiple_of(groups.min(channels));
        channels > 0 && divide(self.groups.min(first)) && divide(self.groups)
    }
}

/// The conversion between flat rows of a data set and grids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Input channels, including missing indicators.
    pub(crate) inputs: usize,
    /// Output channels.
    pub(crate) outputs: usize,
    /// Height and width of the data; a series has height 1.
    pub(crate) size: [usize; 2],
    /// Height and width of the padded grid.
    pub(crate) padded: [usize; 2],
    /// Height and width of the windows.
    kernel: [usize; 2],
}

impl Frame {
    fn new(shapes: &Shapes) -> Result<Self> {
        let (inputs, size) = grid(&shapes.x).ok_or_else(|| no_grid("x", &shapes.x))?;
        let (outputs, y_size) = grid(&shapes.y).ok_or_else(|| no_grid("y", &shapes.y))?;
        if shapes.x.len() != shapes.y.len() || size != y_size {
            let problem = format!("x is {:?} and y is {:?}: a U-Net needs equal sizes", shapes.x, shapes.y);
            let hint = "only the channels may differ; use the mlp, or crop or pad the data to one size";
            return Err(Error::config("model", problem, hint));
        }
        let series = shapes.x.len() == 2;
        let min_side = if series { size[1] } else { size[0].min(size[1]) };
        if min_side < MIN_SIDE {
            let problem = format!("x is {:?}: a U-Net needs sides of at least {MIN_SIDE}", shapes.x);
            return Err(Error::config("model", problem, "use the mlp"));
        }
        let inputs = if shapes.missing { 2 * inputs } else { inputs };
        let kernel = if series { [1, KERNEL] } else { [KERNEL, KERNEL] };
        let padded = if series {
            [1, size[1].max(MIN_PADDED_SIDE)]
        } else {
            size.map(|side| side.max(MIN_PADDED_SIDE))
        };
        Ok(Self { inputs, outputs, size, padded, kernel })
    }

    /// The windows of the layers down, from the finest grid.
    fn windows(&self) -> [Window; 4] {
        let mut large = self.padded;
        STRIDES.map(|stride| {
            let stride = self.kernel.map(|side| if side == 1 { 1 } else { stride });
            let window = Window::new(large, self.kernel, stride);
            large = window.small;
            window
        })
    }

    /// The number of zeros before and after the data along an axis.
    pub(crate) fn margins(&self, axis: usize) -> (usize, usize) {
        let total = self.padded[axis] - self.size[axis];
        (total / 2, total - total / 2)
    }

    /// The padded input grid, channels last.
    ///
    /// # Shapes
    /// flat rows `[n, channels * height * width]` to `[n, positions, inputs]`
    fn to_grid(self, input: &Input) -> Tensor<3> {
        let x = match &input.missing {
            Some(missing) => Tensor::cat(vec![input.x.clone(), missing.clone()], 1),
            None => input.x.clone(),
        };
        let (n, [height, width]) = (x.dims()[0], self.size);
        let mut x = x.reshape([n, self.inputs, height, width]);
        if self.padded != self.size {
            let ((top, bottom), (left, right)) = (self.margins(0), self.margins(1));
            x = x.pad((left, right, top, bottom), 0.0);
        }
        x.reshape([n, self.inputs, self.padded[0] * self.padded[1]]).swap_dims(1, 2)
    }

    /// The cropped output as flat rows.
    ///
    /// # Shapes
    /// `[n, positions, outputs]` to `[n, outputs * height * width]`
    fn to_rows(self, y: Tensor<3>) -> Tensor<2> {
        let (n, [height, width]) = (y.dims()[0], self.size);
        let mut y = y.reshape([n, self.padded[0], self.padded[1], self.outputs]);
        if self.padded != self.size {
            let ((top, _), (left, _)) = (self.margins(0), self.margins(1));
            y = y.slice([0..n, top..top + height, left..left + width, 0..self.outputs]);
        }
        let y = y.reshape([n, height * width, self.outputs]).swap_dims(1, 2);
        y.reshape([n, self.outputs * height * width])
    }
}

/// The channels and the height and width of a series or an image.
fn grid(shape: &[usize]) -> Option<(usize, [usize; 2])> {
    match *shape {
        [channels, steps] => Some((channels, [1, steps])),
        [channels, height, width] => Some((channels, [height, width])),
        _ => None,
    }
}

fn no_grid(name: &str, shape: &[usize]) -> Error {
    let problem = format!("{name} is {shape:?}: a U-Net needs series or images");
    let hint = "give the data as [channels, steps] or [channels, height, width], or use the mlp";
    Error::config("model", problem, hint)
}

/// A U-Net for series or images.
#[derive(Module, Debug)]
pub(crate) struct Unet {
    pub(crate) embedding: TreatmentEmbedding,
    pub(crate) down: Vec<ConvBlock>,
    pub(crate) up: Vec<ConvBlock>,
    pub(crate) out: ConvOut,
    #[module(skip)]
    pub(crate) frame: Frame,
}

impl Unet {
    /// This network with the class as an additional input. Its class weights are zero: until it is trained further, all
    /// classes have the same outputs.
    pub(crate) fn with_class_input(&self, classes: usize, device: &Device) -> Self {
        let [width] = self.embedding.linear.bias.dims();
        let class = Some(Param::from_tensor(Tensor::zeros([classes, width], device)));
        Self { embedding: TreatmentEmbedding { class, ..self.embedding.clone() }, ..self.clone() }
    }
}

impl Network for Unet {
    fn forward(&self, input: &Input) -> Tensor<2> {
        let e = self.embedding.forward(input.t.clone(), input.class.clone());
        let mut h = self.frame.to_grid(input);
        let mut skips = Vec::new();
        for block in &self.down {
            h = block.forward(h, None, e.clone());
            skips.push(h.clone());
        }
        let mut skip = None; // the coarsest layer has no skip connection
        skips.pop();
        for block in &self.up {
            h = block.forward(h, skip, e.clone());
            skip = skips.pop();
        }
        self.frame.to_rows(self.out.forward(h, skip.expect("there is one skip connection per layer up")))
    }
}
