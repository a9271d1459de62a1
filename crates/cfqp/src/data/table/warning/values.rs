//! Warnings about the values of single columns and the number of units.

use std::collections::HashSet;
use std::ops::Range;

use super::super::layout::Layout;
use super::columns::{Column, treatment_columns};
use super::{MAX_POSSIBLE_LEVELS, Warning};
use crate::data::{Dataset, MIN_UNITS, Units};

/// A variable with at most this number of distinct values has few.
const MAX_FEW_VALUES: usize = 10;
/// Distinct values say nothing unless there are this many observations of each on average.
const MIN_OBSERVATIONS_PER_VALUE: usize = 5;
/// The share of zeros above which a continuous outcome has many.
const MAX_ZERO_SHARE: f64 = 0.2;
/// The share of the most common value from which a covariate is nearly constant.
const NEARLY_CONSTANT_SHARE: f64 = 0.99;
/// Fewer units than this with one value of a treatment are few.
const MIN_UNITS_PER_LEVEL: usize = 5;
/// Fewer units than this are few.
const MIN_SUFFICIENT_UNITS: usize = 100;
/// Fewer units than this per covariate are few.
const MIN_UNITS_PER_COVARIATE: usize = 20;

/// Calls `use_value` with every observed value of `elements`.
pub(super) fn for_observed(units: &Units, elements: &Range<usize>, mut use_value: impl FnMut(f32)) {
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

pub(super) fn constant_columns(data: &Dataset, x: &[Column], y: &[Column]) -> Vec<Warning> {
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

pub(super) fn outcome_warning(y: &Units, column: &Column) -> Option<Warning> {
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

pub(super) fn treatment_warnings(data: &Dataset, layout: Option<&Layout>) -> Vec<Warning> {
    let columns = treatment_columns(data, layout);
    let has_levels = |j: usize| layout.is_some_and(|layout| layout.t[j].levels.is_some());
    let warning = |(j, column): (usize, Column)| {
        let values = Values::new(data.t(), &column.elements);
        let few = Warning::FewTreatmentValues { treatment: column.name, values: values.distinct.len() };
        (values.are_few() && !has_levels(j)).then_some(few)
    };
    columns.into_iter().enumerate().filter_map(warning).collect()
}

/// Values of a treatment that few units received: of levels, or of at most four numbers.
pub(super) fn rare_levels(data: &Dataset, layout: Option<&Layout>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (j, column) in treatment_columns(data, layout).into_iter().enumerate() {
        let levels = layout.and_then(|layout| layout.t[j].levels.as_ref().map(|_| &layout.t[j]));
        let values: Vec<(String, Vec<f32>)> = match levels {
            Some(column) => column.levels.iter().flatten().cloned().zip(column.level_elements()).collect(),
            None => {
                let distinct = Values::new(data.t(), &column.elements).distinct;
                let few = distinct.into_iter().take(MAX_FEW_VALUES);
                few.map(|value| (value.to_string(), vec![value])).collect()
            }
        };
        if levels.is_none() && values.len() > MAX_POSSIBLE_LEVELS {
            continue;
        }
        let units = |elements: &Vec<f32>| {
            (0..data.len()).filter(|&i| data.t().row(i)[column.elements.clone()] == **elements).count()
        };
        let counted = values.iter().map(|(name, elements)| (name.clone(), units(elements)));
        let rare: Vec<(String, usize)> =
            counted.filter(|(_, units)| (1..MIN_UNITS_PER_LEVEL).contains(units)).collect();
        if !rare.is_empty() && data.len() >= MIN_UNITS {
            warnings.push(Warning::RareLevels { treatment: column.name, levels: rare });
        }
    }
    warnings
}

pub(super) fn size_warning(data: &Dataset) -> Option<Warning> {
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
