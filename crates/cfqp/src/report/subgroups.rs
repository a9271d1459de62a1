//! Average effects in subgroups: units split by one covariate at a time, with a test of whether the effects differ.
//!
//! The averages are means of the doubly robust terms of units. Intervals and the test are those of `effect --by`
//! ([`equal_effects`]); p-values are multiplied by the number of covariates.

use serde::Serialize;

use super::ReportContext;
use super::covariates::{Splitter, channel_mean, splitters};
use crate::Result;
use crate::ask::{EffectSample, MIN_RECEIVED, TEST_HALF_WIDTH, equal_effects, widened};
use crate::data::Units;
use crate::math::normal_half_width;
use crate::plain::clustered_error;

/// The smallest number of units of a subgroup.
const MIN_UNITS: usize = 30;
/// Numbers of at most so many values are split by value.
const MAX_VALUES: usize = 4;
/// The largest number of covariates that units are split by.
const MAX_SPLITS: usize = 200;
/// The splits in a report: those with the smallest p-values.
const MAX_SHOWN: usize = 8;

/// The average effects on one outcome in the subgroups by one covariate.
#[derive(Clone, Debug, Serialize)]
pub struct CovariateSplit {
    /// The outcome.
    pub outcome: String,
    /// The covariate that units are split by.
    pub covariate: String,
    /// The subgroups: levels, single values or thirds of the units. Those of fewer than 30 units, or of few that received one of
    /// the treatments, are left out.
    pub groups: Vec<SplitGroup>,
    /// The p-value of equal effects, corrected for the number of covariates (Bonferroni).
    pub p_value: f64,
    /// The number of covariates that were compared.
    pub compared: usize,
}

/// The average effect in one subgroup.
#[derive(Clone, Debug, Serialize)]
pub struct SplitGroup {
    /// The level, the value or the range.
    pub name: String,
    /// The number of units.
    pub units: usize,
    /// The average effect.
    pub effect: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end of its interval.
    pub upper: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The subgroups of units by one covariate: names, and the group of every unit.
struct Split {
    names: Vec<String>,
    groups: Vec<Option<usize>>,
}

impl ReportContext<'_> {
    /// The subgroups of every drawn outcome, those with the smallest p-values first; none without doubly robust terms.
    pub(super) fn subgroup_effects(
        &self,
        sample: &EffectSample,
        drawn: &[usize],
    ) -> Result<Vec<CovariateSplit>> {
        let x = sample.data.x();
        let (channels, sites) = (x.shape()[0], x.shape()[1..].iter().product::<usize>());
        let mut all = splitters(self.model, channels, sites);
        all.truncate(MAX_SPLITS);
        let splits: Vec<(String, Split)> =
            all.into_iter().filter_map(|own| Some((own.name.clone(), Split::new(x, &own, sites)?))).collect();
        let mut found = Vec::new();
        for &o in drawn {
            let Some(terms) = sample.terms_of(o) else { continue };
            let of_split = |(covariate, split): &(String, Split)| {
                let received = |k: usize| sample.received(|i| split.groups[i] == Some(k)).unwrap_or(0.0);
                let groups = split.effects(terms, sample.data.groups(), self.ask.level, received);
                let p_value = (splits.len() as f64 * p_of_equal_effects(&groups)).min(1.0);
                let groups = groups.into_iter().map(|(own, _)| own).collect();
                let outcome = self.outcomes[o].name.clone();
                CovariateSplit {
                    outcome,
                    covariate: covariate.clone(),
                    groups,
                    p_value,
                    compared: splits.len(),
                }
            };
            let mut own: Vec<CovariateSplit> = splits.iter().map(of_split).collect();
            own.sort_by(|a, b| a.p_value.total_cmp(&b.p_value).then(b.spread().total_cmp(&a.spread())));
            own.truncate(MAX_SHOWN);
            found.extend(own);
        }
        Ok(found)
    }
}

impl CovariateSplit {
    /// The distance between the largest and the smallest effect in standard errors.
    fn spread(&self) -> f64 {
        let by_effect = |a: &&SplitGroup, b: &&SplitGroup| a.effect.total_cmp(&b.effect);
        let ends = self.groups.iter().max_by(by_effect).zip(self.groups.iter().min_by(by_effect));
        ends.map_or(0.0, |(high, low)| {
            (high.effect - low.effect) / high.standard_error.hypot(low.standard_error)
        })
    }
}

impl Split {
    /// None if fewer than two groups have enough units.
    fn new(x: &Units, own: &Splitter, sites: usize) -> Option<Self> {
        let split = match &own.levels {
            Some(levels) => {
                let level = |i: usize| {
                    own.channels.clone().position(|channel| {
                        channel_mean(x, i, channel, sites).is_some_and(|value| value > 0.5)
                    })
                };
                Self { names: levels.clone(), groups: (0..x.len()).map(level).collect() }
            }
            None => {
                let values: Vec<Option<f64>> =
                    (0..x.len()).map(|i| channel_mean(x, i, own.channels.start, sites)).collect();
                Self::of_numbers(&values)
            }
        };
        let is_large =
            |k: &usize| split.groups.iter().filter(|group| **group == Some(*k)).count() >= MIN_UNITS;
        ((0..split.names.len()).filter(is_large).count() > 1).then_some(split)
    }

