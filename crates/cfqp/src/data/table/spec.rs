//! The user's description of a table.

use serde::{Deserialize, Serialize};

use super::dates::DateOrder;
use super::treatment::TreatmentKind;
use super::y_kind::YKind;
use crate::error::{Error, Result};

/// Describes the columns of a table. Columns are given by name, as ranges `x0..x19` or with wildcards `bp_*`.
///
/// A wide table has one row per unit and needs `t` and `y`, and usually `x`. A long table has one row per sample and needs `id`,
/// `time`, `series`, `t` and `treated_at`: the samples up to the treatment are covariates, later ones are outcomes.
///
/// # Examples
/// ```
/// use cfqp::data::table::{TableSpec, TreatedAt};
///
/// let wide = TableSpec {
///     x: vec!["age".into(), "bp_*".into()],
///     t: vec!["dose".into()],
///     y: vec!["outcome".into()],
///     ..TableSpec::default()
/// };
/// wide.validate()?;
///
/// let long = TableSpec {
///     id: Some("patient".into()),
///     time: Some("minute".into()),
///     series: vec!["pa".into(), "pv".into()],
///     t: vec!["dose".into()],
///     treated_at: Some(TreatedAt::Number(20.0)),
///     ..TableSpec::default()
/// };
/// long.validate()?;
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableSpec {
    /// The covariates; in a long table, those that do not change with time.
    pub x: Vec<String>,
    /// Columns that the patterns of `x` leave out.
    pub except: Vec<String>,
    /// The treatments.
    pub t: Vec<String>,
    /// What the values of the treatments are: one for all, or one for each. By default, texts are levels.
    pub t_kind: Vec<TreatmentKind>,
    /// The outcomes; in a long table, the series that are outcomes (all by default).
    pub y: Vec<String>,
    /// What the values of the outcomes are: one for all, or one for each. By default as they look like. Not for long tables.
    pub y_kind: Vec<YKind>,
    /// The column that identifies a unit.
    pub id: Option<String>,
    /// The column that names the subject of a unit. Units of one subject may be anywhere in the table.
    pub group: Option<String>,
    /// The column with the time of a sample. Setting it makes the table a long one.
    pub time: Option<String>,
    /// The variables measured over time.
    pub series: Vec<String>,
    /// The time of treatment; samples at this time are still covariates.
    pub treated_at: Option<TreatedAt>,
    /// The time between two points of the grid that samples are placed on; by default the median time between samples.
    pub step: Option<f64>,
    /// The length of time before the treatment that covariates cover; by default all samples.
    pub before: Option<f64>,
    /// The length of time after the treatment that outcomes cover; by default all samples.
    pub after: Option<f64>,
    /// Covariates that are categories although they look like numbers.
    pub categorical: Vec<String>,
    /// Additional words that stand for a missing value.
    pub missing: Vec<String>,
    /// What separates the fraction of a number: `,` or `.`. By default a point, and numbers such as 1,234 are not guessed.
    pub decimal: Option<char>,
    /// The order of day and month in dates such as 03/04/2024, if the dates of a column do not show it.
    pub date_format: Option<DateOrder>,
    /// Whether dates that are covariates give their month and weekday too.
    pub date_parts: bool,
    /// The shape of a unit's x, if it does not follow from the list columns.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's y, if it does not follow from the list columns.
    pub y_shape: Vec<usize>,
    /// The delimiter of a CSV file; by default a comma, or a tab for the extension .tsv.
    pub delimiter: Option<char>,
    /// The sheet of a spreadsheet; by default the first.
    pub sheet: Option<String>,
}

/// The fields that a description must have.
pub(crate) const REQUIRED_FIELDS: &str = "a table with one row per unit needs `t` and `y`, and usually `x`; \
     one with one row per sample needs `id`, `time`, `series`, `t` and `treated_at`";

/// The time of treatment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TreatedAt {
    /// The same time for all units.
    Number(f64),
    /// The column with the time; or a date, if there is no such column and the times are dates.
    Column(String),
}

impl TableSpec {
    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Validates the description without looking at a table.
    ///
    /// # Errors
    /// An [`Error::Config`] that names the missing or invalid field.
    pub fn validate(&self) -> Result<()> {
        if self.t.is_empty() {
            return Err(missing("t", "the treatment"));
        }
        for (field, value) in [("step", self.step), ("before", self.before), ("after", self.after)] {
            if value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
                return Err(Error::config(field, "not a positive number", "give a length of time above 0"));
            }
        }
        if let Some(other) = self.decimal.filter(|decimal| !matches!(decimal, '.' | ',')) {
            let problem = format!("`{other}` is not a decimal separator");
            return Err(Error::config("decimal", problem, "give a point or a comma"));
        }
        if !self.except.is_empty() && self.x.is_empty() {
            let problem = "there are no covariates to leave columns out of";
            return Err(Error::config("except", problem, "give `x`, for example '*' for all other columns"));
        }
        match (&self.time, self.series.is_empty()) {
            (None, true) => self.check_wide(),
            (None, false) => Err(missing("time", "the time of a sample")),
            (Some(_), true) => Err(missing("series", "the variables measured over time")),
            (Some(_), false) => self.check_long(),
        }
    }

    fn check_wide(&self) -> Result<()> {
        if self.y.is_empty() {
            return Err(Error::config("y", "no column is given", REQUIRED_FIELDS));
        }
        let timed = [
            ("treated_at", self.treated_at.is_some()),
            ("step", self.step.is_some()),
            ("before", self.before.is_some()),
            ("after", self.after.is_some()),
        ];
        match timed.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((field, _)) => {
                let hint = "give the column with the time of a sample as `time`";
                Err(Error::config(field, "it applies only to a table with one row per sample", hint))
            }
        }
    }

    fn check_long(&self) -> Result<()> {
        if self.id.is_none() {
            return Err(missing("id", "the id of the unit that a row belongs to"));
        }
        if self.treated_at.is_none() {
            let hint = "give the time of treatment, or the column with it";
            return Err(Error::config("treated_at", "no time is given", hint));
        }
        Ok(())
    }
}

fn missing(field: &'static str, content: &str) -> Error {
    Error::config(field, "no column is given", format!("name the column with {content}"))
}
