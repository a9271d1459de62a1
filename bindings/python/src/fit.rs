//! Fits.

use std::path::PathBuf;

use cfqp::data::table::{TableSpec, TableSummary};
use cfqp::{Error, Fit, FitConfig, Resources, Result, Table};
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
pub(crate) struct FitResources {
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    memory: Option<u64>,
}

impl FitResources {
    pub(crate) fn resolve(self) -> Resources {
        let Self { threads, checkpoint, resume, memory } = self;
        Resources { checkpoint, resume, memory, ..resources(threads) }
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
            (Training::Table(table), None) => {
                let table = fit.read_table(table, &spec)?;
                check_problems(table.summary())?;
                Ok(Model { model: fit.run_units(&table)?, read: Some(table.summary().clone()) })
            }
            (Training::Table(table), Some(Training::Table(other))) => {
                let table = Table::read(table, &spec)?;
                check_problems(&table.summary)?;
                let validation = table.layout.read(other, true)?.batch.data;
                Ok(Model { model: fit.validate_on(&validation).run(&table)?, read: Some(table.summary) })
            }
            (Training::Table(_), Some(Training::Arrays(_))) => Err(mixed()),
            (Training::Arrays(_), Some(Training::Table(_))) => Err(mixed()),
            (Training::Arrays(data), Some(Training::Arrays(other))) => {
                Ok(Model { model: fit.validate_on(&*other).run(&*data)?, read: None })
            }
            (Training::Arrays(data), None) => Ok(Model { model: fit.run(&*data)?, read: None }),
        }
    })
}

/// Refuses a table to which no model can be fitted.
pub(crate) fn check_problems(summary: &TableSummary) -> Result<()> {
    match summary.problems.first() {
        None => Ok(()),
        Some(problem) => Err(Error::data("table", problem, "fix the table, or choose other columns")),
    }
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
        Training::Arrays(data) => Ok(TableSummary::from_arrays(&data)),
    })?;
    json::to_text(&summary)
}
