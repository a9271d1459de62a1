//! A multilayer perceptron, m(x, t) = h_L W + b.
//!
//! h_i = swish(h_{i-1} W_i + b_i), and h_0 holds x, its missing indicators, the features of t and the class. By default the
//! only feature of t is standardised t itself: the fewer frequencies, the better the network generalises in t.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Input, Network, Shapes};
use crate::nn::{Embedding, Linear, TreatmentEmbeddingConfig, linear_swish};
use crate::{Error, Result, Rng};

/// Settings of the multilayer perceptron.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// The width of each hidden layer.
    pub hidden: Vec<usize>,
    /// The features of the treatment.
    pub treatment: TreatmentEmbeddingConfig,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self {
            hidden: vec![256; 3],
            treatment: TreatmentEmbeddingConfig::Smooth { frequencies: 0, scale: 0.0 },
        }
    }
}

impl MlpConfig {
    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        if self.hidden.is_empty() || self.hidden.contains(&0) {
            let problem = format!("{:?} is not a list of layer widths", self.hidden);
            return Err(Error::config("hidden", problem, "give at least one width, each at least 1"));
        }
        Ok(())
    }

    /// A network with weights drawn from `rng`.
    pub(crate) fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Mlp> {
        self.validate()?;
        let treatment = self.treatment.init(shapes.t, rng, device);
        let x: usize = shapes.x.iter().product();
        let mut width = x * (1 + usize::from(shapes.missing)) + treatment.width() + shapes.classes;
        let mut layers = Vec::with_capacity(self.hidden.len());
        for &next in &self.hidden {
            layers.push(Linear::init(width, next, rng, device));
            width = next;
        }
        let outputs = shapes.y.iter().product();
        let output = Linear::init(width, outputs, rng, device);
        Ok(Mlp { treatment, layers, output })
    }
}

/// A multilayer perceptron; see the module.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    treatment: Embedding,
    layers: Vec<Linear>,
    output: Linear,
}

impl Mlp {
    /// The input of the first layer.
    pub(crate) fn features(&self, input: &Input) -> Tensor<2> {
        let mut parts = vec![input.x.clone()];
        parts.extend(input.missing.clone());
        parts.push(self.treatment.forward(input.t.clone()));
        parts.extend(input.class.clone());
        Tensor::cat(parts, 1)
    }

    /// The features of the treatment.
    pub(crate) fn treatment(&self) -> &Embedding {
        &self.treatment
    }

    /// The affine maps, in the order of their use.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &Linear> {
        self.layers.iter().chain([&self.output])
    }

    /// The affine maps, mutable.
    pub(crate) fn maps_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.layers.iter_mut().chain([&mut self.output])
    }
}

impl Network for Mlp {
    fn forward(&self, input: &Input) -> Tensor<2> {
        let mut h = self.features(input);
        for layer in &self.layers {
            h = linear_swish(h, layer);
        }
        self.output.forward(h)
    }
}
