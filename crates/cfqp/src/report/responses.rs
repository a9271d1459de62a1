//! Responses to treatments: effects between two treatments, and dose-response curves of the classes.

use serde::Serialize;

use super::{Histogram, Outcome, ReportContext};
use crate::Result;
use crate::ask::{AnswerClass, Answers, AverageEffect, Averages, Diagnosis, PlainComparison};
use crate::data::Units;
use crate::data::table::TreatmentValue;

/// The largest number of outcomes that are drawn: if there are more, those with the largest effects.
const MAX_DRAWN_OUTCOMES: usize = 8;
/// The correlation of the noise with which classes answer where it is unknown: its mean.
const UNKNOWN_RHO: f64 = 0.5;
/// A class with fewer units has no means.
const MIN_CLASS_UNITS: f64 = 1e-3;

/// The effects of the high treatment against the low one.
#[derive(Clone, Debug, Serialize)]
pub struct Effects {
    /// For every outcome, the averages over the units on support, over all units, over those without a flag, and over each
    /// class.
    pub averages: Vec<AverageEffect>,
    /// For every outcome, the average over all units beside plain estimates of it. Empty if both treatments are equal, or if
    /// the data allow no plain estimate.
    pub plain: Vec<PlainComparison>,
    /// The distribution of the effects on each outcome that is drawn.
    pub outcomes: Vec<OutcomeEffects>,
    /// The number of units without a flag.
    pub ok: usize,
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
    /// The share of units whose outcome is higher under the high treatment.
    pub higher: f64,
    /// The number of units per bin, grouped by class.
    pub histogram: Histogram,
}

/// The dose-response curves of the classes.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// The treatments: evenly spaced ones, or one per level.
    pub grid: Vec<Vec<TreatmentValue>>,
    /// The curves of each outcome that is drawn.
    pub outcomes: Vec<OutcomeCurves>,
}

/// The dose-response curves of one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeCurves {
    /// The name of the outcome.
    pub name: String,
    /// The curve of each class.
    pub classes: Vec<Curve>,
}

/// The mean answer of a class at every treatment over units by their probability of it, and the mean distances of the ends of their
/// intervals around it. NaN for a class without units.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    /// The mean answers.
    pub mean: Vec<f64>,
    /// The mean lower ends.
    pub lower: Vec<f64>,
    /// The mean upper ends.
    pub upper: Vec<f64>,
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
        let distribution = |&o: &usize| {
            let outcome = &self.outcomes[o];
            let diagnoses = effects.diagnoses.iter().enumerate();
            let values: Vec<(usize, f64)> =
                diagnoses.map(|(i, diagnosis)| (diagnosis.class, outcome.mean(&effects.point, i))).collect();
            let higher = values.iter().filter(|(_, effect)| *effect > 0.0).count();
            OutcomeEffects {
                name: outcome.name.clone(),
                higher: higher as f64 / values.len() as f64,
                histogram: Histogram::from_values(self.model.classes(), &values),
            }
        };
        let count = |has: fn(&Diagnosis) -> bool| effects.diagnoses.iter().filter(|d| has(d)).count();
        let (from, to) = (self.from.row(0), self.to.row(0));
        let mut plain = Vec::new();
        if from != to
            && let Some(sample) = self.model.effect_sample(self.data, &from, &to, self.ask)?
        {
            averages.correct(&sample);
            plain = self.model.compare_sample(&sample, &from, &to, self.ask)?;
        }
        Ok(Effects {
            averages: averages.finish(),
            plain,
            outcomes: drawn.iter().map(distribution).collect(),
            ok: count(Diagnosis::ok),
            ambiguous_class: count(|diagnosis| diagnosis.ambiguous_class),
            off_support: count(|diagnosis| diagnosis.off_support),
            extreme_value: count(|diagnosis| diagnosis.extreme_value),
            starts_disagree: count(|diagnosis| diagnosis.starts_disagree),
            not_identified: count(|diagnosis| diagnosis.not_identified),
            extreme_answer: count(|diagnosis| diagnosis.extreme_answer),
            single_member: count(|diagnosis| diagnosis.single_member),
        })
    }

    /// The dose-response curves of the classes over the treatments `grid`, and the share of units for which each treatment is
    /// within the support.
    pub(super) fn class_curves(
        &self,
        grid: &[Units],
        effects: &Answers,
        drawn: &[usize],
    ) -> Result<(Curves, Vec<f64>)> {
        let empty = |&o: &usize| OutcomeCurves {
            name: self.outcomes[o].name.clone(),
            classes: vec![Curve::default(); self.model.classes()],
        };
        let mut outcomes: Vec<OutcomeCurves> = drawn.iter().map(empty).collect();
        let mut overlap = Vec::new();
        for t in grid {
            let answers = self.model.outcomes(self.data, t, self.ask)?;
            let supported = answers.diagnoses.iter().filter(|diagnosis| !diagnosis.off_support).count();
            overlap.push(supported as f64 / answers.diagnoses.len() as f64);
            let of_classes = self.class_answers(t)?;
            for (curves, &o) in outcomes.iter_mut().zip(drawn) {
                let all = |units: &Units| self.class_means(effects, o, |_| units);
                let mean = self.class_means(effects, o, |k| &of_classes[k]);
                let (point, lower, upper) = (all(&answers.point), all(&answers.lower), all(&answers.upper));
                for (k, curve) in curves.classes.iter_mut().enumerate() {
                    curve.mean.push(mean[k]);
                    curve.lower.push(mean[k] + lower[k] - point[k]);
                    curve.upper.push(mean[k] + upper[k] - point[k]);
                }
            }
        }
        let grid = grid.iter().map(|t| self.treatment_values(&t.row(0))).collect();
        Ok((Curves { grid, outcomes }, overlap))
    }

    /// The probability that unit `i` belongs to class `k`.
    pub(super) fn probability(&self, effects: &Answers, i: usize, k: usize) -> f64 {
        f64::from(effects.posterior[i * self.model.classes() + k])
    }

    /// The answers of every class for all units under `t`.
    pub(super) fn class_answers(&self, t: &Units) -> Result<Vec<Units>> {
        let rho = self.model.used_rho(self.ask.rho).rho.unwrap_or(UNKNOWN_RHO) as f32;
        let answer = |k: usize| {
            let given = vec![k; self.data.len()];
            self.model.answer_by_class(self.data, t, AnswerClass::Given(&given), rho)
        };
        (0..self.model.classes()).map(answer).collect()
    }

    /// The mean of outcome `o` over the units of each class, of values that may depend on the class; NaN for a class without units.
    pub(super) fn class_means<'u>(
        &self,
        effects: &Answers,
        o: usize,
        values: impl Fn(usize) -> &'u Units,
    ) -> Vec<f64> {
        let mean = |k: usize| {
            let units = values(k);
            let each = (0..self.data.len()).map(|i| (self.probability(effects, i, k), i));
            let (sum, n) = each.fold((0.0, 0.0), |(sum, n), (weight, i)| {
                (sum + weight * self.outcomes[o].mean(units, i), n + weight)
            });
            if n > MIN_CLASS_UNITS { sum / n } else { f64::NAN }
        };
        (0..self.model.classes()).map(mean).collect()
    }
}
