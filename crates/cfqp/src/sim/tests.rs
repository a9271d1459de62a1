//! The contract of every simulator.

use super::*;

const N: usize = 300;

/// Every simulator with both kinds of noise.
fn all(n: usize, seed: u64) -> Vec<(&'static str, Simulated)> {
    let mut all = Vec::new();
    for noise in [Noise::Additive, Noise::NonAdditive] {
        let oscillator = Oscillator { noise, ..Default::default() };
        let cardio = Cardio { noise, hidden_compliance: true, ..Default::default() };
        let digits = Digits { noise, ..Default::default() };
        all.push(("oscillator", oscillator.simulate(n, seed).unwrap()));
        all.push(("cardio", cardio.simulate(n, seed).unwrap()));
        all.push(("digits", digits.simulate(DigitSource::Drawn, n, seed).unwrap()));
    }
    all
}

/// Every simulator with additive noise of `sigma`.
fn with_noise(sigma: f32) -> Vec<Simulated> {
    let sigma = Some(sigma);
    vec![
        Oscillator { sigma, ..Default::default() }.simulate(N, 4).unwrap(),
        Cardio { sigma, ..Default::default() }.simulate(N, 4).unwrap(),
        Digits { sigma, ..Default::default() }.simulate(DigitSource::Drawn, N, 4).unwrap(),
    ]
}

fn differences(a: &Units, b: &Units) -> Vec<f64> {
    a.values().iter().zip(b.values()).map(|(a, b)| f64::from(a - b)).collect()
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64
}

#[test]
fn outcomes_under_recorded_treatments_equal_the_data_bit_for_bit() {
    for (name, simulated) in all(40, 1) {
        let Simulated { data, truth, .. } = &simulated;
        for i in 0..data.len() {
            assert_eq!(simulated.outcome(i, &data.t().row(i)), *data.y().row(i), "{name}");
            assert_eq!(simulated.outcome(i, &truth.t_new.row(i)), *truth.y_new.row(i), "{name}");
        }
        assert_ne!(data.t(), &truth.t_new);
        assert_ne!(data.y(), &truth.y_new);
    }
}

#[test]
fn a_unit_depends_neither_on_the_number_of_units_nor_on_that_of_threads() {
    let run = |n, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| all(n, 9))
    };
    let (few, many) = (run(7, 1), run(31, 3));
    for ((name, few), (_, many)) in few.iter().zip(&many) {
        for (few, many) in [
            (few.data.x(), many.data.x()),
            (few.data.t(), many.data.t()),
            (few.data.y(), many.data.y()),
            (&few.truth.t_new, &many.truth.t_new),
            (&few.truth.y_new, &many.truth.y_new),
        ] {
            assert_eq!(few.values(), &many.values()[..few.values().len()], "{name}");
        }
        assert_eq!(few.truth.z, many.truth.z[..7], "{name}");
    }
}

#[test]
fn seeds_give_different_units() {
    for ((name, one), (_, other)) in all(5, 1).iter().zip(&all(5, 2)) {
        assert_ne!(one.data, other.data, "{name}");
    }
}

#[test]
fn additive_noise_has_its_variance_and_is_the_same_under_both_treatments() {
    for (quiet, loud) in with_noise(0.0).iter().zip(&with_noise(0.05)) {
        let (y, y_new) =
            (differences(loud.data.y(), quiet.data.y()), differences(&loud.truth.y_new, &quiet.truth.y_new));
        assert!((mean_square(&y) / 0.0025 - 1.0).abs() < 0.05);
        let apart: Vec<f64> = y.iter().zip(&y_new).map(|(y, y_new)| y - y_new).collect();
        assert!(mean_square(&apart) < 1e-12);
        if loud.data.x().shape().len() == 2 {
            let x = differences(loud.data.x(), quiet.data.x());
            assert!((mean_square(&x) / 0.0025 - 1.0).abs() < 0.05);
            let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() / x.len() as f64;
            assert!(product.abs() < 1e-4, "the noise of x and y is correlated");
        }
    }
}

