//! The same units give the same answers, wherever they are read from.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::UnitsInput;
use crate::config::{Base, Classes, FitConfig};
use crate::data::table::{OutputBatch, OutputColumn, RecordBatches, Table, TableSpec, write_table};
use crate::data::{Dataset, Units};
use crate::error::Error;
use crate::fit::Fit;
use crate::model::Model;
use crate::runtime::Resources;

fn table(rows: usize) -> OutputBatch {
    let value = |i: usize, k: usize| ((i * 37 + k * 11) % 29) as f32 / 7.0;
    let mut batch = OutputBatch::default();
    for (k, name) in ["age", "dose", "y"].into_iter().enumerate() {
        batch.push(name, OutputColumn::Numbers((0..rows).map(|i| value(i, k)).collect()));
    }
    batch
}

fn in_memory(batch: &OutputBatch) -> RecordBatches {
    let batch = batch.to_record_batch().unwrap();
    RecordBatches::new("table", batch.schema(), vec![batch])
}

fn spec() -> TableSpec {
    let names = |name: &str| vec![name.to_owned()];
    TableSpec { x: names("age"), t: names("dose"), y: names("y"), ..TableSpec::default() }
}

fn config() -> FitConfig {
    FitConfig { classes: Classes::Given(1), base: Base::Linear, members: Some(2), ..FitConfig::default() }
}

fn answers(model: &Model, input: impl Into<UnitsInput>) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let keep = |batch| {
        batches.push(batch);
        Ok(())
    };
    model.ask_units(input).under(2.0).for_each(keep).unwrap();
    batches
}

#[test]
fn memory_files_and_a_model_from_bytes_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write_table(&path, std::iter::once(Ok(table(60)))).unwrap();
    let units = Table::read(&path, &spec()).unwrap();
    let model = Fit::new(config()).run(&units).unwrap();
    let expected = answers(&model, &path);
    assert_eq!(answers(&model, in_memory(&table(60))), expected);
    let bytes = model.to_bytes().unwrap();
    let saved = folder.path().join("m.cfqp");
    model.save(&saved).unwrap();
    assert_eq!(std::fs::read(&saved).unwrap(), bytes);
    let again = Model::from_bytes(&bytes, &Resources::default()).unwrap();
    assert_eq!(answers(&again, &path), expected);
    let damaged = Model::from_bytes(&bytes[..bytes.len() - 1], &Resources::default()).unwrap_err();
    assert!(matches!(damaged, Error::File { .. }), "{damaged}");
}

#[test]
fn effects_are_between_treatments_per_unit_or_columns() {
    let mut batch = table(60);
    let treatments = |shift: f32| (0..60).map(|i| shift + i as f32 / 30.0).collect::<Vec<f32>>();
    batch.push("low", OutputColumn::Numbers(treatments(0.0)));
    batch.push("high", OutputColumn::Numbers(treatments(1.0)));
    let units = Table::read(in_memory(&batch), &spec()).unwrap();
    let model = Fit::new(config()).run(&units).unwrap();
    let [low, high] = [0.0, 1.0].map(|shift| Units::new("t", vec![1], treatments(shift)).unwrap());
    let effects = |question: super::UnitsQuestion<'_>| {
        let mut points = Vec::new();
        question.inspect(|_, answers| points.extend_from_slice(answers.point.values())).run().map(|_| points)
    };
    let expected = model.ask(&units).effect(&low, &high).answers().unwrap();
    assert_eq!(
        effects(model.ask_units(in_memory(&batch)).effect_columns("low", "high")).unwrap(),
        expected.point.values()
    );
    let arrays = Arc::new(units.data.clone());
    let found = effects(model.ask_units(arrays.clone()).effect(&low, &high)).unwrap();
    assert_eq!(found, expected.point.values());
    let from_one = effects(model.ask_units(arrays.clone()).effect(0.5, &high)).unwrap();
    assert_eq!(from_one, model.ask(&units).effect(0.5, &high).answers().unwrap().point.values());
    let short = Units::new("t", vec![1], vec![0.0; 7]).unwrap();
    let error = effects(model.ask_units(arrays).effect(&short, &high)).unwrap_err();
    assert_eq!(error.to_string(), "treatment: 7 values beside 60");
}

#[test]
fn arrays_take_a_treatment_per_unit_and_tables_a_column() {
    let units = Table::read(in_memory(&table(60)), &spec()).unwrap();
    let arrays: Arc<Dataset> = Arc::new(units.data.clone());
    let model = Fit::new(config()).run(&*arrays).unwrap();
    let t = Units::new("t", vec![1], (0..60).map(|i| i as f32 / 20.0).collect()).unwrap();
    let mut points = Vec::new();
    let question = model.ask_units(arrays.clone()).under(&t);
    question.inspect(|_, answers| points.extend_from_slice(answers.point.values())).run().unwrap();
    assert_eq!(points, model.ask(&*arrays).under(&t).answers().unwrap().point.values());
    let short = Units::new("t", vec![1], vec![0.0; 7]).unwrap();
    let error = model.ask_units(arrays).under(&short).run().unwrap_err();
    assert_eq!(error.to_string(), "treatment: 7 treatments for 60 units");
    let model = Fit::new(config()).run(&units).unwrap();
    let error = model.ask_units(in_memory(&table(60))).under(&t).run().unwrap_err();
    assert!(error.to_string().contains("own column"), "{error}");
}

#[test]
fn no_units_are_an_error_or_a_table_without_rows() {
    let model = Fit::new(config()).run(&Table::read(in_memory(&table(60)), &spec()).unwrap()).unwrap();
    let full = answers(&model, in_memory(&table(60)))[0].schema();
    let empty = || in_memory(&table(0));
    assert!(model.ask_units(empty()).under(1.0).run().is_err());
    let grid = Units::new("t", vec![1], vec![0.0, 1.0]).unwrap();
    let mut schemas = Vec::new();
    for question in [model.ask_units(empty()).under(1.0), model.ask_units(empty()).curve(&grid)] {
        let mut rows = 0;
        let keep = |batch: RecordBatch| {
            rows += batch.num_rows();
            schemas.push(batch.schema());
            Ok(())
        };
        let summary = question.allow_empty(true).for_each(keep).unwrap();
        assert_eq!((summary.units, rows), (0, 0));
    }
    assert_eq!(schemas, [full.clone(), full]);
}
