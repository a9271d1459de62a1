//! Loss and gradients of a perceptron, without a graph.
//!
//! The definition, and what other devices do, is the graph of [`linear_swish`](super::linear_swish), [`Linear`] and
//! [`squared_error`](super::squared_error). To keep a graph of so few operations takes a fifth of a step.

use burn::backend::Flex;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::flex::{floats, from_floats};
use super::kernels::{Affine, Buffer, scaled_difference, sum_of_squares};
use super::{Linear, fused};

/// The sum of squared errors over `count` and its gradients, where the device has them; swish follows all `layers` but
/// the last. `seen` is 1 where y was observed, and y 0 where it was not.
///
/// # Shapes
/// x `[n, inputs]`, y and seen `[n, outputs]`
pub(crate) fn perceptron_gradients(
    layers: &[&Linear],
    x: Tensor<2>,
    y: Tensor<2>,
    seen: Option<Tensor<2>>,
    count: f64,
) -> Option<(f64, GradientsParams)> {
    if !fused::available(&x.device()) {
        return None;
    }
    let (x, y, seen) = (plain(x), plain(y), seen.map(plain));
    let parameters: Vec<[FlexTensor; 2]> =
        layers.iter().map(|layer| [plain(layer.weight.val()), plain(layer.bias.val())]).collect();
    let affine = |i: usize| {
        let [weight, bias] = &parameters[i];
        Affine { weight: floats(weight), bias: floats(bias), swish: i + 1 < layers.len() }
    };
    // of every layer, what comes out of it, and what goes into its swish
    let mut passed: Vec<(Buffer, Buffer)> = Vec::with_capacity(layers.len());
    for i in 0..layers.len() {
        let input = passed.last().map_or_else(|| floats(&x), |(before, _)| before);
        passed.push(affine(i).forward(input));
    }
    let output = &mut passed.last_mut()?.0;
    if let Some(seen) = &seen {
        output.iter_mut().zip(floats(seen)).for_each(|(output, seen)| *output *= seen);
    }
    let scale = (1.0 / count) as f32;
    let loss = scale * sum_of_squares(output, floats(&y));
    let mut dy = scaled_difference(2.0 * scale, output, floats(&y));
    let mut gradients = GradientsParams::new();
    for (i, layer) in layers.iter().enumerate().rev() {
        let input = if i > 0 { &passed[i - 1].0 } else { floats(&x) };
        let found = affine(i).backward(input, &passed[i].1, &dy, i > 0);
        gradients.register(layer.weight.id, tensor::<2>(found.weight, layer.weight.dims()));
        gradients.register(layer.bias.id, tensor::<1>(found.bias, layer.bias.dims()));
        dy = found.x;
    }
    Some((f64::from(loss), gradients))
}

/// The contiguous tensor behind one that may be in a graph.
fn plain<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    let tensor = tensor.inner().try_into_primitive::<Flex>().expect("the device was asked");
    tensor.to_contiguous()
}

fn tensor<const D: usize>(values: Buffer, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_primitive::<Flex>(from_floats(values.into_vec(), &shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_near, random};
    use crate::nn::{linear_swish, squared_error};
    use crate::stream;
    use burn::tensor::Device;

    #[test]
    fn loss_and_gradients_are_those_of_the_graph() {
        let device = Device::flex().autodiff();
        for (widths, hidden) in
            [(vec![5, 33, 16, 7], true), (vec![4, 3], false), (vec![41, 256, 256, 40], false)]
        {
            let rng = &mut stream(1, &["perceptron"]);
            let layers: Vec<Linear> =
                widths.windows(2).map(|pair| Linear::init(pair[0], pair[1], rng, &device)).collect();
            let draw =
                |name: &str, width: usize| random([9, width], &mut stream(2, &[name]), &device).detach();
            let (x, y) = (draw("x", widths[0]), draw("y", widths[widths.len() - 1]));
            let seen = hidden.then(|| draw("seen", widths[widths.len() - 1]).greater_elem(0.0).float());
            let y = seen.clone().map_or(y.clone(), |seen| y * seen);
            let all: Vec<&Linear> = layers.iter().collect();
            let (loss, found) = perceptron_gradients(&all, x.clone(), y.clone(), seen.clone(), 12.0).unwrap();

            let (last, before) = layers.split_last().unwrap();
            let mut h = x;
            for layer in before {
                h = linear_swish(h, layer);
            }
            let output = last.forward(h);
            let output = seen.map_or(output.clone(), |seen| output * seen);
            let graph = squared_error(output, y, 12.0);
            let expected_loss = graph.clone().into_scalar::<f32>();
            let gradients = graph.backward();
            let values = |tensor: Tensor<1>| tensor.into_data().try_into_vec::<f32>().unwrap();
            let (mut ours, mut expected) = (vec![vec![loss as f32]], vec![vec![expected_loss]]);
            for layer in &layers {
                ours.push(values(found.get::<2>(layer.weight.id).unwrap().flatten(0, 1)));
                expected.push(values(layer.weight.val().grad(&gradients).unwrap().flatten(0, 1)));
                ours.push(values(found.get::<1>(layer.bias.id).unwrap()));
                expected.push(values(layer.bias.val().grad(&gradients).unwrap()));
            }
            assert_near(&ours, &expected, 1e-6);
        }
    }
}
