//! One course of EM: M step, E step, until the classes stand still.

use rand::RngExt as _;

use super::Monitor;
use super::components::Components;
use super::evidence::evidence;
use super::mixture::{Joint, Mixture, around};
use super::trainer::{Schedule, Task, Trainer, train};
use crate::data::{Batcher, Told};
use crate::models::Net;
use crate::{Error, Result, Rng};
use burn::tensor::Device;

/// What one course of EM works on.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub batcher: Batcher<'a>,
    pub train: &'a [usize],
    pub valid: &'a [usize],
    pub device: &'a Device,
    pub monitor: &'a dyn Monitor,
}

/// How long a course runs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub rounds: usize,
    /// Epochs between two E steps.
    pub epochs: usize,
    pub schedule: Schedule,
    /// Whether classes are drawn at random at first, ever less so, rather than taken as the most probable.
    pub annealed: bool,
}

/// Where a course came to.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub mixture: Mixture,
    /// The class of every training unit, in the order of the training rows.
    pub labels: Vec<usize>,
    /// -log likelihood of every validation unit.
    pub nll: Vec<f64>,
    /// The same under a law that does not take common directions for classes, to judge K by.
    pub evidence: Vec<f64>,
    /// Mean squared error on validation units, each under its most probable class.
    pub mse: f64,
    /// Classes that lost their units and were started again.
    pub reseeded: usize,
}

/// Smallest share of the units that a class may have, against an even share.
const DYING: f64 = 0.05;

/// Run EM from `nets` (one per class, or one told the class) and `labels` of the training rows.
pub(crate) fn run(
    field: &Field<'_>,
    nets: Vec<Net>,
    mut labels: Vec<usize>,
    classes: usize,
    plan: &Plan,
    rng: &mut Rng,
) -> Result<Course> {
    let mut learners: Vec<Learner> = nets.into_iter().map(|net| Learner::new(net, field, plan)).collect();
    let mut reseeded = 0;
    for round in 0..plan.rounds {
        if field.monitor.stopped() {
            return Err(Error::Interrupted);
        }
        m_step(&mut learners, field, &labels, classes, plan, round, rng)?;
        let components = Components { nets: learners.iter().map(Learner::net).collect(), classes };
        if classes == 1 {
            continue;
        }
        let mixture = around(components, &field.batcher, field.valid, field.device);
        let joint = mixture.joint(&field.batcher, field.train, field.device);
        let heat = if plan.annealed { heat(round, plan.rounds) } else { 0.0 };
        let before = std::mem::replace(&mut labels, draw(&joint, heat, rng));
        if reseed(&mut labels, &joint, classes) {
            reseeded += 1;
        }
        let changed = labels.iter().zip(&before).filter(|(a, b)| a != b).count();
        if heat == 0.0 && changed == 0 && round > 1 {
            break;
        }
    }
    let components = Components { nets: learners.iter().map(Learner::net).collect(), classes };
    Ok(Course::of(field, components, labels, reseeded))
}

impl Course {
    /// Where `components` stand on the validation units.
    pub fn of(field: &Field<'_>, components: Components, labels: Vec<usize>, reseeded: usize) -> Self {
        let mixture = around(components, &field.batcher, field.valid, field.device);
        let joint = mixture.joint(&field.batcher, field.valid, field.device);
        let valid = joint.labels();
        let mse = assigned_mse(&mixture, field, &valid);
        let nll = joint.marginal();
        let evidence = evidence(&mixture.members[0], &field.batcher, field.valid, &valid, field.device);
        Self { evidence: evidence.unwrap_or_else(|| nll.clone()), nll, mixture, labels, mse, reseeded }
    }
}

/// A network on its way: an optimiser at work, or a map that is solved for anew.
enum Learner {
    Gradient(Box<Trainer>),
    Closed(Box<Net>),
}

impl Learner {
    fn new(net: Net, field: &Field<'_>, plan: &Plan) -> Self {
        match net {
            Net::Linear(_) => Self::Closed(Box::new(net)),
            net => Self::Gradient(Box::new(Trainer::new(net, field.device, plan.schedule.weight_decay))),
        }
    }

    fn net(&self) -> Net {
        match self {
            Self::Gradient(trainer) => trainer.net(),
            Self::Closed(net) => Net::clone(net),
        }
    }
}

