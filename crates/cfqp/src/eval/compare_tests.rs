use std::sync::Mutex;

use super::*;
use crate::config::{Base, FitConfig};
use crate::eval::Reference;
use crate::sim::{Oscillator, Simulated};

fn worlds() -> (Simulated, Simulated) {
    let world = |n, seed| Oscillator::default().simulate(n, seed).unwrap();
    (world(120, 1), world(30, 2))
}

fn comparison(methods: &[Method]) -> Comparison {
    let fit = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
    let config = MethodConfig { fit, ..MethodConfig::default() };
    Comparison { methods: methods.to_vec(), seeds: vec![1, 2], config }
}

/// Records of every run whether it was cached.
#[derive(Default)]
struct CachedFlags(Mutex<Vec<bool>>);

impl Monitor for CachedFlags {}

impl CompareMonitor for CachedFlags {
    fn run_finished(&self, _: &MethodRun, cached: bool) {
        self.0.lock().unwrap().push(cached);
    }
}

/// Data without classes, effects and examples.
fn comparison_data<'a>(
    train: &'a Simulated,
    test: &'a Simulated,
    truth: &'a Reference,
) -> ComparisonData<'a> {
    ComparisonData {
        train: &train.data,
        train_z: None,
        test: &test.data,
        truth,
        pairs: None,
        effects: None,
        examples: None,
    }
}

#[test]
fn methods_run_once_and_their_cached_runs_are_summarised() {
    let (train, test) = worlds();
    let truth = Reference::from(test.truth.clone());
    let data = ComparisonData {
        train: &train.data,
        train_z: Some(&train.truth.z),
        test: &test.data,
        truth: &truth,
        pairs: None,
        effects: None,
        examples: None,
    };
    let methods = [Method::DeepIte, Method::Sc, Method::Cfqp, Method::Oracle];
    let folder = tempfile::tempdir().unwrap();
    let run = |comparison: &Comparison| {
        let flags = CachedFlags::default();
        let runs = comparison.run(&data, &Resources::default(), Some(folder.path()), &flags).unwrap();
        (runs, flags.0.into_inner().unwrap())
    };
    let (runs, cached) = run(&comparison(&methods));
    assert_eq!((runs.len(), cached), (8, vec![false; 8]));
    let (again, cached) = run(&comparison(&methods));
    assert_eq!((&again, cached), (&runs, vec![true; 8]));
    let mut other = comparison(&methods[1..2]);
    other.config.sc.window = 0.2;
    assert_eq!(run(&other).1, [false; 2], "other settings make another run");

    let summaries = summarise(&runs);
    let error = |i: usize| summaries[i].measures[0].statistics.unwrap().mean;
    assert_eq!(summaries.iter().map(|s| s.method).collect::<Vec<_>>(), methods);
    assert!(error(2) < 0.1 * error(0) && error(2) < 0.1 * error(1) && error(3) < 0.1 * error(0));
    let cfqp = runs[4].scores.as_ref().unwrap();
    assert!(cfqp.coverage.is_some() && cfqp.class_accuracy.unwrap() > 0.9 && cfqp.classes == Some(3));
    assert!(runs[0].scores.as_ref().unwrap().class_accuracy.is_none());
}

#[test]
fn impossible_comparisons_are_refused_and_failed_runs_are_recorded() {
    let (train, test) = worlds();
    let truth = Reference::from(test.truth.clone());
    let data = comparison_data(&train, &test, &truth);
    let refused = |methods: &[Method], change: fn(&mut Comparison)| {
        let mut comparison = comparison(methods);
        change(&mut comparison);
        comparison.run(&data, &Resources::default(), None, &()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[Method::Oracle], |_| ()), "z: the oracle needs the true classes");
    let auto = |c: &mut Comparison| c.config.fit.classes = Classes::Auto;
    assert!(refused(&[Method::CfqpGmm], auto).starts_with("classes: cfqp-gmm"));
    assert!(refused(&[], |_| ()).contains("nothing to run"));
    let t_new = crate::Units::new("t_new", vec![1], vec![40.0; 30]).unwrap();
    let far = Reference { t_new, ..truth.clone() };
    let data = ComparisonData { truth: &far, ..data };
    let alone = comparison(&[Method::Sc]).run(&data, &Resources::default(), None, &()).unwrap_err();
    assert!(alone.to_string().starts_with("unit 0: no training unit has"), "{alone}");
    let both = comparison(&[Method::Sc, Method::DeepIte]);
    let runs = both.run(&data, &Resources::default(), None, &()).unwrap();
    assert!(runs[0].error.is_some() && runs[2].scores.is_some());
    assert_eq!((summarise(&runs)[0].failed, summarise(&runs)[0].measures[0].statistics), (2, None));
}

#[test]
fn the_published_algorithm_uses_the_number_of_classes_that_cfqp_found() {
    let (train, test) = worlds();
    let truth = Reference::from(test.truth.clone());
    let data = comparison_data(&train, &test, &truth);
    let mut comparison = comparison(&[Method::CfqpKmeans, Method::Cfqp]);
    (comparison.config.fit.classes, comparison.config.fit.max_classes) = (Classes::Auto, 4);
    comparison.seeds.truncate(1);
    let runs = comparison.run(&data, &Resources::default(), None, &()).unwrap();
    let classes = |i: usize| runs[i].scores.as_ref().unwrap().classes;
    assert_eq!((runs[0].method, classes(0)), (Method::CfqpKmeans, classes(1)));
    assert_eq!(runs[0].config.fit.classes, Classes::Given(classes(1).unwrap()));
}

#[test]
fn effects_are_scored_where_they_are_known() {
    let (train, test) = worlds();
    let truth = Reference::from(test.truth.clone());
    let treatment = |t: f32| crate::Units::new("t", vec![1], vec![t]).unwrap();
    let effect = (0..30).flat_map(|i| {
        let (high, low) = (test.outcome(i, &[0.8]), test.outcome(i, &[0.5]));
        high.into_iter().zip(low).map(|(high, low)| high - low).collect::<Vec<_>>()
    });
    let effect = crate::Units::new("effect", vec![2, 20], effect.collect()).unwrap();
    let effects = super::super::TrueEffects { from: treatment(0.5), to: treatment(0.8), effect };
    let data = ComparisonData {
        train: &train.data,
        train_z: None,
        test: &test.data,
        truth: &truth,
        pairs: None,
        effects: Some(&effects),
        examples: None,
    };
    let runs = comparison(&[Method::DeepIte, Method::Cfqp]);
    let runs = runs.run(&data, &Resources::default(), None, &()).unwrap();
    let pehe = |i: usize| runs[i].scores.as_ref().unwrap().pehe.unwrap();
    // a channel responds by 0.3 or not at all: one model for all units misses by about half of that
    assert!((0.1..0.2).contains(&pehe(0)) && pehe(2) < 0.02, "{} {}", pehe(0), pehe(2));
    let square = runs[0].scores.as_ref().unwrap().pehe_square.unwrap();
    assert!((square - pehe(0).powi(2)).abs() < 1e-12);
}

#[test]
fn the_deviation_over_runs_is_that_of_a_sample() {
    assert_eq!(RunStatistics::from_values(&[]), None);
    assert_eq!(
        RunStatistics::from_values(&[3.0]),
        Some(RunStatistics { mean: 3.0, deviation: 0.0, runs: 1 })
    );
    let two = RunStatistics::from_values(&[1.0, 3.0]).unwrap();
    assert!((two.deviation - 2.0_f64.sqrt()).abs() < 1e-12 && two.mean == 2.0);
}
