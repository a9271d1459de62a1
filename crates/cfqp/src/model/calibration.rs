//! Widths of intervals, estimated on calibration units, which take no part in training or selection.
//!
//! Two kinds of question have two kinds of interval:
//!
//! - rho = 0, fresh noise: an interval is m_k +- q sqrt(s_k^2 + v_k), where q is the quantile of
//!   |y - m_k| / sqrt(s_k^2 + v_k) over the calibration units' elements (split conformal). If a new unit is like
//!   those and its class is known, it covers at the stated level on average over elements. The class of a
//!   calibration unit is the most probable one given the outcome that is scored, so coverage may be lower where classes
//!   overlap.
//! - rho = 1, shared noise: the variance is that of the members, v_k, of the effect, multiplied by the factor c in
//!   E[(y - m_k)^2] = a_d s_kd^2 + c v_k. The factor is estimated as far as the calibration units separate it from noise,
//!   and is its expected value otherwise; a_d is the share of s_kd^2 that is noise, the rest is the members' error. Where
//!   scales differ between t and t', a share of the difference is added, for noise that does not grow with the scale.
//!
//! Neither can be checked against true counterfactuals, which are never observed.

use serde::{Deserialize, Serialize};

use super::SparseEffects;
use crate::math::normal_half_width;

/// The number of stored quantiles, at levels 0, 0.0025, ..., 1.
const QUANTILE_LEVELS: usize = 401;

/// The result of calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    /// Quantiles of the scores at rho = 0, in even steps from level 0 to 1.
    quantiles: Vec<f32>,
    /// The factor on the members' variance.
    #[serde(alias = "spread")]
    pub(crate) member_factor: f32,
    /// The share of s_k^2 that is noise, per outcome element.
    #[serde(alias = "noise")]
    pub(crate) noise_share: Vec<f32>,
    /// For images in which most elements do not respond to the treatment.
    #[serde(default, alias = "still", skip_serializing_if = "Option::is_none")]
    pub(crate) sparse_effects: Option<SparseEffects>,
    /// The number of calibration units.
    pub(crate) units: usize,
}

/// The observed elements of a calibration unit, under its most probable class.
#[derive(Clone, Debug, Default)]
pub(crate) struct CalibrationUnit {
    pub elements: Vec<CalibrationElement>,
}

/// One observed element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalibrationElement {
    /// Its position in the outcome.
    pub index: u32,
    /// (y - m_k)^2
    pub squared_residual: f32,
    /// s_k^2
    pub noise_variance: f32,
    /// v_k
    pub member_variance: f32,
}

/// The expected factor on the members' variance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberFactor {
    pub expected: f64,
    /// Its relative uncertainty.
    pub uncertainty: f64,
}

impl Calibration {
    /// Calibrates on `units`, whose outcomes have `elements` elements.
    pub(crate) fn fit(units: &[CalibrationUnit], elements: usize, factor: MemberFactor) -> Self {
        let observed = units.iter().flat_map(|unit| &unit.elements);
        let score =
            |e: &CalibrationElement| (e.squared_residual / (e.noise_variance + e.member_variance)).sqrt();
        let mut scores: Vec<f32> = observed.map(score).collect();
        scores.sort_by(f32::total_cmp);
        let VarianceParts { member_factor, noise_share } = VarianceParts::fit(units, elements, factor);
        Self {
            quantiles: quantiles(&scores),
            member_factor: member_factor as f32,
            noise_share: noise_share.into_iter().map(|share| share as f32).collect(),
            sparse_effects: None,
            units: units.len(),
        }
    }

    /// The half width of an interval at `level`, in standard deviations.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        let position = level.clamp(0.0, 1.0) * (self.quantiles.len() - 1) as f64;
        let (low, fraction) = (position.floor() as usize, position.fract());
        let high = (low + 1).min(self.quantiles.len() - 1);
        f64::from(self.quantiles[low]) * (1.0 - fraction) + f64::from(self.quantiles[high]) * fraction
    }

    /// Whether a loaded calibration can be used for outcomes with this number of elements.
    pub(crate) fn is_sound(&self, elements: usize) -> bool {
        let has_sizes = self.quantiles.len() == QUANTILE_LEVELS && self.noise_share.len() == elements;
        let are_rising = self.quantiles.windows(2).all(|pair| pair[0] <= pair[1]);
        let are_finite = self.quantiles.iter().all(|q| q.is_finite() && *q >= 0.0);
        let has_factor = self.member_factor.is_finite() && self.member_factor >= 0.0;
        let are_shares = self.noise_share.iter().all(|share| (0.0..=1.0).contains(share));
        let has_sparse_effects =
            self.sparse_effects.is_none_or(|sparse| sparse.is_sound() && self.member_factor > 0.0);
        has_sizes && are_rising && are_finite && has_factor && are_shares && has_sparse_effects
    }
}

