//! Training of any network by any loss: Adam over shuffled batches with early stopping on validation units.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burn_optim::GradientsParams;
use rand::seq::SliceRandom;

use crate::nn::Adam;
use crate::runtime::Monitor;
use crate::train::Schedule;
use crate::{Error, Result, Rng};

/// A schedule with a cosine learning rate and early stopping after `patience` epochs without improvement.
pub(super) fn cosine_schedule(
    epochs: usize,
    patience: usize,
    batch: usize,
    learning_rate: f64,
    weight_decay: f64,
) -> Schedule {
    Schedule { epochs, batch, learning_rate, cosine: true, weight_decay, patience: Some(patience) }
}

/// The units, schedule and device of a training.
pub(super) struct TrainingSetup<'a> {
    pub schedule: &'a Schedule,
    pub train: &'a [usize],
    pub device: &'a Device,
    pub monitor: &'a dyn Monitor,
}

/// Trains `net` by `loss` on batches of rows; returns the weights with the lowest `validate`, the loss on validation
/// units, and that loss.
pub(super) fn train_network<M: Module>(
    net: M,
    setup: &TrainingSetup<'_>,
    rng: &mut Rng,
    loss: impl Fn(&M, &[usize], &Device, &mut Rng) -> Tensor<1>,
    validate: impl Fn(&M) -> f64,
) -> Result<(M, f64)> {
    let TrainingSetup { schedule, train, monitor, .. } = *setup;
    let device = setup.device.clone().autodiff();
    let adam = Adam { weight_decay: schedule.weight_decay, ..Adam::default() };
    let (mut optimizer, mut net) = (adam.init(), net.train());
    let (mut best, mut since) = ((net.valid(), f64::INFINITY), 0);
    let mut order = train.to_vec();
    let steps = order.len().div_ceil(schedule.batch);
    for epoch in 0..schedule.epochs {
        if monitor.stopped() {
            return Err(Error::Interrupted);
        }
        order.shuffle(rng);
        for (step, rows) in order.chunks(schedule.batch).enumerate() {
            let progress = (epoch as f64 + step as f64 / steps as f64) / schedule.epochs as f64;
            let loss = loss(&net, rows, &device, rng);
            let gradients = GradientsParams::from_grads(loss.backward(), &net);
            drop(loss);
            net = optimizer.step(schedule.rate(progress), net, gradients);
        }
        let validation = validate(&net.valid());
        monitor.epoch(validation);
        since += 1;
        if validation < best.1 {
            (best, since) = ((net.valid(), validation), 0);
        } else if schedule.patience.is_some_and(|patience| since > patience) {
            break;
        }
    }
    if best.1.is_finite() {
        return Ok(best);
    }
    let problem = format!("the loss was not finite in any of {} epochs", schedule.epochs);
    Err(Error::fit(problem, "lower the learning rate, or look for extreme values in x, t and y"))
}
