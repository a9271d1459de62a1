//! Training of one network by mean squared error.

use std::ops::Range;

use burn::tensor::Device;
use rand::Rng as _;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::optimizer::{NetworkOptimizer, mean_square};
use crate::models::ridge::{PENALTIES, RidgeProblem, Solution};
use crate::models::{BaseConfig, Batcher, ClassInput, LinearMap, Net, Network};
use crate::nn::{Adam, tensor};
use crate::runtime::Monitor;
use crate::{Error, Result, Rng};

/// The training schedule of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// The largest number of passes over the units.
    pub epochs: usize,
    /// The number of units per step.
    pub batch: usize,
    /// The largest step size of Adam.
    pub learning_rate: f64,
    /// Whether the step size falls to zero along a cosine after a short warm-up.
    pub cosine: bool,
    /// The decoupled weight decay.
    pub weight_decay: f64,
    /// The number of epochs without a better validation loss after which training stops; `None` is never.
    pub patience: Option<usize>,
}

impl Schedule {
    /// The epochs of [`train`] for a network of this base model, at most: one for a linear map, which is solved for.
    pub(crate) fn epochs_of(&self, base: &BaseConfig) -> usize {
        if matches!(base, BaseConfig::Linear(_)) { 1 } else { self.epochs }
    }

    /// The step size at `progress` in [0, 1].
    pub(crate) fn rate(&self, progress: f64) -> f64 {
        if !self.cosine {
            return self.learning_rate;
        }
        let warm_up = 0.05;
        let cosine =
            0.5 * (1.0 + (std::f64::consts::PI * (progress - warm_up).max(0.0) / (1.0 - warm_up)).cos());
        self.learning_rate * (progress / warm_up).clamp(0.02, 1.0) * cosine.max(1e-3)
    }
}

/// The number of units per shard; with fewer, matrix products are inefficient.
const SHARD_UNITS: usize = 64;
/// The approximate largest number of time steps or pixels per shard; it bounds the memory of the layers.
const MAX_SHARD_SITES: usize = 25_000;
/// The number of rounds in which a linear map fills in missing outcomes.
const FILL_ROUNDS: usize = 5;

/// A network in training.
pub(crate) struct Trainer {
    optimizer: NetworkOptimizer,
    device: Device,
    /// The largest number of units per shard.
    max_shard_units: usize,
}

impl Trainer {
    /// Trains `net` further, on `device`.
    ///
    /// A batch is cut into shards whose gradients are computed separately and added in order. The cut depends on the batch
    /// alone, so the number of threads does not affect results.
    pub(crate) fn new(net: Net, device: &Device, weight_decay: f64) -> Self {
        let adam = Adam { weight_decay, ..Adam::default() };
        Self {
            optimizer: NetworkOptimizer::new(net, adam),
            device: device.clone(),
            max_shard_units: usize::MAX,
        }
    }

    /// Cuts batches of small units too, so that threads of the current pool synchronise once per step instead of once per
    /// operation.
    pub(crate) fn sharded(self) -> Self {
        Self { max_shard_units: SHARD_UNITS, ..self }
    }

    /// Trains for one pass over `rows` in random order, and returns the mean loss.
    pub(crate) fn epoch(
        &mut self,
        batcher: &Batcher<'_>,
        rows: &[usize],
        class: ClassInput<'_>,
        batch: usize,
        rate: impl Fn(f64) -> f64,
        rng: &mut Rng,
    ) -> f64 {
        let device = self.optimizer.device(&self.device);
        let max_units = self.max_shard_units.min(MAX_SHARD_SITES / batcher.scaler.y.sites()).max(1);
        let mut order = rows.to_vec();
        order.shuffle(rng);
        let (mut sum, steps) = (0.0, order.len().div_ceil(batch));
        for (step, rows) in order.chunks(batch).enumerate() {
            let rate = rate(step as f64 / steps as f64);
            let dropout = rng.next_u64();
            let shard_units = rows.len().div_ceil((rows.len() / max_units).max(1));
            let starts = (0..rows.len()).step_by(shard_units);
            let shards: Vec<Range<usize>> =
                starts.map(|start| start..rows.len().min(start + shard_units)).collect();
            let loss = self.optimizer.step(&shards, batcher.observed(rows), rate, |shard| {
                let rows = &rows[shard.clone()];
                let mut input = batcher.input(rows, class, &device);
                input.dropout = Some(dropout.wrapping_add(shard.start as u64));
                (input, batcher.target(rows, &device))
            });
            sum += loss * rows.len() as f64;
        }
        sum / order.len() as f64
    }

    /// A copy of the network in its current state, for prediction.
    pub(crate) fn net(&self) -> Net {
        self.optimizer.net(&self.device)
    }
}

