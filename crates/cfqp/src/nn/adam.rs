//! Adam as PyTorch defines it, with the weight decay of AdamW.
//!
//! ```text
//! p = p (1 - lr decay)
//! m = beta_1 m + (1 - beta_1) g         v = beta_2 v + (1 - beta_2) g^2
//! p = p - lr (m / (1 - beta_1^t)) / (sqrt(v / (1 - beta_2^t)) + epsilon)
//! ```

use burn::backend::Flex;
use burn::tensor::{Device, Tensor};
use burn_flex::FlexTensor;
use burn_optim::{AdamState, AdaptiveMomentumState, LearningRate, ModuleOptimizer, Optimizer};
use serde::{Deserialize, Serialize};

use super::fused;
use super::kernels::{self, AdamStep};

/// The constants of Adam; the defaults are PyTorch's, without weight decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Adam {
    /// The decay rate of the mean of the gradient.
    pub beta_1: f64,
    /// The decay rate of the mean of the squared gradient.
    pub beta_2: f64,
    /// Added to the denominator.
    pub epsilon: f64,
    /// Decoupled weight decay, per unit of learning rate; 0 for none.
    pub weight_decay: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
    }
}

impl Adam {
    /// An optimizer of a whole network, before its first step.
    pub(crate) fn init(&self) -> ModuleOptimizer {
        ModuleOptimizer::from(*self)
    }

    /// The factors of step `time`, counted from 1.
    pub(super) fn step_factors(&self, time: usize, lr: f64) -> AdamStep {
        let time = i32::try_from(time).unwrap_or(i32::MAX);
        let correction_1 = 1.0 - self.beta_1.powi(time);
        let correction_2 = (1.0 - self.beta_2.powi(time)).sqrt();
        AdamStep {
            beta_1: self.beta_1 as f32,
            rest_1: (1.0 - self.beta_1) as f32,
            beta_2: self.beta_2 as f32,
            rest_2: (1.0 - self.beta_2) as f32,
            rate: (lr * correction_2 / correction_1) as f32,
            epsilon: (self.epsilon * correction_2) as f32,
            keep: (1.0 - lr * self.weight_decay) as f32,
        }
    }

    /// Step `time`, counted from 1, of plain parameters along `gradient`, with their moments m and v.
    pub(crate) fn update(
        &self,
        (time, lr): (usize, f64),
        parameters: &mut [f32],
        gradient: &[f32],
        [m, v]: [&mut [f32]; 2],
    ) {
        kernels::adam(self.step_factors(time, lr), parameters, &[gradient], m, v);
    }
}

impl Optimizer for Adam {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let (time, m, v) = match state {
            Some(AdamState { momentum }) => (momentum.time + 1, momentum.moment_1, momentum.moment_2),
            None => (1, grad.zeros_like(), grad.zeros_like()),
        };
        let update = if fused::available(&tensor.device()) { update_fused } else { update_composed };
        let [tensor, m, v] = update(self.step_factors(time, lr), [tensor, m, v], grad);
        (tensor, Some(AdamState::new(AdaptiveMomentumState::new(time, m, v))))
    }

    fn to_device<const D: usize>(mut state: AdamState<D>, device: &Device) -> AdamState<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

/// p, m and v after a step, composed of Burn's operations: the definition, and the implementation for other devices.
fn update_composed<const D: usize>(step: AdamStep, old: [Tensor<D>; 3], grad: Tensor<D>) -> [Tensor<D>; 3] {
    let [p, m, v] = old;
    let m = m * step.beta_1 + grad.clone() * step.rest_1;
    let v = v * step.beta_2 + grad.square() * step.rest_2;
    let p = p * step.keep - m.clone() * step.rate / (v.clone().sqrt() + step.epsilon);
    [p, m, v]
}

/// p, m and v after a step, in one pass and in place.
fn update_fused<const D: usize>(step: AdamStep, old: [Tensor<D>; 3], grad: Tensor<D>) -> [Tensor<D>; 3] {
    let [mut p, mut m, mut v] = old.map(primitive);
    let grad = primitive(grad);
    let g = grad.as_slice().expect("a contiguous tensor of f32");
    kernels::adam(step, p.storage_mut(), &[g], m.storage_mut(), v.storage_mut());
    fused::recycle([grad]);
    [p, m, v].map(Tensor::from_primitive::<Flex>)
}

/// The contiguous tensor behind a tensor of the flex backend, without a second handle to its data.
fn primitive<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    let tensor = tensor.try_into_primitive::<Flex>().expect("an optimizer's tensors are outside autodiff");
    tensor.to_contiguous()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tensor;
    use serde_json::Value;

    fn values(tensor: Tensor<1>) -> Vec<f32> {
        tensor.into_data().try_into_vec().unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    #[test]
    fn twenty_steps_agree_with_pytorch() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/adam.json");
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let (a, b) = (numbers(&golden["A"]["data"]), numbers(&golden["b"]));
        let device = Device::flex();
        for run in golden["runs"].as_array().unwrap() {
            let start = numbers(&golden["p0"]).iter().map(|&v| v as f32).collect();
            let (mut p, mut state) = (tensor(start, [3], &device), None);
            for step in run["steps"].as_array().unwrap() {
                let at: Vec<f64> = values(p.clone()).into_iter().map(f64::from).collect();
                let grad = (0..3).map(|i| (0..3).map(|j| a[3 * i + j] * at[j]).sum::<f64>() - b[i]);
                let grad = tensor(grad.map(|g| g as f32).collect(), [3], &device);
                (p, state) = Adam::default().step(run["lr"].as_f64().unwrap(), p, grad, state);
                for (ours, golden) in values(p.clone()).iter().zip(numbers(&step["params"])) {
                    assert!((f64::from(*ours) - golden).abs() < 2e-6, "{ours} {golden}");
                }
            }
        }
    }

    #[test]
    fn the_fused_step_equals_the_composed_one() {
        let device = Device::flex();
        let some = |seed: usize| {
            let values = (0..100_003).map(|i| ((i * 31 + seed) % 97) as f32 / 97.0 + 0.01).collect();
            tensor::<1>(values, [100_003], &device)
        };
        let step = Adam { weight_decay: 0.1, ..Adam::default() }.step_factors(3, 0.01);
        let fused = update_fused(step, [some(1), some(2), some(3)], some(4));
        let composed = update_composed(step, [some(1), some(2), some(3)], some(4));
        for (fused, composed) in fused.into_iter().zip(composed) {
            let pairs = values(fused).into_iter().zip(values(composed));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs()));
        }
    }

    #[test]
    fn weight_decay_does_not_depend_on_the_gradient() {
        let device = Device::flex();
        let adam = Adam { weight_decay: 0.5, ..Adam::default() };
        let (p, _) = adam.step(0.1, tensor(vec![2.0], [1], &device), tensor(vec![0.0], [1], &device), None);
        assert!((values(p)[0] - 1.9).abs() < 1e-6);
    }
}
