//! The resolved description of a table, which a model stores.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::dates::{DateEncoding, PART_NAMES};
use super::spec::TreatedAt;
use super::treatment::TreatmentColumn;
use crate::data::OutcomeKind;

/// The columns of a table and their meaning, without patterns. A model stores it, so that another table with these
/// columns can be read without a description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The column that identifies a unit.
    pub id: Option<String>,
    /// The column that names the subject of a unit, if units share subjects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The treatments.
    pub t: Vec<TreatmentColumn>,
    /// One row per unit, or one row per sample.
    pub form: TableForm,
    /// Additional words that stand for a missing value.
    pub missing: Vec<String>,
    /// The delimiter of a CSV file; `None` for the usual one.
    pub delimiter: Option<char>,
    /// What separates the fraction of a number, `,` or `.`; `None` for a point, with numbers such as 1,234 not guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// The sheet of a spreadsheet; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

/// What one row of a table describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TableForm {
    /// One row per unit.
    Wide {
        /// The covariates.
        x: Block,
        /// The outcomes.
        y: Block,
    },
    /// One row per sample.
    Long(SampleLayout),
}

/// The columns that form one array per unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// One element per numeric column, one per category of the others, and one or more per date. Without columns, one
    /// element that is always 0.
    Features(Vec<Feature>),
    /// Columns of lists, which are concatenated.
    Lists {
        /// The columns.
        columns: Vec<String>,
        /// The shape that the lists of every column are padded to.
        #[serde(rename = "each")]
        column_shape: Vec<usize>,
        /// The shape of the array.
        shape: Vec<usize>,
    },
}

/// A column with one value per row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The name of the column.
    pub name: String,
    /// The categories, encoded as one 0/1 element each; `None` for a column of numbers or dates.
    pub categories: Option<Vec<String>>,
    /// How dates become numbers; `None` for other columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<DateEncoding>,
    /// The kind of an outcome; `None` for covariates. Yes or no with two `categories` is one element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeKind>,
    /// What is subtracted from numbers that differ in late digits only, before they are stored in single precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<f64>,
}

/// The layout of a table with one row per sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleLayout {
    /// The column with the time of a sample.
    pub time: String,
    /// The variables measured over time, the first channels of x.
    pub series: Vec<String>,
    /// The series that are channels of y.
    pub outcomes: Vec<String>,
    /// Covariates that do not change with time, the other, constant, channels of x.
    pub fixed: Vec<Feature>,
    /// The time of treatment.
    pub treated_at: TreatedAt,
    /// The grid that samples are placed on.
    pub grid: TimeGrid,
    /// How dates become times, in days, if the times are dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateEncoding>,
}

/// Equidistant points in time, counted from the treatment: point k is k steps after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeGrid {
    /// The time between two points.
    pub step: f64,
    /// The points of x, none of them after the treatment.
    pub x: GridRange,
    /// The points of y, all after the treatment.
    pub y: GridRange,
}

/// Consecutive points of a [`TimeGrid`], at least one. It is serialised as `[first, last]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, i64)", into = "(i64, i64)")]
pub struct GridRange {
    /// The first point.
    pub first: i64,
    /// The last point.
    pub last: i64,
}

impl From<(i64, i64)> for GridRange {
    fn from((first, last): (i64, i64)) -> Self {
        Self { first, last }
    }
}

impl From<GridRange> for (i64, i64) {
    fn from(range: GridRange) -> Self {
        (range.first, range.last)
    }
}

impl GridRange {
    /// The number of points.
    pub fn points(self) -> usize {
        (self.last - self.first + 1) as usize
    }

    pub(crate) fn contains(self, point: i64) -> bool {
        (self.first..=self.last).contains(&point)
    }

    fn is_sound(self) -> bool {
        const MAX_POINTS: u64 = 1 << 24;
        self.first <= self.last && self.last.abs_diff(self.first) < MAX_POINTS
    }
}

impl TimeGrid {
    /// The point nearest to a sample taken `time` after the treatment, on the same side of it.
    pub(crate) fn nearest_point(step: f64, time: f64) -> i64 {
        let nearest = (time / step).round().clamp(-1e15, 1e15) as i64;
        if time > 0.0 { nearest.max(1) } else { nearest.min(0) }
    }
}

/// The shapes of one unit's arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitShapes {
    /// The shape of x.
    pub x: Vec<usize>,
    /// The shape of y.
    pub y: Vec<usize>,
}

impl Feature {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), categories: None, date: None, outcome: None, origin: None }
    }

    /// Whether the column holds numbers, not categories or dates.
    pub(crate) fn is_number(&self) -> bool {
        self.categories.is_none() && self.date.is_none()
    }

    /// The number of elements that the column becomes.
    pub fn elements(&self) -> usize {
        match (&self.categories, &self.date) {
            (Some(_), _) if self.outcome == Some(OutcomeKind::YesNo) => 1,
            (Some(categories), _) => categories.len(),
            (None, Some(date)) => date.elements(),
            (None, None) => 1,
        }
    }

    /// The names of the elements.
    pub fn names(&self) -> Vec<String> {
        match &self.categories {
            None if self.date.is_some_and(|date| date.parts) => {
                let parts = PART_NAMES.iter().map(|part| format!("{} {part}", self.name));
                [self.name.clone()].into_iter().chain(parts).collect()
            }
            None => vec![self.name.clone()],
            Some(_) if self.outcome == Some(OutcomeKind::YesNo) => vec![self.name.clone()],
            Some(categories) => {
                categories.iter().map(|category| format!("{}={category}", self.name)).collect()
            }
        }
    }
}

