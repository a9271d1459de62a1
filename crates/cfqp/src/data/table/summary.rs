//! A summary of a table: what was read, what the columns hold, and whether it can be used for a fit.

use serde::Serialize;

use super::layout::{Block, Layout, TableForm, TimeGrid};
use super::origin::relative_name;
use super::read_summary::{DroppedUnits, ReadSummary};
use super::role::ColumnRole;
use super::scan::{ColumnContent, ColumnScan};
use super::treatment::TreatmentColumn;
use super::warning::{MAX_POSSIBLE_LEVELS, Warning};
use crate::data::extremes::Suspect;
use crate::data::{Dataset, MIN_SUBJECTS, MIN_UNITS, OutcomeKind, Units};

/// The share of missing cells above which a column has many.
const MAX_MISSING_SHARE: f64 = 0.3;

/// What was read from a table or an array file, and whether a model can be fitted to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableSummary {
    /// The number of rows read.
    pub rows: usize,
    /// The number of units kept.
    pub units: usize,
    /// The number of subjects among them, if units share subjects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<usize>,
    /// The units and samples dropped, by reason.
    pub dropped: Vec<DroppedUnits>,
    /// The shape of a unit's covariates.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's outcome.
    pub y_shape: Vec<usize>,
    /// The share of missing elements of x among the units kept.
    pub x_missing: f64,
    /// The share of missing elements of y among the units kept.
    pub y_missing: f64,
    /// All columns that are used.
    pub columns: Vec<ColumnSummary>,
    /// The treatments of the units kept that are numbers.
    pub treatments: Vec<TreatmentSummary>,
    /// The treatments of the units kept that have levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub treatment_levels: Vec<LevelSummary>,
    /// The grid that samples were placed on, for a table with one row per sample.
    pub grid: Option<TimeGrid>,
    /// The number of samples averaged with another at the same point of the grid.
    pub averaged: usize,
    /// The number of samples outside the grid.
    pub outside: usize,
    /// Reasons why a fit is impossible or pointless.
    pub problems: Vec<String>,
    /// Findings that deserve attention.
    pub warnings: Vec<Warning>,
}

/// The content of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// The name.
    pub name: String,
    /// What the column is used for.
    pub role: ColumnRole,
    /// The kind of its cells, such as `number`, `3 categories` or `list [2, 5]`.
    pub kind: String,
    /// The number of missing cells.
    pub missing: usize,
    /// The smallest number.
    pub min: Option<f64>,
    /// The mean of the numbers.
    pub mean: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
    /// Whether all cells are equal.
    pub constant: bool,
    /// The categories of a categorical column.
    pub categories: Option<Vec<String>>,
    /// The number of cells of each category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category_counts: Option<Vec<usize>>,
    /// How cells were read that are not plain numbers or categories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The distribution of one treatment over the units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreatmentSummary {
    /// The column.
    pub name: String,
    /// The smallest value.
    pub min: f32,
    /// The 10% quantile.
    pub p10: f32,
    /// The median.
    pub median: f32,
    /// The 90% quantile.
    pub p90: f32,
    /// The largest value.
    pub max: f32,
    /// The number of distinct values.
    pub distinct: usize,
    /// The distinct values, if there are at most four: they may be names of levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f32>,
}

/// The levels of one treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelSummary {
    /// The column.
    pub name: String,
    /// The levels, the reference first.
    pub levels: Vec<LevelCount>,
}

/// The number of units with one level of a treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelCount {
    /// The level.
    pub level: String,
    /// The number of units kept.
    pub units: usize,
}

/// The units and subjects of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub units: usize,
    /// None if every unit is its own subject.
    pub subjects: Option<usize>,
}

