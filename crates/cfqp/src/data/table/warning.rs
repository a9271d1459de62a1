//! Warnings about data that can be fitted, but for which the answers mean less than they seem to.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::layout::{Block, Feature, Layout, TableForm};
use super::names::list_names;
use crate::data::{Dataset, MIN_UNITS, OutcomeKind, Units};

/// A variable with at most this number of distinct values has few.
const MAX_FEW_VALUES: usize = 10;
/// The largest number of distinct values of a treatment that may be names rather than amounts.
pub(super) const MAX_POSSIBLE_LEVELS: usize = 4;
/// Distinct values say nothing unless there are this many observations of each on average.
const MIN_OBSERVATIONS_PER_VALUE: usize = 5;
/// The share of zeros above which a continuous outcome has many.
const MAX_ZERO_SHARE: f64 = 0.2;
/// The share of the most common value from which a covariate is nearly constant.
const NEARLY_CONSTANT_SHARE: f64 = 0.99;
/// Fewer units than this are few.
const MIN_SUFFICIENT_UNITS: usize = 100;
/// Fewer units than this per covariate are few.
const MIN_UNITS_PER_COVARIATE: usize = 20;

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
            | Self::FewTreatmentValues { treatment: column, .. } => std::slice::from_ref(column),
            Self::UnitsDropped { .. }
            | Self::SamplesOutside(_)
            | Self::NoCovariates
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

/// A column and its elements in x or y.
struct Column {
    name: String,
    elements: Range<usize>,
    /// The number of 0/1 elements per category, if the column is categorical.
    category: Option<usize>,
}

/// Cuts `elements` into columns of these names and sizes.
fn cut(sizes: impl IntoIterator<Item = (String, usize, Option<usize>)>) -> Vec<Column> {
    let mut start = 0;
    let column = |(name, size, category): (String, usize, Option<usize>)| {
        start += size;
        Column { name, elements: start - size..start, category }
    };
    sizes.into_iter().map(column).collect()
}

/// Columns of equal size.
fn equal(names: &[String], elements: usize) -> Vec<Column> {
    let size = elements / names.len().max(1);
    cut(names.iter().map(|name| (name.clone(), size, None)))
}

/// The name, the number of elements and that of elements per category of a column with one value per unit.
fn feature_size(feature: &Feature, points: usize) -> (String, usize, Option<usize>) {
    let category = feature.categories.as_ref().map(|_| points);
    (feature.name.clone(), feature.elements() * points, category)
}

/// The columns, of dates only the days without the months and weekdays.
fn without_parts(mut columns: Vec<Column>, features: &[Feature], points: usize) -> Vec<Column> {
    for column in &mut columns {
        if features.iter().any(|feature| feature.name == column.name && feature.date.is_some()) {
            column.elements.end = column.elements.start + points;
        }
    }
    columns
}

/// The names of arrays: `x`, or `x0`, `x1`, ... by feature or channel.
fn array_names(name: &str, shape: &[usize]) -> Vec<String> {
    if shape == [1] {
        return vec![name.to_owned()];
    }
    (0..shape[0]).map(|i| format!("{name}{i}")).collect()
}

/// The columns of x; none for images.
fn covariate_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Column> {
    let (shape, elements) = (data.x().shape(), data.x().elements());
    match layout.map(|layout| &layout.form) {
        _ if shape.len() > 2 => Vec::new(),
        Some(TableForm::Wide { x: Block::Features(features), .. }) => {
            without_parts(cut(features.iter().map(|feature| feature_size(feature, 1))), features, 1)
        }
        Some(TableForm::Wide { x: Block::Lists { columns, .. }, .. }) => equal(columns, elements),
        Some(TableForm::Long(samples)) => {
            let points = samples.grid.x.points();
            let series = samples.series.iter().map(|name| (name.clone(), points, None));
            let columns =
                cut(series.chain(samples.fixed.iter().map(|feature| feature_size(feature, points))));
            without_parts(columns, &samples.fixed, points)
        }
        None => equal(&array_names("x", shape), elements),
    }
}

/// The columns of y; none for images.
fn outcome_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Column> {
    let (shape, elements) = (data.y().shape(), data.y().elements());
    match layout.map(|layout| &layout.form) {
        _ if shape.len() > 2 => Vec::new(),
        Some(TableForm::Wide { y, .. }) => equal(&y.columns(), elements),
        Some(TableForm::Long(samples)) => equal(&samples.outcomes, elements),
        None => equal(&array_names("y", shape), elements),
    }
}

/// Calls `use_value` with every observed value of `elements`.
fn for_observed(units: &Units, elements: &Range<usize>, mut use_value: impl FnMut(f32)) {
    for i in 0..units.len() {
        let (row, mask) = (units.row(i), units.mask_row(i));
        for j in elements.clone().filter(|&j| mask.is_none_or(|mask| mask[j])) {
            use_value(row[j]);
        }
    }
}

