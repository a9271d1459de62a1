//! Reads a table with a known layout in batches of units.

use std::path::PathBuf;

use super::cells::Reading;
use super::contiguous::{ContiguousReader, ContiguousSettings, is_contiguous};
use super::file_options::FileOptions;
use super::input::TableInput;
use super::layout::{Layout, TableForm};
use super::numbers::Decimal;
use super::read_summary::ReadSummary;
use super::rules::UnitRules;
use super::samples::{SampleColumns, Samples};
use super::source::{Source, check_present};
use super::unit_batch::{UnitBatch, VALUE_BYTES};
use super::wide::WideConverter;
use crate::error::Result;
use crate::runtime::check_memory;

/// The number of units per batch when all are read.
pub(super) const BATCH_SIZE: usize = 1 << 14;

/// Reads the units of a table with a known layout in batches.
///
/// It is an iterator over the batches. A table without usable units gives one error.
pub struct UnitReader {
    path: PathBuf,
    layout: Layout,
    reading: Reading,
    rules: UnitRules,
    batch_size: usize,
    state: State,
    /// Whether the error of a table without usable units was returned.
    is_reported: bool,
    summary: ReadSummary,
}

/// All units of a table, with counts of what was read.
#[derive(Clone, Debug)]
pub struct ReadUnits {
    /// The units.
    pub batch: UnitBatch,
    /// What was read and dropped.
    pub summary: ReadSummary,
}

enum State {
    Wide(Box<Source>),
    /// A long table in which the rows of each unit are contiguous.
    Contiguous(Box<ContiguousReader>),
    /// All units of a long table, or of one with subjects, in memory, and the number of those returned.
    InMemory(Option<Box<UnitBatch>>, usize),
}

/// Long tables up to this size are read into memory. Larger ones are not, if the rows of each unit are contiguous.
const MAX_IN_MEMORY_BYTES: u64 = 1 << 26;

impl UnitReader {
    /// Opens a table, which must have the columns of `layout`. Batches have about `batch_size` units; a table with
    /// subjects is read into one batch, because their units may be anywhere in it. Unless `allow_missing_x` is set, units
    /// with a missing covariate are dropped.
    ///
    /// # Errors
    /// If the table cannot be read or a column is missing; for a long table, if its content is invalid.
    pub fn open(
        layout: &Layout,
        input: impl Into<TableInput>,
        allow_missing_x: bool,
        batch_size: usize,
    ) -> Result<Self> {
        Self::open_by_rules(layout, &input.into(), UnitRules::observed(allow_missing_x), batch_size)
    }

    /// As [`open`](Self::open), with other rules for the units that are used.
    pub(crate) fn open_by_rules(
        layout: &Layout,
        input: &TableInput,
        rules: UnitRules,
        batch_size: usize,
    ) -> Result<Self> {
        Self::open_with_limit(layout, input, rules, batch_size, MAX_IN_MEMORY_BYTES)
    }

    /// As [`open_by_rules`](Self::open_by_rules), with another limit on the size of long tables that are read into memory.
    pub(crate) fn open_with_limit(
        layout: &Layout,
        input: &TableInput,
        rules: UnitRules,
        batch_size: usize,
        max_in_memory: u64,
    ) -> Result<Self> {
        let mut reader = Self::open_parts(layout, input, rules, batch_size, max_in_memory)?;
        if layout.group.is_some() {
            reader.read_into_one_batch()?;
        }
        Ok(reader)
    }

    /// As [`open`](Self::open), with missing covariates allowed and in batches even if there are subjects: other batches may
    /// have more units of a subject.
    pub(super) fn open_in_parts(layout: &Layout, input: &TableInput, batch_size: usize) -> Result<Self> {
        Self::open_parts(layout, input, UnitRules::observed(true), batch_size, MAX_IN_MEMORY_BYTES)
    }

    fn open_parts(
        layout: &Layout,
        input: &TableInput,
        rules: UnitRules,
        batch_size: usize,
        max_in_memory: u64,
    ) -> Result<Self> {
        let (path, options) = (input.name(), layout.file_options(input));
        let columns = read_column_names(input, &options)?;
        let absent = rules.absent_columns(layout, &columns);
        let needed: Vec<String> =
            layout.columns().into_iter().filter(|name| !absent.contains(name)).collect();
        check_present(&needed, &columns).map_err(|problem| problem.at(path))?;
        let source = Source::open(input, &options, Some(&needed))?.with_absent(absent);
        let reading = Reading::new(&layout.missing, Decimal::new(layout.decimal));
        let mut summary = ReadSummary::default();
        let is_large = input.bytes() > max_in_memory;
        let state = match (layout.samples(), &layout.id) {
            (None, _) => State::Wide(Box::new(source)),
            (Some(_), Some(id)) if is_large && is_contiguous(input, &options, id)? => {
                State::Contiguous(Box::new(ContiguousReader::new(source)))
            }
            (Some(samples), _) => {
                let columns = SampleColumns::new(layout, samples);
                let all = Samples::collect(&columns, path, source, &reading, &mut summary)?;
                let batch = all.to_batch(path, layout, samples, rules, &mut summary)?;
                State::InMemory(batch.map(Box::new), 0)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            layout: layout.clone(),
            reading,
            rules,
            batch_size: batch_size.max(1),
            state,
            is_reported: false,
            summary,
        })
    }

