//! Training of any network by any loss: Adam over shuffled batches, stopped by validation units, the best weights kept.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use rand::seq::SliceRandom;

use crate::em::{Monitor, Schedule};
use crate::nn::Adam;
use crate::{Error, Result, Rng};

/// What a network is trained on, and how.
pub(super) struct Lesson<'a> {
    pub schedule: &'a Schedule,
    pub train: &'a [usize],
    pub device: &'a Device,
    pub monitor: &'a dyn Monitor,
}

/// Train `net` by `loss` of batches of rows; `judge` is the loss on validation units.
pub(super) fn descend<M: Module>(
    net: M,
    lesson: &Lesson<'_>,
    rng: &mut Rng,
    loss: impl Fn(&M, &[usize], &Device, &mut Rng) -> Tensor<1>,
    judge: impl Fn(&M) -> f64,
) -> Result<(M, f64)> {
    let Lesson { schedule, train, monitor, .. } = *lesson;
    let device = lesson.device.clone().autodiff();
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
        let judged = judge(&net.valid());
        monitor.epoch(judged);
        since += 1;
        if judged < best.1 {
            (best, since) = ((net.valid(), judged), 0);
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
