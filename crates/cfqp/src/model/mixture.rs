//! The fitted mixture: sum_k w_k(x) N(y; m_k(x, t), s_k(t)^2), with m_k the mean of its members.

use burn::tensor::Device;

use super::components::Components;
use super::prior::Prior;
use super::scales::{Residuals, Scales};
use crate::math::{argmin, log_sum_exp};
use crate::models::Batcher;
use crate::runtime::Pool;

/// The largest number of units from which scales are estimated during EM.
const MAX_SCALE_UNITS: usize = 400;

/// Means, scales and weights of all classes.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    /// At least one. The mean of a class is the mean over members.
    pub members: Vec<Components>,
    pub scales: Scales,
    pub prior: Prior,
}

/// Joint negative log-likelihoods of some units and all classes.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub classes: usize,
    /// -log w_k N_k, `[n, classes]`
    pub nll: Vec<f64>,
}

impl Joint {
    /// The most probable class of every unit.
    pub(crate) fn labels(&self) -> Vec<usize> {
        let best = |row: &[f64]| argmin(row.iter().copied()).unwrap_or(0);
        self.nll.chunks_exact(self.classes).map(best).collect()
    }

    /// -log sum_k w_k N_k of every unit.
    pub(crate) fn marginal(&self) -> Vec<f64> {
        self.nll.chunks_exact(self.classes).map(|row| -log_sum_exp(row)).collect()
    }
}

/// Mean and variance over members, `[n, y elements]`, flat.
pub(crate) struct MemberMoments {
    pub mean: Vec<f32>,
    pub variance: Vec<f32>,
}

/// Mean and smoothed variance over `members`, for outcomes of this shape.
pub(crate) fn member_moments(members: Vec<Vec<f32>>, shape: &[usize]) -> MemberMoments {
    MemberMoments { variance: member_covariance(&members, &members, shape), mean: mean(&members) }
}

fn mean(members: &[Vec<f32>]) -> Vec<f32> {
    let share = 1.0 / members.len() as f32;
    (0..members[0].len()).map(|i| members.iter().map(|m| m[i]).sum::<f32>() * share).collect()
}

/// The covariance over members of two of their predictions, for every element of outcomes of this shape. It is smoothed,
/// because the estimate from few members is noisy. Zero for a single member.
pub(crate) fn member_covariance(a: &[Vec<f32>], b: &[Vec<f32>], shape: &[usize]) -> Vec<f32> {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let share = 1.0 / (a.len() as f32 - 1.0).max(1.0);
    let product = |i: usize| {
        let members = a.iter().zip(b).map(|(a, b)| (a[i] - mean_a[i]) * (b[i] - mean_b[i]));
        members.sum::<f32>() * share
    };
    let mut covariance: Vec<f32> = (0..mean_a.len()).map(product).collect();
    smooth(&mut covariance, shape);
    covariance
}

/// Averages every element with the mean of its neighbourhood: a square in an image, the channel in a series.
fn smooth(values: &mut [f32], shape: &[usize]) {
    let average = |v: &mut f32, neighbourhood: f32| *v = 0.5 * (*v + neighbourhood);
    for channel in values.chunks_mut(shape[1..].iter().product()) {
        match *shape {
            // elements of a table have no neighbours
            [_] => return,
            [_, _, width] => {
                let means = box_mean(channel, width);
                channel.iter_mut().zip(means).for_each(|(v, mean)| average(v, mean));
            }
            _ => {
                let mean = channel.iter().sum::<f32>() / channel.len() as f32;
                channel.iter_mut().for_each(|v| average(v, mean));
            }
        }
    }
}

/// The number of pixels on each side of a pixel in its neighbourhood.
const BOX_RADIUS: usize = 2;

