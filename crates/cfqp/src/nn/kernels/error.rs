//! The sum of squared errors and its gradient.

use super::buffer::{Buffer, buffer};

/// The number of partial sums, fixed so that every processor adds in the same order.
const LANES: usize = 16;
/// Elements that are summed in f32; blocks of them are summed in f64.
const BLOCK: usize = 4096;

/// sum_i (a_i - b_i)^2
pub(crate) fn sum_of_squares(a: &[f32], b: &[f32]) -> f32 {
    let mut total = 0.0_f64;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let mut lanes = [0.0; LANES];
        add_squares(a, b, &mut lanes);
        total += lanes.iter().copied().map(f64::from).sum::<f64>();
    }
    total as f32
}

vectorised! {
    /// lanes += (a - b)^2
    fn add_squares(a: &[f32], b: &[f32], lanes: &mut [f32; LANES]) {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = *lanes;
        for (a, b) in a.iter().zip(b) {
            for i in 0..LANES {
                let gap = a[i] - b[i];
                sums[i] += gap * gap;
            }
        }
        for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
            *sum += (a - b) * (a - b);
        }
        *lanes = sums;
    }
}

/// factor (a - b)
pub(crate) fn scaled_difference(factor: f32, a: &[f32], b: &[f32]) -> Buffer {
    let mut out = buffer(a.len());
    difference(factor, a, b, &mut out);
    out
}

vectorised! {
    fn difference(factor: f32, a: &[f32], b: &[f32], out: &mut [f32]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = factor * (a - b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_for_any_length() {
        for n in [0, 1, 15, 16, 17, 5000] {
            let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32 * 0.5, i as f32 * 0.25)).unzip();
            let exact: f64 = (0..n).map(|i| (i as f64 * 0.25).powi(2)).sum();
            assert!((f64::from(sum_of_squares(&a, &b)) - exact).abs() <= 1e-6 * exact);
            assert!(scaled_difference(4.0, &a, &b).iter().zip(0..n).all(|(v, i)| *v == i as f32));
        }
    }
}
