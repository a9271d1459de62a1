//! swish(group norm(z + term)), in a few passes over a unit that stays in the cache.
//!
//! ```text
//! forward:   h = (z + term - mean) * scale     mean and variance over a group, scale = 1/sqrt(variance + 1e-5)
//!            y = swish(u),  u = h gamma + beta
//! backward:  du = dy swish'(u),  dbeta = sum du,  dgamma = sum du h
//!            dz = scale (du gamma - mean(du gamma) - h mean(du gamma h)),  dterm = sum over positions of dz
//! ```

use super::buffer::Buffer;
use super::vectorised::{sigmoid, swish_slope};
use crate::nn::norm::EPSILON;

/// A group norm's scale, shift and groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norm<'a> {
    /// Scale `[channels]`.
    pub gamma: &'a [f32],
    /// Shift `[channels]`.
    pub beta: &'a [f32],
    /// Groups of neighbouring channels.
    pub groups: usize,
}

/// The gradients of scale and shift, summed over units.
#[derive(Debug)]
pub(super) struct NormGrads {
    /// Of the scale.
    pub gamma: Buffer,
    /// Of the shift.
    pub beta: Buffer,
}

vectorised! {
    /// Computes y; z is replaced by h.
    ///
    /// # Shapes
    /// term and scale `[n, channels]`, z and y `[n, positions, channels]`
    pub(super) fn norm_swish(norm: &Norm<'_>, term: &[f32], z: &mut [f32], y: &mut [f32], scale: &mut [f32]) {
        let channels = norm.gamma.len();
        let units = scale.len() / channels;
        let width = z.len() / units.max(1);
        let inverse = norm.groups as f32 / width as f32;
        let mut mean = vec![0.0; channels];
        let terms = term.chunks_exact(channels);
        let grids = z.chunks_exact_mut(width).zip(y.chunks_exact_mut(width));
        for ((term, scale), (z, y)) in terms.zip(scale.chunks_exact_mut(channels)).zip(grids) {
            mean.fill(0.0);
            for row in z.chunks_exact_mut(channels) {
                add_term(row, term, &mut mean);
            }
            group_means(&mut mean, norm.groups, inverse);
            scale.fill(0.0);
            for row in z.chunks_exact_mut(channels) {
                centre(row, &mean, scale);
            }
            group_means(scale, norm.groups, inverse);
            for variance in scale.iter_mut() {
                *variance = 1.0 / (*variance + EPSILON).sqrt();
            }
            for (row, y) in z.chunks_exact_mut(channels).zip(y.chunks_exact_mut(channels)) {
                activate(row, scale, norm.gamma, norm.beta, y);
            }
        }
    }
}

/// What the backward pass reads.
#[derive(Clone, Copy)]
pub(super) struct BackwardInput<'a> {
    /// The gradient of y.
    pub dy: &'a [f32],
    /// h, from the forward pass.
    pub normal: &'a [f32],
    /// The factors of the normalisation.
    pub scale: &'a [f32],
}

vectorised! {
    /// Computes dz and dterm, and adds to the gradients of scale and shift.
    ///
    /// # Shapes
    /// dz `[n, positions, channels]`, dterm `[n, channels]`
    pub(super) fn norm_swish_backward(
        norm: &Norm<'_>,
        back: BackwardInput<'_>,
        dz: &mut [f32],
        dterm: &mut [f32],
        grads: &mut NormGrads,
    ) {
        let channels = norm.gamma.len();
        let units = dterm.len() / channels;
        let width = dz.len() / units.max(1);
        let inverse = norm.groups as f32 / width as f32;
        let (mut mean, mut mean_h) = (vec![0.0; channels], vec![0.0; channels]);
        let read = back.dy.chunks_exact(width).zip(back.normal.chunks_exact(width));
        let read = read.zip(back.scale.chunks_exact(channels));
        let write = dz.chunks_exact_mut(width).zip(dterm.chunks_exact_mut(channels));
        for (((dy, h), scale), (dz, dterm)) in read.zip(write) {
            mean.fill(0.0);
            mean_h.fill(0.0);
            let rows = dy.chunks_exact(channels).zip(h.chunks_exact(channels));
            for ((dy, h), du) in rows.zip(dz.chunks_exact_mut(channels)) {
                deactivate(dy, h, norm.gamma, norm.beta, du);
                accumulate(du, h, &mut mean, &mut mean_h);
            }
            add_to_gradient(&mut mean, norm.gamma, &mut grads.beta);
            add_to_gradient(&mut mean_h, norm.gamma, &mut grads.gamma);
            group_means(&mut mean, norm.groups, inverse);
            group_means(&mut mean_h, norm.groups, inverse);
            dterm.fill(0.0);
            for (h, du) in h.chunks_exact(channels).zip(dz.chunks_exact_mut(channels)) {
                project(du, h, norm.gamma, [scale, &mean, &mean_h], dterm);
            }
        }
    }
}

