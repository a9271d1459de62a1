//! Clustering of vectors: k-means and mixtures of diagonal Gaussians.
//!
//! Work runs in parallel over blocks of rows that depend on the number of rows only, and partial sums are added in the
//! order of the blocks: the bits of a result do not depend on the number of threads.

mod kmeans;
mod mixture;
mod rows;
#[cfg(test)]
mod tests;

pub use kmeans::{Clusters, KMeans};
pub use mixture::{GaussianMixture, GaussianMixtureFit};
pub use rows::Rows;

use rand::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Rng};

/// The criterion that selects one of several restarts; the first of equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The lowest inertia, or the highest likelihood.
    #[default]
    BestFit,
    /// The most even clusters (the smallest sum of squared sizes), as in the paper's public code.
    MostEven,
}

/// The result of one start.
trait Clustering {
    /// The inertia, or the negative log-likelihood.
    fn cost(&self) -> f64;
    fn labels(&self) -> &[usize];
}

impl Choice {
    /// Runs `fit` `restarts` times, at least once, each with its own random stream, and returns the selected result.
    fn select<T: Clustering>(self, restarts: usize, rng: &mut Rng, fit: impl Fn(&mut Rng) -> T) -> T {
        let mut best = fit(&mut Rng::from_rng(rng));
        for _ in 1..restarts {
            let next = fit(&mut Rng::from_rng(rng));
            if self.cost(&next) < self.cost(&best) {
                best = next;
            }
        }
        best
    }

    fn cost(self, run: &impl Clustering) -> f64 {
        match self {
            Self::BestFit => run.cost(),
            Self::MostEven => unevenness(run.labels()),
        }
    }
}

/// The sum of squared cluster sizes.
fn unevenness(labels: &[usize]) -> f64 {
    let mut sizes = vec![0.0_f64; labels.iter().max().map_or(0, |max| max + 1)];
    labels.iter().for_each(|&label| sizes[label] += 1.0);
    sizes.iter().map(|size| size * size).sum()
}

/// Validates the settings that both methods share.
fn check(rows: &Rows, classes: usize, restarts: usize, max_iterations: usize) -> Result<()> {
    let settings = [("classes", classes), ("restarts", restarts), ("max_iterations", max_iterations)];
    for (name, value) in settings {
        if value == 0 {
            return Err(Error::config(name, "must be at least 1, is 0", "give a positive integer"));
        }
    }
    if rows.len() < classes {
        let problem = format!("{} rows cannot form {classes} clusters", rows.len());
        return Err(Error::fit(problem, "try fewer classes, or give more units"));
    }
    Ok(())
}
