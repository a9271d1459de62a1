//! Average effects by subgroup, and whether they differ.
//!
//! ```text
//! W = sum_g (effect_g - mean)^2 / se_g^2,   mean = sum_g (effect_g / se_g^2) / sum_g (1 / se_g^2)
//! ```
//!
//! Standard errors are those of averages times the ratio of Student's t to the normal, with as many degrees of freedom as
//! effective units received the rarer treatment, less one; so are the widths of intervals. If no effect differs, W is chi-squared
//! with one degree of freedom less than there are subgroups. Where averages are those of the model's effects, subgroups share the
//! model's errors, and the test is cautious. Of several columns and outcomes, p-values are corrected by Holm's method.

use serde::Serialize;

use super::average::{AverageEffect, AverageMethod, Averages};
use super::input::UnitsInput;
use super::robust::EffectSample;
use crate::data::table::{GroupColumn, UnitBatch, read_group_columns};
use crate::math::{chi_squared_tail, student_half_width};
use crate::model::Model;
use crate::{Error, Result};

/// The smallest number of units of an average.
const MIN_UNITS: usize = 20;
/// The smallest effective number of them that received each treatment, or one near it, where averages are doubly robust.
pub(crate) const MIN_RECEIVED: f64 = 8.0;
/// The half width of a standard normal at which the test allows for few units.
pub(crate) const TEST_HALF_WIDTH: f64 = 1.96;
/// A difference is shown by a corrected p-value below this.
const MAX_P_VALUE: f64 = 0.05;

/// Columns of a table that divide its units into subgroups. Created by [`Model::subgroups`].
#[derive(Clone, Debug)]
pub struct Subgroups {
    columns: Vec<GroupColumn>,
}

/// The average effects on one outcome over the subgroups of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubgroupEffects {
    /// The column.
    pub column: String,
    /// The outcome.
    pub outcome: String,
    /// The subgroups: levels, values, or ranges between quantiles; units without a value come last.
    pub groups: Vec<SubgroupEffect>,
    /// The p-value of a test that the effect is the same in all subgroups; none if fewer than two have an average.
    pub p_value: Option<f64>,
    /// The p-value corrected for the number of columns and outcomes.
    pub corrected_p_value: Option<f64>,
    /// The result of the test in words.
    pub sentence: String,
}

/// The average effect over one subgroup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubgroupEffect {
    /// The name of the subgroup.
    pub group: String,
    /// The number of units.
    pub units: usize,
    /// The average effect; none if there are too few units.
    pub effect: Option<f64>,
    /// The lower end of its interval.
    pub lower: Option<f64>,
    /// The upper end of its interval.
    pub upper: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// How it was estimated.
    pub method: Option<AverageMethod>,
    /// Why there is no average.
    pub note: Option<&'static str>,
    /// The standard error with allowance for the few units that it was estimated from.
    #[serde(skip)]
    error_in_test: Option<f64>,
}

impl Model {
    /// Reads the columns by which units are divided; they need not be covariates, but must have been known before the treatment.
    /// A number with more than 10 values is divided at its quartiles, or in thirds below 400 rows.
    ///
    /// # Errors
    /// [`Error::File`] if a column does not exist, holds lists, or is a treatment or an outcome of the model, or if the units are arrays.
    pub fn subgroups(&self, input: impl Into<UnitsInput>, columns: &[String]) -> Result<Subgroups> {
        let input = input.into();
        match (&input, self.layout()) {
            (UnitsInput::Table(table), Some(layout)) => {
                let own = [layout.treatment_names(), layout.outcome_columns()].concat();
                if let Some(name) = columns.iter().find(|name| own.contains(name)) {
                    let problem = format!(
                        "`{name}` is a treatment or an outcome of the model: averages by it would be biased"
                    );
                    let hint = "divide units by columns that were known before the treatment";
                    return Err(Error::file(input.name(), problem, hint));
                }
                Ok(Subgroups { columns: read_group_columns(table, layout, columns)? })
            }
            _ => {
                let hint = "give a table, and fit the model to one";
                Err(Error::file(input.name(), "arrays have no columns to divide units by", hint))
            }
        }
    }
}

impl Subgroups {
    /// The number of subgroups of all columns.
    pub(super) fn count(&self) -> usize {
        self.columns.iter().map(|column| column.groups.len()).sum()
    }

    /// The subgroups of unit `i`, one of every column; those of the columns before come first.
    pub(super) fn of_unit(&self, units: &UnitBatch, i: usize) -> Vec<usize> {
        let mut first = 0;
        let group = |column: &GroupColumn| {
            let own = column.group(units, i).map(|group| first + group);
            first += column.groups.len();
            own
        };
        self.columns.iter().filter_map(group).collect()
    }

