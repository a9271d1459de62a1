//! A perceptron trained without an autodiff graph: parameters, gradients and the moments of Adam are plain arrays.
//!
//! Its definition, and the implementation for other devices, is the graph of [`linear_swish`](super::linear_swish),
//! [`Linear`] and [`squared_error`](super::squared_error) with [`Adam`] as Burn's optimizer. With so few operations the
//! bookkeeping of a graph takes a third of a training step.

use burn::backend::Flex;
use burn::tensor::{Device, Tensor};
use burn_flex::FlexTensor;
use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};

use super::flex::floats;
use super::kernels::{Affine, Buffer, adam, scaled_difference, sum_of_squares};
use super::{Adam, Linear, fused, tensor};

/// Affine maps, with swish after all but the last.
pub(crate) struct Perceptron {
    /// Weight and bias of every map.
    layers: Vec<[Parameter; 2]>,
    adam: Adam,
    steps: usize,
}

/// A parameter, and the means of its gradient and squared gradient.
struct Parameter {
    value: Vec<f32>,
    m: Vec<f32>,
    v: Vec<f32>,
}

impl Parameter {
    fn new<const D: usize>(value: Tensor<D>) -> Self {
        let value = floats(&plain(value)).to_vec();
        let zero = || vec![0.0; value.len()];
        Self { m: zero(), v: zero(), value }
    }
}

/// The gradients of weight and bias of every map.
pub(crate) type Gradients = Vec<[Buffer; 2]>;

impl Perceptron {
    /// A perceptron that starts from `layers`; none if their device has no fused operations.
    pub(crate) fn new(layers: &[&Linear], adam: Adam) -> Option<Self> {
        let parameters =
            |layer: &&Linear| [Parameter::new(layer.weight.val()), Parameter::new(layer.bias.val())];
        let all = layers.iter().all(|layer| fused::available(&layer.weight.val().device()));
        all.then(|| Self { layers: layers.iter().map(parameters).collect(), adam, steps: 0 })
    }

    fn affine(&self, i: usize) -> Affine<'_> {
        let [weight, bias] = &self.layers[i];
        Affine { weight: &weight.value, bias: &bias.value, swish: i + 1 < self.layers.len() }
    }

    /// The sum of squared errors divided by `count`, and its gradients. `observed` is 1 where y was observed; elsewhere y
    /// must be 0.
    ///
    /// # Shapes
    /// x `[n, inputs]`, y and observed `[n, outputs]`
    pub(crate) fn loss_and_gradients(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
        observed: Option<Tensor<2>>,
        count: f64,
    ) -> (f64, Gradients) {
        let (x, y) = (plain(x), plain(y));
        // the output of every map, and the input of its swish
        let mut passed: Vec<(Buffer, Buffer)> = Vec::with_capacity(self.layers.len());
        for i in 0..self.layers.len() {
            let input = passed.last().map_or_else(|| floats(&x), |(before, _)| before);
            passed.push(self.affine(i).forward(input));
        }
        let mut output = passed.last_mut().map(|(output, _)| std::mem::take(output)).unwrap_or_default();
        if let Some(observed) = observed.map(plain) {
            output.iter_mut().zip(floats(&observed)).for_each(|(output, observed)| *output *= observed);
        }
        let scale = (1.0 / count) as f32;
        let loss = scale * sum_of_squares(&output, floats(&y));
        let mut dy = scaled_difference(2.0 * scale, &output, floats(&y));
        let mut gradients = Vec::with_capacity(self.layers.len());
        for i in (0..self.layers.len()).rev() {
            let input = if i > 0 { &passed[i - 1].0 } else { floats(&x) };
            let found = self.affine(i).backward(input, &passed[i].1, &dy, i > 0);
            gradients.push([found.weight, found.bias]);
            dy = found.x;
        }
        gradients.reverse();
        (f64::from(loss), gradients)
    }

    /// One step of Adam along the sum of `gradients`.
    pub(crate) fn step(&mut self, rate: f64, gradients: &[Gradients]) {
        self.steps += 1;
        let step = self.adam.step_factors(self.steps, rate);
        let mut all: Vec<(usize, &mut Parameter)> = self.layers.iter_mut().flatten().enumerate().collect();
        all.par_iter_mut().for_each(|(i, parameter)| {
            let parts: Vec<&[f32]> = gradients.iter().map(|part| &part[*i / 2][*i % 2][..]).collect();
            adam(step, &mut parameter.value, &parts, &mut parameter.m, &mut parameter.v);
        });
    }

    /// Writes the parameters to `layers`, which must have the shapes of those that it started from.
    pub(crate) fn write_to<'a>(&self, layers: impl Iterator<Item = &'a mut Linear>, device: &Device) {
        for (layer, [weight, bias]) in layers.zip(&self.layers) {
            let shape = layer.weight.dims();
            layer.weight = layer.weight.clone().map(|_| tensor(weight.value.clone(), shape, device));
            layer.bias = layer.bias.clone().map(|_| tensor(bias.value.clone(), [shape[1]], device));
        }
    }
}

