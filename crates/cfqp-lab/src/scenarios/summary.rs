//! Runs of scenarios in numbers.

use serde::Serialize;

use cfqp::ask::Grade;
use cfqp::rivals::Method;

use super::promises::Hits;
use super::run::{BASELINES, ScenarioRun};
use super::score::IntervalScores;

/// Coverage of 90% intervals within this band is as it should be.
pub(super) const BAND: (f64, f64) = (0.82, 0.97);
/// Scenarios with at least so many training units have many.
pub(super) const MANY_UNITS: usize = 800;
/// A smaller excess counts as this, in variances of y.
pub(super) const MIN_EXCESS: f64 = 1e-4;

/// A group of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
    All,
    ContinuousOneClass,
    ContinuousSeveral,
    FewOneClass,
    FewSeveral,
}

impl Group {
    pub(super) const ALL: [Self; 5] =
        [Self::All, Self::ContinuousOneClass, Self::ContinuousSeveral, Self::FewOneClass, Self::FewSeveral];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::ContinuousOneClass => "continuous t, one class",
            Self::ContinuousSeveral => "continuous t, several classes",
            Self::FewOneClass => "few values of t, one class",
            Self::FewSeveral => "few values of t, several classes",
        }
    }

    pub(super) fn has(self, run: &ScenarioRun) -> bool {
        let is_continuous = is_continuous(run);
        let is_single = run.true_classes == 1;
        match self {
            Self::All => true,
            Self::ContinuousOneClass => is_continuous && is_single,
            Self::ContinuousSeveral => is_continuous && !is_single,
            Self::FewOneClass => !is_continuous && is_single,
            Self::FewSeveral => !is_continuous && !is_single,
        }
    }
}

/// What intervals are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    Outcomes,
    OutcomesAuto,
    Effects,
    EffectsAuto,
}

impl Asked {
    pub(super) const ALL: [Self; 4] = [Self::Outcomes, Self::OutcomesAuto, Self::Effects, Self::EffectsAuto];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Outcomes => "outcomes, rho 1",
            Self::OutcomesAuto => "outcomes, rho auto",
            Self::Effects => "effects, rho 1",
            Self::EffectsAuto => "effects, rho auto",
        }
    }

    fn scores(self, run: &ScenarioRun) -> Option<&IntervalScores> {
        match self {
            Self::Outcomes | Self::Effects => run.same_noise.as_ref(),
            Self::OutcomesAuto | Self::EffectsAuto => Some(&run.auto),
        }
    }

    fn coverage(self, scores: &IntervalScores) -> f64 {
        match self {
            Self::Outcomes | Self::OutcomesAuto => scores.coverage,
            Self::Effects | Self::EffectsAuto => scores.effect_coverage,
        }
    }
}

/// The distribution of coverage over scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct CoverageSummary {
    pub group: Group,
    pub asked: Asked,
    pub scenarios: usize,
    pub mean: f64,
    /// The 10th percentile.
    pub low: f64,
    /// The share of scenarios in the band, and below it.
    pub in_band: f64,
    pub below_band: f64,
    /// Medians of the ratios of widths; of outcomes only.
    pub width_over_marginal: Option<f64>,
    pub width_over_bayes: Option<f64>,
}

impl CoverageSummary {
    fn new(group: Group, asked: Asked, runs: &[ScenarioRun]) -> Option<Self> {
        let scores: Vec<&IntervalScores> =
            runs.iter().filter(|run| group.has(run)).filter_map(|run| asked.scores(run)).collect();
        let coverage: Vec<f64> = scores.iter().map(|scores| asked.coverage(scores)).collect();
        let share = |is: &dyn Fn(f64) -> bool| {
            coverage.iter().filter(|coverage| is(**coverage)).count() as f64 / coverage.len() as f64
        };
        let is_outcomes = matches!(asked, Asked::Outcomes | Asked::OutcomesAuto);
        let ratios = |ratio: fn(&IntervalScores) -> Option<f64>| {
            quantile(scores.iter().filter(|_| is_outcomes).filter_map(|scores| ratio(scores)), 0.5)
        };
        Some(Self {
            group,
            asked,
            scenarios: scores.len(),
            mean: mean(coverage.iter().copied())?,
            low: quantile(coverage.iter().copied(), 0.1)?,
            in_band: share(&|coverage| (BAND.0..=BAND.1).contains(&coverage)),
            below_band: share(&|coverage| coverage < BAND.0),
            width_over_marginal: ratios(|scores| scores.width_over_marginal),
            width_over_bayes: ratios(|scores| scores.width_over_bayes),
        })
    }
}

