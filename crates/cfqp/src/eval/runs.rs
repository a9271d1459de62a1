//! One run of one method: fitted with one seed, queried and scored.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::memory::{peak_rss_mb, reset_peak};
use super::oracle::Oracle;
use super::pairs::answer_pairs;
use super::{Reference, accuracy, adjusted_rand_index, class_accuracy, coverage, pehe};
use crate::ask::Answers;
use crate::config::Base;
use crate::data::{Dataset, Units, write_atomically};
use crate::math::mean;
use crate::rivals::{Counterfactual, Method, MethodConfig, MixtureView};
use crate::runtime::{Monitor, Resources};
use crate::train::{Prepared, fingerprint};
use crate::{Error, Result};

/// The data of a comparison: training units, and test units whose counterfactuals are known.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonData<'a> {
    /// The units that every method is fitted to.
    pub train: &'a Dataset,
    /// The true classes of the training units, used by the oracle only.
    pub train_z: Option<&'a [usize]>,
    /// The units that every method is queried for.
    pub test: &'a Dataset,
    /// The true counterfactuals of the test units, one per unit or one per pair.
    pub truth: &'a Reference,
    /// The test unit that each entry of `truth` is about, where it has pairs; otherwise it has one entry per unit.
    pub pairs: Option<&'a [usize]>,
    /// True effects of the test units, where effects are to be scored too.
    pub effects: Option<&'a TrueEffects>,
    /// Units whose answers are to be kept for display.
    pub examples: Option<&'a ExampleUnits>,
}

/// A few units to be queried under a few treatments, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleUnits {
    /// The units.
    pub units: Dataset,
    /// The treatments, each given to all units.
    pub treatments: Vec<f32>,
}

/// True effects y(to) - y(from) of the test units.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueEffects {
    /// One treatment per unit, or one for all.
    pub from: Units,
    /// One treatment per unit, or one for all.
    pub to: Units,
    /// One per unit.
    pub effect: Units,
}

/// A finished run of one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodRun {
    /// The method.
    pub method: Method,
    /// The seed of its split, starts and weights.
    pub seed: u64,
    /// The version of the library.
    pub version: String,
    /// Its settings.
    pub config: MethodConfig,
    /// The scores; none if the run failed.
    pub scores: Option<Scores>,
    /// The error, if the run failed.
    pub error: Option<String>,
    /// The answers for the [`ExampleUnits`], one list per treatment; empty for the oracle, which knows the classes of the
    /// test units only. Cached with the run, but not serialised with it.
    #[serde(skip)]
    pub example_answers: Vec<Vec<f32>>,
}

/// A run in its cache file.
#[derive(Serialize, Deserialize)]
struct CachedRun<R> {
    run: R,
    #[serde(alias = "shown")]
    example_answers: Vec<Vec<f32>>,
}

/// The accuracy and the cost of a method's answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// Mean squared error of the counterfactual, divided by the variance of all elements of x in the training
    /// units; for images in pixels.
    pub cf_mse: f64,
    /// The same in units of y.
    pub cf_mse_raw: f64,
    /// Root mean squared error in units of y, over pairs.
    #[serde(default)]
    pub rmse: Option<f64>,
    /// The same after division by the standard deviation of each outcome over pairs.
    #[serde(default)]
    pub rmse_sd: Option<f64>,
    /// Root mean squared error of the decimal logarithm, over pairs whose outcomes are all positive. Answers count as at least a
    /// thousandth of the smallest outcome.
    #[serde(default)]
    pub rmse_log10: Option<f64>,
    /// Structural similarity, for images.
    pub ssim: Option<f64>,
    /// Root mean squared error of effects, in units of y.
    pub pehe: Option<f64>,
    /// Mean squared error of effects.
    pub pehe_square: Option<f64>,
    /// The share of units in their true class under the best matching of classes.
    pub class_accuracy: Option<f64>,
    /// The adjusted Rand index of true and found classes.
    pub ari: Option<f64>,
    /// The coverage of intervals of level 0.9; for [`Method::Cfqp`] and [`Method::Conformal`] only.
    pub coverage: Option<f64>,
    /// The mean width of the intervals, in units of y.
    pub width: Option<f64>,
    /// The loss on held-out training units, on the method's own scale.
    #[serde(default)]
    pub validation_loss: Option<f64>,
    /// The number of classes.
    pub classes: Option<usize>,
    /// The correlation of factual and counterfactual noise that the answers assume; none where it is unknown or the method
    /// has none.
    #[serde(default)]
    pub rho: Option<f64>,
    /// The base model.
    pub base: Option<Base>,
    /// Duration of the fit in seconds.
    pub fit_seconds: f64,
    /// Duration of the query in seconds.
    pub query_seconds: f64,
    /// Peak memory during fit and query, including what earlier runs of the process left allocated.
    pub peak_rss_mb: Option<f64>,
}