impl TableSummary {
    /// The summary of a table with `counted` units; `data` are those units, or a sample of them.
    pub(crate) fn new(
        scans: &[ColumnScan],
        categorical: &[String],
        layout: &Layout,
        data: &Dataset,
        counted: Counted,
        read: &ReadSummary,
    ) -> Self {
        let mut summary = Self {
            rows: read.rows,
            units: counted.units,
            subjects: counted.subjects,
            dropped: read.dropped(),
            columns: scans.iter().map(|scan| ColumnSummary::new(scan, layout)).collect(),
            grid: layout.samples().map(|samples| samples.grid),
            averaged: read.averaged,
            outside: read.outside,
            ..Self::from_arrays(data)
        };
        (summary.treatments, summary.treatment_levels) = summarise_treatments(layout, data);
        let is_wide = layout.samples().is_none();
        let numbers = scans.iter().zip(&summary.columns).filter(|(_, column)| column.categories.is_none());
        summary.problems = numbers.flat_map(|(scan, _)| scan.value_problems(is_wide)).collect();
        summary.problems.extend(summary.find_problems());
        summary.warnings = summary.find_warnings(scans, Warning::find(data, Some(layout)));
        summary.warnings.extend(suspicious_columns(scans, categorical));
        summary
    }

    /// The summary of a data set from an array file, which has no columns and drops no units.
    pub fn from_arrays(data: &Dataset) -> Self {
        let name = |j: usize| if data.t().elements() == 1 { "t".to_owned() } else { format!("t{j}") };
        let mut summary = Self {
            rows: data.len(),
            units: data.len(),
            subjects: data.subjects(),
            dropped: Vec::new(),
            x_shape: data.x().shape().to_vec(),
            y_shape: data.y().shape().to_vec(),
            x_missing: missing_share(data.x()),
            y_missing: missing_share(data.y()),
            columns: Vec::new(),
            treatments: (0..data.t().elements()).map(|j| TreatmentSummary::new(name(j), j, data)).collect(),
            treatment_levels: Vec::new(),
            grid: None,
            averaged: 0,
            outside: 0,
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        summary.problems = summary.find_problems();
        summary.problems.extend(data.check_scales().err().map(|error| match error.hint() {
            Some(hint) => format!("{error}: {hint}"),
            None => error.to_string(),
        }));
        summary.warnings = summary.find_warnings(&[], Warning::find(data, None));
        summary
    }

    /// The number of units dropped.
    pub fn dropped_units(&self) -> usize {
        self.dropped.iter().filter(|dropped| !dropped.reason.is_about_samples()).map(|d| d.count).sum()
    }

    fn find_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.units < MIN_UNITS {
            problems
                .push(format!("{} units are too few to fit a model: give at least {MIN_UNITS}", self.units));
        }
        if let Some(subjects) = self.subjects.filter(|subjects| *subjects < MIN_SUBJECTS) {
            problems.push(format!(
                "{subjects} subjects are too few to fit a model: give at least {MIN_SUBJECTS}"
            ));
        }
        for t in self.treatments.iter().filter(|t| t.distinct < 2) {
            problems.push(format!(
                "the treatment `{}` is {} for every unit: its effect cannot be learned",
                t.name, t.min
            ));
        }
        for treatment in &self.treatment_levels {
            for LevelCount { level, .. } in treatment.levels.iter().filter(|level| level.units == 0) {
                problems.push(format!(
                    "no unit kept received the level `{level}` of the treatment `{}`: its effect cannot be learned",
                    treatment.name
                ));
            }
        }
        let is_outcome =
            |column: &&ColumnSummary| matches!(column.role, ColumnRole::Outcome | ColumnRole::Series);
        let mut outcomes = self.columns.iter().filter(is_outcome).peekable();
        if outcomes.peek().is_some() && outcomes.all(|column| column.constant) {
            problems.push("the outcome is constant".to_owned());
        }
        let (dropped, all) = (self.dropped_units(), self.dropped_units() + self.units);
        if dropped * 2 > all {
            problems.push(format!("{dropped} of {all} units were dropped"));
        }
        problems
    }

