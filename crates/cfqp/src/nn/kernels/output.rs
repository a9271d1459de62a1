//! The output layer of a U-Net: transposed convolution and bias.

use super::batch_split::{BatchSplit, map_parts, sum_arrays};
use super::block::{input_rows, tiles, unit_rows, unit_rows_mut};
use super::buffer::{Buffer, buffer};
use super::convolution::{Convolution, Gradients};

/// An output layer and its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputLayer<'a> {
    /// Its sizes.
    pub convolution: Convolution,
    /// `[inputs, cover * outputs]`
    pub weight: &'a [f32],
    /// `[outputs]`
    pub bias: &'a [f32],
}

/// The gradients, each of the shape of its variable; `x` is empty if not wanted.
#[derive(Debug)]
pub(crate) struct OutputGrads {
    /// Of both inputs.
    pub x: [Buffer; 2],
    /// Of the weight.
    pub weight: Buffer,
    /// Of the bias.
    pub bias: Buffer,
}

impl OutputLayer<'_> {
    /// The output.
    ///
    /// # Shapes
    /// both x `[n, sites, inputs]`, to `[n, sites, outputs]`
    pub(crate) fn forward(&self, x: [&[f32]; 2], n: usize) -> Buffer {
        let convolution = &self.convolution;
        let width = convolution.width_out();
        let mut y = buffer(n * width);
        let split = BatchSplit::new(n, self.convolution.work());
        let work = split.parts(x[0]).zip(split.parts(x[1])).zip(split.parts_mut(&mut y));
        map_parts(work.collect(), |((x0, x1), y)| {
            let n = y.len() / width;
            let mut scratch = buffer(convolution.scratch(convolution.tile().min(n)));
            for units in tiles(convolution, n) {
                let (x, y) = (input_rows(convolution, [x0, x1], &units), unit_rows_mut(y, &units, width));
                let scratch = &mut scratch[..convolution.scratch(units.len())];
                convolution.forward(x, self.weight, y, scratch);
                for row in y.chunks_exact_mut(self.bias.len()) {
                    row.iter_mut().zip(self.bias).for_each(|(y, bias)| *y += bias);
                }
            }
        });
        y
    }

    /// The gradients, from the gradient `dy` of the output.
    pub(crate) fn backward(&self, x: [&[f32]; 2], dy: &[f32], wants_x: bool) -> OutputGrads {
        let n = dy.len() / self.convolution.width_out();
        let width_in = self.convolution.width_in().map(|width| if wants_x { width } else { 0 });
        let mut dx = width_in.map(|width| buffer(n * width));
        let [dx0, dx1] = &mut dx;
        let split = BatchSplit::new(n, self.convolution.work());
        let read = split.parts(x[0]).zip(split.parts(x[1])).zip(split.parts(dy));
        let work = read.zip(split.parts_mut(dx0).zip(split.parts_mut(dx1)));
        let sums = map_parts(work.collect(), |(((x0, x1), dy), (dx0, dx1))| {
            self.backward_part([x0, x1], dy, wants_x.then_some([dx0, dx1]))
        });
        let (weights, biases): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        OutputGrads {
            x: dx,
            weight: sum_arrays(weights, self.weight.len()),
            bias: sum_arrays(biases, self.bias.len()),
        }
    }

    /// The gradients of weight and bias, summed over one part.
    fn backward_part(&self, x: [&[f32]; 2], dy: &[f32], mut dx: Option<[&mut [f32]; 2]>) -> (Buffer, Buffer) {
        let convolution = &self.convolution;
        let n = dy.len() / convolution.width_out();
        let mut scratch = buffer(convolution.scratch(convolution.tile().min(n)));
        let (mut dw, mut bias) = (buffer(self.weight.len()), Buffer::from(vec![0.0; self.bias.len()]));
        for units in tiles(convolution, n) {
            let dy = unit_rows(dy, &units, convolution.width_out());
            for row in dy.chunks_exact(bias.len()) {
                bias.iter_mut().zip(row).for_each(|(sum, dy)| *sum += dy);
            }
            let [first, second] = convolution.width_in();
            let dx =
                dx.as_mut().map(|[a, b]| [unit_rows_mut(a, &units, first), unit_rows_mut(b, &units, second)]);
            let to = Gradients { weight: &mut dw, add: units.start > 0, x: dx };
            let scratch = &mut scratch[..convolution.scratch(units.len())];
            convolution.backward(input_rows(convolution, x, &units), self.weight, dy, to, scratch);
        }
        (dw, bias)
    }
}
