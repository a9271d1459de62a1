//! Reads a table by its description, or by a known layout.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::cells::Reading;
use super::file_options::FileOptions;
use super::ids::Ids;
use super::input::TableInput;
use super::layout::{Layout, TableForm};
use super::names::{list_names, resolve};
use super::numbers::Decimal;
use super::outcome::{declare_outcomes, refuse_censored_times};
use super::problem::Problem;
use super::read_summary::ReadSummary;
use super::resolved::ResolvedColumns;
use super::scan::{TableScan, scan_columns};
use super::spec::{REQUIRED_FIELDS, TableSpec};
use super::summary::TableSummary;
use super::treatment::TreatmentKind;
use super::unit_reader::{ReadUnits, UnitReader, read_column_names};
use crate::data::Dataset;
use crate::error::Result;

/// The number of units per batch when all are read.
const BATCH_SIZE: usize = 1 << 14;

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
        Self::read_input(&input.into(), spec)
    }

    fn read_input(input: &TableInput, spec: &TableSpec) -> Result<Self> {
        let (path, options) = (input.name(), FileOptions::from(spec));
        let columns = read_column_names(input, &options)?;
        let at = |problem: Problem| problem.at(path);
        if spec.is_empty() {
            let problem = format!("the columns {} are not described", list_names(&columns));
            return Err(at(Problem::new(problem, REQUIRED_FIELDS)));
        }
        spec.validate()?;
        let resolved = ResolvedColumns::new(spec, &columns).map_err(at)?;
        let mut categorical = resolve("categorical", &spec.categorical, &columns, &[]).map_err(at)?;
        let of_kind = |kind: TreatmentKind| resolved.treatments_of_kind(&spec.t_kind, kind).map_err(at);
        categorical.extend(of_kind(TreatmentKind::Category)?);
        let numeric = of_kind(TreatmentKind::Number)?;
        if spec.time.is_none() {
            refuse_censored_times(resolved.y()).map_err(at)?;
        }
        let outcome_kinds = resolved.outcome_kinds(&spec.y_kind).map_err(at)?;
        let with_levels = resolved.y().iter().zip(&outcome_kinds).filter(|(_, kind)| kind.has_levels());
        categorical.extend(with_levels.map(|(name, _)| name.clone()));
        let reading = Reading::new(&spec.missing, Decimal::new(spec.decimal));
        let TableScan { columns: scans, mut problems, decimal } =
            scan_columns(input, &options, &resolved.with_roles(), &reading, spec.date_format)?;
        for scan in &scans {
            scan.check(categorical.contains(&scan.name), spec.date_format, &mut problems);
            scan.check_treatment(&categorical, &numeric, &mut problems);
        }
        problems.check(path)?;
        let spec = &TableSpec { decimal: decimal.mark(), ..spec.clone() };
        let (layout, ReadUnits { batch, summary }) = if spec.time.is_some() {
            let mut summary = ReadSummary::default();
            let (layout, batch) = resolved.read_long(spec, &scans, &categorical, input, &mut summary)?;
            let batch = batch.ok_or_else(|| at(summary.no_units()))?;
            (layout, ReadUnits { batch, summary })
        } else {
            let mut layout = resolved.wide_layout(spec, &scans, &categorical).map_err(at)?;
            if let TableForm::Wide { y, .. } = &mut layout.form {
                declare_outcomes(y, &outcome_kinds, &scans).map_err(at)?;
            }
            let mut units = layout.read(input, true)?;
            units.batch.data =
                layout.recognise_outcomes(units.batch.data).map_err(|error| error.in_file(path))?;
            (layout, units)
        };
        check_unique(&batch.ids).map_err(at)?;
        let summary = TableSummary::new(&scans, &categorical, &layout, &batch.data, &summary);
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
    let Some((first, second)) = repeated.first() else { return Ok(()) };
    let others = match repeated.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more units repeat an id"),
    };
    let problem =
        format!("units {} and {} both have the id {}{others}", first + 1, second + 1, ids.text(*first));
    Err(Problem::new(
        problem,
        "give every unit a different id; for one row per sample, give `time` and `series`",
    ))
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
