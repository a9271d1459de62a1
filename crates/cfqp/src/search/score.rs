//! The score of a number of classes: held-out log-likelihood with a full covariance.
//!
//! Residuals of one class are correlated across elements (for example through a strength of response that x does not
//! explain), and some units lie far from their class mean. A likelihood of independent Gaussian elements fits both with
//! more and more classes. The score therefore uses a multivariate t with one full scatter matrix for all classes:
//!
//! ```text
//! -log sum_k w_k t_nu(y - m_k(x, t); Sigma)
//! ```
//!
//! Sigma, nu and w are estimated on one half of the held-out units and scored on the other half, both ways round.

use burn::tensor::Device;

use crate::math::{NotPositiveDefinite, cholesky, ln_gamma, log_sum_exp, solve_lower};
use crate::model::Components;
use crate::models::Batcher;

/// Larger outcomes have a scatter matrix too large to estimate.
const MAX_SCATTER_ELEMENTS: usize = 128;
/// Fewest held-out units per element from which a scatter matrix, shrunk towards its diagonal, is estimated.
const MIN_UNITS_PER_ELEMENT: usize = 1;
/// Degrees of freedom to choose from; the last is practically Gaussian.
const DEGREES_OF_FREEDOM: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 1e4];
/// EM rounds for the scatter matrix.
const SCATTER_ROUNDS: usize = 12;

/// Negative log-likelihood of every row, given the most probable classes `labels`; `None` if outcomes are too large or
/// units too few for a scatter matrix, or residuals are not finite.
pub(super) fn full_covariance_nll(
    components: &Components,
    batcher: &Batcher<'_>,
    rows: &[usize],
    labels: &[usize],
    device: &Device,
) -> Option<Vec<f64>> {
    let d = batcher.scaler.y.elements();
    if d > MAX_SCATTER_ELEMENTS || rows.len() < MIN_UNITS_PER_ELEMENT * d {
        return None;
    }
    let residuals: Vec<Vec<f64>> =
        (0..components.classes).map(|k| residuals(components, k, batcher, rows, device)).collect();
    let mut out = vec![0.0; rows.len()];
    for half in 0..2 {
        let learn: Vec<usize> = (0..rows.len()).filter(|i| i % 2 == half).collect();
        let own = learn.iter().flat_map(|&i| &residuals[labels[i]][i * d..(i + 1) * d]);
        let residual_t = MultivariateT::fit(own.copied().collect(), d).ok()?;
        let mut weights = vec![1.0; components.classes];
        learn.iter().for_each(|&i| weights[labels[i]] += 1.0);
        let total: f64 = weights.iter().sum();
        for i in (0..rows.len()).filter(|i| i % 2 != half) {
            let joint = residuals.iter().zip(&weights).map(|(class, weight)| {
                -(weight / total).ln() - residual_t.log_density(&class[i * d..(i + 1) * d])
            });
            out[i] = -log_sum_exp(&joint.collect::<Vec<_>>());
        }
    }
    Some(out)
}

/// y - m_k(x, t), zero where y is missing.
fn residuals(
    components: &Components,
    k: usize,
    batcher: &Batcher<'_>,
    rows: &[usize],
    device: &Device,
) -> Vec<f64> {
    let mut out = Vec::with_capacity(rows.len() * batcher.scaler.y.elements());
    for rows in rows.chunks(batcher.at_once()) {
        let (y, mean) = (batcher.outcomes(rows), components.mean(k, batcher, rows, None, device));
        let masks = rows.iter().map(|&row| batcher.data.y().mask_row(row));
        let each = batcher.scaler.y.elements();
        for (i, mask) in masks.enumerate() {
            out.extend((0..each).map(|j| match mask {
                Some(mask) if !mask[j] => 0.0,
                _ => f64::from(y[i * each + j] - mean[i * each + j]),
            }));
        }
    }
    out
}

/// A multivariate t distribution with mean zero.
struct MultivariateT {
    d: usize,
    freedom: f64,
    /// The Cholesky factor of the scatter matrix.
    factor: Vec<f64>,
    log_density_at_zero: f64,
}

impl MultivariateT {
    /// Fits `rows`, `[n, d]`, with the degrees of freedom of highest likelihood.
    fn fit(rows: Vec<f64>, d: usize) -> Result<Self, NotPositiveDefinite> {
        let fits = DEGREES_OF_FREEDOM.iter().map(|&freedom| Self::with_freedom(&rows, d, freedom));
        let fits = fits.collect::<Result<Vec<_>, _>>()?;
        let log_likelihood = |fit: &Self| rows.chunks_exact(d).map(|row| fit.log_density(row)).sum::<f64>();
        let best = fits.into_iter().map(|fit| (log_likelihood(&fit), fit)).max_by(|a, b| a.0.total_cmp(&b.0));
        Ok(best.map(|(_, fit)| fit).expect("there are degrees of freedom to try"))
    }

