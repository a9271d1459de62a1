//! Laws of outcomes that are not numbers, and what becomes of a unit under another treatment.
//!
//! The noise of an ordered outcome is its rank u: the outcome is the smallest value with F(value) >= u, under every
//! treatment. A category has no order: as many units as possible keep their level (maximal coupling). These laws are
//! written for the truth alone; models have their own.

use super::world::{LEVELS, TableWorld, base};
use crate::math::{normal_cdf, normal_quantile};
use crate::sim::whole_law::{Ranks, WholeLaw};

/// The noise of a unit, two uniform numbers: the rank and, for categories, which level a unit that moves takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UnitNoise {
    pub rank: f64,
    pub move_to: f64,
}

/// The law of the outcome of one class under one treatment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutcomeLaw {
    /// 0 or 1, or a count.
    Whole(WholeLaw),
    /// 0 or a positive amount.
    Amount(AmountLaw),
    /// The probabilities of levels without an order.
    Category([f64; LEVELS]),
}

impl TableWorld {
    /// The law of the outcome of class `k`; `sd` is the standard deviation of the noise.
    ///
    /// # Panics
    /// If the outcome is a number.
    pub(super) fn law(self, x: &[f64], t: &[f64], k: usize, sd: f64) -> OutcomeLaw {
        let (base, dose) = (base(x), t[0]);
        match self {
            Self::YesNo => {
                let response = (1.0 + 0.5 * x[3]) * dose;
                let predictor = base + [-1.4 + 3.0 * response, -0.4 + 0.8 * response][k];
                OutcomeLaw::Whole(WholeLaw::chance(sigmoid(predictor)))
            }
            Self::Count => {
                let log_mean = 0.35 * base + [-0.2 + 2.2 * dose, 1.9 - 0.8 * dose][k];
                OutcomeLaw::Whole(WholeLaw::negative_binomial(log_mean.exp(), sd))
            }
            Self::Category => {
                let one = 0.7 * x[0] + [-1.2 + 3.0 * dose, -0.2 + dose][k];
                let two = 0.5 * (2.0 * x[1]).sin() - 0.4 * x[0] + [0.2 - 0.8 * dose, 0.5 - 2.0 * dose][k];
                let weights = [1.0, one.exp(), two.exp()];
                let sum: f64 = weights.iter().sum();
                OutcomeLaw::Category(weights.map(|weight| weight / sum))
            }
            Self::Amount => {
                let positive = sigmoid(0.6 * base + [-0.6 + 2.2 * dose, 0.3 + 0.6 * dose][k]);
                let location = 0.3 * base + [2.8 + 0.8 * dose, 4.0 - 0.4 * dose][k];
                OutcomeLaw::Amount(AmountLaw { zero: 1.0 - positive, location, sd })
            }
            _ => unreachable!("the outcome is a number"),
        }
    }
}

impl OutcomeLaw {
    /// The probability, or the density, of an outcome.
    pub(super) fn likelihood(&self, y: &[f64]) -> f64 {
        match self {
            Self::Whole(law) => law.ranks(y[0]).width(),
            Self::Amount(law) => law.likelihood(y[0]),
            Self::Category(shares) => shares[level(y)],
        }
    }

    /// The expected outcome; of categories, the probabilities of levels.
    pub(super) fn mean(&self) -> Vec<f64> {
        match self {
            Self::Whole(law) => vec![law.mean(Ranks::ALL)],
            Self::Amount(law) => vec![(1.0 - law.zero) * law.mean_below(1.0)],
            Self::Category(shares) => shares.to_vec(),
        }
    }

    /// The expected outcome under the law `there` of a unit with outcome `y` under this law, with the same noise.
    pub(super) fn mean_there(&self, there: &Self, y: &[f64]) -> Vec<f64> {
        match (self, there) {
            (Self::Whole(here), Self::Whole(there)) => vec![there.mean(here.ranks(y[0]))],
            (Self::Amount(here), Self::Amount(there)) => vec![here.mean_there(there, y[0])],
            (Self::Category(here), Self::Category(there)) => {
                let own = level(y);
                let keeps = (there[own] / here[own]).min(1.0);
                let gains = gains(here, there);
                let sum: f64 = gains.iter().sum();
                let moves = if sum > 0.0 { (1.0 - keeps) / sum } else { 0.0 };
                (0..LEVELS).map(|i| moves * gains[i] + if i == own { keeps } else { 0.0 }).collect()
            }
            _ => unreachable!("both laws are of one world"),
        }
    }

    /// The probability of the count `y_new` under this law; none unless the outcome is a count.
    pub(super) fn chance(&self, y_new: f64) -> Option<f64> {
        match self {
            Self::Whole(law) => Some(law.ranks(y_new).width()),
            _ => None,
        }
    }

