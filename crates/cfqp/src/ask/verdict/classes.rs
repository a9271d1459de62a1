//! Verdicts on the classes: whether they can be told apart, and their number.

use super::grade::{Assumption, Grade, Verdict, VerdictLimits};
use super::true_share;
use crate::ask::Answers;
use crate::config::Classes;
use crate::data::OutcomeKind;
use crate::density::SUBJECTS_PER_CLASS;
use crate::model::{Model, Predictor};

/// The gain of one more class, relative to that of the last class, above which the number of classes is doubtful.
pub(super) const MAX_FURTHER_GAIN: f64 = 0.1;
/// The shares of units with a clear class: of larger outcomes, and of tables, whose answers take the class as uncertain as it is.
pub(super) const SEPARATION: VerdictLimits = VerdictLimits { ok: 0.9, failed: 0.7 };
pub(super) const TABLE_SEPARATION: VerdictLimits = VerdictLimits { ok: 0.5, failed: 0.0 };
/// The share of units in the smallest class.
pub(super) const CLASS_SIZE: VerdictLimits = VerdictLimits { ok: 0.05, failed: 0.005 };

impl Model {
    /// Separation: the share of units with one clearly most probable class; not tested with one class.
    pub(super) fn separation(&self, factual: &Answers) -> Verdict {
        let limits = self.separation_limits();
        let classes = self.classes();
        if classes == 1 {
            let sentence = "the model has one class: there are none to tell apart".to_owned();
            return Verdict::not_tested(Assumption::Separation, limits, sentence);
        }
        let clear = true_share(factual.diagnoses.iter().map(|diagnosis| !diagnosis.ambiguous_class));
        let sentence = format!(
            "{:.1}% of units belong to one of the {classes} classes with a probability of at least 0.9",
            100.0 * clear
        );
        Verdict::new(Assumption::Separation, clear, limits, sentence)
            .advise("answers for the others average over classes, with wider intervals and the flag `ambiguous_class`")
    }

    fn separation_limits(&self) -> VerdictLimits {
        if matches!(self.predictor, Predictor::Density(_)) { TABLE_SEPARATION } else { SEPARATION }
    }

    /// Number of classes: the share of the smallest class, or 0 if one class suffices. Also doubtful if one more class
    /// gains much of what the last one gained. Not tested with one class: that no more were shown does not mean that there are
    /// none.
    pub(super) fn number_of_classes(&self) -> Verdict {
        let (report, limits) = (self.fit_report(), CLASS_SIZE);
        if let Some(sentence) = self.untested_classes() {
            let mut verdict = Verdict::not_tested(Assumption::NumberOfClasses, limits, sentence);
            if let Some(reason) = self.scarce_classes() {
                verdict.grade = Grade::Doubtful;
                verdict.sentence += &reason;
            }
            return verdict;
        }
        let all: usize = report.class_sizes.iter().sum();
        let smallest = report.class_sizes.iter().min().copied().unwrap_or(0) as f64 / all.max(1) as f64;
        let one_suffices = self.classes() > 1 && report.one_class_suffices;
        let sentence = match self.classes() {
            1 => return Verdict::not_tested(Assumption::NumberOfClasses, limits, self.no_classes()),
            k if one_suffices => {
                format!("one class explains held-out units as well as {k}: fit one class instead")
            }
            k => {
                format!(
                    "held-out units support {k} classes; the smallest has {:.1}% of units",
                    100.0 * smallest
                )
            }
        };
        let figure = if one_suffices { 0.0 } else { smallest };
        let mut verdict = Verdict::new(Assumption::NumberOfClasses, figure, limits, sentence);
        if !one_suffices {
            verdict = verdict.advise("little is known about the smallest; fit fewer classes");
        }
        if let Some(sentence) = report.alike_sentence() {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            verdict.sentence += &format!("; {sentence}");
        }
        if let Some(share) = self.further_gain().filter(|share| *share > MAX_FURTHER_GAIN) {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            let gain = 100.0 * share;
            verdict.sentence += &format!(
                "; one more class would gain {gain:.0}% of what the last one gained: units may differ continuously; do not \
                 read classes as kinds of units"
            );
        }
        verdict
    }

    /// What one class means: that more were not shown, not that there are none.
    fn no_classes(&self) -> String {
        let units = self.fit_report().units.total();
        format!(
            "no hidden classes could be shown with these {units} units; units may still respond differently in ways that so \
             many do not show, which intervals allow for"
        )
    }

    /// Why nothing can be said about the number of classes, if the fit tried no other number.
    fn untested_classes(&self) -> Option<String> {
        if let Some(sentence) = self.unseen_classes() {
            return Some(sentence.to_owned());
        }
        let tried = self.tried_classes();
        let is_tested = tried.len() > 1 || (tried.len() == 1 && self.header.config.classes == Classes::Auto);
        (!is_tested).then(|| match self.classes() {
            1 => "the model was given one class; no other number was tried".to_owned(),
            k => format!("the model was given {k} classes; no other number was tried"),
        })
    }

    /// Why classes of a table may be noise, if there are few units for each.
    fn scarce_classes(&self) -> Option<String> {
        let (units, k) = (self.fit_report().units.total(), self.classes());
        let is_scarce =
            matches!(self.predictor, Predictor::Density(_)) && k > 1 && units < SUBJECTS_PER_CLASS * k;
        is_scarce.then(|| {
            format!(
                "; {units} units are few for {k} classes: fit fewer than one class per {SUBJECTS_PER_CLASS} units"
            )
        })
    }

    /// The numbers of classes that the fit tried.
    fn tried_classes(&self) -> Vec<usize> {
        let mut tried: Vec<usize> = self.fit_report().candidates.iter().map(|tried| tried.classes).collect();
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// Why outcomes cannot show hidden classes, if that is so.
    pub(super) fn unseen_classes(&self) -> Option<&'static str> {
        let is_single = OutcomeKind::is_single_chance(&self.outcome_kinds());
        let is_unseen = is_single && self.tried_classes().len() < 2 && self.learned_rho().is_none();
        is_unseen.then_some("one yes/no outcome or category per unit does not show hidden classes")
    }

    /// The gain of one more class relative to that of the last class; `None` if it was not tried.
    fn further_gain(&self) -> Option<f64> {
        let tried = &self.fit_report().candidates;
        let base = &tried.iter().find(|tried| tried.chosen)?.base;
        let nll = |classes: usize| {
            let found = tried.iter().find(|tried| tried.base == *base && tried.classes == classes);
            found.map(|tried| tried.full_nll)
        };
        let k = self.classes();
        if k == 1 {
            return None;
        }
        let (last_gain, further_gain) = (nll(k - 1)? - nll(k)?, nll(k)? - nll(k + 1)?);
        (last_gain > 0.0).then(|| further_gain / last_gain)
    }
}
