//! EM: an M step that trains every class's mean on its units, an E step that assigns units to classes, repeated
//! until the labels no longer change.

use burn::tensor::Device;
use rand::RngExt as _;

use super::score::full_covariance_nll;
use crate::math::mean_observed;
use crate::model::{Components, Joint, Mixture, class_residuals};
use crate::models::{Batcher, ClassInput, Net};
use crate::runtime::Monitor;
use crate::train::{Context, Schedule, Task, Trainer, train};
use crate::{Error, Result, Rng};

/// The data of an EM run.
#[derive(Clone, Copy)]
pub(crate) struct EmData<'a> {
    pub batcher: Batcher<'a>,
    pub train: &'a [usize],
    pub valid: &'a [usize],
    pub device: &'a Device,
    pub monitor: &'a dyn Monitor,
}

impl<'a> EmData<'a> {
    /// All training and validation units of a fit.
    pub(crate) fn new(context: &Context<'a>) -> Self {
        Self {
            batcher: context.batcher(),
            train: &context.split.train,
            valid: &context.split.valid,
            device: context.device,
            monitor: context.monitor,
        }
    }
}

/// The length of an EM run.
#[derive(Clone, Debug)]
pub(crate) struct EmPlan {
    /// Number of M and E steps.
    pub rounds: usize,
    /// Epochs in one M step.
    pub epochs: usize,
    pub schedule: Schedule,
    /// Whether labels are first drawn at random with a falling temperature, instead of always the most probable.
    pub annealed: bool,
}

/// The result of an EM run.
#[derive(Clone, Debug)]
pub(crate) struct EmSolution {
    pub mixture: Mixture,
    /// The class of every training unit, in the order of the training rows.
    pub labels: Vec<usize>,
    /// Negative log-likelihood of every validation unit.
    pub nll: Vec<f64>,
    /// The same with a full covariance and heavy tails, which scores K.
    pub full_nll: Vec<f64>,
    /// Mean squared error of the validation units, each under its most probable class.
    pub mse: f64,
    /// How often a class lost its units and was seeded again.
    pub reseeded: usize,
}

/// A class with less than this fraction of an even share of the units is seeded again.
const MIN_CLASS_SHARE: f64 = 0.05;

/// Runs EM from `nets` (one per class, or one with the class as input) and `labels` of the training rows.
pub(crate) fn run_em(
    data: &EmData<'_>,
    nets: Vec<Net>,
    mut labels: Vec<usize>,
    classes: usize,
    plan: &EmPlan,
    rng: &mut Rng,
) -> Result<EmSolution> {
    let mut learners: Vec<MeanLearner> =
        nets.into_iter().map(|net| MeanLearner::new(net, data, plan)).collect();
    let components = |learners: &[MeanLearner]| Components {
        nets: learners.iter().map(MeanLearner::net).collect(),
        classes,
    };
    let mut reseeded = 0;
    for round in 0..plan.rounds {
        if data.monitor.stopped() {
            return Err(Error::Interrupted);
        }
        m_step(&mut learners, data, &labels, classes, plan, round, rng)?;
        if classes == 1 {
            continue;
        }
        let mixture =
            Mixture::with_shared_scale(components(&learners), &data.batcher, data.valid, data.device);
        let joint = mixture.joint(&data.batcher, data.train, data.device);
        let heat = if plan.annealed { heat(round, plan.rounds) } else { 0.0 };
        let before = std::mem::replace(&mut labels, draw_labels(&joint, heat, rng));
        if reseed_lost_class(&mut labels, &joint, classes) {
            reseeded += 1;
        }
        let changed = labels.iter().zip(&before).filter(|(a, b)| a != b).count();
        if heat == 0.0 && changed == 0 && round > 1 {
            break;
        }
    }
    Ok(EmSolution::new(data, components(&learners), labels, reseeded))
}

impl EmSolution {
    /// Scores `components` on the validation units.
    pub(crate) fn new(
        data: &EmData<'_>,
        components: Components,
        labels: Vec<usize>,
        reseeded: usize,
    ) -> Self {
        let mixture = Mixture::with_shared_scale(components, &data.batcher, data.valid, data.device);
        let joint = mixture.joint(&data.batcher, data.valid, data.device);
        let valid = joint.labels();
        let residuals = class_residuals(&mixture.members[0], &data.batcher, data.valid, &valid, data.device);
        let mse = mean_observed(residuals.iter().flat_map(|class| &class.squares).copied());
        let nll = joint.marginal();
        let full_nll =
            full_covariance_nll(&mixture.members[0], &data.batcher, data.valid, &valid, data.device);
        Self { full_nll: full_nll.unwrap_or_else(|| nll.clone()), nll, mixture, labels, mse, reseeded }
    }
}

/// One network during EM: trained by gradient steps, or solved for in closed form.
enum MeanLearner {
    Gradient(Box<Trainer>),
    ClosedForm(Box<Net>),
}

impl MeanLearner {
    fn new(net: Net, data: &EmData<'_>, plan: &EmPlan) -> Self {
        match net {
            Net::Linear(_) => Self::ClosedForm(Box::new(net)),
            net => Self::Gradient(Box::new(Trainer::new(net, data.device, plan.schedule.weight_decay))),
        }
    }

    fn net(&self) -> Net {
        match self {
            Self::Gradient(trainer) => trainer.net(),
            Self::ClosedForm(net) => Net::clone(net),
        }
    }
}

