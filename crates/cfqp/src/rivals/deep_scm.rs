//! Deep-SCM: a conditional normalising flow y = f(u; x, t). Abduction gives u = f^-1(y; x, t), the answer is f(u; x, t').
//!
//! An outcome on a grid is decomposed into block means on ever coarser grids and the details they leave out (a
//! [`Pyramid`], which is orthogonal), and the density factorises over the levels, from coarse to fine:
//!
//! ```text
//! log p(y | x, t) = log p(top | x, t) + sum over levels of log p(details | coarser grid, x, t)
//! ```
//!
//! Each factor is a stack of affine couplings ([`Flow`]), trained by its own likelihood with early stopping on validation
//! units; its networks are U-Nets on a grid of at least 8 x 8, else perceptrons. A vector has only a top. Images are
//! dequantised: uniform noise of one grey level is added in training.

use burn::tensor::{Device, Tensor};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::descent::{TrainingSetup, cosine_schedule, train_network};
use super::flow::{Conditioning, Flow, FlowShape};
use super::pyramid::{Decomposition, Pyramid};
use super::{Counterfactual, answer_in_batches, check_positive};
use crate::data::{Dataset, Units};
use crate::models::{BaseConfig, Batcher, MlpConfig, UnetConfig};
use crate::nn::tensor;
use crate::runtime::{Monitor, Pool, Resources, Stage};
use crate::train::{Prepared, Schedule};
use crate::{Result, Rng, stream};

/// The shortest side of a grid that gets U-Nets.
const MIN_UNET_SIDE: usize = 8;

/// Settings of Deep-SCM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeepScmConfig {
    /// The number of couplings of the top, or of a vector.
    pub couplings: usize,
    /// The networks of vectors and small grids.
    pub mlp: MlpConfig,
    /// The networks of larger grids.
    pub unet: UnetConfig,
    /// The maximal number of epochs; none: chosen by the number of units.
    pub epochs: Option<usize>,
    /// Units per step.
    pub batch: usize,
    /// The peak learning rate of Adam; none: 0.006 for images and 0.001 otherwise.
    pub learning_rate: Option<f64>,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Grey levels of an image for dequantisation; 0 for none.
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
    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        let positive =
            [("couplings", self.couplings), ("batch", self.batch), ("epochs", self.epochs.unwrap_or(1))];
        check_positive(&positive)?;
        self.mlp.validate()
    }

    fn schedule(&self, units: usize, unet: bool, images: bool) -> Schedule {
        let steps = if unet { 900 } else { 4000 };
        let epochs = self.epochs.unwrap_or_else(|| (steps * self.batch / units.max(1)).clamp(20, 200));
        let learning_rate = self.learning_rate.unwrap_or(if images { 0.006 } else { 0.001 });
        cosine_schedule(epochs, epochs.div_ceil(4), self.batch, learning_rate, self.weight_decay)
    }
}

/// A fitted flow.
#[derive(Debug)]
pub(crate) struct DeepScm {
    prepared: Prepared,
    pyramid: Pyramid,
    /// One flow per level of the pyramid, from the finest, then that of the top.
    flows: Vec<Flow>,
    /// The mean loss on validation units, summed over all factors.
    validation: f64,
    device: Device,
    pool: Pool,
}

impl DeepScm {
    /// Trains every factor, with early stopping on validation units.
    pub(crate) fn fit(
        data: &Dataset,
        config: &DeepScmConfig,
        seed: u64,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        config.validate()?;
        let prepared = Prepared::new(data, seed, false)?;
        let pyramid = Pyramid::new(&prepared.shapes.y);
        let (device, pool) = (&resources.device.open()?, Pool::new(resources.threads)?);
        let levels = (0..=pyramid.levels.len()).collect();
        let trained = pool.try_map(levels, |level: usize| {
            let task = FlowTask { data, prepared: &prepared, pyramid: &pyramid, level, config, seed };
            task.train(device, monitor)
        })?;
        let (flows, losses): (Vec<Flow>, Vec<f64>) = trained.into_iter().unzip();
        let (device, validation) = (device.clone(), losses.iter().sum());
        Ok(Self { prepared, pyramid, flows, validation, device, pool })
    }

