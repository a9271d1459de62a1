//! Questions about treatments with levels.

use std::fmt::Write as _;
use std::path::Path;

use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};

use crate::ask::{AskOptions, CurveSpec};
use crate::config::{Base, Classes, FitConfig};
use crate::data::Units;
use crate::data::table::{Table, TableSpec};
use crate::fit::Fit;
use crate::model::Model;
use crate::runtime::Resources;
use crate::stream;

/// Drugs whose effects are not in the order of their names.
const EFFECTS: [(&str, f64); 3] = [("A", 0.0), ("B", -0.7), ("C", 0.6)];

/// A table of drugs, doses and outcomes with noise of scale 1. `drug` chooses by covariate and a random number.
fn table(folder: &Path, rows: usize, t: &str, drug: impl Fn(f64, usize) -> usize) -> Table {
    let mut rng = stream(11, &["drugs"]);
    let normal = |rng: &mut crate::Rng| -> f64 { StandardNormal.sample(rng) };
    let mut text = "age,drug,dose,y\n".to_owned();
    for _ in 0..rows {
        let (age, noise) = (normal(&mut rng), normal(&mut rng));
        let (name, effect) = EFFECTS[drug(age, rng.random_range(0..3))];
        let dose: f64 = rng.random();
        writeln!(text, "{age:.4},{name},{dose:.4},{:.4}", 0.5 * age + effect + noise).unwrap();
    }
    let path = folder.join("drugs.csv");
    std::fs::write(&path, text).unwrap();
    let names = |list: &str| list.split(',').map(str::to_owned).collect();
    let spec = TableSpec { x: names("age"), t: names(t), y: names("y"), ..TableSpec::default() };
    Table::read(&path, &spec).unwrap()
}

fn fit(table: &Table) -> Model {
    let (classes, base) = (Classes::Given(1), Base::Linear);
    let config = FitConfig { classes, base, members: Some(2), ..FitConfig::default() };
    Fit::new(config).run(table).unwrap()
}

fn mean(units: &Units) -> f64 {
    units.values().iter().map(|value| f64::from(*value)).sum::<f64>() / units.len() as f64
}

#[test]
fn the_effect_of_one_drug_against_another_has_the_right_size_and_sign() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 600, "drug", |_, random| random);
    let model = Fit::new(FitConfig::default()).run(&table).unwrap();
    // two standard errors of a difference of two means of 200 units
    let error = 2.0 * (2.0_f64 / 200.0).sqrt();
    for (from, to, truth) in [("A", "C", 0.6), ("A", "B", -0.7), ("B", "C", 1.3)] {
        let effect = mean(&model.ask(&table).effect(from, to).answers().unwrap().point);
        assert!((effect - truth).abs() < error, "{to} against {from}: {effect}");
    }
    let [from, to] = ["A", "C"].map(|level| model.parse_treatment(level).unwrap());
    let plain = model.compare_plain(&table, &from, &to, AskOptions::default()).unwrap();
    assert_eq!((plain[0].estimates.len(), plain[0].disagrees), (3, false), "{plain:?}");
    assert!(plain[0].estimates.iter().all(|estimate| (estimate.effect - 0.6).abs() < 1.3 * error));
}

#[test]
fn levels_are_asked_about_by_name_also_after_loading() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 200, "drug", |_, random| random);
    let fitted = fit(&table);
    let path = folder.path().join("model.cfqp");
    fitted.save(&path).unwrap();
    let model = Model::load(&path, &Resources::default()).unwrap();
    assert_eq!(model.layout(), Some(&table.layout));
    let by_name = model.ask(&table).under("C").answers().unwrap();
    let by_elements = fitted.ask(&table).under([0.0, 1.0]).answers().unwrap();
    assert_eq!(by_name.point, by_elements.point);
    let grid = model.curve_grid(&CurveSpec::default()).unwrap();
    assert_eq!(grid.values(), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let curve = model.ask(&table).curve(&grid).answers().unwrap();
    assert_eq!((curve.len(), &curve[2].point), (3, &by_name.point));

    let error = model.ask(&table).under("D").answers().unwrap_err();
    assert!(error.to_string().contains("`D` is not a level of the treatment `drug`"), "{error}");
    assert!(error.hint().unwrap().contains("the levels are A, B, C"));
    let error = model.ask(&table).under([1.0, 1.0]).answers().unwrap_err();
    assert!(error.to_string().contains("is not a combination of levels"), "{error}");
    assert!(model.ask(&table).under([0.5, 0.0]).answers().is_err());
    assert!(model.ask(&table).under(1.0).answers().is_err());
}