impl ComparisonData<'_> {
    /// The answers of a method to all questions, in the order of the truth.
    fn answer<const N: usize>(
        &self,
        answer: impl Fn(&Dataset, &Units) -> Result<[Units; N]>,
    ) -> Result<[Units; N]> {
        match self.pairs {
            None => answer(self.test, &self.truth.t_new),
            Some(rows) => answer_pairs(self.test, rows, &self.truth.t_new, answer),
        }
    }
}

/// sqrt(mean_j mse_j / variance_j) over the elements j that vary; none if no element does.
fn relative_rmse(truth: &Units, answers: &Units) -> Option<f64> {
    let d = truth.elements();
    let ratio = |j: usize| {
        let observed = |i: &usize| truth.mask().is_none_or(|mask| mask[*i]);
        let places: Vec<usize> = (0..truth.len()).map(|i| i * d + j).filter(observed).collect();
        let values: Vec<f64> = places.iter().map(|&i| truth.values()[i].into()).collect();
        let gap = |&i: &usize| (f64::from(truth.values()[i]) - f64::from(answers.values()[i])).powi(2);
        let (center, errors) = (mean(&values), places.iter().map(gap).collect::<Vec<_>>());
        let variance = mean(&values.iter().map(|value| (value - center).powi(2)).collect::<Vec<_>>());
        (variance > 0.0).then(|| mean(&errors) / variance)
    };
    let ratios: Vec<f64> = (0..d).filter_map(ratio).collect();
    (!ratios.is_empty()).then(|| mean(&ratios).sqrt())
}

/// The root mean squared error of decimal logarithms; none unless all outcomes are positive.
fn log10_rmse(truth: &Units, answers: &Units) -> Option<f64> {
    let observed = |i: usize| truth.mask().is_none_or(|mask| mask[i]);
    let places: Vec<usize> = (0..truth.values().len()).filter(|&i| observed(i)).collect();
    let smallest = places.iter().map(|&i| truth.values()[i]).fold(f32::INFINITY, f32::min);
    if !(smallest > 0.0 && smallest.is_finite()) {
        return None;
    }
    let floor = 1e-3 * f64::from(smallest);
    let gap = |&i: &usize| {
        let answer = f64::from(answers.values()[i]).max(floor);
        (f64::from(truth.values()[i]).log10() - answer.log10()).powi(2)
    };
    Some(mean(&places.iter().map(gap).collect::<Vec<_>>()).sqrt())
}

