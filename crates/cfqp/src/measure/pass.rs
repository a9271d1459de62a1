//! One pass of a network, forward and backward, on any device.

use burn::module::{ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use super::Workload;
use crate::data::{NamedArray, Scaler};
use crate::models::{Batcher, ClassInput, Network};
use crate::nn::squared_error;
use crate::rng::stream;
use crate::{DeviceKind, Result};

/// The outputs of a network and the gradients of its loss.
#[derive(Clone, Debug)]
pub struct NetworkPass {
    /// Standardised outcomes of all units.
    pub output: Vec<f32>,
    /// The name and the gradient of every parameter.
    pub gradients: Vec<(String, Vec<f32>)>,
}

impl Workload {
    /// One pass on `n` random units. Weights and units depend on the workload only, not on the device.
    ///
    /// # Errors
    /// If `n` is 0 or the device cannot be opened.
    pub fn pass(&self, n: usize, device: DeviceKind) -> Result<NetworkPass> {
        let device = device.open()?.autodiff();
        let net = self.base.init(&self.shapes(), &mut stream(1, &["measure"]), &device)?;
        let data = self.data(n)?;
        let batcher = Batcher { data: &data, scaler: &Scaler::fit(&data.all(), false), missing: false };
        let rows: Vec<usize> = (0..n).collect();
        let output = net.forward(&batcher.input(&rows, ClassInput::None, &device));
        let y = batcher.target(&rows, &device).y;
        let grads = squared_error(output.clone(), y, n as f64).backward();
        let found = gradients(&net, &grads).into_iter();
        Ok(NetworkPass {
            output: values(output),
            gradients: found.map(|array| (array.name, array.values)).collect(),
        })
    }
}

/// The gradients of all trainable parameters; zeros where none arrived.
pub(crate) fn gradients(network: &impl Network, grads: &Gradients) -> Vec<NamedArray> {
    let mut visitor = Collect { path: Vec::new(), grads, found: Vec::new() };
    network.visit(&mut visitor);
    visitor.found
}

struct Collect<'a> {
    path: Vec<String>,
    grads: &'a Gradients,
    found: Vec<NamedArray>,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() {
            let (name, shape) = (self.path.join("."), param.dims().to_vec());
            let values = match param.val().grad(self.grads) {
                Some(gradient) => values(gradient),
                None => vec![0.0; shape.iter().product()],
            };
            self.found.push(NamedArray { name, shape, values });
        }
    }
}

/// The values of a tensor.
///
/// # Panics
/// If they are not f32.
pub(crate) fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().try_into_vec().expect("tensors hold f32")
}