    /// The probability that a unit with outcome `y` under this law has `y_new` under the law `there`, with the same noise; none
    /// unless the outcome is a count.
    pub(super) fn chance_there(&self, there: &Self, y: f64, y_new: f64) -> Option<f64> {
        match (self, there) {
            (Self::Whole(here), Self::Whole(there)) => {
                Some(here.ranks(y).share_in(there.ranks(y_new), || there.at_rank(here.ranks(y).low) == y_new))
            }
            _ => None,
        }
    }

    /// The outcome of a unit under this law.
    pub(super) fn outcome(&self, noise: UnitNoise) -> Vec<f64> {
        match self {
            Self::Whole(law) => vec![law.at_rank(noise.rank)],
            Self::Amount(law) => vec![law.at_rank(noise.rank)],
            Self::Category(shares) => one_hot(drawn(shares, noise.rank).level),
        }
    }

    /// The outcome under the law `there` of a unit whose outcome under this law is that of `noise`.
    pub(super) fn outcome_there(&self, there: &Self, noise: UnitNoise) -> Vec<f64> {
        let (Self::Category(here), Self::Category(shares)) = (self, there) else {
            return there.outcome(noise);
        };
        let DrawnLevel { level, place } = drawn(here, noise.rank);
        if place * here[level] < shares[level] {
            return one_hot(level);
        }
        one_hot(drawn(&gains(here, shares), noise.move_to).level)
    }
}

#[cfg(test)]
impl OutcomeLaw {
    /// The mixture of this law, with the weight `share`, and another one.
    ///
    /// # Panics
    /// For amounts.
    pub(super) fn mixed(&self, other: &Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => {
                let at = |law: &WholeLaw, i: usize| law.upper.get(i).copied().unwrap_or(1.0);
                let values = 0..a.upper.len().max(b.upper.len());
                Self::Whole(WholeLaw { upper: values.map(|i| mix(at(a, i), at(b, i))).collect() })
            }
            (Self::Category(a), Self::Category(b)) => {
                Self::Category(std::array::from_fn(|level| mix(a[level], b[level])))
            }
            _ => panic!("a mixture of amounts is no law of this form"),
        }
    }
}

/// Zero, or exp of a normal variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AmountLaw {
    /// P(0)
    zero: f64,
    location: f64,
    sd: f64,
}

impl AmountLaw {
    fn likelihood(self, y: f64) -> f64 {
        if y == 0.0 {
            return self.zero;
        }
        let score = self.score(y);
        (1.0 - self.zero) * (-0.5 * score * score).exp() / (y * self.sd)
    }

    fn score(self, y: f64) -> f64 {
        (y.ln() - self.location) / self.sd
    }

    fn at_rank(self, u: f64) -> f64 {
        if u <= self.zero {
            return 0.0;
        }
        let rank = (u - self.zero) / (1.0 - self.zero);
        (self.location + self.sd * normal_quantile(rank.clamp(1e-300, 1.0 - f64::EPSILON))).exp()
    }

    /// The integral of positive amounts over their ranks from 0 to `rank`.
    fn mean_below(self, rank: f64) -> f64 {
        let mean = (self.location + 0.5 * self.sd * self.sd).exp();
        match rank {
            rank if rank <= 0.0 => 0.0,
            rank if rank >= 1.0 => mean,
            rank => mean * normal_cdf(normal_quantile(rank) - self.sd),
        }
    }

    /// The expected amount under the law `there`, at the rank of `y` here; a zero leaves a range of ranks.
    fn mean_there(self, there: &Self, y: f64) -> f64 {
        if y > 0.0 {
            return there.at_rank(self.zero + (1.0 - self.zero) * normal_cdf(self.score(y)));
        }
        let positive = 1.0 - there.zero;
        there.mean_below((self.zero - there.zero) / positive) * positive / self.zero
    }
}

/// The level of a uniform number, and the place of the number among those of that level, from 0 to 1.
struct DrawnLevel {
    level: usize,
    place: f64,
}

/// The level of `uniform` if levels follow each other with widths in proportion to `weights`.
fn drawn(weights: &[f64; LEVELS], uniform: f64) -> DrawnLevel {
    let mut left = uniform * weights.iter().sum::<f64>();
    for (level, &weight) in weights.iter().enumerate() {
        if left < weight {
            return DrawnLevel { level, place: left / weight };
        }
        left -= weight;
    }
    DrawnLevel { level: LEVELS - 1, place: 1.0 }
}

/// How much more probable every level is there than here.
fn gains(here: &[f64; LEVELS], there: &[f64; LEVELS]) -> [f64; LEVELS] {
    std::array::from_fn(|level| (there[level] - here[level]).max(0.0))
}

fn one_hot(level: usize) -> Vec<f64> {
    (0..LEVELS).map(|i| f64::from(u8::from(i == level))).collect()
}

/// The level of an outcome with one element per level.
fn level(y: &[f64]) -> usize {
    y.iter().position(|&y| y > 0.5).unwrap_or(0)
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}
