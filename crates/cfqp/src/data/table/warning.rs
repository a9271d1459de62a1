//! Warnings about data that can be fitted, but for which the answers mean less than they seem to.

mod columns;
mod copies;
mod names;
mod repeats;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use columns::{covariate_columns, outcome_columns};
use copies::copied_columns;
use names::swapped_names;
use repeats::repeated_rows;
use values::{constant_columns, outcome_warning, rare_levels, size_warning, treatment_warnings};

use super::layout::Layout;
use super::names::list_names;
use crate::data::{Dataset, OutcomeKind};

/// The largest number of distinct values of a treatment that may be names rather than amounts.
pub(super) const MAX_POSSIBLE_LEVELS: usize = 4;

/// A finding that deserves attention. It is serialised with its `kind`, the `columns` it is about and its `text`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Many units were dropped.
    UnitsDropped {
        /// The number of units dropped.
        dropped: usize,
        /// The number of all units.
        all: usize,
    },
    /// Covariates or outcomes have one value only.
    ConstantColumns(Vec<String>),
    /// Covariates have the same value in nearly all units.
    NearlyConstantColumns(Vec<String>),
    /// Many cells of these columns are missing.
    SparseColumns {
        /// The columns.
        columns: Vec<String>,
        /// The share of missing cells of each.
        shares: Vec<f64>,
    },
    /// A repeated value, far from all others, may stand for a missing one.
    SuspiciousValue {
        /// The column.
        column: String,
        /// The value.
        value: f64,
        /// The number of cells with it.
        count: usize,
    },
    /// A column is read as categories although some of its cells are numbers.
    NumbersAmongTexts {
        /// The column.
        column: String,
        /// The number of cells that are numbers.
        numbers: usize,
        /// The number of cells that are texts.
        texts: usize,
    },
    /// Covariates that rise from row to row in whole numbers: probably ids.
    IdColumns(Vec<String>),
    /// There are no covariates.
    NoCovariates,
    /// The lists of a column differ in length.
    RaggedLists(String),
    /// Samples over time lie outside the grid.
    SamplesOutside(usize),
    /// An outcome has two values.
    TwoValuedOutcome {
        /// The outcome.
        outcome: String,
        /// The two values.
        values: [f32; 2],
    },
    /// An outcome has few values, all of them whole numbers.
    FewWholeNumbers {
        /// The outcome.
        outcome: String,
        /// The number of distinct values.
        values: usize,
    },
    /// Many values of an otherwise continuous outcome are 0.
    ManyZeros {
        /// The outcome.
        outcome: String,
        /// The share of zeros.
        share: f64,
    },
    /// A treatment has few values.
    FewTreatmentValues {
        /// The treatment.
        treatment: String,
        /// The number of distinct values.
        values: usize,
    },
    /// Few units received some values of a treatment.
    RareLevels {
        /// The treatment.
        treatment: String,
        /// The values, and the number of units that received each.
        levels: Vec<(String, usize)>,
    },
    /// A covariate copies a treatment or an outcome: the one can be computed from the other.
    CopiedColumn {
        /// The covariate.
        covariate: String,
        /// What it copies.
        copied: String,
        /// Whether that is an outcome.
        is_outcome: bool,
    },
    /// Units repeat the covariates, treatment and outcome of units before them.
    RepeatedUnits {
        /// The number of units that repeat another.
        repeated: usize,
        /// The number of all units.
        all: usize,
    },
    /// A treatment has the name of an outcome, or an outcome that of a treatment.
    SwappedNames {
        /// The treatment.
        treatment: String,
        /// The outcome.
        outcome: String,
    },
    /// There are few units.
    FewUnits(usize),
    /// There are few units for the number of covariates.
    FewUnitsPerCovariate {
        /// The number of units.
        units: usize,
        /// The number of covariates, with one for every category.
        covariates: usize,
    },
}

