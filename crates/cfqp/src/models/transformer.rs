//! The paper's transformer for series: the steps of x, then a blank for every step of y.
//!
//! A step of x holds a positional code, its channels and the embedding of the treatment; a blank holds its
//! positional code alone and sees the treatment through the steps of x. Steps of x attend to steps of x up to
//! themselves, blanks to everything. With L steps of x, outcome step j is read off position L - 1 + j.
//!
//! Each layer, with e = x W + b:
//!
//! ```text
//! h = norm(x + attention(e)),   x' = norm(h + W2 relu(W1 h))
//! ```

#[cfg(test)]
mod tests;

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Input, Network, Shapes};
use crate::nn::{
    Attention, Dropout, LayerNorm, Linear, Sequences, TreatmentEmbedding, TreatmentEmbeddingConfig,
    linear_relu, tensor,
};
use crate::{Error, Result, Rng};

/// Timescales of the positional code: sine and cosine each.
const TIMESCALES: usize = 5;
/// The slowest of them, in steps; the fastest is 1.
const SLOWEST: f64 = 100.0;

/// The size of a [`Transformer`]; the defaults are the paper's, but for the smooth treatment embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerConfig {
    /// Channels of a step between layers.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Attention heads; they divide the width among them.
    pub heads: usize,
    /// Hidden units of the map that follows attention.
    pub feed_forward: usize,
    /// Share of values dropped in training: of attention weights, hidden units, and both maps' results.
    pub dropout: f32,
    /// Width of the treatment embedding.
    pub embed: usize,
    /// Which features of the treatment it is made of.
    pub treatment: TreatmentEmbeddingConfig,
}

impl Default for TransformerConfig {
    fn default() -> Self {
        Self {
            width: 64,
            layers: 3,
            heads: 8,
            feed_forward: 512,
            dropout: 0.1,
            embed: 8,
            treatment: TreatmentEmbeddingConfig::SMOOTH,
        }
    }
}

impl TransformerConfig {
    /// Whether such a transformer can be made for `shapes`.
    pub fn check(&self, shapes: &Shapes) -> Result<()> {
        series("x", &shapes.x)?;
        series("y", &shapes.y)?;
        let sizes = [
            ("transformer.width", self.width),
            ("transformer.layers", self.layers),
            ("transformer.heads", self.heads),
            ("transformer.feed_forward", self.feed_forward),
            ("transformer.embed", self.embed),
        ];
        if let Some((field, _)) = sizes.into_iter().find(|&(_, size)| size == 0) {
            return Err(Error::config(field, "is 0", "give at least 1"));
        }
        if !self.width.is_multiple_of(self.heads) {
            let problem = format!("{} heads do not divide a width of {}", self.heads, self.width);
            return Err(Error::config("transformer.heads", problem, "choose a divisor of the width"));
        }
        if !(0.0..=0.9).contains(&self.dropout) {
            let problem = format!("{} is not a share of values to drop", self.dropout);
            return Err(Error::config("transformer.dropout", problem, "give 0 to 0.9; usual is 0.1"));
        }
        Ok(())
    }

    /// A transformer for `shapes` with weights drawn as PyTorch draws them.
    pub fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Transformer> {
        self.check(shapes)?;
        let (x, y) = (series("x", &shapes.x)?, series("y", &shapes.y)?);
        let inputs = 2 * TIMESCALES + x.0 * if shapes.missing { 2 } else { 1 } + self.embed;
        let embedding =
            TreatmentEmbedding::init(&self.treatment, shapes.t, shapes.classes, self.embed, rng, device);
        Ok(Transformer {
            embedding,
            input: Linear::init(inputs, self.width, rng, device),
            layers: (0..self.layers).map(|_| Layer::init(self, rng, device)).collect(),
            output: Linear::init(self.width, y.0, rng, device),
            dropout: self.dropout,
            channels: x.0,
            x_steps: x.1,
            y_steps: y.1,
        })
    }
}

/// (channels, steps) of `shape`, if it is a series.
fn series(name: &str, shape: &[usize]) -> Result<(usize, usize)> {
    match *shape {
        [channels, steps] if channels * steps > 0 => Ok((channels, steps)),
        _ => Err(Error::data(
            name,
            format!("a transformer works on series [channels, steps], but {name} has shape {shape:?}"),
            "choose another base model, or shape the data as series",
        )),
    }
}