/// The mean squared error of `net` on `rows`.
pub(crate) fn validation_loss(
    net: &Net,
    batcher: &Batcher<'_>,
    rows: &[usize],
    class: ClassInput<'_>,
    device: &Device,
) -> f64 {
    let batch_loss = |rows: &[usize]| {
        let output = net.forward(&batcher.input(rows, class, device));
        let loss = mean_square(output, batcher.target(rows, device), batcher.observed(rows));
        f64::from(loss.into_scalar::<f32>()) * rows.len() as f64
    };
    rows.chunks(batcher.at_once()).map(batch_loss).sum::<f64>() / rows.len() as f64
}

/// A trained network, with its loss and training length.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    pub net: Net,
    /// The lowest validation loss, or training loss if there are no validation units.
    pub loss: f64,
    pub epochs: usize,
}

/// The data that a network is trained on.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub batcher: Batcher<'a>,
    pub train: &'a [usize],
    pub valid: &'a [usize],
    pub class: ClassInput<'a>,
    pub device: &'a Device,
    /// Whether this is the only network in training, which then uses all threads.
    pub alone: bool,
}

/// Trains `net` by `schedule` and returns it in the state of its lowest validation loss. A linear map is solved for
/// directly.
pub(crate) fn train(
    net: Net,
    task: &Task<'_>,
    schedule: &Schedule,
    rng: &mut Rng,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    if let Net::Linear(map) = net {
        let solved = solve_linear(map, task)?;
        monitor.epoch(solved.loss);
        return Ok(solved);
    }
    let trainer = Trainer::new(net, task.device, schedule.weight_decay);
    let mut trainer = if task.alone { trainer.sharded() } else { trainer };
    let mut best = Trained { net: trainer.net(), loss: f64::INFINITY, epochs: 0 };
    for epoch in 0..schedule.epochs {
        if monitor.stopped() {
            return Err(Error::Interrupted);
        }
        let rate = |fraction: f64| schedule.rate((epoch as f64 + fraction) / schedule.epochs as f64);
        let mut loss = trainer.epoch(&task.batcher, task.train, task.class, schedule.batch, rate, rng);
        if !task.valid.is_empty() {
            loss = validation_loss(&trainer.net(), &task.batcher, task.valid, task.class, task.device);
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

/// Ridge regression with the penalty of the lowest validation loss. Missing outcomes are filled in with the predictions of
/// the map, in several rounds.
fn solve_linear(map: LinearMap, task: &Task<'_>) -> Result<Trained> {
    let (z, features) = design(task);
    let mut y = task.batcher.outcomes(task.train);
    let outputs = y.len() / task.train.len();
    // only x is penalised: shrinking the coefficients of treatments or classes would bias effects
    let penalised = task.batcher.scaler.x.elements() * (1 + usize::from(task.batcher.missing));
    let rows = if task.valid.is_empty() { task.train } else { task.valid };
    let loss = |net: &Net| validation_loss(net, &task.batcher, rows, task.class, task.device);
    let mut rounds = if task.batcher.data.y().mask().is_some() { FILL_ROUNDS } else { 1 };
    loop {
        let problem = RidgeProblem { z: &z, features, penalised, y: &y, outputs };
        let solutions = problem.solve(&PENALTIES).map_err(|error| {
            Error::fit(format!("the linear model: {error}"), "look for extreme values in x, t and y")
        })?;
        let nets =
            solutions.iter().map(|solution| with_solution(&map, solution, [features, outputs], task.device));
        let candidates = nets.map(|net| (loss(&net), net));
        let (loss, net) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)).expect("PENALTIES is not empty");
        rounds -= 1;
        if rounds == 0 {
            return Ok(Trained { net, loss, epochs: 1 });
        }
        fill_missing(&mut y, &net, task);
    }
}

/// The design matrix of the training units, `[n, features]`, and its number of features.
fn design(task: &Task<'_>) -> (Vec<f32>, usize) {
    let design = LinearMap::design(&task.batcher.input(task.train, task.class, task.device));
    let features = design.dims()[1];
    (design.into_data().try_into_vec::<f32>().expect("the design matrix is f32"), features)
}

/// A linear network with the coefficients of `solution`, `[features, outputs]`.
fn with_solution(map: &LinearMap, solution: &Solution, shape: [usize; 2], device: &Device) -> Net {
    let mut map = map.clone();
    let weight = tensor(solution.weight.clone(), shape, device);
    map.map.weight = map.map.weight.map(|_| weight);
    let bias = tensor(solution.bias.clone(), [shape[1]], device);
    map.map.bias = map.map.bias.map(|_| bias);
    Net::Linear(map)
}

/// Replaces missing outcomes by the predictions of `net`.
fn fill_missing(y: &mut [f32], net: &Net, task: &Task<'_>) {
    let output = net.forward(&task.batcher.input(task.train, task.class, task.device));
    let output = output.into_data().try_into_vec::<f32>().expect("networks are f32");
    let d = task.batcher.scaler.y.elements();
    for (i, &row) in task.train.iter().enumerate() {
        let elements = i * d..(i + 1) * d;
        let mask = task.batcher.data.y().mask_row(row).unwrap_or_default();
        let values = y[elements.clone()].iter_mut().zip(&output[elements]).zip(mask);
        values.filter(|(_, observed)| !**observed).for_each(|((y, output), _)| *y = *output);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::data::{Dataset, Scaler, Units};
    use crate::models::{BaseConfig, LinearConfig, MlpConfig, Shapes};
    use crate::stream;

    const SCHEDULE: Schedule = Schedule {
        epochs: 30,
        batch: 16,
        learning_rate: 0.01,
        cosine: true,
        weight_decay: 0.0,
        patience: None,
    };

    /// y = 2 x + t, with a missing outcome in every fifth unit if `missing`.
    fn line(n: usize, missing: bool) -> Dataset {
        let value = |i: usize, k: usize| ((i * k) % 23) as f32 / 11.0 - 1.0;
        let (x, t): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (value(i, 7), value(i, 5))).unzip();
        let y = x.iter().zip(&t).map(|(x, t)| 2.0 * x + t).collect();
        let units = |name: &str, values| Units::new(name, vec![1], values).unwrap();
        let mask = |i: usize| !i.is_multiple_of(5);
        let outcome = if missing {
            Units::with_mask("y", vec![1], y, Some((0..n).map(mask).collect())).unwrap()
        } else {
            units("y", y)
        };
        Dataset::new(units("x", x), units("t", t), outcome).unwrap()
    }

    fn train_on(
        data: &Dataset,
        base: BaseConfig,
        schedule: &Schedule,
        monitor: &dyn Monitor,
    ) -> Result<Trained> {
        let (scaler, device) = (Scaler::fit(&data.all(), false), Device::flex());
        let net = base.init(&Shapes::from_data(data), &mut stream(1, &["net"]), &device)?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let (train_rows, valid) = rows.split_at(data.len() * 3 / 4);
        let task = Task {
            batcher: Batcher { data, scaler: &scaler, missing: false },
            train: train_rows,
            valid,
            class: ClassInput::None,
            device: &device,
            alone: false,
        };
        train(net, &task, schedule, &mut stream(1, &["train"]), monitor)
    }

    fn small_mlp() -> BaseConfig {
        BaseConfig::Mlp(MlpConfig { hidden: vec![16], ..MlpConfig::default() })
    }

    #[test]
    fn a_linear_map_is_solved_exactly_with_missing_outcomes_too() {
        for missing in [false, true] {
            let linear = BaseConfig::Linear(LinearConfig::default());
            let trained = train_on(&line(200, missing), linear, &SCHEDULE, &()).unwrap();
            assert!(trained.loss < 1e-3, "{missing}: {}", trained.loss);
        }
    }

    struct Epochs(AtomicUsize);

    impl Monitor for Epochs {
        fn epoch(&self, _loss: f64) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn training_lowers_the_validation_loss_and_stops_early() {
        let data = line(200, false);
        let short = train_on(&data, small_mlp(), &Schedule { epochs: 1, ..SCHEDULE }, &()).unwrap();
        let long = train_on(&data, small_mlp(), &SCHEDULE, &()).unwrap();
        assert!(long.loss < 0.5 * short.loss, "{} {}", short.loss, long.loss);

        let epochs = Epochs(AtomicUsize::new(0));
        // steps too small to improve anything after the first epoch
        let stuck = Schedule { learning_rate: 1e-30, cosine: false, patience: Some(2), ..SCHEDULE };
        train_on(&data, small_mlp(), &stuck, &epochs).unwrap();
        assert_eq!(epochs.0.load(Ordering::Relaxed), 4, "the first epoch and three without improvement");
    }

    #[test]
    fn a_monitor_stops_training() {
        struct Stop;
        impl Monitor for Stop {
            fn stopped(&self) -> bool {
                true
            }
        }
        let stopped = train_on(&line(50, false), small_mlp(), &SCHEDULE, &Stop);
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn the_step_size_warms_up_and_falls_to_a_thousandth() {
        assert!(SCHEDULE.rate(0.0) < SCHEDULE.rate(0.05));
        assert!((SCHEDULE.rate(0.05) - 0.01).abs() < 1e-12);
        assert!(SCHEDULE.rate(0.5) < 0.01 && SCHEDULE.rate(1.0) <= 1e-5 * (1.0 + 1e-9));
        let constant = Schedule { cosine: false, ..SCHEDULE };
        assert_eq!([0.0, 0.5, 1.0].map(|progress| constant.rate(progress)), [0.01; 3]);
    }
}
