use super::*;
use crate::data::Units;
use crate::sim::{Scenario, Table, TableWorld};

fn dataset(
    n: usize,
    x: impl Fn(usize) -> Vec<f32>,
    t: impl Fn(usize) -> f32,
    y: impl Fn(usize) -> f32,
) -> Dataset {
    let width = x(0).len();
    let units = |width, values: Vec<f32>| Units::new("a", vec![width], values).unwrap();
    let x = units(width, (0..n).flat_map(x).collect());
    Dataset::new(x, units(1, (0..n).map(t).collect()), units(1, (0..n).map(y).collect())).unwrap()
}

fn continuous(i: usize) -> f32 {
    (i as f32 * 0.7).sin()
}

fn covariate(i: usize) -> f32 {
    (i as f32 * 1.3).sin()
}

fn response(i: usize) -> f32 {
    (i as f32 * 2.9).sin()
}

fn kinds(data: &Dataset) -> Vec<&'static str> {
    Warning::find(data, None).iter().map(Warning::kind).collect()
}

#[test]
fn ordinary_data_give_no_warning() {
    assert!(kinds(&dataset(200, |i| vec![covariate(i), i as f32], continuous, response)).is_empty());
}

#[test]
fn outcomes_that_are_not_continuous_are_found() {
    let outcome = |y: fn(usize) -> f32| kinds(&dataset(200, |i| vec![covariate(i)], continuous, y));
    assert_eq!(outcome(|i| (i % 2) as f32 + 1.0), ["two_valued_outcome"]);
    assert_eq!(outcome(|i| (i % 2) as f32), [""; 0], "yes or no has a likelihood of its own");
    assert_eq!(outcome(|i| (i % 5) as f32 - 2.0), ["few_whole_numbers"]);
    assert_eq!(outcome(|i| (i % 5) as f32), [""; 0], "counts");
    assert_eq!(outcome(|i| (i % 5) as f32 + 0.5), [""; 0], "a scale of halves may be continuous");
    assert_eq!(outcome(|i| if i % 4 == 0 { 0.0 } else { response(i) }), ["many_zeros"]);
    assert_eq!(outcome(|i| if i % 6 == 0 { 0.0 } else { response(i) + 2.0 }), [""; 0]);
    assert_eq!(outcome(|_| 3.0), ["constant_columns"]);
}

#[test]
fn few_treatments_few_units_and_constant_covariates_are_found() {
    let x = |i: usize| vec![covariate(i)];
    let doses = dataset(200, x, |i| (i % 3) as f32, response);
    let found = Warning::find(&doses, None);
    assert_eq!(found, [Warning::FewTreatmentValues { treatment: "t".into(), values: 3 }]);
    assert!(found[0].to_string().contains("answers between them are interpolated"));
    assert_eq!(kinds(&dataset(99, x, continuous, response)), ["few_units"]);
    let wide = dataset(119, |i| (0..6).map(|j| covariate(i + j)).collect(), continuous, response);
    assert_eq!(Warning::find(&wide, None), [Warning::FewUnitsPerCovariate { units: 119, covariates: 6 }]);
    let constant = |i: usize| vec![covariate(i), 7.0, if i == 50 { 1.0 } else { 0.0 }];
    let found = Warning::find(&dataset(200, constant, continuous, response), None);
    let names = |name: &str| vec![name.to_owned()];
    assert_eq!(found, [Warning::ConstantColumns(names("x1")), Warning::NearlyConstantColumns(names("x2"))]);
}

#[test]
fn a_handful_of_units_says_nothing_about_distinct_values() {
    assert!(kinds(&dataset(6, |i| vec![covariate(i)], |i| i as f32, |i| i as f32)).is_empty());
}

#[test]
fn unobserved_values_do_not_count() {
    let plain = dataset(200, |i| vec![covariate(i)], continuous, |i| (i % 2) as f32);
    let mask: Vec<bool> = (0..200).map(|i| i % 2 == 0 || i < 40).collect();
    let values: Vec<f32> = (0..200).map(|i| if i < 40 { continuous(i) } else { (i % 2) as f32 }).collect();
    let y = Units::with_mask("y", vec![1], values, Some(mask)).unwrap();
    let data = Dataset::new(plain.x().clone(), plain.t().clone(), y).unwrap();
    assert_eq!(kinds(&data), ["many_zeros"]);
}

#[test]
fn a_warning_is_serialised_with_its_kind_columns_and_text() {
    let warning = Warning::ManyZeros { outcome: "cost".into(), share: 0.345 };
    let json = serde_json::to_value(&warning).unwrap();
    assert_eq!((&json["kind"], &json["columns"][0]), (&"many_zeros".into(), &"cost".into()));
    assert!(json["text"].as_str().unwrap().starts_with("the outcome `cost` is 0 in 34% of cases"), "{json}");
}

