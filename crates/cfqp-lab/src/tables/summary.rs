//! The fits of a world in numbers, and those of all worlds.

use serde::Serialize;

use cfqp::ask::Grade;
use cfqp::sim::TableWorld;

use super::fit::TableFit;

/// Worlds with a larger limit are judged by the ratio of error and limit, the others by the excess.
pub(super) const MIN_RATIO_LIMIT: f64 = 0.05;
/// An "ok" for calibration is wrong if the coverage is below this ...
pub(super) const MIN_OK_COVERAGE: f64 = 0.82;
/// ... and a warning is due if it is below this.
pub(super) const MAX_WARNED_COVERAGE: f64 = 0.75;

/// The fits of one world: means over seeds unless the name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WorldSummary {
    pub world: TableWorld,
    /// The number of fits.
    pub fits: usize,
    pub error: f64,
    pub limit: f64,
    /// None where the limit is 0.
    pub ratio: Option<f64>,
    pub excess: f64,
    /// None unless answers are probabilities.
    pub log_loss: Option<f64>,
    pub log_loss_limit: Option<f64>,
    pub log_loss_ratio: Option<f64>,
    pub coverage: f64,
    pub min_coverage: f64,
    pub width: f64,
    pub true_classes: usize,
    /// The number of classes of every fit.
    pub classes: Vec<usize>,
    /// The number of fits with the true number of classes; classes that respond alike count once.
    pub right_classes: usize,
    pub fit_seconds: f64,
    /// The grade of calibration of every fit.
    pub calibration: Vec<Grade>,
}

/// One summary per world, in the order of `fits`.
pub(super) fn by_world(fits: &[TableFit]) -> Vec<WorldSummary> {
    fits.chunk_by(|a, b| a.world == b.world).map(WorldSummary::new).collect()
}

impl WorldSummary {
    /// Summarises the fits of one world, at least one.
    fn new(fits: &[TableFit]) -> Self {
        let over_seeds = |value: fn(&TableFit) -> f64| mean(fits.iter().map(value)).unwrap_or(f64::NAN);
        Self {
            world: fits[0].world,
            fits: fits.len(),
            error: over_seeds(|fit| fit.error),
            limit: over_seeds(|fit| fit.limit),
            ratio: mean(fits.iter().filter_map(|fit| fit.ratio)),
            excess: over_seeds(|fit| fit.excess),
            log_loss: mean(fits.iter().filter_map(|fit| fit.log_loss)),
            log_loss_limit: mean(fits.iter().filter_map(|fit| fit.log_loss_limit)),
            log_loss_ratio: mean(fits.iter().filter_map(|fit| fit.log_loss_ratio)),
            coverage: over_seeds(|fit| fit.coverage),
            min_coverage: fits.iter().map(|fit| fit.coverage).fold(f64::INFINITY, f64::min),
            width: over_seeds(|fit| fit.width),
            true_classes: fits[0].true_classes,
            classes: fits.iter().map(|fit| fit.classes).collect(),
            right_classes: fits.iter().filter(|fit| fit.has_right_classes()).count(),
            fit_seconds: over_seeds(|fit| fit.fit_seconds),
            calibration: fits.iter().map(|fit| fit.calibration.grade).collect(),
        }
    }

    fn is_judged_by_ratio(&self) -> bool {
        self.limit > MIN_RATIO_LIMIT
    }
}

/// A figure and the world that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct WorldFigure {
    pub world: TableWorld,
    pub value: f64,
}

/// A count of some of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Share {
    pub count: usize,
    pub of: usize,
}

/// All worlds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    /// The number of worlds whose limit is above 0.05.
    pub worlds_with_ratio: usize,
    /// The mean over these worlds of the mean ratio of error and limit.
    pub mean_ratio: Option<f64>,
    /// The largest mean ratio of these worlds.
    pub max_ratio: Option<WorldFigure>,
    /// The largest ratio of a single fit in these worlds.
    pub max_fit_ratio: Option<WorldFigure>,
    /// The largest mean excess of the other worlds.
    pub max_excess: Option<WorldFigure>,
    /// The largest mean ratio of log loss and its limit.
    pub max_log_loss_ratio: Option<WorldFigure>,
    /// The largest ratio of log loss and its limit of a single fit.
    pub max_fit_log_loss_ratio: Option<WorldFigure>,
    /// The smallest coverage of a single fit.
    pub min_coverage: Option<WorldFigure>,
    /// Fits with calibration "ok" whose coverage is below 0.82, of those with "ok".
    pub wrong_ok: Share,
    /// Fits with doubtful or failed calibration, of those whose coverage is below 0.75.
    pub warned: Share,
}