#[test]
fn classes_are_equally_likely() {
    for (name, simulated) in all(N, 3) {
        let classes = match name {
            "oscillator" => 3,
            "cardio" => 2,
            _ => 6,
        };
        let mut counts = vec![0; classes];
        simulated.truth.z.iter().for_each(|&z| counts[z] += 1);
        let expected = N as f64 / classes as f64;
        for count in counts {
            assert!((f64::from(count) - expected).abs() < 4.0 * expected.sqrt(), "{name}: {count}");
        }
    }
}

#[test]
fn treatments_have_their_distribution() {
    for (name, simulated) in all(N, 6) {
        let (low, high) = match name {
            "oscillator" => (0.2, 1.0),
            "cardio" => (0.4, 1.0),
            _ => (0.0, 35.0),
        };
        for t in [simulated.data.t(), &simulated.truth.t_new] {
            assert!(t.values().iter().all(|t| (low..=high).contains(t)), "{name}");
            let mean = t.values().iter().sum::<f32>() / N as f32;
            assert!((mean - (low + high) / 2.0).abs() < 0.06 * (high - low), "{name}: {mean}");
        }
    }
}

#[test]
fn a_single_class_leaves_all_other_variables_unchanged() {
    let one = Cardio { single_class: true, ..Default::default() }.simulate(50, 1).unwrap();
    let two = Cardio::default().simulate(50, 1).unwrap();
    assert!(one.truth.z.iter().all(|&z| z == 0));
    assert_eq!(one.data.x(), two.data.x());
    assert_eq!(one.data.t(), two.data.t());
    for i in (0..50).filter(|&i| two.truth.z[i] == 0) {
        assert_eq!(one.data.y().row(i), two.data.y().row(i));
    }
    let oscillator = Oscillator { single_class: true, ..Default::default() }.simulate(50, 1).unwrap();
    assert!(oscillator.truth.z.iter().all(|&z| z == 0));
    let digits = Digits { single_class: true, ..Default::default() };
    assert!(digits.simulate(DigitSource::Drawn, 50, 1).unwrap().truth.z.iter().all(|&z| z == 0));
}

#[test]
fn settings_are_read_and_validated() {
    let cardio: Cardio =
        serde_json::from_str(r#"{"noise": "non_additive", "hidden_compliance": true}"#).unwrap();
    assert_eq!(cardio.noise, Noise::NonAdditive);
    assert_eq!(cardio.sigma(), 0.01);
    assert!(serde_json::from_str::<Oscillator>(r#"{"sigm": 0.1}"#).is_err());
    for sigma in [-1.0, f32::NAN] {
        let error = Oscillator { sigma: Some(sigma), ..Default::default() }.simulate(3, 1).unwrap_err();
        assert!(error.to_string().starts_with("sigma: "));
    }
    assert!(Oscillator::default().simulate(0, 1).is_err());
}

#[test]
fn rho_changes_only_the_outcome_under_the_new_treatment() {
    let with = |rho| -> Vec<Simulated> {
        vec![
            Oscillator { rho, ..Default::default() }.simulate(N, 4).unwrap(),
            Cardio { rho, ..Default::default() }.simulate(N, 4).unwrap(),
            Digits { rho, ..Default::default() }.simulate(DigitSource::Drawn, N, 4).unwrap(),
        ]
    };
    let sigmas = [0.05_f64, 0.01, 0.01];
    for ((same, apart), sigma) in with(None).iter().zip(&with(Some(0.6))).zip(sigmas) {
        assert_eq!((&same.data, &same.truth.t_new), (&apart.data, &apart.truth.t_new));
        // e' - e has the variance 2 (1 - rho) sigma^2
        let seen = mean_square(&differences(&same.truth.y_new, &apart.truth.y_new));
        assert!((seen / (0.8 * sigma * sigma) - 1.0).abs() < 0.05, "{seen}");
    }
    assert!(Oscillator { rho: Some(1.5), ..Default::default() }.validate().is_err());
    let blurred = Digits { noise: Noise::NonAdditive, rho: Some(0.5), ..Default::default() };
    assert!(blurred.validate().unwrap_err().to_string().starts_with("rho: "));
}
