//! Diff-SCM: a score-based diffusion of y given (x, t); abduction and prediction follow its probability flow.
//!
//! Noise grows with the diffusion time r in (0, 1] (variance exploding): y_r = y + sigma(r) z, z ~ N(0, I),
//! sigma(r)^2 = (25^(2r) - 1) / (2 ln 25). A network learns the mean D of y given y_r (denoising score matching); the
//! score is (D - y_r) / sigma^2. The probability flow dy/dr = -1/2 (d sigma^2/dr) score reads, along s = ln sigma,
//!
//! ```text
//! dy/ds = y - D(y, sigma; x, t)
//! ```
//!
//! Abduction follows it from little noise to much under (x, t), prediction from much to little under (x, t'). At t' = t
//! the answer is the factual outcome.
//!
//! The network F is scaled so that its inputs and targets have variance 1 at every noise level:
//! D = y_r / (1 + sigma^2) + sigma / sqrt(1 + sigma^2) F(y_r / sqrt(1 + sigma^2), x, t, ln sigma / 2), with
//! mean |F - target|^2 as the loss. F is a U-Net with y_r and x as channels and an embedding of treatment and diffusion
//! time, or a perceptron where x and y have no common grid.

use burn::tensor::{Device, Tensor};
use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::descent::{TrainingSetup, cosine_schedule, train_network};
use super::dopri::{Tolerance, solve};
use super::{Counterfactual, answer_in_batches, check_positive};
use crate::data::{Dataset, Units};
use crate::models::{BaseConfig, Batcher, Input, MlpConfig, Net, Network, Shapes, UnetConfig};
use crate::nn::{TreatmentEmbeddingConfig, tensor};
use crate::runtime::{Monitor, Pool, Resources, Stage};
use crate::train::{Prepared, Schedule};
use crate::{Error, Result, Rng, stream};

/// Settings of Diff-SCM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiffScmConfig {
    /// The base of the noise schedule.
    pub sigma: f64,
    /// The smallest diffusion time.
    #[serde(alias = "least_time")]
    pub min_time: f64,
    /// The relative and absolute tolerance of the probability flow, in standardised outcomes.
    pub tolerance: f64,
    /// The score network where x and y share a grid.
    pub unet: UnetConfig,
    /// The score network elsewhere.
    pub mlp: MlpConfig,
    /// The maximal number of epochs; none: chosen by the number of units.
    pub epochs: Option<usize>,
    /// Units per step.
    pub batch: usize,
    /// The peak learning rate of Adam.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

impl Default for DiffScmConfig {
    fn default() -> Self {
        let treatment = TreatmentEmbeddingConfig::Smooth { frequencies: 16, scale: 0.25 };
        Self {
            sigma: 25.0,
            min_time: 1e-3,
            tolerance: 1e-3,
            unet: UnetConfig { treatment, ..UnetConfig::default() },
            mlp: MlpConfig { treatment, ..MlpConfig::default() },
            epochs: None,
            batch: 64,
            learning_rate: 6e-3,
            weight_decay: 0.05,
        }
    }
}

impl DiffScmConfig {
    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        let positive = [("batch", self.batch), ("epochs", self.epochs.unwrap_or(1))];
        check_positive(&positive)?;
        if !(self.sigma > 1.0 && self.sigma.is_finite()) {
            return Err(Error::config("sigma", format!("{} is not above 1", self.sigma), "25 is usual"));
        }
        let between = |value: f64| value > 0.0 && value < 1.0;
        if !(between(self.min_time) && between(self.tolerance)) {
            let hint = "min_time and tolerance lie between 0 and 1; 0.001 is usual";
            return Err(Error::config("tolerance", "out of range", hint));
        }
        self.mlp.validate()
    }

    /// ln sigma(r), the log standard deviation of the noise at diffusion time r.
    fn log_sigma(&self, r: f64) -> f64 {
        let log = self.sigma.ln();
        0.5 * ((2.0 * r * log).exp_m1() / (2.0 * log)).ln()
    }

    fn schedule(&self, units: usize, images: bool) -> Schedule {
        let steps = if images { 1500 } else { 4000 };
        let epochs = self.epochs.unwrap_or_else(|| (steps * self.batch / units.max(1)).clamp(30, 300));
        cosine_schedule(epochs, epochs.div_ceil(3), self.batch, self.learning_rate, self.weight_decay)
    }
}

/// A fitted diffusion.
#[derive(Debug)]
pub(crate) struct DiffScm {
    prepared: Prepared,
    config: DiffScmConfig,
    net: Net,
    /// The loss on validation units.
    validation: f64,
    device: Device,
    pool: Pool,
}