impl Summary {
    pub(super) fn new(worlds: &[WorldSummary], fits: &[TableFit]) -> Self {
        let (by_ratio, by_excess): (Vec<&WorldSummary>, Vec<&WorldSummary>) =
            worlds.iter().partition(|world| world.is_judged_by_ratio());
        let ratio = |world: &&WorldSummary| figure(world.world, world.ratio?);
        let fit_ratio = |fit: &TableFit| {
            let judged = by_ratio.iter().any(|world| world.world == fit.world);
            figure(fit.world, fit.ratio.filter(|_| judged)?)
        };
        let ok = || fits.iter().filter(|fit| fit.calibration.grade == Grade::Ok);
        let low = || fits.iter().filter(|fit| fit.coverage < MAX_WARNED_COVERAGE);
        let wrong_ok = ok().filter(|fit| fit.coverage < MIN_OK_COVERAGE).count();
        Self {
            worlds_with_ratio: by_ratio.len(),
            mean_ratio: mean(by_ratio.iter().filter_map(|world| world.ratio)),
            max_ratio: largest(by_ratio.iter().filter_map(ratio)),
            max_fit_ratio: largest(fits.iter().filter_map(fit_ratio)),
            max_excess: largest(by_excess.iter().filter_map(|world| figure(world.world, world.excess))),
            max_log_loss_ratio: largest(
                worlds.iter().filter_map(|world| figure(world.world, world.log_loss_ratio?)),
            ),
            max_fit_log_loss_ratio: largest(
                fits.iter().filter_map(|fit| figure(fit.world, fit.log_loss_ratio?)),
            ),
            min_coverage: fits
                .iter()
                .filter_map(|fit| figure(fit.world, fit.coverage))
                .min_by(|a, b| a.value.total_cmp(&b.value)),
            wrong_ok: Share { count: wrong_ok, of: ok().count() },
            warned: Share { count: low().filter(|fit| fit.is_warned()).count(), of: low().count() },
        }
    }
}

fn figure(world: TableWorld, value: f64) -> Option<WorldFigure> {
    Some(WorldFigure { world, value })
}

fn largest(figures: impl Iterator<Item = WorldFigure>) -> Option<WorldFigure> {
    figures.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// The mean; none of no values.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
pub(super) mod tests {
    use cfqp::{ClassWeights, FitConfig, NoiseLaw};

    use super::super::fit::{Graded, OutcomeScale};
    use super::*;

    /// A fit with some figures.
    pub(in super::super) fn fit(
        world: TableWorld,
        error: f64,
        limit: f64,
        coverage: f64,
        grade: Grade,
    ) -> TableFit {
        let graded = Graded { grade, figure: Some(coverage) };
        TableFit {
            version: String::new(),
            world,
            n: 100,
            seed: 1,
            test_units: 100,
            error,
            limit,
            ratio: (limit > 0.0).then(|| error / limit),
            excess: error - limit,
            log_loss: None,
            log_loss_limit: None,
            log_loss_ratio: None,
            coverage,
            width: 1.0,
            classes: 3,
            kinds: 3,
            true_classes: world.classes(),
            fit_seconds: 2.0,
            calibration: graded,
            number_of_classes: graded,
            noise_law: NoiseLaw::Gaussian,
            class_weights: ClassWeights::Constant,
            outcome_scale: OutcomeScale::Linear,
            config: FitConfig::default(),
        }
    }

    #[test]
    fn worlds_are_judged_by_ratio_or_by_excess() {
        let (crossing, heavy, single) = (TableWorld::Crossing, TableWorld::Heavy, TableWorld::Single);
        let fits = [
            fit(crossing, 0.2, 0.1, 0.9, Grade::Ok),
            fit(crossing, 0.3, 0.1, 0.8, Grade::Ok),
            fit(heavy, 0.3, 0.2, 0.7, Grade::Doubtful),
            fit(single, 0.01, 0.0, 0.6, Grade::Ok),
            fit(single, 0.03, 0.0, 0.95, Grade::Failed),
        ];
        let worlds = by_world(&fits);
        assert_eq!(worlds.iter().map(|world| world.fits).collect::<Vec<_>>(), [2, 1, 2]);
        assert!((worlds[0].coverage - 0.85).abs() < 1e-12 && worlds[0].min_coverage == 0.8);
        assert_eq!((worlds[0].right_classes, worlds[2].right_classes), (2, 0));
        let summary = Summary::new(&worlds, &fits);
        let is = |found: Option<WorldFigure>, world: TableWorld, value: f64| {
            found.is_some_and(|found| found.world == world && (found.value - value).abs() < 1e-12)
        };
        assert_eq!(summary.worlds_with_ratio, 2);
        assert!(summary.mean_ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-12), "{summary:?}");
        assert!(is(summary.max_ratio, crossing, 2.5) && is(summary.max_fit_ratio, crossing, 3.0));
        assert!(is(summary.max_excess, single, 0.02) && is(summary.min_coverage, single, 0.6));
        assert_eq!(summary.wrong_ok, Share { count: 2, of: 3 }, "coverage 0.8 and 0.6");
        assert_eq!(summary.warned, Share { count: 1, of: 2 }, "0.7 is warned of, 0.6 is not");
    }
}
