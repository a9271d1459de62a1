//! The units of a table or of arrays, read in batches, so that files can be larger than memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::input::UnitsInput;
use crate::data::table::{
    DropReason, Ids, Layout, ReadSummary, TableInput, TreatmentColumn, UnitBatch, UnitReader, UnitRules,
    list_names, read_column_names,
};
use crate::data::{Dataset, Units, read_array};
use crate::model::Model;
use crate::{Error, Result};

/// The approximate number of values in one batch.
const BATCH_VALUES: usize = 1 << 19;
/// The smallest and the largest number of units in one batch: multiples of the batch size of networks.
const BATCH_UNITS: (usize, usize) = (256, 4096);

/// Some units, with a new treatment for each if there are such.
#[derive(Clone, Debug)]
pub struct StreamBatch {
    /// The units.
    pub units: UnitBatch,
    /// The new treatments, one per unit.
    pub treatments: Option<Units>,
    /// The positions of the units asked about, if the others are there only because they share a subject with them.
    pub asked: Option<Vec<usize>>,
}

impl StreamBatch {
    /// The units of all `batches` of one file as one batch; `None` if there are none.
    pub(crate) fn concat(mut batches: Vec<Self>) -> Result<Option<Self>> {
        if batches.len() <= 1 {
            return Ok(batches.pop());
        }
        let treatments: Option<Vec<Units>> = batches.iter().map(|batch| batch.treatments.clone()).collect();
        let treatments = treatments.map(|treatments| {
            let values = treatments.iter().flat_map(|t| t.values()).copied().collect();
            Units::new("treatment", treatments[0].shape().to_vec(), values)
        });
        let units = UnitBatch::concat(batches.into_iter().map(|batch| batch.units).collect())?;
        // a file with subjects is one batch, so that in several batches all units are asked about
        Ok(Some(Self { units, treatments: treatments.transpose()?, asked: None }))
    }
}

/// Units in batches. Created by [`Model::read_units`].
pub struct UnitStream {
    path: PathBuf,
    source: UnitSource,
    wanted: Option<WantedIds>,
    ended: bool,
}

/// The ids of the units to read.
pub(crate) struct WantedIds {
    all: HashSet<String>,
    not_found: HashSet<String>,
}

impl WantedIds {
    /// The units with these ids; none if there are no ids.
    pub(crate) fn new(ids: &[String]) -> Option<Self> {
        let all: HashSet<String> = ids.iter().map(|id| id.trim().to_owned()).collect();
        (!all.is_empty()).then(|| Self { not_found: all.clone(), all })
    }

    /// The wanted units of a batch, if there are any, with the other units of their subjects.
    pub(crate) fn pick(&mut self, batch: &StreamBatch) -> Result<Option<StreamBatch>> {
        let ids = &batch.units.ids;
        let found: Vec<usize> = (0..ids.len()).filter(|&i| self.all.contains(&ids.text(i))).collect();
        if found.is_empty() {
            return Ok(None);
        }
        for &i in &found {
            self.not_found.remove(&ids.text(i));
        }
        let (kept, asked) = match batch.units.data.groups() {
            None => (found, None),
            Some(groups) => {
                let (kept, asked) = with_subjects(groups, &found);
                (kept, Some(asked))
            }
        };
        let treatments = batch.treatments.as_ref().map(|treatments| treatments.pick(&kept));
        Ok(Some(StreamBatch { units: batch.units.pick(&kept)?, treatments, asked }))
    }

    /// The error for an id that was not found in the file `path`, if there is one.
    pub(crate) fn missing(&self, path: &Path) -> Option<Error> {
        let id = self.not_found.iter().min()?;
        let problem = format!("unit `{id}` does not exist or cannot be used");
        let hint = "give ids as they are in the file; without an id column, row numbers from 0";
        Some(Error::file(path, problem, hint))
    }
}

enum UnitSource {
    Arrays(Box<ArraySource>),
    Table {
        reader: Box<UnitReader>,
        /// The number of elements after those of the treatments that hold new treatments.
        new_treatments: usize,
    },
}

