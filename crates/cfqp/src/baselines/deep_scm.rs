//! Deep-SCM: a conditional normalising flow of y given (x, t). Abduct u = f^-1(y; x, t), answer f(u; x, t').
//!
//! An outcome with a grid is taken apart into means over ever larger blocks and the details they leave out
//! ([`Pyramid`], a rotation), and the density is the product over these parts, from coarse to fine:
//!
//! ```text
//! log p(y | x, t) = log p(top | x, t) + sum over steps of log p(details | coarser grid, x, t)
//! ```
//!
//! Each factor is a stack of affine couplings ([`Flow`]), trained by its own likelihood and stopped by that of
//! validation units; on a grid of at least 8 x 8 the networks are U-Nets, else perceptrons. A vector has a top alone.
//! Images are dequantised: uniform noise of one grey level is added in training.

use burn::tensor::Device;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::descent::{Lesson, descend};
use super::flow::{Flow, Given, Size};
use super::pyramid::{Parts, Pyramid};
use super::{Counterfactual, in_batches};
use crate::data::{Batcher, Dataset, Units};
use crate::em::{Monitor, Pool, Prepared, Resources, Schedule};
use crate::models::{BaseConfig, MlpConfig, UnetConfig};
use crate::nn::tensor;
use crate::{Error, Result, Rng, stream};

/// Shortest side of a grid for U-Nets.
const UNET_SIDE: usize = 8;

/// Settings of [`DeepScm`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeepScmConfig {
    /// Couplings of the top, or of a vector.
    pub couplings: usize,
    /// Networks of vectors and of small grids.
    pub mlp: MlpConfig,
    /// Networks of larger grids.
    pub unet: UnetConfig,
    /// Passes over the units, at most; none: by the units.
    pub epochs: Option<usize>,
    /// Units per step.
    pub batch: usize,
    /// Adam's step size, at its highest; none: what validation units preferred, of 0.001, 0.003 and 0.006.
    pub learning_rate: Option<f64>,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Grey levels of an image, for dequantisation; 0: none.
    pub grey_levels: usize,
}

impl Default for DeepScmConfig {
    fn default() -> Self {
        Self {
            couplings: 5,
            mlp: MlpConfig { hidden: vec![256; 2], ..MlpConfig::default() },
            unet: UnetConfig { channels: [32, 64, 96, 128], embed: 64, ..UnetConfig::default() },
            epochs: None,
            batch: 64,
            learning_rate: None,
            weight_decay: 0.3,
            grey_levels: 256,
        }
    }
}

impl DeepScmConfig {
    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        let positive =
            [("couplings", self.couplings), ("batch", self.batch), ("epochs", self.epochs.unwrap_or(1))];
        if let Some((field, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::config(field, "it is 0", "give at least 1"));
        }
        self.mlp.check()
    }

    fn schedule(&self, units: usize, unet: bool, images: bool) -> Schedule {
        let steps = if unet { 900 } else { 4000 };
        let epochs = self.epochs.unwrap_or_else(|| (steps * self.batch / units.max(1)).clamp(20, 200));
        let learning_rate = self.learning_rate.unwrap_or(if images { 0.006 } else { 0.001 });
        let (batch, weight_decay) = (self.batch, self.weight_decay);
        Schedule {
            epochs,
            batch,
            learning_rate,
            cosine: true,
            weight_decay,
            patience: Some(epochs.div_ceil(4)),
        }
    }
}

/// A fitted flow.
#[derive(Clone, Debug)]
pub struct DeepScm {
    prepared: Prepared,
    pyramid: Pyramid,
    /// One per step of the pyramid, from the finest, and that of the top.
    flows: Vec<Flow>,
    /// -log likelihood of a validation unit, over all factors.
    validation: f64,
    device: Device,
    threads: usize,
}

