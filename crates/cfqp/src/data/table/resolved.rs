//! Resolves a description against the columns of a table.

use super::blocks::{array_block, origin_of, scalar_features, treatment_columns};
use super::cells::Reading;
use super::dates::{DateEncoding, DateText, parse_date, read_date};
use super::file_options::FileOptions;
use super::input::TableInput;
use super::layout::{GridRange, Layout, SampleLayout, TableForm, TimeGrid};
use super::names::{resolve, resolve_name};
use super::numbers::Decimal;
use super::problem::Problem;
use super::read_summary::ReadSummary;
use super::role::ColumnRole;
use super::rules::UnitRules;
use super::samples::{SampleColumns, Samples};
use super::scan::{ColumnContent, ColumnScan};
use super::source::Source;
use super::spec::{TableSpec, TreatedAt};
use super::treatment::TreatmentKind;
use super::unit_batch::UnitBatch;
use super::y_kind::YKind;
use crate::error::Result;

/// The columns of a table by role.
pub(crate) struct ResolvedColumns {
    id: Option<String>,
    group: Option<String>,
    x: Vec<String>,
    t: Vec<String>,
    y: Vec<String>,
    series: Vec<String>,
    time: Option<String>,
    treated_at: Option<String>,
}

impl ResolvedColumns {
    /// Resolves the patterns of `spec`. A column with two roles is a problem.
    pub(super) fn new(spec: &TableSpec, columns: &[String]) -> Result<Self, Problem> {
        let named = |field: &str, name: &Option<String>| {
            name.as_ref().map(|name| resolve_name(field, name, columns)).transpose()
        };
        let (id, time) = (named("id", &spec.id)?, named("time", &spec.time)?);
        let group = named("group", &spec.group)?;
        let treated_at = match &spec.treated_at {
            Some(TreatedAt::Column(name)) if is_fixed_date(spec, name, columns) => None,
            Some(TreatedAt::Column(name)) => Some(resolve_name("treated_at", name, columns)?),
            _ => None,
        };
        let mut taken: Vec<String> = [&id, &time, &treated_at].into_iter().flatten().cloned().collect();
        if let Some(group) = group.as_ref().filter(|group| taken.contains(group)) {
            let problem = format!("group: column `{group}` already has another role");
            return Err(Problem::new(problem, "name the column with the subject, which several units share"));
        }
        taken.extend(group.clone());
        let mut take = |field: &str, patterns: &[String]| -> Result<Vec<String>, Problem> {
            let found = resolve(field, patterns, columns, &taken)?;
            if let Some(twice) = found.iter().find(|name| taken.contains(name)) {
                let problem = format!("{field}: column `{twice}` already has another role");
                return Err(Problem::new(problem, "use every column in one role only"));
            }
            taken.extend(found.iter().cloned());
            Ok(found)
        };
        let t = take("t", &spec.t)?;
        // in a long table, y names some of the series
        let (series, y) = match time {
            Some(_) => {
                let series = take("series", &spec.series)?;
                let y = resolve("y", &spec.y, &series, &[])?;
                (series.clone(), if y.is_empty() { series } else { y })
            }
            None => (Vec::new(), take("y", &spec.y)?),
        };
        let except = resolve("except", &spec.except, columns, &[])?;
        let x = take("x", &spec.x)?.into_iter().filter(|name| !except.contains(name)).collect();
        Ok(Self { id, group, x, t, y, series, time, treated_at })
    }

    /// The columns of outcomes.
    pub(super) fn y(&self) -> &[String] {
        &self.y
    }

    /// The treatments that are declared to be of a kind, by `kinds` of all or each.
    pub(super) fn treatments_of_kind(
        &self,
        kinds: &[TreatmentKind],
        wanted: TreatmentKind,
    ) -> Result<Vec<String>, Problem> {
        let declared = kind_of_each("t_kind", "treatment", kinds, self.t.len())?;
        let of_kind = self.t.iter().zip(declared).filter(|(_, kind)| *kind == wanted);
        Ok(of_kind.map(|(name, _)| name.clone()).collect())
    }

