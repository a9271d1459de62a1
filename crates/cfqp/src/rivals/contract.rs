//! The contract of every method.

use super::*;
use crate::config::{Base, Classes, FitConfig};
use crate::eval::{Oracle, mse};
use crate::models::{MlpConfig, UnetConfig};
use crate::runtime::Resources;
use crate::sim::{Oscillator, Simulated};
use crate::stream;
use rand::RngExt as _;

/// Settings small enough for a test.
fn config(seed: u64) -> MethodConfig {
    let mlp = || MlpConfig { hidden: vec![16, 16], ..MlpConfig::default() };
    let unet = || UnetConfig { channels: [4, 8, 8, 8], embed: 8, groups: 4, ..UnetConfig::default() };
    let base = Base::Mlp;
    let (classes, epochs, members) = (Classes::Given(2), Some(3), Some(2));
    let fit =
        FitConfig { classes, base, epochs, members, mlp: mlp(), unet: unet(), seed, ..FitConfig::default() };
    MethodConfig {
        rho: 1.0.into(),
        fit,
        sc: SyntheticControlConfig { window: 0.3 },
        deep_scm: DeepScmConfig { couplings: 3, mlp: mlp(), unet: unet(), ..DeepScmConfig::default() },
        diff_scm: DiffScmConfig { tolerance: 1e-6, unet: unet(), mlp: mlp(), ..DiffScmConfig::default() },
    }
}

/// Units of shape `x` and `y` with random values.
fn random(n: usize, x: &[usize], y: &[usize], masked: bool) -> Dataset {
    let rng = &mut stream(5, &["contract"]);
    let mut units = |name: &str, shape: &[usize], masked: bool| {
        let values: Vec<f32> =
            (0..n * shape.iter().product::<usize>()).map(|_| rng.random_range(0.0..1.0)).collect();
        let mask = masked.then(|| (0..values.len()).map(|i| i % 11 != 3).collect());
        Units::with_mask(name, shape.to_vec(), values, mask).unwrap()
    };
    Dataset::new(units("x", x, masked), units("t", &[1], false), units("y", y, masked)).unwrap()
}

fn fit(method: Method, data: &Dataset, seed: u64, threads: usize) -> Box<dyn Counterfactual> {
    let (config, resources) = (config(seed), Resources { threads, ..Resources::default() });
    if method == Method::Oracle {
        let z: Vec<usize> = (0..data.len()).map(|i| i % 2).collect();
        let oracle = Oracle::fit(data, &z, &config.fit, &resources, &()).unwrap();
        return Box::new(oracle.for_units(z, 1.0));
    }
    method.fit(data, &config, &resources, &()).unwrap()
}

#[test]
fn every_method_answers_every_unit_of_every_kind_of_data() {
    let kinds: [(&[usize], &[usize], bool); 4] = [
        (&[3], &[2], false),
        (&[2, 12], &[2, 12], true),
        (&[1, 10, 8], &[3, 10, 8], false),
        (&[5], &[1, 9], true),
    ];
    for (x, y, masked) in kinds {
        let data = random(40, x, y, masked);
        for method in Method::ALL {
            let fitted = fit(method, &data, 1, 2);
            let one = Units::new("t", vec![1], vec![0.5]).unwrap();
            let all = Units::new("t", vec![1], vec![0.5; 40]).unwrap();
            let answers = fitted.counterfactual(&data, &one).unwrap();
            assert_eq!((answers.len(), answers.shape()), (40, y), "{method:?}");
            assert!(answers.values().iter().all(|value| value.is_finite()), "{method:?}");
            assert_eq!(fitted.counterfactual(&data, &all).unwrap(), answers, "{method:?}: one for all");
            let learns = !matches!(method, Method::Sc | Method::Oracle);
            assert_eq!(fitted.validation_loss().is_some_and(f64::is_finite), learns, "{method:?}");
            let few = Units::new("t", vec![1], vec![0.5; 3]).unwrap();
            assert!(fitted.counterfactual(&data, &few).is_err(), "{method:?}: three treatments");
            let other = random(40, &[4], y, masked);
            assert!(fitted.counterfactual(&other, &one).is_err(), "{method:?}: other units");
        }
    }
}

#[test]
fn every_method_gives_the_same_bits_for_its_seed_on_any_number_of_threads() {
    for (x, y) in [(&[2, 12][..], &[2, 12][..]), (&[1, 16, 16], &[2, 16, 16])] {
        let data = random(40, x, y, false);
        for method in Method::ALL {
            let answer = |seed: u64, threads: usize| {
                fit(method, &data, seed, threads).counterfactual(&data, data.t()).unwrap()
            };
            let first = answer(1, 1);
            assert_eq!(first, answer(1, 3), "{method:?}");
            let fixed = method == Method::Sc;
            assert_eq!(first == answer(2, 1), fixed, "{method:?}: the seed matters");
        }
    }
}

