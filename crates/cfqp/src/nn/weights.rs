//! Conversion between the parameters of a network and named arrays.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

use crate::data::NamedArray;
use crate::{Error, Result};

/// All parameters of `network`, in the order of its fields.
pub(crate) fn save_weights(network: &impl Module) -> Vec<NamedArray> {
    let mut visitor = Save { path: Path::default(), weights: Vec::new() };
    network.visit(&mut visitor);
    visitor.weights
}

/// `network` with the values of `weights`, which must have the names and shapes of its parameters.
pub(crate) fn load_weights<M: Module>(network: M, weights: &[NamedArray]) -> Result<M> {
    let mut mapper = Load { path: Path::default(), weights: weights.iter(), problem: None };
    let network = network.map(&mut mapper);
    let problem = mapper.problem.or_else(|| {
        mapper.weights.next().map(|weight| format!("the network has no parameter `{}`", weight.name))
    });
    match problem {
        None => Ok(network),
        Some(problem) => Err(Error::data(
            "weights",
            problem,
            "the weights belong to a network of another shape: fit the model again",
        )),
    }
}

#[derive(Default)]
struct Path(Vec<String>);

impl Path {
    fn enter(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }
    fn exit(&mut self) {
        self.0.pop();
    }
    fn name(&self) -> String {
        self.0.join(".")
    }
}

struct Save {
    path: Path,
    weights: Vec<NamedArray>,
}

impl ModuleVisitor for Save {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = param.val().into_data();
        let shape = data.shape().to_vec();
        let values = data.try_into_vec::<f32>().expect("parameters are f32");
        self.weights.push(NamedArray { name: self.path.name(), shape, values });
    }
}

struct Load<'a> {
    path: Path,
    weights: std::slice::Iter<'a, NamedArray>,
    problem: Option<String>,
}

impl ModuleMapper for Load<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.problem.is_some() {
            return param;
        }
        let (name, shape) = (self.path.name(), param.dims());
        match self.weights.next() {
            Some(w) if w.name == name && w.shape == shape => param.map(|tensor| {
                let (device, grad) = (tensor.device(), tensor.is_require_grad());
                let data = TensorData::new(w.values.clone(), shape);
                Tensor::from_data(data, &device).set_require_grad(grad)
            }),
            Some(w) => {
                let found = format!("`{}` {:?}", w.name, w.shape);
                self.problem = Some(format!("found {found} where `{name}` {shape:?} belongs"));
                param
            }
            None => {
                self.problem = Some(format!("parameter `{name}` is missing"));
                param
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nn::Linear, stream};
    use burn::tensor::Device;

    #[test]
    fn weights_survive_a_round_trip_and_those_of_another_network_are_refused() {
        let device = Device::flex();
        let mut rng = stream(1, &["weights"]);
        let (a, b) = (Linear::init(3, 2, &mut rng, &device), Linear::init(3, 2, &mut rng, &device));
        let saved = save_weights(&a);
        assert_eq!(saved[0].name, "weight");
        assert_ne!(saved, save_weights(&b));
        let b = load_weights(b, &saved).unwrap();
        assert_eq!(saved, save_weights(&b));
        let other = Linear::init(2, 2, &mut rng, &device);
        assert!(load_weights(other.clone(), &saved).is_err());
        assert!(load_weights(other, &[]).is_err());
    }
}
