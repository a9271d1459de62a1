//! The fitted mixture: sum_k w_k(x) N(y; m_k(x, t), s_k(t)^2), with m_k the mean of its members.

use burn::tensor::Device;

use super::components::Components;
use super::pool::Pool;
use super::prior::Prior;
use super::scales::{Residuals, Scales};
use crate::data::Batcher;

/// Units that scales are taken from while EM runs, at most.
const SCALE_UNITS: usize = 400;

/// Means, scales and weights of all classes.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    /// At least one; the mean of a class is the mean over them.
    pub members: Vec<Components>,
    pub scales: Scales,
    pub prior: Prior,
}

/// -log w_k N_k of some units.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub classes: usize,
    /// `[n, classes]`
    pub nll: Vec<f64>,
}

impl Joint {
    /// The most probable class of every unit.
    pub fn labels(&self) -> Vec<usize> {
        let best = |row: &[f64]| (0..row.len()).min_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        self.nll.chunks_exact(self.classes).map(best).collect()
    }

    /// -log sum_k w_k N_k of every unit.
    pub fn marginal(&self) -> Vec<f64> {
        self.nll.chunks_exact(self.classes).map(|row| -log_sum_exp(row)).collect()
    }
}

/// Mean and variance over members, `[n, y elements]`, flat.
pub(crate) struct Spread {
    pub mean: Vec<f32>,
    pub variance: Vec<f32>,
}

/// Mean and variance of `members`, for outcomes of this shape.
pub(crate) fn spread(members: Vec<Vec<f32>>, shape: &[usize]) -> Spread {
    Spread { variance: covariance(&members, &members, shape), mean: mean(&members) }
}

fn mean(members: &[Vec<f32>]) -> Vec<f32> {
    let share = 1.0 / members.len() as f32;
    (0..members[0].len()).map(|i| members.iter().map(|m| m[i]).sum::<f32>() * share).collect()
}

/// The covariance over members of two of their answers, for every element of outcomes of this shape. A few members tell
/// it only roughly, so it is smoothed. Zero if there is only one.
pub(crate) fn covariance(a: &[Vec<f32>], b: &[Vec<f32>], shape: &[usize]) -> Vec<f32> {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let share = 1.0 / (a.len() as f32 - 1.0).max(1.0);
    let product = |i: usize| {
        let members = a.iter().zip(b).map(|(a, b)| (a[i] - mean_a[i]) * (b[i] - mean_b[i]));
        members.sum::<f32>() * share
    };
    let mut out: Vec<f32> = (0..mean_a.len()).map(product).collect();
    smooth(&mut out, shape);
    out
}

/// Half an element's own, half the mean of what is around it: a square in an image, the channel of a series.
fn smooth(values: &mut [f32], shape: &[usize]) {
    let half = |v: &mut f32, around: f32| *v = 0.5 * (*v + around);
    for channel in values.chunks_mut(shape[1..].iter().product()) {
        match *shape {
            // a number is all there is around it
            [_] => return,
            [_, _, width] => {
                let around = box_mean(channel, width);
                channel.iter_mut().zip(around).for_each(|(v, around)| half(v, around));
            }
            _ => {
                let average = channel.iter().sum::<f32>() / channel.len() as f32;
                channel.iter_mut().for_each(|v| half(v, average));
            }
        }
    }
}

/// Pixels on each side that count as around.
const AROUND: usize = 2;

/// The mean over a square around every pixel, as far as the image goes.
fn box_mean(image: &[f32], width: usize) -> Vec<f32> {
    let height = image.len() / width;
    let mean = |values: &[f32], i: usize| {
        let near = &values[i.saturating_sub(AROUND)..values.len().min(i + AROUND + 1)];
        near.iter().sum::<f32>() / near.len() as f32
    };
    let rows: Vec<f32> = image.chunks(width).flat_map(|row| (0..width).map(move |j| mean(row, j))).collect();
    let mut out = vec![0.0; image.len()];
    for j in 0..width {
        let column: Vec<f32> = (0..height).map(|i| rows[i * width + j]).collect();
        (0..height).for_each(|i| out[i * width + j] = mean(&column, i));
    }
    out
}

/// log sum_k exp(-nll_k)
pub(crate) fn log_sum_exp(nll: &[f64]) -> f64 {
    let top = nll.iter().copied().fold(f64::INFINITY, f64::min);
    nll.iter().map(|nll| (top - nll).exp()).sum::<f64>().ln() - top
}

/// -log N(y; mean, exp(log_variance)) over observed elements.
pub(crate) fn gaussian_nll(y: &[f32], mean: &[f32], log_variance: &[f32], mask: Option<&[bool]>) -> f64 {
    let constant = (2.0 * std::f32::consts::PI).ln();
    let mut sum = 0.0_f64;
    for (d, ((y, mean), log_variance)) in y.iter().zip(mean).zip(log_variance).enumerate() {
        if mask.is_none_or(|mask| mask[d]) {
            let z = (y - mean).powi(2) * (-log_variance).exp();
            sum += 0.5 * f64::from(constant + log_variance + z);
        }
    }
    sum
}

