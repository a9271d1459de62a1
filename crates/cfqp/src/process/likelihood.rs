//! The marginal likelihood of a Gaussian process, and the hyperparameters that maximise it.

use crate::math::{cholesky, dot};

/// Rounds of the search.
const ROUNDS: usize = 40;
/// Steps of the search, on the scale of logarithms: the first, the least and the greatest, and their factors.
const FIRST_STEP: f64 = 0.1;
const STEPS: [f64; 2] = [1e-3, 0.5];
const GROW: f64 = 1.2;
const SHRINK: f64 = 0.5;
/// The rate of the exponential prior of w and l: it lets columns vanish.
const RATE: f64 = 3.0;
/// Where the search begins: the sum of w and that of l, the amplitude, and the variance of the noise.
const FIRST_TOTAL: f64 = 0.5;
const FIRST_NOISE: f64 = 0.3;
/// Bounds of the logarithms: of w and l, of the amplitude, and of the noise.
const COLUMN_BOUNDS: [f64; 2] = [-12.0, 3.0];
const AMPLITUDE_BOUNDS: [f64; 2] = [-5.0, 3.0];
const NOISE_BOUNDS: [f64; 2] = [-6.5, 1.0];

/// The hyperparameters of a process.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// w and l of every column.
    pub lengths: Vec<f64>,
    pub slopes: Vec<f64>,
    pub amplitude: f64,
    pub noise: f64,
}

impl Kernel {
    /// From logarithms: w, l, amplitude, noise.
    fn from_logarithms(logs: &[f64]) -> Self {
        let columns = (logs.len() - 2) / 2;
        let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        Self {
            lengths: values[..columns].to_vec(),
            slopes: values[columns..2 * columns].to_vec(),
            amplitude: values[2 * columns],
            noise: values[2 * columns + 1],
        }
    }

    /// The exponential part and the whole of k(a, b).
    pub(super) fn covariance(&self, a: &[f64], b: &[f64]) -> (f64, f64) {
        let (mut squares, mut linear) = (0.0, 1.0);
        for ((a, b), (w, l)) in a.iter().zip(b).zip(self.lengths.iter().zip(&self.slopes)) {
            squares += w * (a - b) * (a - b);
            linear += l * a * b;
        }
        let smooth = (-0.5 * squares).exp();
        (smooth, linear + self.amplitude * smooth)
    }
}

/// The hyperparameters with the largest posterior density given rows `[n, columns]` and their standardised targets.
///
/// Found by resilient propagation (Rprop): steps whose sizes depend on the signs of the gradient alone.
pub(super) fn best_kernel(values: &[f64], columns: usize, target: &[f64]) -> Option<Kernel> {
    let first = (FIRST_TOTAL / columns.max(1) as f64).ln();
    let mut logs = vec![first; 2 * columns];
    logs.extend([FIRST_TOTAL.ln(), FIRST_NOISE.ln()]);
    let bounds = |i: usize| match i.checked_sub(2 * columns) {
        None => COLUMN_BOUNDS,
        Some(0) => AMPLITUDE_BOUNDS,
        Some(_) => NOISE_BOUNDS,
    };
    let (mut steps, mut before) = (vec![FIRST_STEP; logs.len()], vec![0.0; logs.len()]);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..ROUNDS {
        let Some((loss, mut gradient)) = loss(values, columns, target, &logs) else { break };
        if best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, logs.clone()));
        }
        for (i, log) in logs.iter_mut().enumerate() {
            let agreement = gradient[i] * before[i];
            if agreement > 0.0 {
                steps[i] = (GROW * steps[i]).min(STEPS[1]);
            } else if agreement < 0.0 {
                steps[i] = (SHRINK * steps[i]).max(STEPS[0]);
                gradient[i] = 0.0;
            }
            let [low, high] = bounds(i);
            let sign = if gradient[i] == 0.0 { 0.0 } else { gradient[i].signum() };
            *log = (*log - sign * steps[i]).clamp(low, high);
        }
        before = gradient;
    }
    best.map(|(_, logs)| Kernel::from_logarithms(&logs))
}