/// Units in memory, of which the first `done` have been returned.
struct ArraySource {
    data: Arc<Dataset>,
    summary: ReadSummary,
    treatments: Option<Units>,
    done: usize,
    batch_size: usize,
}

impl Model {
    /// Opens units like those that the model was fitted to: a table with the same columns, an `.npz` file or arrays.
    /// `new_treatments` names the columns, or the arrays (comma-separated), that hold a new treatment for each unit. All
    /// units of a subject are in one batch: a file with subjects is one batch.
    ///
    /// Units may have no outcome: cells that are missing, or a file without any of the columns of outcomes. Their treatment
    /// may be missing too.
    ///
    /// # Errors
    /// [`Error::File`] if the file has not the columns or arrays of the model.
    pub fn read_units(
        &self,
        input: impl Into<UnitsInput>,
        new_treatments: Option<&str>,
    ) -> Result<UnitStream> {
        self.open_units(&input.into(), new_treatments, true)
    }

    /// As [`read_units`](Self::read_units), for verdicts and reports: units without an outcome are dropped.
    ///
    /// # Errors
    /// As [`read_units`](Self::read_units).
    pub fn read_observed_units(&self, input: impl Into<UnitsInput>) -> Result<UnitStream> {
        self.open_units(&input.into(), None, false)
    }

    fn open_units(
        &self,
        input: &UnitsInput,
        new_treatments: Option<&str>,
        missing_outcome: bool,
    ) -> Result<UnitStream> {
        let shapes = self.shapes();
        let values = shapes.x.iter().chain([&1]).product::<usize>() + shapes.y.iter().product::<usize>();
        let (min, max) = BATCH_UNITS;
        let batch_size = (BATCH_VALUES / values.max(1)).clamp(min, max) / min * min;
        let source = match input {
            UnitsInput::Npz(path) => {
                let data = match missing_outcome {
                    true => Dataset::read_npz_to_ask(path, &shapes.y, shapes.t)?,
                    false => Dataset::read_npz(path)?,
                };
                let read = |names: &str| {
                    let arrays = names.split(',').map(|name| read_treatments(path, name, data.len()));
                    let arrays = arrays.collect::<Result<Vec<_>>>()?;
                    Units::side_by_side(&arrays.iter().collect::<Vec<_>>())
                };
                let treatments = new_treatments.map(read).transpose()?;
                ArraySource::open(path, Arc::new(data), treatments, missing_outcome, batch_size)?
            }
            UnitsInput::Arrays(data) => {
                if new_treatments.is_some() {
                    let hint = "give one treatment per unit as an array";
                    return Err(Error::data("treatment", "arrays have no columns", hint));
                }
                ArraySource::open(input.name(), data.clone(), None, missing_outcome, batch_size)?
            }
            UnitsInput::Table(table) => {
                self.open_table(table, new_treatments, missing_outcome, batch_size)?
            }
        };
        Ok(UnitStream { path: input.name().to_owned(), source, wanted: None, ended: false })
    }

    fn open_table(
        &self,
        table: &TableInput,
        new_treatments: Option<&str>,
        missing_outcome: bool,
        batch_size: usize,
    ) -> Result<UnitSource> {
        let layout = self.layout_for(table.name())?;
        let extra: Vec<String> =
            new_treatments.map_or(Vec::new(), |names| names.split(',').map(str::to_owned).collect());
        check_columns(table, layout, &extra)?;
        if !missing_outcome {
            check_outcomes(table, layout)?;
        }
        let new_treatments = new_columns(&layout.t, extra);
        let elements = new_treatments.iter().map(TreatmentColumn::elements).sum();
        let (missing_x, new) = (self.shapes().missing, new_treatments.len());
        let layout = Layout { t: [&layout.t[..], &new_treatments].concat(), ..layout.clone() };
        let rules = UnitRules { missing_x, missing_outcome, new_treatments: new };
        let reader = Box::new(UnitReader::open_by_rules(&layout, table, rules, batch_size)?);
        Ok(UnitSource::Table { reader, new_treatments: elements })
    }

    /// The columns that the model was fitted to, to read `path` with.
    fn layout_for(&self, path: &Path) -> Result<&Layout> {
        self.layout().ok_or_else(|| {
            let problem = "the model was fitted to arrays, not to a table";
            Error::file(path, problem, "give an .npz file, or fit the model to a table")
        })
    }
}

