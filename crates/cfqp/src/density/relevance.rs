//! The prior of a linear regression, learned from its evidence: coefficients in groups, each with its own precision.
//!
//! ```text
//! y = F c + e,   e ~ N(0, v),   c_i ~ N(0, 1 / (a_g p_i)) for i in group g
//! a_g = sum_i gamma_i / sum_i p_i c_i^2,   gamma_i = 1 - a_g p_i v (F'F + v A)^-1_ii
//! ```
//!
//! (MacKay, 1992). A group that explains nothing gets a large precision and vanishes, so that many covariates that do not matter
//! cost little.

use crate::math::{cholesky, dot, solve_with_factor};

/// Rounds of updates, fewer of wide regressions.
const ROUNDS: usize = 10;
const MAX_CUBES: f64 = 2e8;
/// The bounds of the factors on the given precisions.
const MIN_FACTOR: f64 = 1e-2;
const MAX_FACTOR: f64 = 1e4;
/// The smallest variance of the noise, of standardised outcomes.
const MIN_VARIANCE: f64 = 1e-3;

/// A regression by its sums of squares and products.
pub(super) struct Regression<'a> {
    /// F'F, lower half, and F'y, `[features, outputs]`.
    pub gram: &'a [f64],
    pub moments: &'a [f64],
    pub outputs: usize,
    /// y'y, of all outputs together.
    pub squares: f64,
    pub rows: f64,
}

/// The factors on the precisions of every feature, and the variance of the noise.
pub(super) struct Relevance {
    pub precisions: Vec<f64>,
    pub variance: f64,
}

impl Regression<'_> {
    /// The precisions with the largest evidence, from `precisions` on. Features of the same group share a factor; features
    /// without a group keep their precision.
    pub(super) fn relevance(&self, precisions: &[f64], groups: &[Option<usize>]) -> Relevance {
        let p = precisions.len();
        let count = groups.iter().flatten().max().map_or(0, |max| max + 1);
        let mut factors = vec![1.0; count];
        let total = self.rows * self.outputs as f64;
        let mut variance = (self.squares / total).max(MIN_VARIANCE);
        let rounds = ((MAX_CUBES / (p as f64).powi(3)) as usize).clamp(2, ROUNDS);
        let current = |factors: &[f64]| -> Vec<f64> {
            let factor = |(precision, group): (&f64, &Option<usize>)| {
                precision * group.map_or(1.0, |group| factors[group])
            };
            precisions.iter().zip(groups).map(factor).collect()
        };
        for _ in 0..rounds {
            let own = current(&factors);
            let mut factor = self.gram.to_vec();
            (0..p).for_each(|i| factor[i * p + i] += variance * own[i]);
            if cholesky(&mut factor, p).is_err() {
                break;
            }
            let mut coefficients = self.moments.to_vec();
            solve_with_factor(&factor, p, &mut coefficients, self.outputs);
            let inverse = inverse_diagonal(&factor, p);
            let determined: Vec<f64> =
                (0..p).map(|i| (1.0 - own[i] * variance * inverse[i]).clamp(0.0, 1.0)).collect();
            let (mut sums, mut sizes) = (vec![0.0; count], vec![0.0; count]);
            for (i, group) in groups.iter().enumerate() {
                let Some(group) = *group else { continue };
                let of_feature = &coefficients[i * self.outputs..][..self.outputs];
                sums[group] += self.outputs as f64 * determined[i];
                sizes[group] += precisions[i] * dot(of_feature, of_feature);
            }
            for (factor, (sum, size)) in factors.iter_mut().zip(sums.iter().zip(&sizes)) {
                // half a step, on the scale of logarithms, does not overshoot
                let target = (sum / size.max(1e-12)).clamp(MIN_FACTOR, MAX_FACTOR);
                *factor = (*factor * target).sqrt();
            }
            let fitted = dot(&coefficients, self.moments);
            let penalty: f64 = (0..p)
                .map(|i| {
                    let of_feature = &coefficients[i * self.outputs..][..self.outputs];
                    variance * own[i] * dot(of_feature, of_feature)
                })
                .sum();
            // |y - F c|^2 = y'y - c'F'y - c' v A c
            let residual = (self.squares - fitted - penalty).max(0.0);
            let freedom = (self.rows - determined.iter().sum::<f64>()).max(0.1 * self.rows);
            variance = (residual / (freedom * self.outputs as f64)).max(MIN_VARIANCE);
        }
        Relevance { precisions: current(&factors), variance }
    }
}

/// The diagonal of (L L')^-1.
fn inverse_diagonal(l: &[f64], p: usize) -> Vec<f64> {
    let mut diagonal = vec![0.0; p];
    let mut column = vec![0.0; p];
    for j in 0..p {
        // column j of L^-1
        column[j..].fill(0.0);
        column[j] = 1.0 / l[j * p + j];
        for i in j + 1..p {
            let sum = dot(&l[i * p + j..i * p + i], &column[j..i]);
            column[i] = -sum / l[i * p + i];
        }
        diagonal[j] = dot(&column[j..], &column[j..]);
    }
    diagonal
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::stream;

    #[test]
    fn the_inverse_has_this_diagonal() {
        let mut a = vec![4.0, 0.0, 0.0, 2.0, 3.0, 0.0, 1.0, 0.5, 2.0];
        cholesky(&mut a, 3).unwrap();
        let found = inverse_diagonal(&a, 3);
        for (i, value) in found.iter().enumerate() {
            let mut unit = vec![0.0; 3];
            unit[i] = 1.0;
            solve_with_factor(&a, 3, &mut unit, 1);
            assert!((unit[i] - value).abs() < 1e-12);
        }
    }

    #[test]
    fn features_that_do_not_matter_get_a_large_precision() {
        let mut rng = stream(1, &["relevance"]);
        let (n, p) = (200, 10);
        let mut gram = vec![0.0; p * p];
        let (mut moments, mut squares) = (vec![0.0; p], 0.0);
        for _ in 0..n {
            let row: Vec<f64> = (0..p).map(|_| rng.sample(StandardNormal)).collect();
            let y = row[0] - 0.5 * row[1] + 0.5 * rng.sample::<f64, _>(StandardNormal);
            squares += y * y;
            for i in 0..p {
                moments[i] += row[i] * y;
                (0..=i).for_each(|j| gram[i * p + j] += row[i] * row[j]);
            }
        }
        let regression = Regression { gram: &gram, moments: &moments, outputs: 1, squares, rows: 200.0 };
        let groups: Vec<Option<usize>> = (0..p).map(Some).collect();
        let Relevance { precisions, variance } = regression.relevance(&vec![1.0; p], &groups);
        assert!(precisions[..2].iter().all(|precision| *precision < 10.0), "{precisions:?}");
        let irrelevant = precisions[2..].iter().filter(|precision| **precision > 30.0).count();
        assert!(irrelevant >= 6, "{precisions:?}");
        assert!((variance - 0.25).abs() < 0.05, "{variance}");
    }
}
