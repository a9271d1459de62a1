//! EM from several starts, for one base model and one number of classes.

use super::em::{EmData, EmPlan, EmSolution, run_em};
use super::starts::{StartInputs, initial_labels};
use crate::config::{FitConfig, Sharing, Start};
use crate::math::cluster::Choice;
use crate::math::{adjusted_rand_index, mean};
use crate::model::Components;
use crate::models::{BaseConfig, Net};
use crate::nn::{release_buffers, save_weights};
use crate::runtime::Stage;
use crate::train::{Context, JobResult, Schedule, Split, Task, Trained, sample, train};
use crate::{Result, stream};

/// Largest number of units used to compare starts, base models and K ...
const MAX_SEARCH_UNITS: usize = 20_000;
/// ... and the largest number of residuals, all of which are in memory at once ...
const MAX_SEARCH_RESIDUALS: usize = 1 << 24;
/// ... but never fewer units than this.
const MIN_SEARCH_UNITS: usize = 2_000;

/// Starts whose labels agree this well (adjusted Rand index) count as one.
const MIN_DUPLICATE_AGREEMENT: f64 = 0.98;

/// A fit's data and settings, and the training rows used to compare starts, base models and K.
pub(crate) struct Search<'a> {
    pub context: &'a Context<'a>,
    pub rows: Vec<usize>,
}

impl<'a> Search<'a> {
    /// A search over a sample of the training units; the sample is smaller for larger outcomes.
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { rows: search_rows(context.split, context.scaler.y.elements()), context }
    }

    /// The data of an EM run.
    pub(super) fn em_data(&self) -> EmData<'_> {
        EmData { train: &self.rows, ..EmData::new(self.context) }
    }

    fn schedule(&self, base: &BaseConfig) -> Schedule {
        search_schedule(base, self.context.config, self.rows.len())
    }
}

fn search_rows(split: &Split, elements: usize) -> Vec<usize> {
    let units = (MAX_SEARCH_RESIDUALS / elements.max(1)).clamp(MIN_SEARCH_UNITS, MAX_SEARCH_UNITS);
    sample(&split.train, units)
}

/// An EM solution and the start it was reached from; one class needs no start.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub start: Option<Start>,
    pub sharing: Sharing,
    pub solution: EmSolution,
}

impl Attempt {
    /// Mean negative log-likelihood of the validation units.
    pub(crate) fn nll(&self) -> f64 {
        mean(&self.solution.nll)
    }
}

/// The training schedule of a network during the search, on `units` units.
pub(crate) fn search_schedule(base: &BaseConfig, config: &FitConfig, units: usize) -> Schedule {
    let epochs = match base {
        BaseConfig::Linear(_) => 30,
        BaseConfig::Mlp(_) => (60_000 / units.max(1)).clamp(12, 60),
        BaseConfig::Unet(_) => (26_000 / units.max(1)).clamp(6, 20),
        BaseConfig::Transformer(_) => (40_000 / units.max(1)).clamp(8, 30),
    };
    let batch = match base {
        // a U-Net needs many steps, and smaller batches cost it no time
        BaseConfig::Unet(_) => batch_size(config, units).min(32),
        _ => batch_size(config, units),
    };
    let (learning_rate, weight_decay) = (learning_rate(config, base), 0.1);
    Schedule { epochs, batch, learning_rate, cosine: true, weight_decay, patience: None }
}

/// Adam's step size. Group norms make most weights of a U-Net scale-free, so it tolerates larger steps.
pub(crate) fn learning_rate(config: &FitConfig, base: &BaseConfig) -> f64 {
    config.learning_rate.unwrap_or(match base {
        BaseConfig::Unet(_) => 6e-3,
        _ => 1e-3,
    })
}

/// Units per step; small for small data sets, so that an epoch has enough steps.
pub(crate) fn batch_size(config: &FitConfig, units: usize) -> usize {
    config.batch.min((units / 32).clamp(16, 64).max(units / 128))
}

/// Trains one network on all units, without classes.
pub(crate) fn train_single(search: &Search<'_>, base: &BaseConfig) -> Result<Trained> {
    let context = search.context;
    let schedule = search.schedule(base);
    let net = context.init(base, 0, &["single", base.name()])?;
    let task = Task { train: &search.rows, ..context.task() };
    context.monitor.stage(Stage::SingleModel, schedule.epochs_of(base));
    let job = || {
        context.trained(&format!("single {}", base.name()), base, 0, || {
            let mut rng = stream(context.config.seed, &["single", base.name(), "train"]);
            train(net, &task, &schedule, &mut rng, context.monitor)
        })
    };
    let trained = context.pool.run_alone(job);
    release_buffers();
    trained
}

/// One EM run to do.
struct EmJob {
    start: Option<Start>,
    sharing: Sharing,
    labels: Vec<usize>,
}