/// The mean over a square with every pixel at its centre, cut off at the border.
fn box_mean(image: &[f32], width: usize) -> Vec<f32> {
    let height = image.len() / width;
    let mean = |values: &[f32], i: usize| {
        let near = &values[i.saturating_sub(BOX_RADIUS)..values.len().min(i + BOX_RADIUS + 1)];
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
    pub(crate) fn classes(&self) -> usize {
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

    /// The mean of the outcome given x and t, sum_k w_k(x) m_k(x, t), of `rows`, `[n, y elements]`, flat.
    pub(crate) fn predictive_mean(&self, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Vec<f32> {
        let d = batcher.scaler.y.elements();
        let weights: Vec<Vec<f32>> = rows.iter().map(|&row| self.prior.log(batcher, row)).collect();
        let mut mean = vec![0.0; rows.len() * d];
        for k in 0..self.classes() {
            let own = self.mean(k, batcher, rows, device);
            for (i, weights) in weights.iter().enumerate() {
                let elements = i * d..(i + 1) * d;
                let weight = weights[k].exp();
                mean[elements.clone()]
                    .iter_mut()
                    .zip(&own[elements])
                    .for_each(|(mean, own)| *mean += weight * own);
            }
        }
        mean
    }

    /// Mean and smoothed variance of m_k(x, t) over members.
    pub(crate) fn member_moments(
        &self,
        k: usize,
        batcher: &Batcher<'_>,
        rows: &[usize],
        device: &Device,
    ) -> MemberMoments {
        let members = self.members.iter().map(|member| member.mean(k, batcher, rows, None, device)).collect();
        member_moments(members, batcher.scaler.y.shape())
    }

    /// The joint likelihoods of `rows` and all classes: the E step.
    pub(crate) fn joint(&self, batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Joint {
        let (classes, d) = (self.classes(), batcher.scaler.y.elements());
        let mut nll = Vec::with_capacity(rows.len() * classes);
        for rows in rows.chunks(batcher.at_once()) {
            let y = batcher.outcomes(rows);
            let t = batcher.treatments(rows);
            let means: Vec<Vec<f32>> = (0..classes).map(|k| self.mean(k, batcher, rows, device)).collect();
            for (i, &row) in rows.iter().enumerate() {
                let prior = self.prior.log(batcher, row);
                let (elements, mask) = (i * d..(i + 1) * d, batcher.data.y().mask_row(row));
                let d_t = t.len() / rows.len();
                for (k, mean) in means.iter().enumerate() {
                    let log_variance = self.scales.log_variance(k, &t[i * d_t..(i + 1) * d_t]);
                    let fit =
                        gaussian_nll(&y[elements.clone()], &mean[elements.clone()], &log_variance, mask);
                    nll.push(fit - f64::from(prior[k]));
                }
            }
        }
        Joint { classes, nll }
    }

    /// As [`joint`](Self::joint), in parallel over batches.
    pub(crate) fn joint_in(
        &self,
        batcher: &Batcher<'_>,
        rows: &[usize],
        device: &Device,
        pool: &Pool,
    ) -> Joint {
        let batches =
            pool.map(rows.chunks(batcher.at_once()).collect(), |rows| self.joint(batcher, rows, device).nll);
        Joint { classes: self.classes(), nll: batches.concat() }
    }

    /// A mixture with constant weights and one constant scale for all classes, estimated from held-out `rows`. Units are
    /// assigned to the nearest mean, first in standardised outcomes, then relative to the scale found. The scale is shared
    /// so that a class cannot attract units by having a large scale.
    pub(crate) fn with_shared_scale(
        components: Components,
        batcher: &Batcher<'_>,
        rows: &[usize],
        device: &Device,
    ) -> Self {
        let rows = &rows[..rows.len().min(MAX_SCALE_UNITS)];
        let (classes, d, d_t) =
            (components.classes, batcher.scaler.y.elements(), batcher.scaler.t.elements());
        let unit = vec![Residuals { t: vec![0.0; d_t], squares: vec![1.0; d] }; classes];
        let prior = Prior::Constant(vec![1.0 / classes as f32; classes]);
        let scales = Scales::fit(&unit, d, d_t, false);
        let mut mixture = Self { members: vec![components], scales, prior };
        for _ in 0..2 {
            let labels = mixture.joint(batcher, rows, device).labels();
            let mut pooled = Residuals::default();
            for class in class_residuals(&mixture.members[0], batcher, rows, &labels, device) {
                pooled.append(class);
            }
            mixture.scales = Scales::fit(&vec![pooled; classes], d, d_t, false);
            mixture.prior = Prior::frequencies(labels.into_iter(), classes);
        }
        mixture
    }
}

/// The residuals of `rows` from the mean of their class, by class.
pub(crate) fn class_residuals(
    components: &Components,
    batcher: &Batcher<'_>,
    rows: &[usize],
    labels: &[usize],
    device: &Device,
) -> Vec<Residuals> {
    let d = batcher.scaler.y.elements();
    let mut residuals = vec![Residuals::default(); components.classes];
    for (k, residuals) in residuals.iter_mut().enumerate() {
        let class_rows: Vec<usize> =
            rows.iter().zip(labels).filter(|(_, label)| **label == k).map(|(row, _)| *row).collect();
        for rows in class_rows.chunks(batcher.at_once()) {
            let (y, t) = (batcher.outcomes(rows), batcher.treatments(rows));
            let mean = components.mean(k, batcher, rows, None, device);
            let d_t = t.len() / rows.len();
            for (i, &row) in rows.iter().enumerate() {
                let (elements, mask) = (i * d..(i + 1) * d, batcher.data.y().mask_row(row));
                residuals.push(&t[i * d_t..(i + 1) * d_t], &y[elements.clone()], &mean[elements], mask);
            }
        }
    }
    residuals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marginal_and_labels_follow_from_the_joint_likelihood() {
        let joint = Joint { classes: 2, nll: vec![1.0, 2.0, 3.0, 0.5] };
        assert_eq!(joint.labels(), [0, 1]);
        let expected = -((-1.0_f64).exp() + (-2.0_f64).exp()).ln();
        assert!((joint.marginal()[0] - expected).abs() < 1e-12);
    }

    #[test]
    fn missing_elements_do_not_count_in_the_likelihood() {
        let all = gaussian_nll(&[1.0, 9.0], &[0.0, 0.0], &[0.0, 0.0], None);
        let first = gaussian_nll(&[1.0, 9.0], &[0.0, 0.0], &[0.0, 0.0], Some(&[true, false]));
        let standard = |z: f64| 0.5 * ((2.0 * std::f64::consts::PI).ln() + z * z);
        assert!((first - standard(1.0)).abs() < 1e-6);
        assert!((all - standard(1.0) - standard(9.0)).abs() < 1e-5);
    }

    #[test]
    fn member_variance_is_smoothed_over_the_neighbourhood_only() {
        let members = |shape: &[usize]| {
            let n = shape.iter().product();
            let mut other = vec![0.0; n];
            other[0] = 2.0;
            member_moments(vec![vec![0.0; n], other], shape)
        };
        let table = members(&[4]);
        assert_eq!((table.mean[0], table.variance), (1.0, vec![2.0, 0.0, 0.0, 0.0]));
        let series = members(&[2, 2]).variance;
        assert_eq!(series, [1.5, 0.5, 0.0, 0.0], "the other channel is not a neighbour");
        let image = members(&[1, 6, 6]).variance;
        assert!(image[0] > 1.0 && image[1] > 0.0 && image[35] == 0.0);
        assert_eq!(member_moments(vec![vec![3.0]], &[1]).variance, [0.0], "one member has no variance");
    }
}
