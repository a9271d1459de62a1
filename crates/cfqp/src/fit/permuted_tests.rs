//! The same units in another order give the same model, bit for bit.

use crate::data::{Dataset, Units};
use crate::sim::{Oscillator, Table, TableWorld};
use crate::{Base, Classes, Fit, FitConfig, Recipe};

fn config(classes: usize, base: Base) -> FitConfig {
    FitConfig { classes: Classes::Given(classes), base, members: Some(2), ..FitConfig::default() }
}

/// The units in another order: a stride that has no factor in common with their number.
fn permuted(data: &Dataset) -> Dataset {
    let n = data.len();
    let has_common_factor =
        |stride: usize| (2..=stride).any(|d| n.is_multiple_of(d) && stride.is_multiple_of(d));
    let stride = (n / 3..).find(|stride| !has_common_factor(*stride)).unwrap();
    data.pick(&(0..n).map(|i| (7 + i * stride) % n).collect::<Vec<_>>()).unwrap()
}

/// The bytes of the model's file.
fn file(fit: &Fit<'_>, data: &Dataset) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.cfqp");
    let model = fit.run(data).unwrap();
    assert!(model.is_fitted_to(&permuted(data)) || model.fit_report().units.validation > 0);
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn assert_same(config: FitConfig, data: &Dataset) {
    let other = permuted(data);
    assert_ne!(&other, data);
    let fit = Fit::new(config);
    assert!(file(&fit, data) == file(&fit, &other));
}

#[test]
fn rows_of_a_table_may_be_in_any_order() {
    let table = Table { repeats: 2, ..Table { world: TableWorld::Crossing, ..Table::default() } };
    let data = table.simulate(60, 1).unwrap().data;
    assert!(data.groups().is_some());
    assert_same(config(2, Base::Linear), &data);
    // missing covariates, classes chosen
    let mask = (0..data.x().values().len()).map(|i| i % 17 != 3).collect();
    let x = Units::with_mask("x", data.x().shape().to_vec(), data.x().values().to_vec(), Some(mask)).unwrap();
    let data = Dataset::new(x, data.t().clone(), data.y().clone()).unwrap();
    let chosen = FitConfig { classes: Classes::Auto, max_classes: 2, ..config(1, Base::Mlp) };
    assert_same(chosen, &data);
}

#[test]
fn series_may_be_in_any_order() {
    let data = Oscillator::default().simulate(120, 1).unwrap().data;
    assert_same(config(3, Base::Linear), &data);
    let short = FitConfig { epochs: Some(2), ..config(2, Base::Mlp) };
    assert_same(short.clone(), &data);
    assert_same(FitConfig { recipe: Recipe::Paper, ..short }, &data);
}

#[test]
fn validation_units_may_be_in_any_order() {
    let data = Oscillator::default().simulate(120, 1).unwrap().data;
    let [train, valid] = [0..80, 80..120].map(|rows| data.pick(&rows.collect::<Vec<_>>()).unwrap());
    let other = permuted(&valid);
    let fit = |valid| Fit::new(config(3, Base::Linear)).validate_on(valid);
    assert!(file(&fit(&valid), &train) == file(&fit(&other), &permuted(&train)));
}
