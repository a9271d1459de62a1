//! Quantiles of a mixture of Gaussians.

use crate::em::normal_cdf;

/// One class's part: posterior weight, mean and deviation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub weight: f64,
    pub mean: f64,
    pub deviation: f64,
}

/// The points below which (1 - level) / 2 and (1 + level) / 2 of the mixture lie; `z` is the half width of a
/// standard Gaussian at that level.
pub(crate) fn interval(parts: &[Part], level: f64, z: f64) -> (f64, f64) {
    if let Some(sure) = parts.iter().find(|part| part.weight > 0.999) {
        return (sure.mean - z * sure.deviation, sure.mean + z * sure.deviation);
    }
    let tail = 0.5 * (1.0 - level);
    (quantile(parts, tail, z), quantile(parts, 1.0 - tail, z))
}

/// Newton's steps from the middle, where they stay inside what is left; else halves of it.
fn quantile(parts: &[Part], p: f64, z: f64) -> f64 {
    let reach = |part: &Part| (z + 1.0).max(4.0) * part.deviation;
    let mut low = parts.iter().map(|part| part.mean - reach(part)).fold(f64::INFINITY, f64::min);
    let mut high = parts.iter().map(|part| part.mean + reach(part)).fold(f64::NEG_INFINITY, f64::max);
    let close = NEAR * (high - low);
    let mut at = 0.5 * (low + high);
    for _ in 0..40 {
        let gap = below(parts, at) - p;
        if gap < 0.0 {
            low = at
        } else {
            high = at
        }
        let newton = at - gap / density(parts, at);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - at).abs() <= close {
            return next;
        }
        at = next;
    }
    at
}

/// Of the width of the mixture: as near as a quantile is found.
const NEAR: f64 = 1e-9;

/// The density of the mixture.
fn density(parts: &[Part], at: f64) -> f64 {
    let part = |part: &Part| {
        let z = (at - part.mean) / part.deviation;
        part.weight * (-0.5 * z * z).exp() / (part.deviation * (2.0 * std::f64::consts::PI).sqrt())
    };
    parts.iter().filter(|part| part.deviation > 0.0).map(part).sum()
}

fn below(parts: &[Part], at: f64) -> f64 {
    let part = |part: &Part| {
        let z = if part.deviation > 0.0 {
            (at - part.mean) / part.deviation
        } else {
            (at - part.mean) * f64::MAX
        };
        part.weight * if z.is_nan() { 0.5 } else { normal_cdf(z.clamp(-40.0, 40.0)) }
    };
    parts.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gaussian_has_its_own_quantiles_and_two_lie_between_them() {
        let part = |weight, mean| Part { weight, mean, deviation: 0.5 };
        let (low, high) = interval(&[part(1.0, 2.0)], 0.9, 1.6449);
        assert!((low - 1.17755).abs() < 1e-4 && (high - 2.82245).abs() < 1e-4);
        let (a, b) = interval(&[part(0.5, 2.0), part(0.5, 2.0)], 0.9, 1.6449);
        assert!((a - low).abs() < 1e-3 && (b - high).abs() < 1e-3);
        let (a, b) = interval(&[part(0.5, 0.0), part(0.5, 10.0)], 0.9, 1.6449);
        assert!(a > -1.0 && a < 0.0 && b > 10.0 && b < 11.0);
        let mixed = [
            Part { weight: 0.3, mean: 0.0, deviation: 0.1 },
            Part { weight: 0.6, mean: 8.0, deviation: 2.0 },
            Part { weight: 0.1, mean: -5.0, deviation: 0.0 },
        ];
        for p in [0.04, 0.05, 0.3, 0.5, 0.95, 0.999] {
            let at = quantile(&mixed, p, 1.6449);
            let reached = below(&mixed, at);
            assert!(
                (reached - p).abs() < 1e-6 || (p < 0.1 && (at + 5.0).abs() < 1e-6),
                "{p}: {at}, {reached}"
            );
        }
    }
}
