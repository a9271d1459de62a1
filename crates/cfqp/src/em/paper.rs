//! The published algorithm.
//!
//! 1. One model m_0 for all units, by mean squared error, with early stopping.
//! 2. Groups of its residual vectors, by k-means or a diagonal Gaussian mixture, the most even of ten restarts.
//! 3. K copies of m_0; m_k learns from group k; every so many epochs each training unit goes to the model that
//!    predicts it best; early stopping on the validation loss under the current assignment.
//! 4. A query goes to the model that predicts the unit's own outcome best: argmin_j |y - m_j(x, t)|^2, rho = 0.

use super::Prior;
use super::cluster::Choice;
use super::components::{Components, residuals};
use super::explore::Context;
use super::fit::finish;
use super::fitted::{FitReport, Fitted};
use super::mixture::{Mixture, gather};
use super::run::{Course, Field};
use super::scales::{Residuals, Scales};
use super::starts::{Clues, guess};
use super::trainer::{Schedule, Trainer, train};
use crate::config::{Base, Classes, Start};
use crate::data::Told;
use crate::models::{BaseConfig, Net, UnetConfig};
use crate::nn::TreatmentEmbeddingConfig;
use crate::{Error, Result, Rng, stream};

const PATIENCE: usize = 20;
/// Adam's step size.
const LEARNING_RATE: f64 = 1e-3;

/// Epochs of both stages, and between two assignments.
fn lengths(context: &Context<'_>) -> (usize, usize) {
    let images = context.shapes.x.len() == 3;
    let (epochs, delta) = if images { (50, 10) } else { (500, 20) };
    (context.config.epochs.unwrap_or(epochs), delta)
}

fn base(context: &Context<'_>) -> BaseConfig {
    let config = context.config;
    let treatment = TreatmentEmbeddingConfig::PAPER;
    match config.base {
        Base::Linear => BaseConfig::Linear(Default::default()),
        Base::Mlp => BaseConfig::Mlp(config.mlp.clone()),
        Base::Transformer => BaseConfig::Transformer(config.transformer),
        Base::Unet => BaseConfig::Unet(UnetConfig { treatment, ..config.unet.clone() }),
        Base::Auto if context.shapes.x.len() > 1 => {
            BaseConfig::Unet(UnetConfig { treatment, ..config.unet.clone() })
        }
        Base::Auto => BaseConfig::Mlp(config.mlp.clone()),
    }
}

pub(crate) fn paper_recipe(context: &Context<'_>) -> Result<Fitted> {
    let Classes::Given(classes) = context.config.classes else {
        let hint = "give --classes K, or use the default recipe";
        return Err(Error::config(
            "classes",
            "the paper's recipe does not choose the number of classes",
            hint,
        ));
    };
    let base = base(context);
    let (epochs, delta) = lengths(context);
    let (batch, learning_rate) =
        (context.config.batch, context.config.learning_rate.unwrap_or(LEARNING_RATE));
    let schedule =
        Schedule { epochs, batch, learning_rate, cosine: false, weight_decay: 0.0, patience: Some(PATIENCE) };
    let single = first_stage(context, &base, &schedule)?;
    let residuals =
        residuals(&single, &context.batcher(), &context.split.train, context.device, context.pool);
    let labels = groups(context, &residuals, classes)?;
    let stage = second_stage(context, single, labels, classes, &schedule, delta)?;
    let mixture = equal_scales(context, stage.components);
    let field = Field { train: &context.split.train, ..context.field() };
    let course = Course::of(&field, mixture.members[0].clone(), stage.labels, 0);
    let mut class_sizes = vec![0; classes];
    course.labels.iter().for_each(|&label| class_sizes[label] += 1);
    let report = FitReport {
        class_sizes,
        agreement: 1.0,
        val_nll: course.nll.iter().sum::<f64>() / course.nll.len().max(1) as f64,
        val_mse: course.mse,
        epochs: stage.epochs,
        effort: "paper".to_owned(),
        ..FitReport::default()
    };
    finish(context, base, mixture, Vec::new(), report)
}

fn first_stage(context: &Context<'_>, base: &BaseConfig, schedule: &Schedule) -> Result<Net> {
    let net = context.init(base, 0, &["paper", "single"])?;
    let task = context.task();
    context.monitor.stage("one model for all units", schedule.epochs);
    let work = || {
        context.trained("paper single", base, 0, || {
            let mut rng = stream(context.config.seed, &["paper", "single", "train"]);
            train(net, &task, schedule, &mut rng, context.monitor)
        })
    };
    Ok(context.pool.alone(work)?.net)
}