impl DiffScm {
    /// Trains the score network, with early stopping on validation units.
    pub(crate) fn fit(
        data: &Dataset,
        config: &DiffScmConfig,
        seed: u64,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        config.validate()?;
        let prepared = Prepared::new(data, seed, false)?;
        let (device, pool) = (&resources.device.open()?, Pool::new(resources.threads)?);
        let rng = &mut stream(seed, &["diff-scm"]);
        let (base, shapes) = network(&prepared.shapes, config);
        let net = base.init(&shapes, rng, device)?;
        let images = matches!((&base, shapes.x.len()), (BaseConfig::Unet(_), 3));
        let schedule = config.schedule(prepared.split.train.len(), images);
        monitor.stage(Stage::Diffusion, schedule.epochs);
        let setup = TrainingSetup { schedule: &schedule, train: &prepared.split.train, device, monitor };
        let task = ScoreTask { data, prepared: &prepared, config };
        let work = || {
            let loss =
                |net: &Net, rows: &[usize], device: &Device, rng: &mut Rng| task.loss(net, rows, device, rng);
            train_network(net, &setup, rng, loss, |net: &Net| task.validate(net, seed, device))
        };
        // alone on the pool: operations are split in the same way for any number of threads
        let (net, validation) = pool.run_alone(work)?;
        let (config, device) = (config.clone(), device.clone());
        Ok(Self { prepared, config, net, validation, device, pool })
    }

    /// D(y, sigma; x, t) of a batch.
    fn denoise(&self, y: &[f32], log_sigma: f64, x: &Tensor<2>, t: &[f32]) -> Vec<f32> {
        let n = x.dims()[0];
        let square = (2.0 * log_sigma).exp();
        let (skip, out) = (1.0 / (1.0 + square), (square / (1.0 + square)).sqrt());
        let scaled = y.iter().map(|y| y * (1.0 / (1.0 + square).sqrt()) as f32).collect();
        let y_scaled = tensor(scaled, [n, y.len() / n], &self.device);
        let t = with_time(t, &vec![log_sigma; n]);
        let f = self.net.forward(&input(y_scaled, x.clone(), t, &self.device));
        let f = f.into_data().try_into_vec::<f32>().expect("networks are f32");
        y.iter().zip(f).map(|(y, f)| skip as f32 * y + out as f32 * f).collect()
    }

    fn answer(&self, batcher: &Batcher<'_>, rows: &[usize], to: &[f32]) -> Result<Vec<f32>> {
        let x = covariates(batcher, rows, &self.device);
        let ends = [self.config.log_sigma(self.config.min_time), self.config.log_sigma(1.0)];
        let tolerance = Tolerance { relative: self.config.tolerance, absolute: self.config.tolerance };
        let flow = |y: Vec<f32>, t: &[f32], [from, to]: [f64; 2]| {
            let slope = |s: f64, y: &[f32]| {
                let mean = self.denoise(y, s, &x, t);
                y.iter().zip(mean).map(|(y, mean)| y - mean).collect()
            };
            solve(slope, y, from, to, tolerance).ok_or_else(|| {
                let problem = format!(
                    "the probability flow of units {} to {} has no solution",
                    rows[0],
                    rows[rows.len() - 1]
                );
                Error::fit(problem, "look for extreme values in x, t and y, or train longer")
            })
        };
        let noise = flow(batcher.outcomes(rows), &batcher.treatments(rows), ends)?;
        let mut answer = flow(noise, to, [ends[1], ends[0]])?;
        answer
            .chunks_exact_mut(batcher.scaler.y.elements())
            .for_each(|unit| self.prepared.scaler.y.restore(unit));
        Ok(answer)
    }
}

impl Counterfactual for DiffScm {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        answer_in_batches(&self.prepared, data, to, &self.pool, |batcher, rows, to| {
            self.answer(batcher, rows, to)
        })
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.validation)
    }
}

/// The score network for data of these shapes: y_r beside x, the diffusion time beside the treatment.
fn network(shapes: &Shapes, config: &DiffScmConfig) -> (BaseConfig, Shapes) {
    let twice = 1 + usize::from(shapes.missing);
    let mut joint = Shapes { x: shapes.y.clone(), t: shapes.t + 1, missing: false, ..shapes.clone() };
    joint.x[0] += twice * shapes.x[0];
    let same_grid = shapes.x.len() > 1 && shapes.x[1..] == shapes.y[1..];
    if same_grid && config.unet.check(&joint).is_ok() {
        return (BaseConfig::Unet(config.unet.clone()), joint);
    }
    joint.x = vec![shapes.y.iter().product::<usize>() + twice * shapes.x.iter().product::<usize>()];
    (BaseConfig::Mlp(config.mlp.clone()), joint)
}

