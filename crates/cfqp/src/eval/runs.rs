//! One method, one seed: fitted, asked, scored.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::memory::{peak_mb, reset_peak};
use super::oracle::Oracle;
use super::{Reference, accuracy, adjusted_rand_index, class_accuracy, coverage, pehe};
use crate::baselines::{Counterfactual, Method, MethodConfig};
use crate::em::{Prepared, fingerprint};
use crate::{Dataset, Error, Monitor, Resources, Result, Units, write_atomically};

/// Units to learn from, and others whose counterfactuals are known.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// What every method learns from.
    pub train: &'a Dataset,
    /// The true classes of these units, for the oracle alone.
    pub train_z: Option<&'a [usize]>,
    /// What every method is asked about.
    pub test: &'a Dataset,
    /// The answers.
    pub truth: &'a Reference,
    /// Effects to be estimated as well, where they are known.
    pub effects: Option<&'a Effects>,
    /// Units to show, where somebody wants to look at them.
    pub showcase: Option<&'a Showcase>,
}

/// A few units, each to be answered for under a few treatments.
#[derive(Clone, Debug, PartialEq)]
pub struct Showcase {
    /// The units.
    pub units: Dataset,
    /// The treatments, each for all units.
    pub treatments: Vec<f32>,
}

/// True effects y(to) - y(from) of the test units.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// One treatment per unit, or one for all.
    pub from: Units,
    /// One treatment per unit, or one for all.
    pub to: Units,
    /// One per unit.
    pub effect: Units,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Which method.
    pub method: Method,
    /// The seed of its split, starts and weights.
    pub seed: u64,
    /// The version of this library.
    pub version: String,
    /// Its settings.
    pub config: MethodConfig,
    /// What came of it; none if it failed.
    pub scores: Option<Scores>,
    /// Why it failed.
    pub error: Option<String>,
    /// Its answers for the units of the [`Showcase`], one list per treatment; none for the oracle, which knows the
    /// classes of the test units alone. Kept with the run, but no part of its results.
    #[serde(skip)]
    pub shown: Vec<Vec<f32>>,
}

/// A run as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept<R> {
    run: R,
    shown: Vec<Vec<f32>>,
}

/// How good a method's answers are, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// Mean squared error of the counterfactual, divided by the variance of all elements of x in the training
    /// units; for images in pixels.
    pub cf_mse: f64,
    /// The same in units of y.
    pub cf_mse_raw: f64,
    /// Structural similarity, for images.
    pub ssim: Option<f64>,
    /// Root of the mean squared error of effects, in units of y.
    pub pehe: Option<f64>,
    /// The same without the root.
    pub pehe_square: Option<f64>,
    /// The share of units whose class is right under the best matching of classes.
    pub class_accuracy: Option<f64>,
    /// Adjusted Rand index of true and found classes.
    pub ari: Option<f64>,
    /// The share of elements inside their interval, of level 0.9; our own method's alone.
    pub coverage: Option<f64>,
    /// Mean width of the intervals, in units of y.
    pub width: Option<f64>,
    /// The loss on training units that were held out, in the method's own terms.
    #[serde(default)]
    pub validation_loss: Option<f64>,
    /// How many classes.
    pub classes: Option<usize>,
    /// The base model.
    pub base: Option<String>,
    /// Seconds of the fit.
    pub fit_seconds: f64,
    /// Seconds of the answers.
    pub query_seconds: f64,
    /// The most memory held during fit and query. It counts what earlier runs left to the process.
    pub peak_rss_mb: Option<f64>,
}

/// Fit `method`, ask it about the test units and compare.
pub(super) fn run(
    method: Method,
    config: &MethodConfig,
    trial: &Trial<'_>,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<(Scores, Vec<Vec<f32>>)> {
    reset_peak();
    let start = Instant::now();
    let fitted = fit(method, config, trial, resources, monitor)?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let answers = fitted.counterfactual(trial.test, &trial.truth.t_new)?;
    let query_seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = peak_mb();
    let x_variance = Prepared::new(trial.train, config.fit.seed, false)?.scaler.x_variance;
    let accuracy = accuracy(&trial.truth.y_new, &answers, x_variance)?;
    let pehe = trial.effects.map(|effects| effect_error(&*fitted, trial.test, effects)).transpose()?;
    let scores = Scores {
        cf_mse: accuracy.cf_mse,
        cf_mse_raw: accuracy.cf_mse_raw,
        ssim: accuracy.ssim,
        pehe: pehe.map(|pehe| pehe.root),
        pehe_square: pehe.map(|pehe| pehe.mean_square),
        class_accuracy: None,
        ari: None,
        coverage: None,
        width: None,
        validation_loss: fitted.validation_loss(),
        classes: None,
        base: None,
        fit_seconds,
        query_seconds,
        peak_rss_mb,
    };
    let shown = match trial.showcase {
        Some(showcase) if method != Method::Oracle => show(&*fitted, showcase)?,
        _ => Vec::new(),
    };
    Ok((of_mixture(method, &*fitted, trial, scores)?, shown))
}