#[test]
fn a_level_that_no_similar_unit_received_is_off_support() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 600, "drug", |age, random| if age < 0.0 { random % 2 } else { random });
    let model = fit(&table);
    let age = |i: usize| table.data.x().row(i)[0];
    let off_support = |level: &str, rows: &dyn Fn(f32) -> bool| {
        let answers = model.ask(&table).under(level).answers().unwrap();
        let rows: Vec<usize> = (0..table.data.len()).filter(|&i| rows(age(i))).collect();
        rows.iter().filter(|&&i| answers.diagnoses[i].off_support).count() as f64 / rows.len() as f64
    };
    assert!(off_support("C", &|age| age < -0.7) > 0.95);
    assert!(off_support("C", &|age| age > 0.7) < 0.05);
    assert!(off_support("A", &|_| true) < 0.05 && off_support("B", &|_| true) < 0.05);
}

#[test]
fn a_drug_and_a_dose_are_asked_about_together() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 600, "drug,dose", |_, random| random);
    let model = fit(&table);
    let named = model.ask(&table).under("dose=0.5,drug=C").answers().unwrap();
    assert_eq!(named.point, model.ask(&table).under("C,0.5").answers().unwrap().point);
    let supported = |text: &str| {
        let answers = model.ask(&table).under(text).answers().unwrap();
        answers.diagnoses.iter().filter(|diagnosis| !diagnosis.off_support).count() as f64 / 600.0
    };
    assert!(supported("C,0.5") > 0.9, "{}", supported("C,0.5"));
    assert!(supported("C,3") < 0.05);
    assert!(model.ask(&table).under("C").answers().unwrap_err().hint().unwrap().contains("drug=C,dose=1"));
    let effect = mean(&model.ask(&table).effect("A,0.5", "C,0.5").answers().unwrap().point);
    assert!((effect - 0.6).abs() < 0.2, "{effect}");
}

#[test]
fn a_curve_over_the_dose_holds_the_drug() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 200, "drug,dose", |_, random| random);
    let model = fit(&table);
    let amounts = [0.2, 0.8];
    let dose = CurveSpec { amounts: Some(&amounts), ..CurveSpec::default() };
    let under = |text: &str| model.ask(&table).under(text).answers().unwrap().point;
    let held = model.curve_grid(&CurveSpec { held: Some("drug=C"), ..dose }).unwrap();
    assert_eq!(held.values(), [0.0, 1.0, 0.2, 0.0, 1.0, 0.8]);
    let curve = model.ask(&table).curve(&held).answers().unwrap();
    assert_eq!([&curve[0].point, &curve[1].point], [&under("C,0.2"), &under("C,0.8")]);

    // without a value, every unit keeps its own drug
    let own = model.ask(&table).curve(&model.curve_grid(&dose).unwrap()).answers().unwrap();
    let by_drug = ["A,0.8", "B,0.8", "C,0.8"].map(under);
    for i in 0..table.data.len() {
        let drug = table.data.t().row(i)[..2].iter().position(|element| *element == 1.0).map_or(0, |k| k + 1);
        assert_eq!(own[1].point.row(i), by_drug[drug].row(i));
    }
    // without amounts, the curve goes through the drugs
    let drugs = model.curve_grid(&CurveSpec { held: Some("dose=0.5"), ..CurveSpec::default() }).unwrap();
    assert_eq!(drugs.values(), [0.0, 0.0, 0.5, 1.0, 0.0, 0.5, 0.0, 1.0, 0.5]);
    for wrong in ["drug=D", "dose=1", "colour=B", "B"] {
        assert!(model.curve_grid(&CurveSpec { held: Some(wrong), ..dose }).is_err(), "{wrong}");
    }
    assert!(model.curve_grid(&CurveSpec { over: Some("drug"), ..dose }).is_err(), "levels have no amounts");

    let (x, t) = (table.data.x().clone(), Units::all_missing(vec![3], table.data.len()));
    let new = crate::Dataset::new(x, t, Units::all_missing(vec![1], table.data.len())).unwrap();
    let error = model.ask(&new).curve(&model.curve_grid(&dose).unwrap()).answers().unwrap_err();
    assert!(error.to_string().contains("unit 0: its treatment is unknown"), "{error}");
    assert!(model.ask(&new).curve(&held).answers().is_ok());
}