impl DeepScm {
    /// Train every factor, stopped by validation units.
    pub(crate) fn fit(
        data: &Dataset,
        config: &DeepScmConfig,
        seed: u64,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        config.check()?;
        let prepared = Prepared::new(data, seed, false)?;
        let pyramid = Pyramid::new(&prepared.shapes.y);
        let (device, pool) = (&resources.device, Pool::new(resources.threads)?);
        let levels = (0..=pyramid.steps.len()).collect();
        let trained = pool.try_map(levels, |level: usize| {
            let task = Task { data, prepared: &prepared, pyramid: &pyramid, level, config, seed };
            task.train(device, monitor)
        })?;
        let (flows, losses): (Vec<Flow>, Vec<f64>) = trained.into_iter().unzip();
        let (device, threads) = (device.clone(), resources.threads);
        Ok(Self { prepared, pyramid, flows, validation: losses.iter().sum(), device, threads })
    }

    fn answer(&self, batcher: &Batcher<'_>, rows: &[usize], to: &[f32]) -> Vec<f32> {
        let d = self.prepared.shapes.y.iter().product::<usize>();
        let (from, y) = (batcher.treatments(rows), batcher.outcomes(rows));
        let split: Vec<Parts> = y.chunks_exact(d).map(|y| self.pyramid.split(y)).collect();
        let mut grids: Vec<Vec<f32>> = Vec::new();
        for level in (0..self.flows.len()).rev() {
            let values = |coarse: &dyn Fn(usize) -> Vec<f32>, t: &[f32]| {
                let condition = condition(&self.pyramid, level, batcher, rows, coarse);
                given(condition, t, rows.len(), &self.device)
            };
            let here = values(&|i| at(&split[i].coarse, level), &from);
            let own: Vec<f32> = split.iter().flat_map(|parts| own(parts, level).iter().copied()).collect();
            let v = tensor(own.clone(), [rows.len(), own.len() / rows.len()], &self.device);
            let (u, _) = self.flows[level].forward(v, &here);
            let there = values(&|i| if grids.is_empty() { Vec::new() } else { grids[i].clone() }, to);
            let answer = self.flows[level].inverse(u, &there);
            let answer = answer.into_data().try_into_vec::<f32>().expect("networks are f32");
            let answers = answer.chunks_exact(own.len() / rows.len());
            grids = match level == self.pyramid.steps.len() {
                true => answers.map(<[f32]>::to_vec).collect(),
                false => {
                    answers.enumerate().map(|(i, own)| self.pyramid.join(level, &grids[i], own)).collect()
                }
            };
        }
        let mut answer = grids.concat();
        answer.chunks_exact_mut(d).for_each(|unit| self.prepared.scaler.y.restore(unit));
        answer
    }
}

impl Counterfactual for DeepScm {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        in_batches(&self.prepared, data, to, self.threads, |batcher, rows, to| {
            Ok(self.answer(batcher, rows, to))
        })
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.validation)
    }
}

/// One factor in training.
struct Task<'a> {
    data: &'a Dataset,
    prepared: &'a Prepared,
    pyramid: &'a Pyramid,
    level: usize,
    config: &'a DeepScmConfig,
    seed: u64,
}