    /// The warnings about the table, and those `about_data`.
    fn find_warnings(&self, scans: &[ColumnScan], about_data: Vec<Warning>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let (dropped, all) = (self.dropped_units(), self.dropped_units() + self.units);
        if dropped * 10 > all && dropped * 2 <= all {
            warnings.push(Warning::UnitsDropped { dropped, all });
        }
        warnings.extend(about_data);
        let share = |column: &ColumnSummary| column.missing as f64 / self.rows.max(1) as f64;
        let is_sparse = |column: &&ColumnSummary| share(column) > MAX_MISSING_SHARE;
        let sparse =
            self.columns.iter().filter(is_sparse).filter(|column| column.role != ColumnRole::Treatment);
        let (columns, shares): (Vec<String>, Vec<f64>) =
            sparse.map(|column| (column.name.clone(), share(column))).unzip();
        warnings.extend((!columns.is_empty()).then_some(Warning::SparseColumns { columns, shares }));
        let ragged = scans.iter().filter(|scan| scan.ragged);
        warnings.extend(ragged.map(|scan| Warning::RaggedLists(scan.name.clone())));
        warnings.extend((self.outside > 0).then_some(Warning::SamplesOutside(self.outside)));
        warnings
    }
}

impl ColumnSummary {
    fn new(scan: &ColumnScan, layout: &Layout) -> Self {
        let features = match &layout.form {
            TableForm::Wide { y: Block::Features(features), .. } if scan.role == ColumnRole::Outcome => {
                &features[..]
            }
            TableForm::Wide { x: Block::Features(features), .. } => &features[..],
            TableForm::Wide { .. } => &[],
            TableForm::Long(samples) => &samples.fixed[..],
        };
        let is_feature = matches!(scan.role, ColumnRole::Covariate | ColumnRole::Outcome);
        let feature = features.iter().find(|feature| is_feature && feature.name == scan.name);
        let categories = feature
            .and_then(|feature| feature.categories.clone())
            .or_else(|| levels_of_treatment(scan, layout));
        let is_time = matches!(scan.role, ColumnRole::Time | ColumnRole::TreatedAt);
        let of_times = layout.samples().filter(|_| is_time).and_then(|samples| samples.dates);
        let date = feature.and_then(|feature| feature.date).or(of_times);
        let outcome = feature.and_then(|feature| feature.outcome);
        let kind = match (&scan.list_shape, &categories) {
            (Some(shape), _) => format!("list {shape:?}"),
            _ if outcome.is_some_and(|kind| !matches!(kind, OutcomeKind::Number | OutcomeKind::Level(_))) => {
                outcome.map_or("", OutcomeKind::name).to_owned()
            }
            (None, Some(categories)) => format!("{} categories", categories.len()),
            (None, None) if date.is_some() => "date".to_owned(),
            (None, None) => "number".to_owned(),
        };
        let has_numbers = categories.is_none() && scan.numbers > 0;
        let note = match date {
            Some(date) => Some(format!("read as days since {}", date.format(0.0))),
            None => (has_numbers && scan.formatted > 0)
                .then(|| format!("{} in {} of {} cells", scan.removed, scan.formatted, scan.numbers)),
        };
        let counts = categories.as_ref().map(|categories| count_cells(scan, categories));
        Self {
            name: scan.name.clone(),
            role: scan.role,
            kind,
            missing: scan.missing,
            min: has_numbers.then_some(scan.extremes.min),
            mean: scan.mean().filter(|_| has_numbers),
            max: has_numbers.then_some(scan.extremes.max),
            constant: categories.as_ref().map_or_else(|| scan.is_constant(), |levels| levels.len() == 1),
            categories,
            category_counts: counts,
            note,
        }
    }
}

