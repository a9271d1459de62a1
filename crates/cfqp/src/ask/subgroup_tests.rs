use std::fmt::Write as _;

use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::ask::{AskOptions, Contrast, ContrastSummary};
use crate::config::{Base, Classes, FitConfig};
use crate::{Fit, Table, TableSpec, stream};

/// A table in which the effect of t is 1 for the site A and 2 for B, whatever the column `noise`; C has five units. Neither column
/// is a covariate.
fn text(n: usize) -> String {
    let rng = &mut stream(3, &["subgroups"]);
    let mut text = String::from("id,age,site,noise,t,y\n");
    for i in 0..n {
        let (age, t): (f64, f64) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let (noise, other): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
        let site = match i {
            0..5 => "C",
            5..85 => "",
            _ => ["A", "B"][i % 2],
        };
        let slope = if site == "B" { 2.0 } else { 1.0 };
        writeln!(text, "{i},{age},{site},{other},{t},{}", age + slope * t + 0.2 * noise).unwrap();
    }
    text
}

fn effects(text: &str, by: &[&str]) -> ContrastSummary {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    let names = |name: &str| vec![name.to_owned()];
    let spec = TableSpec { x: names("age"), t: names("t"), y: names("y"), ..TableSpec::default() };
    let config = FitConfig { classes: Classes::Given(1), base: Base::Linear, ..FitConfig::default() };
    let model = Fit::new(config).run(&Table::read(&path, &spec).unwrap()).unwrap();
    let by: Vec<String> = by.iter().map(ToString::to_string).collect();
    let options = AskOptions::default();
    let subgroups = model.subgroups(&path, &by).unwrap();
    let mut contrast = Contrast::new(&model, &[-0.5], &[0.5], options).by(subgroups);
    let question = model.ask_units(&path).effect(-0.5, 0.5);
    question.inspect(|units, answers| contrast.add(units, answers).unwrap()).run().unwrap();
    contrast.finish().unwrap()
}

#[test]
fn effects_differ_between_the_groups_of_one_column_and_not_of_another() {
    let found = effects(&text(800), &["site", "noise"]);
    let [site, noise] = &found.subgroups[..] else { panic!("{found:?}") };
    let names: Vec<&str> = site.groups.iter().map(|own| &own.group[..]).collect();
    assert_eq!(names, ["A", "B", "C", "missing"]);
    let units: Vec<usize> = site.groups.iter().map(|own| own.units).collect();
    assert_eq!(units, [357, 358, 5, 80]);
    for (own, truth) in site.groups.iter().zip([Some(1.0), Some(2.0), None, Some(1.0)]) {
        assert_eq!(own.note.is_some(), truth.is_none(), "{own:?}");
        if let Some(truth) = truth {
            let gap = (own.effect.unwrap() - truth).abs();
            assert!(gap < 3.0 * own.standard_error.unwrap() && gap < 0.4, "{own:?}");
            assert_eq!(own.method, Some(AverageMethod::DoublyRobust));
        }
    }
    assert_eq!(site.groups[2].note, Some("too few units"));
    assert!(
        site.differs()
            && site.sentence.starts_with("the effect on y differs between the groups of `site` (p < 0.001")
    );
    let names: Vec<&str> = noise.groups.iter().map(|own| &own.group[..2]).collect();
    assert_eq!((names.len(), names[0], names[3]), (4, "up", "ab"), "quartiles");
    assert!(!noise.differs(), "{noise:?}");
    assert!(noise.sentence.ends_with("corrected for 2 tests)"), "{noise:?}");
    // the average over all units is that without subgroups
    let all = effects(&text(800), &[]);
    assert_eq!((all.subgroups.len(), &all.averages), (0, &found.averages));
}

#[test]
fn a_column_that_does_not_exist_and_arrays_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text(100)).unwrap();
    let names = |name: &str| vec![name.to_owned()];
    let spec = TableSpec { x: names("age"), t: names("t"), y: names("y"), ..TableSpec::default() };
    let config = FitConfig { classes: Classes::Given(1), base: Base::Linear, ..FitConfig::default() };
    let table = Table::read(&path, &spec).unwrap();
    let model = Fit::new(config).run(&table).unwrap();
    let error = model.subgroups(&path, &names("sites")).unwrap_err();
    assert!(error.to_string().ends_with("there is no column `sites` to divide units by"), "{error}");
    assert!(error.hint().unwrap().starts_with("did you mean 'site'? The columns are id, "));
    for own in ["t", "y"] {
        let error = model.subgroups(&path, &names(own)).unwrap_err();
        assert!(error.to_string().contains("is a treatment or an outcome of the model"), "{error}");
    }
    let arrays = std::sync::Arc::new(table.data);
    assert!(
        model.subgroups(arrays, &names("age")).unwrap_err().to_string().contains("arrays have no columns")
    );
}

#[test]
fn p_values_are_corrected_for_their_number() {
    let corrected = holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
    let expected = [Some(0.03), None, Some(0.06), Some(0.06)];
    for (corrected, expected) in corrected.iter().zip(expected) {
        assert_eq!(corrected.is_some(), expected.is_some());
        assert!(corrected.zip(expected).is_none_or(|(a, b)| (a - b).abs() < 1e-12));
    }
    assert_eq!(holm(&[Some(0.7), Some(0.9)]), [Some(1.0), Some(1.0)]);
}
