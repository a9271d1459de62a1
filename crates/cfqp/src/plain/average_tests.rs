use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::stream;

fn units(d: usize, values: Vec<f32>) -> Units {
    Units::new("a", vec![d], values).unwrap()
}

/// One unit: two covariates, treatment, outcome.
type Unit = ([f32; 2], f32, f32);

fn dataset(rows: &[Unit]) -> Dataset {
    let x = rows.iter().flat_map(|row| row.0).collect();
    let [t, y] =
        [|row: &Unit| row.1, |row: &Unit| row.2].map(|value| units(1, rows.iter().map(value).collect()));
    Dataset::new(units(2, x), t, y).unwrap()
}

fn normal(rng: &mut crate::Rng) -> f32 {
    Distribution::<f32>::sample(&StandardNormal, rng)
}

/// A binary treatment that depends on x; its effect is 2 + x0, so 2 on average.
fn confounded(n: usize, seed: u64) -> Dataset {
    let rng = &mut stream(seed, &["confounded"]);
    let rows: Vec<Unit> = (0..n)
        .map(|_| {
            let x = [normal(rng), normal(rng)];
            let t =
                f32::from(u8::from(rng.random_range(0.0..1.0) < 1.0 / (1.0 + (-x[0] - 0.5 * x[1]).exp())));
            (x, t, 3.0 * x[0] - x[1] + t * (2.0 + x[0]) + normal(rng))
        })
        .collect();
    dataset(&rows)
}

/// A continuous treatment around x0; the outcome is t^2 + 2 x0 + noise.
fn doses(n: usize, seed: u64) -> Dataset {
    let rng = &mut stream(seed, &["doses"]);
    let rows: Vec<Unit> = (0..n)
        .map(|_| {
            let x = [normal(rng), normal(rng)];
            let t = x[0] + normal(rng);
            (x, t, t * t + 2.0 * x[0] + 0.5 * normal(rng))
        })
        .collect();
    dataset(&rows)
}

/// The only element of y.
fn first() -> Vec<Range<usize>> {
    std::iter::once(0..1).collect()
}

fn estimates(data: &Dataset, from: f32, to: f32) -> Vec<PlainEstimate> {
    plain_estimates(data, &first(), &[from], &[to], 0.9).unwrap().remove(0)
}

fn find(estimates: &[PlainEstimate], method: PlainMethod) -> Option<PlainEstimate> {
    estimates.iter().find(|estimate| estimate.method == method).copied()
}

#[test]
fn a_difference_of_means_is_that_of_welch() {
    let y = |i: usize| if i.is_multiple_of(3) { (i / 3 % 4) as f32 } else { 5.0 + (i % 2) as f32 };
    let rows: Vec<Unit> =
        (0..60_usize).map(|i| ([0.0; 2], f32::from(u8::from(i.is_multiple_of(3))), y(i))).collect();
    let found = estimates(&dataset(&rows), 0.0, 1.0)[0];
    // 20 units 0, 1, 2, 3 in turn; 40 units 5 and 6 in turn
    let error = ((25.0 / 19.0) / 20.0 + (10.0 / 39.0) / 40.0_f64).sqrt();
    assert_eq!((found.method, found.units), (PlainMethod::DifferenceOfMeans, 60));
    assert!(
        (found.effect + 4.0).abs() < 1e-9 && (found.standard_error - error).abs() < 1e-9,
        "{found:?} {error}"
    );
    assert!((found.upper - found.effect - 1.6449 * error).abs() < 1e-4);
}

#[test]
fn adjustment_removes_what_covariates_explain() {
    let found = estimates(&confounded(2000, 1), 0.0, 1.0);
    let means = find(&found, PlainMethod::DifferenceOfMeans).unwrap();
    assert!(means.effect > 3.5, "{means:?}");
    for method in [PlainMethod::Regression, PlainMethod::DoublyRobust] {
        let estimate = find(&found, method).unwrap();
        assert!((estimate.effect - 2.0).abs() < 3.0 * estimate.standard_error, "{estimate:?}");
        assert!((0.03..0.15).contains(&estimate.standard_error), "{estimate:?}");
    }
}

