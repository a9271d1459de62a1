//! A multilayer perceptron of (x, t).
//!
//! m(x, t) = h W + b with h = swish layers of x, its missing indicator, the features of t and the class. By default
//! the only feature of t is t itself, standardised: the fewer its frequencies, the better it generalises in t.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Input, Network, Shapes};
use crate::nn::{Embedding, Linear, TreatmentEmbeddingConfig, linear_swish};
use crate::{Error, Result, Rng};

/// Settings of an [`Mlp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
    /// Features of the treatment at the input.
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
    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        if self.hidden.is_empty() || self.hidden.contains(&0) {
            let problem = format!("{:?} is not a list of layer widths", self.hidden);
            return Err(Error::config("hidden", problem, "give at least one width, each at least 1"));
        }
        Ok(())
    }

    /// A network with weights drawn from `rng`.
    pub fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Mlp> {
        self.check()?;
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

/// See the module.
#[derive(Module, Debug)]
pub struct Mlp {
    treatment: Embedding,
    layers: Vec<Linear>,
    output: Linear,
}

impl Mlp {
    /// What the first layer sees.
    pub(crate) fn features(&self, input: &Input) -> Tensor<2> {
        let mut parts = vec![input.x.clone()];
        parts.extend(input.missing.clone());
        parts.push(self.treatment.forward(input.t.clone()));
        parts.extend(input.class.clone());
        Tensor::cat(parts, 1)
    }

    /// All that is learned, in the order of its use.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &Linear> {
        self.layers.iter().chain([&self.output])
    }

    /// The same, to write to.
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