/// Excess errors over some scenarios: medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ExcessSummary {
    pub name: String,
    pub scenarios: usize,
    pub excess: f64,
    /// Of rho auto.
    pub excess_auto: f64,
    /// One per baseline.
    pub baselines: Vec<f64>,
    /// The share of scenarios in which the error is smaller than that of each baseline.
    pub ahead: Vec<f64>,
}

impl ExcessSummary {
    fn new(name: &str, runs: &[&ScenarioRun]) -> Option<Self> {
        let of = |value: &dyn Fn(&ScenarioRun) -> Option<f64>| {
            quantile(runs.iter().filter_map(|run| value(run)), 0.5)
        };
        let baseline =
            |method: Method| of(&|run| Some(run.baseline(method)? - run.limit)).unwrap_or(f64::NAN);
        let ahead = |method: Method| {
            let is_ahead = |run: &&&ScenarioRun| run.baseline(method).is_some_and(|error| run.error < error);
            runs.iter().filter(is_ahead).count() as f64 / runs.len() as f64
        };
        Some(Self {
            name: name.to_owned(),
            scenarios: runs.len(),
            excess: of(&|run| Some(run.excess))?,
            excess_auto: of(&|run| Some(run.excess_auto))?,
            baselines: BASELINES.into_iter().map(baseline).collect(),
            ahead: BASELINES.into_iter().map(ahead).collect(),
        })
    }
}

/// The excess error over that of the best baseline that adds the residual to a regression, trees or a process, in scenarios with
/// one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct PartSummary {
    pub scenarios: usize,
    /// The median ratio of the excess errors, and the 90th percentile.
    pub median: f64,
    pub high: f64,
}

impl PartSummary {
    fn new(runs: &[ScenarioRun]) -> Option<Self> {
        let ratio = |run: &ScenarioRun| {
            let parts = [Method::Residual, Method::Process].map(|method| run.baseline(method));
            let best = parts.into_iter().flatten().fold(f64::INFINITY, f64::min);
            run.excess.max(MIN_EXCESS) / (best - run.limit).max(MIN_EXCESS)
        };
        let is_single = |run: &&ScenarioRun| run.true_classes == 1 && run.same_noise.is_some();
        let ratios: Vec<f64> = runs.iter().filter(is_single).map(ratio).collect();
        Some(Self {
            scenarios: ratios.len(),
            median: quantile(ratios.iter().copied(), 0.5)?,
            high: quantile(ratios.iter().copied(), 0.9)?,
        })
    }
}

/// The verdict on calibration against the coverage that it forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct VerdictSummary {
    pub ok_and_covers: usize,
    pub ok_and_under_covers: usize,
    pub warned_and_covers: usize,
    pub warned_and_under_covers: usize,
}

impl VerdictSummary {
    fn new(cases: impl Iterator<Item = (Grade, f64)>) -> Self {
        let mut summary = Self {
            ok_and_covers: 0,
            ok_and_under_covers: 0,
            warned_and_covers: 0,
            warned_and_under_covers: 0,
        };
        for (grade, coverage) in cases {
            *match (grade == Grade::Ok, coverage >= BAND.0) {
                (true, true) => &mut summary.ok_and_covers,
                (true, false) => &mut summary.ok_and_under_covers,
                (false, true) => &mut summary.warned_and_covers,
                (false, false) => &mut summary.warned_and_under_covers,
            } += 1;
        }
        summary
    }
}

/// The shares of classes, by posteriors, where the number of classes is right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct SizeSummary {
    pub scenarios: usize,
    /// The median and the largest of the largest difference of a share from the true one.
    pub median_error: f64,
    pub max_error: f64,
}

impl SizeSummary {
    fn new(runs: &[ScenarioRun]) -> Option<Self> {
        let errors: Vec<f64> = runs.iter().filter_map(|run| run.truths?.size_error).collect();
        Some(Self {
            scenarios: errors.len(),
            median_error: quantile(errors.iter().copied(), 0.5)?,
            max_error: errors.iter().copied().fold(0.0, f64::max),
        })
    }
}

/// Answers without and with flags: means over scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct FlagSummary {
    pub unflagged: f64,
    pub unflagged_error: Option<f64>,
    pub unflagged_coverage: Option<f64>,
    pub flagged_error: Option<f64>,
    pub flagged_coverage: Option<f64>,
}

