//! The default recipe: starts and EM, choice of base model and K, ensemble, scales, weights, calibration.

use super::final_mixture::{LabelledClasses, fit_mixture, most_probable_classes};
use super::finish::finish;
use crate::Result;
use crate::config::Classes;
use crate::math::{adjusted_rand_index, mean};
use crate::model::{FitReport, Mixture, Model, StartReport};
use crate::search::{Attempt, Candidate, Selection, select};
use crate::train::Context;

/// A start found another solution if its classes agree less than this with the best one's (adjusted Rand index) ...
const MAX_AGREEMENT: f64 = 0.9;
/// ... and it is kept if its negative log-likelihood per element is within this of the best.
const MAX_NLL_GAP: f64 = 0.02;
/// Largest number of other solutions kept.
const MAX_ALTERNATIVES: usize = 2;

pub(super) fn fit_default(context: &Context<'_>) -> Result<Model> {
    let Selection { chosen, candidates, one_class_suffices } = select(context)?;
    let best = &chosen.attempts[0];
    let labels = most_probable_classes(context, &best.solution.mixture, &context.split.learning());
    let (base, classes, sharing) = (&chosen.base, chosen.classes, best.sharing);
    let labelled = LabelledClasses { base, classes, sharing, labels, known: false };
    let (mixture, report) = fit_mixture(context, labelled)?;
    let alternatives = alternatives(context, &chosen);
    let starts = start_reports(&chosen.attempts);
    let report = FitReport {
        candidates,
        one_class_suffices,
        agreement: agreement(&starts),
        starts,
        notes: notes(&chosen, one_class_suffices && context.config.classes != Classes::Given(1)),
        ..report
    };
    finish(context, chosen.base, mixture, alternatives, report)
}

/// Solutions of other starts that held-out units do not rule out.
fn alternatives(context: &Context<'_>, candidate: &Candidate) -> Vec<Mixture> {
    let best = &candidate.attempts[0];
    let limit = best.nll() + MAX_NLL_GAP * context.scaler.y.elements() as f64;
    let other = |attempt: &&Attempt| {
        attempt.nll() < limit
            && adjusted_rand_index(&attempt.solution.labels, &best.solution.labels) < MAX_AGREEMENT
    };
    let others = candidate.attempts[1..].iter().filter(other).take(MAX_ALTERNATIVES);
    others.map(|attempt| attempt.solution.mixture.clone()).collect()
}

fn start_reports(attempts: &[Attempt]) -> Vec<StartReport> {
    let best = &attempts[0].solution.labels;
    let report = |attempt: &Attempt| {
        let start = attempt.start?;
        let agreement = adjusted_rand_index(&attempt.solution.labels, best);
        Some(StartReport { start, sharing: attempt.sharing, nll: attempt.nll(), agreement })
    };
    attempts.iter().filter_map(report).collect()
}

/// Mean agreement of the other starts with the best; 1 if there are none.
fn agreement(starts: &[StartReport]) -> f64 {
    let others: Vec<f64> = starts.iter().skip(1).map(|start| start.agreement).collect();
    if others.is_empty() { 1.0 } else { mean(&others) }
}

/// Remarks; `one_class_suffices` if other numbers of classes were tried and explain held-out units no better.
fn notes(candidate: &Candidate, one_class_suffices: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if one_class_suffices && candidate.classes > 1 {
        notes.push(format!(
            "no hidden classes found: one class explains held-out units as well as {}; fit with one class",
            candidate.classes
        ));
    } else if one_class_suffices {
        notes.push("no hidden classes could be shown with these units: the model has one class".to_owned());
    }
    let reseeded = candidate.attempts[0].solution.reseeded;
    if reseeded > 0 {
        notes
            .push(format!("a class lost its units and was seeded again {reseeded} times; try fewer classes"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sharing, Start};

    #[test]
    fn agreement_is_the_mean_over_the_starts_after_the_best() {
        let start =
            |agreement| StartReport { start: Start::Kmeans, sharing: Sharing::Separate, nll: 0.0, agreement };
        assert_eq!(agreement(&[]), 1.0);
        assert_eq!(agreement(&[start(1.0)]), 1.0);
        assert_eq!(agreement(&[start(1.0), start(0.5), start(0.25)]), 0.375);
    }
}
