//! The U-Net, on grids with channels first; a series is an image of height 1.

use burn::module::Param;
use burn::tensor::Tensor;

use super::graph::{Graph, Value, signed};
use super::input::Input;
use super::layers::{Affine, treatment_embedding, values};
use super::messages::Attribute;
use crate::models::{Frame, Unet};
use crate::nn::{ConvBlock, ConvOut, GROUP_NORM_EPSILON, GroupNorm, Window};

/// The standardised mean of one class, `[n, y elements]`.
pub(super) fn mean(graph: &mut Graph, net: &Unet, input: &Input, class: Option<usize>) -> Value {
    let e = treatment_embedding(graph, &net.embedding, &input.t, class);
    let mut h = to_grid(graph, &net.frame, input);
    let mut skips = Vec::new();
    for layer in &net.down {
        h = block(graph, layer, &h, None, &e);
        skips.push(h.clone());
    }
    // the coarsest layer has no skip connection
    skips.pop();
    let mut skip = None;
    for layer in &net.up {
        h = block(graph, layer, &h, skip.as_ref(), &e);
        skip = skips.pop();
    }
    let y = output_layer(graph, &net.out, &h, skip.as_ref());
    to_rows(graph, &net.frame, &y)
}

/// The padded input grid, `[n, channels, height, width]`.
fn to_grid(graph: &mut Graph, frame: &Frame, input: &Input) -> Value {
    let covariates = graph.concatenate(&input.covariates(), 1);
    let [height, width] = frame.size;
    let grid = graph.reshape(&covariates, &[frame.inputs, height, width]);
    if frame.padded == frame.size {
        return grid;
    }
    let ((top, bottom), (left, right)) = (frame.margins(0), frame.margins(1));
    let pads = [0, 0, top, left, 0, 0, bottom, right].map(|pad| pad as i64);
    let pads = graph.integers(&pads);
    graph.apply("Pad", &[&grid, &pads])
}

/// The cropped output, `[n, y elements]`.
fn to_rows(graph: &mut Graph, frame: &Frame, y: &Value) -> Value {
    let [height, width] = frame.size;
    let mut y = y.clone();
    if frame.padded != frame.size {
        let (top, left) = (frame.margins(0).0, frame.margins(1).0);
        let starts = graph.integers(&[top as i64, left as i64]);
        let ends = graph.integers(&[(top + height) as i64, (left + width) as i64]);
        let axes = graph.integers(&[2, 3]);
        y = graph.apply("Slice", &[&y, &starts, &ends, &axes]);
    }
    graph.reshape(&y, &[frame.outputs * height * width])
}

/// swish(group norm(convolution([h, skip]) + e V + v))
fn block(graph: &mut Graph, block: &ConvBlock, h: &Value, skip: Option<&Value>, e: &Value) -> Value {
    let h = with_skip(graph, h, skip);
    let window = &block.window;
    let z = if block.transposed {
        convolve_transposed(graph, &h, &block.weight, window, None)
    } else {
        convolve(graph, &h, &block.weight, window)
    };
    let term = Affine::new(&block.term);
    let outputs = term.bias.len();
    let term = term.apply(graph, e);
    let term = graph.reshape(&term, &[outputs, 1, 1]);
    let z = graph.add(&z, &term);
    let size = if block.transposed { window.large } else { window.small };
    let normal = group_norm(graph, &block.norm, &z, size);
    graph.swish(&normal)
}

/// A transposed convolution with a bias.
fn output_layer(graph: &mut Graph, layer: &ConvOut, h: &Value, skip: Option<&Value>) -> Value {
    let h = with_skip(graph, h, skip);
    convolve_transposed(graph, &h, &layer.weight, &layer.window, Some(&layer.bias))
}

/// The channels of both inputs.
fn with_skip(graph: &mut Graph, h: &Value, skip: Option<&Value>) -> Value {
    let parts: Vec<Value> = std::iter::once(h).chain(skip).cloned().collect();
    graph.concatenate(&parts, 1)
}

