//! What the columns of a table are: as a user says it, and as it was found.

use serde::{Deserialize, Serialize};

use super::problem::Problem;

/// How a user describes a table. Columns are named, as ranges `x0..x19` or with wildcards `bp_*`.
///
/// A wide table has a row per unit: `x`, `t`, `y`. A long one has a row per sample: `id`, `time`, `series`, `t` and
/// `treated_at`; then x is what was seen up to the treatment, y what was seen after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableSpec {
    /// Covariates; in a long table, those that do not change with time.
    pub x: Vec<String>,
    /// Treatments.
    pub t: Vec<String>,
    /// Outcomes; in a long table, the series that are outcomes, if not all are.
    pub y: Vec<String>,
    /// What a unit is called.
    pub id: Option<String>,
    /// When a sample was taken: makes the table a long one.
    pub time: Option<String>,
    /// What was measured over time.
    pub series: Vec<String>,
    /// When the treatment was given; samples at this time still belong to x.
    pub treated_at: Option<TreatedAt>,
    /// Time between two points of the grid that samples are put on; none: the usual distance of samples.
    pub step: Option<f64>,
    /// How long before the treatment x begins; none: with the first sample.
    pub before: Option<f64>,
    /// How long after the treatment y ends; none: with the last sample.
    pub after: Option<f64>,
    /// Covariates that are categories though they look like numbers.
    pub categorical: Vec<String>,
    /// Further words for a missing value.
    pub missing: Vec<String>,
    /// The shape of a unit's x, where list columns do not tell.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's y, where list columns do not tell.
    pub y_shape: Vec<usize>,
    /// What stands between the cells of a CSV file; none: a comma, or a tab where the name ends in .tsv.
    pub delimiter: Option<char>,
}

/// What must be said of a table.
pub(crate) const NEEDED: &str = "a table with a row per unit needs --x, --t and --y; \
                                 one with a row per sample needs --id, --time, --series, --t and --treated-at";

/// A moment, for all units or by a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TreatedAt {
    /// The same for all units.
    Number(f64),
    /// The column that holds it.
    Column(String),
}

impl TableSpec {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What can be said without looking at the table.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let lacks = |flag: &str, what: &str| {
            let name = flag.split(' ').next().unwrap_or(flag);
            Problem::new(format!("there is no {name}"), format!("name {what}, such as {flag}"))
        };
        if self.t.is_empty() {
            return Err(lacks("--t dose", "the column of the treatment"));
        }
        let positive = [("step", self.step), ("before", self.before), ("after", self.after)];
        for (name, value) in positive {
            if value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
                return Err(Problem::new(format!("{name} is not above 0"), "give a length of time"));
            }
        }
        match (&self.time, self.series.is_empty()) {
            (None, false) => Err(lacks("--time minute", "the column that says when a sample was taken")),
            (Some(_), true) => Err(lacks("--series pa,pv", "the columns that were measured over time")),
            (Some(_), false) if self.id.is_none() => {
                Err(lacks("--id patient", "the column that says which unit a row belongs to"))
            }
            (Some(_), false) if self.treated_at.is_none() => {
                Err(lacks("--treated-at 20", "the time of the treatment, or the column that holds it"))
            }
            (Some(_), false) => Ok(()),
            (None, true) => self.check_wide(),
        }
    }

    fn check_wide(&self) -> Result<(), Problem> {
        for (flag, columns) in [("--x", &self.x), ("--y", &self.y)] {
            if columns.is_empty() {
                return Err(Problem::new(format!("there is no {flag}"), NEEDED));
            }
        }
        let time =
            [self.treated_at.is_some(), self.step.is_some(), self.before.is_some(), self.after.is_some()];
        if time.contains(&true) {
            let problem = "there is no --time, but something is said about it";
            return Err(Problem::new(
                problem,
                "name the column that says when a sample was taken, by --time",
            ));
        }
        Ok(())
    }
}

/// What the columns of a table are, as a model remembers it: another table with these columns needs no description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// What a unit is called.
    pub id: Option<String>,
    /// Treatments.
    pub t: Vec<String>,
    /// Rows of units, or of samples.
    pub form: Form,
    /// Further words for a missing value.
    pub missing: Vec<String>,
    /// What stands between the cells of a CSV file.
    pub delimiter: Option<char>,
}

/// A row per unit, or a row per sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Form {
    /// A row per unit.
    Wide {
        /// Covariates.
        x: Block,
        /// Outcomes.
        y: Block,
    },
    /// A row per sample.
    Long(Long),
}

