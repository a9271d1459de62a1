//! A batch of units read from a table.

use super::ids::Ids;
use crate::data::{Dataset, Units};
use crate::error::Result;

/// The memory of a value of a unit, with its place in the mask.
pub(crate) const VALUE_BYTES: usize = size_of::<f32>() + 1;

/// A batch of units of a table, with their ids.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitBatch {
    /// The observations.
    pub data: Dataset,
    /// The ids.
    pub ids: Ids,
    /// The time of treatment of each unit, in a table with one row per sample.
    pub treated_at: Option<Vec<f64>>,
    /// The subject of each unit, as the table names it, in a table with subjects.
    pub subjects: Option<Ids>,
    /// The row of each unit, counted from 0; `None` for a table with one row per sample.
    pub rows: Option<Vec<usize>>,
}

/// Units without ids: they are named by their position.
impl From<Dataset> for UnitBatch {
    fn from(data: Dataset) -> Self {
        let rows: Vec<usize> = (0..data.len()).collect();
        Self { ids: Ids::Rows(rows.clone()), data, treated_at: None, subjects: None, rows: Some(rows) }
    }
}

impl UnitBatch {
    /// A batch of units whose subjects have these names, if there are any.
    pub(crate) fn new(
        data: Dataset,
        ids: Ids,
        treated_at: Option<Vec<f64>>,
        subjects: Option<Ids>,
    ) -> Result<Self> {
        let data = match &subjects {
            Some(subjects) => data.with_groups(subjects.indices())?,
            None => data,
        };
        Ok(Self { data, ids, treated_at, subjects, rows: None })
    }

    /// The same units, which stand in these rows of their table.
    pub(crate) fn with_rows(self, rows: Option<Vec<usize>>) -> Self {
        Self { rows, ..self }
    }

    /// The units of all `batches` of one table, one after the other: subjects with the same name are the same.
    ///
    /// # Errors
    /// If `batches` is empty or the shapes differ.
    pub fn concat(batches: Vec<Self>) -> Result<Self> {
        let data = Dataset::concat(&batches.iter().map(|batch| &batch.data).collect::<Vec<_>>())?;
        let treated_at = batches.iter().map(|batch| batch.treated_at.clone()).collect::<Option<Vec<_>>>();
        let rows = batches.iter().map(|batch| batch.rows.clone()).collect::<Option<Vec<_>>>();
        let (ids, subjects): (Vec<Ids>, Vec<Option<Ids>>) =
            batches.into_iter().map(|batch| (batch.ids, batch.subjects)).unzip();
        let ids = Ids::concat(ids).unwrap_or(Ids::Rows(Vec::new()));
        let subjects = subjects.into_iter().collect::<Option<Vec<_>>>().and_then(Ids::concat);
        let all = Self::new(data, ids, treated_at.map(|times| times.concat()), subjects)?;
        Ok(all.with_rows(rows.map(|rows| rows.concat())))
    }

    /// The units at `positions`.
    ///
    /// # Errors
    /// If `positions` is empty or one is out of range.
    pub fn pick(&self, positions: &[usize]) -> Result<Self> {
        let data = self.data.pick(positions)?;
        let treated_at = self.treated_at.as_ref().map(|times| positions.iter().map(|&i| times[i]).collect());
        let subjects = self.subjects.as_ref().map(|subjects| subjects.pick(positions));
        let rows = self.rows.as_ref().map(|rows| positions.iter().map(|&i| rows[i]).collect());
        Ok(Self { data, ids: self.ids.pick(positions), treated_at, subjects, rows })
    }
}

/// Units whose missing values are marked by NaN.
pub(crate) fn units_with_gaps(name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<Units> {
    let mask = values.iter().map(|value| !value.is_nan()).collect();
    Units::with_mask(name, shape, values, Some(mask))
}
