//! Laws of outcomes that are not numbers: yes/no, counts, ordered levels, categories, and whether an amount is zero.
//!
//! A head of the network gives a location m (and a log scale l) per class; an offset makes m = 0 the average unit:
//!
//! ```text
//! chance      P(1) = sigmoid(offset + m)
//! count       Poisson or negative binomial with mean exp(offset + m), variance mean + exp(2 l) mean^2
//! ordered     P(at most level c) = sigmoid((threshold_c - m) / exp(l))
//! category    one head per level: softmax(m), without offset
//! ```
//!
//! The noise of an ordered outcome is its rank u: the outcome is the smallest value with F(value) >= u. What is observed
//! leaves a range of ranks.

use serde::{Deserialize, Serialize};

use crate::math::{ln_gamma, log_sum_exp_of, normal_density, normal_quantile};

/// Probabilities are at least this in logarithms.
const MIN_PROBABILITY: f64 = 1e-12;
/// Counts are tabulated until this share of them is left.
const TAIL: f64 = 1e-7;
/// The largest tabulated count.
const MAX_COUNT: usize = 20_000;
/// The bound of a linear predictor.
const MAX_PREDICTOR: f64 = 15.0;

/// The law of the outcome of one head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HeadLaw {
    /// A number, whose residual has the law of the form.
    #[default]
    Number,
    /// 0 or 1.
    Chance { offset: f64 },
    /// Whether an amount is positive; the next head is the amount.
    Positive { offset: f64 },
    /// 0, 1, 2, ...
    Count { offset: f64, overdispersed: bool },
    /// One of `values`, in ascending order; one threshold less.
    Ordered { values: Vec<f64>, thresholds: Vec<f64> },
    /// Level `level` of a category, whose `levels` are adjacent heads.
    Level { level: usize, levels: usize },
}

/// The law of a head where a form names none.
pub(super) const NUMBER: HeadLaw = HeadLaw::Number;

/// log P(y) of a head, and its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LogMass {
    pub value: f64,
    pub by_mean: f64,
    pub by_log_scale: f64,
}

/// Where a head is: its place among the heads of a class, their means, and its log scale.
#[derive(Clone, Copy)]
pub(crate) struct HeadInput<'a> {
    pub head: usize,
    pub means: &'a [f32],
    pub log_scale: f64,
}

impl HeadInput<'_> {
    fn mean(&self) -> f64 {
        f64::from(self.means[self.head])
    }
}

impl HeadLaw {
    /// Whether the scale of the head changes its law.
    pub(crate) fn has_scale(&self) -> bool {
        matches!(self, Self::Number | Self::Count { overdispersed: true, .. } | Self::Ordered { .. })
    }

    /// Whether its fields are consistent with its place among `heads`.
    pub(crate) fn is_sound(&self, head: usize, heads: &[HeadLaw]) -> bool {
        match self {
            Self::Number => true,
            Self::Chance { offset } | Self::Count { offset, .. } => offset.is_finite(),
            Self::Positive { offset } => offset.is_finite() && heads.get(head + 1) == Some(&Self::Number),
            Self::Ordered { values, thresholds } => {
                let finite = values.iter().chain(thresholds).all(|value| value.is_finite());
                finite && values.len() > 1 && values.len() == thresholds.len() + 1 && values.is_sorted()
            }
            Self::Level { level, levels } => {
                let together = |i: &usize| {
                    let place = head.checked_sub(*level).and_then(|first| heads.get(first + i));
                    matches!(place, Some(Self::Level { level, levels: all, .. }) if level == i && all == levels)
                };
                level < levels && *levels <= heads.len() && (0..*levels).all(|i| together(&i))
            }
        }
    }

    /// log P(y) and its derivatives; of a category, those of all its heads together.
    ///
    /// # Panics
    /// For numbers, whose law is another.
    pub(crate) fn log_mass(&self, y: f64, at: HeadInput<'_>) -> LogMass {
        match self {
            Self::Number => unreachable!("numbers have densities"),
            Self::Chance { offset } | Self::Positive { offset } => {
                let predictor = bounded(offset + at.mean());
                let value = if y > 0.5 { -softplus(-predictor) } else { -softplus(predictor) };
                LogMass { value, by_mean: y - sigmoid(predictor), by_log_scale: 0.0 }
            }
            Self::Count { offset, overdispersed } => {
                let mean = bounded(offset + at.mean()).exp();
                if *overdispersed { negative_binomial(y, mean, at.log_scale) } else { poisson(y, mean) }
            }
            Self::Ordered { values, thresholds } => ordered(nearest(values, y), thresholds, at),
            Self::Level { level, levels } => {
                let shares = self.log_shares(at, *level, *levels);
                LogMass { value: y * shares[*level], by_mean: y - shares[*level].exp(), by_log_scale: 0.0 }
            }
        }
    }

