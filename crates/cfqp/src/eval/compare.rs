//! Comparison of methods: every method with every seed on the same units, summarised by mean and deviation.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::runs::{ComparisonData, MethodRun, RunCache, Scores, classes_unknown, run_method};
use crate::config::Classes;
use crate::math::{mean, standard_deviation};
use crate::rivals::{Method, MethodConfig};
use crate::runtime::{Monitor, Resources};
use crate::{Error, Result};

/// Receives the progress of a comparison.
pub trait CompareMonitor: Monitor {
    /// A run has started.
    fn run_started(&self, _method: Method, _seed: u64) {}
    /// A run has finished; `cached` if it was found in the cache.
    fn run_finished(&self, _run: &MethodRun, _cached: bool) {}
}

/// Ignores the progress.
impl CompareMonitor for () {}

/// Which methods to compare, with which seeds and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The methods.
    pub methods: Vec<Method>,
    /// The seeds: each method runs once with each.
    pub seeds: Vec<u64>,
    /// The settings of all methods; its seed is replaced by each of `seeds`.
    #[serde(default)]
    pub config: MethodConfig,
}

impl Comparison {
    /// Validates the comparison for `data`.
    pub fn check(&self, data: &ComparisonData<'_>) -> Result<()> {
        self.config.validate()?;
        data.train.check_observed()?;
        data.test.check_observed()?;
        if self.methods.is_empty() || self.seeds.is_empty() {
            let hint = "give at least one method and one seed";
            return Err(Error::config("methods", "there is nothing to run", hint));
        }
        let needy = self.methods.iter().find(|method| method.needs_classes());
        if let (Some(method), Classes::Auto) = (needy, self.config.fit.classes)
            && !self.methods.contains(&Method::Cfqp)
        {
            let problem = format!("{} does not choose the number of classes", method.name());
            let hint = "give the number of classes, or add cfqp to the methods: its choice is then used";
            return Err(Error::config("classes", problem, hint));
        }
        let classes_known = data.train_z.is_some() && data.truth.z.is_some();
        if self.methods.contains(&Method::Oracle) && !classes_known {
            return Err(classes_unknown());
        }
        Ok(())
    }

    /// Runs every method with every seed; results are in the order of the methods, then of the seeds.
    ///
    /// Finished runs are cached in `folder`, if given. A run that fails is recorded and the others continue; if all
    /// fail, the first error is returned.
    pub fn run(
        &self,
        data: &ComparisonData<'_>,
        resources: &Resources,
        folder: Option<&Path>,
        monitor: &dyn CompareMonitor,
    ) -> Result<Vec<MethodRun>> {
        self.check(data)?;
        let cache = RunCache { folder };
        let (mut runs, mut failure): (Vec<MethodRun>, Option<Error>) = (Vec::new(), None);
        for &seed in &self.seeds {
            for method in self.order() {
                monitor.run_started(method, seed);
                let config = self.settings(method, seed, &runs);
                let found = cache.load(method, &config, data)?;
                let cached = found.is_some();
                let run = match found {
                    Some(run) => run,
                    None => {
                        let (run, error) = attempt(method, config, data, resources, monitor)?;
                        failure = failure.or(error);
                        if run.scores.is_some() {
                            cache.save(&run, data)?;
                        }
                        run
                    }
                };
                monitor.run_finished(&run, cached);
                runs.push(run);
            }
        }
        if let Some(error) = failure.filter(|_| runs.iter().all(|run| run.scores.is_none())) {
            return Err(error);
        }
        let place = |method: Method| self.methods.iter().position(|other| *other == method);
        runs.sort_by_key(|run| (place(run.method), run.seed));
        Ok(runs)
    }

    /// The methods in the order of their runs. Where the number of classes is not given, [`Method::Cfqp`] runs first: the
    /// others use its choice.
    fn order(&self) -> Vec<Method> {
        let mut methods = self.methods.clone();
        if self.config.fit.classes == Classes::Auto {
            methods.sort_by_key(|method| *method != Method::Cfqp);
        }
        methods
    }

    /// The settings of one run. Where the number of classes stays unknown, the method itself reports that it needs it.
    fn settings(&self, method: Method, seed: u64, runs: &[MethodRun]) -> MethodConfig {
        let mut config = self.config.clone();
        config.fit.seed = seed;
        if method.needs_classes() && config.fit.classes == Classes::Auto {
            let cfqp = runs.iter().find(|run| (run.method, run.seed) == (Method::Cfqp, seed));
            let found = cfqp.and_then(|run| run.scores.as_ref()).and_then(|scores| scores.classes);
            config.fit.classes = found.map_or(Classes::Auto, Classes::Given);
        }
        config
    }
}

