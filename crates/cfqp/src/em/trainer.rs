//! One network and its optimiser, trained by mean squared error.

use std::ops::Range;

use burn::tensor::Device;
use rand::Rng as _;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Monitor;
use super::learner::{Learner, mean_square};
use crate::data::{Batcher, Told};
use crate::models::ridge::{PENALTIES, Solution, ridge};
use crate::models::{LinearMap, Net, Network};
use crate::nn::{Adam, tensor};
use crate::{Error, Result, Rng};

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Passes over the units, at most.
    pub epochs: usize,
    /// Units per step.
    pub batch: usize,
    /// Adam's step size, at its highest.
    pub learning_rate: f64,
    /// Whether the step size falls to zero along a cosine.
    pub cosine: bool,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Epochs without a better validation loss before training stops; none: never.
    pub patience: Option<usize>,
}

impl Schedule {
    /// The step size at `progress` in [0, 1].
    pub(crate) fn rate(&self, progress: f64) -> f64 {
        if !self.cosine {
            return self.learning_rate;
        }
        let warm = 0.05;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * (progress - warm).max(0.0) / (1.0 - warm)).cos());
        self.learning_rate * (progress / warm).clamp(0.02, 1.0) * cosine.max(1e-3)
    }
}

/// Units of a shard that a thread takes: with fewer, matrix products are too thin.
const SHARD: usize = 64;
/// The most steps or pixels of a shard, about: the layers of more of them would fill memory.
const SITES: usize = 25_000;

/// A network in training.
pub(crate) struct Trainer {
    learner: Learner,
    device: Device,
    shard: usize,
}

impl Trainer {
    /// Continue from `net`, on `device`.
    ///
    /// A batch is cut into shards, each with gradients of its own, added up in their order. The cut depends on the batch
    /// alone, so the bits do too.
    pub fn new(net: Net, device: &Device, weight_decay: f64) -> Self {
        let adam = Adam { weight_decay, ..Adam::default() };
        Self { learner: Learner::new(net, adam), device: device.clone(), shard: usize::MAX }
    }

    /// Batches of small units are cut too: the threads of the current pool meet once a step, not once an operation.
    pub fn sharded(self) -> Self {
        Self { shard: SHARD, ..self }
    }

    /// One pass over `rows` in random order; the mean loss of its steps.
    pub fn epoch(
        &mut self,
        batcher: &Batcher<'_>,
        rows: &[usize],
        told: Told<'_>,
        batch: usize,
        rate: impl Fn(f64) -> f64,
        rng: &mut Rng,
    ) -> f64 {
        let device = self.learner.device(&self.device);
        let most = self.shard.min(SITES / batcher.scaler.y.sites()).max(1);
        let mut order = rows.to_vec();
        order.shuffle(rng);
        let (mut sum, steps) = (0.0, order.len().div_ceil(batch));
        for (step, rows) in order.chunks(batch).enumerate() {
            let rate = rate(step as f64 / steps as f64);
            let dropout = rng.next_u64();
            let each = rows.len().div_ceil((rows.len() / most).max(1));
            let shards: Vec<Range<usize>> =
                (0..rows.len()).step_by(each).map(|from| from..rows.len().min(from + each)).collect();
            let loss = self.learner.step(&shards, batcher.observed(rows), rate, |shard| {
                let rows = &rows[shard.clone()];
                let mut input = batcher.input(rows, told, &device);
                input.dropout = Some(dropout.wrapping_add(shard.start as u64));
                (input, batcher.target(rows, &device))
            });
            sum += loss * rows.len() as f64;
        }
        sum / order.len() as f64
    }

    /// The network as it is now, for prediction.
    pub fn net(&self) -> Net {
        self.learner.net(&self.device)
    }
}

/// The mean squared error of `net` on `rows`.
pub(crate) fn validate(
    net: &Net,
    batcher: &Batcher<'_>,
    rows: &[usize],
    told: Told<'_>,
    device: &Device,
) -> f64 {
    let part = |rows: &[usize]| {
        let output = net.forward(&batcher.input(rows, told, device));
        let loss = mean_square(output, batcher.target(rows, device), batcher.observed(rows));
        f64::from(loss.into_scalar::<f32>()) * rows.len() as f64
    };
    rows.chunks(batcher.at_once()).map(part).sum::<f64>() / rows.len() as f64
}

/// A trained network and how it came to be.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    pub net: Net,
    /// Best validation loss, or training loss where there is nothing to validate on.
    pub loss: f64,
    pub epochs: usize,
}