    /// By value if there are few, else thirds.
    fn of_numbers(values: &[Option<f64>]) -> Self {
        let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let mut distinct = sorted.clone();
        distinct.dedup();
        let bounds: Vec<f64> = if distinct.len() <= MAX_VALUES {
            distinct.iter().skip(1).copied().collect()
        } else {
            let mut bounds: Vec<f64> = (1..3).map(|k| sorted[k * sorted.len() / 3]).collect();
            // where most units have the smallest value, it is a group of its own
            bounds.retain(|bound| *bound > sorted[0]);
            bounds.dedup();
            if bounds.is_empty() { vec![distinct[1]] } else { bounds }
        };
        let group = |value: f64| bounds.partition_point(|bound| *bound <= value);
        let names = match distinct.len() <= MAX_VALUES {
            true => distinct.iter().map(|value| short(*value)).collect(),
            false => range_names(&sorted, &bounds),
        };
        Self { names, groups: values.iter().map(|value| value.map(group)).collect() }
    }

    /// The averages of groups, each with its standard error in the test; `received` is the effective number of units of a group
    /// that received the rarer treatment.
    fn effects(
        &self,
        terms: &[f64],
        subjects: Option<&[u32]>,
        level: f64,
        received: impl Fn(usize) -> f64,
    ) -> Vec<(SplitGroup, f64)> {
        let z = normal_half_width(level);
        let of_group = |(k, name): (usize, &String)| {
            let rows: Vec<usize> = (0..terms.len()).filter(|&i| self.groups[i] == Some(k)).collect();
            let received = received(k);
            if rows.len() < MIN_UNITS || received < MIN_RECEIVED {
                return None;
            }
            let n = rows.len() as f64;
            let effect = rows.iter().map(|&i| terms[i]).sum::<f64>() / n;
            let influence: Vec<f64> = rows.iter().map(|&i| (terms[i] - effect) / n).collect();
            let own: Option<Vec<u32>> = subjects.map(|subjects| rows.iter().map(|&i| subjects[i]).collect());
            let standard_error = clustered_error(&influence, own.as_deref());
            let half = z * widened(z, received) * standard_error;
            let in_test = widened(TEST_HALF_WIDTH, received) * standard_error;
            let group = SplitGroup {
                name: name.clone(),
                units: rows.len(),
                effect,
                lower: effect - half,
                upper: effect + half,
                standard_error,
            };
            Some((group, in_test))
        };
        self.names.iter().enumerate().filter_map(of_group).collect()
    }
}

/// The names of the ranges between `bounds`, which belong to the upper range.
fn range_names(sorted: &[f64], bounds: &[f64]) -> Vec<String> {
    let below = |bound: f64| sorted[sorted.partition_point(|value| *value < bound) - 1];
    let name = |k: usize| match (k.checked_sub(1).map(|k| bounds[k]), bounds.get(k).map(|b| below(*b))) {
        (None, Some(upper)) => format!("up to {}", short(upper)),
        (Some(lower), Some(upper)) => format!("{} to {}", short(lower), short(upper)),
        (Some(lower), None) => format!("{} or more", short(lower)),
        (None, None) => "all".to_owned(),
    };
    (0..=bounds.len()).map(name).collect()
}

/// Three significant digits, and all of a whole number.
fn short(value: f64) -> String {
    if value == 0.0 || (value.fract() == 0.0 && value.abs() < 1e7) {
        return format!("{value:.0}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 12);
    format!("{value:.*}", digits as usize)
}

/// The p-value of equal effects, given averages and their standard errors in the test; 1 if there are too few.
fn p_of_equal_effects(groups: &[(SplitGroup, f64)]) -> f64 {
    equal_effects(groups.iter().map(|(own, in_test)| (own.effect, *in_test))).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_split_in_thirds_or_by_value() {
        let values: Vec<Option<f64>> = (0..90).map(|i| Some(f64::from(i))).chain([None]).collect();
        let split = Split::of_numbers(&values);
        assert_eq!(split.names, ["up to 29", "30 to 59", "60 or more"]);
        assert_eq!((split.groups[29], split.groups[30], split.groups[90]), (Some(0), Some(1), None));
        let few: Vec<Option<f64>> = (0..90).map(|i| Some(f64::from(i % 2))).collect();
        assert_eq!(Split::of_numbers(&few).names, ["0", "1"]);
    }

    #[test]
    fn effects_that_differ_have_a_small_p_value() {
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 50.0 - 1.0;
        let groups = (0..400).map(|i| Some(i % 2)).collect();
        let split = Split { names: vec!["a".into(), "b".into()], groups };
        let p = |gap: f64| {
            let terms: Vec<f64> = (0..400).map(|i| gap * (i % 2) as f64 + noise(i)).collect();
            p_of_equal_effects(&split.effects(&terms, None, 0.9, |_| 200.0))
        };
        assert!(p(0.0) > 0.1 && p(0.5) < 1e-4, "{} {}", p(0.0), p(0.5));
    }
}
