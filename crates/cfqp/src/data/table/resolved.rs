//! Resolves a description against the columns of a table.

use std::path::Path;

use super::blocks::{array_block, scalar_features};
use super::cells::MissingWords;
use super::layout::{GridRange, Layout, SampleLayout, TableForm, TimeGrid};
use super::names::{resolve, resolve_name};
use super::problem::Problem;
use super::read_summary::ReadSummary;
use super::role::ColumnRole;
use super::samples::{SampleColumns, Samples};
use super::scan::ColumnScan;
use super::source::Source;
use super::spec::{TableSpec, TreatedAt};
use super::unit_batch::UnitBatch;
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
        let x = take("x", &spec.x)?;
        Ok(Self { id, group, x, t, y, series, time, treated_at })
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
        let x = array_block("x", &self.x, scans, &spec.x_shape, categorical)?;
        let y = array_block("y", &self.y, scans, &spec.y_shape, categorical)?;
        Ok(self.layout(spec, TableForm::Wide { x, y }))
    }

    fn layout(&self, spec: &TableSpec, form: TableForm) -> Layout {
        let (id, t, missing) = (self.id.clone(), self.t.clone(), spec.missing.clone());
        Layout { id, group: self.group.clone(), t, form, missing, delimiter: spec.delimiter }
    }

    /// The layout and the units of a long table; the grid follows from the samples.
    pub(super) fn read_long(
        &self,
        spec: &TableSpec,
        scans: &[ColumnScan],
        categorical: &[String],
        path: &Path,
        summary: &mut ReadSummary,
    ) -> Result<(Layout, Option<UnitBatch>)> {
        let at = |problem: Problem| problem.at(path);
        // the layout without its grid is enough to collect the samples
        let mut samples = self.sample_layout(spec, scans, categorical);
        let mut layout = self.layout(spec, TableForm::Long(samples.clone()));
        let source = Source::open(path, spec.delimiter, Some(&layout.columns()))?;
        let missing_words = MissingWords::new(&spec.missing);
        let columns = SampleColumns::new(&layout, &samples);
        let collected = Samples::collect(&columns, path, source, &missing_words, summary)?;
        let step = spec.step.map_or_else(|| collected.median_step(), Ok).map_err(at)?;
        samples.grid = collected.grid(step, spec.before, spec.after).map_err(at)?;
        layout.form = TableForm::Long(samples.clone());
        let batch = collected.to_batch(&layout, &samples, true, summary)?;
        Ok((layout, batch))
    }

    fn sample_layout(&self, spec: &TableSpec, scans: &[ColumnScan], categorical: &[String]) -> SampleLayout {
        let (x, y) = (GridRange { first: 0, last: 0 }, GridRange { first: 1, last: 1 });
        SampleLayout {
            time: self.time.clone().unwrap_or_default(),
            series: self.series.clone(),
            outcomes: self.y.clone(),
            fixed: scalar_features(scans, &self.x, categorical),
            treated_at: spec.treated_at.clone().unwrap_or(TreatedAt::Number(0.0)),
            grid: TimeGrid { step: 1.0, x, y },
        }
    }
}