impl Block {
    /// The shape of one unit's array.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Self::Features(features) => vec![features.iter().map(Feature::elements).sum::<usize>().max(1)],
            Self::Lists { shape, .. } => shape.clone(),
        }
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Features(features) => features.iter().map(|feature| feature.name.clone()).collect(),
            Self::Lists { columns, .. } => columns.clone(),
        }
    }
}

impl Layout {
    /// The number of values of a unit.
    pub(crate) fn unit_elements(&self) -> usize {
        let UnitShapes { x, y } = self.shapes();
        let product = |shape: &[usize]| shape.iter().fold(1_usize, |size, &side| size.saturating_mul(side));
        product(&x).saturating_add(product(&y)).saturating_add(self.treatment_elements())
    }

    /// The names of all columns that are read.
    pub fn columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self.id.iter().chain(&self.group).cloned().collect();
        columns.extend(self.t.iter().map(|column| column.name.clone()));
        match &self.form {
            TableForm::Wide { x, y } => columns.extend(x.columns().into_iter().chain(y.columns())),
            TableForm::Long(samples) => {
                columns.push(samples.time.clone());
                columns.extend(samples.series.iter().cloned());
                columns.extend(samples.fixed.iter().map(|feature| feature.name.clone()));
                if let TreatedAt::Column(name) = &samples.treated_at {
                    columns.push(name.clone());
                }
            }
        }
        columns
    }

    /// The names of the columns of outcomes.
    pub(crate) fn outcome_columns(&self) -> Vec<String> {
        match &self.form {
            TableForm::Wide { y, .. } => y.columns(),
            TableForm::Long(samples) => samples.outcomes.clone(),
        }
    }

    /// The columns of outcomes with their elements of y; empty unless they are columns of single values.
    pub(crate) fn outcome_features(&self) -> Vec<(Range<usize>, &Feature)> {
        let TableForm::Wide { y: Block::Features(features), .. } = &self.form else { return Vec::new() };
        let mut end = 0;
        let place = |feature| {
            let start = end;
            end += Feature::elements(feature);
            (start..end, feature)
        };
        features.iter().map(place).collect()
    }

    /// Whether there are covariates. Units of a table without any have an x of one element that is always 0.
    pub fn has_covariates(&self) -> bool {
        match &self.form {
            TableForm::Wide { x, .. } => !x.columns().is_empty(),
            TableForm::Long(_) => true,
        }
    }

    /// The layout of the samples, if the table has one row per sample.
    pub fn samples(&self) -> Option<&SampleLayout> {
        match &self.form {
            TableForm::Long(samples) => Some(samples),
            TableForm::Wide { .. } => None,
        }
    }

    /// The shapes of one unit's x and y.
    pub fn shapes(&self) -> UnitShapes {
        match &self.form {
            TableForm::Wide { x, y } => UnitShapes { x: x.shape(), y: y.shape() },
            TableForm::Long(samples) => {
                let fixed: usize = samples.fixed.iter().map(Feature::elements).sum();
                UnitShapes {
                    x: vec![samples.series.len() + fixed, samples.grid.x.points()],
                    y: vec![samples.outcomes.len(), samples.grid.y.points()],
                }
            }
        }
    }

    /// Whether the fields are consistent and of a plausible size.
    pub(crate) fn is_sound(&self) -> bool {
        let is_form_sound = match &self.form {
            TableForm::Wide { x, y } => x.is_sound() && y.is_sound() && !y.columns().is_empty(),
            TableForm::Long(samples) => samples.is_sound(),
        };
        is_form_sound && !self.t.is_empty() && self.t.iter().all(TreatmentColumn::is_sound)
    }
}

impl Block {
    fn is_sound(&self) -> bool {
        match self {
            Self::Features(features) => {
                features.iter().all(|feature| feature.origin.is_none_or(f64::is_finite))
            }
            Self::Lists { columns, column_shape, shape } => {
                let count = |sides: &[usize]| sides.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
                let total = count(column_shape).and_then(|size| size.checked_mul(columns.len()));
                total.is_some_and(|total| total > 0 && count(shape) == Some(total))
            }
        }
    }
}

impl SampleLayout {
    fn is_sound(&self) -> bool {
        let TimeGrid { step, x, y } = self.grid;
        let is_grid_sound = step.is_finite() && step > 0.0 && x.is_sound() && y.is_sound();
        is_grid_sound && !self.series.is_empty() && !self.outcomes.is_empty()
    }
}
