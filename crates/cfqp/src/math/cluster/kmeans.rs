//! k-means: minimises sum_i min_k |x_i - c_k|^2 over centers c_1..c_K by Lloyd's iteration from k-means++ starts.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::rows::{add_row, squared_distance, sum_arrays};
use super::{Choice, Clustering, Rows, check};
use crate::{Error, Result, Rng};

/// Settings of k-means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KMeans {
    /// The number of clusters K.
    pub classes: usize,
    /// The number of independent starts.
    pub restarts: usize,
    /// The maximal number of steps of each start.
    pub max_iterations: usize,
    /// A start has converged once the squared movements of the centers sum to at most this share of the mean variance of
    /// a column.
    pub tolerance: f64,
    /// The criterion that selects one of the starts.
    pub choice: Choice,
}

/// Clusters found by k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The index of the nearest center of every row.
    pub labels: Vec<usize>,
    /// The centers, `[K, d]`.
    pub centers: Vec<f32>,
    /// The sum of squared distances to the nearest center.
    pub inertia: f64,
    /// The number of steps.
    pub iterations: usize,
}

impl KMeans {
    /// Settings for `classes` clusters: ten restarts of at most 300 steps, tolerance 1e-4, best fit.
    pub fn new(classes: usize) -> Self {
        Self { classes, restarts: 10, max_iterations: 300, tolerance: 1e-4, choice: Choice::BestFit }
    }

    /// Clusters `rows`, each start from its own k-means++ initialisation.
    pub fn fit(&self, rows: &Rows, rng: &mut Rng) -> Result<Clusters> {
        check(rows, self.classes, self.restarts, self.max_iterations)?;
        let max_converged_move = self.max_converged_move(rows);
        Ok(self.choice.select(self.restarts, rng, |rng| self.run(rows, max_converged_move, rng)))
    }

    /// Clusters `rows` from given `centers`, `[K, d]`, without restarts.
    pub fn fit_from(&self, rows: &Rows, centers: Vec<f32>) -> Result<Clusters> {
        check(rows, self.classes, self.restarts, self.max_iterations)?;
        if centers.len() != self.classes * rows.width() {
            let problem = format!("{} values are not {} centers", centers.len(), self.classes);
            return Err(Error::data("centers", problem, format!("give {} values for each", rows.width())));
        }
        Ok(self.lloyd(rows, centers, self.max_converged_move(rows)))
    }

    /// One start from a k-means++ initialisation.
    pub(super) fn run(&self, rows: &Rows, max_converged_move: f64, rng: &mut Rng) -> Clusters {
        self.lloyd(rows, kmeans_plus_plus(rows, self.classes, rng), max_converged_move)
    }

    /// The sum of squared movements of the centers up to which a start has converged.
    pub(super) fn max_converged_move(&self, rows: &Rows) -> f64 {
        self.tolerance * rows.moments().1.iter().sum::<f64>() / rows.width() as f64
    }

    fn lloyd(&self, rows: &Rows, mut centers: Vec<f32>, max_converged_move: f64) -> Clusters {
        let (mut before, mut iterations) = (Vec::new(), 0);
        loop {
            iterations += 1;
            let mut step = assign(rows, &centers, true);
            if step.labels == before {
                return Clusters { inertia: step.inertia(), labels: step.labels, centers, iterations };
            }
            fill_empty(rows, &mut step);
            let moved = step.move_centers(&mut centers);
            before = step.labels;
            if moved <= max_converged_move || iterations >= self.max_iterations {
                let last = assign(rows, &centers, false);
                return Clusters { inertia: last.inertia(), labels: last.labels, centers, iterations };
            }
        }
    }
}

impl Clustering for Clusters {
    fn cost(&self) -> f64 {
        self.inertia
    }
    fn labels(&self) -> &[usize] {
        &self.labels
    }
}

impl Clusters {
    /// The index of the nearest center of each of `rows`.
    pub fn assign(&self, rows: &Rows) -> Vec<usize> {
        assign(rows, &self.centers, false).labels
    }
}

/// The assignment of rows to centers.
struct Assignment {
    labels: Vec<usize>,
    /// The squared distance of every row to its center.
    distances: Vec<f64>,
    /// The sum of every cluster, `[K, d]`.
    sums: Vec<f64>,
    sizes: Vec<usize>,
}

impl Assignment {
    fn inertia(&self) -> f64 {
        self.distances.iter().sum()
    }