/// What a network is trained on.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub batcher: Batcher<'a>,
    pub train: &'a [usize],
    pub valid: &'a [usize],
    pub told: Told<'a>,
    pub device: &'a Device,
    /// Whether this is the only network in training, and so has all threads.
    pub alone: bool,
}

/// Train `net` to the best validation loss that `schedule` reaches; a linear map is solved for at once.
pub(crate) fn train(
    net: Net,
    task: &Task<'_>,
    schedule: &Schedule,
    rng: &mut Rng,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    if let Net::Linear(map) = net {
        return Ok(solve(map, task));
    }
    let trainer = Trainer::new(net, task.device, schedule.weight_decay);
    let mut trainer = if task.alone { trainer.sharded() } else { trainer };
    let mut best = Trained { net: trainer.net(), loss: f64::INFINITY, epochs: 0 };
    for epoch in 0..schedule.epochs {
        if monitor.stopped() {
            return Err(Error::Interrupted);
        }
        let rate = |part: f64| schedule.rate((epoch as f64 + part) / schedule.epochs as f64);
        let mut loss = trainer.epoch(&task.batcher, task.train, task.told, schedule.batch, rate, rng);
        if !task.valid.is_empty() {
            loss = validate(&trainer.net(), &task.batcher, task.valid, task.told, task.device);
        }
        monitor.epoch(loss);
        if loss < best.loss {
            best = Trained { net: trainer.net(), loss, epochs: epoch + 1 };
        } else if schedule.patience.is_some_and(|patience| epoch + 1 - best.epochs > patience) {
            break;
        }
    }
    if best.loss.is_finite() {
        return Ok(best);
    }
    let problem = format!("the loss was not finite in any of {} epochs", schedule.epochs);
    Err(Error::fit(problem, "lower the learning rate, or look for extreme values in x, t and y"))
}

/// Ridge regression with the penalty that held-out units prefer. Missing outcomes are filled in with what the map
/// says of them, a few times over.
fn solve(map: LinearMap, task: &Task<'_>) -> Trained {
    let (z, features) = design(task);
    let mut y = task.batcher.outcomes(task.train);
    let outputs = y.len() / task.train.len();
    // x bears the penalty, the treatment and the classes do not: a shrunk response would be a biased effect
    let penalised = task.batcher.scaler.x.each() * (1 + usize::from(task.batcher.missing));
    let rows = if task.valid.is_empty() { task.train } else { task.valid };
    let score = |net: &Net| validate(net, &task.batcher, rows, task.told, task.device);
    let mut rounds = if task.batcher.data.y().mask().is_some() { FILLINGS } else { 1 };
    loop {
        let solutions = ridge(&z, (features, penalised), &y, outputs, &PENALTIES);
        let nets =
            solutions.iter().map(|solution| with_solution(&map, solution, [features, outputs], task.device));
        let scored = nets.map(|net| (score(&net), net));
        let (loss, net) = scored.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are penalties");
        rounds -= 1;
        if rounds == 0 {
            return Trained { net, loss, epochs: 1 };
        }
        fill(&mut y, &net, task);
    }
}

/// How often missing outcomes are filled in.
const FILLINGS: usize = 5;

fn design(task: &Task<'_>) -> (Vec<f32>, usize) {
    let design = LinearMap::design(&task.batcher.input(task.train, task.told, task.device));
    let features = design.dims()[1];
    (design.into_data().try_into_vec::<f32>().expect("a design is f32"), features)
}

fn with_solution(map: &LinearMap, solution: &Solution, shape: [usize; 2], device: &Device) -> Net {
    let mut map = map.clone();
    let weight = tensor(solution.weight.clone(), shape, device);
    map.map.weight = map.map.weight.map(|_| weight);
    let bias = tensor(solution.bias.clone(), [shape[1]], device);
    map.map.bias = map.map.bias.map(|_| bias);
    Net::Linear(map)
}

/// Put the prediction of `net` where an outcome is missing.
fn fill(y: &mut [f32], net: &Net, task: &Task<'_>) {
    let output = net.forward(&task.batcher.input(task.train, task.told, task.device));
    let output = output.into_data().try_into_vec::<f32>().expect("networks are f32");
    let each = task.batcher.scaler.y.each();
    for (i, &row) in task.train.iter().enumerate() {
        let own = i * each..(i + 1) * each;
        let mask = task.batcher.data.y().mask_row(row).unwrap_or_default();
        let values = y[own.clone()].iter_mut().zip(&output[own]).zip(mask);
        values.filter(|(_, observed)| !**observed).for_each(|((y, output), _)| *y = *output);
    }
}
