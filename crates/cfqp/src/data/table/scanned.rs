//! A table whose columns were scanned, and whose units are still to be read.

use super::cells::Reading;
use super::file_options::FileOptions;
use super::input::TableInput;
use super::layout::{Layout, TableForm};
use super::names::{list_names, resolve};
use super::numbers::Decimal;
use super::outcome::{declare_outcomes, refuse_censored_times};
use super::problem::Problem;
use super::read_summary::ReadSummary;
use super::resolved::ResolvedColumns;
use super::scan::{ColumnScan, ScanPurpose, TableScan, scan_columns};
use super::spec::{REQUIRED_FIELDS, TableSpec};
use super::summary::{Counted, TableSummary};
use super::treatment::TreatmentKind;
use super::unit_reader::{BATCH_SIZE, ReadUnits, UnitReader, read_column_names};
use super::y_kind::YKind;
use crate::data::Dataset;
use crate::error::Result;

/// A table, its description, and what its columns hold.
pub(super) struct ScannedTable<'a> {
    pub input: &'a TableInput,
    spec: TableSpec,
    resolved: ResolvedColumns,
    scans: Vec<ColumnScan>,
    categorical: Vec<String>,
    outcome_kinds: Vec<YKind>,
    pub rows: usize,
}

impl<'a> ScannedTable<'a> {
    /// Scans the columns of a table, which are described by `spec`.
    ///
    /// # Errors
    /// If the description is invalid or does not match the columns, or if the file cannot be read or a cell is invalid.
    pub(super) fn new(input: &'a TableInput, spec: &TableSpec, purpose: ScanPurpose) -> Result<Self> {
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
        let TableScan { columns: scans, mut problems, decimal, rows } =
            scan_columns(input, &options, &resolved.with_roles(), &reading, spec.date_format, purpose)?;
        for scan in &scans {
            scan.check(categorical.contains(&scan.name), spec.date_format, &mut problems);
            scan.check_treatment(&categorical, &numeric, &mut problems);
        }
        problems.check(path)?;
        let spec = TableSpec { decimal: decimal.mark(), ..spec.clone() };
        Ok(Self { input, spec, resolved, scans, categorical, outcome_kinds, rows })
    }

    /// The layout of a table with one row per unit. Kinds of outcomes are those that are declared.
    pub(super) fn wide_layout(&self) -> Result<Layout> {
        let at = |problem: Problem| problem.at(self.input.name());
        let mut layout = self.resolved.wide_layout(&self.spec, &self.scans, &self.categorical).map_err(at)?;
        if let TableForm::Wide { y, .. } = &mut layout.form {
            declare_outcomes(y, &self.outcome_kinds, &self.scans).map_err(at)?;
        }
        Ok(layout)
    }

    /// The layout and all units.
    ///
    /// # Errors
    /// If the file cannot be read or a cell is invalid, or if no unit can be used.
    pub(super) fn read(&self) -> Result<(Layout, ReadUnits)> {
        let (path, mut summary) = (self.input.name(), ReadSummary::default());
        if self.spec.time.is_some() {
            let (scans, categorical) = (&self.scans, &self.categorical);
            let (layout, batch) =
                self.resolved.read_long(&self.spec, scans, categorical, self.input, &mut summary)?;
            let batch = batch.ok_or_else(|| summary.no_units().at(path))?;
            return Ok((layout, ReadUnits { batch, summary }));
        }
        let mut layout = self.wide_layout()?;
        let mut units = UnitReader::open(&layout, self.input, true, BATCH_SIZE)?.read_all()?;
        units.batch.data =
            layout.recognise_outcomes(units.batch.data).map_err(|error| error.in_file(path))?;
        Ok((layout, units))
    }

    /// The summary of the table; `data` are all units, or a sample of them.
    pub(super) fn summarise(
        &self,
        layout: &Layout,
        data: &Dataset,
        counted: Counted,
        read: &ReadSummary,
    ) -> TableSummary {
        TableSummary::new(&self.scans, &self.categorical, layout, data, counted, read)
    }
}
