//! Single training steps, EM steps and operations, for benchmarks. Not part of the public interface.

mod pass;

use burn::tensor::{Device, Tensor};
use rand::RngExt as _;

use crate::Result;
use crate::data::{Dataset, Scaler, Units};
use crate::model::{Components, Mixture};
use crate::models::{BaseConfig, Batcher, ClassInput, MlpConfig, Net, Shapes, TransformerConfig, UnetConfig};
use crate::nn::{
    self, Attention, Channels, ConvBlock, Dropout, LayerNorm, Linear, Sequences, TreatmentEmbeddingConfig,
    Window, linear_swish, tensor,
};
use crate::runtime::Pool;
use crate::train::Trainer;

pub use crate::math::cluster::{Clusters, GaussianMixture, GaussianMixtureFit, KMeans, Rows};
pub use crate::rng::{Rng, stream};
pub use pass::NetworkPass;
#[cfg(test)]
pub(crate) use pass::{gradients, values};

/// A network and the shapes of its data.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The name of the workload.
    pub name: &'static str,
    /// The network.
    pub base: BaseConfig,
    /// The shape of x.
    pub x: Vec<usize>,
    /// The shape of y.
    pub y: Vec<usize>,
}

impl Workload {
    /// The four networks on data of the paper's shapes, with its treatment embedding where there is one.
    pub fn all() -> Vec<Self> {
        let treatment = TreatmentEmbeddingConfig::PAPER;
        let unet = || BaseConfig::Unet(UnetConfig { treatment, ..UnetConfig::default() });
        let transformer =
            || BaseConfig::Transformer(TransformerConfig { treatment, ..TransformerConfig::default() });
        let series = || vec![2, 20];
        let workload = |name, base, x, y| Self { name, base, x, y };
        vec![
            workload("mlp", BaseConfig::Mlp(MlpConfig::default()), series(), series()),
            workload("unet-1d", unet(), series(), series()),
            workload("unet-2d", unet(), vec![1, 28, 28], vec![3, 28, 28]),
            workload("transformer", transformer(), series(), series()),
        ]
    }

    fn shapes(&self) -> Shapes {
        Shapes { x: self.x.clone(), t: 1, y: self.y.clone(), missing: false, classes: 0 }
    }

    /// `n` random units.
    ///
    /// # Errors
    /// If `n` is 0.
    pub fn data(&self, n: usize) -> Result<Dataset> {
        let mut rng = stream(2, &["measure", self.name]);
        let mut units = |name: &str, shape: &[usize]| {
            let count = n * shape.iter().product::<usize>();
            Units::new(name, shape.to_vec(), (0..count).map(|_| rng.random_range(-1.7..1.7)).collect())
        };
        Dataset::new(units("x", &self.x)?, units("t", &[1])?, units("y", &self.y)?)
    }
}

/// A table of ten covariates, one treatment and one outcome, with two classes that respond in opposite directions.
///
/// # Errors
/// If `n` is 0.
pub fn table(n: usize, seed: u64) -> Result<Dataset> {
    let mut rng = stream(seed, &["measure", "table"]);
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let row: [f32; 10] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let (dose, sign) = (rng.random_range(0.0..1.0), if rng.random::<bool>() { 1.0 } else { -1.0 });
        y.push(row[0] + (2.0 * row[1]).sin() + sign * dose * (2.0 + row[2]) + rng.random_range(-0.1..0.1));
        x.extend(row);
        t.push(dose);
    }
    Dataset::new(Units::new("x", vec![10], x)?, Units::new("t", vec![1], t)?, Units::new("y", vec![1], y)?)
}

/// Training steps of a network on one batch: forward, backward and Adam.
pub struct TrainingStep {
    trainer: Trainer,
    data: Dataset,
    scaler: Scaler,
    pool: Pool,
}

/// The loss and the times of some training steps.
#[derive(Clone, Debug)]
pub struct StepTimes {
    /// The loss of the last step.
    pub loss: f64,
    /// The seconds of each step.
    pub seconds: Vec<f64>,
}

impl TrainingStep {
    /// An untrained network with a batch of `batch` units.
    ///
    /// # Errors
    /// If `batch` is 0 or the threads cannot be started.
    pub fn new(workload: &Workload, batch: usize, threads: usize) -> Result<Self> {
        let device = Device::flex();
        let net = workload.base.init(&workload.shapes(), &mut stream(1, &["measure"]), &device)?;
        let data = workload.data(batch)?;
        let scaler = Scaler::fit(&data.all(), false);
        Ok(Self {
            trainer: Trainer::new(net, &device, 0.0).sharded(),
            data,
            scaler,
            pool: Pool::new(threads)?,
        })
    }

    /// Runs `steps` steps on all threads.
    pub fn run(&mut self, steps: usize) -> StepTimes {
        let Self { trainer, data, scaler, pool } = self;
        let batcher = Batcher { data, scaler, missing: false };
        let rows: Vec<usize> = (0..data.len()).collect();
        pool.run_alone(|| {
            let (mut loss, mut seconds, mut rng) = (0.0, Vec::with_capacity(steps), stream(4, &["measure"]));
            for _ in 0..steps {
                let clock = std::time::Instant::now();
                loss = trainer.epoch(&batcher, &rows, ClassInput::None, rows.len(), |_| 1e-3, &mut rng);
                seconds.push(clock.elapsed().as_secs_f64());
            }
            StepTimes { loss, seconds }
        })
    }
}

/// Uses compositions of Burn's operations instead of the fused ones if `on`.
pub fn set_composed(on: bool) {
    nn::compose(on);
}

/// The forward and the backward pass of one operation, on data of the size that it has in its network.
pub struct Operation {
    /// The name of the operation.
    pub name: &'static str,
    run: Box<dyn FnMut()>,
}

