//! How wide an interval must be, learned from units that trained and selected nothing.
//!
//! Two promises, for two kinds of question:
//!
//! - rho = 0, the noise is drawn anew: an interval is m_k +- q sqrt(s_k^2 + v_k), where q is the quantile of
//!   |y - m_k| / sqrt(s_k^2 + v_k) over the calibration units' elements (split conformal). If a new unit is like
//!   those and its class is known, it covers at the stated level on average over elements. The class of a
//!   calibration unit is the most probable one given the very outcome that is scored, so where classes overlap
//!   the promise is weaker than it looks.
//! - rho = 1, the noise is known: what is left is the members' disagreement v_k about the effect. It is multiplied
//!   by the factor c in E[(y - m_k)^2] = a s_k^2 + c v_k, as far as the calibration units can tell it apart from
//!   noise, and by a prior value otherwise. Where scales differ between t and t', a share of the difference is added,
//!   for noise that does not grow as the scale does. No data can check either against true counterfactuals.

use serde::{Deserialize, Serialize};

/// Levels at which quantiles are kept: 0, 0.0025, ..., 0.9975, and the largest score.
const LEVELS: usize = 401;

/// What calibration found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Quantiles of the scores at rho = 0, in even steps from level 0 to 1.
    quantiles: Vec<f32>,
    /// The factor on the members' disagreement.
    pub spread: f32,
    /// How many units calibrated.
    pub units: usize,
}

/// One calibration unit: per element, squared residual, s_k^2 and v_k of its most probable class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub elements: Vec<(f32, f32, f32)>,
}

impl Calibration {
    /// Learn from `cases`; `prior` is the factor expected of such an ensemble.
    pub(crate) fn fit(cases: &[Case], prior: f32) -> Self {
        let elements = cases.iter().flat_map(|case| &case.elements);
        let mut scores: Vec<f32> = elements.map(|(r2, s2, v)| (r2 / (s2 + v)).sqrt()).collect();
        scores.sort_by(f32::total_cmp);
        Self { quantiles: quantiles(&scores), spread: spread(cases, prior), units: cases.len() }
    }

    /// The half width of an interval at `level`, in deviations.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        let position = level.clamp(0.0, 1.0) * (self.quantiles.len() - 1) as f64;
        let (low, part) = (position.floor() as usize, position.fract());
        let high = (low + 1).min(self.quantiles.len() - 1);
        f64::from(self.quantiles[low]) * (1.0 - part) + f64::from(self.quantiles[high]) * part
    }

    pub(crate) fn is_sound(&self) -> bool {
        let rising = self.quantiles.windows(2).all(|pair| pair[0] <= pair[1]);
        let finite = self.quantiles.iter().all(|q| q.is_finite() && *q >= 0.0);
        self.quantiles.len() == LEVELS && rising && finite && self.spread.is_finite() && self.spread >= 0.0
    }
}

/// The ceil((n + 1) level)-th smallest score at every level; a Gaussian's where there are no scores.
fn quantiles(scores: &[f32]) -> Vec<f32> {
    let n = scores.len();
    let at = |i: usize| {
        let level = i as f64 / (LEVELS - 1) as f64;
        if n == 0 {
            return normal_half_width(level.min(0.9999)) as f32;
        }
        let rank = ((n + 1) as f64 * level).ceil() as usize;
        scores[rank.clamp(1, n) - 1]
    };
    (0..LEVELS).map(at).collect()
}

/// The slope of r^2 / s^2 on v / s^2 over units, weighed against the prior value by their precisions.
fn spread(cases: &[Case], prior: f32) -> f32 {
    let mean = |case: &Case, f: &dyn Fn(&(f32, f32, f32)) -> f32| {
        case.elements.iter().map(|e| f64::from(f(e))).sum::<f64>() / case.elements.len() as f64
    };
    let seen = cases.iter().filter(|case| !case.elements.is_empty());
    let points: Vec<(f64, f64)> =
        seen.map(|case| (mean(case, &|e| e.2 / e.1), mean(case, &|e| (e.0 / e.1).min(25.0)))).collect();
    let n = points.len() as f64;
    if n < 10.0 {
        return prior;
    }
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let xx = points.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
    let xy = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>();
    if xx <= 1e-12 {
        return prior;
    }
    let slope = xy / xx;
    let rest = points.iter().map(|p| (p.1 - my - slope * (p.0 - mx)).powi(2)).sum::<f64>() / (n - 2.0);
    let (prior, uncertainty) = (f64::from(prior), 0.75 * f64::from(prior));
    let (precision, prior_precision) = (xx / rest.max(1e-12), uncertainty.powi(-2));
    let mixed = (precision * slope + prior_precision * prior) / (precision + prior_precision);
    // data may widen intervals, not narrow them: members share errors that their disagreement does not show
    mixed.clamp(prior, 6.0 * prior) as f32
}

/// z with P(|Z| <= z) = level for a standard Gaussian, by bisection.
pub(crate) fn normal_half_width(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if 2.0 * normal_cdf(middle) - 1.0 < level { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// P(Z <= z) for a standard Gaussian, to 1e-7.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    // Abramowitz and Stegun 26.2.17
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = series * (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn gaussian_scores_give_gaussian_widths() {
        let mut rng = stream(9, &["calibrate"]);
        let mut case = || {
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * 0.25, 0.25, 0.0)
            };
            Case { elements: (0..40).map(draw).collect() }
        };
        let cases: Vec<Case> = (0..500).map(|_| case()).collect();
        let calibration = Calibration::fit(&cases, 1.0);
        assert!((calibration.quantile(0.9) - 1.645).abs() < 0.05);
        assert!((normal_half_width(0.9) - 1.6449).abs() < 1e-3);
        assert_eq!(calibration.spread, 1.0, "members that agree tell nothing");
        assert!(calibration.is_sound());
    }

    #[test]
    fn the_factor_on_the_disagreement_is_found_where_it_shows() {
        let mut rng = stream(9, &["spread"]);
        let mut case = |i: usize| {
            let v = (i % 10) as f32 / 5.0;
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * (1.0 + 3.0 * v), 1.0, v)
            };
            Case { elements: (0..40).map(draw).collect() }
        };
        let cases: Vec<Case> = (0..1000).map(&mut case).collect();
        assert!((Calibration::fit(&cases, 1.0).spread - 3.0).abs() < 0.6);
    }
}