/// Fits `method`, queries it for the test units and scores the answers; with the answers for the example units.
pub(super) fn run_method(
    method: Method,
    config: &MethodConfig,
    data: &ComparisonData<'_>,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<(Scores, Vec<Vec<f32>>)> {
    reset_peak();
    let start = Instant::now();
    let fitted = fit(method, config, data, resources, monitor)?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let [answers] = data.answer(|units, to| Ok([fitted.counterfactual(units, to)?]))?;
    let query_seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = peak_rss_mb();
    let x_variance = Prepared::new(data.train, config.fit.seed, false)?.scaler.x_variance;
    let accuracy = accuracy(&data.truth.y_new, &answers, x_variance)?;
    let pehe = data.effects.map(|effects| effect_error(&*fitted, data.test, effects)).transpose()?;
    let scores = Scores {
        cf_mse: accuracy.cf_mse,
        cf_mse_raw: accuracy.cf_mse_raw,
        rmse: data.pairs.map(|_| accuracy.cf_mse_raw.sqrt()),
        rmse_sd: data.pairs.and_then(|_| relative_rmse(&data.truth.y_new, &answers)),
        rmse_log10: data.pairs.and_then(|_| log10_rmse(&data.truth.y_new, &answers)),
        ssim: accuracy.ssim,
        pehe: pehe.map(|pehe| pehe.root),
        pehe_square: pehe.map(|pehe| pehe.mean_square),
        class_accuracy: None,
        ari: None,
        coverage: None,
        width: None,
        validation_loss: fitted.validation_loss(),
        classes: None,
        rho: None,
        base: None,
        fit_seconds,
        query_seconds,
        peak_rss_mb,
    };
    let scores = with_interval_scores(&*fitted, data, scores)?;
    let example_answers = match data.examples {
        Some(examples) if method != Method::Oracle => answer_examples(&*fitted, examples)?,
        _ => Vec::new(),
    };
    Ok((with_mixture_scores(method, &*fitted, data, scores)?, example_answers))
}

fn answer_examples(fitted: &dyn Counterfactual, examples: &ExampleUnits) -> Result<Vec<Vec<f32>>> {
    let answer = |&t: &f32| -> Result<Vec<f32>> {
        let to = Units::new("t", vec![1], vec![t])?;
        Ok(fitted.counterfactual(&examples.units, &to)?.values().to_vec())
    };
    examples.treatments.iter().map(answer).collect()
}

fn fit(
    method: Method,
    config: &MethodConfig,
    data: &ComparisonData<'_>,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Box<dyn Counterfactual>> {
    if method != Method::Oracle {
        return method.fit(data.train, config, resources, monitor);
    }
    let (Some(train), Some(test)) = (data.train_z, &data.truth.z) else {
        return Err(classes_unknown());
    };
    let oracle = Oracle::fit(data.train, train, &config.fit, resources, monitor)?;
    Ok(Box::new(oracle.for_units(test.clone(), config.rho.mean())))
}

/// The error of an oracle without true classes.
pub(super) fn classes_unknown() -> Error {
    let hint = "give z, the class of every training and test unit, or leave the oracle out";
    Error::data("z", "the oracle needs the true classes", hint)
}

fn effect_error(fitted: &dyn Counterfactual, test: &Dataset, effects: &TrueEffects) -> Result<super::Pehe> {
    let (to, from) = (fitted.counterfactual(test, &effects.to)?, fitted.counterfactual(test, &effects.from)?);
    let values = to.values().iter().zip(from.values()).map(|(to, from)| to - from).collect();
    pehe(&effects.effect, &Units::new("effect", to.shape().to_vec(), values)?)
}

/// Adds the scores of the intervals of a method that has them without being a mixture.
fn with_interval_scores(
    fitted: &dyn Counterfactual,
    data: &ComparisonData<'_>,
    scores: Scores,
) -> Result<Scores> {
    let Some(intervals) = fitted.intervals() else { return Ok(scores) };
    let [lower, upper] = data.answer(|units, to| intervals.interval_ends(units, to))?;
    let covered = coverage(&data.truth.y_new, &lower, &upper)?;
    Ok(Scores { coverage: Some(covered.share), width: Some(covered.width), ..scores })
}

