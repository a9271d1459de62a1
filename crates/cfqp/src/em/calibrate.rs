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
//!   by the factor c in E[(y - m_k)^2] = a_d s_kd^2 + c v_k, as far as the calibration units can tell it apart from
//!   noise, and by a prior value otherwise; a_d is the share of s_kd^2 that is noise, the rest is the members' own error.
//!   Where scales differ between t and t', a share of the difference is added, for noise that does not grow as the scale
//!   does. No data can check either against true counterfactuals.

use serde::{Deserialize, Serialize};

use super::Stillness;

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
    /// The share of s_k^2 that is noise, per outcome element.
    pub(crate) noise: Vec<f32>,
    /// Images: that most elements do not respond, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<Stillness>,
    /// How many units calibrated.
    pub units: usize,
}

/// One calibration unit, as its most probable class sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub elements: Vec<Element>,
}

/// One observed outcome element of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    /// Which element.
    pub at: u32,
    /// (y - m_k)^2
    pub square: f32,
    /// s_k^2
    pub scale: f32,
    /// v_k, the members' variance.
    pub spread: f32,
}

/// What is known of the factor on the members' disagreement before any data speak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor {
    pub expected: f64,
    /// How far it may be from that, against what is expected.
    pub uncertainty: f64,
}

impl Calibration {
    /// Learn from `cases` of outcomes of so many elements.
    pub(crate) fn fit(cases: &[Case], elements: usize, factor: Factor) -> Self {
        let all = cases.iter().flat_map(|case| &case.elements);
        let mut scores: Vec<f32> = all.map(|e| (e.square / (e.scale + e.spread)).sqrt()).collect();
        scores.sort_by(f32::total_cmp);
        let Parts { spread, noise } = Parts::of(cases, elements, factor);
        Self {
            quantiles: quantiles(&scores),
            spread: spread as f32,
            noise: noise.into_iter().map(|share| share as f32).collect(),
            still: None,
            units: cases.len(),
        }
    }

    /// The half width of an interval at `level`, in deviations.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        let position = level.clamp(0.0, 1.0) * (self.quantiles.len() - 1) as f64;
        let (low, part) = (position.floor() as usize, position.fract());
        let high = (low + 1).min(self.quantiles.len() - 1);
        f64::from(self.quantiles[low]) * (1.0 - part) + f64::from(self.quantiles[high]) * part
    }

    pub(crate) fn is_sound(&self, elements: usize) -> bool {
        let shares = self.noise.iter().all(|share| (0.0..=1.0).contains(share));
        let rising = self.quantiles.windows(2).all(|pair| pair[0] <= pair[1]);
        let finite = self.quantiles.iter().all(|q| q.is_finite() && *q >= 0.0);
        let spread = self.spread.is_finite() && self.spread >= 0.0;
        let still = self.still.is_none_or(|still| still.is_sound() && self.spread > 0.0);
        self.quantiles.len() == LEVELS
            && still
            && rising
            && finite
            && spread
            && shares
            && self.noise.len() == elements
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

/// Fewer units say nothing of the members' own error.
const FEWEST: usize = 10;
/// Rounds in which the parts are found.
const ROUNDS: usize = 6;
/// Units that what is expected of a noise share counts for.
const EXPECTED: f64 = 20.0;
/// The least share of noise: there is always some.
const LEAST: f64 = 0.01;
/// A squared residual counts for at most so many times its expectation: a unit in the wrong class is no noise.
const FAR: f64 = 25.0;

/// The parts of a squared residual: r^2 / s^2 = a_d + c v / s^2 on average, over units, for every element d.
///
/// Weighed by the squared expectation, as Gaussian residuals ask for, so that units about whom members agree tell the
/// noise and the others the factor. The factor is then weighed against the one expected by their precisions.
struct Parts {
    spread: f64,
    noise: Vec<f64>,
}

/// Weighted sums of an element over units.
#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f64,
    x: f64,
    y: f64,
}

impl Parts {
    fn of(cases: &[Case], elements: usize, factor: Factor) -> Self {
        let mut parts = Self { spread: factor.expected, noise: vec![1.0; elements] };
        let seen = cases.iter().filter(|case| !case.elements.is_empty()).count();
        for _ in 0..ROUNDS {
            let sums = parts.sums(cases);
            if seen >= FEWEST {
                parts.spread = parts.slope(cases, &sums, factor);
            }
            parts.noise = parts.shares(cases, &sums);
        }
        parts
    }

    /// v / s^2, r^2 / s^2 and their weight.
    fn point(&self, element: &Element) -> (f64, f64, f64) {
        let x = f64::from(element.spread / element.scale);
        let expected = (self.noise[element.at as usize] + self.spread * x).max(1e-3);
        (x, f64::from(element.square / element.scale).min(FAR * expected), expected.powi(-2))
    }

