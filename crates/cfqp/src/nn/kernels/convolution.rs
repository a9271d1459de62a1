//! Convolutions and transposed convolutions as matrix products of columns.
//!
//! With C(x) the columns of a grid x (`gather`) and C' its transpose (`scatter`):
//!
//! | | forward | weight's gradient | input's gradient |
//! |---|---|---|---|
//! | convolution | z = C(x) W | C(x)^T dz | C'(dz W^T) |
//! | transposed | z = C'(x W) | x^T C(dz) | C(dz) W^T |

use super::columns::{gather, scatter};
use crate::math::product::{Matrix, product};
use crate::nn::Window;

/// The elements of the columns of a tile, which stay in the second-level cache.
const TILE_ELEMENTS: usize = 1 << 18;

/// The sizes of a convolution or transposed convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    /// The window.
    pub window: Window,
    /// Whether it maps places to positions instead of positions to places.
    pub transposed: bool,
    /// Channels of the input, and of a second input of a transposed convolution (zero if there is none).
    pub inputs: [usize; 2],
    /// Channels of the output.
    pub outputs: usize,
}

/// The destination of the gradients of a convolution.
pub(super) struct Gradients<'a> {
    /// Of the weight.
    pub weight: &'a mut [f32],
    /// Whether to add to the gradient of the weight instead of overwriting it.
    pub add: bool,
    /// Of the inputs, if they are wanted.
    pub x: Option<[&'a mut [f32]; 2]>,
}

impl Convolution {
    /// Elements of one unit's input and second input.
    pub(crate) fn width_in(&self) -> [usize; 2] {
        let sites = if self.transposed { self.window.places() } else { self.window.positions() };
        self.inputs.map(|channels| channels * sites)
    }

    /// Positions or places of the output.
    pub(crate) fn sites_out(&self) -> usize {
        if self.transposed { self.window.positions() } else { self.window.places() }
    }

    /// Elements of one unit's output.
    pub(crate) fn width_out(&self) -> usize {
        self.sites_out() * self.outputs
    }

    /// The number of multiplications per unit.
    pub(super) fn work(&self) -> usize {
        self.window.places() * self.window.cover() * (self.inputs[0] + self.inputs[1]) * self.outputs
    }

    /// The number of units per tile.
    pub(super) fn tile(&self) -> usize {
        (TILE_ELEMENTS / self.columns_of_unit()).max(1)
    }

    /// The length of the scratch memory for `units`.
    pub(super) fn scratch(&self, units: usize) -> usize {
        if self.is_whole() { 0 } else { units * self.columns_of_unit() }
    }

    /// Computes z of a tile; `scratch` is overwritten.
    pub(super) fn forward(&self, x: [&[f32]; 2], weight: &[f32], z: &mut [f32], scratch: &mut [f32]) {
        if self.transposed {
            self.forward_transposed(x, weight, z, scratch);
            return;
        }
        let columns = self.columns_of(x[0], self.inputs[0], scratch);
        product(Matrix::new(columns, self.row()), Matrix::new(weight, self.outputs), z, false);
    }

    fn forward_transposed(&self, x: [&[f32]; 2], weight: &[f32], z: &mut [f32], scratch: &mut [f32]) {
        let weights = self.split_weight(weight);
        let columns = if self.is_whole() { &mut *z } else { &mut *scratch };
        product(Matrix::new(x[0], self.inputs[0]), weights[0], columns, false);
        if self.inputs[1] > 0 {
            product(Matrix::new(x[1], self.inputs[1]), weights[1], columns, true);
        }
        if !self.is_whole() {
            scatter(&self.window, self.outputs, scratch, z);
        }
    }

    /// Computes the gradients of a tile from the gradient `dz` of its outputs; `scratch` is overwritten.
    pub(super) fn backward(
        &self,
        x: [&[f32]; 2],
        weight: &[f32],
        dz: &[f32],
        grads: Gradients<'_>,
        scratch: &mut [f32],
    ) {
        if self.transposed {
            self.backward_transposed(x, weight, dz, grads, scratch);
            return;
        }
        let columns = self.columns_of(x[0], self.inputs[0], scratch);
        let dz = Matrix::new(dz, self.outputs);
        product(Matrix::new(columns, self.row()).transposed(), dz, grads.weight, grads.add);
        let Some([dx, _]) = grads.x else { return };
        let weight = Matrix::new(weight, self.outputs).transposed();
        if self.is_whole() {
            product(dz, weight, dx, false);
        } else {
            product(dz, weight, scratch, false);
            scatter(&self.window, self.inputs[0], scratch, dx);
        }
    }

    fn backward_transposed(
        &self,
        x: [&[f32]; 2],
        weight: &[f32],
        dz: &[f32],
        grads: Gradients<'_>,
        scratch: &mut [f32],
    ) {
        let columns = Matrix::new(self.columns_of(dz, self.outputs, scratch), self.row());
        let (first, second) = grads.weight.split_at_mut(self.inputs[0] * self.row());
        for ((x, channels), dw) in x.into_iter().zip(self.inputs).zip([first, second]) {
            if channels > 0 {
                product(Matrix::new(x, channels).transposed(), columns, dw, grads.add);
            }
        }
        let weights = self.split_weight(weight);
        for (dx, weight) in grads.x.into_iter().flatten().zip(weights) {
            if !dx.is_empty() {
                product(columns, weight.transposed(), dx, false);
            }
        }
    }

    /// Whether the window has one place and covers the whole grid: then the grid is its own columns.
    fn is_whole(&self) -> bool {
        self.window.places() == 1 && self.window.cover() == self.window.positions()
    }

    /// Elements of one row of columns.
    fn row(&self) -> usize {
        self.window.cover() * if self.transposed { self.outputs } else { self.inputs[0] }
    }

    fn columns_of_unit(&self) -> usize {
        self.window.places() * self.row()
    }

    fn columns_of<'a>(&self, grid: &'a [f32], channels: usize, scratch: &'a mut [f32]) -> &'a [f32] {
        if self.is_whole() {
            return grid;
        }
        gather(&self.window, channels, grid, scratch);
        scratch
    }

    /// The weights of the two inputs of a transposed convolution.
    fn split_weight<'a>(&self, weight: &'a [f32]) -> [Matrix<'a, f32>; 2] {
        let (first, second) = weight.split_at(self.inputs[0] * self.row());
        [first, second].map(|part| Matrix::new(part, self.row()))
    }
}