/// Runs EM with `classes` classes from every distinct start; the best solution comes first.
///
/// # Shapes
/// `residuals` of the single model on the search rows: `[n, y elements]`, flat
pub(crate) fn explore(
    search: &Search<'_>,
    base: &BaseConfig,
    single: &Net,
    residuals: &[f32],
    classes: usize,
) -> Result<Vec<Attempt>> {
    let context = search.context;
    let jobs = em_jobs(search, base, residuals, classes)?;
    let is_linear = matches!(base, BaseConfig::Linear(_));
    let networks: usize = jobs.iter().map(|job| job.sharing.networks(classes)).sum();
    // a run with linear maps has steps in closed form, until no label changes: it counts as one
    let epochs = if is_linear { jobs.len() } else { networks * search.schedule(base).epochs };
    context.monitor.stage(Stage::Classes { classes, base: base.name() }, epochs);
    let attempts = context.pool.try_map(jobs, |job| {
        let (start, sharing) = (job.start, job.sharing);
        let attempt = Attempt { start, sharing, solution: solve(search, base, single, classes, job)? };
        if is_linear {
            context.monitor.epoch(attempt.nll());
        }
        Ok(attempt)
    });
    release_buffers();
    let mut attempts = attempts?;
    attempts.sort_by(|a, b| a.nll().total_cmp(&b.nll()));
    Ok(attempts)
}

fn em_jobs(search: &Search<'_>, base: &BaseConfig, residuals: &[f32], classes: usize) -> Result<Vec<EmJob>> {
    if classes == 1 {
        return Ok(vec![EmJob {
            start: None,
            sharing: Sharing::Separate,
            labels: vec![0; search.rows.len()],
        }]);
    }
    let mut jobs = Vec::new();
    for (start, labels) in distinct_starts(search, base, residuals, classes)? {
        for sharing in sharings(base, search.context.config.sharing) {
            jobs.push(EmJob { start: Some(start), sharing, labels: labels.clone() });
        }
    }
    Ok(jobs)
}

fn sharings(base: &BaseConfig, requested: Sharing) -> Vec<Sharing> {
    match (requested, base) {
        (Sharing::Auto, BaseConfig::Linear(_)) => vec![Sharing::Separate, Sharing::Conditional],
        (Sharing::Auto, BaseConfig::Mlp(_)) => vec![Sharing::Separate],
        (Sharing::Auto, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) => vec![Sharing::Conditional],
        (requested, _) => vec![requested],
    }
}

/// The requested kinds of start, or those suited to the base model. Annealed starts need an E step after every
/// epoch, which is too slow for deep networks.
fn start_kinds(base: &BaseConfig, requested: &[Start]) -> Vec<Start> {
    match base {
        _ if !requested.is_empty() => requested.to_vec(),
        BaseConfig::Linear(_) | BaseConfig::Mlp(_) => {
            Start::ALL.into_iter().filter(|start| *start != Start::KmeansOutcome).collect()
        }
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => {
            vec![Start::Kmeans, Start::KmeansUnit, Start::KmeansOutcome]
        }
    }
}

/// Initial labels of every kind of start, without those that repeat an earlier one.
fn distinct_starts(
    search: &Search<'_>,
    base: &BaseConfig,
    residuals: &[f32],
    classes: usize,
) -> Result<Vec<(Start, Vec<usize>)>> {
    let context = search.context;
    let outcomes = || context.batcher().outcomes(&search.rows);
    let inputs = StartInputs { residuals, outcomes: &outcomes, shape: context.scaler.y.shape() };
    let k = classes.to_string();
    let starts = context.pool.try_map(start_kinds(base, &context.config.starts), |start| {
        let mut rng = stream(context.config.seed, &["guess", base.name(), &k, start.name()]);
        Ok((start, initial_labels(start, inputs, classes, Choice::BestFit, &mut rng)?))
    })?;
    let mut distinct: Vec<(Start, Vec<usize>)> = Vec::new();
    for (start, labels) in starts {
        if !distinct.iter().any(|(_, other)| adjusted_rand_index(&labels, other) > MIN_DUPLICATE_AGREEMENT) {
            distinct.push((start, labels));
        }
    }
    Ok(distinct)
}