/// The units with an outcome, and a summary of the others.
fn drop_unobserved(data: Arc<Dataset>, path: &Path) -> Result<(Arc<Dataset>, ReadSummary)> {
    let (observed, others): (Vec<usize>, Vec<usize>) = (0..data.len()).partition(|&i| data.has_outcome(i));
    let mut summary = ReadSummary::for_units(observed.len());
    summary.rows = data.len();
    for row in others {
        summary.count_dropped(DropReason::MissingOutcome, || format!("row {row}"));
    }
    if observed.is_empty() {
        let hint = "give units with an outcome: the array y, or other values of y_mask";
        return Err(Error::file(path, "no unit has an outcome", hint));
    }
    let data = if observed.len() < data.len() { Arc::new(data.pick(&observed)?) } else { data };
    Ok((data, summary))
}

/// The columns `names` with new treatments, which have the levels and origins of those that the model was fitted to. After
/// the columns of one new treatment come those of a second one.
fn new_columns(fitted: &[TreatmentColumn], names: Vec<String>) -> Vec<TreatmentColumn> {
    let column = |(name, fitted): (String, &TreatmentColumn)| TreatmentColumn { name, ..fitted.clone() };
    names.into_iter().zip(fitted.iter().cycle()).map(column).collect()
}

fn check_columns(table: &TableInput, layout: &Layout, names: &[String]) -> Result<()> {
    let columns = read_column_names(table, &layout.file_options(table))?;
    match names.iter().find(|name| !columns.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let hint = format!("the columns are {}", list_names(&columns));
            Err(Error::file(table.name(), format!("column `{name}` does not exist"), hint))
        }
    }
}

/// Checks that the table has an outcome.
fn check_outcomes(table: &TableInput, layout: &Layout) -> Result<()> {
    let columns = read_column_names(table, &layout.file_options(table))?;
    let outcomes = layout.outcome_columns();
    if outcomes.iter().any(|name| columns.contains(name)) {
        return Ok(());
    }
    let problem = format!("there is no outcome: the file has no column {}", list_names(&outcomes));
    let hint = "verdicts and reports need units with outcomes, such as those of the fit; questions about single units \
                do not";
    Err(Error::file(table.name(), problem, hint))
}

/// Reads one treatment per unit from an `.npz` file.
fn read_treatments(path: &Path, name: &str, units: usize) -> Result<Units> {
    let hint = "name an array with one treatment per unit, for example t_new";
    let array = read_array(path, name)?;
    let array = array.ok_or_else(|| Error::file(path, format!("array `{name}` does not exist"), hint))?;
    if array.len() == units {
        return Ok(array);
    }
    Err(Error::file(path, format!("`{name}` has {} units, x has {units}", array.len()), hint))
}

impl UnitStream {
    /// Restricts the stream to the units with these ids, all of which must exist, and other units of their subjects.
    /// Without ids, all units are read.
    #[must_use]
    pub fn only(mut self, ids: &[String]) -> Self {
        self.wanted = WantedIds::new(ids);
        self
    }

    /// The file, as errors name it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a table without usable units a stream without batches, not an error.
    pub(super) fn allow_empty(mut self) -> Self {
        if let UnitSource::Table { reader, .. } = &mut self.source {
            reader.allow_empty();
        }
        self
    }

    /// Sets a new treatment for each unit of arrays.
    ///
    /// # Errors
    /// If the units are those of a table, or their number differs.
    pub(super) fn with_treatments(mut self, treatments: Units) -> Result<Self> {
        let refuse = |problem: String, hint: &str| Err(Error::data("treatment", problem, hint));
        match &mut self.source {
            UnitSource::Table { .. } => {
                let hint = "add the treatments to the table as a column and name it";
                refuse("a table needs its own column of treatments".to_owned(), hint)
            }
            UnitSource::Arrays(arrays) if arrays.data.len() != treatments.len() => {
                let problem = format!("{} treatments for {} units", treatments.len(), arrays.data.len());
                refuse(problem, "give one treatment, or one per unit")
            }
            UnitSource::Arrays(arrays) => {
                arrays.treatments = Some(treatments);
                Ok(self)
            }
        }
    }