/// The negative logarithm of the posterior density up to a constant, and its gradient; none if the covariance has no factor.
fn loss(values: &[f64], columns: usize, target: &[f64], logs: &[f64]) -> Option<(f64, Vec<f64>)> {
    let (n, kernel) = (target.len(), Kernel::from_logarithms(logs));
    let row = |i: usize| &values[i * columns..][..columns];
    let (mut smooth, mut covariance) = (vec![0.0; n * n], vec![0.0; n * n]);
    for i in 0..n {
        for j in 0..=i {
            (smooth[i * n + j], covariance[i * n + j]) = kernel.covariance(row(i), row(j));
        }
        covariance[i * n + i] += kernel.noise;
    }
    cholesky(&mut covariance, n).ok()?;
    let half_determinant: f64 = (0..n).map(|i| covariance[i * n + i].ln()).sum();
    let inverse = inverse(&covariance, n);
    let weights: Vec<f64> = (0..n)
        .map(|i| {
            let below = (i + 1..n).map(|j| inverse[j * n + i] * target[j]).sum::<f64>();
            dot(&inverse[i * n..=i * n + i], &target[..=i]) + below
        })
        .collect();
    let (w, l) = (&kernel.lengths, &kernel.slopes);
    let prior = RATE * (w.iter().sum::<f64>() + l.iter().sum::<f64>());
    let mut gradient = vec![0.0; logs.len()];
    let (of_lengths, rest) = gradient.split_at_mut(columns);
    let (of_slopes, rest) = rest.split_at_mut(columns);
    for i in 0..n {
        for j in 0..=i {
            // the derivative of the loss by k(i, j), of both halves
            let slope = if i == j { 0.5 } else { 1.0 } * (inverse[i * n + j] - weights[i] * weights[j]);
            let of_smooth = slope * kernel.amplitude * smooth[i * n + j];
            rest[0] += of_smooth;
            if i == j {
                rest[1] += slope * kernel.noise;
            }
            for (((a, b), own), slopes) in
                row(i).iter().zip(row(j)).zip(of_lengths.iter_mut()).zip(of_slopes.iter_mut())
            {
                *own -= 0.5 * of_smooth * (a - b) * (a - b);
                *slopes += slope * a * b;
            }
        }
    }
    of_lengths.iter_mut().zip(w).for_each(|(gradient, w)| *gradient = w * (*gradient + RATE));
    of_slopes.iter_mut().zip(l).for_each(|(gradient, l)| *gradient = l * (*gradient + RATE));
    Some((0.5 * dot(target, &weights) + half_determinant + prior, gradient))
}

/// The lower half of (L L')^-1.
fn inverse(l: &[f64], n: usize) -> Vec<f64> {
    // L^-1, row by row
    let mut factor = vec![0.0; n * n];
    for i in 0..n {
        let (done, rest) = factor.split_at_mut(i * n);
        let row = &mut rest[..=i];
        for (k, above) in done.chunks_exact(n).enumerate() {
            let share = l[i * n + k];
            row[..=k].iter_mut().zip(&above[..=k]).for_each(|(r, a)| *r -= share * a);
        }
        row[i] = 1.0;
        let pivot = 1.0 / l[i * n + i];
        row.iter_mut().for_each(|value| *value *= pivot);
    }
    let mut inverse = vec![0.0; n * n];
    for row in 0..n {
        let row = &factor[row * n..][..=row];
        for (i, &share) in row.iter().enumerate() {
            inverse[i * n..=i * n + i].iter_mut().zip(row).for_each(|(sum, value)| *sum += share * value);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::stream;

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let mut rng = stream(3, &["gradient"]);
        let values: Vec<f64> = (0..20 * 3).map(|_| rng.sample(StandardNormal)).collect();
        let target: Vec<f64> = (0..20).map(|_| rng.sample(StandardNormal)).collect();
        let logs: Vec<f64> = (0..8).map(|i| -1.0 + 0.2 * f64::from(i)).collect();
        let at = |logs: &[f64]| loss(&values, 3, &target, logs).unwrap();
        let gradient = at(&logs).1;
        for (i, slope) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut logs = logs.clone();
                logs[i] += by;
                at(&logs).0
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{i}: {slope} {difference}");
        }
    }
}