/// The contiguous tensor of the CPU backend.
fn plain<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    tensor.try_into_primitive::<Flex>().expect("the device was checked").to_contiguous()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_near, random};
    use crate::nn::{linear_swish, squared_error};
    use crate::stream;
    use burn::module::Module;
    use burn_optim::GradientsParams;

    /// Three steps in two shards.
    #[test]
    fn steps_agree_with_those_of_the_graph() {
        let device = Device::flex();
        for (widths, hidden) in
            [(vec![5, 33, 16, 7], true), (vec![4, 3], false), (vec![41, 256, 256, 40], false)]
        {
            let rng = &mut stream(1, &["perceptron"]);
            let mut layers: Vec<Linear> =
                widths.windows(2).map(|pair| Linear::init(pair[0], pair[1], rng, &device)).collect();
            let draw = |name: &str, width: usize| {
                random([9, width], &mut stream(2, &[name]), &device.clone().autodiff()).inner()
            };
            let (x, y) = (draw("x", widths[0]), draw("y", widths[widths.len() - 1]));
            let seen = hidden.then(|| draw("seen", widths[widths.len() - 1]).greater_elem(0.0).float());
            let y = seen.clone().map_or(y.clone(), |seen| y * seen);
            let adam = Adam { weight_decay: 0.1, ..Adam::default() };

            let mut graph = layers.clone().train();
            let mut optimizer = adam.init();
            let mut graph_losses = Vec::new();
            for _ in 0..3 {
                let on = |tensor: Tensor<2>| tensor.autodiff();
                let (last, before) = graph.split_last().unwrap();
                let h = before.iter().fold(on(x.clone()), linear_swish);
                let output = last.forward(h);
                let output = seen.clone().map_or(output.clone(), |seen| output * on(seen));
                let loss = squared_error(output, on(y.clone()), 12.0);
                graph_losses.push(loss.clone().into_scalar::<f32>());
                let gradients = GradientsParams::from_grads(loss.backward(), &graph);
                graph = optimizer.step(0.01, graph, gradients);
            }

            let all: Vec<&Linear> = layers.iter().collect();
            let mut perceptron = Perceptron::new(&all, adam).unwrap();
            let mut losses = Vec::new();
            for _ in 0..3 {
                let part = |from: usize, to: usize| {
                    let cut = |tensor: &Tensor<2>| tensor.clone().narrow(0, from, to - from);
                    perceptron.loss_and_gradients(cut(&x), cut(&y), seen.as_ref().map(cut), 12.0)
                };
                let ((a, first), (b, second)) = (part(0, 5), part(5, 9));
                losses.push((a + b) as f32);
                perceptron.step(0.01, &[first, second]);
            }
            perceptron.write_to(layers.iter_mut(), &device);

            let values = |layers: &[Linear]| -> Vec<Vec<f32>> {
                let weights = layers.iter().map(|layer| layer.weight.val().into_data());
                let biases = layers.iter().map(|layer| layer.bias.val().into_data());
                weights.chain(biases).map(|data| data.try_into_vec::<f32>().unwrap()).collect()
            };
            assert_near(&[losses], &[graph_losses], 1e-5);
            assert_near(&values(&layers), &values(&graph.valid()), 1e-5);
        }
    }
}
