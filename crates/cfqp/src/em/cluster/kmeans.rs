//! k-means: min over centers c_1..c_K of sum_i min_k |x_i - c_k|^2, by Lloyd's iteration from a k-means++ start.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::rows::{add_row, add_up, squared_distance};
use super::{Choice, Rows, Run, check};
use crate::{Error, Result, Rng};

/// How to find K centers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KMeans {
    /// K.
    pub classes: usize,
    /// Independent starts.
    pub restarts: usize,
    /// Steps of each, at most.
    pub max_iterations: usize,
    /// A run ends once the centers' squared moves add up to at most this share of a column's mean variance.
    pub tolerance: f64,
    /// Which run is kept.
    pub choice: Choice,
}

/// Groups found by k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The nearest center of every row.
    pub labels: Vec<usize>,
    /// `[K, d]`
    pub centers: Vec<f32>,
    /// Sum of the squared distances to the nearest center.
    pub inertia: f64,
    /// Steps taken.
    pub iterations: usize,
}

impl KMeans {
    /// `classes` groups, with ten restarts of at most 300 steps, tolerance 1e-4, best fit kept.
    pub fn new(classes: usize) -> Self {
        Self { classes, restarts: 10, max_iterations: 300, tolerance: 1e-4, choice: Choice::BestFit }
    }

    /// Groups `rows`, each restart from a k-means++ start of its own.
    pub fn fit(&self, rows: &Rows, rng: &mut Rng) -> Result<Clusters> {
        check(rows, self.classes, self.restarts, self.max_iterations)?;
        let least_move = self.least_move(rows);
        Ok(self.choice.among(self.restarts, rng, |rng| self.run(rows, least_move, rng)))
    }

    /// Groups `rows` from given `centers`, `[K, d]`; there are no restarts.
    pub fn fit_from(&self, rows: &Rows, centers: Vec<f32>) -> Result<Clusters> {
        check(rows, self.classes, self.restarts, self.max_iterations)?;
        if centers.len() != self.classes * rows.width() {
            let problem = format!("{} values are not {} centers", centers.len(), self.classes);
            return Err(Error::data("centers", problem, format!("give {} values for each", rows.width())));
        }
        Ok(self.lloyd(rows, centers, self.least_move(rows)))
    }

    /// One start.
    pub(super) fn run(&self, rows: &Rows, least_move: f64, rng: &mut Rng) -> Clusters {
        self.lloyd(rows, start(rows, self.classes, rng), least_move)
    }

    pub(super) fn least_move(&self, rows: &Rows) -> f64 {
        self.tolerance * rows.moments().1.iter().sum::<f64>() / rows.width() as f64
    }

    fn lloyd(&self, rows: &Rows, mut centers: Vec<f32>, least_move: f64) -> Clusters {
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
            if moved <= least_move || iterations >= self.max_iterations {
                let last = assign(rows, &centers, false);
                return Clusters { inertia: last.inertia(), labels: last.labels, centers, iterations };
            }
        }
    }
}

impl Run for Clusters {
    fn cost(&self) -> f64 {
        self.inertia
    }
    fn labels(&self) -> &[usize] {
        &self.labels
    }
}

impl Clusters {
    /// The nearest center of each of `rows`.
    pub fn assign(&self, rows: &Rows) -> Vec<usize> {
        assign(rows, &self.centers, false).labels
    }
}

/// Rows and their nearest centers.
struct Step {
    labels: Vec<usize>,
    /// Squared distance of every row to its center.
    distances: Vec<f64>,
    /// Sum of every group, `[K, d]`.
    sums: Vec<f64>,
    sizes: Vec<usize>,
}

impl Step {
    fn inertia(&self) -> f64 {
        self.distances.iter().sum()
    }

    /// Puts each center in the middle of its group; returns the sum of its squared moves.
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

fn assign(rows: &Rows, centers: &[f32], with_sums: bool) -> Step {
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
    let mut step = Step { labels: vec![], distances: vec![], sums: vec![], sizes: vec![0; classes] };
    for (label, distance) in parts.iter().flat_map(|(nearest, _)| nearest.iter().copied()) {
        step.labels.push(label);
        step.distances.push(distance);
        step.sizes[label] += 1;
    }
    step.sums = add_up(parts.into_iter().map(|(_, sums)| sums));
    step
}

/// Gives every empty group the row that is farthest from its center, of a group that has others.
fn fill_empty(rows: &Rows, step: &mut Step) {
    let width = rows.width();
    for empty in 0..step.sizes.len() {
        if step.sizes[empty] > 0 {
            continue;
        }
        let pairs = step.labels.iter().zip(&step.distances);
        let near =
            pairs.map(|(&label, distance)| if step.sizes[label] > 1 { -distance } else { f64::INFINITY });
        let (farthest, _) = lowest(near);
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

/// Greedy k-means++: each center is the best of 2 + ln K rows, drawn with odds |x - nearest center so far|^2.
fn start(rows: &Rows, classes: usize, rng: &mut Rng) -> Vec<f32> {
    let trials = 2 + (classes as f64).ln() as usize;
    let mut nearest = vec![f64::INFINITY; rows.len()];
    let mut centers = Vec::new();
    for k in 0..classes {
        let candidates: Vec<usize> = match k {
            0 => vec![rng.random_range(0..rows.len())],
            _ => (0..trials).map(|_| draw(&nearest, rng)).collect(),
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

/// Squared distances of all rows to the rows `to`, `[n, to]`.
fn distances(rows: &Rows, to: &[usize]) -> Vec<f64> {
    let pairs = |block: std::ops::Range<usize>| -> Vec<f64> {
        block.flat_map(|i| to.iter().map(move |&j| squared_distance(rows.row(i), rows.row(j)))).collect()
    };
    rows.blocks(pairs).concat()
}

/// A position with odds `weights`; with even odds if all are zero.
fn draw(weights: &[f64], rng: &mut Rng) -> usize {
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

/// The first lowest value and its position.
pub(super) fn lowest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (i, value) in values.enumerate() {
        if value < best.1 {
            best = (i, value);
        }
    }
    best
}