/// Replaces sums over channels by the sums of their groups times `inverse`.
#[inline(always)]
fn group_means(sums: &mut [f32], groups: usize, inverse: f32) {
    let size = sums.len() / groups;
    for group in sums.chunks_exact_mut(size) {
        let sum = group.iter().sum::<f32>() * inverse;
        group.fill(sum);
    }
}

// The functions below work on the channels of one position. Slices are cut to one length, which removes bounds checks.

/// row += term, sum += row
#[inline(always)]
fn add_term(row: &mut [f32], term: &[f32], sum: &mut [f32]) {
    let n = row.len();
    let (term, sum) = (&term[..n], &mut sum[..n]);
    for c in 0..n {
        row[c] += term[c];
        sum[c] += row[c];
    }
}

/// row -= mean, squares += row^2
#[inline(always)]
fn centre(row: &mut [f32], mean: &[f32], squares: &mut [f32]) {
    let n = row.len();
    let (mean, squares) = (&mean[..n], &mut squares[..n]);
    for c in 0..n {
        row[c] -= mean[c];
        squares[c] += row[c] * row[c];
    }
}

/// row = h = row * scale, y = swish(h gamma + beta)
#[inline(always)]
fn activate(row: &mut [f32], scale: &[f32], gamma: &[f32], beta: &[f32], y: &mut [f32]) {
    let n = row.len();
    let (scale, gamma, beta, y) = (&scale[..n], &gamma[..n], &beta[..n], &mut y[..n]);
    for c in 0..n {
        let h = row[c] * scale[c];
        let u = h * gamma[c] + beta[c];
        row[c] = h;
        y[c] = u * sigmoid(u);
    }
}

/// du = dy swish'(h gamma + beta)
#[inline(always)]
fn deactivate(dy: &[f32], h: &[f32], gamma: &[f32], beta: &[f32], du: &mut [f32]) {
    let n = du.len();
    let (dy, h, gamma, beta) = (&dy[..n], &h[..n], &gamma[..n], &beta[..n]);
    for c in 0..n {
        du[c] = dy[c] * swish_slope(h[c] * gamma[c] + beta[c]);
    }
}

/// sum += du, sum_h += du h
#[inline(always)]
fn accumulate(du: &[f32], h: &[f32], sum: &mut [f32], sum_h: &mut [f32]) {
    let n = du.len();
    let (h, sum, sum_h) = (&h[..n], &mut sum[..n], &mut sum_h[..n]);
    for c in 0..n {
        sum[c] += du[c];
        sum_h[c] += du[c] * h[c];
    }
}

/// grad += sum, sum *= gamma
#[inline(always)]
fn add_to_gradient(sum: &mut [f32], gamma: &[f32], grad: &mut [f32]) {
    for ((sum, gamma), grad) in sum.iter_mut().zip(gamma).zip(grad) {
        *grad += *sum;
        *sum *= gamma;
    }
}

/// du = dz = scale (du gamma - mean - h mean_h), dterm += dz
#[inline(always)]
fn project(du: &mut [f32], h: &[f32], gamma: &[f32], factors: [&[f32]; 3], dterm: &mut [f32]) {
    let n = du.len();
    let (h, gamma, dterm) = (&h[..n], &gamma[..n], &mut dterm[..n]);
    let [scale, mean, mean_h] = factors.map(|values| &values[..n]);
    for c in 0..n {
        let dz = scale[c] * (du[c] * gamma[c] - mean[c] - h[c] * mean_h[c]);
        du[c] = dz;
        dterm[c] += dz;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::isa::testing::with_each_isa;

    /// Numbers between -1 and 1.
    fn some(n: usize, seed: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * 1.7 + seed).sin()).collect()
    }

    #[test]
    fn each_instruction_set_gives_the_same_bits() {
        let (units, positions, channels) = (3, 7, 40);
        let all = units * positions * channels;
        let results = with_each_isa(1, || {
            let (gamma, beta) = (some(channels, 1.0), some(channels, 2.0));
            let norm = Norm { gamma: &gamma, beta: &beta, groups: 8 };
            let (mut z, mut y, mut scale) = (some(all, 3.0), vec![0.0; all], vec![0.0; units * channels]);
            norm_swish(&norm, &some(units * channels, 4.0), &mut z, &mut y, &mut scale);
            let (mut dz, mut dterm) = (vec![0.0; all], vec![0.0; units * channels]);
            let mut grads = NormGrads { gamma: vec![0.0; channels].into(), beta: vec![0.0; channels].into() };
            let back = BackwardInput { dy: &some(all, 5.0), normal: &z, scale: &scale };
            norm_swish_backward(&norm, back, &mut dz, &mut dterm, &mut grads);
            [y, z.clone(), scale.clone(), dz, dterm, grads.gamma.to_vec(), grads.beta.to_vec()]
        });
        assert!(results.iter().all(|(_, result)| *result == results[0].1));
    }
}
