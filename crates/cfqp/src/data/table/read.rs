//! Reads a table by its description, or by a known layout.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::ids::Ids;
use super::input::TableInput;
use super::layout::Layout;
use super::problem::Problem;
use super::scan::ScanPurpose;
use super::scanned::ScannedTable;
use super::spec::TableSpec;
use super::summary::{Counted, TableSummary};
use super::unit_reader::{BATCH_SIZE, ReadUnits, UnitReader};
use crate::data::Dataset;
use crate::error::Result;

/// The units of a table, with its layout and a summary of what was read.
///
/// # Examples
/// ```
/// use cfqp::data::table::{Table, TableSpec};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("patients.csv");
/// std::fs::write(&path, "patient,age,ward,dose,outcome\na,30,north,0.5,1.5\nb,40,south,0.7,2.5\nc,50,north,0.9,\n")?;
///
/// let spec = TableSpec {
///     id: Some("patient".into()),
///     x: vec!["age".into(), "ward".into()],
///     t: vec!["dose".into()],
///     y: vec!["outcome".into()],
///     ..TableSpec::default()
/// };
/// let table = Table::read(&path, &spec)?;
/// assert_eq!(table.data.x().values(), [30.0, 1.0, 0.0, 40.0, 0.0, 1.0]);
/// assert_eq!(table.summary.dropped[0].reason.to_string(), "no outcome was observed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The observations.
    pub data: Dataset,
    /// The ids of the units.
    pub ids: Ids,
    /// The columns and their meaning.
    pub layout: Layout,
    /// What was read, kept and dropped.
    pub summary: TableSummary,
}

impl Table {
    /// Reads a table, whose columns are described by `spec`.
    ///
    /// # Errors
    /// If the description is invalid or does not match the columns, if the table cannot be read or a cell is invalid, if
    /// ids repeat, or if no unit can be used.
    pub fn read(input: impl Into<TableInput>, spec: &TableSpec) -> Result<Self> {
        Self::from_scanned(&ScannedTable::new(&input.into(), spec, ScanPurpose::InMemory)?)
    }

    /// Reads all units of a table whose columns were scanned.
    pub(super) fn from_scanned(scanned: &ScannedTable<'_>) -> Result<Self> {
        let (layout, ReadUnits { batch, summary }) = scanned.read()?;
        check_unique(&batch.ids).map_err(|problem| problem.at(scanned.input.name()))?;
        let counted = Counted { units: batch.data.len(), subjects: batch.data.subjects() };
        let summary = scanned.summarise(&layout, &batch.data, counted, &summary);
        Ok(Self { data: batch.data, ids: batch.ids, layout, summary })
    }
}

/// Checks that no two units have the same id.
fn check_unique(ids: &Ids) -> Result<(), Problem> {
    if let Ids::Rows(_) = ids {
        return Ok(());
    }
    let mut known = HashMap::new();
    let mut repeated = Vec::new();
    for i in 0..ids.len() {
        match known.entry(ids.text(i)) {
            Entry::Vacant(entry) => {
                entry.insert(i);
            }
            Entry::Occupied(entry) => repeated.push((*entry.get(), i)),
        }
    }
    let Some(&(first, second)) = repeated.first() else { return Ok(()) };
    Err(repeated_ids([first, second].map(|unit| unit as u64), Some(&ids.text(first)), repeated.len()))
}

/// The problem that `count` units have the id of a unit before them: first these two, counted from 0.
pub(super) fn repeated_ids(units: [u64; 2], id: Option<&str>, count: usize) -> Problem {
    let [first, second] = units.map(|unit| unit + 1);
    let id = id.map_or("the same id".to_owned(), |id| format!("the id {id}"));
    let others = match count - 1 {
        0 => String::new(),
        1 => ", and 1 more unit repeats an id".to_owned(),
        more => format!(", and {more} more units repeat an id"),
    };
    Problem::new(
        format!("units {first} and {second} both have {id}{others}"),
        "give every unit a different id; for one row per sample, give `time` and `series`",
    )
}

impl Layout {
    /// Reads all units of another table with these columns. Unless `allow_missing_x` is set, units with a missing
    /// covariate are dropped.
    ///
    /// # Errors
    /// If the table cannot be read, lacks a column, has an invalid cell, or has no usable units.
    pub fn read(&self, input: impl Into<TableInput>, allow_missing_x: bool) -> Result<ReadUnits> {
        UnitReader::open(self, input, allow_missing_x, BATCH_SIZE)?.read_all()
    }
}
