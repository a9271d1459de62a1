//! What held-out units say of a number of classes.
//!
//! Outcomes leave their class's mean along common directions (a strength of response that x does not tell) and by
//! very different amounts. A likelihood of independent Gaussian elements takes both for further classes, and K never
//! stops growing. So K is judged by a multivariate t with a full scatter matrix, shared by all classes:
//!
//! ```text
//! -log sum_k w_k t_nu(y - m_k(x, t); Sigma)
//! ```
//!
//! Sigma, nu and w come from one half of the held-out units, the likelihood from the other, both ways round.

use burn::tensor::Device;

use super::components::Components;
use crate::data::Batcher;
use crate::models::ridge::{cholesky, forward};

/// Outcomes of more elements have too large a scatter matrix for the units there are.
const MOST_ELEMENTS: usize = 128;
/// Fewer units per element than this do not tell a scatter matrix.
const UNITS_PER_ELEMENT: usize = 3;
/// Degrees of freedom tried; the last is as good as a Gaussian.
const FREEDOMS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 1e4];
const ROUNDS: usize = 12;

/// -log likelihood of every one of `rows`, whose most probable classes are `labels`; none where outcomes are too
/// large, or units too few, for a scatter matrix.
pub(crate) fn evidence(
    components: &Components,
    batcher: &Batcher<'_>,
    rows: &[usize],
    labels: &[usize],
    device: &Device,
) -> Option<Vec<f64>> {
    let d = batcher.scaler.y.each();
    if d > MOST_ELEMENTS || rows.len() < UNITS_PER_ELEMENT * d {
        return None;
    }
    let residuals: Vec<Vec<f64>> =
        (0..components.classes).map(|k| residuals(components, k, batcher, rows, device)).collect();
    let mut out = vec![0.0; rows.len()];
    for half in 0..2 {
        let learn: Vec<usize> = (0..rows.len()).filter(|i| i % 2 == half).collect();
        let own = learn.iter().flat_map(|&i| &residuals[labels[i]][i * d..(i + 1) * d]);
        let law = Law::fit(own.copied().collect(), d);
        let mut weights = vec![1.0; components.classes];
        learn.iter().for_each(|&i| weights[labels[i]] += 1.0);
        let total: f64 = weights.iter().sum();
        for i in (0..rows.len()).filter(|i| i % 2 != half) {
            let joint = residuals
                .iter()
                .zip(&weights)
                .map(|(class, weight)| -(weight / total).ln() - law.log_density(&class[i * d..(i + 1) * d]));
            out[i] = -super::mixture::log_sum_exp(&joint.collect::<Vec<_>>());
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
    let mut out = Vec::with_capacity(rows.len() * batcher.scaler.y.each());
    for rows in rows.chunks(batcher.at_once()) {
        let (y, mean) = (batcher.outcomes(rows), components.mean(k, batcher, rows, None, device));
        let masks = rows.iter().map(|&row| batcher.data.y().mask_row(row));
        let each = batcher.scaler.y.each();
        for (i, mask) in masks.enumerate() {
            out.extend((0..each).map(|j| match mask {
                Some(mask) if !mask[j] => 0.0,
                _ => f64::from(y[i * each + j] - mean[i * each + j]),
            }));
        }
    }
    out
}

/// A multivariate t about zero.
struct Law {
    d: usize,
    freedom: f64,
    /// The Cholesky factor of the scatter matrix.
    factor: Vec<f64>,
    /// The logarithm of the density at zero.
    top: f64,
}

impl Law {
    /// The law of `rows`, `[n, d]`, by maximum likelihood over the degrees of freedom.
    fn fit(rows: Vec<f64>, d: usize) -> Self {
        let laws = FREEDOMS.iter().map(|&freedom| Self::with_freedom(&rows, d, freedom));
        let fit = |law: &Self| rows.chunks_exact(d).map(|row| law.log_density(row)).sum::<f64>();
        laws.map(|law| (fit(&law), law))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, law)| law)
            .expect("there are degrees of freedom to try")
    }

    /// EM for the scatter: rows far out count for less. Shrunk towards its diagonal, the more the fewer the rows.
    fn with_freedom(rows: &[f64], d: usize, freedom: f64) -> Self {
        let n = (rows.len() / d).max(1) as f64;
        let shrink = d as f64 / (n + 2.0 * d as f64);
        let mut weights = vec![1.0; rows.len() / d];
        let mut law = Self { d, freedom, factor: Vec::new(), top: 0.0 };
        for _ in 0..ROUNDS {
            let mut scatter = vec![0.0; d * d];
            for (row, weight) in rows.chunks_exact(d).zip(&weights) {
                for (i, a) in row.iter().enumerate() {
                    let line = &mut scatter[i * d..i * d + i + 1];
                    line.iter_mut().zip(row).for_each(|(s, b)| *s += weight * a * b / n);
                }
            }
            for i in 0..d {
                scatter[i * d..i * d + i].iter_mut().for_each(|s| *s *= 1.0 - shrink);
                scatter[i * d + i] += 1e-8;
            }
            cholesky(&mut scatter, d);
            law.factor = scatter;
            for (row, weight) in rows.chunks_exact(d).zip(&mut weights) {
                *weight = (freedom + d as f64) / (freedom + law.distance(row));
            }
        }
        let half = |x: f64| ln_gamma(0.5 * x);
        let log_determinant = 2.0 * (0..d).map(|i| law.factor[i * d + i].ln()).sum::<f64>();
        let d = d as f64;
        law.top = half(freedom + d)
            - half(freedom)
            - 0.5 * (d * (freedom * std::f64::consts::PI).ln() + log_determinant);
        law
    }

    /// r' Sigma^-1 r
    fn distance(&self, row: &[f64]) -> f64 {
        let mut solved = row.to_vec();
        forward(&self.factor, self.d, &mut solved, 1);
        solved.iter().map(|value| value * value).sum()
    }

    fn log_density(&self, row: &[f64]) -> f64 {
        self.top - 0.5 * (self.freedom + self.d as f64) * (self.distance(row) / self.freedom).ln_1p()
    }
}

/// log Gamma(x) for x > 0: Stirling's series, after moving x up.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 8.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn the_logarithm_of_gamma() {
        for (x, expected) in
            [(0.5, 0.572_364_942_9), (1.0, 0.0), (4.5, 2.453_736_570_8), (20.0, 39.339_884_187_2)]
        {
            assert!((ln_gamma(x) - expected).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn correlated_rows_are_likelier_under_their_own_scatter() {
        let mut rng = stream(2, &["evidence"]);
        let mut draw = |n: usize| {
            let row = |_| {
                let (a, b): (f64, f64) = (StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
                [a, 0.9 * a + 0.2 * b]
            };
            (0..n).flat_map(row).collect::<Vec<f64>>()
        };
        let law = Law::fit(draw(500), 2);
        let mean = |rows: &[f64]| rows.chunks_exact(2).map(|row| law.log_density(row)).sum::<f64>() / 500.0;
        // a Gaussian's entropy: log(2 pi e) + log det / 2, here with det = 0.04
        let entropy = (2.0 * std::f64::consts::PI).ln() + 1.0 + 0.5 * 0.04_f64.ln();
        assert!((mean(&draw(500)) + entropy).abs() < 0.15);
        assert!(law.freedom > 10.0);
    }
}