    /// EM for the scatter matrix: distant rows get less weight. It is shrunk towards its diagonal, more so for few rows.
    fn with_freedom(rows: &[f64], d: usize, freedom: f64) -> Result<Self, NotPositiveDefinite> {
        let n = (rows.len() / d).max(1) as f64;
        let shrink = d as f64 / (n + 2.0 * d as f64);
        let mut weights = vec![1.0; rows.len() / d];
        let mut fit = Self { d, freedom, factor: Vec::new(), log_density_at_zero: 0.0 };
        for _ in 0..SCATTER_ROUNDS {
            let mut scatter = vec![0.0; d * d];
            for (row, weight) in rows.chunks_exact(d).zip(&weights) {
                for (i, a) in row.iter().enumerate() {
                    let line = &mut scatter[i * d..i * d + i + 1];
                    line.iter_mut().zip(row).for_each(|(s, b)| *s += weight * a * b / n);
                }
            }
            for i in 0..d {
                scatter[i * d..i * d + i].iter_mut().for_each(|s| *s *= 1.0 - shrink);
            }
            fit.factor = jittered_cholesky(&scatter, d)?;
            for (row, weight) in rows.chunks_exact(d).zip(&mut weights) {
                *weight = (freedom + d as f64) / (freedom + fit.distance(row));
            }
        }
        let half = |x: f64| ln_gamma(0.5 * x);
        let log_determinant = 2.0 * (0..d).map(|i| fit.factor[i * d + i].ln()).sum::<f64>();
        let d = d as f64;
        fit.log_density_at_zero = half(freedom + d)
            - half(freedom)
            - 0.5 * (d * (freedom * std::f64::consts::PI).ln() + log_determinant);
        Ok(fit)
    }

    /// r' Sigma^-1 r
    fn distance(&self, row: &[f64]) -> f64 {
        let mut solved = row.to_vec();
        solve_lower(&self.factor, self.d, &mut solved, 1);
        solved.iter().map(|value| value * value).sum()
    }

    fn log_density(&self, row: &[f64]) -> f64 {
        self.log_density_at_zero
            - 0.5 * (self.freedom + self.d as f64) * (self.distance(row) / self.freedom).ln_1p()
    }
}

/// Added to the diagonal of a scatter matrix, in standardised outcomes: elements that never vary, or that depend on each
/// other, leave it singular.
const MIN_JITTER: f64 = 1e-8;
/// No jitter above this is tried: a matrix that needs more is not a scatter matrix of finite residuals.
const MAX_JITTER: f64 = 1.0;

/// The Cholesky factor of a scatter matrix plus the smallest jitter, of ever tenfold ones, that makes it positive definite.
fn jittered_cholesky(scatter: &[f64], d: usize) -> Result<Vec<f64>, NotPositiveDefinite> {
    let mut jitter = MIN_JITTER;
    loop {
        let mut factor = scatter.to_vec();
        (0..d).for_each(|i| factor[i * d + i] += jitter);
        match cholesky(&mut factor, d) {
            Ok(()) => return Ok(factor),
            Err(error) if jitter >= MAX_JITTER => return Err(error),
            Err(_) => jitter *= 10.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn a_singular_scatter_matrix_gets_jitter_and_one_of_nan_is_refused() {
        let factor = jittered_cholesky(&[1.0, 0.0, 1.0, 1.0], 2).unwrap();
        assert!((factor[3] - (2.0 * MIN_JITTER).sqrt()).abs() < 1e-10);
        let needs_more = jittered_cholesky(&[1.0, 0.0, 1.0, 1.0 - 1e-6], 2).unwrap();
        assert!(needs_more[3] > 0.0);
        assert!(jittered_cholesky(&[f64::NAN], 1).is_err());
    }

    #[test]
    fn correlated_rows_reach_the_entropy_of_their_distribution() {
        let mut rng = stream(2, &["evidence"]);
        let mut draw = |n: usize| {
            let row = |_| {
                let (a, b): (f64, f64) = (StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
                [a, 0.9 * a + 0.2 * b]
            };
            (0..n).flat_map(row).collect::<Vec<f64>>()
        };
        let fit = MultivariateT::fit(draw(500), 2).unwrap();
        let mean = |rows: &[f64]| rows.chunks_exact(2).map(|row| fit.log_density(row)).sum::<f64>() / 500.0;
        // a Gaussian's entropy: log(2 pi e) + log det / 2, here with det = 0.04
        let entropy = (2.0 * std::f64::consts::PI).ln() + 1.0 + 0.5 * 0.04_f64.ln();
        assert!((mean(&draw(500)) + entropy).abs() < 0.15);
        assert!(fit.freedom > 10.0);
    }
}
