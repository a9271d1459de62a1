//! A mixture of K Gaussians with diagonal covariances, p(x) = sum_k w_k prod_j N(x_j; m_kj, v_kj), by EM:
//!
//! E: r_ik = w_k N(x_i; m_k, v_k) / p(x_i)
//!
//! M: w_k = mean_i r_ik; m_k and v_k are the mean and variance under the weights r_ik, and v_k grows by a floor.

use serde::{Deserialize, Serialize};

use super::kmeans::lowest;
use super::rows::{add_moments, sum_arrays, weighted_distance};
use super::{Choice, Clustering, KMeans, Rows, check};
use crate::{Error, Result, Rng};

/// Responsibilities below this are lost in the rounding of f64 sums.
const MIN_RESPONSIBILITY: f64 = 1e-16;
/// A class with a smaller sum of responsibilities is empty.
const MIN_CLASS_SIZE: f64 = 1e-3;

/// Settings of a mixture of K diagonal Gaussians.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianMixture {
    /// The number of Gaussians K.
    pub classes: usize,
    /// The number of independent starts, each from one start of k-means.
    pub restarts: usize,
    /// The maximal number of steps of each start.
    pub max_iterations: usize,
    /// A start has converged once the mean log-likelihood changes by less than this.
    pub tolerance: f64,
    /// Added to every variance.
    pub variance_floor: f64,
    /// The criterion that selects one of the starts.
    pub choice: Choice,
}

/// A fitted mixture, and the clusters of the rows that it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixtureFit {
    /// The most probable class of every row.
    pub labels: Vec<usize>,
    /// The weights, `[K]`.
    pub weights: Vec<f64>,
    /// The means, `[K, d]`.
    pub means: Vec<f32>,
    /// The variances, `[K, d]`.
    pub variances: Vec<f32>,
    /// The mean of log p(x) over the rows.
    pub log_likelihood: f64,
    /// The number of steps.
    pub iterations: usize,
}

impl GaussianMixture {
    /// Settings for `classes` Gaussians: ten restarts of at most 100 steps, tolerance 1e-3, floor 1e-6, best fit.
    pub fn new(classes: usize) -> Self {
        Self {
            classes,
            restarts: 10,
            max_iterations: 100,
            tolerance: 1e-3,
            variance_floor: 1e-6,
            choice: Choice::BestFit,
        }
    }

    /// Fits `rows`.
    pub fn fit(&self, rows: &Rows, rng: &mut Rng) -> Result<GaussianMixtureFit> {
        self.check(rows)?;
        let kmeans = KMeans::new(self.classes);
        let max_converged_move = kmeans.max_converged_move(rows);
        Ok(self.choice.select(self.restarts, rng, |rng| {
            let labels = kmeans.run(rows, max_converged_move, rng).labels;
            self.em(rows, self.m_step_from_labels(rows, labels))
        }))
    }

    /// Fits `rows` from given weights `[K]`, means and variances `[K, d]`, without restarts.
    pub fn fit_from(
        &self,
        rows: &Rows,
        weights: Vec<f64>,
        means: Vec<f32>,
        variances: Vec<f32>,
    ) -> Result<GaussianMixtureFit> {
        self.check(rows)?;
        let size = self.classes * rows.width();
        if (weights.len(), means.len(), variances.len()) != (self.classes, size, size) {
            let seen = format!("{}, {} and {}", weights.len(), means.len(), variances.len());
            let problem = format!("there are {seen} weights, means and variances");
            return Err(Error::data("start", problem, format!("give {}, {size} and {size}", self.classes)));
        }
        Ok(self.em(rows, Gaussians { weights, means, variances }))
    }

    fn check(&self, rows: &Rows) -> Result<()> {
        check(rows, self.classes, self.restarts, self.max_iterations)?;
        if self.variance_floor > 0.0 {
            return Ok(());
        }
        Err(Error::config(
            "variance_floor",
            format!("it is {}", self.variance_floor),
            "give a small number above 0",
        ))
    }

    fn em(&self, rows: &Rows, mut model: Gaussians) -> GaussianMixtureFit {
        let (mut before, mut iterations) = (f64::NEG_INFINITY, 0);
        loop {
            iterations += 1;
            let step = e_step(rows, &model, true);
            model = self.m_step(rows, &step);
            let after = step.log_likelihood();
            if (after - before).abs() < self.tolerance || iterations >= self.max_iterations {
                return model.fitted(rows, iterations);
            }
            before = after;
        }
    }

    /// The M step with responsibilities of 0 and 1.
    fn m_step_from_labels(&self, rows: &Rows, labels: Vec<usize>) -> Gaussians {
        let size = 1 + 2 * rows.width();
        let sums = rows.blocks(|block| {
            let mut sums = vec![0.0; self.classes * size];
            block.for_each(|i| add(&mut sums[labels[i] * size..][..size], rows.row(i), 1.0));
            sums
        });
        let logs = vec![0.0; rows.len()];
        self.m_step(rows, &Step { sums: sum_arrays(sums), labels, logs })
    }