    /// The logarithms of the probabilities of all levels of a category.
    fn log_shares(&self, at: HeadInput<'_>, level: usize, levels: usize) -> Vec<f64> {
        let first = at.head - level;
        let logits: Vec<f64> =
            at.means[first..first + levels].iter().map(|&m| bounded(f64::from(m))).collect();
        let total = log_sum_exp_of(&logits);
        logits.iter().map(|logit| logit - total).collect()
    }

    /// The probabilities of all levels of the category that this head belongs to; empty for other laws.
    pub(crate) fn shares(&self, at: HeadInput<'_>) -> Vec<f64> {
        match self {
            Self::Level { level, levels } => {
                self.log_shares(at, *level, *levels).into_iter().map(f64::exp).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The distribution of an outcome with ordered values; none for numbers and categories.
    pub(crate) fn ranked(&self, at: HeadInput<'_>) -> Option<RankedLaw> {
        match self {
            Self::Number | Self::Level { .. } => None,
            Self::Chance { offset } | Self::Positive { offset } => {
                let one = sigmoid(bounded(offset + at.mean()));
                Some(RankedLaw { values: vec![0.0, 1.0], upper: vec![1.0 - one, 1.0] })
            }
            Self::Count { offset, overdispersed } => {
                let scale = if *overdispersed { Some(at.log_scale) } else { None };
                Some(RankedLaw::of_counts(bounded(offset + at.mean()).exp(), scale))
            }
            Self::Ordered { values, thresholds } => {
                let below = |threshold: &f64| sigmoid((threshold - at.mean()) * (-at.log_scale).exp());
                let upper = thresholds.iter().map(below).chain([1.0]).collect();
                Some(RankedLaw { values: values.clone(), upper })
            }
        }
    }
}

/// A distribution on ascending values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankedLaw {
    values: Vec<f64>,
    /// P(at most the value); the last is 1.
    upper: Vec<f64>,
}

/// A range of ranks, within 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranks {
    pub low: f64,
    pub high: f64,
}

impl Ranks {
    /// All ranks.
    pub(crate) const ALL: Self = Self { low: 0.0, high: 1.0 };

    /// The mean of the normal score of a rank that is uniform between the ends.
    pub(crate) fn mean_score(self) -> f64 {
        let end = |rank: f64| normal_quantile(rank.clamp(1e-9, 1.0 - 1e-9));
        let (low, high) = (end(self.low), end(self.high));
        let width = self.high - self.low;
        if width < 1e-6 { 0.5 * (low + high) } else { (normal_density(low) - normal_density(high)) / width }
    }
}

/// A value with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mass {
    pub weight: f64,
    pub value: f64,
}