/// x of `rows` and its missing indicators.
fn covariates(batcher: &Batcher<'_>, rows: &[usize], device: &Device) -> Tensor<2> {
    let width = batcher.scaler.x.elements();
    let x = tensor(batcher.covariates(rows), [rows.len(), width], device);
    match batcher.missing {
        true => Tensor::cat(vec![x, tensor(batcher.missing_x(rows), [rows.len(), width], device)], 1),
        false => x,
    }
}

fn input(y: Tensor<2>, x: Tensor<2>, t: Vec<f32>, device: &Device) -> Input {
    let n = y.dims()[0];
    let d_t = t.len() / n;
    let x = Tensor::cat(vec![y, x], 1);
    Input { x, missing: None, t: tensor(t, [n, d_t], device), class: None, dropout: None }
}

/// Each unit's treatments followed by its diffusion time as ln sigma / 2, which varies about as much as a standardised
/// treatment.
fn with_time(t: &[f32], log_sigma: &[f64]) -> Vec<f32> {
    let d_t = t.len() / log_sigma.len();
    let unit = |(t, s): (&[f32], &f64)| [t, &[(s / 2.0) as f32]].concat();
    t.chunks_exact(d_t).zip(log_sigma).flat_map(unit).collect()
}

/// The training of the score network.
struct ScoreTask<'a> {
    data: &'a Dataset,
    prepared: &'a Prepared,
    config: &'a DiffScmConfig,
}

impl ScoreTask<'_> {
    /// mean |F - target|^2 over observed elements, at diffusion times stratified over the batch.
    fn loss(&self, net: &Net, rows: &[usize], device: &Device, rng: &mut Rng) -> Tensor<1> {
        let batcher = self.prepared.batcher(self.data);
        let (n, d) = (rows.len(), batcher.scaler.y.elements());
        let min = self.config.min_time;
        let time = |i: usize, u: f64| min + (1.0 - min) * (i as f64 + u) / n as f64;
        let log_sigma: Vec<f64> = (0..n).map(|i| self.config.log_sigma(time(i, rng.random()))).collect();
        let y = batcher.outcomes(rows);
        let (mut scaled, mut target) = (Vec::with_capacity(n * d), Vec::with_capacity(n * d));
        for (y, s) in y.chunks_exact(d).zip(&log_sigma) {
            let sigma = s.exp() as f32;
            let root = (1.0 + sigma * sigma).sqrt();
            for y in y {
                let z: f32 = StandardNormal.sample(rng);
                let noisy = y + sigma * z;
                scaled.push(noisy / root);
                // (y - noisy / root^2) root / sigma, rearranged to avoid cancellation
                target.push((sigma * y - z) / root);
            }
        }
        let t = with_time(&batcher.treatments(rows), &log_sigma);
        let x = covariates(&batcher, rows, device);
        let f = net.forward(&input(tensor(scaled, [n, d], device), x, t, device));
        let gap = f - tensor(target, [n, d], device);
        match batcher.target(rows, device).observed {
            None => gap.square().mean(),
            Some(seen) => (gap * seen.clone()).square().sum() / seen.sum().clamp_min(1.0),
        }
    }

    /// The loss on validation units, with the same times and noise in every epoch.
    fn validate(&self, net: &Net, seed: u64, device: &Device) -> f64 {
        let (rng, valid) = (&mut stream(seed, &["diff-scm", "judge"]), &self.prepared.split.valid);
        let batch_loss = |rows: &[usize]| {
            f64::from(self.loss(net, rows, device, rng).into_scalar::<f32>()) * rows.len() as f64
        };
        valid.chunks(self.prepared.batcher(self.data).at_once()).map(batch_loss).sum::<f64>()
            / valid.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::mse;
    use crate::sim::Oscillator;

    /// The default tolerance does not add to the error.
    #[test]
    fn answers_do_not_depend_on_the_tolerance_of_the_flow() {
        let train = Oscillator::default().simulate(400, 1).unwrap();
        let test = Oscillator::default().simulate(100, 1001).unwrap();
        let config = DiffScmConfig { epochs: Some(60), ..DiffScmConfig::default() };
        let mut scm = DiffScm::fit(&train.data, &config, 1, &Resources::default(), &()).unwrap();
        let error = |scm: &DiffScm| {
            let answers = scm.counterfactual(&test.data, &test.truth.t_new).unwrap();
            mse(&test.truth.y_new, &answers).unwrap()
        };
        let back = scm.counterfactual(&test.data, test.data.t()).unwrap();
        let trip = mse(test.data.y(), &back).unwrap();
        let usual = error(&scm);
        scm.config.tolerance = 1e-5;
        let exact = error(&scm);
        assert!((usual - exact).abs() < 0.02 * exact && trip < 0.02 * exact, "{usual} {exact} {trip}");
    }
}