    fn m_step(&self, rows: &Rows, step: &Step) -> Gaussians {
        let mut model = Gaussians::default();
        for sums in step.sums.chunks_exact(1 + 2 * rows.width()) {
            let (size, (first, second)) = (sums[0], sums[1..].split_at(rows.width()));
            if size < MIN_CLASS_SIZE {
                self.reseed(rows, step, &mut model);
                continue;
            }
            model.weights.push(size);
            for (first, second) in first.iter().zip(second) {
                let mean = first / size;
                let variance = (second / size - mean * mean).max(0.0) + self.variance_floor;
                model.means.push(mean as f32);
                model.variances.push(variance as f32);
            }
        }
        let total: f64 = model.weights.iter().sum();
        model.weights.iter_mut().for_each(|weight| *weight /= total);
        model
    }

    /// Restarts a class that lost all its rows: at the least likely row that is not yet a mean, with the variance of all
    /// rows.
    fn reseed(&self, rows: &Rows, step: &Step, model: &mut Gaussians) {
        let taken = |i: usize| model.means.chunks_exact(rows.width()).any(|mean| mean == rows.row(i));
        let free = step.logs.iter().enumerate().map(|(i, &log)| if taken(i) { f64::INFINITY } else { log });
        let (least_likely, _) = lowest(free);
        model.weights.push(1.0);
        model.means.extend_from_slice(rows.row(least_likely));
        model.variances.extend(rows.moments().1.iter().map(|v| (v + self.variance_floor) as f32));
    }
}

impl Clustering for GaussianMixtureFit {
    fn cost(&self) -> f64 {
        -self.log_likelihood
    }
    fn labels(&self) -> &[usize] {
        &self.labels
    }
}

impl GaussianMixtureFit {
    /// The most probable class of each of `rows`.
    pub fn assign(&self, rows: &Rows) -> Vec<usize> {
        let (means, variances) = (self.means.clone(), self.variances.clone());
        e_step(rows, &Gaussians { weights: self.weights.clone(), means, variances }, false).labels
    }
}

/// The parameters.
#[derive(Default)]
struct Gaussians {
    weights: Vec<f64>,
    means: Vec<f32>,
    variances: Vec<f32>,
}

impl Gaussians {
    fn fitted(self, rows: &Rows, iterations: usize) -> GaussianMixtureFit {
        let last = e_step(rows, &self, false);
        let log_likelihood = last.log_likelihood();
        let Self { weights, means, variances } = self;
        GaussianMixtureFit { labels: last.labels, weights, means, variances, log_likelihood, iterations }
    }
}

/// What an E step finds.
struct Step {
    /// For each class: sum of r, of r x, of r x^2; `[K, 1 + 2 d]`.
    sums: Vec<f64>,
    /// The most probable class of every row.
    labels: Vec<usize>,
    /// log p(x) of every row.
    logs: Vec<f64>,
}

impl Step {
    fn log_likelihood(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }
}

fn e_step(rows: &Rows, model: &Gaussians, with_sums: bool) -> Step {
    let (width, size) = (rows.width(), 1 + 2 * rows.width());
    let precisions: Vec<f32> = model.variances.iter().map(|v| v.recip()).collect();
    let constants = constants(model, width);
    let parts = rows.blocks(|block| {
        let mut sums = vec![0.0; if with_sums { constants.len() * size } else { 0 }];
        let mut scores = vec![0.0; constants.len()];
        let rows = block.map(|i| {
            let classes = model.means.chunks_exact(width).zip(precisions.chunks_exact(width));
            for ((score, constant), (mean, precision)) in scores.iter_mut().zip(&constants).zip(classes) {
                *score = constant - 0.5 * weighted_distance(rows.row(i), mean, precision);
            }
            let (label, log) = normalise(&mut scores);
            if with_sums {
                let classes =
                    sums.chunks_exact_mut(size).zip(&scores).filter(|(_, r)| **r > MIN_RESPONSIBILITY);
                classes.for_each(|(sums, &r)| add(sums, rows.row(i), r));
            }
            (label, log)
        });
        (rows.collect::<Vec<_>>(), sums)
    });
    let (labels, logs) = parts.iter().flat_map(|(rows, _)| rows.iter().copied()).unzip();
    Step { sums: sum_arrays(parts.into_iter().map(|(_, sums)| sums)), labels, logs }
}

/// log w_k - sum_j log(2 pi v_kj) / 2
fn constants(model: &Gaussians, width: usize) -> Vec<f64> {
    let volumes = model.variances.chunks_exact(width).map(|variances| -> f64 {
        variances.iter().map(|&v| (std::f64::consts::TAU * f64::from(v)).ln()).sum()
    });
    model.weights.iter().zip(volumes).map(|(weight, volume)| weight.ln() - 0.5 * volume).collect()
}

/// Turns log w_k N(x; m_k, v_k) into responsibilities; returns the most probable class and log p(x).
fn normalise(scores: &mut [f64]) -> (usize, f64) {
    let (label, negative) = lowest(scores.iter().map(|score| -score));
    let total: f64 = scores.iter().map(|score| (score + negative).exp()).sum();
    scores.iter_mut().for_each(|score| *score = (*score + negative).exp() / total);
    (label, total.ln() - negative)
}

/// Adds a row with responsibility r to the sums of a class.
fn add(sums: &mut [f64], row: &[f32], r: f64) {
    let (first, second) = sums[1..].split_at_mut(row.len());
    add_moments(first, second, row, r);
    sums[0] += r;
}
