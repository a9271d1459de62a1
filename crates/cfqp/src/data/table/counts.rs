//! What a table holds, as it is told before anything is trained.

use serde::Serialize;

use super::layout::{Block, Form, Grid, Layout};
use super::part::{Dropped, Tally};
use super::scan::Seen;
use crate::Dataset;

/// Fewest units that a fit accepts.
const LEAST_UNITS: usize = 20;

/// What was read, kept, dropped and found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Rows read.
    pub rows: usize,
    /// Units kept.
    pub units: usize,
    /// Units dropped, by reason.
    pub dropped: Vec<Dropped>,
    /// The shape of a unit's covariates.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's outcome.
    pub y_shape: Vec<usize>,
    /// Share of the elements of x that are missing in the units kept.
    pub x_missing: f64,
    /// Share of the elements of y that are missing in the units kept.
    pub y_missing: f64,
    /// Every column that is used.
    pub columns: Vec<ColumnCount>,
    /// Treatments of the units kept.
    pub treatments: Vec<Treatment>,
    /// Where samples were put, in a table of samples.
    pub grid: Option<Grid>,
    /// Samples that share their point of the grid with another.
    pub averaged: usize,
    /// Samples beyond the grid.
    pub outside: usize,
    /// What makes a fit impossible or pointless.
    pub problems: Vec<String>,
    /// What should be looked at.
    pub warnings: Vec<String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnCount {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: String,
    /// What it holds.
    pub kind: String,
    /// Cells that hold nothing.
    pub missing: usize,
    /// The least number.
    pub low: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The greatest number.
    pub high: Option<f64>,
    /// Whether it never changes.
    pub constant: bool,
    /// Its categories.
    pub categories: Option<Vec<String>>,
}

/// The treatments of all units, in one dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Treatment {
    /// The column.
    pub name: String,
    /// The least.
    pub low: f32,
    /// A tenth lies below.
    pub tenth: f32,
    /// Half lie below.
    pub median: f32,
    /// A tenth lies above.
    pub ninetieth: f32,
    /// The greatest.
    pub high: f32,
    /// How many different ones.
    pub distinct: usize,
}

impl Counts {
    pub(crate) fn new(seen: &[Seen], layout: &Layout, data: &Dataset, tally: &Tally) -> Self {
        let mut counts = Self {
            rows: tally.rows,
            dropped: tally.dropped(),
            columns: seen.iter().map(|seen| column(seen, layout)).collect(),
            grid: super::long::long(layout).map(|long| long.grid),
            averaged: tally.averaged,
            outside: tally.outside,
            ..Self::of_arrays(data)
        };
        counts.treatments.iter_mut().zip(&layout.t).for_each(|(t, name)| t.name.clone_from(name));
        counts.problems = counts.find_problems();
        counts.warnings = counts.find_warnings(seen);
        counts
    }

    /// What arrays hold: all units are kept, and there are no columns.
    pub fn of_arrays(data: &Dataset) -> Self {
        let missing = |units: &crate::Units| {
            let mask = units.mask().unwrap_or_default();
            mask.iter().filter(|seen| !**seen).count() as f64 / (units.len() * units.each()).max(1) as f64
        };
        let name = |j: usize| if data.t().each() == 1 { "t".to_owned() } else { format!("t{j}") };
        let mut counts = Self {
            rows: data.len(),
            units: data.len(),
            dropped: Vec::new(),
            x_shape: data.x().shape().to_vec(),
            y_shape: data.y().shape().to_vec(),
            x_missing: missing(data.x()),
            y_missing: missing(data.y()),
            columns: Vec::new(),
            treatments: (0..data.t().each()).map(|j| treatment(&name(j), j, data)).collect(),
            grid: None,
            averaged: 0,
            outside: 0,
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        counts.problems = counts.find_problems();
        counts.warnings = counts.find_warnings(&[]);
        counts
    }

    /// How many units were dropped.
    pub fn lost(&self) -> usize {
        self.dropped.iter().filter(|dropped| !dropped.why.starts_with("samples")).map(|d| d.units).sum()
    }

    fn find_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.units < LEAST_UNITS {
            problems.push(format!(
                "{} units are too few to fit a model on: give at least {LEAST_UNITS}",
                self.units
            ));
        }
        for t in self.treatments.iter().filter(|t| t.distinct < 2) {
            problems.push(format!(
                "the treatment `{}` is {} for every unit: nothing can be learned about others",
                t.name, t.low
            ));
        }
        let outcomes: Vec<&ColumnCount> = self.outcomes().collect();
        if !outcomes.is_empty() && outcomes.iter().all(|column| column.constant) {
            problems.push("the outcome never changes: there is nothing to explain".to_owned());
        }
        let (lost, all) = (self.lost(), self.lost() + self.units);
        if lost * 2 > all {
            problems.push(format!("{lost} of {all} units were dropped: see why above"));
        }
        problems
    }