/// The levels of a treatment; none for other columns and numbers.
fn levels_of_treatment(scan: &ColumnScan, layout: &Layout) -> Option<Vec<String>> {
    let is_own = |column: &&TreatmentColumn| scan.role == ColumnRole::Treatment && column.name == scan.name;
    layout.t.iter().find(is_own)?.levels.clone()
}

/// The number of cells of each category.
fn count_cells(scan: &ColumnScan, categories: &[String]) -> Vec<usize> {
    let counts = scan.levels();
    categories.iter().map(|category| counts.get(category).copied().unwrap_or(0)).collect()
}

/// The treatments that are numbers, and those that have levels.
fn summarise_treatments(layout: &Layout, data: &Dataset) -> (Vec<TreatmentSummary>, Vec<LevelSummary>) {
    let (mut numbers, mut levels, mut start) = (Vec::new(), Vec::new(), 0);
    for column in &layout.t {
        let range = start..start + column.elements();
        match &column.levels {
            None => {
                let name = relative_name(&column.name, column.origin);
                numbers.push(TreatmentSummary::new(name, start, data));
            }
            Some(names) => {
                let units = |elements: &[f32]| {
                    (0..data.len()).filter(|&i| data.t().row(i)[range.clone()] == *elements).count()
                };
                let counts = column.level_elements().into_iter().map(|elements| units(&elements));
                let count = |(level, units): (&String, usize)| LevelCount { level: level.clone(), units };
                let counts = names.iter().zip(counts).map(count).collect();
                levels.push(LevelSummary { name: column.name.clone(), levels: counts });
            }
        }
        start = range.end;
    }
    (numbers, levels)
}

impl TreatmentSummary {
    fn new(name: String, j: usize, data: &Dataset) -> Self {
        let mut values: Vec<f32> = (0..data.len()).map(|i| data.t().row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        let mut distinct = values.clone();
        distinct.dedup();
        let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        Self {
            name,
            min: quantile(0.0),
            p10: quantile(0.1),
            median: quantile(0.5),
            p90: quantile(0.9),
            max: quantile(1.0),
            distinct: distinct.len(),
            values: if distinct.len() <= MAX_POSSIBLE_LEVELS { distinct } else { Vec::new() },
        }
    }
}

/// Warnings about columns with values that are probably not meant as they stand.
fn suspicious_columns(scans: &[ColumnScan], categorical: &[String]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let is_declared = |scan: &ColumnScan| categorical.contains(&scan.name);
    for scan in scans.iter().filter(|scan| scan.content(is_declared(scan)) == ColumnContent::Numbers) {
        for Suspect { value, count } in scan.extremes.suspects() {
            warnings.push(Warning::SuspiciousValue { column: scan.name.clone(), value, count });
        }
    }
    let is_mixed = |scan: &&ColumnScan| {
        scan.content(false) == ColumnContent::Categories && !scan.is_boolean() && scan.numbers > 0
    };
    for scan in scans.iter().filter(|scan| !is_declared(scan)).filter(is_mixed) {
        let (column, numbers, texts) = (scan.name.clone(), scan.numbers, scan.texts.count);
        warnings.push(Warning::NumbersAmongTexts { column, numbers, texts });
    }
    let is_count = |scan: &&ColumnScan| {
        let is_covariate = scan.role == ColumnRole::Covariate && scan.list_shape.is_none();
        is_covariate
            && scan.missing == 0
            && scan.content(is_declared(scan)) == ColumnContent::Numbers
            && scan.extremes.counts_rows()
    };
    let ids: Vec<String> = scans.iter().filter(is_count).map(|scan| scan.name.clone()).collect();
    warnings.extend((!ids.is_empty()).then_some(Warning::IdColumns(ids)));
    warnings
}

/// The share of the elements that were not observed.
fn missing_share(units: &Units) -> f64 {
    let mask = units.mask().unwrap_or_default();
    mask.iter().filter(|observed| !**observed).count() as f64 / (units.len() * units.elements()).max(1) as f64
}