    /// What has been read and dropped so far.
    pub fn summary(&self) -> ReadSummary {
        match &self.source {
            UnitSource::Arrays(arrays) => arrays.summary.clone(),
            UnitSource::Table { reader, .. } => reader.summary().clone(),
        }
    }

    /// All remaining units as one batch; `None` if there are none.
    ///
    /// # Errors
    /// As reading batch by batch.
    pub fn read_all(&mut self) -> Result<Option<StreamBatch>> {
        StreamBatch::concat(self.collect::<Result<Vec<_>>>()?)
    }

    fn read_batch(&mut self) -> Result<Option<StreamBatch>> {
        match &mut self.source {
            UnitSource::Arrays(arrays) => arrays.read_batch(),
            UnitSource::Table { reader, new_treatments } => {
                let Some(units) = reader.next().transpose()? else { return Ok(None) };
                split_treatments(units, *new_treatments).map(Some)
            }
        }
    }

    fn next_wanted(&mut self) -> Result<Option<StreamBatch>> {
        while let Some(batch) = self.read_batch()? {
            let Some(wanted) = &mut self.wanted else { return Ok(Some(batch)) };
            if let Some(batch) = wanted.pick(&batch)? {
                return Ok(Some(batch));
            }
        }
        let missing = self.wanted.as_ref().and_then(|wanted| wanted.missing(&self.path));
        missing.map_or(Ok(None), Err)
    }
}

impl Iterator for UnitStream {
    type Item = Result<StreamBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_wanted().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl ArraySource {
    /// The units of `data`; without those that have no outcome unless `missing_outcome` is set.
    fn open(
        path: &Path,
        data: Arc<Dataset>,
        treatments: Option<Units>,
        missing_outcome: bool,
        batch_size: usize,
    ) -> Result<UnitSource> {
        let (data, summary) = if missing_outcome {
            let summary = ReadSummary::for_units(data.len());
            (data, summary)
        } else {
            drop_unobserved(data, path)?
        };
        // units of one subject may be anywhere, and must be in one batch
        let batch_size = if data.groups().is_some() { data.len() } else { batch_size };
        Ok(UnitSource::Arrays(Box::new(Self { data, summary, treatments, done: 0, batch_size })))
    }

    fn read_batch(&mut self) -> Result<Option<StreamBatch>> {
        let rows: Vec<usize> = (self.done..self.data.len()).take(self.batch_size).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        self.done += rows.len();
        let treatments = self.treatments.as_ref().map(|treatments| treatments.pick(&rows));
        let units = UnitBatch {
            data: self.data.pick(&rows)?,
            ids: Ids::Rows(rows.clone()),
            treated_at: None,
            subjects: None,
            rows: Some(rows),
        };
        Ok(Some(StreamBatch { units, treatments, asked: None }))
    }
}

/// All rows of the subjects of the rows `found`, in ascending order, and the positions of `found` among them.
fn with_subjects(groups: &[u32], found: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let subjects: HashSet<u32> = found.iter().map(|&row| groups[row]).collect();
    let found: HashSet<usize> = found.iter().copied().collect();
    let kept: Vec<usize> = (0..groups.len()).filter(|&row| subjects.contains(&groups[row])).collect();
    let asked = (0..kept.len()).filter(|&i| found.contains(&kept[i])).collect();
    (kept, asked)
}

/// Splits off the last `count` treatments, which are the new ones.
fn split_treatments(units: UnitBatch, count: usize) -> Result<StreamBatch> {
    if count == 0 {
        return Ok(StreamBatch { units, treatments: None, asked: None });
    }
    let t = units.data.t();
    let given = t.elements() - count;
    let (factual, treatments) = (t.part(0..given), t.part(given..given + count));
    let data = Dataset::new(units.data.x().clone(), factual, units.data.y().clone())?;
    let UnitBatch { ids, treated_at, subjects, rows, .. } = units;
    let units = UnitBatch::new(data, ids, treated_at, subjects)?.with_rows(rows);
    Ok(StreamBatch { units, treatments: Some(treatments), asked: None })
}
