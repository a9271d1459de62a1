//! Counts of what was read from a table, and why units were dropped.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::problem::Problem;

/// Why a unit, or a single sample, was dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropReason {
    /// A cell has a category that the training data do not have.
    UnknownCategory {
        /// The column.
        column: String,
        /// The category.
        category: String,
    },
    /// A covariate that does not change with time is not a number.
    NotANumber {
        /// The column.
        column: String,
        /// The text of the cell.
        text: String,
    },
    /// A covariate that does not change with time is not a date.
    NotADate {
        /// The column.
        column: String,
        /// The text of the cell.
        text: String,
    },
    /// A list is larger than those of the training data.
    ListTooLarge {
        /// The column.
        column: String,
        /// The shape of the list.
        shape: Vec<usize>,
        /// The largest shape in the training data.
        limit: Vec<usize>,
    },
    /// A covariate is missing, and the model was fitted without missing covariates.
    MissingCovariate,
    /// No outcome was observed.
    MissingOutcome,
    /// No sample was taken up to the treatment.
    NoSamplesBefore,
    /// No sample was taken after the treatment.
    NoSamplesAfter,
    /// The id is missing.
    MissingId {
        /// The column.
        column: String,
    },
    /// The subject is missing.
    MissingSubject {
        /// The column.
        column: String,
    },
    /// The time of treatment is missing.
    MissingTreatmentTime,
    /// The treatment is missing.
    MissingTreatment,
    /// A sample has no id.
    SampleWithoutId {
        /// The column.
        column: String,
    },
    /// A sample has no time.
    SampleWithoutTime {
        /// The column.
        column: String,
    },
}

impl DropReason {
    /// Whether single samples are dropped, not whole units.
    pub fn is_about_samples(&self) -> bool {
        matches!(self, Self::SampleWithoutId { .. } | Self::SampleWithoutTime { .. })
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCategory { column, category } => {
                write!(f, "`{column}` is `{category}`, a category that the training data do not have")
            }
            Self::NotANumber { column, text } => write!(f, "`{column}` is `{text}`, which is not a number"),
            Self::NotADate { column, text } => write!(f, "`{column}` is `{text}`, which is not a date"),
            Self::ListTooLarge { column, shape, limit } => {
                write!(f, "`{column}` is a list of shape {shape:?}, which does not fit into {limit:?}")
            }
            Self::MissingCovariate => {
                f.write_str("a covariate is missing, but the training data have no missing covariates")
            }
            Self::MissingOutcome => f.write_str("no outcome was observed"),
            Self::NoSamplesBefore => f.write_str("no sample was taken up to the treatment"),
            Self::NoSamplesAfter => f.write_str("no sample was taken after the treatment"),
            Self::MissingId { column } | Self::SampleWithoutId { column } => {
                write!(f, "the id `{column}` is missing")
            }
            Self::MissingSubject { column } => write!(f, "the subject `{column}` is missing"),
            Self::MissingTreatmentTime => f.write_str("the time of treatment is missing"),
            Self::MissingTreatment => f.write_str("the treatment is missing"),
            Self::SampleWithoutTime { column } => write!(f, "the time `{column}` is missing"),
        }
    }
}

impl Serialize for DropReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The units, or samples, that were dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedUnits {
    /// Why they were dropped.
    pub reason: DropReason,
    /// How many were dropped.
    pub count: usize,
    /// The place or the id of the first one.
    pub first: String,
}

/// Counts of what was read from a table.
#[derive(Clone, Debug, Default)]
pub struct ReadSummary {
    /// The number of rows read.
    pub rows: usize,
    /// The number of units kept.
    pub units: usize,
    /// The number of samples outside the grid.
    pub outside: usize,
    /// The number of samples averaged with an earlier one at the same point of the grid.
    pub averaged: usize,
    dropped: BTreeMap<DropReason, Dropped>,
}

#[derive(Clone, Debug)]
struct Dropped {
    count: usize,
    first: String,
}

impl ReadSummary {
    /// The summary of `units` units from a file without rows to drop.
    pub fn for_units(units: usize) -> Self {
        Self { rows: units, units, ..Self::default() }
    }

    /// Counts a dropped unit or sample; `first` names its place if it is the first of its reason.
    pub(crate) fn count_dropped(&mut self, reason: DropReason, first: impl FnOnce() -> String) {
        self.dropped.entry(reason).or_insert_with(|| Dropped { count: 0, first: first() }).count += 1;
    }

    /// The dropped units and samples, by reason.
    pub fn dropped(&self) -> Vec<DroppedUnits> {
        let entries = self.dropped.iter();
        let dropped = entries.map(|(reason, Dropped { count, first })| DroppedUnits {
            reason: reason.clone(),
            count: *count,
            first: first.clone(),
        });
        dropped.collect()
    }

    /// The problem of a table without usable units.
    pub(crate) fn no_units(&self) -> Problem {
        let describe = |d: &DroppedUnits| format!("{} ({} dropped, first: {})", d.reason, d.count, d.first);
        let reasons: Vec<String> = self.dropped().iter().map(describe).collect();
        Problem::new(
            format!("no unit can be used: {}", reasons.join("; ")),
            "fix the table, or use other columns",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_units_are_counted_by_reason_with_the_first_place() {
        let mut summary = ReadSummary::default();
        for line in [3, 5, 7] {
            let reason = if line == 5 { DropReason::MissingOutcome } else { DropReason::MissingTreatment };
            summary.count_dropped(reason, || format!("line {line}"));
        }
        let dropped = summary.dropped();
        assert_eq!(dropped[1].reason, DropReason::MissingTreatment);
        assert_eq!((dropped[1].count, &dropped[1].first[..]), (2, "line 3"));
        let problem = summary.no_units().problem;
        assert!(problem.ends_with("the treatment is missing (2 dropped, first: line 3)"), "{problem}");
        assert_eq!(serde_json::to_value(&dropped[0]).unwrap()["reason"], "no outcome was observed");
    }
}
