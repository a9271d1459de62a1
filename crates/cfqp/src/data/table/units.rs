//! The units of a table in memory or, if a fit to them would need too much of it, on disk.

use std::path::Path;

use super::ids::Ids;
use super::input::TableInput;
use super::layout::{Block, Layout, TableForm};
use super::outcome::SeenOutcomes;
use super::read::{Table, repeated_ids};
use super::scan::ScanPurpose;
use super::scanned::ScannedTable;
use super::spec::TableSpec;
use super::summary::{Counted, TableSummary};
use super::unit_reader::UnitReader;
use crate::data::{
    Dataset, MAX_KIND_ELEMENTS, MemorySize, RecordForm, SeenIds, ShardSizes, UnitBuckets, UnitShards,
    spread_hash,
};
use crate::error::{Error, Result};
use crate::runtime::{Monitor, Stage};

/// The units of the sample of a table on disk.
const SAMPLE_UNITS: usize = 50_000;
/// The memory that a fit to units in memory takes at most, for every unit and for every value of a unit. Most of it holds the
/// features of halves of the units, for all members at once, if there are as many threads.
const BYTES_PER_UNIT: u64 = 700;
const BYTES_PER_VALUE: u64 = 300;
/// The memory of a program that has read nothing.
const PROGRAM_BYTES: u64 = 64 << 20;
/// Units that are read at a time.
const BATCH_UNITS: usize = 1 << 14;

/// The units of a table, to fit a model to: in memory, or on disk if there are too many of them.
pub enum TableUnits {
    /// In memory.
    InMemory(Table),
    /// In a temporary file, with a sample in memory.
    OnDisk(LargeTable),
}

/// A table that does not fit in memory: a random sample of its units in memory, and all others in a temporary file without a
/// name, which is gone when this value is dropped or the program ends.
pub struct LargeTable {
    /// The columns and their meaning.
    pub layout: Layout,
    /// What was read, kept and dropped. The distributions of treatments, and warnings, are those of the sample.
    pub summary: TableSummary,
    pub(crate) sample: Dataset,
    pub(crate) shards: UnitShards,
    pub(crate) content_hash: Option<String>,
    /// The smallest outcomes, of every element.
    pub(crate) lowest: Vec<f32>,
}

/// How much memory the units of a table may take.
#[derive(Clone, Copy)]
pub(crate) struct UnitLimits<'a> {
    /// The memory of a fit, in bytes.
    pub memory: u64,
    /// Where temporary files are written.
    pub folder: &'a Path,
    /// The cut of a table on disk, if not the usual one.
    pub sizes: Option<ShardSizes>,
}

impl TableUnits {
    /// The columns and their meaning.
    pub fn layout(&self) -> &Layout {
        match self {
            Self::InMemory(table) => &table.layout,
            Self::OnDisk(table) => &table.layout,
        }
    }

    /// What was read, kept and dropped.
    pub fn summary(&self) -> &TableSummary {
        match self {
            Self::InMemory(table) => &table.summary,
            Self::OnDisk(table) => &table.summary,
        }
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.summary().units
    }

    /// Reads a table. Units to which a fit would need more memory than the limit are put on disk, if they have at most
    /// 8 outcome elements, one row each and no lists.
    ///
    /// # Errors
    /// As [`Table::read`]; if the temporary file cannot be written; if the limit is too small even for that; or if the monitor
    /// asks to stop.
    pub(crate) fn read(
        input: &TableInput,
        spec: &TableSpec,
        limits: &UnitLimits<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let purpose = if spec.time.is_none() { ScanPurpose::OnDisk } else { ScanPurpose::InMemory };
        let scanned = ScannedTable::new(input, spec, purpose)?;
        let form = match purpose {
            ScanPurpose::OnDisk => record_form(&scanned.wide_layout()?),
            ScanPurpose::InMemory => None,
        };
        match form.filter(|form| fit_memory(scanned.rows, form.words()) > limits.memory) {
            None => Table::from_scanned(&scanned).map(Self::InMemory),
            Some(form) => LargeTable::read(&scanned, form, limits, monitor).map(Self::OnDisk),
        }
    }
}