impl RankedLaw {
    fn of_counts(mean: f64, log_scale: Option<f64>) -> Self {
        let (mut values, mut upper, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for count in 0..=MAX_COUNT {
            let y = count as f64;
            let mass = match log_scale {
                Some(log_scale) => negative_binomial(y, mean, log_scale),
                None => poisson(y, mean),
            };
            sum += mass.value.exp();
            values.push(y);
            upper.push(sum.min(1.0));
            if 1.0 - sum < TAIL && y > mean {
                break;
            }
        }
        *upper.last_mut().expect("there is at least one count") = 1.0;
        Self { values, upper }
    }

    /// The mean.
    pub(crate) fn mean(&self) -> f64 {
        let mut before = 0.0;
        let terms = self.values.iter().zip(&self.upper).map(|(value, &upper)| {
            let mass = upper - before;
            before = upper;
            mass * value
        });
        terms.sum()
    }

    /// The ranks of an observed value.
    pub(crate) fn ranks(&self, y: f64) -> Ranks {
        let at = nearest(&self.values, y);
        Ranks { low: if at == 0 { 0.0 } else { self.upper[at - 1] }, high: self.upper[at] }
    }

    /// The value at rank `u`.
    pub(crate) fn at_rank(&self, u: f64) -> f64 {
        self.values[self.upper.partition_point(|&upper| upper < u).min(self.values.len() - 1)]
    }

    /// The distribution of the value, or of its difference from that of `from`, if the rank is uniform on `ranks`.
    pub(crate) fn masses(&self, from: Option<&Self>, ranks: Ranks) -> Vec<Mass> {
        let Ranks { low, high } = ranks;
        let value = |u: f64| self.at_rank(u) - from.map_or(0.0, |from| from.at_rank(u));
        if high - low < MIN_PROBABILITY {
            return vec![Mass { weight: 1.0, value: value(0.5 * (low + high)) }];
        }
        let mut cuts: Vec<f64> =
            self.upper.iter().chain(from.iter().flat_map(|from| &from.upper)).copied().collect();
        cuts.retain(|cut| *cut > low && *cut < high);
        cuts.push(high);
        cuts.sort_by(f64::total_cmp);
        let mut before = low;
        let mut masses = Vec::with_capacity(cuts.len());
        for cut in cuts {
            if cut > before {
                masses
                    .push(Mass { weight: (cut - before) / (high - low), value: value(0.5 * (before + cut)) });
                before = cut;
            }
        }
        masses
    }
}

/// The probabilities of the levels of a category under another treatment, for a unit of level `observed`. `here` and
/// `there` are the probabilities under both treatments. As many units as possible keep their level (maximal coupling).
pub(crate) fn kept_levels(here: &[f64], there: &[f64], observed: usize) -> Vec<f64> {
    let keeps = (there[observed] / here[observed].max(MIN_PROBABILITY)).min(1.0);
    let gain = |level: usize| (there[level] - here[level]).max(0.0);
    let gains: f64 = (0..here.len()).map(gain).sum();
    let of_level = |level: usize| {
        let own = if level == observed { keeps } else { 0.0 };
        own + if gains > 0.0 { (1.0 - keeps) * gain(level) / gains } else { 0.0 }
    };
    (0..here.len()).map(of_level).collect()
}

fn bounded(predictor: f64) -> f64 {
    predictor.clamp(-MAX_PREDICTOR, MAX_PREDICTOR)
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// log(1 + exp(z))
fn softplus(z: f64) -> f64 {
    if z > 30.0 { z } else { z.exp().ln_1p() }
}

/// The place of the value nearest to `y` among ascending values.
fn nearest(values: &[f64], y: f64) -> usize {
    let at = values.partition_point(|&value| value < y).min(values.len() - 1);
    if at > 0 && y - values[at - 1] < values[at] - y { at - 1 } else { at }
}

fn poisson(y: f64, mean: f64) -> LogMass {
    LogMass { value: y * mean.ln() - mean - ln_gamma(y + 1.0), by_mean: y - mean, by_log_scale: 0.0 }
}

/// The negative binomial law with size r = exp(-2 log_scale).
fn negative_binomial(y: f64, mean: f64, log_scale: f64) -> LogMass {
    let r = (-2.0 * log_scale).exp();
    let log_share = -(mean / r).ln_1p();
    let value =
        ln_gamma(y + r) - ln_gamma(r) - ln_gamma(y + 1.0) + r * log_share + y * (mean.ln() - (r + mean).ln());
    let by_r = digamma(y + r) - digamma(r) + log_share + 1.0 - (y + r) / (r + mean);
    LogMass { value, by_mean: r * (y - mean) / (r + mean), by_log_scale: -2.0 * r * by_r }
}

/// The derivative of ln gamma: recurrence, then the asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 8.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

fn ordered(level: usize, thresholds: &[f64], at: HeadInput<'_>) -> LogMass {
    let inverse_scale = (-at.log_scale).exp();
    // the sigmoid at a threshold, its slope, and the slope times the threshold's distance
    let end = |threshold: Option<&f64>, certain: f64| match threshold {
        None => (certain, 0.0, 0.0),
        Some(threshold) => {
            let z = (threshold - at.mean()) * inverse_scale;
            let below = sigmoid(z);
            let slope = below * (1.0 - below);
            (below, slope, z * slope)
        }
    };
    let low = end(level.checked_sub(1).map(|i| &thresholds[i]), 0.0);
    let high = end(thresholds.get(level), 1.0);
    let mass = (high.0 - low.0).max(MIN_PROBABILITY);
    LogMass {
        value: mass.ln(),
        by_mean: -(high.1 - low.1) * inverse_scale / mass,
        by_log_scale: -(high.2 - low.2) / mass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> Vec<(HeadLaw, Vec<f64>)> {
        let ordered = HeadLaw::Ordered { values: vec![1.0, 2.0, 3.0, 5.0], thresholds: vec![-1.0, 0.2, 1.1] };
        let level = |level| HeadLaw::Level { level, levels: 3 };
        vec![
            (HeadLaw::Chance { offset: 0.3 }, vec![0.0, 1.0]),
            (HeadLaw::Count { offset: 1.0, overdispersed: false }, vec![0.0, 2.0, 9.0]),
            (HeadLaw::Count { offset: 1.0, overdispersed: true }, vec![0.0, 2.0, 9.0]),
            (ordered, vec![1.0, 2.0, 3.0, 5.0]),
            (level(1), vec![0.0, 1.0]),
        ]
    }

    /// The head is the second of three.
    fn input(means: &[f32], log_scale: f64) -> HeadInput<'_> {
        HeadInput { head: 1, means, log_scale }
    }

    #[test]
    fn slopes_agree_with_differences() {
        for (law, values) in laws() {
            for y in values {
                let at = law.log_mass(y, input(&[0.4, -0.6, 0.1], -0.4));
                let step = 1e-3;
                let by_mean = |by: f32| {
                    let means = [0.4, -0.6 + by, 0.1];
                    match law {
                        // the slope is that of the whole category, whose first level is observed where y is 0
                        HeadLaw::Level { .. } => {
                            let observed = if y > 0.5 { 1 } else { 0 };
                            law.shares(input(&means, -0.4))[observed].ln()
                        }
                        _ => law.log_mass(y, input(&means, -0.4)).value,
                    }
                };
                let slope = (by_mean(step as f32) - by_mean(-step as f32)) / (2.0 * step);
                assert!((at.by_mean - slope).abs() < 2e-3, "{law:?} {y}: {} {slope}", at.by_mean);
                let by_scale = |by: f64| law.log_mass(y, input(&[0.4, -0.6, 0.1], -0.4 + by)).value;
                let slope = (by_scale(step) - by_scale(-step)) / (2.0 * step);
                assert!((at.by_log_scale - slope).abs() < 2e-3, "{law:?} {y}: {} {slope}", at.by_log_scale);
            }
        }
    }

    #[test]
    fn masses_add_up_to_one_and_have_the_mean_of_the_law() {
        for (law, _) in laws().into_iter().filter(|(law, _)| !matches!(law, HeadLaw::Level { .. })) {
            let at = input(&[0.0, 0.5, 0.0], -0.2);
            let ranked = law.ranked(at).unwrap();
            let masses = ranked.masses(None, Ranks::ALL);
            let total: f64 = masses.iter().map(|mass| mass.weight).sum();
            let mean: f64 = masses.iter().map(|mass| mass.weight * mass.value).sum();
            assert!((total - 1.0).abs() < 1e-9 && (mean - ranked.mean()).abs() < 1e-6, "{law:?}");
            for mass in masses.iter().filter(|mass| mass.weight > 1e-5) {
                let expected = law.log_mass(mass.value, at).value.exp();
                assert!((mass.weight - expected).abs() < 1e-6, "{law:?} {mass:?} {expected}");
            }
        }
        let counts =
            HeadLaw::Count { offset: 1.0, overdispersed: true }.ranked(input(&[0.0; 3], -0.2)).unwrap();
        assert!((counts.mean() - 1.0_f64.exp()).abs() < 1e-3);
    }

    #[test]
    fn a_unit_that_recovered_also_recovers_where_more_do() {
        let chance =
            |probability: f64| RankedLaw { values: vec![0.0, 1.0], upper: vec![1.0 - probability, 1.0] };
        let (few, many) = (chance(0.3), chance(0.6));
        let mean = |law: &RankedLaw, ranks: Ranks| -> f64 {
            law.masses(None, ranks).iter().map(|mass| mass.weight * mass.value).sum()
        };
        assert_eq!(mean(&many, few.ranks(1.0)), 1.0);
        // of the 0.7 who did not, 0.3 would
        assert!((mean(&many, few.ranks(0.0)) - 3.0 / 7.0).abs() < 1e-12);
        assert!((mean(&few, many.ranks(1.0)) - 0.5).abs() < 1e-12);
        let effect = many.masses(Some(&few), Ranks::ALL);
        let mean: f64 = effect.iter().map(|mass| mass.weight * mass.value).sum();
        assert!((mean - 0.3).abs() < 1e-12 && effect.len() == 3);
    }

    #[test]
    fn levels_keep_their_units_as_far_as_possible() {
        let (here, there) = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]);
        assert_eq!(kept_levels(&here, &there, 1), [0.0, 1.0, 0.0]);
        let from_first = kept_levels(&here, &there, 0);
        assert!((from_first[0] - 0.4).abs() < 1e-12 && (from_first[2] - 0.6).abs() < 1e-12);
        // on average over units, the probabilities are those of the other treatment
        for level in 0..3 {
            let mean: f64 = (0..3).map(|own| here[own] * kept_levels(&here, &there, own)[level]).sum();
            assert!((mean - there[level]).abs() < 1e-12);
        }
    }

    #[test]
    fn heads_must_fit_together() {
        let level = |level| HeadLaw::Level { level, levels: 2 };
        let heads = [level(0), level(1), HeadLaw::Positive { offset: 0.0 }, HeadLaw::Number];
        assert!(heads.iter().enumerate().all(|(i, head)| head.is_sound(i, &heads)));
        assert!(!heads[0].is_sound(1, &heads) && !heads[2].is_sound(3, &heads));
        let unsorted = HeadLaw::Ordered { values: vec![2.0, 1.0], thresholds: vec![0.0] };
        assert!(!unsorted.is_sound(0, &heads));
    }
}
