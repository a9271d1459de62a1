//! Units that can be read several times.

use std::path::Path;
use std::sync::Arc;

use cfqp::ask::UnitsInput;
use cfqp::data::table::{RecordBatches, TableInput};
use cfqp::{Dataset, Error, Model, Result, Units};
use pyo3::prelude::*;

use crate::arrow::{import_numbers, import_stream};
use crate::error::{Reading, exception};

/// A table in memory or in files, or arrays.
#[pyclass(frozen, module = "cfqp._cfqp")]
pub(crate) struct Source(Kind);

enum Kind {
    Input(UnitsInput),
    Arrays(Box<Arrays>),
}

/// Arrays in memory; units without an outcome may have no treatment.
struct Arrays {
    x: Units,
    t: Option<Units>,
    y: Option<Units>,
    groups: Option<Vec<u32>>,
}

/// What a model can be fitted to.
pub(crate) enum Training {
    Table(TableInput),
    Arrays(Arc<Dataset>),
}

#[pymethods]
impl Source {
    #[staticmethod]
    #[pyo3(signature = (stream, name = "table"))]
    fn from_table(stream: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let (schema, batches) = import_stream(stream)?;
        Ok(Self(Kind::Input(RecordBatches::new(name, schema, batches).into())))
    }

    #[staticmethod]
    fn from_path(path: &str) -> Self {
        Self(Kind::Input(Path::new(path).into()))
    }

    #[staticmethod]
    #[pyo3(signature = (x, x_shape, t, t_shape, y, y_shape, groups = None))]
    #[allow(clippy::too_many_arguments, reason = "an array is its values and its shape")]
    fn from_arrays(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        x_shape: Vec<usize>,
        t: Option<&Bound<'_, PyAny>>,
        t_shape: Option<Vec<usize>>,
        y: Option<&Bound<'_, PyAny>>,
        y_shape: Option<Vec<usize>>,
        groups: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let units = |name: &str, array: Option<&Bound<'_, PyAny>>, shape: Option<Vec<usize>>| {
            let (Some(array), Some(shape)) = (array, shape) else { return Ok(None) };
            let values = import_numbers(array)?;
            let units = py.detach(|| Units::from_f64(name, unit_shape(&shape), &values));
            units.map(Some).map_err(|error| exception(py, &error, Reading::Data))
        };
        let x = units("x", Some(x), Some(x_shape))?.expect("x is given");
        let arrays = Arrays { x, t: units("t", t, t_shape)?, y: units("y", y, y_shape)?, groups };
        Ok(Self(Kind::Arrays(Box::new(arrays))))
    }

    #[getter]
    fn name(&self) -> String {
        match &self.0 {
            Kind::Input(input) => input.name().display().to_string(),
            Kind::Arrays(_) => "arrays".to_owned(),
        }
    }
}

impl Source {
    /// The units for questions to `model`.
    pub(crate) fn units(&self, model: &Model) -> Result<UnitsInput> {
        match &self.0 {
            Kind::Input(input) => Ok(input.clone()),
            Kind::Arrays(arrays) => arrays.for_questions(model).map(|data| Arc::new(data).into()),
        }
    }

    /// The path of arrays in a file.
    pub(crate) fn npz(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Input(UnitsInput::Npz(path)) => Some(path),
            _ => None,
        }
    }

    /// The table.
    pub(crate) fn table(&self) -> Result<TableInput> {
        match &self.0 {
            Kind::Input(UnitsInput::Table(table)) => Ok(table.clone()),
            _ => Err(Error::data(
                self.name(),
                "these are arrays, not a table",
                "give a table with named columns",
            )),
        }
    }

    /// The units of a fit.
    pub(crate) fn training(&self) -> Result<Training> {
        match &self.0 {
            Kind::Input(UnitsInput::Table(table)) => Ok(Training::Table(table.clone())),
            Kind::Input(UnitsInput::Npz(path)) => Ok(Training::Arrays(Arc::new(Dataset::read_npz(path)?))),
            Kind::Input(UnitsInput::Arrays(data)) => Ok(Training::Arrays(data.clone())),
            Kind::Arrays(arrays) => arrays.for_training().map(|data| Training::Arrays(Arc::new(data))),
        }
    }
}

impl Arrays {
    fn for_training(&self) -> Result<Dataset> {
        let missing = |name: &str| Error::data(name, "the array is missing", "give x, t and y");
        let t = self.t.clone().ok_or_else(|| missing("t"))?;
        self.with(t, self.y.clone().ok_or_else(|| missing("y"))?)
    }

    /// Without an outcome, the units are answered by their covariates alone.
    fn for_questions(&self, model: &Model) -> Result<Dataset> {
        let shapes = model.shapes();
        let unknown = |name: &str, shape: Vec<usize>| {
            let values = vec![f64::NAN; self.x.len() * shape.iter().product::<usize>()];
            Units::from_f64(name, shape, &values)
        };
        let t = self.t.clone().map_or_else(|| unknown("t", vec![shapes.t]), Ok)?;
        self.with(t, self.y.clone().map_or_else(|| unknown("y", shapes.y.clone()), Ok)?)
    }

    fn with(&self, t: Units, y: Units) -> Result<Dataset> {
        let data = Dataset::new(self.x.clone(), t, y)?;
        match &self.groups {
            Some(groups) => data.with_groups(groups.clone()),
            None => Ok(data),
        }
    }
}

/// The shape of a unit in an array whose first axis counts the units.
pub(crate) fn unit_shape(shape: &[usize]) -> Vec<usize> {
    match shape {
        [] | [_] => vec![1],
        [_, rest @ ..] => rest.to_vec(),
    }
}
