//! How long a training step of the paper's U-Nets takes: forward, backward and Adam, batch 128.
//!
//!     cargo run --release --example unet_step -- [series | images] [steps]
//!
//! `RAYON_NUM_THREADS=1` for one thread.

use std::time::Instant;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use cfqp::{Adam, Input, Network, Shapes, TreatmentEmbeddingConfig, UnetConfig, stream};
use rand::RngExt as _;

const BATCH: usize = 128;

fn main() {
    let shapes =
        |x: &[usize], y: &[usize]| Shapes { x: x.to_vec(), t: 1, y: y.to_vec(), missing: false, classes: 0 };
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next();
    let steps = arguments.next().and_then(|steps| steps.parse().ok());
    // Inside the pool: from outside, every operation would be handed over to it.
    let pool = rayon::ThreadPoolBuilder::new().build().expect("threads can be started");
    pool.install(|| {
        if which.as_deref() != Some("images") {
            measure("series [2, 20]", &shapes(&[2, 20], &[2, 20]), steps.unwrap_or(60));
        }
        if which.as_deref() != Some("series") {
            measure("images [1, 28, 28]", &shapes(&[1, 28, 28], &[3, 28, 28]), steps.unwrap_or(8));
        }
    });
}

fn measure(name: &str, shapes: &Shapes, steps: usize) {
    let device = Device::flex().autodiff();
    let config = UnetConfig { treatment: TreatmentEmbeddingConfig::PAPER, ..UnetConfig::default() };
    let mut network = config.init(shapes, &mut stream(1, &["unet"]), &device).expect("shapes of a U-Net");
    let mut optimizer = Adam::default().init();
    let mut rng = stream(2, &["data"]);
    let mut random = |width: usize| {
        let values: Vec<f32> = (0..BATCH * width).map(|_| rng.random_range(-1.7..1.7)).collect();
        Tensor::<2>::from_data(TensorData::new(values, [BATCH, width]), &Device::flex())
    };
    let (x, t, y) = (random(shapes.x.iter().product()), random(1), random(shapes.y.iter().product()));
    let on = |device: &Device| Input {
        x: x.clone().to_device(device),
        missing: None,
        t: t.clone().to_device(device),
        class: None,
        dropout: None,
    };
    let (input, y) = (on(&device), y.to_device(&device));

    let (mut train, mut losses) = (vec![], vec![]);
    for _ in 0..steps {
        let start = Instant::now();
        let loss = (network.forward(&input) - y.clone()).square().mean();
        let grads = GradientsParams::from_grads(loss.backward(), &network);
        network = optimizer.step(1e-3, network, grads);
        train.push(start.elapsed().as_secs_f64() * 1e3);
        losses.push(loss.into_scalar::<f32>());
    }
    let network = network.valid();
    let input = on(&Device::flex());
    let forward = (0..steps).map(|_| {
        let start = Instant::now();
        let _ = network.forward(&input);
        start.elapsed().as_secs_f64() * 1e3
    });
    let forward = forward.collect();
    println!(
        "{name}: train {:.1} ms, forward {:.1} ms (medians of {steps}); loss {:.6} to {:.6}",
        median(train),
        median(forward),
        losses[0],
        losses[steps - 1]
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
