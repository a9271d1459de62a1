//! The fitted mixture: sum_k w_k(x) N(y; m_k(x, t), s_k(t)^2).

use burn::tensor::Device;

use super::components::{BATCH, Components};
use super::pool::Pool;
use super::prior::Prior;
use super::scales::{Residuals, Scales};
use crate::data::Batcher;

/// Means, scales and weights of all classes.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    pub components: Components,
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
    /// The E step on `rows`.
    pub fn joint(&self, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Joint {
        let (classes, d) = (self.components.classes, batcher.scaler.y.each());
        let mut nll = Vec::with_capacity(rows.len() * classes);
        for rows in rows.chunks(BATCH) {
            let y = batcher.outcomes(rows);
            let t = batcher.treatments(rows);
            let mean = |k| self.components.mean(k, batcher, rows, None, device);
            let means: Vec<Vec<f32>> = (0..classes).map(mean).collect();
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
        let parts = pool.map(rows.chunks(BATCH).collect(), |rows| self.joint(batcher, rows, device).nll);
        Joint { classes: self.components.classes, nll: parts.concat() }
    }
}

/// Constant scales and frequencies for `components`, from held-out `rows`: classes by nearest mean, first in
/// standardised outcomes, then once more by the scales found.
pub(crate) fn around(components: Components, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Mixture {
    let (classes, d, d_t) = (components.classes, batcher.scaler.y.each(), batcher.scaler.t.each());
    let unit = vec![Residuals { t: vec![0.0; d_t], squares: vec![1.0; d] }; classes];
    let prior = Prior::Constant(vec![1.0 / classes as f32; classes]);
    let mut mixture = Mixture { components, scales: Scales::fit(&unit, d, d_t, false), prior };
    for _ in 0..2 {
        let labels = mixture.joint(batcher, rows, device).labels();
        let classes = gather(&mixture.components, batcher, rows, &labels, device);
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
        for rows in own.chunks(BATCH) {
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