    /// Moves each center to the mean of its cluster; returns the sum of squared movements.
    fn move_centers(&self, centers: &mut [f32]) -> f64 {
        let width = centers.len() / self.sizes.len();
        let mut moved = 0.0;
        for (i, (center, sum)) in centers.iter_mut().zip(&self.sums).enumerate() {
            let new = (sum / self.sizes[i / width] as f64) as f32;
            moved += f64::from(new - *center).powi(2);
            *center = new;
        }
        moved
    }
}

fn assign(rows: &Rows, centers: &[f32], with_sums: bool) -> Assignment {
    let width = rows.width();
    let classes = centers.len() / width;
    let parts = rows.blocks(|block| {
        let mut sums = vec![0.0; if with_sums { centers.len() } else { 0 }];
        let nearest = block.map(|i| {
            let row = rows.row(i);
            let distances = centers.chunks_exact(width).map(|center| squared_distance(row, center));
            let (label, distance) = lowest(distances);
            if with_sums {
                add_row(&mut sums[label * width..(label + 1) * width], row);
            }
            (label, distance)
        });
        (nearest.collect::<Vec<_>>(), sums)
    });
    let mut step = Assignment { labels: vec![], distances: vec![], sums: vec![], sizes: vec![0; classes] };
    for (label, distance) in parts.iter().flat_map(|(nearest, _)| nearest.iter().copied()) {
        step.labels.push(label);
        step.distances.push(distance);
        step.sizes[label] += 1;
    }
    step.sums = sum_arrays(parts.into_iter().map(|(_, sums)| sums));
    step
}

/// Moves into every empty cluster the row that is farthest from its center, from a cluster with other rows.
fn fill_empty(rows: &Rows, step: &mut Assignment) {
    let width = rows.width();
    for empty in 0..step.sizes.len() {
        if step.sizes[empty] > 0 {
            continue;
        }
        let pairs = step.labels.iter().zip(&step.distances);
        let keys =
            pairs.map(|(&label, distance)| if step.sizes[label] > 1 { -distance } else { f64::INFINITY });
        let (farthest, _) = lowest(keys);
        let (row, from) = (rows.row(farthest), step.labels[farthest]);
        for (j, &x) in row.iter().enumerate() {
            step.sums[from * width + j] -= f64::from(x);
            step.sums[empty * width + j] = f64::from(x);
        }
        step.sizes[from] -= 1;
        step.sizes[empty] = 1;
        step.labels[farthest] = empty;
        step.distances[farthest] = 0.0;
    }
}

/// Greedy k-means++: each center is the best of 2 + ln K rows, drawn with probability proportional to the squared distance
/// to the nearest center so far.
fn kmeans_plus_plus(rows: &Rows, classes: usize, rng: &mut Rng) -> Vec<f32> {
    let trials = 2 + (classes as f64).ln() as usize;
    let mut nearest = vec![f64::INFINITY; rows.len()];
    let mut centers = Vec::new();
    for k in 0..classes {
        let candidates: Vec<usize> = match k {
            0 => vec![rng.random_range(0..rows.len())],
            _ => (0..trials).map(|_| draw_index(&nearest, rng)).collect(),
        };
        let distances = distances(rows, &candidates);
        let left = |c: usize| -> f64 {
            nearest
                .iter()
                .zip(distances.iter().skip(c).step_by(candidates.len()))
                .map(|(a, b)| a.min(*b))
                .sum()
        };
        let (best, _) = lowest((0..candidates.len()).map(left));
        for (near, row) in nearest.iter_mut().zip(distances.chunks_exact(candidates.len())) {
            *near = near.min(row[best]);
        }
        centers.extend_from_slice(rows.row(candidates[best]));
    }
    centers
}

/// The squared distances of all rows to the rows `to`, `[n, to]`.
fn distances(rows: &Rows, to: &[usize]) -> Vec<f64> {
    let pairs = |block: std::ops::Range<usize>| -> Vec<f64> {
        block.flat_map(|i| to.iter().map(move |&j| squared_distance(rows.row(i), rows.row(j)))).collect()
    };
    rows.blocks(pairs).concat()
}

/// A random index with probabilities proportional to `weights`; uniform if all are zero.
fn draw_index(weights: &[f64], rng: &mut Rng) -> usize {
    let total: f64 = weights.iter().sum();
    let mut left = rng.random::<f64>() * total;
    for (i, &weight) in weights.iter().enumerate() {
        if left < weight {
            return i;
        }
        left -= weight;
    }
    match weights.iter().rposition(|&weight| weight > 0.0) {
        Some(last) => last,
        None => rng.random_range(0..weights.len()),
    }
}

/// The index of the first lowest value, and that value.
pub(super) fn lowest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (i, value) in values.enumerate() {
        if value < best.1 {
            best = (i, value);
        }
    }
    best
}