    /// The average effects over all subgroups; `units` are those that `sample` was drawn from.
    pub(super) fn effects(
        &self,
        averages: &Averages,
        sampled: Option<(&UnitBatch, &EffectSample)>,
    ) -> Vec<SubgroupEffects> {
        let mut found = Vec::new();
        let names: Vec<&str> = averages.outcomes().collect();
        let mut first = 0;
        for column in &self.columns {
            for (o, outcome) in names.iter().enumerate() {
                let group = |(g, name): (usize, &String)| {
                    let (units, average) = averages.of_subgroup(first + g, o);
                    let received = sampled.and_then(|sampled| self.received(first + g, sampled));
                    SubgroupEffect::new(name.clone(), units, average, received)
                };
                let groups: Vec<SubgroupEffect> = column.groups.iter().enumerate().map(group).collect();
                let groups: Vec<SubgroupEffect> = groups.into_iter().filter(|own| own.units > 0).collect();
                found.push(SubgroupEffects {
                    p_value: equal_effects(
                        groups.iter().filter_map(|own| Some((own.effect?, own.error_in_test?))),
                    ),
                    column: column.name.clone(),
                    outcome: (*outcome).to_owned(),
                    groups,
                    corrected_p_value: None,
                    sentence: String::new(),
                });
            }
            first += column.groups.len();
        }
        let p_values: Vec<Option<f64>> = found.iter().map(|of| of.p_value).collect();
        let (corrected, tests) = (holm(&p_values), p_values.iter().flatten().count());
        for (of, corrected) in found.iter_mut().zip(corrected) {
            of.corrected_p_value = corrected;
            of.sentence = of.sentence(tests);
        }
        found
    }

    /// The effective number of units of a subgroup that received the rarer of both treatments, or one near it; none if averages are
    /// not doubly robust.
    fn received(&self, group: usize, (units, sample): (&UnitBatch, &EffectSample)) -> Option<f64> {
        let has = |i: usize| self.of_unit(units, sample.positions[i]).contains(&group);
        sample.received(has)
    }
}

impl SubgroupEffect {
    fn new(group: String, units: usize, average: Option<AverageEffect>, received: Option<f64>) -> Self {
        let note = match units {
            0..MIN_UNITS => Some("too few units"),
            _ if received.is_some_and(|received| received < MIN_RECEIVED) => {
                Some("too few comparable units received these treatments")
            }
            _ => None,
        };
        let average = average.filter(|_| note.is_none());
        let widened = |z: f64| received.map_or(1.0, |received| widened(z, received));
        let value = |of: &dyn Fn(&AverageEffect) -> f64| average.as_ref().map(of);
        let end = |average: &AverageEffect, end: f64| {
            let z = (end - average.effect).abs() / average.standard_error.max(f64::MIN_POSITIVE);
            average.effect + (end - average.effect) * widened(z.max(f64::MIN_POSITIVE))
        };
        Self {
            group,
            units,
            effect: value(&|average| average.effect),
            lower: value(&|average| end(average, average.lower)),
            upper: value(&|average| end(average, average.upper)),
            standard_error: value(&|average| average.standard_error),
            method: average.as_ref().map(|average| average.method),
            note,
            error_in_test: value(&|average| average.standard_error * widened(TEST_HALF_WIDTH)),
        }
    }
}

impl SubgroupEffects {
    /// Whether the effect differs between subgroups.
    pub fn differs(&self) -> bool {
        self.corrected_p_value.is_some_and(|p| p < MAX_P_VALUE)
    }

    fn sentence(&self, tests: usize) -> String {
        let (outcome, column) = (&self.outcome, &self.column);
        let Some(p) = self.corrected_p_value else {
            return format!(
                "whether the effect on {outcome} differs between the groups of `{column}` cannot be said: fewer than two of them \
                 have enough units"
            );
        };
        let corrected = if tests > 1 { format!(", corrected for {tests} tests") } else { String::new() };
        let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
        match self.differs() {
            true => {
                format!("the effect on {outcome} differs between the groups of `{column}` ({p}{corrected})")
            }
            false => format!(
                "no difference of the effect on {outcome} between the groups of `{column}` could be shown ({p}{corrected})"
            ),
        }
    }
}

/// The p-value of the test that all effects are the same, given effects and standard errors; none if fewer than two have one.
pub(crate) fn equal_effects(effects: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let known: Vec<(f64, f64)> = effects
        .filter(|(_, error)| *error > 0.0 && error.is_finite())
        .map(|(effect, error)| (effect, error.powi(-2)))
        .collect();
    if known.len() < 2 {
        return None;
    }
    let total: f64 = known.iter().map(|(_, weight)| weight).sum();
    let mean = known.iter().map(|(effect, weight)| effect * weight).sum::<f64>() / total;
    let statistic: f64 = known.iter().map(|(effect, weight)| weight * (effect - mean).powi(2)).sum();
    Some(chi_squared_tail(statistic, known.len() - 1))
}

/// The factor on a normal half width `z` for an average over units of which effectively `received` received the rarer treatment.
pub(crate) fn widened(z: f64, received: f64) -> f64 {
    student_half_width(z, (received - 1.0) as usize) / z
}

/// The p-values multiplied by the number of those that are not smaller, and never below that of a smaller one.
fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut known: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(i, p)| p.map(|p| (i, p))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut corrected, mut largest, tests) = (vec![None; p_values.len()], 0.0_f64, known.len());
    for (rank, (i, p)) in known.into_iter().enumerate() {
        largest = largest.max(p * (tests - rank) as f64).min(1.0);
        corrected[i] = Some(largest);
    }
    corrected
}

#[cfg(test)]
#[path = "subgroup_tests.rs"]
mod tests;