/// Convolution with weights `[cover * inputs, outputs]`.
fn convolve(graph: &mut Graph, h: &Value, weight: &Param<Tensor<2>>, window: &Window) -> Value {
    let [rows, outputs] = weight.dims();
    let inputs = rows / window.cover();
    let weight = transposed(&values(weight), [window.cover(), inputs, outputs], [2, 1, 0]);
    let [height, width] = window.kernel;
    let weight = graph.constant(&weight, &[outputs, inputs, height, width]);
    graph.apply_with("Conv", &[h, &weight], vec![Attribute::ints("strides", &signed(&window.stride))])
}

/// Transposed convolution with weights `[inputs, cover * outputs]`. Positions that the window never covers, at the end of
/// an axis, are zero.
fn convolve_transposed(
    graph: &mut Graph,
    h: &Value,
    weight: &Param<Tensor<2>>,
    window: &Window,
    bias: Option<&Param<Tensor<1>>>,
) -> Value {
    let [inputs, columns] = weight.dims();
    let outputs = columns / window.cover();
    let weight = transposed(&values(weight), [inputs, window.cover(), outputs], [0, 2, 1]);
    let Window { large, small, kernel, stride } = *window;
    let weight = graph.constant(&weight, &[inputs, outputs, kernel[0], kernel[1]]);
    let uncovered: [usize; 2] =
        std::array::from_fn(|axis| large[axis] - (small[axis] - 1) * stride[axis] - kernel[axis]);
    let attributes = vec![
        Attribute::ints("strides", &signed(&stride)),
        Attribute::ints("output_padding", &signed(&uncovered)),
    ];
    let bias = bias.map(|bias| graph.constant(&values(bias), &[outputs]));
    let operands: Vec<&Value> = [h, &weight].into_iter().chain(&bias).collect();
    graph.apply_with("ConvTranspose", &operands, attributes)
}

/// The elements of an array with its axes in another order.
fn transposed(values: &[f32], sides: [usize; 3], order: [usize; 3]) -> Vec<f32> {
    let strides = [sides[1] * sides[2], sides[2], 1];
    let [a, b, c] = order.map(|axis| (sides[axis], strides[axis]));
    let mut out = Vec::with_capacity(values.len());
    for i in 0..a.0 {
        for j in 0..b.0 {
            out.extend((0..c.0).map(|k| values[i * a.1 + j * b.1 + k * c.1]));
        }
    }
    out
}

/// Group norm of `[n, channels, height, width]`: groups are standardised, then channels are scaled and shifted.
fn group_norm(graph: &mut Graph, norm: &GroupNorm, z: &Value, size: [usize; 2]) -> Value {
    let ([channels], groups) = (norm.gamma.dims(), norm.groups);
    let each = channels / groups * size[0] * size[1];
    let grouped = graph.reshape(z, &[groups, each]);
    let normal = graph.standardise(&grouped, 2, GROUP_NORM_EPSILON);
    let normal = graph.reshape(&normal, &[channels, size[0], size[1]]);
    let gamma = graph.constant(&values(&norm.gamma), &[channels, 1, 1]);
    let beta = graph.constant(&values(&norm.beta), &[channels, 1, 1]);
    let scaled = graph.multiply(&normal, &gamma);
    graph.add(&scaled, &beta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_put_in_another_order() {
        let values: Vec<f32> = (0..12_u8).map(f32::from).collect();
        // [2, 3, 2] to [2, 2, 3]: the last two axes swapped
        let swapped = transposed(&values, [2, 3, 2], [0, 2, 1]);
        assert_eq!(swapped, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0, 6.0, 8.0, 10.0, 7.0, 9.0, 11.0]);
        let reversed = transposed(&values, [2, 3, 2], [2, 1, 0]);
        assert_eq!(reversed[..4], [0.0, 6.0, 2.0, 8.0]);
    }
}
