//! Distributions of whole numbers: yes or no, and counts. The noise of such an outcome is its rank u: the outcome is the
//! smallest value with F(value) >= u.

use crate::math::ln_gamma;

/// Counts are tabulated until this share of them is left, or to the largest one.
const TAIL: f64 = 1e-12;
const MAX_COUNT: usize = 2000;
/// A narrower range of ranks is one rank.
const MIN_WIDTH: f64 = 1e-12;

/// A range of ranks, within 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranks {
    pub low: f64,
    pub high: f64,
}

impl Ranks {
    pub(super) const ALL: Self = Self { low: 0.0, high: 1.0 };

    pub(super) fn width(self) -> f64 {
        self.high - self.low
    }

    /// The share of these ranks that is in `other`; `if_point` says whether a single rank is.
    pub(super) fn share_in(self, other: Self, if_point: impl Fn() -> bool) -> f64 {
        if self.width() < MIN_WIDTH {
            return f64::from(u8::from(if_point()));
        }
        (self.high.min(other.high) - self.low.max(other.low)).max(0.0) / self.width()
    }
}

/// A law of 0, 1, 2, ...
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WholeLaw {
    /// P(at most 0, 1, 2, ...); the last is 1.
    pub upper: Vec<f64>,
}

impl WholeLaw {
    pub(super) fn chance(one: f64) -> Self {
        Self { upper: vec![1.0 - one, 1.0] }
    }

    /// A Poisson law whose rate has a gamma law with the mean `mean` and the coefficient of variation `variation`.
    pub(super) fn negative_binomial(mean: f64, variation: f64) -> Self {
        let size = variation.powi(-2);
        let log_mass = |y: f64| {
            let choices = ln_gamma(y + size) - ln_gamma(size) - ln_gamma(y + 1.0);
            choices - size * (mean / size).ln_1p() - y * (size / mean).ln_1p()
        };
        let (mut upper, mut sum) = (Vec::new(), 0.0);
        for count in 0..=MAX_COUNT {
            sum += log_mass(count as f64).exp();
            upper.push(sum.min(1.0));
            if 1.0 - sum < TAIL {
                break;
            }
        }
        *upper.last_mut().expect("there is at least one count") = 1.0;
        Self { upper }
    }

    /// The ranks of a value.
    pub(super) fn ranks(&self, y: f64) -> Ranks {
        let at = |i: usize| self.upper.get(i).copied().unwrap_or(1.0);
        let y = y as usize;
        Ranks { low: if y == 0 { 0.0 } else { at(y - 1) }, high: at(y) }
    }

    pub(super) fn at_rank(&self, u: f64) -> f64 {
        self.upper.partition_point(|&upper| upper < u).min(self.upper.len() - 1) as f64
    }

    /// The mean of the value if the rank is uniform on `ranks`.
    pub(super) fn mean(&self, ranks: Ranks) -> f64 {
        if ranks.width() < MIN_WIDTH {
            return self.at_rank(ranks.low);
        }
        let values = (0..self.upper.len()).map(|i| i as f64);
        values.map(|value| value * ranks.share_in(self.ranks(value), || false)).sum()
    }
}