/// A run, and its error if it failed; an interruption or a file error ends the whole comparison.
fn attempt(
    method: Method,
    config: MethodConfig,
    data: &ComparisonData<'_>,
    resources: &Resources,
    monitor: &dyn CompareMonitor,
) -> Result<(MethodRun, Option<Error>)> {
    let (scores, example_answers, error) = match run_method(method, &config, data, resources, monitor) {
        Ok((scores, example_answers)) => (Some(scores), example_answers, None),
        Err(error @ (Error::Interrupted | Error::Io { .. })) => return Err(error),
        Err(error) => (None, Vec::new(), Some(error)),
    };
    let (version, seed) = (env!("CARGO_PKG_VERSION").to_owned(), config.fit.seed);
    let message = error.as_ref().map(ToString::to_string);
    let run = MethodRun { method, seed, version, config, scores, error: message, example_answers };
    Ok((run, error))
}

/// The mean and standard deviation of a measure over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunStatistics {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for one run.
    pub deviation: f64,
    /// The number of runs.
    pub runs: usize,
}

impl RunStatistics {
    /// The statistics of `values`; none if there are no values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let (mean, deviation, runs) = (mean(values), standard_deviation(values), values.len());
        (runs > 0).then_some(Self { mean, deviation, runs })
    }
}

/// A measure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Mean squared error of the counterfactual.
    CfMse,
    /// The same in units of y.
    CfMseRaw,
    /// Root mean squared error over pairs, in units of y.
    Rmse,
    /// The same relative to the standard deviation of y.
    RmseSd,
    /// Structural similarity of images.
    Ssim,
    /// Error of effects, with its square root.
    Pehe,
    /// Error of effects, without the square root.
    PeheSquare,
    /// The share of units in their true class.
    ClassAccuracy,
    /// Adjusted Rand index of true and found classes.
    Ari,
    /// Coverage of the intervals.
    Coverage,
    /// Mean width of the intervals.
    Width,
    /// The method's own loss on held-out training units.
    ValidationLoss,
    /// Duration of the fit.
    FitSeconds,
    /// Duration of the answers.
    QuerySeconds,
    /// Peak memory in megabytes.
    PeakRssMb,
}

impl Measure {
    /// All measures, in the order of tables.
    pub const ALL: [Self; 15] = [
        Self::CfMse,
        Self::CfMseRaw,
        Self::Rmse,
        Self::RmseSd,
        Self::Ssim,
        Self::Pehe,
        Self::PeheSquare,
        Self::ClassAccuracy,
        Self::Ari,
        Self::Coverage,
        Self::Width,
        Self::ValidationLoss,
        Self::FitSeconds,
        Self::QuerySeconds,
        Self::PeakRssMb,
    ];

    /// The value of the measure in a run, if the run has it.
    pub fn value(self, scores: &Scores) -> Option<f64> {
        match self {
            Self::CfMse => Some(scores.cf_mse),
            Self::CfMseRaw => Some(scores.cf_mse_raw),
            Self::Rmse => scores.rmse,
            Self::RmseSd => scores.rmse_sd,
            Self::Ssim => scores.ssim,
            Self::Pehe => scores.pehe,
            Self::PeheSquare => scores.pehe_square,
            Self::ClassAccuracy => scores.class_accuracy,
            Self::Ari => scores.ari,
            Self::Coverage => scores.coverage,
            Self::Width => scores.width,
            Self::ValidationLoss => scores.validation_loss,
            Self::FitSeconds => Some(scores.fit_seconds),
            Self::QuerySeconds => Some(scores.query_seconds),
            Self::PeakRssMb => scores.peak_rss_mb,
        }
    }
}

/// The measures of one method over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The method.
    pub method: Method,
    /// The number of runs that failed.
    pub failed: usize,
    /// One summary for each of [`Measure::ALL`].
    pub measures: Vec<MeasureSummary>,
}

/// One measure over the runs of a method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasureSummary {
    /// The measure.
    pub measure: Measure,
    /// Its statistics; none if no run has the measure.
    pub statistics: Option<RunStatistics>,
}

/// One summary per method, in the order of `runs`.
pub fn summarise(runs: &[MethodRun]) -> Vec<Summary> {
    let mut methods: Vec<Method> = runs.iter().map(|run| run.method).collect();
    methods.dedup();
    let summary = |method: Method| {
        let of_method = || runs.iter().filter(|run| run.method == method);
        let scores: Vec<&Scores> = of_method().filter_map(|run| run.scores.as_ref()).collect();
        let measure = |measure: Measure| {
            let values: Vec<f64> = scores.iter().filter_map(|scores| measure.value(scores)).collect();
            MeasureSummary { measure, statistics: RunStatistics::from_values(&values) }
        };
        let measures = Measure::ALL.into_iter().map(measure).collect();
        Summary { method, failed: of_method().count() - scores.len(), measures }
    };
    methods.into_iter().map(summary).collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