/// A transformer m(x, t) for series, made by [`TransformerConfig::init`].
#[derive(Module, Debug)]
pub struct Transformer {
    embedding: TreatmentEmbedding,
    input: Linear,
    layers: Vec<Layer>,
    output: Linear,
    dropout: f32,
    channels: usize,
    x_steps: usize,
    y_steps: usize,
}

impl Network for Transformer {
    fn forward(&self, input: &Input) -> Tensor<2> {
        let n = input.x.dims()[0];
        let seq = Sequences { n, steps: self.x_steps + self.y_steps, causal: self.x_steps };
        let answers = self.x_steps - 1..seq.steps - 1;
        let mut dropout = Dropout::new(self.dropout, input.dropout);
        let mut h = self.input.forward(self.sequence(input));
        for (i, layer) in self.layers.iter().enumerate() {
            // Nothing looks at the last layer but the answers.
            let last = i + 1 == self.layers.len();
            let read = if last { answers.clone() } else { 0..seq.steps };
            h = layer.forward(h, seq, &read, &mut dropout);
        }
        let y = self.output.forward(h);
        let channels = y.dims()[1];
        y.reshape([n, self.y_steps, channels]).swap_dims(1, 2).reshape([n, channels * self.y_steps])
    }
}

impl Transformer {
    /// # Shapes
    /// The steps of a batch as rows, `[n (x steps + y steps), positional + channels + embedding]`
    fn sequence(&self, input: &Input) -> Tensor<2> {
        let (n, steps) = (input.x.dims()[0], self.x_steps + self.y_steps);
        let by_step = |x: &Tensor<2>| x.clone().reshape([n, self.channels, self.x_steps]).swap_dims(1, 2);
        let mut told = vec![by_step(&input.x)];
        told.extend(input.missing.as_ref().map(by_step));
        let embedding = self.embedding.forward(input.t.clone(), input.class.clone());
        let width = embedding.dims()[1];
        told.push(embedding.reshape([n, 1, width]).expand([n, self.x_steps, width]));
        let told = Tensor::cat(told, 2);

        let (device, channels) = (told.device(), told.dims()[2]);
        let blanks = Tensor::zeros([n, self.y_steps, channels], &device);
        let positions = positions(steps, &device).expand([n, steps, 2 * TIMESCALES]);
        let all = Tensor::cat(vec![positions, Tensor::cat(vec![told, blanks], 1)], 2);
        all.reshape([n * steps, 2 * TIMESCALES + channels])
    }
}

/// sin(step / s), then cos(step / s), for timescales s from 1 to [`SLOWEST`] in geometric progression.
///
/// # Shapes
/// `[1, steps, 2 timescales]`
fn positions(steps: usize, device: &Device) -> Tensor<3> {
    let angle = |step: usize, i: usize| step as f64 / SLOWEST.powf(i as f64 / (TIMESCALES - 1) as f64);
    let row = |step| {
        let angles = (0..TIMESCALES).map(move |i| angle(step, i));
        angles.clone().map(f64::sin).chain(angles.map(f64::cos)).map(|v| v as f32)
    };
    tensor((0..steps).flat_map(row).collect(), [1, steps, 2 * TIMESCALES], device)
}

/// One layer.
#[derive(Module, Debug)]
struct Layer {
    embed: Linear,
    attention: Attention,
    norm1: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm2: LayerNorm,
}

impl Layer {
    fn init(config: &TransformerConfig, rng: &mut Rng, device: &Device) -> Self {
        let TransformerConfig { width, heads, feed_forward, .. } = *config;
        Self {
            embed: Linear::init(width, width, rng, device),
            attention: Attention::init(width, heads, rng, device),
            norm1: LayerNorm::init(width, device),
            wide: Linear::init(width, feed_forward, rng, device),
            narrow: Linear::init(feed_forward, width, rng, device),
            norm2: LayerNorm::init(width, device),
        }
    }

    /// # Shapes
    /// x `[n steps, width]` to `[n read, width]`
    fn forward(&self, x: Tensor<2>, seq: Sequences, read: &Range<usize>, dropout: &mut Dropout) -> Tensor<2> {
        let attended = self.attention.forward(self.embed.forward(x.clone()), seq, read, dropout);
        let h = self.norm1.add(seq.rows(x, read), attended, dropout);
        let hidden = linear_relu(h.clone(), &self.wide, dropout);
        self.norm2.add(h, self.narrow.forward(hidden), dropout)
    }
}
