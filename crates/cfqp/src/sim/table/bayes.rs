//! The answer with the least mean squared error that can be computed from the observed units: true means, true
//! weights, true noise, and the posterior over what is hidden.
//!
//! ```text
//! p_k ~ w_k(x) prod_i p(t_i | x, k) p(e_k1, ..., e_kR)    e_ki = y_i - f_k(x, t_i) over the rows i of a subject
//! E[y' | x, t, y] = sum_k p_k E[f_k(x, t') + e' | e_k1, ..., e_kR]
//! ```

use super::world::TableWorld;
use crate::math::cholesky_solve;
use crate::sim::noise::NoiseLaw;

/// With several rows a correlation of 1 would make the rows' covariance singular.
const MAX_CORRELATION: f64 = 0.9999;
/// The nodes of an integral over a standard normal: from -8 to 8, this far apart.
const NODE_STEP: f64 = 0.25;
const NODES_PER_SIDE: i32 = 32;

/// What is observed of a subject, and the laws of its world.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    pub world: TableWorld,
    pub noise: NoiseLaw,
    /// The correlation of the noise in the rows and under new treatments.
    pub rho: f64,
    pub x: &'a [f64],
    pub rows: Vec<Row>,
}

/// One row of a subject.
#[derive(Debug)]
pub(super) struct Row {
    pub t: Vec<f64>,
    pub y: f64,
}

/// The distribution of the score of e' given the scores of the rows.
struct ScoreForecast {
    mean: f64,
    sd: f64,
}

impl Observed<'_> {
    /// The answer under each of the treatments `new`.
    pub(super) fn answers(&self, new: &[Vec<f64>]) -> Vec<f64> {
        if self.world.slope_sd() > 0.0 {
            return new.iter().map(|t| self.slope_answer(t)).collect();
        }
        let posterior = self.class_posterior();
        let answer = |t: &Vec<f64>| {
            let class = |(k, p): (usize, &f64)| {
                // an improbable class could overflow on the log scale
                if *p > 1e-12 { p * self.class_answer(t, k, &self.class_noise(k)) } else { 0.0 }
            };
            posterior.iter().enumerate().map(class).sum()
        };
        new.iter().map(answer).collect()
    }

    /// The posterior over classes given the rows.
    pub(super) fn class_posterior(&self) -> Vec<f64> {
        if self.world.classes() == 1 {
            return vec![1.0];
        }
        let log = |k: usize| {
            let treatment: f64 = self.rows.iter().map(|row| self.world.log_treatment(&row.t, k)).sum();
            let noise = self.log_joint_density(&self.class_noise(k));
            self.world.log_weight(self.x, k) + treatment + noise
        };
        let logs: Vec<f64> = (0..self.world.classes()).map(log).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// The noise of every row if its class were `k`.
    fn class_noise(&self, k: usize) -> Vec<f64> {
        let noise = |row: &Row| self.world.sum(row.y) - self.world.mean(self.x, &row.t, k);
        self.rows.iter().map(noise).collect()
    }

    /// E[y' | rows, class k] under `t`.
    fn class_answer(&self, t: &[f64], k: usize, noise: &[f64]) -> f64 {
        let mean = self.world.mean(self.x, t, k);
        if self.rho >= 1.0
            && let &[noise] = noise
        {
            return self.world.outcome(mean + noise);
        }
        let ScoreForecast { mean: score, sd } = self.forecast(noise);
        let node = |i: i32| {
            let u = f64::from(i) * NODE_STEP;
            ((-0.5 * u * u).exp(), self.world.outcome(mean + self.noise.value(score + sd * u)))
        };
        let nodes = (-NODES_PER_SIDE..=NODES_PER_SIDE).map(node);
        let (mass, sum) =
            nodes.fold((0.0, 0.0), |(mass, sum), (weight, value)| (mass + weight, sum + weight * value));
        sum / mass
    }

    /// The normal distribution of the score of e' given rows whose scores, and it, are equally correlated.
    fn forecast(&self, noise: &[f64]) -> ScoreForecast {
        let rho = self.correlation();
        let rows = noise.len() as f64;
        let sum: f64 = noise.iter().map(|&noise| self.noise.score(noise)).sum();
        let common = 1.0 + (rows - 1.0) * rho;
        ScoreForecast { mean: rho * sum / common, sd: (1.0 - rows * rho * rho / common).max(0.0).sqrt() }
    }

    /// log p(e_1, ..., e_R) of equally correlated scores.
    fn log_joint_density(&self, noise: &[f64]) -> f64 {
        let alone: f64 = noise.iter().map(|&noise| self.noise.log_density(noise)).sum();
        if noise.len() == 1 {
            return alone;
        }
        let (rho, rows) = (self.correlation(), noise.len() as f64);
        let scores: Vec<f64> = noise.iter().map(|&noise| self.noise.score(noise)).collect();
        let (sum, squares): (f64, f64) =
            (scores.iter().sum(), scores.iter().map(|score| score * score).sum());
        let common = 1.0 + (rows - 1.0) * rho;
        let quadratic = (squares - rho * sum * sum / common) / (1.0 - rho);
        let log_determinant = (rows - 1.0) * (1.0 - rho).ln() + common.ln();
        alone + 0.5 * (squares - quadratic - log_determinant)
    }

    /// The answer where each subject has its own slope: residuals around the mean slope are jointly normal.
    fn slope_answer(&self, t: &[f64]) -> f64 {
        let (slope, noise) = (self.world.slope_sd().powi(2), self.noise.sd.powi(2));
        let (rho, rows) = (self.correlation(), self.rows.len());
        let mut covariance = vec![0.0; rows * rows];
        for (i, one) in self.rows.iter().enumerate() {
            for (j, other) in self.rows.iter().enumerate() {
                let shared = if i == j { 1.0 } else { rho };
                covariance[i * rows + j] = slope * one.t[0] * other.t[0] + noise * shared;
            }
        }
        let residuals = self.class_noise(0);
        let mut weights: Vec<f64> =
            self.rows.iter().map(|row| slope * row.t[0] * t[0] + noise * rho).collect();
        cholesky_solve(&mut covariance, rows, &mut weights, 1)
            .expect("a covariance with noise is positive definite");
        let residual: f64 = weights.iter().zip(&residuals).map(|(weight, residual)| weight * residual).sum();
        self.world.mean(self.x, t, 0) + residual
    }

    fn correlation(&self) -> f64 {
        if self.rows.len() > 1 { self.rho.min(MAX_CORRELATION) } else { self.rho }
    }
}