    fn answer(&self, batcher: &Batcher<'_>, rows: &[usize], to: &[f32]) -> Vec<f32> {
        let d = self.prepared.shapes.y.iter().product::<usize>();
        let (from, y) = (batcher.treatments(rows), batcher.outcomes(rows));
        let parts: Vec<Decomposition> = y.chunks_exact(d).map(|y| self.pyramid.decompose(y)).collect();
        let mut grids: Vec<Vec<f32>> = Vec::new();
        for level in (0..self.flows.len()).rev() {
            let conditioning = |coarse: &dyn Fn(usize) -> Vec<f32>, t: &[f32]| {
                let values = condition_values(&self.pyramid, level, batcher, rows, coarse);
                conditioning(values, t, rows.len(), &self.device)
            };
            let factual = conditioning(&|i| coarse_grid(&parts[i], level), &from);
            let values: Vec<f32> =
                parts.iter().flat_map(|unit| factor_values(unit, level)).copied().collect();
            let width = values.len() / rows.len();
            let (u, _) =
                self.flows[level].forward(tensor(values, [rows.len(), width], &self.device), &factual);
            let coarser = |i: usize| grids.get(i).cloned().unwrap_or_default();
            let answer = self.flows[level].inverse(u, &conditioning(&coarser, to));
            let answer = answer.into_data().try_into_vec::<f32>().expect("networks are f32");
            let answers = answer.chunks_exact(width);
            grids = if level == self.pyramid.levels.len() {
                answers.map(<[f32]>::to_vec).collect()
            } else {
                let finer = |(grid, details): (&Vec<f32>, &[f32])| self.pyramid.compose(level, grid, details);
                grids.iter().zip(answers).map(finer).collect()
            };
        }
        let mut answer = grids.concat();
        answer.chunks_exact_mut(d).for_each(|unit| self.prepared.scaler.y.restore(unit));
        answer
    }
}

impl Counterfactual for DeepScm {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        answer_in_batches(&self.prepared, data, to, &self.pool, |batcher, rows, to| {
            Ok(self.answer(batcher, rows, to))
        })
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.validation)
    }
}

/// The training of one factor.
struct FlowTask<'a> {
    data: &'a Dataset,
    prepared: &'a Prepared,
    pyramid: &'a Pyramid,
    level: usize,
    config: &'a DeepScmConfig,
    seed: u64,
}