impl Warning {
    /// All warnings about `data`; `layout` gives the names of its columns.
    pub fn find(data: &Dataset, layout: Option<&Layout>) -> Vec<Self> {
        let (x, y) = (covariate_columns(data, layout), outcome_columns(data, layout));
        let mut warnings = constant_columns(data, &x, &y);
        let kinds = data.outcome_kinds();
        let numbers = y.iter().filter(|column| kinds[column.elements.clone()].contains(&OutcomeKind::Number));
        warnings.extend(numbers.filter_map(|column| outcome_warning(data.y(), column)));
        warnings.extend(treatment_warnings(data, layout));
        let has_covariates = layout.is_none_or(Layout::has_covariates);
        warnings.extend((!has_covariates).then_some(Self::NoCovariates));
        warnings.extend(rare_levels(data, layout));
        warnings.extend(copied_columns(data, layout));
        warnings.extend(repeated_rows(data));
        warnings.extend(layout.and_then(swapped_names));
        warnings.extend(size_warning(data));
        warnings
    }

    /// The name of the kind of warning.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnitsDropped { .. } => "units_dropped",
            Self::ConstantColumns(_) => "constant_columns",
            Self::NearlyConstantColumns(_) => "nearly_constant_columns",
            Self::SparseColumns { .. } => "sparse_columns",
            Self::SuspiciousValue { .. } => "suspicious_value",
            Self::NumbersAmongTexts { .. } => "numbers_among_texts",
            Self::IdColumns(_) => "id_columns",
            Self::NoCovariates => "no_covariates",
            Self::RaggedLists(_) => "ragged_lists",
            Self::SamplesOutside(_) => "samples_outside",
            Self::TwoValuedOutcome { .. } => "two_valued_outcome",
            Self::FewWholeNumbers { .. } => "few_whole_numbers",
            Self::ManyZeros { .. } => "many_zeros",
            Self::FewTreatmentValues { .. } => "few_treatment_values",
            Self::RareLevels { .. } => "rare_levels",
            Self::CopiedColumn { .. } => "copied_column",
            Self::RepeatedUnits { .. } => "repeated_units",
            Self::SwappedNames { .. } => "swapped_names",
            Self::FewUnits(_) => "few_units",
            Self::FewUnitsPerCovariate { .. } => "few_units_per_covariate",
        }
    }

    /// The text of a warning about an outcome.
    fn fmt_outcome(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoValuedOutcome { outcome, values: [low, high] } => write!(
                f,
                "the outcome `{outcome}` has two values, {low} and {high}: answers are not restricted to them, and \
                 intervals mean little; if they mean no and yes, say that its kind is yes-no"
            ),
            Self::FewWholeNumbers { outcome, values } => write!(
                f,
                "the outcome `{outcome}` has only {values} distinct values, all whole numbers: it is modelled as a \
                 continuous number, and intervals mean little; say if its kind is ordered, count or category"
            ),
            Self::ManyZeros { outcome, share } => write!(
                f,
                "the outcome `{outcome}` is 0 in {:.0}% of cases: noise around a mean does not describe that, and \
                 intervals mean little",
                100.0 * share
            ),
            _ => Ok(()),
        }
    }

    /// The text of a warning about the values of a column.
    fn fmt_column(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuspiciousValue { column, value, count } => write!(
                f,
                "`{column}` is {value} in {count} cells, far from all other values: if that stands for a missing value, \
                 add it to the missing values"
            ),
            Self::NumbersAmongTexts { column, numbers, texts } => write!(
                f,
                "`{column}` is read as categories: {texts} cells are texts and {numbers} are numbers"
            ),
            Self::IdColumns(columns) => write!(
                f,
                "covariates that only count the rows, as an id does: {}; leave them out",
                list_names(columns)
            ),
            Self::NoCovariates => f.write_str(
                "there are no covariates: an average effect is right only if the treatment was assigned at random",
            ),
            _ => Ok(()),
        }
    }

    /// The text of a warning about roles of columns or about rows.
    fn fmt_roles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RareLevels { treatment, levels } => {
                let level = |(level, units): &(String, usize)| format!("{level} ({units})");
                let levels: Vec<String> = levels.iter().map(level).collect();
                write!(
                    f,
                    "few units received these values of the treatment `{treatment}`: {}; answers about them rest on these \
                     units alone: leave them out or join levels",
                    levels.join(", ")
                )
            }
            Self::CopiedColumn { covariate, copied, is_outcome: false } => write!(
                f,
                "the covariate `{covariate}` tells the treatment `{copied}`: units that are alike in it were treated alike, so \
                 that no data show what another treatment does; leave it out, unless it decided on the treatment"
            ),
            Self::CopiedColumn { covariate, copied, is_outcome: true } => write!(
                f,
                "the covariate `{covariate}` tells the outcome `{copied}`: it leaves nothing for the treatment to explain; \
                 leave out what is known after the treatment only"
            ),
            Self::RepeatedUnits { repeated, all } => write!(
                f,
                "{repeated} of {all} units repeat the covariates, treatment and outcome of another: the same row counts several \
                 times, and classes and intervals are wrong; keep one of each, or say which units belong together (group)"
            ),
            Self::SwappedNames { treatment, outcome } => {
                write!(f, "the treatment is `{treatment}` and the outcome is `{outcome}`: are they swapped?")
            }
            _ => Ok(()),
        }
    }

    /// The columns that the warning is about; none if it is about the units.
    pub fn columns(&self) -> &[String] {
        match self {
            Self::ConstantColumns(columns)
            | Self::NearlyConstantColumns(columns)
            | Self::IdColumns(columns)
            | Self::SparseColumns { columns, .. } => columns,
            Self::RaggedLists(column)
            | Self::SuspiciousValue { column, .. }
            | Self::NumbersAmongTexts { column, .. }
            | Self::TwoValuedOutcome { outcome: column, .. }
            | Self::FewWholeNumbers { outcome: column, .. }
            | Self::ManyZeros { outcome: column, .. }
            | Self::FewTreatmentValues { treatment: column, .. }
            | Self::RareLevels { treatment: column, .. }
            | Self::CopiedColumn { covariate: column, .. }
            | Self::SwappedNames { treatment: column, .. } => std::slice::from_ref(column),
            Self::UnitsDropped { .. }
            | Self::SamplesOutside(_)
            | Self::NoCovariates
            | Self::RepeatedUnits { .. }
            | Self::FewUnits(_)
            | Self::FewUnitsPerCovariate { .. } => &[],
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitsDropped { dropped, all } => write!(f, "{dropped} of {all} units were dropped"),
            Self::ConstantColumns(columns) => write!(f, "constant columns: {}", list_names(columns)),
            Self::NearlyConstantColumns(columns) => {
                write!(f, "columns with one value in 99% of units or more: {}", list_names(columns))
            }
            Self::SparseColumns { columns, shares } => {
                let share = |(name, share): (&String, &f64)| format!("{name} ({:.0}%)", 100.0 * share);
                let names: Vec<String> = columns.iter().zip(shares).map(share).collect();
                write!(f, "many cells are missing: {}", list_names(&names))
            }
            Self::SuspiciousValue { .. }
            | Self::NumbersAmongTexts { .. }
            | Self::IdColumns(_)
            | Self::NoCovariates => self.fmt_column(f),
            Self::RaggedLists(column) => {
                write!(f, "`{column}`: the lists differ in length; short ones are padded with missing values")
            }
            Self::SamplesOutside(samples) => {
                write!(f, "{samples} samples are outside the grid and not used")
            }
            Self::TwoValuedOutcome { .. } | Self::FewWholeNumbers { .. } | Self::ManyZeros { .. } => {
                self.fmt_outcome(f)
            }
            Self::FewTreatmentValues { treatment, values } => {
                let names = match values {
                    0..=MAX_POSSIBLE_LEVELS => "; if they are names rather than amounts, declare a category",
                    _ => "",
                };
                write!(
                    f,
                    "the treatment `{treatment}` has only {values} distinct values: ask about those only, answers between \
                     them are interpolated{names}"
                )
            }
            Self::RareLevels { .. }
            | Self::CopiedColumn { .. }
            | Self::RepeatedUnits { .. }
            | Self::SwappedNames { .. } => self.fmt_roles(f),
            Self::FewUnits(units) => {
                write!(f, "{units} units are few: below about 100, intervals are wide and classes uncertain")
            }
            Self::FewUnitsPerCovariate { units, covariates } => write!(
                f,
                "{units} units are few for {covariates} covariates: below about 20 per covariate, leave out those that \
                 do not matter"
            ),
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("kind", self.kind())?;
        map.serialize_entry("columns", self.columns())?;
        map.serialize_entry("text", &self.to_string())?;
        map.end()
    }
}
