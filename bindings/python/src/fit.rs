//! Fits.

use std::path::PathBuf;

use cfqp::data::table::TableSpec;
use cfqp::{Error, Fit, FitConfig, Resources, Table};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::error::Reading;
use crate::json;
use crate::model::{Model, resources};
use crate::source::{Source, Training};
use crate::work;

/// What a fit may use.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FitResources {
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
    resume: bool,
}

impl FitResources {
    fn resolve(self) -> Resources {
        let Self { threads, checkpoint, resume } = self;
        Resources { checkpoint, resume, ..resources(threads) }
    }
}

#[pyfunction]
#[pyo3(signature = (source, spec, config, resources = "{}", validation = None, progress = None))]
pub(crate) fn fit(
    py: Python<'_>,
    source: &Source,
    spec: &str,
    config: &str,
    resources: &str,
    validation: Option<&Source>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let spec: TableSpec = json::from_text(py, "columns", spec)?;
    let config: FitConfig = json::from_text(py, "parameters", config)?;
    let resources = json::from_text::<FitResources>(py, "resources", resources)?.resolve();
    work::run(py, progress, Reading::Data, |watch| {
        let fit = Fit::new(config).resources(resources).monitor(watch);
        match (source.training()?, validation.map(Source::training).transpose()?) {
            (Training::Table(table), validation) => {
                let table = Table::read(&table, &spec)?;
                let validation = match validation {
                    Some(Training::Table(other)) => Some(table.layout.read(&other, true)?.batch.data),
                    Some(Training::Arrays(_)) => return Err(mixed()),
                    None => None,
                };
                let fit = validation.iter().fold(fit, |fit, data| fit.validate_on(data));
                Ok(Model { model: fit.run(&table)?, read: Some(table.summary) })
            }
            (Training::Arrays(_), Some(Training::Table(_))) => Err(mixed()),
            (Training::Arrays(data), Some(Training::Arrays(other))) => {
                Ok(Model { model: fit.validate_on(&*other).run(&*data)?, read: None })
            }
            (Training::Arrays(data), None) => Ok(Model { model: fit.run(&*data)?, read: None }),
        }
    })
}

fn mixed() -> Error {
    let hint = "give both as tables, or both as arrays";
    Error::config("validation", "one of the data sets is a table, the other is not", hint)
}

#[pyfunction]
#[pyo3(signature = (source, spec, config, resources = "{}", progress = None))]
pub(crate) fn score_classes(
    py: Python<'_>,
    source: &Source,
    spec: &str,
    config: &str,
    resources: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let spec: TableSpec = json::from_text(py, "columns", spec)?;
    let config: FitConfig = json::from_text(py, "parameters", config)?;
    let resources = json::from_text::<FitResources>(py, "resources", resources)?.resolve();
    let scores = work::run(py, progress, Reading::Data, |watch| {
        let fit = Fit::new(config).resources(resources).monitor(watch);
        match source.training()? {
            Training::Table(table) => fit.score_classes(&Table::read(&table, &spec)?),
            Training::Arrays(data) => fit.score_classes(&*data),
        }
    })?;
    json::to_text(&scores)
}

#[pyfunction]
pub(crate) fn check(py: Python<'_>, source: &Source, spec: &str) -> PyResult<String> {
    let spec: TableSpec = json::from_text(py, "columns", spec)?;
    let summary = work::run(py, None, Reading::Data, |_| match source.training()? {
        Training::Table(table) => Ok(Table::read(&table, &spec)?.summary),
        Training::Arrays(_) => {
            let hint = "give a table: arrays are checked when a model is fitted to them";
            Err(Error::data("arrays", "arrays have no columns to check", hint))
        }
    })?;
    json::to_text(&summary)
}