    fn sums(&self, cases: &[Case]) -> Vec<Sums> {
        let mut sums = vec![Sums::default(); self.noise.len()];
        for element in cases.iter().flat_map(|case| &case.elements) {
            let ((x, y, weight), sum) = (self.point(element), &mut sums[element.at as usize]);
            *sum = Sums { weight: sum.weight + weight, x: sum.x + weight * x, y: sum.y + weight * y };
        }
        sums
    }

    /// The slope within elements; its precision takes a unit's elements as one.
    fn slope(&self, cases: &[Case], sums: &[Sums], Factor { expected, uncertainty }: Factor) -> f64 {
        let deviations = |case: &Case| -> Vec<(f64, f64, f64)> {
            let each = case.elements.iter().map(|element| {
                let ((x, y, weight), sum) = (self.point(element), &sums[element.at as usize]);
                (x - sum.x / sum.weight, y - sum.y / sum.weight, weight)
            });
            each.collect()
        };
        let (mut xx, mut xy) = (0.0, 0.0);
        for (x, y, weight) in cases.iter().flat_map(deviations) {
            xx += weight * x * x;
            xy += weight * x * y;
        }
        if xx <= 1e-12 {
            return expected;
        }
        let slope = xy / xx;
        let score = |case: &Case| -> f64 {
            deviations(case).into_iter().map(|(x, y, weight)| weight * x * (y - slope * x)).sum()
        };
        let precision = xx * xx / cases.iter().map(|case| score(case).powi(2)).sum::<f64>().max(1e-12);
        let before = (uncertainty * expected).powi(-2);
        let mixed = (precision * slope + before * expected) / (precision + before);
        // data may widen intervals, not narrow them: members share errors that their disagreement does not show
        mixed.clamp(expected, 6.0 * expected)
    }

    /// What the factor leaves of every element; where few units tell, all that the members do not disagree about.
    fn shares(&self, cases: &[Case], sums: &[Sums]) -> Vec<f64> {
        let mut plain = vec![(0.0, 0.0); self.noise.len()];
        for element in cases.iter().flat_map(|case| &case.elements) {
            let sum = &mut plain[element.at as usize];
            *sum = (sum.0 + 1.0, sum.1 + f64::from(element.spread / element.scale));
        }
        let share = |(sum, (n, x)): (&Sums, (f64, f64))| {
            let expected = (1.0 - self.spread * x / f64::max(n, 1.0)).clamp(0.0, 1.0);
            let told = sum.y - self.spread * sum.x;
            ((told + EXPECTED * expected) / (sum.weight + EXPECTED)).clamp(LEAST, 1.0)
        };
        sums.iter().zip(plain).map(share).collect()
    }
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

    const ROUGHLY: Factor = Factor { expected: 1.0, uncertainty: 0.75 };

    fn case_of(elements: impl Iterator<Item = (f32, f32, f32)>) -> Case {
        let element =
            |(at, (square, scale, spread)): (usize, _)| Element { at: at as u32, square, scale, spread };
        Case { elements: elements.enumerate().map(element).collect() }
    }

    #[test]
    fn gaussian_scores_give_gaussian_widths() {
        let mut rng = stream(9, &["calibrate"]);
        let mut case = || {
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * 0.25, 0.25, 0.0)
            };
            case_of((0..40).map(draw))
        };
        let cases: Vec<Case> = (0..500).map(|_| case()).collect();
        let calibration = Calibration::fit(&cases, 40, ROUGHLY);
        assert!((calibration.quantile(0.9) - 1.645).abs() < 0.05);
        assert!((normal_half_width(0.9) - 1.6449).abs() < 1e-3);
        assert_eq!(calibration.spread, 1.0, "members that agree tell nothing");
        assert!(calibration.noise.iter().all(|share| *share > 0.8), "all is noise: {:?}", calibration.noise);
        assert!(calibration.is_sound(40) && !calibration.is_sound(39));
    }

    #[test]
    fn the_factor_on_the_disagreement_is_found_where_it_shows() {
        let mut rng = stream(9, &["spread"]);
        let mut case = |i: usize| {
            let v = (i % 10) as f32 / 5.0;
            let draw = |_| {
                let z: f32 = StandardNormal.sample(&mut rng);
                (z * z * (0.5 + 3.0 * v), 1.0, v)
            };
            case_of((0..40).map(draw))
        };
        let cases: Vec<Case> = (0..1000).map(&mut case).collect();
        let calibration = Calibration::fit(&cases, 40, ROUGHLY);
        assert!((calibration.spread - 3.0).abs() < 0.6, "{}", calibration.spread);
        let share = calibration.noise.iter().sum::<f32>() / 40.0;
        assert!((share - 0.5).abs() < 0.06, "{share}");
        let sure = Factor { expected: 2.0, uncertainty: 1e-4 };
        assert!((Calibration::fit(&cases, 40, sure).spread - 2.0).abs() < 0.01);
    }
}
