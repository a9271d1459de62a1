//! The fit of a Gaussian process.

use rand::seq::SliceRandom as _;

use super::likelihood::{Kernel, best_kernel};
use super::{MAX_INPUT, Process, clamped};
use crate::Rng;
use crate::math::{cholesky_solve, mean};

/// Rows on which hyperparameters are found.
const KERNEL_ROWS: usize = 300;
/// With at most this many rows every row is a point ...
const MAX_POINTS: usize = 1000;
/// ... with more, so many are; and the most rows that are used.
const POINTS: usize = 500;
const MAX_ROWS: usize = 20_000;
/// Fewer rows do not show a smooth function.
const MIN_ROWS: usize = 20;
/// Columns whose kernel hardly changes between the ends of the inputs, and whose slope is as small, do not matter.
const MIN_RELEVANCE: f64 = 3e-3;
/// Added to the diagonal of the covariance of points.
const JITTER: f64 = 1e-6;

/// What a process is fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessTask<'a> {
    /// The table, `[rows, columns]`, standardised; NaN is missing.
    pub values: &'a [f32],
    pub columns: usize,
    /// The target of every row.
    pub target: &'a [f64],
    /// The rows to fit.
    pub train: &'a [usize],
}

/// The posterior mean of a process of some of the columns; none where there are too few rows, or if the target does not vary.
pub(crate) fn fit_process(task: &ProcessTask<'_>, columns: &[usize], rng: &mut Rng) -> Option<Process> {
    let mut rows = task.train.to_vec();
    rows.shuffle(rng);
    rows.truncate(MAX_ROWS);
    let own: Vec<f64> = rows.iter().map(|&row| task.target[row]).collect();
    let centre = mean(&own);
    let deviation = mean(&own.iter().map(|y| (y - centre).powi(2)).collect::<Vec<_>>()).sqrt();
    if columns.is_empty() || rows.len() < MIN_ROWS || deviation.is_nan() || deviation <= 0.0 {
        return None;
    }
    let target: Vec<f64> = own.iter().map(|y| (y - centre) / deviation).collect();
    let value = |row: usize, column: usize| f64::from(clamped(task.values[row * task.columns + column]));
    let gather = |columns: &[usize], rows: &[usize]| -> Vec<f64> {
        rows.iter().flat_map(|&row| columns.iter().map(move |&column| value(row, column))).collect()
    };
    let few = rows.len().min(KERNEL_ROWS);
    let kernel = best_kernel(&gather(columns, &rows[..few]), columns.len(), &target[..few])?;
    let (columns, kernel) = relevant(columns, kernel);
    let values = gather(&columns, &rows);
    let posterior = Posterior { kernel: &kernel, values: &values, columns: columns.len(), target: &target };
    let points = if rows.len() <= MAX_POINTS { rows.len() } else { POINTS };
    let weights = if points == rows.len() { posterior.of_all()? } else { posterior.of_points(points)? };
    let of_points = values.chunks_exact(columns.len()).take(points);
    let slope = |c: usize| -> f64 {
        let own = of_points.clone().zip(&weights).map(|(row, weight)| weight * row[c]);
        kernel.slopes[c] * own.sum::<f64>()
    };
    let slopes: Vec<f32> = (0..columns.len()).map(|c| (deviation * slope(c)) as f32).collect();
    let lengths: Vec<f32> = kernel.lengths.iter().map(|w| w.sqrt() as f32).collect();
    let at = |c: usize, i: usize| lengths[c] * values[i * columns.len() + c] as f32;
    let process = Process {
        columns: task.columns,
        intercept: (centre + deviation * weights.iter().sum::<f64>()) as f32,
        points: (0..columns.len())
            .flat_map(|c| (0..points).map(move |i| (c, i)))
            .map(|(c, i)| at(c, i))
            .collect(),
        weights: weights.iter().map(|weight| (deviation * kernel.amplitude * weight) as f32).collect(),
        used: columns,
        lengths,
        slopes,
    };
    let is_finite = process.to_array().iter().all(|value| value.is_finite());
    is_finite.then_some(process)
}

/// The columns that matter, at least one, and the kernel of these.
fn relevant(columns: &[usize], kernel: Kernel) -> (Vec<usize>, Kernel) {
    let range = f64::from(MAX_INPUT * MAX_INPUT);
    let matters = |&i: &usize| (kernel.lengths[i] + kernel.slopes[i]) * range > MIN_RELEVANCE;
    let mut kept: Vec<usize> = (0..columns.len()).filter(matters).collect();
    if kept.is_empty() {
        kept.push(0);
    }
    let of = |values: &[f64]| kept.iter().map(|&i| values[i]).collect();
    let own = Kernel { lengths: of(&kernel.lengths), slopes: of(&kernel.slopes), ..kernel };
    (kept.iter().map(|&i| columns[i]).collect(), own)
}

/// The data of a posterior.
struct Posterior<'a> {
    kernel: &'a Kernel,
    /// `[rows, columns]`
    values: &'a [f64],
    columns: usize,
    target: &'a [f64],
}

impl Posterior<'_> {
    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..][..self.columns]
    }

    fn covariance(&self, i: usize, j: usize) -> f64 {
        self.kernel.covariance(self.row(i), self.row(j)).1
    }

    /// (K + s I)^-1 y
    fn of_all(&self) -> Option<Vec<f64>> {
        let n = self.target.len();
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            (0..=i).for_each(|j| covariance[i * n + j] = self.covariance(i, j));
            covariance[i * n + i] += self.kernel.noise;
        }
        let mut weights = self.target.to_vec();
        cholesky_solve(&mut covariance, n, &mut weights, 1).ok()?;
        Some(weights)
    }

    /// (K_mn K_nm + s K_mm)^-1 K_mn y, for the first `m` rows as points.
    fn of_points(&self, m: usize) -> Option<Vec<f64>> {
        let mut gram = vec![0.0; m * m];
        let mut weights = vec![0.0; m];
        let mut with_points = vec![0.0; m];
        for (i, y) in self.target.iter().enumerate() {
            (0..m).for_each(|j| with_points[j] = self.covariance(i, j));
            for (j, &share) in with_points.iter().enumerate() {
                weights[j] += share * y;
                gram[j * m..=j * m + j].iter_mut().zip(&with_points).for_each(|(sum, k)| *sum += share * k);
            }
        }
        for i in 0..m {
            (0..=i).for_each(|j| gram[i * m + j] += self.kernel.noise * self.covariance(i, j));
            gram[i * m + i] += JITTER * self.kernel.noise * m as f64;
        }
        cholesky_solve(&mut gram, m, &mut weights, 1).ok()?;
        Some(weights)
    }
}