    /// The declared kind of every outcome, by `kinds` of all or each.
    pub(super) fn outcome_kinds(&self, kinds: &[YKind]) -> Result<Vec<YKind>, Problem> {
        kind_of_each("y_kind", "outcome", kinds, self.y.len())
    }

    /// All columns with values, that is all except the ids and the subjects.
    pub(super) fn with_roles(&self) -> Vec<(String, ColumnRole)> {
        let all = |names: &[String], role: ColumnRole| {
            names.iter().map(|name| (name.clone(), role)).collect::<Vec<_>>()
        };
        // the outcomes of a long table are among its series
        let y = if self.time.is_some() { &[][..] } else { &self.y };
        [
            all(&self.x, ColumnRole::Covariate),
            all(&self.series, ColumnRole::Series),
            all(self.time.as_slice(), ColumnRole::Time),
            all(self.treated_at.as_slice(), ColumnRole::TreatedAt),
            all(&self.t, ColumnRole::Treatment),
            all(y, ColumnRole::Outcome),
        ]
        .concat()
    }

    /// The layout of a wide table.
    pub(super) fn wide_layout(
        &self,
        spec: &TableSpec,
        scans: &[ColumnScan],
        categorical: &[String],
    ) -> Result<Layout, Problem> {
        let mut x = array_block("x", &self.x, scans, categorical, spec)?;
        let mut y = array_block("y", &self.y, scans, categorical, spec)?;
        x.set_origins(scans);
        y.set_origins(scans);
        let mut layout = self.layout(spec, scans, categorical, TableForm::Wide { x, y });
        for column in layout.t.iter_mut().filter(|column| column.levels.is_none()) {
            column.origin = origin_of(&column.name, scans);
        }
        Ok(layout)
    }

    fn layout(
        &self,
        spec: &TableSpec,
        scans: &[ColumnScan],
        categorical: &[String],
        form: TableForm,
    ) -> Layout {
        Layout {
            id: self.id.clone(),
            group: self.group.clone(),
            t: treatment_columns(&self.t, scans, categorical),
            form,
            missing: spec.missing.clone(),
            delimiter: spec.delimiter,
            decimal: spec.decimal,
            sheet: spec.sheet.clone(),
        }
    }

    /// The layout and the units of a long table; the grid follows from the samples.
    pub(super) fn read_long(
        &self,
        spec: &TableSpec,
        scans: &[ColumnScan],
        categorical: &[String],
        input: &TableInput,
        summary: &mut ReadSummary,
    ) -> Result<(Layout, Option<UnitBatch>)> {
        let path = input.name();
        let at = |problem: Problem| problem.at(path);
        // the layout without its grid is enough to collect the samples
        let mut samples = self.sample_layout(spec, scans, categorical).map_err(at)?;
        let mut layout = self.layout(spec, scans, categorical, TableForm::Long(samples.clone()));
        let source = Source::open(input, &FileOptions::from(&layout), Some(&layout.columns()))?;
        let reading = Reading::new(&layout.missing, Decimal::new(layout.decimal));
        let columns = SampleColumns::new(&layout, &samples);
        let collected = Samples::collect(&columns, path, source, &reading, summary)?;
        let step = spec.step.map_or_else(|| collected.median_step(), Ok).map_err(at)?;
        samples.grid = collected.grid(step, spec.before, spec.after).map_err(at)?;
        layout.form = TableForm::Long(samples.clone());
        let batch = collected.to_batch(path, &layout, &samples, UnitRules::observed(true), summary)?;
        Ok((layout, batch))
    }