/// Every network learns from the units of its own class.
fn m_step(
    learners: &mut [Learner],
    field: &Field<'_>,
    labels: &[usize],
    classes: usize,
    plan: &Plan,
    round: usize,
    rng: &mut Rng,
) -> Result<()> {
    let separate = learners.len() == classes;
    let top = 1 + field.train.iter().chain(field.valid).max().copied().unwrap_or(0);
    let mut by_row = vec![0; top];
    field.train.iter().zip(labels).for_each(|(&row, &label)| by_row[row] = label);
    for (k, learner) in learners.iter_mut().enumerate() {
        let own = field.train.iter().zip(labels).filter(|(_, label)| !separate || **label == k);
        let rows: Vec<usize> = own.map(|(row, _)| *row).collect();
        if rows.is_empty() {
            continue;
        }
        let told = if separate { Told::Nothing } else { Told::Each(&by_row, classes) };
        match learner {
            Learner::Gradient(trainer) => {
                for epoch in 0..plan.epochs {
                    let done = (round * plan.epochs + epoch) as f64;
                    let total = (plan.rounds * plan.epochs) as f64;
                    let rate = |part: f64| plan.schedule.rate((done + part) / total);
                    let loss = trainer.epoch(&field.batcher, &rows, told, plan.schedule.batch, rate, rng);
                    field.monitor.epoch(loss);
                }
            }
            Learner::Closed(net) => {
                let task = Task {
                    batcher: field.batcher,
                    train: &rows,
                    valid: &[],
                    told,
                    device: field.device,
                    alone: false,
                };
                **net = train(Net::clone(net), &task, &plan.schedule, rng, field.monitor)?.net;
            }
        }
    }
    Ok(())
}

/// From 1 down to 0, the last third of the course without chance.
fn heat(round: usize, rounds: usize) -> f64 {
    let progress = round as f64 / (rounds as f64 * 2.0 / 3.0);
    if progress >= 1.0 { 0.0 } else { (1.0 - progress).powi(2) }
}

/// A class for every unit: the most probable, or drawn with log odds divided by a temperature that is `heat`
/// times the typical gap between classes.
fn draw(joint: &Joint, heat: f64, rng: &mut Rng) -> Vec<usize> {
    let best = joint.labels();
    if heat == 0.0 {
        return best;
    }
    let rows = || joint.nll.chunks_exact(joint.classes);
    let gap = |row: &[f64]| {
        let low = row.iter().copied().fold(f64::INFINITY, f64::min);
        row.iter().map(|nll| nll - low).sum::<f64>() / (row.len() - 1) as f64
    };
    let typical = rows().map(gap).sum::<f64>() / best.len() as f64;
    let temperature = (heat * typical).max(1.0);
    let pick = |row: &[f64]| {
        let low = row.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = row.iter().map(|nll| ((low - nll) / temperature).exp()).collect();
        let mut at = rng.random::<f64>() * weights.iter().sum::<f64>();
        weights
            .iter()
            .position(|weight| {
                at -= weight;
                at < 0.0
            })
            .unwrap_or(row.len() - 1)
    };
    rows().map(pick).collect()
}

/// Give a class that has lost its units those that fit worst where they are.
fn reseed(labels: &mut [usize], joint: &Joint, classes: usize) -> bool {
    let n = labels.len();
    let mut sizes = vec![0; classes];
    labels.iter().for_each(|&label| sizes[label] += 1);
    let least = ((DYING * n as f64 / classes as f64) as usize).max(2);
    let Some(dying) = (0..classes).find(|&k| sizes[k] < least) else { return false };
    let mut worst: Vec<usize> = (0..n).collect();
    worst.sort_by(|&a, &b| joint.nll[b * classes + labels[b]].total_cmp(&joint.nll[a * classes + labels[a]]));
    worst.iter().take(n / (2 * classes)).for_each(|&unit| labels[unit] = dying);
    true
}

fn assigned_mse(mixture: &Mixture, field: &Field<'_>, labels: &[usize]) -> f64 {
    let classes =
        super::mixture::gather(&mixture.members[0], &field.batcher, field.valid, labels, field.device);
    let squares = classes.iter().flat_map(|class| &class.squares).filter(|square| !square.is_nan());
    let (n, sum) = squares.fold((0.0, 0.0), |(n, sum), &square| (n + 1.0, sum + f64::from(square)));
    sum / f64::max(n, 1.0)
}
