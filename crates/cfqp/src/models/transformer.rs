//! The paper's transformer for series: the steps of x, followed by a blank step for every step of y.
//!
//! A step of x holds a positional encoding, its channels and the embedding of the treatment; a blank step holds its
//! positional encoding only. Steps of x attend to steps of x up to themselves, blank steps to all steps. With L steps of
//! x, outcome step j is the output at position L - 1 + j.
//!
//! Each layer computes, with e = x W + b:
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

/// The number of timescales of the positional encoding, with a sine and a cosine each.
pub(super) const TIMESCALES: usize = 5;
/// The longest timescale, in steps; the shortest is 1.
const MAX_TIMESCALE: f64 = 100.0;

/// Settings of the transformer; the defaults are the paper's, except for the treatment embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerConfig {
    /// The width of a step between layers.
    pub width: usize,
    /// The number of layers.
    pub layers: usize,
    /// The number of attention heads; it divides the width.
    pub heads: usize,
    /// The hidden width of the feed-forward network.
    pub feed_forward: usize,
    /// The dropout rate in training: of attention weights, hidden values, and the results of both sublayers.
    pub dropout: f32,
    /// The width of the treatment embedding.
    pub embed: usize,
    /// The features of the treatment.
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
    /// The number of features of a position.
    pub(super) const POSITIONS: usize = 2 * TIMESCALES;

    /// Validates the settings for data of these shapes.
    pub(crate) fn check(&self, shapes: &Shapes) -> Result<()> {
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
            let problem = format!("{} is not a dropout rate", self.dropout);
            return Err(Error::config("transformer.dropout", problem, "give 0 to 0.9; usual is 0.1"));
        }
        Ok(())
    }

    /// A network for data of these shapes, with weights drawn from `rng` as PyTorch initialises them.
    pub(crate) fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Transformer> {
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

/// The channels and steps of a series; an error for other shapes.
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
pub(crate) struct Transformer {
    pub(crate) embedding: TreatmentEmbedding,
    pub(crate) input: Linear,
    pub(crate) layers: Vec<Layer>,
    pub(crate) output: Linear,
    dropout: f32,
    pub(crate) channels: usize,
    pub(crate) x_steps: usize,
    pub(crate) y_steps: usize,
}

impl Network for Transformer {
    fn forward(&self, input: &Input) -> Tensor<2> {
        let n = input.x.dims()[0];
        let seq = Sequences { n, steps: self.x_steps + self.y_steps, causal: self.x_steps };
        let outcome_steps = self.x_steps - 1..seq.steps - 1;
        let mut dropout = Dropout::new(self.dropout, input.dropout);
        let mut h = self.input.forward(self.sequence(input));
        for (i, layer) in self.layers.iter().enumerate() {
            // of the last layer only the outcome steps are needed
            let last = i + 1 == self.layers.len();
            let read = if last { outcome_steps.clone() } else { 0..seq.steps };
            h = layer.forward(h, seq, &read, &mut dropout);
        }
        let y = self.output.forward(h);
        let channels = y.dims()[1];
        y.reshape([n, self.y_steps, channels]).swap_dims(1, 2).reshape([n, channels * self.y_steps])
    }
}

impl Transformer {
    /// The input sequence of a batch, its steps as rows.
    ///
    /// # Shapes
    /// a batch of n units to `[n * (x steps + y steps), positional + channels + embedding]`
    fn sequence(&self, input: &Input) -> Tensor<2> {
        let (n, steps) = (input.x.dims()[0], self.x_steps + self.y_steps);
        let by_step = |x: &Tensor<2>| x.clone().reshape([n, self.channels, self.x_steps]).swap_dims(1, 2);
        let mut known = vec![by_step(&input.x)];
        known.extend(input.missing.as_ref().map(by_step));
        let embedding = self.embedding.forward(input.t.clone(), input.class.clone());
        let width = embedding.dims()[1];
        known.push(embedding.reshape([n, 1, width]).expand([n, self.x_steps, width]));
        let known = Tensor::cat(known, 2);

        let (device, channels) = (known.device(), known.dims()[2]);
        let blanks = Tensor::zeros([n, self.y_steps, channels], &device);
        let positions = tensor(position_features(steps), [1, steps, 2 * TIMESCALES], &device);
        let positions = positions.expand([n, steps, 2 * TIMESCALES]);
        let all = Tensor::cat(vec![positions, Tensor::cat(vec![known, blanks], 1)], 2);
        all.reshape([n * steps, 2 * TIMESCALES + channels])
    }
}

/// sin(step / s), then cos(step / s), for timescales s from 1 to [`MAX_TIMESCALE`] in geometric progression.
///
/// # Shapes
/// `[steps, 2 timescales]`, flat
pub(crate) fn position_features(steps: usize) -> Vec<f32> {
    let angle = |step: usize, i: usize| step as f64 / MAX_TIMESCALE.powf(i as f64 / (TIMESCALES - 1) as f64);
    let row = |step| {
        let angles = (0..TIMESCALES).map(move |i| angle(step, i));
        angles.clone().map(f64::sin).chain(angles.map(f64::cos)).map(|v| v as f32)
    };
    (0..steps).flat_map(row).collect()
}

/// Attention and a feed-forward network, each with a residual connection and layer norm.
#[derive(Module, Debug)]
pub(crate) struct Layer {
    pub(crate) embed: Linear,
    pub(crate) attention: Attention,
    pub(crate) norm1: LayerNorm,
    pub(crate) wide: Linear,
    pub(crate) narrow: Linear,
    pub(crate) norm2: LayerNorm,
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

    /// The outputs of the steps `read`.
    ///
    /// # Shapes
    /// x `[n * steps, width]` to `[n * read, width]`
    fn forward(&self, x: Tensor<2>, seq: Sequences, read: &Range<usize>, dropout: &mut Dropout) -> Tensor<2> {
        let attended = self.attention.forward(self.embed.forward(x.clone()), seq, read, dropout);
        let h = self.norm1.add(seq.rows(x, read), attended, dropout);
        let hidden = linear_relu(h.clone(), &self.wide, dropout);
        self.norm2.add(h, self.narrow.forward(hidden), dropout)
    }
}