fn show(fitted: &dyn Counterfactual, showcase: &Showcase) -> Result<Vec<Vec<f32>>> {
    let answer = |&t: &f32| -> Result<Vec<f32>> {
        let to = Units::new("t", vec![1], vec![t])?;
        Ok(fitted.counterfactual(&showcase.units, &to)?.values().to_vec())
    };
    showcase.treatments.iter().map(answer).collect()
}

fn fit(
    method: Method,
    config: &MethodConfig,
    trial: &Trial<'_>,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Box<dyn Counterfactual>> {
    if method != Method::Oracle {
        return method.fit(trial.train, config, resources, monitor);
    }
    let (Some(train), Some(test)) = (trial.train_z, &trial.truth.z) else {
        let hint = "give files that hold z, the class of every unit, or leave the oracle out";
        return Err(Error::data("z", "the oracle must be told the classes", hint));
    };
    let oracle = Oracle::fit(trial.train, train, &config.fit, resources, monitor)?;
    Ok(Box::new(oracle.told(test.clone(), config.rho)))
}

fn effect_error(fitted: &dyn Counterfactual, test: &Dataset, effects: &Effects) -> Result<super::Pehe> {
    let (to, from) = (fitted.counterfactual(test, &effects.to)?, fitted.counterfactual(test, &effects.from)?);
    let values = to.values().iter().zip(from.values()).map(|(to, from)| to - from).collect();
    pehe(&effects.effect, &Units::new("effect", to.shape().to_vec(), values)?)
}

/// What only a mixture of classes has to show: classes, and, where they are calibrated, intervals.
fn of_mixture(
    method: Method,
    fitted: &dyn Counterfactual,
    trial: &Trial<'_>,
    scores: Scores,
) -> Result<Scores> {
    let Some((mixture, ask)) = fitted.mixture() else { return Ok(scores) };
    let answers = mixture.query(trial.test, &trial.truth.t_new, &ask)?;
    let found: Vec<usize> = answers.diagnoses.iter().map(|diagnosis| diagnosis.class).collect();
    let z = trial.truth.z.as_ref().filter(|z| z.len() == found.len());
    let covered = match method {
        Method::Cfqp => Some(coverage(&trial.truth.y_new, &answers.lower, &answers.upper)?),
        _ => None,
    };
    Ok(Scores {
        class_accuracy: z.map(|z| class_accuracy(z, &found)),
        ari: z.map(|z| adjusted_rand_index(z, &found)),
        coverage: covered.map(|covered| covered.share),
        width: covered.map(|covered| covered.width),
        classes: Some(mixture.classes()),
        base: Some(mixture.base().to_owned()),
        ..scores
    })
}

/// Where finished runs are kept: a file each, named by all that a run depends on.
#[derive(Clone, Debug)]
pub(super) struct Shelf<'a> {
    pub folder: Option<&'a Path>,
}

impl Shelf<'_> {
    fn path(&self, method: Method, config: &MethodConfig, trial: &Trial<'_>) -> Result<Option<PathBuf>> {
        let Some(folder) = self.folder else { return Ok(None) };
        let (train, test, truth) = (trial.train, trial.test, trial.truth);
        let mut units = vec![train.x(), train.t(), train.y(), test.x(), test.t(), test.y()];
        units.extend([&truth.t_new, &truth.y_new]);
        units.extend(trial.effects.iter().flat_map(|effects| [&effects.from, &effects.to, &effects.effect]));
        units.extend(trial.showcase.iter().flat_map(|case| [case.units.x(), case.units.t(), case.units.y()]));
        let (version, shown) = (env!("CARGO_PKG_VERSION"), trial.showcase.map(|case| &case.treatments));
        let used = config.used_by(method);
        let mark = fingerprint(&(method, used, version, trial.train_z, &truth.z, shown), &units)?;
        Ok(Some(folder.join(format!("{}-{}-{mark}.json", method.name(), config.fit.seed))))
    }

    /// The run, if it has been finished before. A file that cannot be understood counts as none.
    pub fn recall(&self, method: Method, config: &MethodConfig, trial: &Trial<'_>) -> Result<Option<Run>> {
        let Some(path) = self.path(method, config, trial)? else { return Ok(None) };
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
        let kept: Option<Kept<Run>> = serde_json::from_str(&text).ok();
        Ok(kept.map(|Kept { run, shown }| Run { shown, ..run }))
    }

    pub fn keep(&self, run: &Run, trial: &Trial<'_>) -> Result<()> {
        let Some(path) = self.path(run.method, &run.config, trial)? else { return Ok(()) };
        if let Some(folder) = self.folder {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let kept = Kept { run, shown: run.shown.clone() };
        write_atomically(&path, |file| {
            serde_json::to_writer(file, &kept).map_err(|error| Error::io(&path)(error.into()))
        })
    }
}
