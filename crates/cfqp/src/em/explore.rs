//! EM from several starts for one base model and one number of classes.

use burn::tensor::Device;

use super::Monitor;
use super::cluster::Choice;
use super::components::Components;
use super::pool::Pool;
use super::run::{Course, Field, Plan, run};
use super::split::{Split, sample};
use super::starts::{Clues, guess};
use super::store::{Entry, Store};
use super::trainer::{Schedule, Task, Trained, train};
use crate::config::{FitConfig, Sharing, Start};
use crate::data::{Batcher, Dataset, Scaler, Told};
use crate::eval::adjusted_rand_index;
use crate::models::{BaseConfig, Net, Shapes};
use crate::nn::{Weight, load_weights, release_buffers, save_weights};
use crate::{Result, stream};

/// The most units on which starts, base models and K are tried ...
const EXPLORED: usize = 20_000;
/// ... and the most residuals, as all of them are held at once; but never fewer units than this.
const RESIDUALS: usize = 1 << 24;
const FEWEST: usize = 2_000;

/// The training units that are explored where an outcome has so many elements.
pub(crate) fn explored(split: &Split, elements: usize) -> Vec<usize> {
    sample(&split.train, (RESIDUALS / elements.max(1)).clamp(FEWEST, EXPLORED))
}

/// Two starts that agree this well (adjusted Rand index) are one.
const SAME: f64 = 0.98;

/// What every part of a fit works with.
pub(crate) struct Context<'a> {
    pub config: &'a FitConfig,
    pub data: &'a Dataset,
    pub scaler: &'a Scaler,
    pub shapes: &'a Shapes,
    pub split: &'a Split,
    /// The training units on which starts, base models and K are tried.
    pub explored: &'a [usize],
    pub device: &'a Device,
    pub pool: &'a Pool,
    pub monitor: &'a dyn Monitor,
    pub store: &'a Store,
}

impl<'a> Context<'a> {
    pub fn batcher(&self) -> Batcher<'a> {
        Batcher { data: self.data, scaler: self.scaler, missing: self.shapes.missing }
    }

    /// What a course of EM works on.
    pub fn field(&self) -> Field<'a> {
        Field {
            batcher: self.batcher(),
            train: self.explored,
            valid: &self.split.valid,
            device: self.device,
            monitor: self.monitor,
        }
    }

    /// One network for all training units, stopped by the validation units.
    pub fn task(&self) -> Task<'a> {
        Task {
            batcher: self.batcher(),
            train: &self.split.train,
            valid: &self.split.valid,
            told: Told::Nothing,
            device: self.device,
            alone: true,
        }
    }

    /// A fresh network; told the class where `classes` is not zero.
    pub fn init(&self, base: &BaseConfig, classes: usize, name: &[&str]) -> Result<Net> {
        let shapes = Shapes { classes, ..self.shapes.clone() };
        base.init(&shapes, &mut stream(self.config.seed, name), self.device)
    }

    /// A network as it was kept.
    pub fn restore(&self, base: &BaseConfig, classes: usize, weights: &[Weight]) -> Result<Net> {
        load_weights(self.init(base, classes, &[])?, weights)
    }

    /// The trained network of the job called `key`, from the store or by `train`.
    pub fn trained(
        &self,
        key: &str,
        base: &BaseConfig,
        classes: usize,
        train: impl FnOnce() -> Result<Trained>,
    ) -> Result<Trained> {
        if let Some(Entry { nets, numbers }) = self.store.recall(key)
            && let ([weights], &[loss, epochs]) = (&nets[..], &numbers[..])
        {
            return Ok(Trained { net: self.restore(base, classes, weights)?, loss, epochs: epochs as usize });
        }
        let trained = train()?;
        let numbers = vec![trained.loss, trained.epochs as f64];
        self.store.keep(key, Entry { nets: vec![save_weights(&trained.net)], numbers })?;
        Ok(trained)
    }
}

/// A course of EM and the start it came from.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub start: Option<Start>,
    pub sharing: Sharing,
    pub course: Course,
}

impl Attempt {
    /// Mean -log likelihood of a validation unit.
    pub fn score(&self) -> f64 {
        self.course.nll.iter().sum::<f64>() / self.course.nll.len().max(1) as f64
    }
}

