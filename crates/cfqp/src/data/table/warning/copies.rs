//! Covariates that copy the treatment or the outcome.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::super::layout::Layout;
use super::Warning;
use super::columns::{Column, covariate_columns, outcome_columns, treatment_columns};
use crate::data::{Dataset, Units};
use crate::math::mean;

/// The absolute rank correlation from which a number copies another.
const MIN_CORRELATION: f64 = 0.999;
/// The share of the units beside the most frequent value that a column with few values must tell to copy another.
const MIN_EXPLAINED: f64 = 0.99;
/// A column with at most this number of distinct values has few.
const MAX_FEW_VALUES: usize = 20;
/// The smallest mean number of units with the same value, and of units beside the most frequent value.
const MIN_UNITS_PER_VALUE: usize = 5;
/// The smallest number of units with both values, and the largest number of units that are looked at.
const MIN_PAIRS: usize = 20;
const MAX_UNITS: usize = 5000;
/// The largest number of outcomes that are looked at.
const MAX_OUTCOMES: usize = 16;

/// The warnings about covariates that tell a treatment or an outcome. Series and images are not looked at.
pub(super) fn copied_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Warning> {
    if data.x().shape().len() != 1 || data.len() < MIN_PAIRS {
        return Vec::new();
    }
    let rows = data.even_sample(data.len().div_ceil(MAX_UNITS));
    let read = |units: &Units, columns: Vec<Column>| -> Vec<(String, Profile)> {
        let own = columns.into_iter().filter(|column| !column.elements.is_empty());
        own.map(|column| (column.name, Profile::new(units, &column.elements, &rows))).collect()
    };
    let outcomes: Vec<Column> = match data.y().shape().len() {
        1 => outcome_columns(data, layout).into_iter().take(MAX_OUTCOMES).collect(),
        _ => Vec::new(),
    };
    let treatments = read(data.t(), treatment_columns(data, layout));
    let outcomes = read(data.y(), outcomes);
    let mut warnings = Vec::new();
    for (covariate, profile) in read(data.x(), covariate_columns(data, layout)) {
        let copied = |targets: &[(String, Profile)], is_outcome: bool| -> Vec<Warning> {
            let own = targets.iter().filter(|(_, target)| profile.tells(target));
            own.map(|(copied, _)| Warning::CopiedColumn {
                covariate: covariate.clone(),
                copied: copied.clone(),
                is_outcome,
            })
            .collect()
        };
        warnings.extend(copied(&treatments, false));
        warnings.extend(copied(&outcomes, true));
    }
    warnings
}

/// The values of a column.
struct Profile {
    /// Of a single number: the values, NaN where missing.
    numbers: Option<Vec<f64>>,
    /// Of few values: the value of every unit by its number; none where missing.
    codes: Option<Vec<Option<usize>>>,
}

impl Profile {
    fn new(units: &Units, elements: &Range<usize>, rows: &[usize]) -> Self {
        let observed = |i: usize| units.mask_row(i).is_none_or(|mask| elements.clone().all(|j| mask[j]));
        let is_single = elements.len() == 1;
        let number =
            |&i: &usize| if observed(i) { f64::from(units.row(i)[elements.start]) } else { f64::NAN };
        let mut known = HashMap::<Vec<u32>, usize>::new();
        let codes: Vec<Option<usize>> = rows
            .iter()
            .map(|&i| {
                let next = known.len();
                let key = units.row(i)[elements.clone()].iter().map(|value| value.to_bits()).collect();
                observed(i).then(|| *known.entry(key).or_insert(next))
            })
            .collect();
        Self {
            numbers: is_single.then(|| rows.iter().map(number).collect()),
            codes: (known.len() <= MAX_FEW_VALUES).then_some(codes),
        }
    }

    /// Whether the values of `target` follow from these.
    fn tells(&self, target: &Self) -> bool {
        if let (Some(own), Some(others)) = (&self.codes, &target.codes) {
            return tells_codes(own, others);
        }
        match (&self.numbers, &target.numbers) {
            // a number of few values is not the rank of one of many
            (Some(own), Some(others)) if self.codes.is_none() && target.codes.is_none() => {
                rank_correlation(own, others).abs() >= MIN_CORRELATION
            }
            _ => false,
        }
    }
}

/// Whether nearly all units with the same first value have the same second one, and second values differ.
fn tells_codes(own: &[Option<usize>], others: &[Option<usize>]) -> bool {
    let mut counts = BTreeMap::<(usize, usize), usize>::new();
    let (mut of_own, mut of_others) = (BTreeMap::<usize, usize>::new(), BTreeMap::<usize, usize>::new());
    let pairs = own.iter().zip(others).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    for (a, b) in pairs {
        *counts.entry((a, b)).or_default() += 1;
        *of_own.entry(a).or_default() += 1;
        *of_others.entry(b).or_default() += 1;
    }
    let n: usize = of_own.values().sum();
    let most = of_others.values().max().copied().unwrap_or(0);
    if n < MIN_PAIRS || n < MIN_UNITS_PER_VALUE * of_own.len() || n - most < MIN_UNITS_PER_VALUE {
        return false;
    }
    let mut told = BTreeMap::<usize, usize>::new();
    counts.iter().for_each(|(&(a, _), &count)| {
        let largest = told.entry(a).or_default();
        *largest = count.max(*largest);
    });
    let told: usize = told.values().sum();
    (told - most) as f64 >= MIN_EXPLAINED * (n - most) as f64
}

/// Spearman's rank correlation over units with both values, with mean ranks of equal values; 0 if there are too few.
fn rank_correlation(own: &[f64], others: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> =
        own.iter().zip(others).filter(|(a, b)| !a.is_nan() && !b.is_nan()).map(|(a, b)| (*a, *b)).collect();
    if pairs.len() < MIN_PAIRS {
        return 0.0;
    }
    let (own, others): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let (own, others) = (ranks(&own), ranks(&others));
    let (mean_own, mean_others) = (mean(&own), mean(&others));
    let (mut product, mut squares) = (0.0, (0.0, 0.0));
    for (a, b) in own.iter().zip(&others) {
        let (a, b) = (a - mean_own, b - mean_others);
        product += a * b;
        squares = (squares.0 + a * a, squares.1 + b * b);
    }
    let scale = (squares.0 * squares.1).sqrt();
    if scale > 0.0 { product / scale } else { 0.0 }
}

/// The ranks of values, the mean rank of equal ones.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count();
        let rank = start as f64 + 0.5 * (equal as f64 - 1.0);
        order[start..start + equal].iter().for_each(|&i| ranks[i] = rank);
        start += equal;
    }
    ranks
}
