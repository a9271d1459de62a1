//! The embedding of the treatment and, in a network with the class as input, of the class.
//!
//! The features of a treatment t are sin(2 pi W t) and cos(2 pi W t) with fixed random W, and, in the smooth
//! variant, t itself. Frequencies that are high compared with the range of t make neighbouring treatments look
//! unrelated: with the paper's W ~ N(0, 30^2) a network does not generalise in t.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::{Linear, linear_swish, swish, tensor};
use crate::Rng;

/// The features of the treatment that a network uses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum TreatmentEmbeddingConfig {
    /// t itself and `frequencies` low frequencies W ~ N(0, scale^2).
    Smooth {
        /// The number of frequencies.
        frequencies: usize,
        /// Their standard deviation, per standard deviation of t.
        scale: f32,
    },
    /// The paper's: `frequencies` of W ~ N(0, scale^2), without t itself.
    Fourier {
        /// The number of frequencies.
        frequencies: usize,
        /// Their standard deviation, per unit of t.
        scale: f32,
    },
}

impl TreatmentEmbeddingConfig {
    /// The default: t and a few low frequencies.
    pub const SMOOTH: Self = Self::Smooth { frequencies: 4, scale: 0.25 };
    /// The paper's 128 frequencies of W ~ N(0, 30^2).
    pub const PAPER: Self = Self::Fourier { frequencies: 128, scale: 30.0 };

    /// The features of treatments of `d_t` dimensions, with frequencies drawn from `rng`.
    pub(crate) fn init(&self, d_t: usize, rng: &mut Rng, device: &Device) -> Embedding {
        let (frequencies, scale, raw) = match *self {
            Self::Smooth { frequencies, scale } => (frequencies, scale, true),
            Self::Fourier { frequencies, scale } => (frequencies, scale, false),
        };
        let draw = |_| scale * Distribution::<f32>::sample(&StandardNormal, rng);
        let values: Vec<f32> = (0..d_t * frequencies).map(draw).collect();
        let frequencies = Param::from_tensor(tensor(values, [d_t, frequencies], device));
        Embedding { frequencies: frequencies.set_require_grad(false), raw }
    }
}

/// The fixed features of a treatment.
#[derive(Module, Debug)]
pub(crate) struct Embedding {
    pub(crate) frequencies: Param<Tensor<2>>,
    /// Whether t itself is a feature.
    pub(crate) raw: bool,
}

impl Embedding {
    /// The number of features.
    pub(crate) fn width(&self) -> usize {
        let [d_t, frequencies] = self.frequencies.dims();
        2 * frequencies + if self.raw { d_t } else { 0 }
    }

    /// Sines, cosines and, in the smooth variant, t itself.
    ///
    /// # Shapes
    /// `[n, d_t]` to `[n, width]`
    pub(crate) fn forward(&self, t: Tensor<2>) -> Tensor<2> {
        if self.frequencies.dims()[1] == 0 {
            return t;
        }
        let angle = t.clone().matmul(self.frequencies.val()) * std::f32::consts::TAU;
        let mut parts = vec![angle.clone().sin(), angle.cos()];
        parts.extend(self.raw.then_some(t));
        Tensor::cat(parts, 1)
    }
}

/// swish(features(t) W + b + c_k), which a network adds to its layers; c_k is a vector per class.
#[derive(Module, Debug)]
pub(crate) struct TreatmentEmbedding {
    pub(crate) features: Embedding,
    pub(crate) linear: Linear,
    /// One row per class, in a network with the class as input.
    pub(crate) class: Option<Param<Tensor<2>>>,
}

impl TreatmentEmbedding {
    /// An embedding of `width` for treatments of `d_t` dimensions and `classes`, 0 for no class input.
    pub(crate) fn init(
        config: &TreatmentEmbeddingConfig,
        d_t: usize,
        classes: usize,
        width: usize,
        rng: &mut Rng,
        device: &Device,
    ) -> Self {
        let features = config.init(d_t, rng, device);
        let linear = Linear::init(features.width(), width, rng, device);
        let class = (classes > 0).then(|| {
            let draw = |_| Distribution::<f32>::sample(&StandardNormal, rng);
            let values = (0..classes * width).map(draw).collect();
            Param::from_tensor(tensor(values, [classes, width], device))
        });
        Self { features, linear, class }
    }

    /// The embedding of a batch.
    ///
    /// # Shapes
    /// t `[n, d_t]`, class one-hot `[n, classes]`, to `[n, width]`
    pub(crate) fn forward(&self, t: Tensor<2>, class: Option<Tensor<2>>) -> Tensor<2> {
        let features = self.features.forward(t);
        match (&self.class, class) {
            (Some(rows), Some(class)) => swish(self.linear.forward(features) + class.matmul(rows.val())),
            _ => linear_swish(features, &self.linear),
        }
    }
}