impl Task<'_> {
    fn train(&self, device: &Device, monitor: &dyn Monitor) -> Result<(Flow, f64)> {
        let (size, base, couplings) = self.shape();
        let level = self.level.to_string();
        let rng = &mut stream(self.seed, &["deep-scm", &level]);
        let flow = Flow::init(&size, couplings, &base, rng, device)?;
        let split = &self.prepared.split;
        let (unet, images) = (matches!(base, BaseConfig::Unet(_)), self.prepared.shapes.y.len() == 3);
        let schedule = self.config.schedule(split.train.len(), unet, images);
        monitor.stage("normalising flow", schedule.epochs);
        let lesson = Lesson { schedule: &schedule, train: &split.train, device, monitor };
        let loss = |flow: &Flow, rows: &[usize], device: &Device, rng: &mut Rng| {
            let (v, given) = self.batch(rows, device, rng);
            flow.loss(v, &given)
        };
        let judge = |flow: &Flow| {
            // the same noise every time
            let rng = &mut stream(self.seed, &["deep-scm", &level, "judge"]);
            let part = |rows: &[usize]| {
                let (v, given) = self.batch(rows, device, rng);
                f64::from(flow.loss(v, &given).into_scalar::<f32>()) * rows.len() as f64
            };
            split.valid.chunks(self.prepared.batcher(self.data).at_once()).map(part).sum::<f64>()
                / split.valid.len() as f64
        };
        descend(flow, &lesson, rng, loss, judge)
    }

    /// What the flow is made for, its networks and how many couplings it has.
    fn shape(&self) -> (Size, BaseConfig, usize) {
        let shapes = &self.prepared.shapes;
        let x = shapes.x.iter().product::<usize>() * (1 + usize::from(shapes.missing));
        let mlp = BaseConfig::Mlp(self.config.mlp.clone());
        let Some(step) = self.pyramid.steps.get(self.level) else {
            let size = Size { v: vec![self.pyramid.channels], condition: x, t: shapes.t };
            return (size, mlp, self.config.couplings);
        };
        let (channels, [height, width]) = ((step.size() - 1) * self.pyramid.channels, step.coarse());
        let places = height * width;
        if folds(self.pyramid, self.level, &shapes.x) {
            let condition = self.pyramid.channels + x / places;
            let size = Size { v: vec![channels, height, width], condition, t: shapes.t };
            return (size, BaseConfig::Unet(self.config.unet.clone()), 1);
        }
        let condition = self.pyramid.channels * places + x;
        (Size { v: vec![channels * places], condition, t: shapes.t }, mlp, 1)
    }

    /// This factor's own values of `rows`, and what they are given.
    fn batch(&self, rows: &[usize], device: &Device, rng: &mut Rng) -> (burn::tensor::Tensor<2>, Given) {
        let batcher = self.prepared.batcher(self.data);
        let d = self.prepared.shapes.y.iter().product::<usize>();
        let mut y = batcher.outcomes(rows);
        if self.prepared.shapes.y.len() == 3 && self.config.grey_levels > 0 {
            let level = 1.0 / self.config.grey_levels as f32;
            for (i, y) in y.iter_mut().enumerate() {
                *y += level * (rng.random::<f32>() - 0.5) / batcher.scaler.y.deviation(i % d);
            }
        }
        let split: Vec<Parts> = y.chunks_exact(d).map(|y| self.pyramid.split(y)).collect();
        let coarse = |i: usize| at(&split[i].coarse, self.level);
        let condition = condition(self.pyramid, self.level, &batcher, rows, &coarse);
        let own: Vec<f32> = split.iter().flat_map(|parts| own(parts, self.level).iter().copied()).collect();
        let each = own.len() / rows.len();
        let given = given(condition, &batcher.treatments(rows), rows.len(), device);
        (tensor(own, [rows.len(), each], device), given)
    }
}

/// Whether x can stand beside the grid of step `level`, and the grid is large enough for a U-Net.
fn folds(pyramid: &Pyramid, level: usize, x: &[usize]) -> bool {
    let (Some(first), Some(step)) = (pyramid.steps.first(), pyramid.steps.get(level)) else { return false };
    x.len() == 3 && x[1..] == first.fine && step.coarse().iter().all(|&side| side >= UNET_SIDE)
}

/// The values of a unit that belong to the factor of `level`.
fn own(parts: &Parts, level: usize) -> &[f32] {
    parts.details.get(level).unwrap_or(&parts.top)
}

/// The grid at `level`, nothing above the last.
fn at(grids: &[Vec<f32>], level: usize) -> Vec<f32> {
    grids.get(level).cloned().unwrap_or_default()
}

/// What the factor of `level` is told of each unit: the coarser grid, x and which of x is missing.
fn condition(
    pyramid: &Pyramid,
    level: usize,
    batcher: &Batcher<'_>,
    rows: &[usize],
    coarse: &dyn Fn(usize) -> Vec<f32>,
) -> Vec<f32> {
    let mut condition = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        if level < pyramid.steps.len() {
            condition.extend(coarse(i));
        }
        let mut x = batcher.covariates(&[*row]);
        if batcher.missing {
            x.extend(batcher.missing_x(&[*row]));
        }
        match folds(pyramid, level, batcher.scaler.x.shape()) {
            true => condition.extend(pyramid.fold(&x, level)),
            false => condition.extend(x),
        }
    }
    condition
}

fn given(condition: Vec<f32>, t: &[f32], n: usize, device: &Device) -> Given {
    let (each, d_t) = (condition.len() / n, t.len() / n);
    Given { condition: tensor(condition, [n, each], device), t: tensor(t.to_vec(), [n, d_t], device) }
}