impl FlowTask<'_> {
    fn train(&self, device: &Device, monitor: &dyn Monitor) -> Result<(Flow, f64)> {
        let (shape, base, couplings) = self.shape();
        let level = self.level.to_string();
        let rng = &mut stream(self.seed, &["deep-scm", &level]);
        let flow = Flow::init(&shape, couplings, &base, rng, device)?;
        let split = &self.prepared.split;
        let (unet, images) = (matches!(base, BaseConfig::Unet(_)), self.prepared.shapes.y.len() == 3);
        let schedule = self.config.schedule(split.train.len(), unet, images);
        monitor.stage(Stage::NormalisingFlow, schedule.epochs);
        let setup = TrainingSetup { schedule: &schedule, train: &split.train, device, monitor };
        let loss = |flow: &Flow, rows: &[usize], device: &Device, rng: &mut Rng| {
            let (v, given) = self.batch(rows, device, rng);
            flow.loss(v, &given)
        };
        let validate = |flow: &Flow| {
            // the same noise in every epoch
            let rng = &mut stream(self.seed, &["deep-scm", &level, "judge"]);
            let batch_loss = |rows: &[usize]| {
                let (v, given) = self.batch(rows, device, rng);
                f64::from(flow.loss(v, &given).into_scalar::<f32>()) * rows.len() as f64
            };
            split.valid.chunks(self.prepared.batcher(self.data).at_once()).map(batch_loss).sum::<f64>()
                / split.valid.len() as f64
        };
        train_network(flow, &setup, rng, loss, validate)
    }

    /// The shape of the flow, its networks and its number of couplings.
    fn shape(&self) -> (FlowShape, BaseConfig, usize) {
        let shapes = &self.prepared.shapes;
        let x = shapes.x.iter().product::<usize>() * (1 + usize::from(shapes.missing));
        let mlp = BaseConfig::Mlp(self.config.mlp.clone());
        let Some(level) = self.pyramid.levels.get(self.level) else {
            let shape = FlowShape { v: vec![self.pyramid.channels], condition: x, t: shapes.t };
            return (shape, mlp, self.config.couplings);
        };
        let (channels, [height, width]) = ((level.size() - 1) * self.pyramid.channels, level.coarse());
        let places = height * width;
        if uses_unet(self.pyramid, self.level, &shapes.x) {
            let condition = self.pyramid.channels + x / places;
            let shape = FlowShape { v: vec![channels, height, width], condition, t: shapes.t };
            return (shape, BaseConfig::Unet(self.config.unet.clone()), 1);
        }
        let condition = self.pyramid.channels * places + x;
        (FlowShape { v: vec![channels * places], condition, t: shapes.t }, mlp, 1)
    }

    /// This factor's values of `rows`, and what they are conditioned on.
    fn batch(&self, rows: &[usize], device: &Device, rng: &mut Rng) -> (Tensor<2>, Conditioning) {
        let batcher = self.prepared.batcher(self.data);
        let d = self.prepared.shapes.y.iter().product::<usize>();
        let mut y = batcher.outcomes(rows);
        if self.prepared.shapes.y.len() == 3 && self.config.grey_levels > 0 {
            let level = 1.0 / self.config.grey_levels as f32;
            for (i, y) in y.iter_mut().enumerate() {
                *y += level * (rng.random::<f32>() - 0.5) / batcher.scaler.y.deviation(i % d);
            }
        }
        let parts: Vec<Decomposition> = y.chunks_exact(d).map(|y| self.pyramid.decompose(y)).collect();
        let coarse = |i: usize| coarse_grid(&parts[i], self.level);
        let condition = condition_values(self.pyramid, self.level, &batcher, rows, &coarse);
        let values: Vec<f32> =
            parts.iter().flat_map(|unit| factor_values(unit, self.level)).copied().collect();
        let width = values.len() / rows.len();
        let given = conditioning(condition, &batcher.treatments(rows), rows.len(), device);
        (tensor(values, [rows.len(), width], device), given)
    }
}

/// Whether x has the grid of the outcome, and the grid of `level` is large enough for a U-Net.
fn uses_unet(pyramid: &Pyramid, level: usize, x: &[usize]) -> bool {
    let (Some(first), Some(here)) = (pyramid.levels.first(), pyramid.levels.get(level)) else { return false };
    x.len() == 3 && x[1..] == first.fine && here.coarse().iter().all(|&side| side >= MIN_UNET_SIDE)
}

/// The values of a unit that the factor of `level` models: its details, or the top.
fn factor_values(parts: &Decomposition, level: usize) -> &[f32] {
    parts.details.get(level).unwrap_or(&parts.top)
}

/// The coarser grid of `level`; empty for the top.
fn coarse_grid(parts: &Decomposition, level: usize) -> Vec<f32> {
    parts.coarse.get(level).cloned().unwrap_or_default()
}

/// What the factor of `level` is conditioned on, of each unit: the coarser grid, x and its missing indicators.
fn condition_values(
    pyramid: &Pyramid,
    level: usize,
    batcher: &Batcher<'_>,
    rows: &[usize],
    coarse: &dyn Fn(usize) -> Vec<f32>,
) -> Vec<f32> {
    let mut condition = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        if level < pyramid.levels.len() {
            condition.extend(coarse(i));
        }
        let mut x = batcher.covariates(&[*row]);
        if batcher.missing {
            x.extend(batcher.missing_x(&[*row]));
        }
        if uses_unet(pyramid, level, batcher.scaler.x.shape()) {
            condition.extend(pyramid.fold(&x, level));
        } else {
            condition.extend(x);
        }
    }
    condition
}

fn conditioning(condition: Vec<f32>, t: &[f32], n: usize, device: &Device) -> Conditioning {
    let (width, d_t) = (condition.len() / n, t.len() / n);
    Conditioning { condition: tensor(condition, [n, width], device), t: tensor(t.to_vec(), [n, d_t], device) }
}