/// The share of the most common value, if it is more than half; 0 otherwise.
fn majority_share(units: &Units, column: &Column) -> f64 {
    if let Some(size) = column.category {
        let first = column.elements.clone().step_by(size);
        let share = |j: usize| {
            let is_one = |i: &usize| units.row(*i)[j] == 1.0;
            (0..units.len()).filter(is_one).count() as f64 / units.len() as f64
        };
        return first.map(share).fold(0.0, f64::max);
    }
    // Boyer and Moore: only a value in the majority can survive all pairings with other values
    let (mut value, mut votes) = (f32::NAN, 0_u64);
    for_observed(units, &column.elements, |v| match votes {
        0 => (value, votes) = (v, 1),
        _ if v == value => votes += 1,
        _ => votes -= 1,
    });
    let (mut n, mut equal) = (0_u64, 0_u64);
    for_observed(units, &column.elements, |v| (n, equal) = (n + 1, equal + u64::from(v == value)));
    equal as f64 / n.max(1) as f64
}

fn constant_columns(data: &Dataset, x: &[Column], y: &[Column]) -> Vec<Warning> {
    let (mut constant, mut nearly) = (Vec::new(), Vec::new());
    for column in x {
        match majority_share(data.x(), column) {
            1.0 => constant.push(column.name.clone()),
            share if share >= NEARLY_CONSTANT_SHARE => nearly.push(column.name.clone()),
            _ => {}
        }
    }
    let is_constant = |column: &&Column| majority_share(data.y(), column) == 1.0;
    constant.extend(y.iter().filter(is_constant).map(|column| column.name.clone()));
    let mut known = HashSet::new();
    constant.retain(|name| known.insert(name.clone()));
    let constant = (!constant.is_empty()).then_some(Warning::ConstantColumns(constant));
    let nearly = (!nearly.is_empty()).then_some(Warning::NearlyConstantColumns(nearly));
    constant.into_iter().chain(nearly).collect()
}

/// The distinct values of a variable, as long as they are few, and its zeros.
#[derive(Default)]
struct Values {
    /// At most one more than [`MAX_FEW_VALUES`].
    distinct: Vec<f32>,
    n: usize,
    zeros: usize,
}

impl Values {
    fn new(units: &Units, elements: &Range<usize>) -> Self {
        let mut values = Self::default();
        for_observed(units, elements, |value| {
            values.n += 1;
            values.zeros += usize::from(value == 0.0);
            if values.distinct.len() <= MAX_FEW_VALUES && !values.distinct.contains(&value) {
                values.distinct.push(value);
            }
        });
        values.distinct.sort_by(f32::total_cmp);
        values
    }

    /// Whether there are few distinct values, each observed often enough.
    fn are_few(&self) -> bool {
        let count = self.distinct.len();
        (2..=MAX_FEW_VALUES).contains(&count) && self.n >= MIN_OBSERVATIONS_PER_VALUE * count
    }
}

fn outcome_warning(y: &Units, column: &Column) -> Option<Warning> {
    let (values, outcome) = (Values::new(y, &column.elements), column.name.clone());
    let share = values.zeros as f64 / values.n.max(1) as f64;
    match values.distinct[..] {
        [low, high] if values.are_few() => Some(Warning::TwoValuedOutcome { outcome, values: [low, high] }),
        _ if values.are_few() && values.distinct.iter().all(|value| value.fract() == 0.0) => {
            Some(Warning::FewWholeNumbers { outcome, values: values.distinct.len() })
        }
        _ if values.distinct.len() > MAX_FEW_VALUES && share > MAX_ZERO_SHARE => {
            Some(Warning::ManyZeros { outcome, share })
        }
        _ => None,
    }
}

fn treatment_warnings(data: &Dataset, layout: Option<&Layout>) -> Vec<Warning> {
    let columns = match layout {
        Some(layout) => cut(layout.t.iter().map(|column| (column.name.clone(), column.elements(), None))),
        None => equal(&array_names("t", data.t().shape()), data.t().elements()),
    };
    let has_levels = |j: usize| layout.is_some_and(|layout| layout.t[j].levels.is_some());
    let warning = |(j, column): (usize, Column)| {
        let values = Values::new(data.t(), &column.elements);
        let few = Warning::FewTreatmentValues { treatment: column.name, values: values.distinct.len() };
        (values.are_few() && !has_levels(j)).then_some(few)
    };
    columns.into_iter().enumerate().filter_map(warning).collect()
}