/// How a network is trained in a short run, on so many units.
pub(crate) fn short_schedule(base: &BaseConfig, config: &FitConfig, units: usize) -> Schedule {
    let epochs = match base {
        BaseConfig::Linear(_) => 30,
        BaseConfig::Mlp(_) => (60_000 / units.max(1)).clamp(12, 60),
        BaseConfig::Unet(_) => (26_000 / units.max(1)).clamp(6, 20),
        BaseConfig::Transformer(_) => (40_000 / units.max(1)).clamp(8, 30),
    };
    let batch = match base {
        // steps count for more than units: smaller batches cost a U-Net nothing
        BaseConfig::Unet(_) => batch(config, units).min(32),
        _ => batch(config, units),
    };
    let (learning_rate, weight_decay) = (learning_rate(config, base), 0.1);
    Schedule { epochs, batch, learning_rate, cosine: true, weight_decay, patience: None }
}

/// Adam's step size. Group norms make the weights of a U-Net free of scale: it bears larger steps, and gains by them.
pub(crate) fn learning_rate(config: &FitConfig, base: &BaseConfig) -> f64 {
    config.learning_rate.unwrap_or(match base {
        BaseConfig::Unet(_) => 6e-3,
        _ => 1e-3,
    })
}

/// Units per step: few where there are few, so that an epoch has steps enough.
pub(crate) fn batch(config: &FitConfig, units: usize) -> usize {
    config.batch.min((units / 32).clamp(16, 64).max(units / 128))
}

/// One model for all units.
pub(crate) fn single(context: &Context<'_>, base: &BaseConfig) -> Result<Trained> {
    let schedule = short_schedule(base, context.config, context.explored.len());
    let net = context.init(base, 0, &["single", base.name()])?;
    let task = Task { train: context.explored, ..context.task() };
    context.monitor.stage("one model for all units", schedule.epochs);
    let work = || {
        context.trained(&format!("single {}", base.name()), base, 0, || {
            let mut rng = stream(context.config.seed, &["single", base.name(), "train"]);
            train(net, &task, &schedule, &mut rng, context.monitor)
        })
    };
    let trained = context.pool.alone(work);
    release_buffers();
    trained
}

/// All attempts at `classes` classes, the best first.
///
/// # Shapes
/// residuals of the single model on the training rows, `[n, y elements]`, flat
pub(crate) fn explore(
    context: &Context<'_>,
    base: &BaseConfig,
    single: &Net,
    residuals: &[f32],
    classes: usize,
) -> Result<Vec<Attempt>> {
    let mut jobs = Vec::new();
    if classes == 1 {
        jobs.push((None, Sharing::Separate, vec![0; context.explored.len()]));
    } else {
        for (start, labels) in distinct_starts(context, base, residuals, classes)? {
            for sharing in sharings(base, context.config.sharing) {
                jobs.push((Some(start), sharing, labels.clone()));
            }
        }
    }
    let epochs = match base {
        BaseConfig::Linear(_) => 0,
        _ => short_schedule(base, context.config, context.explored.len()).epochs,
    };
    let networks =
        jobs.iter().map(|job| if job.1 == Sharing::Conditional { 1 } else { classes }).sum::<usize>();
    context.monitor.stage(&format!("{classes} classes, {}", base.name()), networks * epochs);
    let attempts = context.pool.try_map(jobs, |(start, sharing, labels)| {
        let course = attempt(context, base, single, classes, start, sharing, labels)?;
        Ok(Attempt { start, sharing, course })
    });
    release_buffers();
    let mut attempts = attempts?;
    attempts.sort_by(|a, b| a.score().total_cmp(&b.score()));
    Ok(attempts)
}

fn sharings(base: &BaseConfig, asked: Sharing) -> Vec<Sharing> {
    match (asked, base) {
        (Sharing::Auto, BaseConfig::Linear(_)) => vec![Sharing::Separate, Sharing::Conditional],
        (Sharing::Auto, BaseConfig::Mlp(_)) => vec![Sharing::Separate],
        (Sharing::Auto, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) => vec![Sharing::Conditional],
        (asked, _) => vec![asked],
    }
}

