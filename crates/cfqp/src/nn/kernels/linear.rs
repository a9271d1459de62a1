//! y = x W + b or y = swish(x W + b)

use super::batch_split::{BatchSplit, map_parts, sum_arrays};
use super::buffer::{Buffer, buffer};
use super::vectorised::{sigmoid, swish_slope};
use crate::math::product::{Matrix, product};

/// An affine map and its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine<'a> {
    /// `[inputs, outputs]`
    pub weight: &'a [f32],
    /// `[outputs]`
    pub bias: &'a [f32],
    /// Whether swish is applied.
    pub swish: bool,
}

/// The gradients, each of the shape of its variable; `x` is empty if not wanted.
#[derive(Debug)]
pub(crate) struct LinearGrads {
    /// Of the input.
    pub x: Buffer,
    /// Of the weight.
    pub weight: Buffer,
    /// Of the bias.
    pub bias: Buffer,
}

vectorised! {
    /// z += bias, y = swish(z)
    fn bias_swish(bias: &[f32], z: &mut [f32], y: &mut [f32]) {
        let n = bias.len();
        for (z, y) in z.chunks_exact_mut(n).zip(y.chunks_exact_mut(n)) {
            bias_swish_row(bias, z, y);
        }
    }
}

#[inline(always)]
fn bias_swish_row(bias: &[f32], z: &mut [f32], y: &mut [f32]) {
    for ((z, y), bias) in z.iter_mut().zip(y).zip(bias) {
        *z += bias;
        *y = *z * sigmoid(*z);
    }
}

vectorised! {
    /// dz = dy swish'(z), dbias += dz
    fn swish_backward(z: &[f32], dy: &[f32], dz: &mut [f32], dbias: &mut [f32]) {
        let n = dbias.len();
        let read = z.chunks_exact(n).zip(dy.chunks_exact(n));
        for ((z, dy), dz) in read.zip(dz.chunks_exact_mut(n)) {
            swish_backward_row(z, dy, dz, dbias);
        }
    }
}

#[inline(always)]
fn swish_backward_row(z: &[f32], dy: &[f32], dz: &mut [f32], dbias: &mut [f32]) {
    for (((z, dy), dz), dbias) in z.iter().zip(dy).zip(dz).zip(dbias) {
        *dz = dy * swish_slope(*z);
        *dbias += *dz;
    }
}

vectorised! {
    /// y += bias
    fn add_bias(bias: &[f32], y: &mut [f32]) {
        for y in y.chunks_exact_mut(bias.len()) {
            y.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
        }
    }
}

vectorised! {
    /// dbias += dy
    fn add_rows(dy: &[f32], dbias: &mut [f32]) {
        for dy in dy.chunks_exact(dbias.len()) {
            dbias.iter_mut().zip(dy).for_each(|(dbias, dy)| *dbias += dy);
        }
    }
}

impl Affine<'_> {
    fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len()
    }

    /// y, and z = x W + b, which the backward pass of swish needs; z is empty without swish.
    ///
    /// # Shapes
    /// x `[n, inputs]`, y and z `[n, outputs]`
    pub(crate) fn forward(&self, x: &[f32]) -> (Buffer, Buffer) {
        let (inputs, outputs) = (self.inputs(), self.bias.len());
        let n = x.len() / inputs;
        let (mut y, mut z) = (buffer(n * outputs), buffer(if self.swish { n * outputs } else { 0 }));
        let split = BatchSplit::new(n, self.weight.len());
        let work = split.parts(x).zip(split.parts_mut(&mut y)).zip(split.parts_mut(&mut z));
        let weight = Matrix::new(self.weight, outputs);
        map_parts(work.collect(), |((x, y), z)| {
            if self.swish {
                product(Matrix::new(x, inputs), weight, z, false);
                bias_swish(self.bias, z, y);
            } else {
                product(Matrix::new(x, inputs), weight, y, false);
                add_bias(self.bias, y);
            }
        });
        (y, z)
    }

    /// The gradients, from the gradient `dy` of y.
    pub(crate) fn backward(&self, x: &[f32], z: &[f32], dy: &[f32], wants_x: bool) -> LinearGrads {
        let (inputs, outputs) = (self.inputs(), self.bias.len());
        let n = x.len() / inputs;
        let mut dx = buffer(if wants_x { x.len() } else { 0 });
        let split = BatchSplit::new(n, self.weight.len());
        let work = split.parts(x).zip(split.parts(z)).zip(split.parts(dy)).zip(split.parts_mut(&mut dx));
        let sums = map_parts(work.collect(), |(((x, z), dy), dx)| {
            let (mut dz, mut dw, mut db) =
                (buffer(z.len()), buffer(self.weight.len()), Buffer::from(vec![0.0; outputs]));
            let dz = if self.swish {
                swish_backward(z, dy, &mut dz, &mut db);
                &dz[..]
            } else {
                add_rows(dy, &mut db);
                dy
            };
            let dz = Matrix::new(dz, outputs);
            product(Matrix::new(x, inputs).transposed(), dz, &mut dw, false);
            if wants_x {
                product(dz, Matrix::new(self.weight, outputs).transposed(), dx, false);
            }
            (dw, db)
        });
        let (weights, biases): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        LinearGrads {
            x: dx,
            weight: sum_arrays(weights, self.weight.len()),
            bias: sum_arrays(biases, outputs),
        }
    }
}
