//! Units that repeat others.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::Warning;
use crate::data::{Dataset, Units};

/// The share of units that repeat another, and their number, from which they are worth a warning.
const MIN_REPEATED_SHARE: f64 = 0.02;
const MIN_REPEATED: usize = 5;
/// Different units have different values, of one column and of covariates and treatment together, in this share of cases at least:
/// else values are so coarse that units are equal by chance.
const MIN_DISTINCT_SHARE: f64 = 0.9;
/// As many equal units or more are equal by chance.
const MAX_COPIES: usize = 20;
/// The most elements of x and of y that are searched for such a value.
const MAX_ELEMENTS: usize = 64;

/// The warning that units of other subjects have the same covariates, treatment and outcome. Silent where this happens by chance.
pub(super) fn repeated_rows(data: &Dataset) -> Option<Warning> {
    let parts = [data.x(), data.t(), data.y()];
    let group = |i: usize| data.groups().map_or(i as u32, |groups| groups[i]);
    let (mut first, mut subjects) = (HashMap::<u64, usize>::new(), HashSet::new());
    let mut repeated = 0;
    for i in 0..data.len() {
        let own = hash(&parts, i);
        let is_known = first.contains_key(&own);
        first.entry(own).or_insert(i);
        repeated += usize::from(subjects.insert((own, group(i))) && is_known);
    }
    let is_many = repeated >= MIN_REPEATED && repeated as f64 >= MIN_REPEATED_SHARE * data.len() as f64;
    let rows: Vec<usize> = first.into_values().collect();
    (is_many && rows.len() * MAX_COPIES >= data.len() && are_distinct(data, &rows))
        .then_some(Warning::RepeatedUnits { repeated, all: data.len() })
}

/// A hash of the observed values of unit `i`, so that long rows are not kept.
fn hash(parts: &[&Units], i: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        let (row, mask) = (part.row(i), part.mask_row(i));
        for (j, value) in row.iter().enumerate() {
            mask.is_none_or(|mask| mask[j]).then(|| value.to_bits()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether nearly all of the units `rows`, which are all different, differ in one value, and in covariates and treatment.
fn are_distinct(data: &Dataset, rows: &[usize]) -> bool {
    let needed = MIN_DISTINCT_SHARE * rows.len() as f64;
    let treated: HashSet<u64> = rows.iter().map(|&i| hash(&[data.x(), data.t()], i)).collect();
    let is_fine = |part: &&Units| {
        (0..part.elements().min(MAX_ELEMENTS)).any(|j| {
            let values: HashSet<u32> = rows.iter().map(|&i| part.row(i)[j].to_bits()).collect();
            values.len() as f64 >= needed
        })
    };
    treated.len() as f64 >= needed && [data.x(), data.t(), data.y()].iter().any(is_fine)
}
