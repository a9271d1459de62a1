//! Ridge regression: W = argmin |Z W + c - Y|^2 + penalty n |W_p|^2, with standardised columns of Z, where W_p are
//! the rows of W that are penalised.

use crate::math::product::{Matrix, product};
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
        let (z, z_mean, z_scale) = standardise(self.z, self.features, true);
        let (y, y_mean, _) = standardise(self.y, self.outputs, false);
        let system = System::new(z, self.features, self.penalised);
        let target = system.target(&y, self.outputs);
        let solve = |&penalty: &f64| {
            let mut w = system.weights(&target, self.outputs, penalty)?;
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
        let (z, _, z_scale) = standardise(self.z, self.features, true);
        let contrast: Vec<f64> = contrast.iter().zip(&z_scale).map(|(a, scale)| a / scale).collect();
        System::new(z, self.features, self.penalised).row_weights(&contrast, penalty)
    }
}

/// The equations of a ridge regression with the penalties D = n penalty: p x p where there are at least as many rows as
/// features, else n x n, by (Z'Z + D)^-1 Z' = D^-1 Z' (Z D^-1 Z' + I)^-1.
struct System {
    /// Standardised, `[n, features]`.
    z: Vec<f64>,
    n: usize,
    features: usize,
    penalised: usize,
    products: Products,
}

enum Products {
    /// Z'Z
    OfColumns(Vec<f64>),
    /// Z Z' of the penalised columns, and of the others.
    OfRows([Vec<f64>; 2]),
}

impl System {
    fn new(z: Vec<f64>, features: usize, penalised: usize) -> Self {
        let n = z.len() / features;
        let products = if features <= n {
            Products::OfColumns(transpose_times(&z, features, &z, features, n))
        } else {
            let part = |columns: std::ops::Range<usize>| {
                let part: Vec<f64> =
                    z.chunks_exact(features).flat_map(|row| row[columns.clone()].iter().copied()).collect();
                times_transpose(&part, n, columns.len())
            };
            Products::OfRows([part(0..penalised), part(penalised..features)])
        };
        Self { z, n, features, penalised, products }
    }

    /// What the weights are solved for: Z'Y, or Y itself for products of rows.
    fn target(&self, y: &[f64], outputs: usize) -> Vec<f64> {
        match self.products {
            Products::OfColumns(_) => transpose_times(&self.z, self.features, y, outputs, self.n),
            Products::OfRows(_) => y.to_vec(),
        }
    }

    /// The penalties of penalised features and of the others, times n. Where the equations are singular to rounding, the
    /// smallest penalty is raised until they are not.
    fn with_penalties<R>(
        &self,
        penalty: f64,
        solve: impl Fn([f64; 2]) -> Result<R, NotPositiveDefinite>,
    ) -> Result<R, NotPositiveDefinite> {
        let mut least = MIN_PENALTY;
        loop {
            match solve([penalty.max(least), least].map(|penalty| penalty * self.n as f64)) {
                Err(_) if least < MAX_MIN_PENALTY => least *= 10.0,
                result => return result,
            }
        }
    }

    fn penalty(&self, feature: usize, penalties: [f64; 2]) -> f64 {
        penalties[usize::from(feature >= self.penalised)]
    }

    /// (Z'Z + D)^-1 Z'Y, `[features, outputs]`
    fn weights(&self, target: &[f64], outputs: usize, penalty: f64) -> Result<Vec<f64>, NotPositiveDefinite> {
        self.with_penalties(penalty, |penalties| {
            let solved = self.solve(target.to_vec(), outputs, penalties)?;
            if let Products::OfColumns(_) = self.products {
                return Ok(solved);
            }
            let mut w = transpose_times(&self.z, self.features, &solved, outputs, self.n);
            for (i, row) in w.chunks_exact_mut(outputs).enumerate() {
                row.iter_mut().for_each(|w| *w /= self.penalty(i, penalties));
            }
            Ok(w)
        })
    }

    /// Z (Z'Z + D)^-1 a, `[n]`
    fn row_weights(&self, a: &[f64], penalty: f64) -> Result<Vec<f64>, NotPositiveDefinite> {
        let times = |w: &[f64]| self.z.chunks_exact(self.features).map(|z| dot(z, w)).collect::<Vec<f64>>();
        self.with_penalties(penalty, |penalties| match self.products {
            Products::OfColumns(_) => Ok(times(&self.solve(a.to_vec(), 1, penalties)?)),
            Products::OfRows(_) => {
                let scaled: Vec<f64> =
                    a.iter().enumerate().map(|(i, a)| a / self.penalty(i, penalties)).collect();
                self.solve(times(&scaled), 1, penalties)
            }
        })
    }

    /// (Z'Z + D)^-1 b or (Z D^-1 Z' + I)^-1 b.
    fn solve(
        &self,
        mut b: Vec<f64>,
        columns: usize,
        penalties: [f64; 2],
    ) -> Result<Vec<f64>, NotPositiveDefinite> {
        let (mut a, side) = match &self.products {
            Products::OfColumns(gram) => (gram.clone(), self.features),
            Products::OfRows([penalised, others]) => {
                let sum = |(a, b): (&f64, &f64)| a / penalties[0] + b / penalties[1];
                (penalised.iter().zip(others).map(sum).collect(), self.n)
            }
        };
        for i in 0..side {
            a[i * side + i] += match self.products {
                Products::OfColumns(_) => self.penalty(i, penalties),
                Products::OfRows(_) => 1.0,
            };
        }
        cholesky_solve(&mut a, side, &mut b, columns)?;
        Ok(b)
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

/// a a'
///
/// # Shapes
/// a `[n, p]`, row-major, to `[n, n]`
fn times_transpose(a: &[f64], n: usize, p: usize) -> Vec<f64> {
    let mut transposed = vec![0.0; a.len()];
    for (i, row) in a.chunks_exact(p.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(j, &value)| transposed[j * n + i] = value);
    }
    transpose_times(&transposed, n, &transposed, n, p)
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
    product(Matrix::new(a, p).transposed(), Matrix::new(b, q), &mut c, false);
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
    fn more_features_than_rows_give_the_same_solution() {
        // the same rows four times: as many as features, and then all of them weigh the same
        let (n, features) = (6, 8);
        let z: Vec<f32> = (0..n * features).map(|i| ((i * 7919) % 101) as f32 / 101.0).collect();
        let y: Vec<f32> = (0..n).map(|i| (i * i) as f32).collect();
        let few = RidgeProblem { z: &z, features, penalised: 5, y: &y, outputs: 1 };
        let (z, y) = (z.repeat(4), y.repeat(4));
        let many = RidgeProblem { z: &z, y: &y, ..few };
        for penalty in [1e-3, 0.3] {
            let [few, many] = [few, many].map(|problem| problem.solve(&[penalty]).unwrap().remove(0));
            for (a, b) in few.weight.iter().zip(&many.weight) {
                assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} {b}");
            }
        }
        let contrast: Vec<f64> = (0..features).map(|i| i as f64 - 2.0).collect();
        let [few, many] = [few, many].map(|problem| problem.contrast_weights(&contrast, 0.3).unwrap());
        for (i, weight) in few.iter().enumerate() {
            let sum: f64 = many.iter().skip(i).step_by(n).sum();
            assert!((weight - sum).abs() < 1e-6 * sum.abs().max(1.0), "{weight} {sum}");
        }
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