/// The ceil((n + 1) level)-th smallest score at every level; Gaussian quantiles if there are no scores.
fn quantiles(scores: &[f32]) -> Vec<f32> {
    let n = scores.len();
    let at = |i: usize| {
        let level = i as f64 / (QUANTILE_LEVELS - 1) as f64;
        if n == 0 {
            return normal_half_width(level.min(0.9999)) as f32;
        }
        let rank = ((n + 1) as f64 * level).ceil() as usize;
        scores[rank.clamp(1, n) - 1]
    };
    (0..QUANTILE_LEVELS).map(at).collect()
}

/// The smallest number of units from which the factor is estimated.
const MIN_FACTOR_UNITS: usize = 10;
/// The number of rounds of reweighting.
const REWEIGHTING_ROUNDS: usize = 6;
/// The weight of the expected noise share, in units.
const NOISE_SHARE_PRIOR_UNITS: f64 = 20.0;
/// The smallest noise share.
const MIN_NOISE_SHARE: f64 = 0.01;
/// The cap on squared residuals relative to their expectation: a unit in the wrong class is not noise.
const MAX_RESIDUAL_RATIO: f64 = 25.0;
/// The largest factor relative to the expected one.
const MAX_FACTOR_RATIO: f64 = 6.0;

/// The two parts of a squared residual: r^2 / s^2 = a_d + c v / s^2 on average, over units, for every element d.
///
/// A regression weighted by the inverse squared expectation, as for Gaussian residuals: units on which members agree
/// determine the noise, the others the factor. The factor is averaged with the expected one by their precisions.
struct VarianceParts {
    member_factor: f64,
    noise_share: Vec<f64>,
}

/// One element as a point of the regression.
#[derive(Clone, Copy)]
struct RegressionPoint {
    /// v / s^2
    x: f64,
    /// r^2 / s^2
    y: f64,
    weight: f64,
}

/// Weighted sums of an element over units.
#[derive(Clone, Copy, Default)]
struct WeightedSums {
    weight: f64,
    x: f64,
    y: f64,
}

impl VarianceParts {
    fn fit(units: &[CalibrationUnit], elements: usize, factor: MemberFactor) -> Self {
        let mut parts = Self { member_factor: factor.expected, noise_share: vec![1.0; elements] };
        let observed = units.iter().filter(|unit| !unit.elements.is_empty()).count();
        for _ in 0..REWEIGHTING_ROUNDS {
            let sums = parts.sums(units);
            if observed >= MIN_FACTOR_UNITS {
                parts.member_factor = parts.slope(units, &sums, factor);
            }
            parts.noise_share = parts.noise_shares(units, &sums);
        }
        parts
    }

    fn point(&self, element: &CalibrationElement) -> RegressionPoint {
        let x = f64::from(element.member_variance / element.noise_variance);
        let expected = (self.noise_share[element.index as usize] + self.member_factor * x).max(1e-3);
        let ratio = f64::from(element.squared_residual / element.noise_variance);
        RegressionPoint { x, y: ratio.min(MAX_RESIDUAL_RATIO * expected), weight: expected.powi(-2) }
    }

    fn sums(&self, units: &[CalibrationUnit]) -> Vec<WeightedSums> {
        let mut sums = vec![WeightedSums::default(); self.noise_share.len()];
        for element in units.iter().flat_map(|unit| &unit.elements) {
            let RegressionPoint { x, y, weight } = self.point(element);
            let sum = &mut sums[element.index as usize];
            *sum = WeightedSums { weight: sum.weight + weight, x: sum.x + weight * x, y: sum.y + weight * y };
        }
        sums
    }

