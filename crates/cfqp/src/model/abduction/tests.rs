use super::*;
use crate::data::{Dataset, Scaler, Units};
use crate::model::{CalibrationUnit, Components, MemberFactor, Prior, Residuals, Scales};
use crate::models::{BaseConfig, Shapes};
use crate::stream;

/// Two classes with random linear means and scale `scale`, and `n` units.
struct World {
    data: Dataset,
    scaler: Scaler,
    mixture: Mixture,
    calibration: Calibration,
    device: Device,
}

fn world(n: usize, members: usize, scale: f32) -> World {
    let numbers = |k: usize| (0..n * k).map(|i| ((i * 37 + k) % 17) as f32 / 8.0 - 1.0).collect();
    let units = |name: &str, k| Units::new(name, vec![k], numbers(k)).unwrap();
    let data = Dataset::new(units("x", 3), units("t", 1), units("y", 2)).unwrap();
    let scaler = Scaler::fit(&data.all(), false);
    let (device, shapes) = (Device::flex(), Shapes::from_data(&data));
    let net = |member: usize, k: usize| {
        let mut rng = stream(1, &["net", &member.to_string(), &k.to_string()]);
        BaseConfig::Linear(Default::default()).init(&shapes, &mut rng, &device).unwrap()
    };
    let components = |m| Components { nets: (0..2).map(|k| net(m, k)).collect(), classes: 2 };
    let residuals = Residuals { t: vec![0.0], squares: vec![scale * scale; 2] };
    let mixture = Mixture {
        members: (0..members).map(components).collect(),
        scales: Scales::fit(&[residuals.clone(), residuals], 2, 1, false),
        prior: Prior::Constant(vec![0.25, 0.75]),
    };
    let factor = MemberFactor { expected: 1.0, uncertainty: 0.5 };
    let calibration = Calibration::fit(&[CalibrationUnit::default()], 2, factor);
    World { data, scaler, mixture, calibration, device }
}

impl World {
    fn ask(&self, to: &[f32], from: Option<&[f32]>, rho: f32) -> Abducted {
        let rows: Vec<usize> = (0..self.data.len()).collect();
        let batcher = Batcher { data: &self.data, scaler: &self.scaler, missing: false };
        let calibration = &self.calibration;
        let question = BatchQuestion { batcher, rows: &rows, to, from, calibration, min_posterior: 0.0 };
        abduct(&self.mixture, &question, rho, &self.device)
    }

    fn factual_treatments(&self) -> Vec<f32> {
        let rows: Vec<usize> = (0..self.data.len()).collect();
        Batcher { data: &self.data, scaler: &self.scaler, missing: false }.treatments(&rows)
    }

    fn outcomes(&self) -> Vec<f32> {
        let rows: Vec<usize> = (0..self.data.len()).collect();
        Batcher { data: &self.data, scaler: &self.scaler, missing: false }.outcomes(&rows)
    }
}

#[test]
fn posteriors_sum_to_one_and_vague_classes_keep_the_prior() {
    let sure = world(9, 1, 0.1).ask(&[0.5; 9], None, 1.0);
    assert!(sure.posterior.chunks(2).all(|unit| (unit[0] + unit[1] - 1.0).abs() < 1e-5));
    assert!(sure.posterior.chunks(2).any(|unit| unit[most_probable(unit)] > 0.999));
    let vague = world(9, 1, 1e3).ask(&[0.5; 9], None, 1.0);
    assert!(vague.posterior.chunks(2).all(|unit| (unit[0] - 0.25).abs() < 1e-3), "{:?}", vague.posterior);
}

#[test]
fn under_the_factual_treatment_every_class_answers_with_the_factual_outcome() {
    let world = world(9, 3, 0.5);
    let (t, y) = (world.factual_treatments(), world.outcomes());
    for class in world.ask(&t, None, 1.0).classes {
        assert!(class.mean.iter().zip(&y).all(|(answer, y)| (answer - y).abs() < 1e-5));
        assert!(class.noise.iter().chain(&class.transfer).all(|variance| variance.abs() < 1e-6));
    }
}

#[test]
fn fresh_noise_gives_the_class_mean_with_the_variance_of_the_noise() {
    let world = world(9, 1, 0.5);
    let batcher = Batcher { data: &world.data, scaler: &world.scaler, missing: false };
    let rows: Vec<usize> = (0..9).collect();
    let answers = world.ask(&[0.3; 9], None, 0.0);
    for (k, class) in answers.classes.iter().enumerate() {
        let mean = world.mixture.members[0].mean(k, &batcher, &rows, Some(&[0.3; 9]), &world.device);
        assert_eq!(class.mean, mean);
        assert!(class.noise.iter().all(|variance| (variance - 0.25).abs() < 1e-4));
    }
}

#[test]
fn an_effect_is_the_difference_of_two_answers_of_each_class() {
    let world = world(9, 3, 0.5);
    let effect = world.ask(&[0.8; 9], Some(&[-0.4; 9]), 1.0);
    let (high, low) = (world.ask(&[0.8; 9], None, 1.0), world.ask(&[-0.4; 9], None, 1.0));
    for (effect, (high, low)) in effect.classes.iter().zip(high.classes.iter().zip(&low.classes)) {
        let difference = high.mean.iter().zip(&low.mean).map(|(high, low)| high - low);
        assert!(effect.mean.iter().zip(difference).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn improbable_classes_are_left_out_without_changing_the_others() {
    let world = world(9, 2, 0.1);
    let all = world.ask(&[0.5; 9], None, 1.0);
    let rows: Vec<usize> = (0..9).collect();
    let batcher = Batcher { data: &world.data, scaler: &world.scaler, missing: false };
    let calibration = &world.calibration;
    let (to, min_posterior) = (&[0.5; 9][..], 0.5);
    let question = BatchQuestion { batcher, rows: &rows, to, from: None, calibration, min_posterior };
    let some = abduct(&world.mixture, &question, 1.0, &world.device);
    for (i, k) in (0..9).flat_map(|i| [(i, 0), (i, 1)]) {
        let expected =
            if all.posterior[i * 2 + k] >= 0.5 { &all.classes[k].mean[i * 2..][..2] } else { &[0.0; 2] };
        let gap = some.classes[k].mean[i * 2..][..2].iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(gap.fold(0.0, f32::max) < 1e-5, "unit {i}, class {k}");
    }
}
