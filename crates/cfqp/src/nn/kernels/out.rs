//! (Transposed) convolution and bias.

use super::block::{inputs_of, of, of_mut, tiles};
use super::buffer::{Buffer, buffer};
use super::convolution::{Convolution, Gradients};
use super::parts::{Parts, run, total};

/// The last layer and its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out<'a> {
    /// Its sizes.
    pub convolution: Convolution,
    /// `[inputs, cover * outputs]`
    pub weight: &'a [f32],
    /// `[outputs]`
    pub bias: &'a [f32],
}

/// The gradients, each the shape of what it is the gradient of; `x` is empty if not wanted.
#[derive(Debug)]
pub(crate) struct OutGrads {
    /// Of both inputs.
    pub x: [Buffer; 2],
    /// Of the weight.
    pub weight: Buffer,
    /// Of the bias.
    pub bias: Buffer,
}

impl Out<'_> {
    /// # Shapes
    /// x of n units `[n, sites, inputs]` each, to `[n, sites, outputs]`
    pub fn forward(&self, x: [&[f32]; 2], n: usize) -> Buffer {
        let convolution = &self.convolution;
        let width = convolution.width_out();
        let mut y = buffer(n * width);
        let parts = Parts::of(n, self.convolution.work());
        let work = parts.cut(x[0]).zip(parts.cut(x[1])).zip(parts.cut_mut(&mut y));
        run(work.collect(), |((x0, x1), y)| {
            let n = y.len() / width;
            let mut scratch = buffer(convolution.scratch(convolution.tile().min(n)));
            for units in tiles(convolution, n) {
                let (x, y) = (inputs_of(convolution, [x0, x1], &units), of_mut(y, &units, width));
                let scratch = &mut scratch[..convolution.scratch(units.len())];
                convolution.forward(x, self.weight, y, scratch);
                for row in y.chunks_exact_mut(self.bias.len()) {
                    row.iter_mut().zip(self.bias).for_each(|(y, bias)| *y += bias);
                }
            }
        });
        y
    }

    /// The gradients from that of the output.
    pub fn backward(&self, x: [&[f32]; 2], dy: &[f32], wants_x: bool) -> OutGrads {
        let n = dy.len() / self.convolution.width_out();
        let width_in = self.convolution.width_in().map(|width| if wants_x { width } else { 0 });
        let mut dx = width_in.map(|width| buffer(n * width));
        let [dx0, dx1] = &mut dx;
        let parts = Parts::of(n, self.convolution.work());
        let read = parts.cut(x[0]).zip(parts.cut(x[1])).zip(parts.cut(dy));
        let work = read.zip(parts.cut_mut(dx0).zip(parts.cut_mut(dx1)));
        let sums = run(work.collect(), |(((x0, x1), dy), (dx0, dx1))| {
            self.backward_part([x0, x1], dy, wants_x.then_some([dx0, dx1]))
        });
        let (weights, biases): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        OutGrads { x: dx, weight: total(weights, self.weight.len()), bias: total(biases, self.bias.len()) }
    }

    /// One part's gradients of weight and bias.
    fn backward_part(&self, x: [&[f32]; 2], dy: &[f32], mut dx: Option<[&mut [f32]; 2]>) -> (Buffer, Buffer) {
        let convolution = &self.convolution;
        let n = dy.len() / convolution.width_out();
        let mut scratch = buffer(convolution.scratch(convolution.tile().min(n)));
        let (mut dw, mut bias) = (buffer(self.weight.len()), Buffer::from(vec![0.0; self.bias.len()]));
        for units in tiles(convolution, n) {
            let dy = of(dy, &units, convolution.width_out());
            for row in dy.chunks_exact(bias.len()) {
                bias.iter_mut().zip(row).for_each(|(sum, dy)| *sum += dy);
            }
            let [first, second] = convolution.width_in();
            let dx = dx.as_mut().map(|[a, b]| [of_mut(a, &units, first), of_mut(b, &units, second)]);
            let to = Gradients { weight: &mut dw, add: units.start > 0, x: dx };
            let scratch = &mut scratch[..convolution.scratch(units.len())];
            convolution.backward(inputs_of(convolution, x, &units), self.weight, dy, to, scratch);
        }
        (dw, bias)
    }
}
