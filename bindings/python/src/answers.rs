//! Rows of answers.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use cfqp::ask::{AnswerCounts, UsedRho};
use cfqp::data::table::DroppedUnits;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde::Serialize;

use crate::arrow::{ArrowValues, export_stream};
use crate::json;

/// Answers, with the columns that the program writes.
#[pyclass(frozen, module = "cfqp._cfqp")]
pub(crate) struct Answers {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    /// The row of every unit in its table, if a unit is a row.
    pub rows: Option<Vec<i64>>,
    pub counts: AnswerCounts,
    pub rho: UsedRho,
}

/// What was read.
#[derive(Serialize)]
struct Summary<'a> {
    rows: usize,
    units: usize,
    dropped: &'a [DroppedUnits],
}

/// How many answers have flags.
#[derive(Serialize)]
struct Warnings<'a> {
    answers: usize,
    ok: usize,
    flags: BTreeMap<&'a str, usize>,
    rho: String,
}

#[pymethods]
impl Answers {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // answers have one schema; consumers that want another cast
        let _ = requested_schema;
        export_stream(py, self.schema.clone(), self.batches.clone())
    }

    #[getter]
    fn rows(&self) -> Option<ArrowValues> {
        self.rows.clone().map(ArrowValues::from)
    }

    #[getter]
    fn summary(&self) -> PyResult<String> {
        let AnswerCounts { rows, units, dropped, .. } = &self.counts;
        json::to_text(&Summary { rows: *rows, units: *units, dropped })
    }

    #[getter]
    fn warnings(&self) -> PyResult<String> {
        let flags = self.counts.flags().into_iter().map(|(flag, answers)| (flag.name(), answers)).collect();
        let AnswerCounts { answers, ok, .. } = self.counts;
        json::to_text(&Warnings { answers, ok, flags, rho: self.rho.to_string() })
    }
}