#[test]
fn doubly_robust_intervals_reach_their_coverage() {
    let worlds = 60;
    let covered = |method: PlainMethod, data: &dyn Fn(u64) -> Dataset, from: f32, to: f32, truth: f64| {
        let holds = |seed| {
            let found = find(&estimates(&data(seed), from, to), method).unwrap();
            (found.lower..found.upper).contains(&truth)
        };
        (0..worlds).filter(|&seed| holds(seed)).count()
    };
    for method in [PlainMethod::Regression, PlainMethod::DoublyRobust] {
        let count = covered(method, &|seed| confounded(300, seed), 0.0, 1.0, 2.0);
        assert!((48..=60).contains(&count), "{method:?} {count} of {worlds}, level 0.9");
        let count = covered(method, &|seed| doses(500, seed), -0.25, 0.75, 0.5);
        assert!((46..=60).contains(&count), "{method:?}, continuous: {count} of {worlds}, level 0.9");
    }
}

#[test]
fn repeats_of_a_subject_do_not_make_an_estimate_surer() {
    let once = confounded(200, 3);
    let rows: Vec<usize> = (0..800).map(|i| i % 200).collect();
    let copies = once.pick(&rows).unwrap();
    let grouped = copies.clone().with_groups(rows.iter().map(|&row| row as u32).collect()).unwrap();
    let means = |data: &Dataset| find(&estimates(data, 0.0, 1.0), PlainMethod::DifferenceOfMeans).unwrap();
    assert!(means(&copies).standard_error < 0.6 * means(&once).standard_error, "copies without subjects");
    for method in [PlainMethod::DifferenceOfMeans, PlainMethod::DoublyRobust] {
        let error = |data: &Dataset| find(&estimates(data, 0.0, 1.0), method).unwrap().standard_error;
        let [alone, clustered] = [&once, &grouped].map(error);
        assert!((0.8..1.25).contains(&(clustered / alone)), "{method:?} {clustered} {alone}");
    }
}

#[test]
fn estimates_that_the_data_do_not_allow_are_left_out() {
    let methods = |data: &Dataset, from: f32, to: f32| -> Vec<PlainMethod> {
        estimates(data, from, to).iter().map(|estimate| estimate.method).collect()
    };
    let binary = confounded(300, 1);
    assert_eq!(methods(&binary, 0.0, 2.0), [PlainMethod::Regression], "nobody received 2");
    let few: Vec<usize> = (0..25).collect();
    assert!(!methods(&binary.pick(&few).unwrap(), 0.0, 1.0).contains(&PlainMethod::Regression));
    let doses = doses(300, 1);
    assert_eq!(methods(&doses, 0.0, 0.5), [PlainMethod::Regression, PlainMethod::DoublyRobust]);
    assert_eq!(methods(&doses, 0.0, 9.0), [PlainMethod::Regression], "nobody received nearly 9");
    assert!(plain_estimates(&doses, &first(), &[0.0, 1.0], &[1.0], 0.9).is_err());
}

#[test]
fn several_outcomes_are_estimated_at_once_and_missing_ones_are_left_out() {
    let one = confounded(300, 1);
    let y: Vec<f32> = one.y().values().iter().flat_map(|&y| [y, -y, 100.0]).collect();
    let mask = Some((0..900).map(|i| i % 3 != 2 && i != 0).collect());
    let y = Units::with_mask("y", vec![3], y, mask).unwrap();
    let data = Dataset::new(one.x().clone(), one.t().clone(), y).unwrap();
    let found = plain_estimates(&data, &[0..1, 1..3], &[0.0], &[1.0], 0.9).unwrap();
    let robust = [0, 1].map(|j: usize| find(&found[j], PlainMethod::DoublyRobust).unwrap());
    assert_eq!(robust[0].units, 299);
    assert!((robust[0].effect + robust[1].effect).abs() < 1e-4, "{robust:?}");
}