/// Adds the scores that only a mixture of classes has: those of its classes and, where calibrated, of its intervals.
fn with_mixture_scores(
    method: Method,
    fitted: &dyn Counterfactual,
    data: &ComparisonData<'_>,
    scores: Scores,
) -> Result<Scores> {
    let Some(MixtureView { model: mixture, options: ask }) = fitted.mixture() else { return Ok(scores) };
    let intervals = |answers: Answers| [answers.lower, answers.upper];
    let (found, [lower, upper]) = match data.pairs {
        None => {
            let answers = mixture.outcomes(data.test, &data.truth.t_new, ask)?;
            let found = answers.diagnoses.iter().map(|diagnosis| diagnosis.class).collect();
            (found, intervals(answers))
        }
        Some(_) => {
            let ask_round = |units: &Dataset, to: &Units| Ok(intervals(mixture.outcomes(units, to, ask)?));
            (Vec::new(), data.answer(ask_round)?)
        }
    };
    let z = data.truth.z.as_ref().filter(|z| z.len() == found.len());
    let covered = match method {
        Method::Cfqp => Some(coverage(&data.truth.y_new, &lower, &upper)?),
        _ => None,
    };
    Ok(Scores {
        class_accuracy: z.map(|z| class_accuracy(z, &found)),
        ari: z.map(|z| adjusted_rand_index(z, &found)),
        coverage: covered.map(|covered| covered.share),
        width: covered.map(|covered| covered.width),
        classes: Some(mixture.classes()),
        rho: mixture.used_rho(ask.rho).rho,
        base: Some(mixture.base()),
        ..scores
    })
}

/// The cache of finished runs: a file per run, whose name is a fingerprint of everything the run depends on.
#[derive(Clone, Debug)]
pub(super) struct RunCache<'a> {
    pub folder: Option<&'a Path>,
}

impl RunCache<'_> {
    fn path(
        &self,
        method: Method,
        config: &MethodConfig,
        data: &ComparisonData<'_>,
    ) -> Result<Option<PathBuf>> {
        let Some(folder) = self.folder else { return Ok(None) };
        let (train, test, truth) = (data.train, data.test, data.truth);
        let mut units = vec![train.x(), train.t(), train.y(), test.x(), test.t(), test.y()];
        units.extend([&truth.t_new, &truth.y_new]);
        units.extend(data.effects.iter().flat_map(|effects| [&effects.from, &effects.to, &effects.effect]));
        units.extend(data.examples.iter().flat_map(|e| [e.units.x(), e.units.t(), e.units.y()]));
        let (version, example_treatments) =
            (env!("CARGO_PKG_VERSION"), data.examples.map(|examples| &examples.treatments));
        let settings = config.used_by(method);
        let groups = (train.groups(), test.groups());
        let key = (method, settings, version, data.train_z, &truth.z, example_treatments, groups);
        let fingerprint = fingerprint(&key, &units)?;
        let fingerprint = match data.pairs {
            None => fingerprint,
            Some(rows) => self::fingerprint(&(fingerprint, rows), &[])?,
        };
        Ok(Some(folder.join(format!("{}-{}-{fingerprint}.json", method.name(), config.fit.seed))))
    }

    /// The cached run, if there is one. A file that cannot be read counts as none.
    pub(super) fn load(
        &self,
        method: Method,
        config: &MethodConfig,
        data: &ComparisonData<'_>,
    ) -> Result<Option<MethodRun>> {
        let Some(path) = self.path(method, config, data)? else { return Ok(None) };
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
        let cached: Option<CachedRun<MethodRun>> = serde_json::from_str(&text).ok();
        Ok(cached.map(|CachedRun { run, example_answers }| MethodRun { example_answers, ..run }))
    }

    /// Writes the cache file of `run`.
    pub(super) fn save(&self, run: &MethodRun, data: &ComparisonData<'_>) -> Result<()> {
        let Some(path) = self.path(run.method, &run.config, data)? else { return Ok(()) };
        if let Some(folder) = self.folder {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let cached = CachedRun { run, example_answers: run.example_answers.clone() };
        write_atomically(&path, |file| {
            serde_json::to_writer(file, &cached).map_err(|error| Error::io(&path)(error.into()))
        })
    }
}