/// Columns that make one array per unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// A value per column, or one per category.
    Features(Vec<Feature>),
    /// Columns of lists, each a part of the array.
    Lists {
        /// The columns.
        columns: Vec<String>,
        /// The shape that every column's list has, or is padded to.
        each: Vec<usize>,
        /// The shape of the array.
        shape: Vec<usize>,
    },
}

/// A column with a value per row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The column.
    pub name: String,
    /// Its categories, each an element that is 1 where the cell holds it; none where cells are numbers.
    pub categories: Option<Vec<String>>,
}

/// Samples over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    /// When a sample was taken.
    pub time: String,
    /// What was measured: the channels of x.
    pub series: Vec<String>,
    /// Which of them are channels of y.
    pub outcomes: Vec<String>,
    /// Covariates that do not change with time: further, constant, channels of x.
    pub fixed: Vec<Feature>,
    /// When the treatment was given.
    pub treated_at: TreatedAt,
    /// Where samples are put.
    pub grid: Grid,
}

/// Points in time at equal distances, counted from the treatment: point k is k steps after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The distance.
    pub step: f64,
    /// The first and last point of x.
    pub x: (i64, i64),
    /// The first and last point of y.
    pub y: (i64, i64),
}

impl Grid {
    /// How many points x and y have.
    pub fn points(&self) -> (usize, usize) {
        ((self.x.1 - self.x.0 + 1) as usize, (self.y.1 - self.y.0 + 1) as usize)
    }

    /// The point nearest to a sample taken `after` the treatment, on its own side of it.
    pub(crate) fn point(step: f64, after: f64) -> i64 {
        let nearest = (after / step).round().clamp(-1e15, 1e15) as i64;
        if after > 0.0 { nearest.max(1) } else { nearest.min(0) }
    }
}

impl Feature {
    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.categories.as_ref().map_or(1, Vec::len)
    }

    /// What its elements are called.
    pub fn names(&self) -> Vec<String> {
        match &self.categories {
            None => vec![self.name.clone()],
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
            Self::Features(features) => vec![features.iter().map(Feature::elements).sum()],
            Self::Lists { shape, .. } => shape.clone(),
        }
    }

    /// The columns it is made of.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Features(features) => features.iter().map(|feature| feature.name.clone()).collect(),
            Self::Lists { columns, .. } => columns.clone(),
        }
    }
}

impl Layout {
    /// Every column that is read.
    pub fn columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self.id.iter().chain(&self.t).cloned().collect();
        match &self.form {
            Form::Wide { x, y } => columns.extend(x.columns().into_iter().chain(y.columns())),
            Form::Long(long) => {
                columns.push(long.time.clone());
                columns.extend(long.series.iter().cloned());
                columns.extend(long.fixed.iter().map(|feature| feature.name.clone()));
                if let TreatedAt::Column(name) = &long.treated_at {
                    columns.push(name.clone());
                }
            }
        }
        columns
    }

    /// The shapes of one unit's x and y.
    pub fn shapes(&self) -> (Vec<usize>, Vec<usize>) {
        match &self.form {
            Form::Wide { x, y } => (x.shape(), y.shape()),
            Form::Long(long) => {
                let (before, after) = long.grid.points();
                let fixed: usize = long.fixed.iter().map(Feature::elements).sum();
                (vec![long.series.len() + fixed, before], vec![long.outcomes.len(), after])
            }
        }
    }

    /// Whether the fields fit each other and are of a size that can be.
    pub(crate) fn is_sound(&self) -> bool {
        let grid = match &self.form {
            Form::Wide { .. } => true,
            Form::Long(long) => {
                let Grid { step, x, y } = long.grid;
                let bounded = |(low, high): (i64, i64)| low <= high && high.abs_diff(low) < 1 << 24;
                step.is_finite() && step > 0.0 && bounded(x) && bounded(y)
            }
        };
        let listed = |block: &Block| match block {
            Block::Features(features) => !features.is_empty(),
            Block::Lists { columns, each, shape } => {
                let count = |sides: &[usize]| sides.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
                let whole = count(each).and_then(|each| each.checked_mul(columns.len()));
                whole.is_some_and(|whole| whole > 0 && count(shape) == Some(whole))
            }
        };
        let blocks = match &self.form {
            Form::Wide { x, y } => listed(x) && listed(y),
            Form::Long(long) => !long.series.is_empty() && !long.outcomes.is_empty(),
        };
        grid && blocks && !self.t.is_empty()
    }
}
