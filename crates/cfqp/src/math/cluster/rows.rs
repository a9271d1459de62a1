//! A matrix of rows, and vectorised loops over them.

use std::ops::Range;

use rayon::prelude::*;

use crate::math::simd::with_simd;
use crate::{Error, Result};

/// The maximal number of blocks of rows, for any number of threads.
const MAX_BLOCKS: usize = 64;
/// The minimal number of rows of a block.
const MIN_BLOCK_ROWS: usize = 64;
/// The number of partial sums in f32.
const LANES: usize = 16;
/// The number of columns that are summed in f32; longer sums are continued in f64.
const F32_COLUMNS: usize = 64 * LANES;

/// Finite vectors of equal length, row by row: `[n, d]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    width: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `width` values each.
    pub fn new(values: &'a [f32], width: usize) -> Result<Self> {
        if width == 0 || !values.len().is_multiple_of(width) {
            let problem = format!("{} values do not form rows of {width}", values.len());
            return Err(Error::data(
                "rows",
                problem,
                "give every row the same number of values, at least one",
            ));
        }
        if let Some(i) = values.par_iter().position_first(|value| !value.is_finite()) {
            let place = format!("row {}, element {}", i / width, i % width);
            let hint = "the predictions of the model are not finite: try a lower learning rate";
            return Err(Error::data(place, format!("the value is {}", values[i]), hint));
        }
        Ok(Self { values, width })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The length of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.values[i * self.width..(i + 1) * self.width]
    }

    /// Maps the blocks of rows in parallel; results are in the order of the blocks.
    pub(super) fn blocks<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let (n, size) = (self.len(), self.len().div_ceil(MAX_BLOCKS).max(MIN_BLOCK_ROWS));
        let block = |i: usize| work(i * size..((i + 1) * size).min(n));
        (0..n.div_ceil(size)).into_par_iter().map(block).collect()
    }

    /// The mean and variance of every column.
    pub(super) fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let sums = self.blocks(|block| {
            let mut sums = vec![0.0; 2 * self.width];
            let (first, second) = sums.split_at_mut(self.width);
            block.for_each(|i| add_moments(first, second, self.row(i), 1.0));
            sums
        });
        let n = self.len() as f64;
        let sums = sum_arrays(sums);
        let mean: Vec<f64> = sums[..self.width].iter().map(|sum| sum / n).collect();
        let squares = sums[self.width..].iter().map(|sum| sum / n);
        let variance = squares.zip(&mean).map(|(square, mean)| (square - mean * mean).max(0.0)).collect();
        (mean, variance)
    }
}

/// The sum of arrays, in their order; empty for none.
pub(super) fn sum_arrays(parts: impl IntoIterator<Item = Vec<f64>>) -> Vec<f64> {
    let add = |mut total: Vec<f64>, part: Vec<f64>| {
        total.iter_mut().zip(&part).for_each(|(total, part)| *total += part);
        total
    };
    parts.into_iter().reduce(add).unwrap_or_default()
}

// The loops in f64 are compiled for several instruction sets. They work element by element, so that results are the same
// with each.

/// first += x
pub(super) fn add_row(first: &mut [f64], row: &[f32]) {
    with_simd(|| first.iter_mut().zip(row).for_each(|(first, &x)| *first += f64::from(x)));
}

/// first += w x, second += w x^2
pub(super) fn add_moments(first: &mut [f64], second: &mut [f64], row: &[f32], weight: f64) {
    with_simd(|| {
        for ((first, second), &x) in first.iter_mut().zip(second).zip(row) {
            let weighted = weight * f64::from(x);
            *first += weighted;
            *second += weighted * f64::from(x);
        }
    });
}

/// sum_j (a_j - b_j)^2
pub(super) fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let mut whole = 0.0;
    for (a, b) in a.chunks(F32_COLUMNS).zip(b.chunks(F32_COLUMNS)) {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0_f32; LANES];
        for (a, b) in a.iter().zip(b) {
            for i in 0..LANES {
                sums[i] += (a[i] - b[i]) * (a[i] - b[i]);
            }
        }
        // not in the lanes, which stay in registers only if their indices are constants
        for (a, b) in a_rest.iter().zip(b_rest) {
            whole += f64::from((a - b) * (a - b));
        }
        whole += sum_lanes(sums);
    }
    whole
}

/// sum_j p_j (a_j - b_j)^2
pub(super) fn weighted_distance(a: &[f32], b: &[f32], p: &[f32]) -> f64 {
    let mut whole = 0.0;
    for ((a, b), p) in a.chunks(F32_COLUMNS).zip(b.chunks(F32_COLUMNS)).zip(p.chunks(F32_COLUMNS)) {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let (p, p_rest) = p.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for ((a, b), p) in a.iter().zip(b).zip(p) {
            for i in 0..LANES {
                sums[i] += (a[i] - b[i]) * (a[i] - b[i]) * p[i];
            }
        }
        for ((a, b), p) in a_rest.iter().zip(b_rest).zip(p_rest) {
            whole += f64::from((a - b) * (a - b) * p);
        }
        whole += sum_lanes(sums);
    }
    whole
}

#[inline(always)]
fn sum_lanes(sums: [f32; LANES]) -> f64 {
    sums.into_iter().map(f64::from).sum()
}
