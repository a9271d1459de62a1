//! The default recipe from data to a model that can be asked.

use super::calibrate::{Calibration, Case, Element, Factor};
use super::explore::{Attempt, Context, explored};
use super::fitted::{FitReport, Fitted, Header, Part, StartReport, Tried};
use super::members::{self, Member};
use super::mixture::{Mixture, around, gather};
use super::paper::paper_recipe;
use super::pool::Pool;
use super::prepared::{Prepared, enough};
use super::scales::{Residuals, Scales};
use super::select::{Rung, Selection, compare, select};
use super::split::sample;
use super::store::Store;
use super::{Monitor, Prior, Resources, Stillness, Support};
use crate::config::{FitConfig, Recipe, Sharing};
use crate::data::Dataset;
use crate::eval::adjusted_rand_index;
use crate::models::BaseConfig;
use crate::query::{NEGLIGIBLE, Question, effects};
use crate::{Result, stream};

/// A start is another solution where its classes agree less than this with the best one's ...
const OTHER: f64 = 0.9;
/// ... and is not ruled out where its likelihood per element comes this close.
const CLOSE: f64 = 0.02;

/// The most residuals that scales and intervals are made from, as all of them are held at once ...
const RESIDUALS: usize = 1 << 23;
/// ... but never those of fewer units than this.
const FEWEST: usize = 1_000;
/// Units that tell which elements of an image are still: their elements are many.
const STILL_UNITS: usize = 256;

