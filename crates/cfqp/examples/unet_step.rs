//! How long a training step of the paper's U-Nets takes: forward, backward and Adam, batch 128.
//!
//!     cargo run --release --example unet_step
//!
//! `RAYON_NUM_THREADS=1` for one thread.

use std::time::Instant;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Distribution, Tensor};
use cfqp::{Adam, Input, Network, Shapes, TreatmentEmbeddingConfig, UnetConfig, stream};

const BATCH: usize = 128;

fn main() {
    let shapes =
        |x: &[usize], y: &[usize]| Shapes { x: x.to_vec(), t: 1, y: y.to_vec(), missing: false, classes: 0 };
    measure("series [2, 20]", &shapes(&[2, 20], &[2, 20]), 60);
    measure("images [1, 28, 28] to [3, 28, 28]", &shapes(&[1, 28, 28], &[3, 28, 28]), 8);
}

fn measure(name: &str, shapes: &Shapes, steps: usize) {
    let device = Device::flex().autodiff();
    let config = UnetConfig { treatment: TreatmentEmbeddingConfig::PAPER, ..UnetConfig::default() };
    let mut network = config.init(shapes, &mut stream(1, &["unet"]), &device).expect("shapes of a U-Net");
    let mut optimizer = Adam::default().init();
    let random = |width| Tensor::<2>::random([BATCH, width], Distribution::Normal(0.0, 1.0), &Device::flex());
    let (x, t, y) = (random(shapes.x.iter().product()), random(1), random(shapes.y.iter().product()));
    let on = |device: &Device| Input {
        x: x.clone().to_device(device),
        missing: None,
        t: t.clone().to_device(device),
        class: None,
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
