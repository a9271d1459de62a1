//! The published algorithm.
//!
//! 1. One model m_0 for all units, by mean squared error, with early stopping.
//! 2. Clusters of its residual vectors, by k-means or a diagonal Gaussian mixture; of ten restarts, the most even.
//! 3. K copies of m_0. Copy m_k is trained on cluster k; every few epochs each training unit is reassigned to the model
//!    that predicts it best. Early stopping on the validation loss under the current assignment.
//! 4. A query uses the model that predicts the factual outcome best: argmin_j |y - m_j(x, t)|^2, with rho = 0.

use super::finish::finish;
use crate::config::{Base, Classes, Start};
use crate::math::cluster::Choice;
use crate::math::{mean, mean_observed};
use crate::model::{
    Components, FitReport, Mixture, Model, Prior, Residuals, Scales, TrainingLength, class_residuals,
    residuals,
};
use crate::models::{BaseConfig, ClassInput, Net, UnetConfig};
use crate::nn::TreatmentEmbeddingConfig;
use crate::runtime::Stage;
use crate::search::{EmData, EmSolution, StartInputs, initial_labels};
use crate::train::{Context, Schedule, Trainer, train};
use crate::{Error, Result, Rng, stream};

/// Epochs without improvement before training stops.
const PATIENCE: usize = 20;
/// Adam's step size.
const LEARNING_RATE: f64 = 1e-3;

/// The published number of epochs of both stages, and between two assignments.
struct Lengths {
    epochs: usize,
    reassign_every: usize,
}

impl Lengths {
    fn new(context: &Context<'_>) -> Self {
        let images = context.shapes.x.len() == 3;
        let (epochs, reassign_every) = if images { (50, 10) } else { (500, 20) };
        Self { epochs: context.config.epochs.unwrap_or(epochs), reassign_every }
    }
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

pub(super) fn fit_paper(context: &Context<'_>) -> Result<Model> {
    let Classes::Given(classes) = context.config.classes else {
        unreachable!("validated settings of this recipe have a number of classes");
    };
    let base = base(context);
    let lengths = Lengths::new(context);
    let schedule = Schedule {
        epochs: lengths.epochs,
        batch: context.config.batch,
        learning_rate: context.config.learning_rate.unwrap_or(LEARNING_RATE),
        cosine: false,
        weight_decay: 0.0,
        patience: Some(PATIENCE),
    };
    let single = first_stage(context, &base, &schedule)?;
    let residuals =
        residuals(&single, &context.batcher(), &context.split.train, context.device, context.pool);
    let labels = cluster_residuals(context, &residuals, classes)?;
    let stage = second_stage(context, single, labels, classes, &schedule, lengths.reassign_every)?;
    let mixture = with_one_scale(context, stage.components);
    let solution = EmSolution::new(&EmData::new(context), mixture.members[0].clone(), stage.labels, 0);
    let mut class_sizes = vec![0; classes];
    solution.labels.iter().for_each(|&label| class_sizes[label] += 1);
    let report = FitReport {
        class_sizes,
        agreement: 1.0,
        val_nll: mean(&solution.nll),
        val_mse: solution.mse,
        epochs: stage.epochs,
        training_length: TrainingLength::Published,
        ..FitReport::default()
    };
    finish(context, base, mixture, Vec::new(), report)
}

fn first_stage(context: &Context<'_>, base: &BaseConfig, schedule: &Schedule) -> Result<Net> {
    let net = context.init(base, 0, &["paper", "single"])?;
    let task = context.task();
    context.monitor.stage(Stage::SingleModel, schedule.epochs_of(base));
    let work = || {
        context.trained("paper single", base, 0, || {
            let mut rng = stream(context.config.seed, &["paper", "single", "train"]);
            train(net, &task, schedule, &mut rng, context.monitor)
        })
    };
    Ok(context.pool.run_alone(work)?.net)
}

fn cluster_residuals(context: &Context<'_>, residuals: &[f32], classes: usize) -> Result<Vec<usize>> {
    let start = context.config.starts.first().copied().unwrap_or(Start::Kmeans);
    let rng = &mut stream(context.config.seed, &["paper", "groups"]);
    let outcomes = || context.batcher().outcomes(&context.split.train);
    let inputs = StartInputs { residuals, outcomes: &outcomes, shape: context.scaler.y.shape() };
    initial_labels(start, inputs, classes, Choice::MostEven, rng)
}

/// The result of the second stage.
struct ClassModels {
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
    reassign_every: usize,
) -> Result<ClassModels> {
    let (batcher, split) = (context.batcher(), context.split);
    let trainer = |k: usize| {
        let rng = stream(context.config.seed, &["paper", "class", &k.to_string()]);
        (Trainer::new(single.clone(), context.device, 0.0), rng)
    };
    let mut learners: Vec<(Trainer, Rng)> = (0..classes).map(trainer).collect();
    let mut best = Best { loss: f64::INFINITY, nets: vec![single.clone(); classes], epochs: 0 };
    context.monitor.stage(Stage::ClassModels, schedule.epochs);
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
                    trainer.epoch(&batcher, &rows, ClassInput::None, schedule.batch, rate, &mut rng);
                }
                (trainer, rng)
            });
        let nets: Vec<Net> = learners.iter().map(|(trainer, _)| trainer.net()).collect();
        let components = Components { nets, classes };
        let (_, loss) = assign(context, &components, &split.valid);
        context.monitor.epoch(loss);
        if loss < best.loss {
            best = Best { loss, nets: components.nets.clone(), epochs: epoch };
        } else if epoch - best.epochs > PATIENCE {
            break;
        }
        if epoch % reassign_every == 0 {
            labels = assign(context, &components, &split.train).0;
        }
    }
    let components = Components { nets: best.nets, classes };
    let labels = assign(context, &components, &split.train).0;
    Ok(ClassModels { components, labels, epochs: best.epochs })
}

/// The best epoch so far.
struct Best {
    loss: f64,
    nets: Vec<Net>,
    epochs: usize,
}

/// The class whose model predicts each of `rows` best, and the mean squared error under it.
fn assign(context: &Context<'_>, components: &Components, rows: &[usize]) -> (Vec<usize>, f64) {
    let unit_scale = Residuals {
        t: vec![0.0; context.scaler.t.elements()],
        squares: vec![1.0; context.scaler.y.elements()],
    };
    let mixture = with_scale(context, components.clone(), &unit_scale);
    let labels = mixture.joint_in(&context.batcher(), rows, context.device, context.pool).labels();
    let classes = class_residuals(components, &context.batcher(), rows, &labels, context.device);
    let mse = mean_observed(classes.iter().flat_map(|class| &class.squares).copied());
    (labels, mse)
}

/// A mixture of equal weights in which all elements of all classes have the scale of `residuals`.
fn with_scale(context: &Context<'_>, components: Components, residuals: &Residuals) -> Mixture {
    let (d, d_t, classes) = (context.scaler.y.elements(), context.scaler.t.elements(), components.classes);
    let scales = Scales::fit(&vec![residuals.clone(); classes], d, d_t, false);
    let prior = Prior::Constant(vec![1.0 / classes as f32; classes]);
    Mixture { members: vec![components], scales, prior }
}

/// One scale for everything, from validation units, so that the most probable class is the nearest.
fn with_one_scale(context: &Context<'_>, components: Components) -> Mixture {
    let (_, mse) = assign(context, &components, &context.split.valid);
    let d = context.scaler.y.elements();
    let t = vec![0.0; context.scaler.t.elements()];
    with_scale(context, components, &Residuals { t, squares: vec![mse as f32; d] })
}