    /// The factor: the slope within elements, averaged with the expected one. Its precision counts the elements of a unit
    /// as one observation.
    fn slope(
        &self,
        units: &[CalibrationUnit],
        sums: &[WeightedSums],
        MemberFactor { expected, uncertainty }: MemberFactor,
    ) -> f64 {
        let centred = |unit: &CalibrationUnit| -> Vec<RegressionPoint> {
            let points = unit.elements.iter().map(|element| {
                let (point, sum) = (self.point(element), &sums[element.index as usize]);
                RegressionPoint {
                    x: point.x - sum.x / sum.weight,
                    y: point.y - sum.y / sum.weight,
                    weight: point.weight,
                }
            });
            points.collect()
        };
        let (mut xx, mut xy) = (0.0, 0.0);
        for RegressionPoint { x, y, weight } in units.iter().flat_map(centred) {
            xx += weight * x * x;
            xy += weight * x * y;
        }
        if xx <= 1e-12 {
            return expected;
        }
        let slope = xy / xx;
        let score = |unit: &CalibrationUnit| -> f64 {
            let points = centred(unit).into_iter();
            points.map(|RegressionPoint { x, y, weight }| weight * x * (y - slope * x)).sum()
        };
        let precision = xx * xx / units.iter().map(|unit| score(unit).powi(2)).sum::<f64>().max(1e-12);
        let prior_precision = (uncertainty * expected).powi(-2);
        let average = (precision * slope + prior_precision * expected) / (precision + prior_precision);
        // calibration may widen intervals, not narrow them: members share errors that their variance does not show
        average.clamp(expected, MAX_FACTOR_RATIO * expected)
    }

    /// The noise share of every element given the factor, shrunk towards the share that the members' variance leaves.
    fn noise_shares(&self, units: &[CalibrationUnit], sums: &[WeightedSums]) -> Vec<f64> {
        let mut unweighted = vec![(0.0, 0.0); self.noise_share.len()];
        for element in units.iter().flat_map(|unit| &unit.elements) {
            let sum = &mut unweighted[element.index as usize];
            *sum = (sum.0 + 1.0, sum.1 + f64::from(element.member_variance / element.noise_variance));
        }
        let share = |(sum, (n, x)): (&WeightedSums, (f64, f64))| {
            let expected = (1.0 - self.member_factor * x / f64::max(n, 1.0)).clamp(0.0, 1.0);
            let observed = sum.y - self.member_factor * sum.x;
            ((observed + NOISE_SHARE_PRIOR_UNITS * expected) / (sum.weight + NOISE_SHARE_PRIOR_UNITS))
                .clamp(MIN_NOISE_SHARE, 1.0)
        };
        sums.iter().zip(unweighted).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    const UNCERTAIN_FACTOR: MemberFactor = MemberFactor { expected: 1.0, uncertainty: 0.75 };

    fn unit_from(elements: impl Iterator<Item = (f32, f32, f32)>) -> CalibrationUnit {
        let element = |(index, (squared_residual, noise_variance, member_variance)): (usize, _)| {
            CalibrationElement { index: index as u32, squared_residual, noise_variance, member_variance }
        };
        CalibrationUnit { elements: elements.enumerate().map(element).collect() }
    }

    #[test]
    fn gaussian_scores_give_gaussian_widths() {
        let mut rng = stream(9, &["calibrate"]);
        let mut unit = || {
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * 0.25, 0.25, 0.0)
            };
            unit_from((0..40).map(draw))
        };
        let units: Vec<CalibrationUnit> = (0..500).map(|_| unit()).collect();
        let calibration = Calibration::fit(&units, 40, UNCERTAIN_FACTOR);
        assert!((calibration.quantile(0.9) - 1.645).abs() < 0.05);
        assert!((normal_half_width(0.9) - 1.6449).abs() < 1e-3);
        assert_eq!(calibration.member_factor, 1.0, "members that agree contain no information");
        assert!(
            calibration.noise_share.iter().all(|share| *share > 0.8),
            "all is noise: {:?}",
            calibration.noise_share
        );
        assert!(calibration.is_sound(40) && !calibration.is_sound(39));
    }

    #[test]
    fn the_factor_is_found_if_members_disagree() {
        let mut rng = stream(9, &["spread"]);
        let mut unit = |i: usize| {
            let v = (i % 10) as f32 / 5.0;
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * (0.5 + 3.0 * v), 1.0, v)
            };
            unit_from((0..40).map(draw))
        };
        let units: Vec<CalibrationUnit> = (0..1000).map(&mut unit).collect();
        let calibration = Calibration::fit(&units, 40, UNCERTAIN_FACTOR);
        assert!((calibration.member_factor - 3.0).abs() < 0.6, "{}", calibration.member_factor);
        let share = calibration.noise_share.iter().sum::<f32>() / 40.0;
        assert!((share - 0.5).abs() < 0.06, "{share}");
        let certain = MemberFactor { expected: 2.0, uncertainty: 1e-4 };
        assert!((Calibration::fit(&units, 40, certain).member_factor - 2.0).abs() < 0.01);
    }
}
