//! Responses to treatments: effects between two treatments.

use serde::Serialize;

use super::subgroups::CovariateSplit;
use super::{Outcome, ReportContext, WeightedHistogram};
use crate::Result;
use crate::ask::{Answers, AverageEffect, Averages, Diagnosis, Flag, PlainComparison};

/// The largest number of outcomes that are drawn: if there are more, those with the largest effects.
const MAX_DRAWN_OUTCOMES: usize = 8;

/// The effects of the high treatment against the low one.
#[derive(Clone, Debug, Serialize)]
pub struct Effects {
    /// The number of units that effects are averaged over.
    pub units: usize,
    /// For every outcome, the averages over the units on support, over all units, over those without a flag, and over each
    /// class.
    pub averages: Vec<AverageEffect>,
    /// For every outcome, the average over all units beside plain estimates of it. Empty if both treatments are equal, or if
    /// the data allow no plain estimate.
    pub plain: Vec<PlainComparison>,
    /// For the outcomes that are drawn, the average effects in subgroups, those that differ most first. Empty if the average effects are
    /// not doubly robust, or if there is no covariate to split by.
    pub subgroups: Vec<CovariateSplit>,
    /// The distribution of the effects on each outcome that is drawn.
    pub outcomes: Vec<OutcomeEffects>,
    /// The number of units without a flag.
    pub ok: usize,
    /// The number of units whose effect cannot be answered for: off support, not identified, or with an extreme value or answer.
    pub unanswerable: usize,
    /// The number of units flagged [`AmbiguousClass`](crate::ask::Flag::AmbiguousClass).
    pub ambiguous_class: usize,
    /// The number of units flagged [`OffSupport`](crate::ask::Flag::OffSupport).
    pub off_support: usize,
    /// Units with a covariate or outcome far from all others.
    pub extreme_value: usize,
    /// The number of units flagged [`StartsDisagree`](crate::ask::Flag::StartsDisagree).
    pub starts_disagree: usize,
    /// Units with the flag `not_identified`.
    pub not_identified: usize,
    /// Units with the flag `extreme_answer`.
    pub extreme_answer: usize,
    /// Units with the flag `single_member`.
    pub single_member: usize,
}

/// The distribution over units of the effect on one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeEffects {
    /// The name of the outcome.
    pub name: String,
    /// The share of units whose point answer is higher under the high treatment.
    pub higher: f64,
    /// The 10th and the 90th percentile of the units' point answers.
    pub middle: [f64; 2],
    /// The units' point answers. Where effects by class are identified, by class: every unit counts for each by its posterior.
    pub histogram: WeightedHistogram,
}

impl Effects {
    /// The flags that answers have, with the number of units that have them.
    pub fn flags(&self) -> Vec<(Flag, usize)> {
        let count = |flag: &Flag| match flag {
            // a report is on units with outcomes
            Flag::NoOutcome => 0,
            Flag::ExtremeValue => self.extreme_value,
            Flag::OffSupport => self.off_support,
            Flag::AmbiguousClass => self.ambiguous_class,
            Flag::StartsDisagree => self.starts_disagree,
            Flag::NotIdentified => self.not_identified,
            Flag::ExtremeAnswer => self.extreme_answer,
            Flag::SingleMember => self.single_member,
        };
        Flag::ALL.into_iter().map(|flag| (flag, count(&flag))).filter(|(_, units)| *units > 0).collect()
    }
}

/// Whether a unit with this flag has no effect that could be relied on, however wide its interval.
pub(super) fn is_unanswerable(diagnosis: &Diagnosis) -> bool {
    [Flag::OffSupport, Flag::NotIdentified, Flag::ExtremeValue, Flag::ExtremeAnswer]
        .into_iter()
        .any(|flag| diagnosis.has(flag))
}

impl ReportContext<'_> {
    /// The indices of the outcomes with the largest average effects relative to their standard deviations, in rising
    /// order.
    pub(super) fn outcomes_to_draw(&self, effects: &Answers) -> Vec<usize> {
        let relative_size = |outcome: &Outcome| {
            let sum: f64 = (0..self.data.len()).map(|i| outcome.mean(&effects.point, i).abs()).sum();
            sum / f64::from(self.model.scaler().y.deviation(outcome.range.start))
        };
        let mut order: Vec<(usize, f64)> = self.outcomes.iter().map(relative_size).enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut drawn: Vec<usize> = order.into_iter().take(MAX_DRAWN_OUTCOMES).map(|(i, _)| i).collect();
        drawn.sort_unstable();
        drawn
    }

    /// A summary of the effects on all units, with the distributions for the outcomes `drawn`.
    pub(super) fn summarise_effects(&self, effects: &Answers, drawn: &[usize]) -> Result<Effects> {
        let mut averages = Averages::new(self.model, self.ask.level);
        averages.add(effects);
        let count = |has: fn(&Diagnosis) -> bool| effects.diagnoses.iter().filter(|d| has(d)).count();
        let (from, to) = (self.from.row(0), self.to.row(0));
        let (mut plain, mut subgroups) = (Vec::new(), Vec::new());
        if !self.compares_equal()
            && let Some(sample) = self.model.effect_sample(self.all, &from, &to, self.ask)?
        {
            averages.correct(&sample);
            plain = self.model.compare_sample(&sample, &from, &to, self.ask)?;
            subgroups = self.subgroup_effects(&sample, drawn)?;
        }
        Ok(Effects {
            units: self.all.len(),
            averages: averages.finish(),
            plain,
            subgroups,
            outcomes: drawn.iter().map(|&o| self.distribution(effects, o)).collect(),
            ok: count(Diagnosis::ok),
            unanswerable: count(is_unanswerable),
            ambiguous_class: count(|diagnosis| diagnosis.ambiguous_class),
            off_support: count(|diagnosis| diagnosis.off_support),
            extreme_value: count(|diagnosis| diagnosis.extreme_value),
            starts_disagree: count(|diagnosis| diagnosis.starts_disagree),
            not_identified: count(|diagnosis| diagnosis.not_identified),
            extreme_answer: count(|diagnosis| diagnosis.extreme_answer),
            single_member: count(|diagnosis| diagnosis.single_member),
        })
    }

    fn distribution(&self, effects: &Answers, o: usize) -> OutcomeEffects {
        let outcome = &self.outcomes[o];
        let values: Vec<f64> =
            (0..effects.diagnoses.len()).map(|i| outcome.mean(&effects.point, i)).collect();
        let higher = values.iter().filter(|effect| **effect > 0.0).count();
        let classes = if self.model.has_class_effects() { self.model.classes() } else { 1 };
        let weights = |i: usize| -> Vec<f64> {
            match classes {
                1 => vec![1.0],
                _ => (0..classes).map(|k| self.probability(effects, i, k)).collect(),
            }
        };
        OutcomeEffects {
            name: outcome.name.clone(),
            higher: higher as f64 / values.len() as f64,
            middle: middle_share(&values),
            histogram: WeightedHistogram::new(classes, &values, weights),
        }
    }
}

/// The 10th and the 90th percentile of `values`; NaN if there are none.
pub(super) fn middle_share(values: &[f64]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return [f64::NAN; 2] };
    [0.1, 0.9].map(|share| sorted[(share * last as f64).round() as usize])
}
