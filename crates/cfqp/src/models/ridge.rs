//! Ridge regression: W = argmin |Z W + c - Y|^2 + penalty n |W_p|^2, with standardised columns of Z, where W_p are
//! the rows of W that are penalised.

use gemm::{Parallelism, gemm};

use crate::math::{NotPositiveDefinite, cholesky_solve, dot};

/// The penalties to choose from by held-out units.
pub(crate) const PENALTIES: [f64; 7] = [1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// The smallest penalty of any row, which keeps the system regular where columns depend on each other.
const MIN_PENALTY: f64 = 1e-7;
/// The smallest penalty is raised tenfold up to this, where rounding leaves the system singular.
const MAX_MIN_PENALTY: f64 = 1e-1;

/// A linear map with its constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Solution {
    /// `[features, outputs]`
    pub weight: Vec<f32>,
    /// `[outputs]`
    pub bias: Vec<f32>,
}

/// What a linear map is fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RidgeProblem<'a> {
    /// The design, `[n, features]`.
    pub z: &'a [f32],
    /// The columns of the design.
    pub features: usize,
    /// How many of them, from the first, bear the penalty.
    pub penalised: usize,
    /// The outcomes, `[n, outputs]`.
    pub y: &'a [f32],
    /// The columns of the outcomes.
    pub outputs: usize,
}

impl RidgeProblem<'_> {
    /// One solution for each of `penalties`; an error where the design is not finite.
    pub(crate) fn solve(&self, penalties: &[f64]) -> Result<Vec<Solution>, NotPositiveDefinite> {
        let n = self.z.len() / self.features;
        let (z, z_mean, z_scale) = standardise(self.z, self.features, true);
        let (y, y_mean, _) = standardise(self.y, self.outputs, false);
        let gram = transpose_times(&z, self.features, &z, self.features, n);
        let moment = transpose_times(&z, self.features, &y, self.outputs, n);
        let solve = |&penalty: &f64| {
            let mut w = self.standardised_weights(&gram, &moment, penalty, n)?;
            let mut bias = y_mean.clone();
            for (i, row) in w.chunks_exact_mut(self.outputs).enumerate() {
                for (w, bias) in row.iter_mut().zip(&mut bias) {
                    *w /= z_scale[i];
                    *bias -= *w * z_mean[i];
                }
            }
            let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
            Ok(Solution { weight: narrow(&w), bias: narrow(&bias) })
        };
        penalties.iter().map(solve).collect()
    }

    /// The weights w for which `contrast` of the solution is sum_i w_i y_i: Z (Z'Z + penalty n)^-1 a. The outcomes are not
    /// read.
    ///
    /// # Shapes
    /// contrast `[features]` to `[n]`
    pub(crate) fn contrast_weights(
        &self,
        contrast: &[f64],
        penalty: f64,
    ) -> Result<Vec<f64>, NotPositiveDefinite> {
        let n = self.z.len() / self.features;
        let (z, _, z_scale) = standardise(self.z, self.features, true);
        let gram = transpose_times(&z, self.features, &z, self.features, n);
        let contrast: Vec<f64> = contrast.iter().zip(&z_scale).map(|(a, scale)| a / scale).collect();
        let solved =
            RidgeProblem { outputs: 1, ..*self }.standardised_weights(&gram, &contrast, penalty, n)?;
        Ok(z.chunks_exact(self.features).map(|z| dot(z, &solved)).collect())
    }

    /// (Z'Z + penalty n)^-1 Z'Y. Where that is singular to rounding, the smallest penalty is raised until it is not.
    fn standardised_weights(
        &self,
        gram: &[f64],
        moment: &[f64],
        penalty: f64,
        n: usize,
    ) -> Result<Vec<f64>, NotPositiveDefinite> {
        let mut min_penalty = MIN_PENALTY;
        loop {
            let mut a = gram.to_vec();
            for i in 0..self.features {
                let penalty = if i < self.penalised { penalty.max(min_penalty) } else { min_penalty };
                a[i * self.features + i] += penalty * n as f64;
            }
            let mut w = moment.to_vec();
            match cholesky_solve(&mut a, self.features, &mut w, self.outputs) {
                Ok(()) => return Ok(w),
                Err(error) if min_penalty >= MAX_MIN_PENALTY => return Err(error),
                Err(_) => min_penalty *= 10.0,
            }
        }
    }
}

/// Centred columns, divided by their standard deviations if `scale`; with the means and deviations.
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

/// a' b
///
/// # Shapes
/// a `[n, p]`, b `[n, q]` to `[p, q]`, all row-major
///
/// # Panics
/// If `a` or `b` is of another length.
fn transpose_times(a: &[f64], p: usize, b: &[f64], q: usize, n: usize) -> Vec<f64> {
    let mut c = vec![0.0; p * q];
    assert!(a.len() == n * p && b.len() == n * q, "matrices of n rows");
    // SAFETY: c is p x q with row stride q, a' is p x n with column stride p and row stride 1, and b is n x q with row
    // stride q: by the lengths asserted above, every element addressed lies within its slice. c is borrowed mutably and
    // does not overlap a or b.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_map_is_found_and_a_large_penalty_shrinks_it_to_zero() {
        let z: Vec<f32> = (0..40).map(|i| ((i * 7919) % 31) as f32 / 31.0).collect();
        let y: Vec<f32> = z.chunks(2).flat_map(|z| [3.0 * z[0] - z[1] + 0.5, z[1] + 2.0]).collect();
        let problem = RidgeProblem { z: &z, features: 2, penalised: 2, y: &y, outputs: 2 };
        let solutions = problem.solve(&[0.0, 1e6]).unwrap();
        let expected = [3.0, 0.0, -1.0, 1.0];
        assert!(solutions[0].weight.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((solutions[0].bias[0] - 0.5).abs() < 1e-4);
        assert!(solutions[1].weight.iter().all(|w| w.abs() < 1e-4));
        let unpenalised = RidgeProblem { penalised: 0, ..problem }.solve(&[1e6]).unwrap();
        assert!((unpenalised[0].weight[0] - 3.0).abs() < 1e-4);
    }

    #[test]
    fn dependent_columns_share_the_weight_and_a_design_of_nan_is_refused() {
        let z: Vec<f32> = (0..20).flat_map(|i| [i as f32, 2.0 * i as f32]).collect();
        let y: Vec<f32> = (0..20).map(|i| 5.0 * i as f32).collect();
        let problem = RidgeProblem { z: &z, features: 2, penalised: 2, y: &y, outputs: 1 };
        let solution = &problem.solve(&[0.0]).unwrap()[0];
        assert!((solution.weight[0] + 2.0 * solution.weight[1] - 5.0).abs() < 1e-3, "{solution:?}");
        let undefined = vec![f32::NAN; 40];
        assert!(RidgeProblem { z: &undefined, ..problem }.solve(&[1.0]).is_err());
    }
}
