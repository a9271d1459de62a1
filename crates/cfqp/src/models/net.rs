//! One of the base models.

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
    /// What the model is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Mlp(_) => "mlp",
            Self::Unet(_) => "unet",
            Self::Transformer(_) => "transformer",
        }
    }

    /// Whether the sizes are such as a model can have, so that a file cannot ask for more memory than there is.
    pub(crate) fn is_bounded(&self) -> bool {
        const WIDEST: usize = 1 << 14;
        let narrow = |sides: &[usize]| sides.iter().all(|&side| side <= WIDEST);
        match self {
            Self::Linear(_) => true,
            Self::Mlp(config) => config.hidden.len() <= 64 && narrow(&config.hidden),
            Self::Unet(config) => narrow(&config.channels) && narrow(&[config.embed, config.groups]),
            Self::Transformer(config) => {
                config.layers <= 64
                    && narrow(&[config.width, config.feed_forward, config.embed, config.heads])
            }
        }
    }

    /// A network with weights drawn from `rng`.
    pub fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<Net> {
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
pub enum Net {
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
    /// This network of all units, told the class, where it can be: see [`Unet::told`].
    pub(crate) fn told(&self, classes: usize, device: &Device) -> Option<Self> {
        match self {
            Self::Unet(net) => Some(Self::Unet(net.told(classes, device))),
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
