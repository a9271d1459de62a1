//! Networks, a fit and a query on a graphics card agree with the processor.
//!
//! Compiled with the feature `wgpu` only: see docs/DEVICES.md. Without a graphics card, or a driver that computes on the
//! processor, the tests are skipped.

#![cfg(feature = "wgpu")]

use cfqp::measure::{NetworkPass, Workload};
use cfqp::models::{BaseConfig, LinearConfig, MlpConfig};
use cfqp::sim::Oscillator;
use cfqp::{Base, Classes, Dataset, DeviceKind, Error, Fit, FitConfig, Model, Resources, Start};

/// The largest difference of outputs, relative to the largest output.
const OUTPUT_TOLERANCE: f32 = 1e-5;
/// The largest difference of the gradients of one parameter, relative to the largest of them, ...
const GRADIENT_TOLERANCE: f32 = 1e-4;
/// ... or to this share of the network's largest gradient, if that is more.
const LEAST_GRADIENT: f32 = 1e-2;
/// The largest difference of the answers of one model, in standard deviations of all answers.
const QUERY_TOLERANCE: f64 = 1e-4;
/// The same of a model that was fitted on the graphics card and one that was fitted on the processor.
const FIT_TOLERANCE: f64 = 1e-2;

/// Whether there is a device; says so if not.
fn has_device() -> bool {
    match DeviceKind::Wgpu.describe() {
        Ok(description) => {
            eprintln!("device: {}", description.unwrap());
            true
        }
        Err(error) => {
            assert!(matches!(error, Error::Config { field: "device", .. }), "{error}");
            eprintln!("skipped: {error}");
            false
        }
    }
}

fn largest(values: &[f32]) -> f32 {
    assert!(values.iter().all(|value| value.is_finite()));
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// The largest difference, relative to the largest element, or to `least` if that is more.
fn difference(a: &[f32], b: &[f32], least: f32) -> f32 {
    assert_eq!(a.len(), b.len());
    let gaps: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    largest(&gaps) / largest(b).max(least)
}

/// Whether outputs and gradients agree; prints by how much they differ.
fn compare(workload: &Workload, units: usize) -> bool {
    let pass = |device| -> NetworkPass { workload.pass(units, device).unwrap() };
    let clock = std::time::Instant::now();
    let (graphics, seconds) = (pass(DeviceKind::Wgpu), clock.elapsed().as_secs_f64());
    let processor = pass(DeviceKind::Cpu);
    let output = difference(&graphics.output, &processor.output, 0.0);
    // the gradients of some parameters are zero but for rounding: a group norm removes what is added to a whole group
    let least = LEAST_GRADIENT * processor.gradients.iter().map(|(_, g)| largest(g)).fold(0.0, f32::max);
    let mut worst = (0.0, "");
    for ((name, ours), (same, expected)) in graphics.gradients.iter().zip(&processor.gradients) {
        assert_eq!(name, same);
        let off = difference(ours, expected, least);
        if off > worst.0 {
            worst = (off, name);
        }
    }
    eprintln!(
        "{}: outputs within {output:.1e}, gradients within {:.1e} ({}), {seconds:.1} s",
        workload.name, worst.0, worst.1
    );
    assert_eq!(graphics.gradients.len(), processor.gradients.len());
    output <= OUTPUT_TOLERANCE && worst.0 <= GRADIENT_TOLERANCE
}

#[test]
fn the_device_is_described() {
    if !has_device() {
        return;
    }
    let description = DeviceKind::Wgpu.describe().unwrap().unwrap();
    let known = ["Vulkan", "Metal", "Dx12", "OpenGL"];
    assert!(known.iter().any(|name| description.contains(&format!("through {name}"))), "{description}");
    assert_eq!(DeviceKind::Cpu.describe().unwrap(), None);
}

#[test]
fn networks_agree_forward_and_backward() {
    if !has_device() {
        return;
    }
    let linear = BaseConfig::Linear(LinearConfig::default());
    let mut workloads = Workload::all();
    workloads.push(Workload { name: "linear", base: linear, x: vec![2, 20], y: vec![2, 20] });
    workloads.retain(|workload| !compare(workload, 4));
    let wrong: Vec<&str> = workloads.iter().map(|workload| workload.name).collect();
    assert!(wrong.is_empty(), "{wrong:?} differ by more than the tolerance");
}

fn resources(device: DeviceKind) -> Resources {
    Resources { device, ..Resources::default() }
}

/// A small network, trained for a few epochs.
fn fit(data: &Dataset, device: DeviceKind) -> Model {
    let config = FitConfig {
        classes: Classes::Given(2),
        base: Base::Mlp,
        starts: vec![Start::Kmeans],
        members: Some(2),
        epochs: Some(3),
        mlp: MlpConfig { hidden: vec![16, 16], ..MlpConfig::default() },
        ..FitConfig::default()
    };
    let clock = std::time::Instant::now();
    let model = Fit::new(config).resources(resources(device)).run(data).unwrap();
    eprintln!("fit on {}: {:.1} s", device.name(), clock.elapsed().as_secs_f64());
    model
}

/// The largest difference of two models' answers, in standard deviations of all answers.
fn answers_differ_by(one: &Model, other: &Model, data: &Dataset) -> f64 {
    let [one, other] = [one, other].map(|model| model.ask(data).under(0.5).answers().unwrap());
    let mut worst = 0.0;
    for (one, other) in [(&one.point, &other.point), (&one.lower, &other.lower), (&one.upper, &other.upper)] {
        let [one, other] =
            [one, other].map(|units| units.values().iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        let n = other.len() as f64;
        let mean = other.iter().sum::<f64>() / n;
        let deviation = (other.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        let off = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).max_by(f64::total_cmp).unwrap();
        worst = f64::max(worst, off / deviation);
    }
    worst
}

#[test]
fn a_fit_and_its_answers_agree() {
    if !has_device() {
        return;
    }
    let data = Oscillator::default().simulate(120, 1).unwrap().data;
    let [graphics, processor] = [DeviceKind::Wgpu, DeviceKind::Cpu].map(|device| fit(&data, device));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.cfqp");
    processor.save(&path).unwrap();
    let moved = Model::load(&path, &resources(DeviceKind::Wgpu)).unwrap();
    let asked = answers_differ_by(&moved, &processor, &data);
    eprintln!("answers of one model within {asked:.1e} standard deviations");
    assert!(asked <= QUERY_TOLERANCE, "answers of one model differ by {asked} standard deviations");

    let fitted = answers_differ_by(&graphics, &processor, &data);
    eprintln!("answers of two fits within {fitted:.1e} standard deviations");
    assert!(fitted <= FIT_TOLERANCE, "answers of two fits differ by {fitted} standard deviations");
}
