//! The scale on which an outcome is modelled: its own, or the logarithm of a positive outcome.

use serde::{Deserialize, Serialize};

/// How far below and above its mean a logarithm may be, in standard deviations.
const LOWEST: f64 = 6.0;
const HIGHEST: f64 = 8.0;

/// From this standard deviation of the logarithm on, outcomes span many decades.
const WIDE: f64 = 1.0;

/// An answer is extreme outside of this many times the range of the outcomes.
const EXTREME_RANGES: f64 = 10.0;
/// Answers about positive outcomes are at least this share of the smallest one.
const FLOOR_SHARE: f64 = 0.1;

/// The range of the outcomes that a model was fitted to, standardised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutcomeRange {
    pub low: f64,
    pub high: f64,
    /// What answers are at least, of positive outcomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
}

impl OutcomeRange {
    /// The range of standardised outcomes `y` whose mean and deviation were `offset` and `deviation`; none without outcomes.
    pub(crate) fn new(y: impl Iterator<Item = f64>, offset: f64, deviation: f64) -> Option<Self> {
        let bounds = |(low, high): (f64, f64), y: f64| (low.min(y), high.max(y));
        let (low, high) = y.fold((f64::INFINITY, f64::NEG_INFINITY), bounds);
        let smallest = offset + deviation * low;
        let floor = (smallest > 0.0).then(|| (FLOOR_SHARE * smallest - offset) / deviation);
        (low <= high).then_some(Self { low, high, floor })
    }

    /// Whether `value` is far outside.
    pub(crate) fn is_extreme(&self, value: f64) -> bool {
        let (centre, half) = (0.5 * (self.low + self.high), 0.5 * (self.high - self.low));
        (value - centre).abs() > EXTREME_RANGES * half.max(1e-6)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.low.is_finite()
            && self.high.is_finite()
            && self.low <= self.high
            && self.floor.is_none_or(f64::is_finite)
    }
}

/// The scale of one outcome element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutcomeScale {
    /// The standardised outcome itself.
    #[default]
    Identity,
    /// The standardised logarithm of `offset + deviation * y`, for standardised y.
    Log { offset: f64, deviation: f64, log_mean: f64, log_deviation: f64 },
}

impl OutcomeScale {
    /// The logarithmic scale of standardised outcomes `y` whose mean and deviation were `offset` and `deviation`; none
    /// unless all outcomes are positive.
    pub(crate) fn log(y: &[f64], offset: f64, deviation: f64) -> Option<Self> {
        let raw = |y: f64| offset + deviation * y;
        if y.len() < 2 || y.iter().any(|&y| raw(y) <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = y.iter().map(|&y| raw(y).ln()).collect();
        let log_mean = crate::math::mean(&logs);
        let log_deviation = crate::math::standard_deviation(&logs);
        (log_deviation > 1e-9).then_some(Self::Log { offset, deviation, log_mean, log_deviation })
    }

    /// The value on this scale of a standardised outcome. A value that has no logarithm is taken as a very small one.
    pub(crate) fn transform(self, y: f64) -> f64 {
        match self {
            Self::Identity => y,
            Self::Log { offset, deviation, log_mean, log_deviation } => {
                let raw = (offset + deviation * y).max((log_mean - LOWEST * log_deviation).exp());
                (raw.ln() - log_mean) / log_deviation
            }
        }
    }

    /// The standardised outcome of a value on this scale.
    pub(crate) fn restore(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log { offset, deviation, log_mean, log_deviation } => {
                ((log_mean + log_deviation * value.min(HIGHEST)).exp() - offset) / deviation
            }
        }
    }

    /// log |d transform / d y|
    pub(crate) fn log_slope(self, y: f64) -> f64 {
        match self {
            Self::Identity => 0.0,
            Self::Log { offset, deviation, log_mean, log_deviation } => {
                let raw = (offset + deviation * y).max((log_mean - LOWEST * log_deviation).exp());
                (deviation / (raw * log_deviation)).ln()
            }
        }
    }

    /// The smallest and the largest outcome, on the scale of the data, of a logarithmic scale.
    pub(crate) fn log_range(self) -> Option<[f64; 2]> {
        match self {
            Self::Identity => None,
            Self::Log { log_mean, log_deviation, .. } => {
                Some([-LOWEST, HIGHEST].map(|value| (log_mean + log_deviation * value).exp()))
            }
        }
    }

    /// Whether outcomes span so many decades that a mean would be that of the largest ones: answers are means of logarithms.
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Self::Log { log_deviation, .. } if log_deviation > WIDE)
    }

    pub(crate) fn is_log(self) -> bool {
        self != Self::Identity
    }

    pub(crate) fn is_sound(self) -> bool {
        match self {
            Self::Identity => true,
            Self::Log { offset, deviation, log_mean, log_deviation } => {
                offset.is_finite() && log_mean.is_finite() && deviation > 0.0 && log_deviation > 0.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithmic_scale_is_inverted_and_has_the_right_slope() {
        let y = [-0.9, 0.1, 0.4, 2.0];
        let scale = OutcomeScale::log(&y, 2.0, 1.5).unwrap();
        for y in y {
            assert!((scale.restore(scale.transform(y)) - y).abs() < 1e-9);
            let slope = (scale.transform(y + 1e-6) - scale.transform(y - 1e-6)) / 2e-6;
            assert!((scale.log_slope(y) - slope.ln()).abs() < 1e-6);
        }
        assert_eq!(OutcomeScale::log(&[-2.0, 1.0], 2.0, 1.5), None, "-1 has no logarithm");
    }
}
