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
}

/// Units without ids: they are named by their position.
impl From<Dataset> for UnitBatch {
    fn from(data: Dataset) -> Self {
        Self { ids: Ids::Rows((0..data.len()).collect()), data, treated_at: None, subjects: None }
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
        Ok(Self { data, ids, treated_at, subjects })
    }

    /// The units of all `batches` of one table, one after the other: subjects with the same name are the same.
    ///
    /// # Errors
    /// If `batches` is empty or the shapes differ.
    pub fn concat(batches: Vec<Self>) -> Result<Self> {
        let data = Dataset::concat(&batches.iter().map(|batch| &batch.data).collect::<Vec<_>>())?;
        let treated_at = batches.iter().map(|batch| batch.treated_at.clone()).collect::<Option<Vec<_>>>();
        let (ids, subjects): (Vec<Ids>, Vec<Option<Ids>>) =
            batches.into_iter().map(|batch| (batch.ids, batch.subjects)).unzip();
        let ids = Ids::concat(ids).unwrap_or(Ids::Rows(Vec::new()));
        let subjects = subjects.into_iter().collect::<Option<Vec<_>>>().and_then(Ids::concat);
        Self::new(data, ids, treated_at.map(|times| times.concat()), subjects)
    }

    /// The units at `positions`.
    ///
    /// # Errors
    /// If `positions` is empty or one is out of range.
    pub fn pick(&self, positions: &[usize]) -> Result<Self> {
        let data = self.data.pick(positions)?;
        let treated_at = self.treated_at.as_ref().map(|times| positions.iter().map(|&i| times[i]).collect());
        let subjects = self.subjects.as_ref().map(|subjects| subjects.pick(positions));
        Ok(Self { data, ids: self.ids.pick(positions), treated_at, subjects })
    }
}

/// Units whose missing values are marked by NaN.
pub(crate) fn units_with_gaps(name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<Units> {
    let mask = values.iter().map(|value| !value.is_nan()).collect();
    Units::with_mask(name, shape, values, Some(mask))
}
