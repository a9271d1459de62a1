//! y = A x + B_k t + c_k: for linear responses, and for few units.
//!
//! Fitted in closed form by ridge regression. With the class as input, the map A of x is shared, and every class k has
//! its own response B_k to the treatment.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Input, Network, Shapes};
use crate::nn::Linear;
use crate::{Result, Rng};

/// Settings of the linear base model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearConfig {}

impl LinearConfig {
    /// A map with weights drawn from `rng`.
    pub(crate) fn init(&self, shapes: &Shapes, rng: &mut Rng, device: &Device) -> Result<LinearMap> {
        let outputs = shapes.y.iter().product();
        Ok(LinearMap { map: Linear::init(features(shapes), outputs, rng, device) })
    }
}

/// The number of columns of the design of a [`LinearMap`], without the constant.
pub(crate) fn features(shapes: &Shapes) -> usize {
    let x: usize = shapes.x.iter().product();
    x * (1 + usize::from(shapes.missing)) + shapes.t + shapes.classes * (1 + shapes.t)
}

/// A linear base model; see the module.
#[derive(Module, Debug)]
pub(crate) struct LinearMap {
    pub(crate) map: Linear,
}

impl LinearMap {
    /// The design matrix: x, its missing indicators, t, and for each class its indicator and that times t.
    ///
    /// # Shapes
    /// a batch of n units to `[n, features]`
    pub(crate) fn design(input: &Input) -> Tensor<2> {
        let mut parts = vec![input.x.clone()];
        parts.extend(input.missing.clone());
        parts.push(input.t.clone());
        if let Some(class) = &input.class {
            parts.push(class.clone());
            let columns = (0..input.t.dims()[1]).map(|j| class.clone() * input.t.clone().narrow(1, j, 1));
            parts.extend(columns);
        }
        Tensor::cat(parts, 1)
    }
}

impl Network for LinearMap {
    fn forward(&self, input: &Input) -> Tensor<2> {
        self.map.forward(Self::design(input))
    }
}