/// Fit a model to `data`; where `valid` is given, all of `data` trains, and selection and calibration use `valid`.
pub fn fit(
    data: &Dataset,
    valid: Option<&Dataset>,
    config: &FitConfig,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Fitted> {
    with_context(data, valid, config, resources, monitor, |context| match config.recipe {
        Recipe::Default => default_recipe(context),
        Recipe::Paper => paper_recipe(context),
    })
}

/// What held-out units say of every number of classes up to `config.max_classes`; nothing is trained beyond that.
pub fn compare_classes(
    data: &Dataset,
    valid: Option<&Dataset>,
    config: &FitConfig,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Vec<Tried>> {
    with_context(data, valid, config, resources, monitor, compare)
}

/// Split and scale, and go on with what a fit needs.
fn with_context<R>(
    data: &Dataset,
    valid: Option<&Dataset>,
    config: &FitConfig,
    resources: &Resources,
    monitor: &dyn Monitor,
    run: impl FnOnce(&Context<'_>) -> Result<R>,
) -> Result<R> {
    config.check()?;
    enough(data)?;
    let raw_treatment = config.recipe == Recipe::Paper;
    let (joined, prepared) = match valid {
        None => (None, Prepared::new(data, config.seed, raw_treatment)?),
        Some(valid) => {
            let joined = data.join(valid)?;
            let prepared = Prepared::given(&joined, valid.len(), config.seed, raw_treatment);
            (Some(joined), prepared)
        }
    };
    let data = joined.as_ref().unwrap_or(data);
    let Prepared { split, scaler, shapes } = prepared;
    let explored = explored(&split, scaler.y.each());
    let pool = Pool::new(resources.threads)?;
    let store = Store::open(resources, config, data)?;
    run(&Context {
        config,
        data,
        scaler: &scaler,
        shapes: &shapes,
        split: &split,
        explored: &explored,
        device: &resources.device,
        pool: &pool,
        monitor,
        store: &store,
    })
}

/// Starts and EM, choice of base model and K, ensemble, scales, weights, calibration.
fn default_recipe(context: &Context<'_>) -> Result<Fitted> {
    let Selection { chosen, tried, one_class_suffices } = select(context)?;
    let best = &chosen.attempts[0];
    let labels = label(context, &best.course.mixture, &context.split.learning());
    let (base, classes, sharing) = (&chosen.base, chosen.classes, best.sharing);
    let learned = learn(context, Labelled { base, classes, sharing, labels, settled: false })?;
    let mixture = Mixture { prior: learned.prior, scales: learned.scales, members: learned.members };
    let alternatives = alternatives(context, &chosen);
    let report = FitReport {
        tried,
        one_class_suffices,
        starts: start_reports(&chosen.attempts),
        agreement: agreement(&chosen.attempts),
        class_sizes: learned.sizes,
        val_nll: learned.val_nll,
        val_mse: learned.val_mse,
        epochs: learned.epochs,
        effort: learned.effort.to_owned(),
        notes: notes(&chosen, one_class_suffices),
        ..FitReport::default()
    };
    finish(context, chosen.base, mixture, alternatives, report)
}

/// What the ensemble is trained on.
pub(crate) struct Labelled<'a> {
    pub base: &'a BaseConfig,
    pub classes: usize,
    /// How the classes shared networks when they were found.
    pub sharing: Sharing,
    /// The class of every row of the data set.
    pub labels: Vec<usize>,
    /// Whether the labels are the truth, rather than a guess that a better network may improve.
    pub settled: bool,
}

/// What the ensemble came to.
pub(crate) struct Learned {
    pub members: Vec<super::components::Components>,
    pub scales: Scales,
    pub prior: Prior,
    pub sizes: Vec<usize>,
    pub val_nll: f64,
    pub val_mse: f64,
    pub epochs: usize,
    pub effort: &'static str,
}

/// Train the ensemble on classes, and look at what it leaves unexplained.
pub(crate) fn learn(context: &Context<'_>, labelled: Labelled<'_>) -> Result<Learned> {
    let Labelled { base, classes, sharing, labels, settled } = labelled;
    let batcher = context.batcher();
    let rows = context.split.learning();
    let (count, folds) = members::counts(context, base);
    let folds = members::cut(&rows, folds);
    let (setting, first) = members::choose(context, base, classes, sharing, &labels, &folds)?;
    let labels = match first {
        Some(first) if !settled => {
            let mixture = around(first.components, &batcher, &first.held_out, context.device);
            label(context, &mixture, &rows)
        }
        _ => labels,
    };
    let members = members::ensemble(context, base, classes, &setting, &labels, &folds, count)?;

    let residuals = held_out_residuals(context, &members, &labels, classes);
    let scales = Scales::fit(&residuals, batcher.scaler.y.each(), batcher.scaler.t.each(), true);
    let labelled = |rows: &[usize]| rows.iter().map(|&row| (row, labels[row])).collect::<Vec<_>>();
    let (train, valid) = (labelled(&context.split.train), labelled(&context.split.valid));
    let prior = Prior::fit(&batcher, &train, &valid, classes);
    let mut sizes = vec![0; classes];
    rows.iter().for_each(|&row| sizes[labels[row]] += 1);
    let (val_nll, val_mse) = held_out_scores(context, &members, &scales, &prior, &residuals);
    Ok(Learned {
        epochs: members.iter().map(|member| member.epochs).max().unwrap_or(0),
        members: members.into_iter().map(|member| member.components).collect(),
        scales,
        prior,
        sizes,
        val_nll,
        val_mse,
        effort: setting.effort.name,
    })
}

/// The most probable class of `rows`, by row of the data set.
fn label(context: &Context<'_>, mixture: &Mixture, rows: &[usize]) -> Vec<usize> {
    let found = mixture.joint_in(&context.batcher(), rows, context.device, context.pool).labels();
    let mut labels = vec![0; context.data.len()];
    rows.iter().zip(found).for_each(|(&row, label)| labels[row] = label);
    labels
}

/// Residuals of units from members that did not learn from them, by class.
fn held_out_residuals(
    context: &Context<'_>,
    members: &[Member],
    labels: &[usize],
    classes: usize,
) -> Vec<Residuals> {
    let most = (RESIDUALS / context.scaler.y.each() / members.len().max(1)).max(FEWEST);
    let parts = context.pool.map(members.iter().collect(), |member| {
        let rows = sample(&member.held_out, most);
        let own: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
        gather(&member.components, &context.batcher(), &rows, &own, context.device)
    });
    let mut all = vec![Residuals::default(); classes];
    for part in parts {
        for (all, part) in all.iter_mut().zip(part) {
            all.t.extend(part.t);
            all.squares.extend(part.squares);
        }
    }
    all
}

fn held_out_scores(
    context: &Context<'_>,
    members: &[Member],
    scales: &Scales,
    prior: &Prior,
    residuals: &[Residuals],
) -> (f64, f64) {
    let nll: Vec<f64> = context
        .pool
        .map(members.iter().collect(), |member| {
            let members = vec![member.components.clone()];
            let mixture = Mixture { members, scales: scales.clone(), prior: prior.clone() };
            mixture.joint(&context.batcher(), &member.held_out, context.device).marginal()
        })
        .concat();
    let squares = residuals.iter().flat_map(|class| &class.squares).filter(|square| !square.is_nan());
    let (n, sum) = squares.fold((0.0, 0.0), |(n, sum), &square| (n + 1.0, sum + f64::from(square)));
    (nll.iter().sum::<f64>() / nll.len().max(1) as f64, sum / f64::max(n, 1.0))
}

/// Other starts' solutions that held-out units do not rule out.
fn alternatives(context: &Context<'_>, rung: &Rung) -> Vec<Mixture> {
    let best = &rung.attempts[0];
    let limit = best.score() + CLOSE * context.scaler.y.each() as f64;
    let other = |attempt: &&Attempt| {
        attempt.score() < limit && adjusted_rand_index(&attempt.course.labels, &best.course.labels) < OTHER
    };
    rung.attempts[1..].iter().filter(other).take(2).map(|attempt| attempt.course.mixture.clone()).collect()
}

fn start_reports(attempts: &[Attempt]) -> Vec<StartReport> {
    let best = &attempts[0].course.labels;
    let report = |attempt: &Attempt| {
        let start = attempt.start?;
        let agreement = adjusted_rand_index(&attempt.course.labels, best);
        Some(StartReport { start, sharing: attempt.sharing, nll: attempt.score(), agreement })
    };
    attempts.iter().filter_map(report).collect()
}

fn agreement(attempts: &[Attempt]) -> f64 {
    let reports = start_reports(attempts);
    let others: Vec<f64> = reports.iter().skip(1).map(|report| report.agreement).collect();
    if others.is_empty() { 1.0 } else { others.iter().sum::<f64>() / others.len() as f64 }
}

fn notes(rung: &Rung, one_class_suffices: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if one_class_suffices && rung.classes > 1 {
        notes.push(format!(
            "no hidden class was found: one class explains held-out units as well as {}; \
             use --classes 1 or --classes auto",
            rung.classes
        ));
    } else if one_class_suffices {
        notes.push("no hidden class was found: the model answers with one class".to_owned());
    }
    let reseeded = rung.attempts[0].course.reseeded;
    if reseeded > 0 {
        notes.push(format!(
            "a class lost its units and was started again {reseeded} times; try fewer classes"
        ));
    }
    notes
}

/// Calibrate and put everything together.
pub(crate) fn finish(
    context: &Context<'_>,
    base: BaseConfig,
    mixture: Mixture,
    alternatives: Vec<Mixture>,
    mut report: FitReport,
) -> Result<Fitted> {
    let cases = cases(context, &mixture);
    let factor = factor(&base, members::counts(context, &base).1);
    let mut calibration = Calibration::fit(&cases, context.scaler.y.each(), factor);
    calibration.still = still(context, &mixture, &calibration);
    report.notes.extend(calibration.still.map(|still| {
        format!(
            "{:.0}% of the elements of an outcome do not respond to the treatment: where the noise is kept, \
             they keep what they showed",
            100.0 * still.share()
        )
    }));
    let split = context.split;
    report.units = [split.train.len(), split.valid.len(), split.calibration.len()];
    report.delta_hat = delta_hat(context, &mixture);
    let header = Header {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: context.config.clone(),
        shapes: context.shapes.clone(),
        base,
        classes: mixture.classes(),
        scaler: context.scaler.clone(),
        calibration,
        members: Part::of(&mixture),
        alternatives: alternatives.iter().map(Part::of).collect(),
        report,
        layout: None,
    };
    let mut rng = stream(context.config.seed, &["support"]);
    let support = Support::new(&context.batcher(), &split.train, &mut rng)?;
    Ok(Fitted {
        header,
        mixture,
        alternatives,
        support,
        device: context.device.clone(),
        threads: context.pool.threads(),
    })
}

/// What the members' variance must be multiplied by to be that of their mean. Closed forms differ by their fold alone, as
/// in a jackknife, whose factor is known well; networks differ by their start as well.
fn factor(base: &BaseConfig, folds: usize) -> Factor {
    let folds = folds as f64;
    match base {
        BaseConfig::Linear(_) => Factor { expected: (folds - 1.0).powi(2) / folds, uncertainty: 0.25 },
        _ => Factor { expected: 1.0, uncertainty: 0.75 },
    }
}

fn cases(context: &Context<'_>, mixture: &Mixture) -> Vec<Case> {
    let batcher = context.batcher();
    let d = batcher.scaler.y.each();
    let rows = sample(&context.split.calibration, (RESIDUALS / d / 4).max(FEWEST));
    let parts = context.pool.map(rows.chunks(batcher.at_once()).collect(), |rows| {
        let labels = mixture.joint(&batcher, rows, context.device).labels();
        let y = batcher.outcomes(rows);
        let t = batcher.treatments(rows);
        let d_t = t.len() / rows.len();
        let mut cases = vec![Case::default(); rows.len()];
        for k in 0..mixture.classes() {
            let spread = mixture.spread(k, &batcher, rows, None, context.device);
            for (i, &row) in rows.iter().enumerate().filter(|(i, _)| labels[*i] == k) {
                let log_variance = mixture.scales.log_variance(k, &t[i * d_t..(i + 1) * d_t]);
                let mask = batcher.data.y().mask_row(row);
                for j in (0..d).filter(|&j| mask.is_none_or(|mask| mask[j])) {
                    cases[i].elements.push(Element {
                        at: j as u32,
                        square: (y[i * d + j] - spread.mean[i * d + j]).powi(2),
                        scale: log_variance[j].exp(),
                        spread: spread.variance[i * d + j],
                    });
                }
            }
        }
        cases
    });
    parts.into_iter().flatten().collect()
}

/// Whether most elements of images are still, by calibration units under one another's treatments. The paper's recipe,
/// with its one member, goes without.
fn still(context: &Context<'_>, mixture: &Mixture, calibration: &Calibration) -> Option<Stillness> {
    if context.shapes.y.len() < 3 || mixture.members.len() < 2 {
        return None;
    }
    let batcher = context.batcher();
    let rows = sample(&context.split.calibration, STILL_UNITS);
    let others: Vec<usize> = (0..rows.len()).map(|i| rows[(i + rows.len() / 2) % rows.len()]).collect();
    let at_once = batcher.at_once();
    let parts =
        context.pool.map(rows.chunks(at_once).zip(others.chunks(at_once)).collect(), |(rows, others)| {
            let to = batcher.treatments(others);
            let question =
                Question { batcher, rows, to: &to, from: None, rho: 1.0, calibration, least: NEGLIGIBLE };
            effects(mixture, &question, context.device)
        });
    Stillness::fit(&parts.concat())
}

/// The largest class mean of |y - m_k| per element, on calibration units.
fn delta_hat(context: &Context<'_>, mixture: &Mixture) -> f64 {
    let rows = &context.split.calibration;
    let batcher = context.batcher();
    let labels = mixture.joint_in(&batcher, rows, context.device, context.pool).labels();
    let classes = gather(&mixture.members[0], &batcher, rows, &labels, context.device);
    let mean = |class: &Residuals| {
        let seen = class.squares.iter().filter(|square| !square.is_nan());
        let (n, sum) = seen.fold((0.0, 0.0), |(n, sum), &square| (n + 1.0, sum + f64::from(square.sqrt())));
        if n > 0.0 { sum / n } else { 0.0 }
    };
    classes.iter().map(mean).fold(0.0, f64::max)
}
