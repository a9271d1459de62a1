//! Ridge regression: W = argmin |Z W + c - Y|^2 + penalty n |W_p|^2, with standardised columns of Z, where W_p are
//! the rows of W that are penalised.

use gemm::{Parallelism, gemm};

/// The penalties tried; which one is for held-out units to say.
pub(crate) const PENALTIES: [f64; 7] = [1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

const TRACE: f64 = 1e-7;

/// A linear map with its constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Solution {
    /// `[features, outputs]`
    pub weight: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

/// One solution for each penalty.
///
/// # Shapes
/// `z` `[n, features]`, of which the first `penalised` bear the penalty, `y` `[n, outputs]`
pub(crate) fn ridge(
    z: &[f32],
    (features, penalised): (usize, usize),
    y: &[f32],
    outputs: usize,
    penalties: &[f64],
) -> Vec<Solution> {
    let n = z.len() / features;
    let (z, z_mean, z_scale) = standardise(z, features, true);
    let (y, y_mean, _) = standardise(y, outputs, false);
    let gram = transpose_times(&z, features, &z, features, n);
    let moment = transpose_times(&z, features, &y, outputs, n);
    let solve = |&penalty: &f64| {
        let mut a = gram.clone();
        for i in 0..features {
            // a trace of a penalty everywhere, for columns that depend on each other
            let penalty = if i < penalised { penalty.max(TRACE) } else { TRACE };
            a[i * features + i] += penalty * n as f64;
        }
        let mut w = moment.clone();
        cholesky_solve(&mut a, features, &mut w, outputs);
        let mut bias = y_mean.clone();
        for (i, row) in w.chunks_exact_mut(outputs).enumerate() {
            for (w, bias) in row.iter_mut().zip(&mut bias) {
                *w /= z_scale[i];
                *bias -= *w * z_mean[i];
            }
        }
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        Solution { weight: narrow(&w), bias: narrow(&bias) }
    };
    penalties.iter().map(solve).collect()
}

/// Columns about their means, by their deviations if asked; with those means and deviations.
fn standardise(values: &[f32], columns: usize, scale: bool) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let n = (values.len() / columns) as f64;
    let mut mean = vec![0.0; columns];
    for row in values.chunks_exact(columns) {
        mean.iter_mut().zip(row).for_each(|(mean, &value)| *mean += f64::from(value) / n);
    }
    let mut out: Vec<f64> = Vec::with_capacity(values.len());
    for row in values.chunks_exact(columns) {
        out.extend(row.iter().zip(&mean).map(|(&value, mean)| f64::from(value) - mean));
    }
    let mut deviation = vec![1.0; columns];
    if scale {
        let mut squares = vec![0.0; columns];
        for row in out.chunks_exact(columns) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value / n);
        }
        let positive = squares.iter().map(|&square| if square > 1e-12 { square.sqrt() } else { 1.0 });
        deviation = positive.collect();
        for row in out.chunks_exact_mut(columns) {
            row.iter_mut().zip(&deviation).for_each(|(value, deviation)| *value /= deviation);
        }
    }
    (out, mean, deviation)
}

/// a' b for row-major a `[n, p]`, b `[n, q]`.
fn transpose_times(a: &[f64], p: usize, b: &[f64], q: usize, n: usize) -> Vec<f64> {
    let mut c = vec![0.0; p * q];
    assert!(a.len() == n * p && b.len() == n * q, "matrices of n rows");
    // SAFETY: the strides describe a (transposed), b and c within their lengths, asserted above.
    unsafe {
        gemm(
            p,
            q,
            n,
            c.as_mut_ptr(),
            1,
            q as isize,
            false,
            a.as_ptr(),
            p as isize,
            1,
            b.as_ptr(),
            1,
            q as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
    c
}

/// Solve a w = b in place for symmetric positive definite a `[p, p]`, b `[p, q]`.
pub(crate) fn cholesky_solve(a: &mut [f64], p: usize, b: &mut [f64], q: usize) {
    cholesky(a, p);
    forward(a, p, b, q);
    for i in (0..p).rev() {
        let (front, done) = b.split_at_mut((i + 1) * q);
        let row = &mut front[i * q..];
        for (k, other) in done.chunks_exact(q).enumerate() {
            row.iter_mut().zip(other).for_each(|(w, o)| *w -= a[(i + 1 + k) * p + i] * o);
        }
        row.iter_mut().for_each(|w| *w /= a[i * p + i]);
    }
}

/// L with L L' = a, in the lower half of a.
pub(crate) fn cholesky(a: &mut [f64], p: usize) {
    for j in 0..p {
        let (above, below) = a.split_at_mut(j * p);
        let row_j = &mut below[..p];
        for k in 0..j {
            let row_k = &above[k * p..(k + 1) * p];
            let dot: f64 = row_j[..k].iter().zip(&row_k[..k]).map(|(a, b)| a * b).sum();
            row_j[k] = (row_j[k] - dot) / row_k[k];
        }
        let dot: f64 = row_j[..j].iter().map(|a| a * a).sum();
        row_j[j] = (row_j[j] - dot).max(1e-12).sqrt();
    }
}

/// L^-1 b in place, for the L of [`cholesky`].
pub(crate) fn forward(l: &[f64], p: usize, b: &mut [f64], q: usize) {
    for i in 0..p {
        let (done, rest) = b.split_at_mut(i * q);
        let row = &mut rest[..q];
        for (k, other) in done.chunks_exact(q).enumerate() {
            row.iter_mut().zip(other).for_each(|(w, o)| *w -= l[i * p + k] * o);
        }
        row.iter_mut().for_each(|w| *w /= l[i * p + i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_map_is_found_and_a_heavy_penalty_flattens_it() {
        let z: Vec<f32> = (0..40).map(|i| ((i * 7919) % 31) as f32 / 31.0).collect();
        let y: Vec<f32> = z.chunks(2).flat_map(|z| [3.0 * z[0] - z[1] + 0.5, z[1] + 2.0]).collect();
        let solutions = ridge(&z, (2, 2), &y, 2, &[0.0, 1e6]);
        let expected = [3.0, 0.0, -1.0, 1.0];
        assert!(solutions[0].weight.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((solutions[0].bias[0] - 0.5).abs() < 1e-4);
        assert!(solutions[1].weight.iter().all(|w| w.abs() < 1e-4));
        let spared = ridge(&z, (2, 0), &y, 2, &[1e6]);
        assert!((spared[0].weight[0] - 3.0).abs() < 1e-4, "what is not penalised stays");
    }
}