/// A method that abducts the noise returns the factual outcome under the factual treatment.
#[test]
fn under_the_factual_treatment_a_unit_keeps_its_outcome() {
    for (x, y) in [(&[4][..], &[3][..]), (&[2, 12], &[2, 12]), (&[1, 16, 16], &[2, 16, 16])] {
        let data = random(40, x, y, false);
        for (method, max_gap) in [
            (Method::DeepScm, 1e-4),
            (Method::DiffScm, 0.02),
            (Method::Cfqp, 1e-4),
            (Method::Oracle, 1e-4),
            (Method::Residual, 1e-4),
            (Method::Process, 1e-4),
        ] {
            let answers = fit(method, &data, 1, 2).counterfactual(&data, data.t()).unwrap();
            let gap = answers.values().iter().zip(data.y().values()).map(|(a, b)| (a - b).abs());
            let gap = gap.fold(0.0, f32::max);
            assert!(gap < max_gap, "{method:?} {y:?}: {gap}");
        }
    }
}

/// y = x + t + noise with equal factual and counterfactual noise: methods that abduct it are nearly exact, others miss by it.
fn shifted_outcomes(n: usize) -> (Dataset, Units) {
    let rng = &mut stream(8, &["shifts"]);
    let mut draw = |low: f32, high: f32| (0..n).map(|_| rng.random_range(low..high)).collect::<Vec<f32>>();
    let (x, t, t_new, noise) = (draw(-1.0, 1.0), draw(0.0, 1.0), draw(0.0, 1.0), draw(-1.0, 1.0));
    let outcome = |t: &[f32]| (0..n).flat_map(|i| [x[i] + t[i] + noise[i], 2.0 * t[i] - x[i]]).collect();
    let units = |shape: usize, values: Vec<f32>| Units::new("a", vec![shape], values).unwrap();
    let truth = units(2, outcome(&t_new));
    let data = Dataset::new(units(1, x.clone()), units(1, t.clone()), units(2, outcome(&t))).unwrap();
    // the new treatments are the second column
    (data, units(2, truth.values().chunks(2).zip(&t_new).flat_map(|(y, t)| [y[0], *t]).collect()))
}

#[test]
fn a_shift_by_the_treatment_is_answered_with_the_units_own_noise() {
    let (data, asked) = shifted_outcomes(600);
    let column = |i: usize| asked.values().iter().skip(i).step_by(2).copied().collect::<Vec<_>>();
    let t_new = Units::new("t", vec![1], column(1)).unwrap();
    let mut config = config(1);
    config.fit.epochs = Some(40);
    config.fit.base = Base::Linear;
    config.fit.classes = Classes::Given(1);
    config.sc.window = 0.1;
    let wide = || MlpConfig { hidden: vec![64, 64], ..MlpConfig::default() };
    config.deep_scm.mlp = wide();
    config.diff_scm.mlp = wide();
    let error = |method: Method| {
        let fitted = method.fit(&data, &config, &Resources::default(), &()).unwrap();
        let answers = fitted.counterfactual(&data, &t_new).unwrap();
        let gaps = answers.values().iter().step_by(2).zip(column(0)).map(|(a, b)| f64::from(a - b).powi(2));
        gaps.sum::<f64>() / 600.0
    };
    // the noise has variance 1/3
    assert!((0.28..0.40).contains(&error(Method::DeepIte)), "{}", error(Method::DeepIte));
    assert!((0.28..0.60).contains(&error(Method::Sc)), "{}", error(Method::Sc));
    assert!((0.28..0.40).contains(&error(Method::Regression)), "{}", error(Method::Regression));
    let shrunk = error(Method::ShrunkResidual);
    assert!((0.07..0.10).contains(&shrunk), "half of the noise: {shrunk}");
    for (method, max_error) in [
        (Method::Cfqp, 0.001),
        (Method::Residual, 0.04),
        (Method::Process, 0.002),
        (Method::DeepScm, 0.01),
        (Method::DiffScm, 0.02),
    ] {
        let error = error(method);
        assert!(error < max_error, "{method:?}: {error}");
    }
}

#[test]
fn methods_that_use_the_factual_outcome_beat_those_that_do_not() {
    let world = |n, seed| -> Simulated { Oscillator::default().simulate(n, seed).unwrap() };
    let (train, test) = (world(300, 1), world(100, 2));
    let mut config = config(1);
    config.fit.epochs = Some(30);
    config.fit.base = Base::Linear;
    let error = |method: Method| {
        let fitted = method.fit(&train.data, &config, &Resources::default(), &()).unwrap();
        mse(&test.truth.y_new, &fitted.counterfactual(&test.data, &test.truth.t_new).unwrap()).unwrap()
    };
    let one = error(Method::DeepIte);
    assert!((0.07..0.11).contains(&one), "{one}");
    for method in [Method::DeepScm, Method::DiffScm] {
        assert!(error(method) < 0.9 * one, "{method:?}: {} {one}", error(method));
    }
}
