//! Converts the rows of a wide table, one per unit, into units.

use std::ops::Range;
use std::path::Path;

use super::cells::{Cells, Reading};
use super::columns::{ScalarColumn, scalar_cells};
use super::ids::Ids;
use super::labels::Labels;
use super::layout::{Block, Feature, Layout, TableForm};
use super::levels::LevelIndex;
use super::problem::Problem;
use super::problems::Problems;
use super::read_summary::{DropReason, ReadSummary};
use super::rules::UnitRules;
use super::source::{Chunk, Source};
use super::treatment::TreatmentColumn;
use super::unit_batch::{UnitBatch, VALUE_BYTES, units_with_gaps};
use crate::data::{Dataset, OutcomeKind};
use crate::error::Result;
use crate::runtime::check_memory;

/// Converts rows into units.
pub(crate) struct WideConverter<'a> {
    pub path: &'a Path,
    pub layout: &'a Layout,
    pub reading: &'a Reading,
    pub rules: UnitRules,
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
            let batch = self.convert(&chunk, summary, &mut source.problems)?;
            if !source.problems.is_empty() {
                break;
            }
            if let Some(batch) = batch {
                summary.units += batch.data.len();
                return Ok(Some(batch));
            }
        }
        if source.problems.is_empty() {
            return Ok(None);
        }
        // the rest is read for its problems alone
        let mut ignored = ReadSummary::default();
        while let Some(chunk) = source.next(rows)? {
            self.convert(&chunk, &mut ignored, &mut source.problems)?;
        }
        Err(std::mem::take(&mut source.problems).error(self.path))
    }

    fn convert(
        &self,
        chunk: &Chunk,
        summary: &mut ReadSummary,
        problems: &mut Problems,
    ) -> Result<Option<UnitBatch>> {
        let TableForm::Wide { x, y } = &self.layout.form else { return Ok(None) };
        let values = chunk.rows().saturating_mul(self.layout.unit_elements());
        check_memory(self.path, "the units read at a time", values, VALUE_BYTES)?;
        let mut reasons = vec![None; chunk.rows()];
        let in_file = |problem: Problem| problem.at(self.path);
        let ids = self.ids(chunk, &mut reasons).map_err(in_file)?;
        let subjects = self.subjects(chunk, &mut reasons).map_err(in_file)?;
        let mut columns = ChunkColumns { chunk, reading: self.reading, reasons, problems };
        let t = columns.treatments(&self.layout.t);
        let x = columns.block(x);
        let y = columns.block(y);
        let mut reasons = columns.reasons;
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
        let data = match self.layout.outcome_kinds() {
            Some(kinds) => {
                let column = |j| self.layout.outcome_name(j);
                data.with_stored_kinds(kinds, column).map_err(|error| error.in_file(self.path))?
            }
            None => data,
        };
        let subjects = subjects.map(|subjects| subjects.pick(&kept));
        let rows = kept.iter().map(|i| chunk.first + i).collect();
        let batch = UnitBatch::new(data, ids.pick(&kept), None, subjects)?;
        Ok(Some(batch.with_rows(Some(rows))))
    }

    /// Why a unit with these values has to be dropped; NaN stands for a missing value.
    fn find_missing(&self, t: &[f32], x: &[f32], y: &[f32]) -> Option<DropReason> {
        let is_missing = |value: &f32| value.is_nan();
        let of_column = |(_, elements): (&TreatmentColumn, &[f32])| elements.iter().any(is_missing);
        let missing_t: Vec<bool> = self.layout.split_treatment(t).map(of_column).collect();
        let has_outcome = !y.iter().all(is_missing);
        if !self.rules.accept_treatment(&missing_t, has_outcome) {
            Some(DropReason::MissingTreatment)
        } else if !has_outcome && !self.rules.missing_outcome {
            Some(DropReason::MissingOutcome)
        } else if !self.rules.missing_x && x.iter().any(is_missing) {
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
}

/// The columns of some rows.
struct ChunkColumns<'a> {
    chunk: &'a Chunk,
    reading: &'a Reading,
    reasons: DropReasons,
    problems: &'a mut Problems,
}