/// All scenarios in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    pub scenarios: usize,
    pub coverage: Vec<CoverageSummary>,
    pub excess: Vec<ExcessSummary>,
    pub parts: Option<PartSummary>,
    /// At rho 1 (with repeats: auto), and at rho auto.
    pub calibration: VerdictSummary,
    pub calibration_auto: VerdictSummary,
    pub verdicts: Vec<Hits>,
    pub class_sizes: Option<SizeSummary>,
    pub flags: FlagSummary,
    /// The number of scenarios with the right number of classes; classes that respond alike count once.
    pub right_classes: usize,
    pub median_fit_seconds: f64,
    pub max_fit_seconds: f64,
    pub total_fit_seconds: f64,
    pub median_query_seconds: f64,
}

impl Summary {
    pub(super) fn new(runs: &[ScenarioRun]) -> Self {
        let coverage = Asked::ALL.into_iter().flat_map(|asked| {
            Group::ALL.into_iter().filter_map(move |group| CoverageSummary::new(group, asked, runs))
        });
        let seconds = || runs.iter().map(|run| run.fit_seconds);
        Self {
            scenarios: runs.len(),
            coverage: coverage.collect(),
            excess: excess(runs),
            parts: PartSummary::new(runs),
            calibration: VerdictSummary::new(runs.iter().map(|run| (run.calibration(), run.main().coverage))),
            calibration_auto: VerdictSummary::new(
                runs.iter().map(|run| (run.calibration_auto(), run.auto.coverage)),
            ),
            verdicts: Hits::all(runs),
            class_sizes: SizeSummary::new(runs),
            flags: flags(runs),
            right_classes: runs.iter().filter(|run| run.has_right_classes()).count(),
            median_fit_seconds: quantile(seconds(), 0.5).unwrap_or(f64::NAN),
            max_fit_seconds: seconds().fold(0.0, f64::max),
            total_fit_seconds: seconds().sum(),
            median_query_seconds: quantile(runs.iter().map(|run| run.query_seconds), 0.5).unwrap_or(f64::NAN),
        }
    }
}

fn is_continuous(run: &ScenarioRun) -> bool {
    run.scenario.treatment.is_continuous()
}

fn has_many(run: &ScenarioRun) -> bool {
    run.n >= MANY_UNITS
}

fn excess(runs: &[ScenarioRun]) -> Vec<ExcessSummary> {
    let of = |name: &str, is: fn(&ScenarioRun) -> bool| {
        ExcessSummary::new(name, &runs.iter().filter(|run| is(run)).collect::<Vec<_>>())
    };
    let groups = [
        of("all", |_| true),
        of("n >= 800", has_many),
        of("n < 800", |run| !has_many(run)),
        of("continuous t", is_continuous),
        of("continuous t, n >= 800", |run| is_continuous(run) && has_many(run)),
        of("continuous t, n < 800", |run| is_continuous(run) && !has_many(run)),
        of("few values of t", |run| !is_continuous(run)),
    ];
    groups.into_iter().flatten().collect()
}

fn flags(runs: &[ScenarioRun]) -> FlagSummary {
    let unflagged = || runs.iter().filter_map(|run| run.unflagged_scores);
    let flagged = || runs.iter().filter_map(|run| run.flagged_scores);
    FlagSummary {
        unflagged: mean(runs.iter().map(|run| run.unflagged)).unwrap_or(f64::NAN),
        unflagged_error: quantile(unflagged().map(|scores| scores.error), 0.5),
        unflagged_coverage: mean(unflagged().map(|scores| scores.coverage)),
        flagged_error: quantile(flagged().map(|scores| scores.error), 0.5),
        flagged_coverage: mean(flagged().map(|scores| scores.coverage)),
    }
}

/// The mean; none of no values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// A quantile, interpolated; none of no values.
pub(super) fn quantile(values: impl Iterator<Item = f64>, p: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = p * values.len().checked_sub(1)? as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = values[(below + 1).min(values.len() - 1)];
    Some(values[below] + part * (above - values[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile([3.0, 1.0, 2.0].into_iter(), 0.5), Some(2.0));
        assert_eq!(quantile([0.0, 1.0].into_iter(), 0.1), Some(0.1));
        assert_eq!(quantile([].into_iter(), 0.5), None);
        assert_eq!(mean([1.0, 2.0].into_iter()), Some(1.5));
    }

    #[test]
    fn verdicts_are_compared_with_coverage() {
        let cases = [
            (Grade::Ok, 0.9),
            (Grade::Ok, 0.5),
            (Grade::Failed, 0.5),
            (Grade::Doubtful, 0.9),
            (Grade::NotTested, 0.83),
        ];
        let found = VerdictSummary::new(cases.into_iter());
        let counts = [
            found.ok_and_covers,
            found.ok_and_under_covers,
            found.warned_and_covers,
            found.warned_and_under_covers,
        ];
        assert_eq!(counts, [1, 1, 2, 1]);
    }
}
