//! Every operation with each instruction set of the processor, forward and backward.
//!
//! Loops give equal bits. Matrix products do not, and operations that contain one agree within [`TOLERANCE`].

use burn::tensor::{Device, Tensor};
use burn_optim::Optimizer as _;
use rand::RngExt as _;

use super::testing::{assert_near, random, with_grads};
use super::{
    Adam, Attention, Channels, ConvBlock, ConvOut, Dropout, LayerNorm, Linear, Sequences, Window,
    linear_relu, linear_swish, squared_error, tensor,
};
use crate::math::isa::testing::with_each_isa;
use crate::stream;

/// The largest difference between instruction sets, relative to the largest element of an array, or to 1 if that is less.
const TOLERANCE: f32 = 2e-6;

type Arrays = Vec<Vec<f32>>;

fn bits(arrays: &Arrays) -> Vec<Vec<u32>> {
    arrays.iter().map(|array| array.iter().map(|value| value.to_bits()).collect()).collect()
}

/// Asserts that `run` gives the same bits with each instruction set.
fn assert_equal(run: impl Fn() -> Arrays + Sync) {
    let results = with_each_isa(2, run);
    let (_, first) = &results[0];
    assert!(first.iter().flatten().any(|value| *value != 0.0));
    for (isa, result) in &results {
        assert!(bits(result) == bits(first), "{isa:?} differs from the portable kernels");
    }
}

/// Asserts that the results of `run` agree within [`TOLERANCE`].
fn assert_close(run: impl Fn() -> Arrays + Sync) {
    let results = with_each_isa(2, run);
    let (_, first) = &results[0];
    results.iter().for_each(|(_, result)| assert_near(result, first, TOLERANCE));
}

fn device() -> Device {
    Device::flex().autodiff()
}

#[test]
fn convolution_blocks_agree() {
    for window in [Window::new([1, 20], [1, 3], [1, 2]), Window::new([12, 11], [3, 3], [2, 2])] {
        for transposed in [false, true] {
            assert_close(|| {
                let rng = &mut stream(1, &["block"]);
                let channels = Channels { inputs: 24, outputs: 32, groups: 8, embed: 6 };
                let init = if transposed { ConvBlock::init_transposed } else { ConvBlock::init };
                let block = init(window, channels, rng, &device());
                let sites = if transposed { window.places() } else { window.positions() };
                let x = random([9, sites, 24], rng, &device());
                let e = random([9, 6], rng, &device());
                with_grads(block.forward(x.clone(), None, e.clone()), |grads| {
                    grads.record(&x).record(&e).record(&block.weight.val());
                    grads.record(&block.norm.gamma.val()).record(&block.norm.beta.val());
                })
            });
        }
    }
}

#[test]
fn output_layers_agree() {
    let window = Window::new([12, 11], [3, 3], [2, 2]);
    assert_close(|| {
        let rng = &mut stream(1, &["out"]);
        let out = ConvOut::init(window, 20, 3, rng, &device());
        let x = random([5, window.places(), 12], rng, &device());
        let skip = random([5, window.places(), 8], rng, &device());
        with_grads(out.forward(x.clone(), skip.clone()), |grads| {
            grads.record(&x).record(&skip).record(&out.weight.val()).record(&out.bias.val());
        })
    });
}

#[test]
fn affine_maps_agree() {
    // small and large products, single rows and single columns have kernels of their own
    for (n, inputs, outputs) in [(1, 50, 7), (64, 33, 1), (8, 40, 8), (150, 256, 40)] {
        for swish in [false, true] {
            assert_close(|| {
                let rng = &mut stream(1, &["linear"]);
                let linear = Linear::init(inputs, outputs, rng, &device());
                let x = random([n, inputs], rng, &device());
                let y = if swish { linear_swish(x.clone(), &linear) } else { linear.forward(x.clone()) };
                with_grads(y, |grads| {
                    grads.record(&x).record(&linear.weight.val()).record(&linear.bias.val());
                })
            });
        }
    }
}

#[test]
fn attention_with_its_projections_agrees() {
    assert_close(|| {
        let rng = &mut stream(1, &["attention"]);
        let seq = Sequences { n: 4, steps: 21, causal: 9 };
        let attention = Attention::init(24, 3, rng, &device());
        let x = random([seq.n * seq.steps, 24], rng, &device());
        let y = attention.forward(x.clone(), seq, &(0..21), &mut Dropout::new(0.2, Some(3)));
        with_grads(y, |grads| {
            grads.record(&x).record(&attention.project.weight.val()).record(&attention.output.bias.val());
        })
    });
}

#[test]
fn layer_norms_are_equal() {
    assert_equal(|| {
        let rng = &mut stream(1, &["norm"]);
        let norm = LayerNorm::init(37, &device());
        let [x, a] = [(); 2].map(|()| random([600, 37], rng, &device()));
        let y = norm.add(x.clone(), a.clone(), &mut Dropout::new(0.2, Some(3)));
        with_grads(y, |grads| {
            grads.record(&x).record(&a).record(&norm.gain.val()).record(&norm.bias.val());
        })
    });
}

#[test]
fn relus_are_equal() {
    assert_equal(|| {
        let rng = &mut stream(1, &["relu"]);
        let linear = Linear::init(19, 37, rng, &device());
        let x = random([600, 19], rng, &device());
        let y = linear_relu(x.clone(), &linear, &mut Dropout::new(0.2, Some(3)));
        with_grads(y, |grads| {
            grads.record(&x).record(&linear.bias.val());
        })
    });
}

#[test]
fn losses_are_equal() {
    assert_equal(|| {
        let rng = &mut stream(1, &["loss"]);
        let output = random([33, 130], rng, &device());
        let y = random([33, 130], rng, &device()).detach();
        let loss = squared_error(output.clone(), y, 12.0);
        with_grads(Tensor::cat(vec![loss.clone(), loss], 0), |grads| {
            grads.record(&output);
        })
    });
}

#[test]
fn steps_of_adam_are_equal() {
    assert_equal(|| {
        let rng = &mut stream(1, &["adam"]);
        let mut draw = || {
            let values = (0..70_001).map(|_| rng.random_range(-1.0..1.0)).collect();
            tensor::<1>(values, [70_001], &Device::flex())
        };
        let (adam, mut p, mut state) = (Adam { weight_decay: 0.1, ..Adam::default() }, draw(), None);
        for _ in 0..3 {
            (p, state) = adam.step(0.01, p, draw(), state);
        }
        vec![p.into_data().try_into_vec().unwrap()]
    });
}
