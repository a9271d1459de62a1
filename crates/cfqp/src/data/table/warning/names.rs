//! Names that say that the treatment and the outcome are swapped.

use super::super::layout::Layout;
use super::Warning;

/// Names of outcomes and of treatments, in upper or lower case.
const OUTCOMES: [&str; 6] = ["outcome", "y", "response", "result", "target", "endpoint"];
const TREATMENTS: [&str; 7] = ["treatment", "t", "dose", "arm", "treated", "exposure", "intervention"];

/// The warning that a treatment is named like an outcome, or an outcome like a treatment. Nothing else is looked at: a yes/no outcome
/// of a dose is as ordinary as a dose of two values.
pub(super) fn swapped_names(layout: &Layout) -> Option<Warning> {
    let is_one_of = |words: &[&str], name: &str| words.iter().any(|word| name.eq_ignore_ascii_case(word));
    let (treatments, outcomes) = (layout.treatment_names(), layout.outcome_columns());
    let treatment = treatments.iter().find(|name| is_one_of(&OUTCOMES, name));
    let outcome = outcomes.iter().find(|name| is_one_of(&TREATMENTS, name));
    if treatment.is_none() && outcome.is_none() {
        return None;
    }
    let named = |found: Option<&String>, all: &[String]| found.or(all.first()).cloned().unwrap_or_default();
    let (treatment, outcome) = (named(treatment, &treatments), named(outcome, &outcomes));
    Some(Warning::SwappedNames { treatment, outcome })
}