fn size_warning(data: &Dataset) -> Option<Warning> {
    let (units, covariates) = (data.len(), data.x().elements());
    if units < MIN_SUFFICIENT_UNITS {
        // a fit refuses fewer than the minimum
        return (units >= MIN_UNITS).then_some(Warning::FewUnits(units));
    }
    // the elements of a series or an image are not separate covariates
    let is_vector = data.x().shape().len() == 1;
    (is_vector && units < MIN_UNITS_PER_COVARIATE * covariates)
        .then_some(Warning::FewUnitsPerCovariate { units, covariates })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(
        n: usize,
        x: impl Fn(usize) -> Vec<f32>,
        t: impl Fn(usize) -> f32,
        y: impl Fn(usize) -> f32,
    ) -> Dataset {
        let width = x(0).len();
        let units = |width, values: Vec<f32>| Units::new("a", vec![width], values).unwrap();
        let x = units(width, (0..n).flat_map(x).collect());
        Dataset::new(x, units(1, (0..n).map(t).collect()), units(1, (0..n).map(y).collect())).unwrap()
    }

    fn continuous(i: usize) -> f32 {
        (i as f32 * 0.7).sin()
    }

    fn kinds(data: &Dataset) -> Vec<&'static str> {
        Warning::find(data, None).iter().map(Warning::kind).collect()
    }

    #[test]
    fn ordinary_data_give_no_warning() {
        assert!(kinds(&dataset(200, |i| vec![continuous(i), i as f32], continuous, continuous)).is_empty());
    }

    #[test]
    fn outcomes_that_are_not_continuous_are_found() {
        let outcome = |y: fn(usize) -> f32| kinds(&dataset(200, |i| vec![continuous(i)], continuous, y));
        assert_eq!(outcome(|i| (i % 2) as f32 + 1.0), ["two_valued_outcome"]);
        assert_eq!(outcome(|i| (i % 2) as f32), [""; 0], "yes or no has a likelihood of its own");
        assert_eq!(outcome(|i| (i % 5) as f32 - 2.0), ["few_whole_numbers"]);
        assert_eq!(outcome(|i| (i % 5) as f32), [""; 0], "counts");
        assert_eq!(outcome(|i| (i % 5) as f32 + 0.5), [""; 0], "a scale of halves may be continuous");
        assert_eq!(outcome(|i| if i % 4 == 0 { 0.0 } else { continuous(i) }), ["many_zeros"]);
        assert_eq!(outcome(|i| if i % 6 == 0 { 0.0 } else { continuous(i) + 2.0 }), [""; 0]);
        assert_eq!(outcome(|_| 3.0), ["constant_columns"]);
    }

    #[test]
    fn few_treatments_few_units_and_constant_covariates_are_found() {
        let x = |i: usize| vec![continuous(i)];
        let doses = dataset(200, x, |i| (i % 3) as f32, continuous);
        let found = Warning::find(&doses, None);
        assert_eq!(found, [Warning::FewTreatmentValues { treatment: "t".into(), values: 3 }]);
        assert!(found[0].to_string().contains("answers between them are interpolated"));
        assert_eq!(kinds(&dataset(99, x, continuous, continuous)), ["few_units"]);
        let wide = dataset(119, |i| (0..6).map(|j| continuous(i + j)).collect(), continuous, continuous);
        assert_eq!(Warning::find(&wide, None), [Warning::FewUnitsPerCovariate { units: 119, covariates: 6 }]);
        let constant = |i: usize| vec![continuous(i), 7.0, if i == 50 { 1.0 } else { 0.0 }];
        let found = Warning::find(&dataset(200, constant, continuous, continuous), None);
        let names = |name: &str| vec![name.to_owned()];
        assert_eq!(
            found,
            [Warning::ConstantColumns(names("x1")), Warning::NearlyConstantColumns(names("x2"))]
        );
    }

    #[test]
    fn a_handful_of_units_says_nothing_about_distinct_values() {
        assert!(kinds(&dataset(6, |i| vec![continuous(i)], |i| i as f32, |i| i as f32)).is_empty());
    }

    #[test]
    fn unobserved_values_do_not_count() {
        let plain = dataset(200, |i| vec![continuous(i)], continuous, |i| (i % 2) as f32);
        let mask: Vec<bool> = (0..200).map(|i| i % 2 == 0 || i < 40).collect();
        let values: Vec<f32> =
            (0..200).map(|i| if i < 40 { continuous(i) } else { (i % 2) as f32 }).collect();
        let y = Units::with_mask("y", vec![1], values, Some(mask)).unwrap();
        let data = Dataset::new(plain.x().clone(), plain.t().clone(), y).unwrap();
        assert_eq!(kinds(&data), ["many_zeros"]);
    }

    #[test]
    fn a_warning_is_serialised_with_its_kind_columns_and_text() {
        let warning = Warning::ManyZeros { outcome: "cost".into(), share: 0.345 };
        let json = serde_json::to_value(&warning).unwrap();
        assert_eq!((&json["kind"], &json["columns"][0]), (&"many_zeros".into(), &"cost".into()));
        assert!(
            json["text"].as_str().unwrap().starts_with("the outcome `cost` is 0 in 34% of cases"),
            "{json}"
        );
    }
}