/// One EM run, from the checkpoint if it is there.
fn solve(
    search: &Search<'_>,
    base: &BaseConfig,
    single: &Net,
    classes: usize,
    job: EmJob,
) -> Result<EmSolution> {
    let context = search.context;
    if classes == 1 && matches!(base, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) {
        let components = Components { nets: vec![single.clone()], classes };
        return Ok(EmSolution::new(&search.em_data(), components, job.labels, 0));
    }
    let k = classes.to_string();
    let start_name = job.start.map_or("one", Start::name);
    let name = ["em", base.name(), start_name, job.sharing.stream_name(), &k];
    let key = name.join(" ");
    if let Some(solution) = restore(search, base, classes, &key)? {
        return Ok(solution);
    }
    let nets = initial_networks(search, base, single, classes, &job)?;
    let plan = em_plan(search, base, job.start);
    let mut rng = stream(context.config.seed, &name);
    let solution = run_em(&search.em_data(), nets, job.labels, classes, &plan, &mut rng)?;
    let numbers =
        std::iter::once(solution.reseeded as f64).chain(solution.labels.iter().map(|&label| label as f64));
    let nets = solution.mixture.members[0].nets.iter().map(save_weights).collect();
    context.checkpoint.insert(&key, JobResult { nets, numbers: numbers.collect() })?;
    Ok(solution)
}

/// The solution of the job `key`, if the checkpoint has it.
fn restore(search: &Search<'_>, base: &BaseConfig, classes: usize, key: &str) -> Result<Option<EmSolution>> {
    let Some(JobResult { nets, numbers }) = search.context.checkpoint.get(key) else { return Ok(None) };
    let [reseeded, labels @ ..] = &numbers[..] else { return Ok(None) };
    let class_inputs = if nets.len() == classes { 0 } else { classes };
    let nets = nets
        .iter()
        .map(|weights| search.context.restore(base, class_inputs, weights))
        .collect::<Result<_>>()?;
    let labels = labels.iter().map(|&label| label as usize).collect();
    let components = Components { nets, classes };
    Ok(Some(EmSolution::new(&search.em_data(), components, labels, *reseeded as usize)))
}

/// The networks that EM starts from: copies of the single model, or fresh ones.
fn initial_networks(
    search: &Search<'_>,
    base: &BaseConfig,
    single: &Net,
    classes: usize,
    job: &EmJob,
) -> Result<Vec<Net>> {
    let k = classes.to_string();
    let start_name = job.start.map_or("one", Start::name);
    let fresh = |i: usize, class_inputs: usize| {
        let name = ["net", base.name(), start_name, job.sharing.stream_name(), &k, &i.to_string()];
        search.context.init(base, class_inputs, &name)
    };
    match (job.sharing, job.start) {
        (Sharing::Conditional, _) => match single.with_class_input(classes, search.context.device) {
            Some(net) => Ok(vec![net]),
            None => Ok(vec![fresh(0, classes)?]),
        },
        (_, Some(Start::Scratch)) => (0..classes).map(|i| fresh(i, 0)).collect(),
        _ => Ok(vec![single.clone(); classes]),
    }
}

fn em_plan(search: &Search<'_>, base: &BaseConfig, start: Option<Start>) -> EmPlan {
    let schedule = search.schedule(base);
    let annealed = matches!(start, Some(Start::Annealed | Start::Scratch));
    let epochs = match base {
        BaseConfig::Linear(_) => 1,
        _ if annealed => 1,
        BaseConfig::Mlp(_) => 2,
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => 3,
    };
    EmPlan { rounds: schedule.epochs.div_ceil(epochs), epochs, schedule, annealed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_outcomes_are_searched_on_fewer_units() {
        let split = Split { train: (0..50_000).collect(), valid: vec![], calibration: vec![] };
        assert_eq!(search_rows(&split, 1).len(), MAX_SEARCH_UNITS);
        assert_eq!(search_rows(&split, 2352).len(), (1 << 24) / 2352);
        assert_eq!(search_rows(&split, 1 << 20).len(), MIN_SEARCH_UNITS);
        let few = Split { train: (0..30).collect(), valid: vec![], calibration: vec![] };
        assert_eq!(search_rows(&few, 40), few.train);
    }

    #[test]
    fn requested_settings_override_those_of_the_base_model() {
        let (linear, unet) = (BaseConfig::Linear(Default::default()), BaseConfig::Unet(Default::default()));
        assert_eq!(start_kinds(&unet, &[Start::Gmm]), [Start::Gmm]);
        assert!(!start_kinds(&unet, &[]).contains(&Start::Annealed));
        assert!(start_kinds(&linear, &[]).contains(&Start::Annealed));
        assert_eq!(sharings(&unet, Sharing::Separate), [Sharing::Separate]);
        assert_eq!(sharings(&linear, Sharing::Auto).len(), 2);
        let config = FitConfig { learning_rate: Some(0.5), ..FitConfig::default() };
        assert_eq!(learning_rate(&config, &unet), 0.5);
        assert_eq!(learning_rate(&FitConfig::default(), &unet), 6e-3);
    }

    #[test]
    fn batches_grow_with_the_data_up_to_the_configured_size() {
        let config = FitConfig::default();
        assert_eq!([100, 1_000, 4_000, 100_000].map(|units| batch_size(&config, units)), [16, 31, 64, 128]);
    }
}