/// The memory, in bytes, that a fit to `rows` units of `values` values takes if they are kept in memory, about.
fn fit_memory(rows: usize, values: usize) -> u64 {
    let each = (values as u64).saturating_mul(BYTES_PER_VALUE).saturating_add(BYTES_PER_UNIT);
    (rows as u64).saturating_mul(each).saturating_add(PROGRAM_BYTES)
}

/// The records of units on disk; none if the units cannot be put there.
fn record_form(layout: &Layout) -> Option<RecordForm> {
    let TableForm::Wide { x: Block::Features(_), y: Block::Features(_) } = &layout.form else { return None };
    let (shapes, t) = (layout.shapes(), layout.treatment_elements());
    let (x, y) = (shapes.x.iter().product(), shapes.y.iter().product());
    let form = RecordForm { x, t, y, grouped: layout.group.is_some() };
    (y <= MAX_KIND_ELEMENTS).then_some(form)
}

impl LargeTable {
    fn read(
        scanned: &ScannedTable<'_>,
        form: RecordForm,
        limits: &UnitLimits<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let path = scanned.input.name();
        let sizes = limits.sizes.unwrap_or_else(|| ShardSizes::new(SAMPLE_UNITS, scanned.rows, form));
        let needed =
            fit_memory(sizes.sample, form.words()).max(sizes.memory(scanned.rows, form) + PROGRAM_BYTES);
        if needed > limits.memory {
            let (needed, limit) = (MemorySize(needed), MemorySize(limits.memory));
            let problem =
                format!("a fit to parts of the table needs {needed} of memory; the limit is {limit}");
            return Err(Error::file(path, problem, "raise the limit: `memory_limit`"));
        }
        let mut layout = scanned.wide_layout()?;
        let mut reader = UnitReader::open_in_parts(&layout, scanned.input, BATCH_UNITS)?;
        let mut buckets = UnitBuckets::new(form, scanned.rows, sizes, limits.folder)?;
        let mut ids = SeenIds::new(limits.folder, buckets.len())?;
        monitor.stage(Stage::Reading, scanned.rows.div_ceil(BATCH_UNITS) + buckets.len());
        let mut seen = SeenOutcomes::default();
        for batch in reader.by_ref() {
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            let batch = batch?;
            seen.add(&batch.data);
            if !matches!(batch.ids, Ids::Rows(_)) {
                (0..batch.ids.len()).try_for_each(|i| ids.add(&batch.ids.text(i)))?;
            }
            buckets.add(&batch.data, batch.subjects.as_ref().map(subject_hashes).as_deref())?;
            monitor.epoch(f64::NAN);
        }
        if let Some(repeated) = ids.repeated()? {
            return Err(repeated_ids([repeated.first, repeated.second], None, repeated.count).at(path));
        }
        let dealt = buckets.deal(monitor).map_err(|error| error.in_file(path))?;
        let sample =
            layout.recognise_seen_outcomes(&seen, dealt.sample).map_err(|error| error.in_file(path))?;
        let subjects = form.grouped.then_some(dealt.shards.subjects + dealt.shards.sample_subjects);
        let counted = Counted { units: dealt.shards.units, subjects };
        let summary = scanned.summarise(&layout, &sample, counted, reader.summary());
        let (shards, content_hash, lowest) = (dealt.shards, dealt.content_hash, seen.lowest());
        Ok(Self { layout, summary, sample, shards, content_hash, lowest })
    }
}

/// The hashes of the names of subjects.
fn subject_hashes(subjects: &Ids) -> Vec<u64> {
    (0..subjects.len()).map(|i| spread_hash(&subjects.text(i))).collect()
}
