//! Methods side by side: every method with every seed on the same units, and what came of it, mean and deviation.

use std::path::Path;

use serde::Serialize;

use super::runs::{Run, Scores, Shelf, Trial, run};
use crate::baselines::{Method, MethodConfig};
use crate::config::Classes;
use crate::{Error, Monitor, Resources, Result};

/// Hears how a comparison goes on.
pub trait Watch: Monitor {
    /// A run begins.
    fn begin(&self, _method: Method, _seed: u64) {}
    /// A run is finished, or was before.
    fn end(&self, _run: &Run, _recalled: bool) {}
}

/// Hears nothing.
impl Watch for () {}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The methods.
    pub methods: Vec<Method>,
    /// Each method runs once with each of these.
    pub seeds: Vec<u64>,
    /// The settings of all methods; the seed in it is not used.
    pub config: MethodConfig,
}

impl Comparison {
    /// Whether it can be run on `trial`.
    pub fn check(&self, trial: &Trial<'_>) -> Result<()> {
        self.config.check()?;
        if self.methods.is_empty() || self.seeds.is_empty() {
            let hint = "give at least one method and one seed";
            return Err(Error::config("methods", "there is nothing to run", hint));
        }
        let needy = self.methods.iter().find(|method| method.needs_classes());
        if let (Some(method), Classes::Auto) = (needy, self.config.fit.classes)
            && !self.methods.contains(&Method::Cfqp)
        {
            let problem = format!("{} does not choose the number of classes", method.name());
            let hint = "give --classes K, or compare with cfqp, whose choice it then takes over";
            return Err(Error::config("classes", problem, hint));
        }
        let told = trial.train_z.is_some() && trial.truth.z.is_some();
        if self.methods.contains(&Method::Oracle) && !told {
            let hint = "give files that hold z, the class of every unit, or leave the oracle out";
            return Err(Error::data("z", "the oracle must be told the classes", hint));
        }
        Ok(())
    }

    /// All runs, in the order of the methods, then of the seeds. Finished ones are kept in `folder` and found there
    /// again. A method that fails is noted and the others go on; if all fail, the first failure is the error.
    pub fn run(
        &self,
        trial: &Trial<'_>,
        resources: &Resources,
        folder: Option<&Path>,
        watch: &dyn Watch,
    ) -> Result<Vec<Run>> {
        self.check(trial)?;
        let shelf = Shelf { folder };
        let (mut runs, mut failure): (Vec<Run>, Option<Error>) = (Vec::new(), None);
        for &seed in &self.seeds {
            for method in self.order() {
                watch.begin(method, seed);
                let config = self.settings(method, seed, &runs);
                let known = shelf.recall(method, &config, trial)?;
                let recalled = known.is_some();
                let run = match known {
                    Some(run) => run,
                    None => {
                        let (run, error) = attempt(method, config, trial, resources, watch)?;
                        failure = failure.or(error);
                        if run.scores.is_some() {
                            shelf.keep(&run, trial)?;
                        }
                        run
                    }
                };
                watch.end(&run, recalled);
                runs.push(run);
            }
        }
        if let Some(error) = failure.filter(|_| runs.iter().all(|run| run.scores.is_none())) {
            return Err(error);
        }
        let place = |method: Method| self.methods.iter().position(|own| *own == method);
        runs.sort_by_key(|run| (place(run.method), run.seed));
        Ok(runs)
    }

    /// Where the number of classes is not given, our own method runs first: others take its choice over.
    fn order(&self) -> Vec<Method> {
        let mut methods = self.methods.clone();
        if self.config.fit.classes == Classes::Auto {
            methods.sort_by_key(|method| *method != Method::Cfqp);
        }
        methods
    }

    /// The settings of one run. Where nothing is known of the classes, the method itself says that it needs them.
    fn settings(&self, method: Method, seed: u64, runs: &[Run]) -> MethodConfig {
        let mut config = self.config.clone();
        config.fit.seed = seed;
        if method.needs_classes() && config.fit.classes == Classes::Auto {
            let own = runs.iter().find(|run| (run.method, run.seed) == (Method::Cfqp, seed));
            let found = own.and_then(|run| run.scores.as_ref()).and_then(|scores| scores.classes);
            config.fit.classes = found.map_or(Classes::Auto, Classes::Given);
        }
        config
    }
}

/// A run, and the error if it failed for a reason of its own.
fn attempt(
    method: Method,
    config: MethodConfig,
    trial: &Trial<'_>,
    resources: &Resources,
    watch: &dyn Watch,
) -> Result<(Run, Option<Error>)> {
    let (scores, shown, error) = match run(method, &config, trial, resources, watch) {
        Ok((scores, shown)) => (Some(scores), shown, None),
        Err(error @ (Error::Interrupted | Error::Io { .. })) => return Err(error),
        Err(error) => (None, Vec::new(), Some(error)),
    };
    let (version, seed) = (env!("CARGO_PKG_VERSION").to_owned(), config.fit.seed);
    let told = error.as_ref().map(ToString::to_string);
    Ok((Run { method, seed, version, config, scores, error: told, shown }, error))
}

/// Mean and standard deviation over the runs that have the measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample deviation; zero for one run.
    pub deviation: f64,
    /// How many runs.
    pub runs: usize,
}

impl Spread {
    /// Of `values`, if there are any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if runs > 1 { (squares / (runs - 1) as f64).sqrt() } else { 0.0 };
        (runs > 0).then_some(Self { mean, deviation, runs })
    }
}

/// A measure's name, and its value in a run that has it.
pub type Measure = (&'static str, fn(&Scores) -> Option<f64>);

/// The measures of a run, in the order in which tables show them.
pub const MEASURES: [Measure; 13] = [
    ("cf_mse", |scores| Some(scores.cf_mse)),
    ("cf_mse_raw", |scores| Some(scores.cf_mse_raw)),
    ("ssim", |scores| scores.ssim),
    ("pehe", |scores| scores.pehe),
    ("pehe_square", |scores| scores.pehe_square),
    ("class_accuracy", |scores| scores.class_accuracy),
    ("ari", |scores| scores.ari),
    ("coverage", |scores| scores.coverage),
    ("width", |scores| scores.width),
    ("validation_loss", |scores| scores.validation_loss),
    ("fit_seconds", |scores| Some(scores.fit_seconds)),
    ("query_seconds", |scores| Some(scores.query_seconds)),
    ("peak_rss_mb", |scores| scores.peak_rss_mb),
];

/// One method's measures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Which method.
    pub method: Method,
    /// How many of its runs failed.
    pub failed: usize,
    /// As in [`MEASURES`].
    pub measures: Vec<(&'static str, Option<Spread>)>,
}

/// One row per method, in the order of `runs`.
pub fn summarise(runs: &[Run]) -> Vec<Summary> {
    let mut methods: Vec<Method> = runs.iter().map(|run| run.method).collect();
    methods.dedup();
    let summary = |method: Method| {
        let own = || runs.iter().filter(|run| run.method == method);
        let scores: Vec<&Scores> = own().filter_map(|run| run.scores.as_ref()).collect();
        let spread = |of: fn(&Scores) -> Option<f64>| {
            Spread::of(&scores.iter().filter_map(|scores| of(scores)).collect::<Vec<_>>())
        };
        let measures = MEASURES.iter().map(|(name, of)| (*name, spread(*of))).collect();
        Summary { method, failed: own().count() - scores.len(), measures }
    };
    methods.into_iter().map(summary).collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