impl ChunkColumns<'_> {
    fn block(&mut self, block: &Block) -> RowValues {
        match block {
            Block::Features(features) => self.features(features),
            Block::Lists { columns, column_shape, .. } => self.lists(columns, column_shape),
        }
    }

    fn treatments(&mut self, treatments: &[TreatmentColumn]) -> RowValues {
        let width = treatments.iter().map(TreatmentColumn::elements).sum();
        let mut out = RowValues::new(width, self.chunk.rows());
        let mut start = 0;
        for treatment in treatments {
            match scalar_cells(self.chunk, &treatment.name) {
                Ok(cells) => self.treatment(treatment, cells, start, &mut out),
                Err(problem) => self.problems.add(problem),
            }
            start += treatment.elements();
        }
        out
    }

    /// Writes the elements of a treatment, from element `start` on.
    fn treatment(
        &mut self,
        treatment: &TreatmentColumn,
        cells: Cells<'_>,
        start: usize,
        out: &mut RowValues,
    ) {
        let Some(levels) = &treatment.levels else {
            let amounts = Feature { origin: treatment.origin, ..Feature::number(&treatment.name) };
            return self.feature(&amounts, cells, start, out);
        };
        let column = ScalarColumn { cells, name: &treatment.name, reading: self.reading, origin: 0.0 };
        let elements = start..start + treatment.elements();
        self.encode_levels(&column, levels, elements, out, |k, elements| treatment.write_level(k, elements));
    }

    fn features(&mut self, features: &[Feature]) -> RowValues {
        let chunk = self.chunk;
        if features.is_empty() {
            return RowValues { width: 1, values: vec![0.0; chunk.rows()] };
        }
        let mut out = RowValues::new(features.iter().map(Feature::elements).sum(), chunk.rows());
        let mut start = 0;
        for feature in features {
            match scalar_cells(chunk, &feature.name) {
                Ok(cells) => self.feature(feature, cells, start, &mut out),
                Err(problem) => self.problems.add(problem),
            }
            start += feature.elements();
        }
        out
    }

    /// Writes the elements of a column, from element `start` on.
    fn feature(&mut self, feature: &Feature, cells: Cells<'_>, start: usize, out: &mut RowValues) {
        let chunk = self.chunk;
        let origin = feature.origin.unwrap_or(0.0);
        let column = ScalarColumn { cells, name: &feature.name, reading: self.reading, origin };
        match (&feature.categories, &feature.date) {
            (Some(levels), _) if feature.outcome == Some(OutcomeKind::YesNo) => {
                // no is 0, yes is 1
                self.encode_levels(&column, levels, start..start + 1, out, |k, element| {
                    element[0] = k as f32;
                });
            }
            (Some(levels), _) => {
                let one_hot = |k: usize, elements: &mut [f32]| {
                    elements.fill(0.0);
                    elements[k] = 1.0;
                };
                self.encode_levels(&column, levels, start..start + levels.len(), out, one_hot);
            }
            (None, Some(encoding)) => {
                for i in 0..chunk.rows() {
                    if let Some(date) = column.date(i, encoding, || chunk.place(i), self.problems) {
                        encoding.write(date, &mut out.row_mut(i)[start..start + encoding.elements()]);
                    }
                }
            }
            (None, None) => {
                for i in 0..chunk.rows() {
                    out.row_mut(i)[start] = column.number(i, || chunk.place(i), self.problems);
                }
            }
        }
    }

    /// Lets `write` set the `elements` of each row by the place of its cell among `levels`; drops rows with another level.
    fn encode_levels(
        &mut self,
        column: &ScalarColumn<'_>,
        levels: &[String],
        elements: Range<usize>,
        out: &mut RowValues,
        write: impl Fn(usize, &mut [f32]),
    ) {
        let index = LevelIndex::new(levels);
        for (i, reason) in self.reasons.iter_mut().enumerate() {
            let Some(level) = column.cells.label(i, self.reading) else { continue };
            match index.find(&level) {
                Some(k) => write(k, &mut out.row_mut(i)[elements.clone()]),
                None => {
                    let column = column.name.to_owned();
                    *reason = Some(DropReason::UnknownCategory { column, category: level });
                }
            }
        }
    }

    /// The lists of `columns`, each padded to `shape`, one after the other.
    fn lists(&mut self, columns: &[String], shape: &[usize]) -> RowValues {
        let size: usize = shape.iter().product();
        let mut out = RowValues::new(size * columns.len(), self.chunk.rows());
        for (c, name) in columns.iter().enumerate().filter(|(_, name)| !self.chunk.is_absent(name)) {
            let Cells::Lists(lists) = self.chunk.cells(name) else {
                let hint = "give lists of numbers, as in the training data, in a Parquet or Arrow file";
                self.problems.add(Problem::new(format!("column `{name}` does not hold lists"), hint));
                continue;
            };
            for (i, reason) in self.reasons.iter_mut().enumerate() {
                let Some((list_shape, values)) = lists.row(i) else { continue };
                if values.iter().any(|value| value.is_infinite()) {
                    let place = self.chunk.place(i);
                    let problem = format!("{place}, column `{name}`: the list contains an infinite number");
                    self.problems.add(Problem::new(problem, "give finite numbers"));
                    continue;
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
        out
    }
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
