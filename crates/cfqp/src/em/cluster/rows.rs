//! Rows of numbers and the loops over them.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use crate::{Error, Result};

/// Blocks a pass over the rows is cut into, whatever the number of threads.
const BLOCKS: usize = 64;
/// Rows of the smallest block.
const SMALLEST: usize = 64;
/// Numbers added up side by side, in f32 ...
const LANES: usize = 16;
/// ... over at most so many columns; from there on in f64.
const COLUMNS: usize = 64 * LANES;

/// Finite vectors of equal length, one after the other: `[n, d]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    width: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `width` values each.
    pub fn new(values: &'a [f32], width: usize) -> Result<Self> {
        if width == 0 || !values.len().is_multiple_of(width) {
            let problem = format!("{} values do not make rows of {width}", values.len());
            return Err(Error::data(
                "rows",
                problem,
                "give every row the same number of values, at least one",
            ));
        }
        if let Some(i) = values.par_iter().position_first(|value| !value.is_finite()) {
            let place = format!("row {}, element {}", i / width, i % width);
            let hint = "the model's predictions went astray: try a lower learning rate";
            return Err(Error::data(place, format!("the value is {}", values[i]), hint));
        }
        Ok(Self { values, width })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are none.
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

    /// `work` on every block of rows, in parallel; results in the order of the blocks.
    pub(super) fn blocks<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let (n, size) = (self.len(), self.len().div_ceil(BLOCKS).max(SMALLEST));
        let block = |i: usize| work(i * size..((i + 1) * size).min(n));
        (0..n.div_ceil(size)).into_par_iter().map(block).collect()
    }

    /// Mean and variance of every column.
    pub(super) fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let sums = self.blocks(|block| {
            let mut sums = vec![0.0; 2 * self.width];
            let (first, second) = sums.split_at_mut(self.width);
            block.for_each(|i| add_moments(first, second, self.row(i), 1.0));
            sums
        });
        let n = self.len() as f64;
        let sums = add_up(sums);
        let mean: Vec<f64> = sums[..self.width].iter().map(|sum| sum / n).collect();
        let squares = sums[self.width..].iter().map(|sum| sum / n);
        let variance = squares.zip(&mean).map(|(square, mean)| (square - mean * mean).max(0.0)).collect();
        (mean, variance)
    }
}

/// The sum of the parts, in their order; empty for no part.
pub(super) fn add_up(parts: impl IntoIterator<Item = Vec<f64>>) -> Vec<f64> {
    let add = |mut total: Vec<f64>, part: Vec<f64>| {
        total.iter_mut().zip(&part).for_each(|(total, part)| *total += part);
        total
    };
    parts.into_iter().reduce(add).unwrap_or_default()
}

// The two loops in f64 are compiled for several processors, and the widest that is there is taken. Elements do
// not meet in them: results are the same on each.

/// first += x
pub(super) fn add_row(first: &mut [f64], row: &[f32]) {
    Arch::new().dispatch(|| first.iter_mut().zip(row).for_each(|(first, &x)| *first += f64::from(x)));
}

/// first += w x, second += w x^2
pub(super) fn add_moments(first: &mut [f64], second: &mut [f64], row: &[f32], weight: f64) {
    Arch::new().dispatch(|| {
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
    for (a, b) in a.chunks(COLUMNS).zip(b.chunks(COLUMNS)) {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0_f32; LANES];
        for (a, b) in a.iter().zip(b) {
            for i in 0..LANES {
                sums[i] += (a[i] - b[i]) * (a[i] - b[i]);
            }
        }
        // Apart from the lanes: they stay in registers only if no position in them is a variable.
        for (a, b) in a_rest.iter().zip(b_rest) {
            whole += f64::from((a - b) * (a - b));
        }
        whole += total(sums);
    }
    whole
}

/// sum_j p_j (a_j - b_j)^2
pub(super) fn weighted_distance(a: &[f32], b: &[f32], p: &[f32]) -> f64 {
    let mut whole = 0.0;
    for ((a, b), p) in a.chunks(COLUMNS).zip(b.chunks(COLUMNS)).zip(p.chunks(COLUMNS)) {
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
        whole += total(sums);
    }
    whole
}

#[inline(always)]
fn total(sums: [f32; LANES]) -> f64 {
    sums.into_iter().map(f64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds of the loops on a row of 2,352; `cargo test --release -- --ignored --nocapture nanoseconds`
    #[test]
    #[ignore = "a measurement"]
    fn nanoseconds_of_loops() {
        let (a, b) = (vec![0.5; 2352], vec![0.25; 2352]);
        let (mut first, mut second) = (vec![0.0; 2352], vec![0.0; 2352]);
        let time = |name: &str, work: &mut dyn FnMut()| {
            let run = |_| {
                let clock = std::time::Instant::now();
                (0..1000).for_each(|_| work());
                clock.elapsed().as_nanos() / 1000
            };
            eprintln!("{name}: {:?}", (0..50).map(run).min());
        };
        time("distance", &mut || {
            std::hint::black_box(squared_distance(&a, std::hint::black_box(&b)));
        });
        time("weighted", &mut || {
            std::hint::black_box(weighted_distance(&a, std::hint::black_box(&b), &b));
        });
        time("add", &mut || add_row(&mut first, std::hint::black_box(&a)));
        time("moments", &mut || add_moments(&mut first, &mut second, std::hint::black_box(&a), 0.5));
    }
}