/// The warnings about copies: the number of the covariate, and what it copies.
fn copies(data: &Dataset) -> Vec<String> {
    let copied = |warning: &Warning| match warning {
        Warning::CopiedColumn { covariate, copied, .. } => Some(format!("{covariate}={copied}")),
        _ => None,
    };
    Warning::find(data, None).iter().filter_map(copied).collect()
}

#[test]
fn covariates_that_copy_the_treatment_or_the_outcome_are_found() {
    let ordinary = |i: usize| vec![covariate(i), response(i) + 0.2 * covariate(i)];
    assert_eq!(copies(&dataset(300, ordinary, continuous, response)), [""; 0], "correlated, but no copy");
    let scaled = |i: usize| vec![covariate(i), 3.0 - 2.0 * continuous(i), response(i).exp()];
    assert_eq!(copies(&dataset(300, scaled, continuous, response)), ["x1=t", "x2=y"]);
    // codes: three sites of which one gives one treatment, and one exception in 300
    let level = |i: usize| if i % 3 == 2 { 1.0 } else { 0.0 };
    let sites = |i: usize| vec![covariate(i), if i == 299 { 0.0 } else { (i % 3) as f32 }];
    assert_eq!(copies(&dataset(300, sites, level, response)), ["x1=t"]);
    let mixed = |i: usize| vec![covariate(i), if i.is_multiple_of(7) { 0.0 } else { (i % 3) as f32 }];
    assert_eq!(copies(&dataset(300, mixed, level, response)), [""; 0]);
    // a threshold of many values, and many categories of two units each
    let ages = |i: usize| vec![covariate(i), continuous(i)];
    let above = |i: usize| f32::from(u8::from(continuous(i) > 0.0));
    assert_eq!(copies(&dataset(300, ages, above, response)), [""; 0]);
    assert_eq!(copies(&dataset(40, |i| vec![(i / 2) as f32], |i| ((i / 2) % 2) as f32, response)), [""; 0]);
}

#[test]
fn repeated_units_are_found_unless_they_are_of_one_subject_or_happen_by_chance() {
    let repeated = |data: &Dataset| {
        let count = |warning: &Warning| match warning {
            Warning::RepeatedUnits { repeated, .. } => Some(*repeated),
            _ => None,
        };
        Warning::find(data, None).iter().find_map(count)
    };
    let twice = |n: usize| dataset(n, |i| vec![covariate(i / 2)], |i| continuous(i / 2), |i| response(i / 2));
    assert_eq!(repeated(&twice(400)), Some(200));
    let subjects = twice(400).with_groups((0..400).map(|i| i / 2).collect()).unwrap();
    assert_eq!(repeated(&subjects), None);
    let others = twice(400).with_groups((0..400).collect()).unwrap();
    assert_eq!(repeated(&others), Some(200));
    let coarse = dataset(400, |i| vec![(i % 7) as f32], |i| (i % 2) as f32, |i| (i % 5) as f32);
    assert_eq!(repeated(&coarse), None);
    let few = dataset(400, |i| vec![covariate(i.max(3))], |i| continuous(i.max(3)), |i| response(i.max(3)));
    assert_eq!(repeated(&few), None);
}

#[test]
fn values_of_the_treatment_that_few_units_received_are_found() {
    let rare = |t: fn(usize) -> f32| {
        let data = dataset(200, |i| vec![covariate(i)], t, response);
        let levels = |warning: &Warning| match warning {
            Warning::RareLevels { levels, .. } => Some(levels.clone()),
            _ => None,
        };
        Warning::find(&data, None).iter().find_map(levels)
    };
    assert_eq!(rare(|i| if i == 7 { 2.0 } else { (i % 2) as f32 }), Some(vec![("2".to_owned(), 1)]));
    assert_eq!(rare(|i| (i % 3) as f32), None);
    assert_eq!(rare(|i| if i < 10 { i as f32 } else { 0.0 }), None, "amounts");
}

#[test]
fn simulated_tables_and_random_scenarios_give_none_of_the_warnings_about_roles_and_rows() {
    const KINDS: [&str; 4] = ["copied_column", "repeated_units", "rare_levels", "swapped_names"];
    let none = |data: &Dataset, name: &str| {
        let found: Vec<Warning> = Warning::find(data, None);
        let found: Vec<&Warning> = found.iter().filter(|own| KINDS.contains(&own.kind())).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    };
    for world in TableWorld::ALL {
        for seed in 1..4 {
            let table = Table { world, ..Table::default() };
            none(&table.simulate(400, seed).unwrap().data, world.name());
        }
    }
    for world_seed in 3000..3060 {
        let scenario = Scenario::new(world_seed);
        let simulated = scenario.simulate(scenario.subjects(), 1).unwrap();
        none(&simulated.data, &format!("scenario {world_seed}"));
    }
}