/// The kinds of start asked for, or those that pay: an E step of a deep network costs as much as an epoch, too much
/// for one after every epoch.
fn kinds(base: &BaseConfig, asked: &[Start]) -> Vec<Start> {
    match base {
        _ if !asked.is_empty() => asked.to_vec(),
        // annealed starts need no clue
        BaseConfig::Linear(_) | BaseConfig::Mlp(_) => {
            Start::ALL.into_iter().filter(|start| *start != Start::KmeansOutcome).collect()
        }
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => {
            vec![Start::Kmeans, Start::KmeansUnit, Start::KmeansOutcome]
        }
    }
}

/// The guesses that differ from each other.
fn distinct_starts(
    context: &Context<'_>,
    base: &BaseConfig,
    residuals: &[f32],
    classes: usize,
) -> Result<Vec<(Start, Vec<usize>)>> {
    let outcomes = || context.batcher().outcomes(context.explored);
    let clues = Clues { residuals, outcomes: &outcomes, shape: context.scaler.y.shape() };
    let k = classes.to_string();
    let guesses = context.pool.try_map(kinds(base, &context.config.starts), |start| {
        let mut rng = stream(context.config.seed, &["guess", base.name(), &k, start.name()]);
        Ok((start, guess(start, clues, classes, Choice::BestFit, &mut rng)?))
    })?;
    let mut distinct: Vec<(Start, Vec<usize>)> = Vec::new();
    for (start, labels) in guesses {
        if !distinct.iter().any(|(_, other)| adjusted_rand_index(&labels, other) > SAME) {
            distinct.push((start, labels));
        }
    }
    Ok(distinct)
}

fn attempt(
    context: &Context<'_>,
    base: &BaseConfig,
    single: &Net,
    classes: usize,
    start: Option<Start>,
    sharing: Sharing,
    labels: Vec<usize>,
) -> Result<Course> {
    if classes == 1 && matches!(base, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) {
        let components = Components { nets: vec![single.clone()], classes };
        return Ok(Course::of(&context.field(), components, labels, 0));
    }
    let schedule = short_schedule(base, context.config, context.explored.len());
    let start_name = start.map_or("one", Start::name);
    let (k, shared) = (classes.to_string(), format!("{sharing:?}"));
    let name =
        |part: &'static str| [part, base.name(), start_name, shared.as_str(), k.as_str()].map(String::from);
    let rng_name = name("em");
    let rng_name: Vec<&str> = rng_name.iter().map(String::as_str).collect();
    let fresh = |i: usize, told: usize| {
        let i = i.to_string();
        context.init(base, told, &["net", base.name(), start_name, &shared, &k, &i])
    };
    let nets = match (sharing, start) {
        (Sharing::Conditional, _) => match single.told(classes, context.device) {
            Some(net) => vec![net],
            None => vec![fresh(0, classes)?],
        },
        (_, Some(Start::Scratch)) => (0..classes).map(|i| fresh(i, 0)).collect::<Result<_>>()?,
        _ => vec![single.clone(); classes],
    };
    let annealed = matches!(start, Some(Start::Annealed | Start::Scratch));
    let every = match base {
        BaseConfig::Linear(_) => 1,
        _ if annealed => 1,
        BaseConfig::Mlp(_) => 2,
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => 3,
    };
    let plan = Plan { rounds: schedule.epochs.div_ceil(every), epochs: every, schedule, annealed };
    let key = rng_name.join(" ");
    if let Some(Entry { nets, numbers }) = context.store.recall(&key)
        && let [reseeded, labels @ ..] = &numbers[..]
    {
        let told = if nets.len() == classes { 0 } else { classes };
        let nets = nets.iter().map(|weights| context.restore(base, told, weights)).collect::<Result<_>>()?;
        let labels = labels.iter().map(|&label| label as usize).collect();
        return Ok(Course::of(&context.field(), Components { nets, classes }, labels, *reseeded as usize));
    }
    let course =
        run(&context.field(), nets, labels, classes, &plan, &mut stream(context.config.seed, &rng_name))?;
    let numbers =
        std::iter::once(course.reseeded as f64).chain(course.labels.iter().map(|&label| label as f64));
    let nets = course.mixture.members[0].nets.iter().map(save_weights).collect();
    context.store.keep(&key, Entry { nets, numbers: numbers.collect() })?;
    Ok(course)
}