    fn sample_layout(
        &self,
        spec: &TableSpec,
        scans: &[ColumnScan],
        categorical: &[String],
    ) -> Result<SampleLayout, Problem> {
        let (x, y) = (GridRange { first: 0, last: 0 }, GridRange { first: 1, last: 1 });
        let dates = self.time_dates(spec, scans)?;
        Ok(SampleLayout {
            time: self.time.clone().unwrap_or_default(),
            series: self.series.clone(),
            outcomes: self.y.clone(),
            fixed: scalar_features(scans, &self.x, categorical, spec),
            treated_at: self.treatment_time(spec, dates.as_ref())?,
            grid: TimeGrid { step: 1.0, x, y },
            dates,
        })
    }

    /// How the times become numbers, if they are dates; the times of treatment must be of the same kind.
    fn time_dates(&self, spec: &TableSpec, scans: &[ColumnScan]) -> Result<Option<DateEncoding>, Problem> {
        let scan_of = |role: ColumnRole| scans.iter().find(|scan| scan.role == role);
        let is_date = |scan: &ColumnScan| scan.content(false) == ColumnContent::Dates;
        let Some(time) = scan_of(ColumnRole::Time) else { return Ok(None) };
        if let Some(treated_at) = scan_of(ColumnRole::TreatedAt).filter(|scan| is_date(scan) != is_date(time))
        {
            let problem = format!(
                "one of the columns `{}` and `{}` holds dates and the other numbers",
                time.name, treated_at.name
            );
            return Err(Problem::new(problem, "give both as dates, or both as numbers"));
        }
        let with_order = |encoding: DateEncoding| {
            // the two columns may show different things
            let order = encoding.order.or_else(|| {
                scan_of(ColumnRole::TreatedAt)
                    .and_then(|scan| scan.date_encoding(spec.date_format, false).order)
            });
            DateEncoding { order, ..encoding }
        };
        Ok(is_date(time).then(|| with_order(time.date_encoding(spec.date_format, false))))
    }

    /// The time of treatment. One that is a date becomes the number of days since the first.
    fn treatment_time(&self, spec: &TableSpec, dates: Option<&DateEncoding>) -> Result<TreatedAt, Problem> {
        let problem = |problem: &str, hint: &str| Err(Problem::new(format!("treated_at: {problem}"), hint));
        match (&spec.treated_at, dates) {
            (Some(TreatedAt::Column(name)), _) if self.treated_at.is_some() => {
                Ok(TreatedAt::Column(name.clone()))
            }
            (Some(TreatedAt::Column(text)), Some(dates)) => match parse_date(text, dates.order) {
                Some(date) => Ok(TreatedAt::Number(dates.days(date))),
                None => problem("the date is not clear", "write it as 2024-03-01"),
            },
            (Some(TreatedAt::Column(_)), None) => {
                problem("it is a date, but the times are numbers", "give a number, or a column")
            }
            (Some(TreatedAt::Number(_)), Some(_)) => problem(
                "it is a number, but the times are dates",
                "give a date such as 2024-03-01, or a column",
            ),
            (Some(TreatedAt::Number(time)), None) => Ok(TreatedAt::Number(*time)),
            (None, _) => Ok(TreatedAt::Number(0.0)),
        }
    }
}

/// Whether the time of treatment is a date rather than a column.
fn is_fixed_date(spec: &TableSpec, name: &str, columns: &[String]) -> bool {
    !columns.iter().any(|column| column == name) && read_date(name, spec.date_format) != DateText::Text
}

/// The kind of each of `columns` columns: the one of all, or its own; the default without kinds. `field` and `noun` are for messages.
fn kind_of_each<K: Copy + Default>(
    field: &str,
    noun: &str,
    kinds: &[K],
    columns: usize,
) -> Result<Vec<K>, Problem> {
    if kinds.len() > 1 && kinds.len() != columns {
        let s = if columns == 1 { "" } else { "s" };
        let problem = format!("{field}: {} kinds for {columns} {noun}{s}", kinds.len());
        return Err(Problem::new(problem, format!("give one kind for all {noun}s, or one for each")));
    }
    let kind = |j: usize| kinds.get(if kinds.len() == 1 { 0 } else { j }).copied().unwrap_or_default();
    Ok((0..columns).map(kind).collect())
}