    /// Makes a table without usable units one without batches, not an error.
    pub(crate) fn allow_empty(&mut self) {
        self.is_reported = true;
    }

    /// Reads all units, which are then returned as one batch.
    fn read_into_one_batch(&mut self) -> Result<()> {
        let mut batches = Vec::new();
        while let Some(batch) = self.advance()? {
            self.check_kept()?;
            batches.push(batch);
        }
        let all = if batches.is_empty() { None } else { Some(Box::new(UnitBatch::concat(batches)?)) };
        (self.state, self.batch_size) = (State::InMemory(all, 0), usize::MAX);
        Ok(())
    }

    /// Checks the memory of all units so far, in parts and as a whole.
    fn check_kept(&self) -> Result<()> {
        let values = self.summary.units.saturating_mul(self.layout.unit_elements());
        check_memory(&self.path, "the units", values, 2 * VALUE_BYTES)
    }

    /// Counts of what was read so far.
    pub fn summary(&self) -> &ReadSummary {
        &self.summary
    }

    /// Reads all units at once.
    ///
    /// # Errors
    /// If the table cannot be read or has no usable units.
    pub fn read_all(mut self) -> Result<ReadUnits> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next() {
            self.check_kept()?;
            batches.push(batch?);
        }
        let batch = match batches.len() {
            1 => batches.remove(0),
            _ => UnitBatch::concat(batches)?,
        };
        Ok(ReadUnits { batch, summary: self.summary })
    }

    fn advance(&mut self) -> Result<Option<UnitBatch>> {
        let (path, layout, reading, rules) = (&*self.path, &self.layout, &self.reading, self.rules);
        match &mut self.state {
            State::Wide(source) => {
                let converter = WideConverter { path, layout, reading, rules };
                converter.next(source, self.batch_size, &mut self.summary)
            }
            State::Contiguous(reader) => {
                let Some(samples) = layout.samples() else { return Ok(None) };
                let settings = ContiguousSettings { path, layout, samples, reading, rules };
                reader.next(&settings, self.batch_size, &mut self.summary)
            }
            State::InMemory(None, _) => Ok(None),
            State::InMemory(Some(all), returned) => {
                let next: Vec<usize> = (*returned..all.data.len()).take(self.batch_size).collect();
                *returned += next.len();
                if next.is_empty() { Ok(None) } else { all.pick(&next).map(Some) }
            }
        }
    }
}

impl Iterator for UnitReader {
    type Item = Result<UnitBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if next.is_none() && self.summary.units == 0 && !std::mem::replace(&mut self.is_reported, true) {
            return Some(Err(self.summary.no_units().at(&self.path)));
        }
        next
    }
}

impl Layout {
    /// How the cells of a table are found: as in the training data, or by another delimiter if only that gives the columns,
    /// or those that are left if the table has no outcomes and treatments.
    pub(crate) fn file_options(&self, input: &TableInput) -> FileOptions {
        let usual = FileOptions::from(self);
        let other = |mark: char| FileOptions { delimiter: Some(mark), ..usual.clone() };
        let all: Vec<FileOptions> =
            std::iter::once(usual.clone()).chain([',', ';', '\t', '|'].map(other)).collect();
        let optional = match &self.form {
            TableForm::Wide { y, .. } => [self.treatment_names(), y.columns()].concat(),
            TableForm::Long(_) => Vec::new(),
        };
        let all_columns = self.columns();
        let rest = all_columns.iter().filter(|name| !optional.contains(name)).cloned().collect();
        for wanted in [all_columns, rest] {
            let has_columns = |options: &&FileOptions| {
                read_column_names(input, options)
                    .is_ok_and(|columns| wanted.iter().all(|name| columns.contains(name)))
            };
            if let Some(options) = all.iter().find(has_columns) {
                return options.clone();
            }
        }
        usual
    }
}

/// Reads the names of the columns of a table.
///
/// # Errors
/// If it cannot be read or is not a table.
pub fn read_column_names(input: &TableInput, options: &FileOptions) -> Result<Vec<String>> {
    Ok(Source::open(input, options, None)?.columns().to_vec())
}