impl Operation {
    /// All operations that have a fused form.
    pub fn all() -> Vec<Self> {
        let device = Device::flex().autodiff();
        let rng = &mut stream(5, &["measure", "operations"]);
        let n = 128;
        let channels = |inputs, outputs| Channels { inputs, outputs, groups: 32, embed: 256 };
        let down = ConvBlock::init(Window::new([12, 12], [3, 3], [2, 2]), channels(64, 128), rng, &device);
        let up = ConvBlock::init_transposed(
            Window::new([12, 12], [3, 3], [2, 2]),
            channels(128, 64),
            rng,
            &device,
        );
        let linear = Linear::init(256, 256, rng, &device);
        let (norm, attention) = (LayerNorm::init(64, &device), Attention::init(64, 8, rng, &device));
        let mut draw = |shape: &[usize]| {
            let len = shape.iter().product();
            let values: Vec<f32> = (0..len).map(|_| rng.random_range(-1.0..1.0)).collect();
            tensor::<1>(values, [len], &device)
        };
        let (e, rows) = (draw(&[n, 256]).reshape([n, 256]), draw(&[n * 40, 64]).reshape([n * 40, 64]));
        let (fine, coarse) =
            (draw(&[n, 144, 64]).reshape([n, 144, 64]), draw(&[n, 25, 128]).reshape([n, 25, 128]));
        let seq = Sequences { n, steps: 40, causal: 20 };
        let (h, hidden, steps) = (e.clone(), rows.clone(), rows);
        let (term, wide) = (e.clone(), e);
        let operation = |name, run: Box<dyn FnMut()>| Self { name, run };
        vec![
            operation(
                "conv block",
                Box::new(move || backward(down.forward(fine.clone(), None, term.clone()))),
            ),
            operation(
                "transposed conv block",
                Box::new(move || backward(up.forward(coarse.clone(), None, wide.clone()))),
            ),
            operation("linear and swish", Box::new(move || backward(linear_swish(h.clone(), &linear)))),
            operation(
                "layer norm",
                Box::new(move || {
                    backward(norm.add(hidden.clone(), hidden.clone(), &mut Dropout::new(0.0, None)));
                }),
            ),
            operation(
                "attention",
                Box::new(move || {
                    backward(attention.forward(steps.clone(), seq, &(0..40), &mut Dropout::new(0.0, None)));
                }),
            ),
        ]
    }

    /// Runs the operation once, forward and backward.
    pub fn run(&mut self) {
        (self.run)();
    }
}

fn backward<const D: usize>(y: Tensor<D>) {
    drop(y.sum().backward());
}

/// Single steps of EM with a network per class, on random units.
pub struct Em {
    data: Dataset,
    scaler: Scaler,
    rows: Vec<usize>,
    labels: Vec<usize>,
    learners: Vec<(Trainer, Rng)>,
    batch: usize,
    pool: Pool,
}

impl Em {
    /// `classes` untrained networks and `n` units, assigned to classes in turn.
    ///
    /// # Errors
    /// If `n` is 0 or the threads cannot be started.
    pub fn new(workload: &Workload, n: usize, classes: usize, batch: usize, threads: usize) -> Result<Self> {
        let (data, device) = (workload.data(n)?, Device::flex());
        let net = workload.base.init(&workload.shapes(), &mut stream(1, &["measure"]), &device)?;
        let learner = |k: usize| {
            let trainer = Trainer::new(net.clone(), &device, 0.0);
            let trainer = if classes == 1 { trainer.sharded() } else { trainer };
            (trainer, stream(3, &["measure", &k.to_string()]))
        };
        let rows: Vec<usize> = (0..data.len()).collect();
        Ok(Self {
            scaler: Scaler::fit(&data.all(), false),
            labels: rows.iter().map(|row| row % classes).collect(),
            rows,
            data,
            learners: (0..classes).map(learner).collect(),
            batch,
            pool: Pool::new(threads)?,
        })
    }

    /// Trains every network for one epoch on the units of its class.
    pub fn m_step(&mut self) {
        let batcher = Batcher { data: &self.data, scaler: &self.scaler, missing: false };
        let (rows, labels, batch) = (&self.rows, &self.labels, self.batch);
        let learners = std::mem::take(&mut self.learners);
        let learn = |(k, (mut trainer, mut rng)): (usize, (Trainer, Rng))| {
            let class_rows: Vec<usize> = rows.iter().copied().filter(|&row| labels[row] == k).collect();
            trainer.epoch(&batcher, &class_rows, ClassInput::None, batch, |_| 1e-3, &mut rng);
            (trainer, rng)
        };
        let jobs: Vec<_> = learners.into_iter().enumerate().collect();
        self.learners = match jobs.len() {
            1 => self.pool.run_alone(|| jobs.into_iter().map(learn).collect()),
            _ => self.pool.map(jobs, learn),
        };
    }

    /// Computes the likelihood of every unit under every class, and returns the most probable classes.
    pub fn e_step(&self) -> Vec<usize> {
        let batcher = Batcher { data: &self.data, scaler: &self.scaler, missing: false };
        self.mixture(&batcher).joint_in(&batcher, &self.rows, &Device::flex(), &self.pool).labels()
    }

    fn mixture(&self, batcher: &Batcher<'_>) -> Mixture {
        let nets: Vec<Net> = self.learners.iter().map(|(trainer, _)| trainer.net()).collect();
        let components = Components { classes: nets.len(), nets };
        Mixture::with_shared_scale(
            components,
            batcher,
            &self.rows[..self.rows.len().min(64)],
            &Device::flex(),
        )
    }
}