/// Trains every network on the units of its class, or one shared network on all units.
fn m_step(
    learners: &mut [MeanLearner],
    data: &EmData<'_>,
    labels: &[usize],
    classes: usize,
    plan: &EmPlan,
    round: usize,
    rng: &mut Rng,
) -> Result<()> {
    let separate = learners.len() == classes;
    let by_row = labels_by_row(data, labels);
    for (k, learner) in learners.iter_mut().enumerate() {
        let own = data.train.iter().zip(labels).filter(|(_, label)| !separate || **label == k);
        let rows: Vec<usize> = own.map(|(row, _)| *row).collect();
        if rows.is_empty() {
            continue;
        }
        let class = if separate { ClassInput::None } else { ClassInput::PerRow { labels: &by_row, classes } };
        match learner {
            MeanLearner::Gradient(trainer) => {
                for epoch in 0..plan.epochs {
                    let done = (round * plan.epochs + epoch) as f64;
                    let total = (plan.rounds * plan.epochs) as f64;
                    let rate = |part: f64| plan.schedule.rate((done + part) / total);
                    let loss = trainer.epoch(&data.batcher, &rows, class, plan.schedule.batch, rate, rng);
                    data.monitor.epoch(loss);
                }
            }
            MeanLearner::ClosedForm(net) => {
                let task = Task {
                    batcher: data.batcher,
                    train: &rows,
                    valid: &[],
                    class,
                    device: data.device,
                    alone: false,
                };
                **net = train(Net::clone(net), &task, &plan.schedule, rng, &())?.net;
            }
        }
    }
    Ok(())
}

/// The labels of the training rows, indexed by row of the data set.
fn labels_by_row(data: &EmData<'_>, labels: &[usize]) -> Vec<usize> {
    let rows = 1 + data.train.iter().chain(data.valid).max().copied().unwrap_or(0);
    let mut by_row = vec![0; rows];
    data.train.iter().zip(labels).for_each(|(&row, &label)| by_row[row] = label);
    by_row
}

/// The temperature factor of a round: falls from 1 to 0, and is 0 in the last third.
fn heat(round: usize, rounds: usize) -> f64 {
    let progress = round as f64 / (rounds as f64 * 2.0 / 3.0);
    if progress >= 1.0 { 0.0 } else { (1.0 - progress).powi(2) }
}

/// A class for every unit: the most probable one at `heat` 0; otherwise drawn, with log odds divided by `heat` times
/// the typical difference between classes (at least 1).
fn draw_labels(joint: &Joint, heat: f64, rng: &mut Rng) -> Vec<usize> {
    let best = joint.labels();
    if heat == 0.0 {
        return best;
    }
    let rows = || joint.nll.chunks_exact(joint.classes);
    let gap = |row: &[f64]| {
        let low = row.iter().copied().fold(f64::INFINITY, f64::min);
        row.iter().map(|nll| nll - low).sum::<f64>() / (row.len() - 1) as f64
    };
    let typical_gap = rows().map(gap).sum::<f64>() / best.len() as f64;
    let temperature = (heat * typical_gap).max(1.0);
    rows().map(|row| draw_class(row, temperature, rng)).collect()
}

/// Draws class k with probability proportional to exp(-nll_k / temperature).
fn draw_class(nll: &[f64], temperature: f64, rng: &mut Rng) -> usize {
    let low = nll.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = nll.iter().map(|nll| ((low - nll) / temperature).exp()).collect();
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let drawn = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    drawn.unwrap_or(nll.len() - 1)
}

/// Gives a class that lost its units those that fit worst where they are. Returns whether there was one.
fn reseed_lost_class(labels: &mut [usize], joint: &Joint, classes: usize) -> bool {
    let n = labels.len();
    let mut sizes = vec![0; classes];
    labels.iter().for_each(|&label| sizes[label] += 1);
    let min_size = ((MIN_CLASS_SHARE * n as f64 / classes as f64) as usize).max(2);
    let Some(lost) = (0..classes).find(|&k| sizes[k] < min_size) else { return false };
    let mut worst: Vec<usize> = (0..n).collect();
    worst.sort_by(|&a, &b| joint.nll[b * classes + labels[b]].total_cmp(&joint.nll[a * classes + labels[a]]));
    worst.iter().take(n / (2 * classes)).for_each(|&unit| labels[unit] = lost);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn temperature_falls_to_zero_before_the_last_third() {
        assert_eq!(heat(0, 30), 1.0);
        assert!(heat(5, 30) > heat(15, 30) && heat(15, 30) > 0.0);
        assert!((20..30).all(|round| heat(round, 30) == 0.0));
    }

    #[test]
    fn labels_are_drawn_in_proportion_to_their_probability() {
        let nll: Vec<f64> = (0..4000).flat_map(|_| [0.0, 3.0_f64.ln()]).collect();
        let joint = Joint { classes: 2, nll };
        assert!(draw_labels(&joint, 0.0, &mut stream(1, &[])).iter().all(|&label| label == 0));
        let drawn = draw_labels(&joint, 1.0, &mut stream(1, &[]));
        let share = drawn.iter().filter(|&&label| label == 1).count() as f64 / 4000.0;
        let temperature = 3.0_f64.ln().max(1.0);
        let odds = (-(3.0_f64.ln()) / temperature).exp();
        assert!((share - odds / (1.0 + odds)).abs() < 0.03, "{share}");
    }

    #[test]
    fn a_class_without_units_takes_those_that_fit_worst() {
        let nll: Vec<f64> = (0..100).flat_map(|i| [f64::from(i), 200.0]).collect();
        let joint = Joint { classes: 2, nll };
        let mut labels = vec![0; 100];
        assert!(reseed_lost_class(&mut labels, &joint, 2));
        assert_eq!(labels.iter().sum::<usize>(), 25);
        assert!(labels[75..].iter().all(|&label| label == 1), "the worst 25");
        assert!(!reseed_lost_class(&mut labels, &joint, 2));
    }
}
