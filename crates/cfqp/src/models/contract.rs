//! The contract of every network.

use burn::tensor::{Device, Tensor};
use rand_distr::{Distribution, StandardNormal};

use super::{Input, Network, Shapes};
use crate::data::NamedArray;
use crate::measure::{gradients, values};
use crate::nn::{load_weights, save_weights, tensor};
use crate::{Result, Rng, stream};

/// Units in the contract's batches.
const UNITS: usize = 7;

/// Checks that the networks that `init` returns for `shapes` keep the contract.
pub(crate) fn check<N: Network + 'static>(
    shapes: &Shapes,
    init: impl Fn(&Shapes, &mut Rng, &Device) -> Result<N>,
) {
    let device = Device::flex();
    let make = |seed, device: &Device| init(shapes, &mut stream(seed, &["contract"]), device).unwrap();
    let network = make(1, &device);
    let input = batch(shapes, UNITS, &mut stream(2, &["batch"]), &device);
    outputs_have_the_shape_of_outcomes(&network, &input, shapes);
    a_batch_equals_its_units_one_by_one(&network, &input);
    every_input_matters(&network, &input);
    masks_depend_on_the_seed_only(&network, &input);
    weights_depend_on_the_stream_and_survive_a_round_trip(
        &network,
        &make(1, &device),
        make(3, &device),
        &input,
    );
    let device = device.autodiff();
    let input = batch(shapes, UNITS, &mut stream(2, &["batch"]), &device);
    gradients_reach_every_parameter(&make(1, &device), &input);
}

fn outputs_have_the_shape_of_outcomes(network: &impl Network, input: &Input, shapes: &Shapes) {
    let y = network.forward(input);
    assert_eq!(y.dims(), [UNITS, shapes.y.iter().product()]);
    assert!(values(y).iter().all(|v| v.is_finite()));
}

fn a_batch_equals_its_units_one_by_one(network: &impl Network, input: &Input) {
    let one = |i: usize| network.forward(&map(input, |v| v.narrow(0, i, 1)));
    let one_by_one = values(Tensor::cat((0..UNITS).map(one).collect(), 0));
    let gap = difference(&values(network.forward(input)), &one_by_one);
    assert!(gap < 1e-5, "a batch differs from its units by {gap}");
}

fn every_input_matters(network: &impl Network, input: &Input) {
    let y = values(network.forward(input));
    let differs = |other: Input| difference(&y, &values(network.forward(&other))) > 1e-6;
    assert!(differs(Input { x: input.x.clone().square(), ..input.clone() }), "x does not matter");
    assert!(differs(Input { t: input.t.clone() + 0.3, ..input.clone() }), "the treatment does not matter");
    let turned = input.class.clone().map(|class| class.roll(&[1], &[1]));
    assert!(
        turned.is_none() || differs(Input { class: turned, ..input.clone() }),
        "the class does not matter"
    );
    let flipped = input.missing.clone().map(|missing| 1.0 - missing);
    let missing = flipped.is_some();
    assert!(!missing || differs(Input { missing: flipped, ..input.clone() }), "missingness does not matter");
}

fn masks_depend_on_the_seed_only(network: &(impl Network + 'static), input: &Input) {
    let training = Input { dropout: Some(9), ..input.clone() };
    let y = values(network.forward(&training));
    let beside = || {
        let (network, training) = (network.clone(), training.clone());
        std::thread::spawn(move || values(network.forward(&training)))
    };
    for other in [beside(), beside()] {
        assert_eq!(other.join().unwrap(), y, "masks differ between threads");
    }
    assert_eq!(values(network.forward(input)), values(network.forward(input)));
}

fn weights_depend_on_the_stream_and_survive_a_round_trip<N: Network>(
    a: &N,
    same: &N,
    other: N,
    input: &Input,
) {
    let saved = save_weights(a);
    assert_eq!(saved, save_weights(same), "the same stream gave other weights");
    assert_ne!(saved, save_weights(&other), "another stream gave the same weights");
    let other = load_weights(other, &saved).unwrap();
    assert_eq!(saved, save_weights(&other));
    assert_eq!(values(a.forward(input)), values(other.forward(input)));
}

fn gradients_reach_every_parameter(network: &impl Network, input: &Input) {
    let grads = network.forward(input).powf_scalar(2.0).mean().backward();
    let gradients = gradients(network, &grads);
    assert!(!gradients.is_empty());
    for NamedArray { name, values, .. } in gradients {
        assert!(values.iter().all(|v| v.is_finite()), "the gradient of `{name}` is not finite");
        assert!(values.iter().any(|&v| v != 0.0), "no gradient reaches `{name}`");
    }
}

/// A random batch of n units for a network of `shapes`; every class occurs where there is a class input.
pub(crate) fn batch(shapes: &Shapes, n: usize, rng: &mut Rng, device: &Device) -> Input {
    let mut normal = |width: usize| {
        let values = (0..n * width).map(|_| StandardNormal.sample(rng)).collect();
        tensor::<2>(values, [n, width], device)
    };
    let elements = shapes.x.iter().product();
    let (x, t) = (normal(elements), normal(shapes.t));
    let missing = shapes.missing.then(|| normal(elements).greater_elem(1.0).float());
    let one_hot = |classes| {
        let values = (0..n * classes).map(|i| f32::from(i % classes == i / classes % classes));
        tensor(values.collect(), [n, classes], device)
    };
    let class = (shapes.classes > 0).then(|| one_hot(shapes.classes));
    Input { x, missing, t, class, dropout: None }
}

/// The largest difference of two arrays' elements; NaN if any is NaN.
pub(crate) fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).max_by(f32::total_cmp).unwrap_or(0.0)
}

fn map(input: &Input, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Input {
    Input {
        x: f(input.x.clone()),
        missing: input.missing.clone().map(&f),
        t: f(input.t.clone()),
        class: input.class.clone().map(&f),
        dropout: input.dropout,
    }
}

/// Tables, series and images, with and without missing values and classes.
fn kinds() -> Vec<Shapes> {
    let plain =
        |x: &[usize], y: &[usize]| Shapes { x: x.to_vec(), t: 1, y: y.to_vec(), missing: false, classes: 0 };
    let with_classes = |shapes: Shapes| Shapes { t: 2, missing: true, classes: 3, ..shapes };
    let kinds = [plain(&[5], &[3]), plain(&[2, 20], &[2, 20]), plain(&[1, 9, 12], &[3, 9, 12])];
    kinds.iter().cloned().chain(kinds.iter().cloned().map(with_classes)).collect()
}

#[test]
fn linear_maps_keep_the_contract() {
    let config = super::LinearConfig::default();
    kinds().iter().for_each(|shapes| check(shapes, |shapes, rng, device| config.init(shapes, rng, device)));
}

#[test]
fn perceptrons_keep_the_contract() {
    let config = super::MlpConfig { hidden: vec![16, 16], ..super::MlpConfig::default() };
    kinds().iter().for_each(|shapes| check(shapes, |shapes, rng, device| config.init(shapes, rng, device)));
}

#[test]
fn u_nets_keep_the_contract() {
    let config =
        super::UnetConfig { channels: [4, 8, 8, 8], embed: 8, groups: 4, ..super::UnetConfig::default() };
    let kinds = kinds().into_iter().filter(|shapes| shapes.x.len() > 1);
    kinds.for_each(|shapes| check(&shapes, |shapes, rng, device| config.init(shapes, rng, device)));
}
