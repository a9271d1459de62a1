//! Converts the rows of a wide table, one per unit, into units.

use std::collections::HashMap;
use std::path::Path;

use super::cells::{Cells, MissingWords};
use super::columns::{NumberColumn, scalar_cells};
use super::ids::Ids;
use super::labels::Labels;
use super::layout::{Block, Feature, Layout, TableForm};
use super::problem::Problem;
use super::read_summary::{DropReason, ReadSummary};
use super::role::ColumnRole;
use super::source::{Chunk, Source};
use super::unit_batch::{UnitBatch, units_with_gaps};
use crate::data::Dataset;
use crate::error::Result;

/// Converts rows into units.
pub(crate) struct WideConverter<'a> {
    pub path: &'a Path,
    pub layout: &'a Layout,
    pub missing_words: &'a MissingWords,
    /// Whether units may have missing covariates.
    pub allow_missing_x: bool,
}

/// One array per row, NaN where missing.
struct RowValues {
    /// Elements per row.
    width: usize,
    values: Vec<f32>,
}

/// Why each row has to be dropped, if it has to.
type DropReasons = Vec<Option<DropReason>>;

impl WideConverter<'_> {
    /// The units of the next rows of `source`, at most `rows` rows; `None` at the end.
    pub(super) fn next(
        &self,
        source: &mut Source,
        rows: usize,
        summary: &mut ReadSummary,
    ) -> Result<Option<UnitBatch>> {
        while let Some(chunk) = source.next(rows)? {
            summary.rows += chunk.rows();
            if let Some(batch) = self.convert(&chunk, summary)? {
                summary.units += batch.data.len();
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn convert(&self, chunk: &Chunk, summary: &mut ReadSummary) -> Result<Option<UnitBatch>> {
        let TableForm::Wide { x, y } = &self.layout.form else { return Ok(None) };
        let mut reasons = vec![None; chunk.rows()];
        let in_file = |problem: Problem| problem.at(self.path);
        let ids = self.ids(chunk, &mut reasons).map_err(in_file)?;
        let subjects = self.subjects(chunk, &mut reasons).map_err(in_file)?;
        let t: Vec<Feature> =
            self.layout.t.iter().map(|name| Feature { name: name.clone(), categories: None }).collect();
        let t = self.features(chunk, &t, ColumnRole::Treatment, &mut reasons).map_err(in_file)?;
        let x = self.block(chunk, x, ColumnRole::Covariate, &mut reasons).map_err(in_file)?;
        let y = self.block(chunk, y, ColumnRole::Outcome, &mut reasons).map_err(in_file)?;
        for (i, reason) in reasons.iter_mut().enumerate().filter(|(_, reason)| reason.is_none()) {
            *reason = self.find_missing(t.row(i), x.row(i), y.row(i));
        }
        let mut kept = Vec::new();
        for (i, reason) in reasons.into_iter().enumerate() {
            match reason {
                None => kept.push(i),
                Some(reason) => summary.count_dropped(reason, || chunk.place(i).to_string()),
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let shapes = self.layout.shapes();
        let data = Dataset::new(
            units_with_gaps("x", shapes.x, x.pick(&kept))?,
            units_with_gaps("t", vec![t.width], t.pick(&kept))?,
            units_with_gaps("y", shapes.y, y.pick(&kept))?,
        )?;
        let subjects = subjects.map(|subjects| subjects.pick(&kept));
        UnitBatch::new(data, ids.pick(&kept), None, subjects).map(Some)
    }

    /// Why a unit with these values has to be dropped; NaN stands for a missing value.
    fn find_missing(&self, t: &[f32], x: &[f32], y: &[f32]) -> Option<DropReason> {
        let is_missing = |value: &f32| value.is_nan();
        if t.iter().any(is_missing) {
            Some(DropReason::MissingTreatment)
        } else if y.iter().all(is_missing) {
            Some(DropReason::MissingOutcome)
        } else if !self.allow_missing_x && x.iter().any(is_missing) {
            Some(DropReason::MissingCovariate)
        } else {
            None
        }
    }

    fn ids(&self, chunk: &Chunk, reasons: &mut DropReasons) -> Result<Ids, Problem> {
        let Some(name) = &self.layout.id else {
            return Ok(Ids::Rows((chunk.first..chunk.first + chunk.rows()).collect()));
        };
        let missing = |i: usize| reasons[i] = Some(DropReason::MissingId { column: name.clone() });
        Ok(Labels::new(chunk, name)?.ids(chunk.rows(), missing))
    }

    fn subjects(&self, chunk: &Chunk, reasons: &mut DropReasons) -> Result<Option<Ids>, Problem> {
        let Some(name) = &self.layout.group else { return Ok(None) };
        let missing = |i: usize| reasons[i] = Some(DropReason::MissingSubject { column: name.clone() });
        Ok(Some(Labels::new(chunk, name)?.ids(chunk.rows(), missing)))
    }

    fn block(
        &self,
        chunk: &Chunk,
        block: &Block,
        role: ColumnRole,
        reasons: &mut DropReasons,
    ) -> Result<RowValues, Problem> {
        match block {
            Block::Features(features) => self.features(chunk, features, role, reasons),
            Block::Lists { columns, column_shape, .. } => lists(chunk, columns, column_shape, reasons),
        }
    }

    fn features(
        &self,
        chunk: &Chunk,
        features: &[Feature],
        role: ColumnRole,
        reasons: &mut DropReasons,
    ) -> Result<RowValues, Problem> {
        let mut out = RowValues::new(features.iter().map(Feature::elements).sum(), chunk.rows());
        let mut start = 0;
        for feature in features {
            let cells = scalar_cells(chunk, &feature.name)?;
            match &feature.categories {
                None => {
                    let missing_words = self.missing_words;
                    let column = NumberColumn { cells: &cells, name: &feature.name, role, missing_words };
                    for i in 0..chunk.rows() {
                        out.row_mut(i)[start] = column.number(i, || chunk.place(i))?;
                    }
                }
                Some(categories) => {
                    self.encode_categories(&cells, &feature.name, categories, start, &mut out, reasons);
                }
            }
            start += feature.elements();
        }
        Ok(out)
    }

    /// Encodes each cell as one 0/1 element per category, from element `start` on.
    fn encode_categories(
        &self,
        cells: &Cells<'_>,
        column: &str,
        categories: &[String],
        start: usize,
        out: &mut RowValues,
        reasons: &mut DropReasons,
    ) {
        let index: HashMap<&str, usize> =
            categories.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect();
        for (i, reason) in reasons.iter_mut().enumerate() {
            let Some(category) = cells.label(i, self.missing_words) else { continue };
            match index.get(category.as_str()) {
                Some(&k) => {
                    let elements = &mut out.row_mut(i)[start..start + categories.len()];
                    elements.fill(0.0);
                    elements[k] = 1.0;
                }
                None => *reason = Some(DropReason::UnknownCategory { column: column.to_owned(), category }),
            }
        }
    }
}

/// The lists of `columns`, each padded to `shape`, one after the other.
fn lists(
    chunk: &Chunk,
    columns: &[String],
    shape: &[usize],
    reasons: &mut DropReasons,
) -> Result<RowValues, Problem> {
    let size: usize = shape.iter().product();
    let mut out = RowValues::new(size * columns.len(), chunk.rows());
    for (c, name) in columns.iter().enumerate() {
        let Cells::Lists(lists) = chunk.cells(name) else {
            let hint = "give lists of numbers, as in the training data, in a Parquet or Arrow file";
            return Err(Problem::new(format!("column `{name}` does not hold lists"), hint));
        };
        for (i, reason) in reasons.iter_mut().enumerate() {
            let Some((list_shape, values)) = lists.row(i) else { continue };
            if values.iter().any(|value| value.is_infinite()) {
                let place = chunk.place(i);
                let problem = format!("{place}, column `{name}`: the list contains an infinite number");
                return Err(Problem::new(problem, "give finite numbers"));
            }
            match lists.padded(i, shape) {
                Some(padded) => {
                    let elements = &mut out.row_mut(i)[c * size..(c + 1) * size];
                    elements.iter_mut().zip(padded).for_each(|(element, value)| *element = value as f32);
                }
                None => {
                    let (column, shape, limit) = (name.clone(), list_shape.to_vec(), shape.to_vec());
                    *reason = Some(DropReason::ListTooLarge { column, shape, limit });
                }
            }
        }
    }
    Ok(out)
}

impl RowValues {
    fn new(width: usize, rows: usize) -> Self {
        Self { width, values: vec![f32::NAN; width * rows] }
    }

    fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.width..(i + 1) * self.width]
    }

    fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.values[i * self.width..(i + 1) * self.width]
    }

    /// The values of the rows at `rows`.
    fn pick(self, rows: &[usize]) -> Vec<f32> {
        if rows.len() * self.width == self.values.len() {
            return self.values;
        }
        rows.iter().flat_map(|&i| self.row(i)).copied().collect()
    }
}
