//! What "ok" promises, for every verdict, and whether it is true of a scenario.

use serde::{Deserialize, Serialize};

use cfqp::ask::{Assumption, Grade};
use cfqp::eval::{best_matching, class_accuracy};
use cfqp::rivals::Method;
use cfqp::{Answers, Units};

use super::run::{ScenarioRun, grade};
use super::score::Scale;
use super::summary::BAND;

/// A class with this probability is clear.
const CLEAR: f64 = 0.9;
/// The promise that clear classes are right holds if this share of them is.
const MIN_ACCURACY: f64 = 0.8;
/// The promise that average effects are right holds within this many standard deviations of y.
const MAX_BIAS: f64 = 0.1;

/// What is true of the answers about the test units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Truths {
    /// The share of units with a clear class whose class is right under the best matching; none if no class is clear.
    pub clear_accuracy: Option<f64>,
    /// The largest difference between the share of a class, by posteriors, and the true one; none if the number of classes is
    /// one or wrong.
    pub size_error: Option<f64>,
    /// The coverage of answers on support; none if there are none.
    pub supported_coverage: Option<f64>,
    /// The mean of the units' effects minus the true one, in standard deviations of y: the largest over outcomes.
    pub effect_bias: f64,
}

/// Answers about the test units, and the truth.
pub(super) struct Answered<'a> {
    pub outcomes: &'a Answers,
    pub effects: &'a Answers,
    pub covered: &'a Units,
    pub effect: &'a Units,
    pub z: &'a [usize],
    pub true_classes: usize,
}

impl Truths {
    pub(super) fn new(scale: &Scale, answered: &Answered<'_>) -> Self {
        let Answered { outcomes, effects, covered, effect, z, .. } = *answered;
        let supported: Vec<usize> = (0..z.len()).filter(|&i| !outcomes.diagnoses[i].off_support).collect();
        Self {
            clear_accuracy: clear_accuracy(&outcomes.posterior, z),
            size_error: size_error(&outcomes.posterior, z, answered.true_classes),
            supported_coverage: (!supported.is_empty())
                .then(|| scale.coverage_of(covered, outcomes, &supported)),
            effect_bias: scale.bias(effect, &effects.point),
        }
    }
}

/// The posterior of every unit.
fn of_units(posterior: &[f32], units: usize) -> impl Iterator<Item = &[f32]> {
    posterior.chunks_exact(posterior.len() / units.max(1))
}

fn most_probable(posterior: &[f32]) -> usize {
    (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b])).unwrap_or(0)
}

fn clear_accuracy(posterior: &[f32], z: &[usize]) -> Option<f64> {
    let is_clear =
        |posterior: &[f32]| posterior.len() > 1 && f64::from(posterior[most_probable(posterior)]) >= CLEAR;
    let clear = of_units(posterior, z.len()).zip(z).filter(|(posterior, _)| is_clear(posterior));
    let (truth, found): (Vec<usize>, Vec<usize>) =
        clear.map(|(posterior, z)| (*z, most_probable(posterior))).unzip();
    (!found.is_empty()).then(|| class_accuracy(&truth, &found))
}

fn size_error(posterior: &[f32], z: &[usize], true_classes: usize) -> Option<f64> {
    let classes = posterior.len() / z.len().max(1);
    if classes < 2 || classes != true_classes {
        return None;
    }
    let found: Vec<usize> = of_units(posterior, z.len()).map(most_probable).collect();
    let matching = best_matching(z, &found);
    let share = |sum: f64| sum / z.len() as f64;
    let error = |k: usize| {
        let own = share(of_units(posterior, z.len()).map(|posterior| f64::from(posterior[k])).sum());
        let truth = matching.get(k).copied().flatten();
        let truth = truth.map_or(0.0, |class| share(z.iter().filter(|z| **z == class).count() as f64));
        (own - truth).abs()
    };
    Some((0..classes).map(error).fold(0.0, f64::max))
}

/// What "ok" promises.
pub(super) fn promise(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::Separation => "of the units with a clear class, 80% are of that class",
        Assumption::Overlap => "intervals of answers on support cover at least 0.82",
        Assumption::AgreementOfStarts | Assumption::Calibration | Assumption::Identification => {
            "90% intervals cover at least 0.82"
        }
        Assumption::NumberOfClasses => "there are several classes",
        Assumption::PredictivePower => "boosted trees predict outcomes of fresh units better than a constant",
        Assumption::PlainAgreement => "the mean effect is within 0.1 standard deviations of y",
    }
}

/// Whether what "ok" promises is true of a run; none if it promises nothing.
fn is_true(assumption: Assumption, run: &ScenarioRun) -> Option<bool> {
    let truths = run.truths.as_ref()?;
    match assumption {
        Assumption::Separation => truths.clear_accuracy.map(|share| share >= MIN_ACCURACY),
        Assumption::Overlap => truths.supported_coverage.map(|coverage| coverage >= BAND.0),
        Assumption::AgreementOfStarts | Assumption::Calibration | Assumption::Identification => {
            Some(run.main().coverage >= BAND.0)
        }
        Assumption::NumberOfClasses => Some(run.true_classes > 1),
        Assumption::PredictivePower => run.baseline(Method::Regression).map(|error| error < 1.0),
        Assumption::PlainAgreement => Some(truths.effect_bias <= MAX_BIAS),
    }
}

/// The grades of one verdict against what "ok" promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Hits {
    pub name: &'static str,
    pub promise: &'static str,
    /// Scenarios with the grade "ok", and those of them of which the promise is true.
    pub ok: usize,
    pub ok_and_true: usize,
    /// The same with "doubtful" or "failed".
    pub warned: usize,
    pub warned_and_true: usize,
}

impl Hits {
    /// Of every verdict; none of those that were never given.
    pub(super) fn all(runs: &[ScenarioRun]) -> Vec<Self> {
        let all = Assumption::ALL.into_iter().map(|assumption| Self::new(assumption, runs));
        all.filter(|hits| hits.ok + hits.warned > 0).collect()
    }

    fn new(assumption: Assumption, runs: &[ScenarioRun]) -> Self {
        let mut hits = Self {
            name: assumption.name(),
            promise: promise(assumption),
            ok: 0,
            ok_and_true: 0,
            warned: 0,
            warned_and_true: 0,
        };
        for run in runs {
            let Some(truth) = is_true(assumption, run) else { continue };
            let (count, and_true) = match grade(&run.verdicts, assumption) {
                Grade::NotTested => continue,
                Grade::Ok => (&mut hits.ok, &mut hits.ok_and_true),
                Grade::Doubtful | Grade::Failed => (&mut hits.warned, &mut hits.warned_and_true),
            };
            *count += 1;
            *and_true += usize::from(truth);
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_compared_under_the_best_matching() {
        let posterior: Vec<f32> = [[0.05, 0.95], [0.2, 0.8], [1.0, 0.0], [0.05, 0.95]].concat();
        let z = [0, 0, 1, 0];
        // by posteriors 0.325 and 0.675
        let error = size_error(&posterior, &z, 2).unwrap();
        assert!((error - 0.075).abs() < 1e-6, "{error}");
        assert_eq!(size_error(&posterior, &z, 3), None);
        assert_eq!(clear_accuracy(&posterior, &z), Some(1.0));
        assert_eq!(clear_accuracy(&posterior, &[1, 0, 0, 0]), Some(2.0 / 3.0));
    }
}
