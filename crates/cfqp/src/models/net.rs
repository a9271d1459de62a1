//! A base model of any kind.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::linear::{LinearConfig, LinearMap};
use super::mlp::{Mlp, MlpConfig};
use super::{Input, Network, Shapes, Transformer, TransformerConfig, Unet, UnetConfig};
use crate::{Result, Rng};

/// Settings of a base model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum BaseConfig {
    /// A linear map, fitted in closed form.
    Linear(LinearConfig),
    /// A multilayer perceptron.
    Mlp(MlpConfig),
    /// A U-Net.
    Unet(UnetConfig),
    /// A transformer.
    Transformer(TransformerConfig),
}

impl BaseConfig {
    /// The name of the model.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Mlp(_) => "mlp",
            Self::Unet(_) => "unet",
            Self::Transformer(_) => "transformer",
        }
    }

    /// Whether all sizes are within bounds: a corrupt file must not request more memory than there is.
    pub(crate) fn is_bounded(&self) -> bool {
        const MAX_WIDTH: usize = 1 << 14;
        const MAX_LAYERS: usize = 64;
        let narrow = |widths: &[usize]| widths.iter().all(|&width| width <= MAX_WIDTH);
        match self {
            Self::Linear(_) => true,
            Self::Mlp(config) => config.hidden.len() <= MAX_LAYERS && narrow(&config.hidden),
            Self::Unet(config) => narrow(&config.channels) && narrow(&[config.embed, config.groups]),
            Self::Transformer(config) => {
                config.layers <= MAX_LAYERS
                    && narrow(&[config.width, config.feed_forward, config.embed, config.heads])
            }
        }
    }

    /// A network with weights drawn from `rng`.
    pub(crate) fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Net> {
        Ok(match self {
            Self::Linear(config) => Net::Linear(config.init(shapes, rng, device)?),
            Self::Mlp(config) => Net::Mlp(config.init(shapes, rng, device)?),
            Self::Unet(config) => Net::Unet(config.init(shapes, rng, device)?),
            Self::Transformer(config) => Net::Transformer(config.init(shapes, rng, device)?),
        })
    }
}

/// A base model with its weights.
#[derive(Module, Debug)]
pub(crate) enum Net {
    /// A linear map.
    Linear(LinearMap),
    /// A multilayer perceptron.
    Mlp(Mlp),
    /// A U-Net.
    Unet(Unet),
    /// A transformer.
    Transformer(Transformer),
}

impl Net {
    /// This network with the class as an additional input, where its kind supports that: see [`Unet::with_class_input`].
    pub(crate) fn with_class_input(&self, classes: usize, device: &Device) -> Option<Self> {
        match self {
            Self::Unet(net) => Some(Self::Unet(net.with_class_input(classes, device))),
            _ => None,
        }
    }
}

impl Network for Net {
    fn forward(&self, input: &Input) -> Tensor<2> {
        match self {
            Self::Linear(net) => net.forward(input),
            Self::Mlp(net) => net.forward(input),
            Self::Unet(net) => net.forward(input),
            Self::Transformer(net) => net.forward(input),
        }
    }
}