    fn outcomes(&self) -> impl Iterator<Item = &ColumnCount> {
        self.columns.iter().filter(|column| column.role == "y" || column.role == "series")
    }

    fn find_warnings(&self, seen: &[Seen]) -> Vec<String> {
        let mut warnings = Vec::new();
        let (lost, all) = (self.lost(), self.lost() + self.units);
        if lost * 10 > all && lost * 2 <= all {
            warnings.push(format!("{lost} of {all} units were dropped"));
        }
        let named = |keep: &dyn Fn(&ColumnCount) -> bool| -> Vec<String> {
            self.columns.iter().filter(|column| keep(column)).map(|column| column.name.clone()).collect()
        };
        let constant = named(&|column| column.constant && matches!(&column.role[..], "x" | "y" | "series"));
        if !constant.is_empty() {
            warnings.push(format!("never changes: {}", super::names::listed(&constant)));
        }
        let empty = named(&|column| column.missing * 2 > self.rows && column.role != "t");
        if !empty.is_empty() {
            warnings.push(format!("more than half missing: {}", super::names::listed(&empty)));
        }
        for seen in seen.iter().filter(|seen| seen.ragged) {
            let name = &seen.name;
            warnings
                .push(format!("`{name}`: lists differ in length; short ones are padded with missing values"));
        }
        for t in self.treatments.iter().filter(|t| (2..=4).contains(&t.distinct)) {
            warnings.push(format!(
                "the treatment `{}` takes {} values only: ask about those, not about others",
                t.name, t.distinct
            ));
        }
        if self.outside > 0 {
            warnings.push(format!("{} samples lie beyond the grid and are not used", self.outside));
        }
        warnings
    }
}

fn column(seen: &Seen, layout: &Layout) -> ColumnCount {
    let features = match &layout.form {
        Form::Wide { x: Block::Features(features), .. } => &features[..],
        Form::Wide { .. } => &[],
        Form::Long(long) => &long.fixed[..],
    };
    let feature =
        features.iter().find(|feature| feature.name == seen.name && seen.role == super::scan::Role::X);
    let categories = feature.and_then(|feature| feature.categories.clone());
    let kind = match (&seen.list, &categories) {
        (Some(shape), _) => format!("list {shape:?}"),
        (None, Some(categories)) => format!("{} categories", categories.len()),
        (None, None) => "number".to_owned(),
    };
    let number = categories.is_none() && seen.numbers > 0;
    ColumnCount {
        name: seen.name.clone(),
        role: seen.role.name().to_owned(),
        kind,
        missing: seen.missing,
        low: number.then_some(seen.low),
        mean: seen.mean().filter(|_| number),
        high: number.then_some(seen.high),
        constant: if categories.is_some() { seen.categories.len() == 1 } else { seen.constant() },
        categories,
    }
}

fn treatment(name: &str, j: usize, data: &Dataset) -> Treatment {
    let mut values: Vec<f32> = (0..data.len()).map(|i| data.t().row(i)[j]).collect();
    values.sort_by(f32::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let distinct = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    Treatment {
        name: name.to_owned(),
        low: at(0.0),
        tenth: at(0.1),
        median: at(0.5),
        ninetieth: at(0.9),
        high: at(1.0),
        distinct,
    }
}
