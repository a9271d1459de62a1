//! Folds of units that keep the units of a subject together.

use rand::seq::SliceRandom as _;

use crate::data::Dataset;
use crate::{Error, Result, Rng, stream};

/// The number of folds ...
const FOLDS: usize = 5;
/// ... and that of a small data set, in which every unit counts ...
const SMALL_FOLDS: usize = 10;
/// ... of fewer units than this.
const SMALL_UNITS: usize = 500;

/// The folds of the units of a cross-fitted regression.
///
/// # Errors
/// If there are fewer than two units or subjects.
pub(super) fn regression_folds(data: &Dataset, seed: u64) -> Result<Vec<usize>> {
    let subjects =
        data.groups().map_or(data.len(), |groups| groups.iter().max().map_or(0, |max| *max as usize + 1));
    if subjects < 2 {
        let hint = "give units of at least two subjects";
        return Err(Error::data("x", "a regression needs two units of different subjects", hint));
    }
    let count = if data.len() < SMALL_UNITS { SMALL_FOLDS } else { FOLDS };
    let rng = &mut stream(seed, &["plain", "folds"]);
    Ok(assign_folds(data.len(), data.groups(), count.min(subjects), rng))
}

/// The fold of every unit: subjects are dealt out to `count` folds in random order.
fn assign_folds(n: usize, groups: Option<&[u32]>, count: usize, rng: &mut Rng) -> Vec<usize> {
    let subject = |i: usize| groups.map_or(i, |groups| groups[i] as usize);
    let subjects = (0..n).map(subject).max().map_or(0, |max| max + 1);
    let mut order: Vec<usize> = (0..subjects).collect();
    order.shuffle(rng);
    let mut fold = vec![0; subjects];
    order.iter().enumerate().for_each(|(i, &subject)| fold[subject] = i % count);
    (0..n).map(|i| fold[subject(i)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_of_equal_size_and_keep_subjects_together() {
        let rng = &mut stream(1, &["folds"]);
        let folds = assign_folds(103, None, 5, rng);
        let sizes: Vec<usize> = (0..5).map(|f| folds.iter().filter(|fold| **fold == f).count()).collect();
        assert!(sizes.iter().all(|size| (20..=21).contains(size)), "{sizes:?}");
        let groups: Vec<u32> = (0..60).map(|i| i % 12).collect();
        let folds = assign_folds(60, Some(&groups), 5, rng);
        assert!((0..48).all(|i| folds[i] == folds[i + 12]));
    }
}