fn groups(context: &Context<'_>, residuals: &[f32], classes: usize) -> Result<Vec<usize>> {
    let start = context.config.starts.first().copied().unwrap_or(Start::Kmeans);
    let rng = &mut stream(context.config.seed, &["paper", "groups"]);
    let outcomes = || context.batcher().outcomes(&context.split.train);
    let clues = Clues { residuals, outcomes: &outcomes, shape: context.scaler.y.shape() };
    guess(start, clues, classes, Choice::MostEven, rng)
}

struct Stage {
    components: Components,
    labels: Vec<usize>,
    epochs: usize,
}

fn second_stage(
    context: &Context<'_>,
    single: Net,
    mut labels: Vec<usize>,
    classes: usize,
    schedule: &Schedule,
    delta: usize,
) -> Result<Stage> {
    let (batcher, split) = (context.batcher(), context.split);
    let trainer = |k: usize| {
        let rng = stream(context.config.seed, &["paper", "class", &k.to_string()]);
        (Trainer::new(single.clone(), context.device, 0.0), rng)
    };
    let mut learners: Vec<(Trainer, Rng)> = (0..classes).map(trainer).collect();
    let mut best = (f64::INFINITY, vec![single.clone(); classes], 0);
    context.monitor.stage("one model per class", schedule.epochs);
    for epoch in 1..=schedule.epochs {
        if context.monitor.stopped() {
            return Err(Error::Interrupted);
        }
        learners =
            context.pool.map(learners.into_iter().enumerate().collect(), |(k, (mut trainer, mut rng))| {
                let own = split.train.iter().zip(&labels).filter(|(_, label)| **label == k);
                let rows: Vec<usize> = own.map(|(row, _)| *row).collect();
                if !rows.is_empty() {
                    let rate = |_: f64| schedule.learning_rate;
                    trainer.epoch(&batcher, &rows, Told::Nothing, schedule.batch, rate, &mut rng);
                }
                (trainer, rng)
            });
        let nets: Vec<Net> = learners.iter().map(|(trainer, _)| trainer.net()).collect();
        let components = Components { nets, classes };
        let (_, loss) = assign(context, &components, &split.valid);
        context.monitor.epoch(loss);
        if loss < best.0 {
            best = (loss, components.nets.clone(), epoch);
        } else if epoch - best.2 > PATIENCE {
            break;
        }
        if epoch % delta == 0 {
            labels = assign(context, &components, &split.train).0;
        }
    }
    let components = Components { nets: best.1, classes };
    let labels = assign(context, &components, &split.train).0;
    Ok(Stage { components, labels, epochs: best.2 })
}

/// The class whose model predicts each of `rows` best, and the mean squared error under it.
fn assign(context: &Context<'_>, components: &Components, rows: &[usize]) -> (Vec<usize>, f64) {
    let unit =
        Residuals { t: vec![0.0; context.scaler.t.each()], squares: vec![1.0; context.scaler.y.each()] };
    let mixture = with_scale(context, components.clone(), &unit);
    let labels = mixture.joint_in(&context.batcher(), rows, context.device, context.pool).labels();
    let classes = gather(components, &context.batcher(), rows, &labels, context.device);
    let squares = classes.iter().flat_map(|class| &class.squares).filter(|square| !square.is_nan());
    let (n, sum) = squares.fold((0.0, 0.0), |(n, sum), &square| (n + 1.0, sum + f64::from(square)));
    (labels, sum / f64::max(n, 1.0))
}

/// A mixture of equal weights in which all elements of all classes have the scale of `residuals`.
fn with_scale(context: &Context<'_>, components: Components, residuals: &Residuals) -> Mixture {
    let (d, d_t, classes) = (context.scaler.y.each(), context.scaler.t.each(), components.classes);
    let scales = Scales::fit(&vec![residuals.clone(); classes], d, d_t, false);
    let prior = Prior::Constant(vec![1.0 / classes as f32; classes]);
    Mixture { members: vec![components], scales, prior }
}

/// One scale for everything, from validation units: the most probable class is the nearest.
fn equal_scales(context: &Context<'_>, components: Components) -> Mixture {
    let (_, mse) = assign(context, &components, &context.split.valid);
    let d = context.scaler.y.each();
    let t = vec![0.0; context.scaler.t.each()];
    with_scale(context, components, &Residuals { t, squares: vec![mse as f32; d] })
}