impl Mixture {
    pub fn classes(&self) -> usize {
        self.members[0].classes
    }

    /// m_k(x, t) of `rows`, `[n, y elements]`, flat.
    fn mean(&self, k: usize, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Vec<f32> {
        let mut members = self.members.iter().map(|member| member.mean(k, batcher, rows, None, device));
        let mut mean = members.next().expect("a mixture has members");
        for member in members {
            mean.iter_mut().zip(member).for_each(|(sum, m)| *sum += m);
        }
        let share = 1.0 / self.members.len() as f32;
        mean.iter_mut().for_each(|sum| *sum *= share);
        mean
    }

    /// Mean over members of m_k(x, t), and their variance, smoothed.
    pub fn spread(
        &self,
        k: usize,
        batcher: &Batcher<'_>,
        rows: &[usize],
        t: Option<&[f32]>,
        device: &Device,
    ) -> Spread {
        let members = self.members.iter().map(|member| member.mean(k, batcher, rows, t, device)).collect();
        spread(members, batcher.scaler.y.shape())
    }

    /// The E step on `rows`.
    pub fn joint(&self, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Joint {
        let (classes, d) = (self.classes(), batcher.scaler.y.each());
        let mut nll = Vec::with_capacity(rows.len() * classes);
        for rows in rows.chunks(batcher.at_once()) {
            let y = batcher.outcomes(rows);
            let t = batcher.treatments(rows);
            let means: Vec<Vec<f32>> = (0..classes).map(|k| self.mean(k, batcher, rows, device)).collect();
            for (i, &row) in rows.iter().enumerate() {
                let prior = self.prior.log(batcher, row);
                let (own, mask) = (i * d..(i + 1) * d, batcher.data.y().mask_row(row));
                let d_t = t.len() / rows.len();
                for (k, mean) in means.iter().enumerate() {
                    let log_variance = self.scales.log_variance(k, &t[i * d_t..(i + 1) * d_t]);
                    let fit = gaussian_nll(&y[own.clone()], &mean[own.clone()], &log_variance, mask);
                    nll.push(fit - f64::from(prior[k]));
                }
            }
        }
        Joint { classes, nll }
    }

    /// As [`joint`](Self::joint), in parallel over batches.
    pub fn joint_in(&self, batcher: &Batcher<'_>, rows: &[usize], device: &Device, pool: &Pool) -> Joint {
        let parts =
            pool.map(rows.chunks(batcher.at_once()).collect(), |rows| self.joint(batcher, rows, device).nll);
        Joint { classes: self.classes(), nll: parts.concat() }
    }
}

/// Constant scales and frequencies for `components`, from held-out `rows`: classes by nearest mean, first in
/// standardised outcomes, then once more by the scales found.
pub(crate) fn around(
    components: Components,
    batcher: &Batcher<'_>,
    rows: &[usize],
    device: &Device,
) -> Mixture {
    let rows = &rows[..rows.len().min(SCALE_UNITS)];
    let (classes, d, d_t) = (components.classes, batcher.scaler.y.each(), batcher.scaler.t.each());
    let unit = vec![Residuals { t: vec![0.0; d_t], squares: vec![1.0; d] }; classes];
    let prior = Prior::Constant(vec![1.0 / classes as f32; classes]);
    let mut mixture = Mixture { members: vec![components], scales: Scales::fit(&unit, d, d_t, false), prior };
    for _ in 0..2 {
        let labels = mixture.joint(batcher, rows, device).labels();
        let classes = gather(&mixture.members[0], batcher, rows, &labels, device);
        // one scale for all classes: a class must not win units by being vague
        let mut all = Residuals::default();
        for class in &classes {
            all.t.extend(&class.t);
            all.squares.extend(&class.squares);
        }
        mixture.scales = Scales::fit(&vec![all; classes.len()], d, d_t, false);
        mixture.prior = Prior::frequencies(labels.into_iter(), classes.len());
    }
    mixture
}

/// Residuals of `rows` from the mean of their class, by class.
pub(crate) fn gather(
    components: &Components,
    batcher: &Batcher<'_>,
    rows: &[usize],
    labels: &[usize],
    device: &Device,
) -> Vec<Residuals> {
    let d = batcher.scaler.y.each();
    let mut out = vec![Residuals::default(); components.classes];
    for (k, out) in out.iter_mut().enumerate() {
        let own: Vec<usize> =
            rows.iter().zip(labels).filter(|(_, label)| **label == k).map(|(row, _)| *row).collect();
        for rows in own.chunks(batcher.at_once()) {
            let (y, t) = (batcher.outcomes(rows), batcher.treatments(rows));
            let mean = components.mean(k, batcher, rows, None, device);
            let d_t = t.len() / rows.len();
            for (i, &row) in rows.iter().enumerate() {
                let (e, m) = (i * d..(i + 1) * d, batcher.data.y().mask_row(row));
                out.push(&t[i * d_t..(i + 1) * d_t], &y[e.clone()], &mean[e], m);
            }
        }
    }
    out
}
