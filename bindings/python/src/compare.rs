//! Comparisons of methods where outcomes under a second treatment are known.

use std::path::PathBuf;

use cfqp::eval::{
    CompareMonitor, Comparison, ComparisonData, MethodRun, PairedUnits, Pairs, Reference, read_classes,
    read_truth, summarise,
};
use cfqp::rivals::Method;
use cfqp::{Dataset, Error, Result, Table};
use pyo3::prelude::*;

use crate::error::Reading;
use crate::fit::{FitResources, check_problems};
use crate::json;
use crate::source::{Source, Training};
use crate::work::{self, Watch};

impl CompareMonitor for Watch {}

#[pyfunction]
pub(crate) fn default_methods(on_pairs: bool, classes_known: bool) -> Vec<&'static str> {
    Method::defaults(on_pairs, classes_known).into_iter().map(Method::name).collect()
}

#[pyfunction]
#[pyo3(signature = (
    train, spec, comparison, test = None, truth = None, train_z = None, test_z = None, pairs = None, resources = "{}",
    folder = None, progress = None
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn compare(
    py: Python<'_>,
    train: &Source,
    spec: &str,
    comparison: &str,
    test: Option<&Source>,
    truth: Option<&Source>,
    train_z: Option<Vec<usize>>,
    test_z: Option<Vec<usize>>,
    pairs: Option<&Source>,
    resources: &str,
    folder: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let spec = json::from_text(py, "columns", spec)?;
    let comparison: Comparison = json::from_text(py, "parameters", comparison)?;
    let resources = json::from_text::<FitResources>(py, "resources", resources)?.resolve();
    let runs = work::run(py, progress, Reading::Data, |watch| {
        let run = |data: &ComparisonData<'_>| comparison.run(data, &resources, folder.as_deref(), watch);
        match (train.training()?, pairs, test) {
            (Training::Table(table), Some(pairs), _) => {
                let table = Table::read(table, &spec)?;
                check_problems(&table.summary)?;
                let units = PairedUnits { data: &table.data, ids: &table.ids, layout: Some(&table.layout) };
                let pairs = Pairs::read(pairs.table()?, units)?;
                run(&ComparisonData {
                    train: &table.data,
                    train_z: None,
                    test: &table.data,
                    truth: &pairs.truth,
                    pairs: Some(&pairs.rows),
                    effects: None,
                    examples: None,
                })
            }
            (Training::Arrays(data), None, Some(test)) => {
                let train_z = match (train_z, train.npz()) {
                    (None, Some(path)) => read_classes(path)?,
                    (known, _) => known,
                };
                let truth = match (truth, test.npz()) {
                    (Some(truth), _) => reference(truth, test_z)?,
                    (None, Some(path)) => read_truth(path)?,
                    (None, None) => return Err(no_truth()),
                };
                run(&ComparisonData {
                    train: &data,
                    train_z: train_z.as_deref(),
                    test: &*units(test)?,
                    truth: &truth,
                    pairs: None,
                    effects: None,
                    examples: None,
                })
            }
            (Training::Table(_), None, _) => Err(no_pairs()),
            (Training::Arrays(_), ..) => Err(no_truth()),
        }
    })?;
    json::to_text(&runs)
}

#[pyfunction]
pub(crate) fn summarise_runs(py: Python<'_>, runs: &str) -> PyResult<String> {
    let runs: Vec<MethodRun> = json::from_text(py, "runs", runs)?;
    json::to_text(&summarise(&runs))
}

/// The truth as units that received the new treatments and showed the outcomes under them.
fn reference(truth: &Source, z: Option<Vec<usize>>) -> Result<Reference> {
    let data = units(truth)?;
    Ok(Reference { t_new: data.t().clone(), y_new: data.y().clone(), z, y_bayes: None, p_bayes: None })
}

fn units(source: &Source) -> Result<std::sync::Arc<Dataset>> {
    match source.training()? {
        Training::Arrays(data) => Ok(data),
        Training::Table(_) => Err(no_truth()),
    }
}

fn no_truth() -> Error {
    let hint = "give arrays as `data` and `test`, with `truth`, or the .npz files of `cfqp simulate`; for a table give `pairs`";
    Error::config("test", "there are no units whose outcomes under another treatment are known", hint)
}

fn no_pairs() -> Error {
    let hint = "give a table with the columns id, t_new and y_new; with arrays, give `test` and `truth`";
    Error::config("pairs", "a table is compared on measurements under a second treatment", hint)
}
