//! The split of units into training, validation and calibration units. It follows from what the units are, not from where
//! they stand: a file with its rows in another order gives the same split.

use std::ops::Range;

use rand::seq::SliceRandom;

use crate::Rng;
use crate::data::Dataset;

/// Disjoint rows of a data set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Split {
    /// Training units.
    pub train: Vec<usize>,
    /// Validation units: starts, base model, K and training length are selected on them.
    pub valid: Vec<usize>,
    /// Calibration units: intervals are calibrated on them. They take no part in training or selection.
    pub calibration: Vec<usize>,
}

impl Split {
    /// A random split of all units: 70, 15 and 15 per cent, or a little more held out where subjects have several units.
    /// Units of one subject are in the same set.
    pub(crate) fn new(data: &Dataset, rng: &mut Rng) -> Self {
        let n = data.len();
        let mut subjects = shuffled_subjects(data, 0..n, rng);
        let held_out = (n * 15).div_ceil(100);
        let valid = take_units(&mut subjects, held_out);
        let calibration = take_units(&mut subjects, held_out);
        Self { train: subjects.concat(), valid, calibration }
    }

    /// A split with given validation data: the last `held_out` units are divided at random, half into validation and half
    /// into calibration units, with the units of one subject together; the units before them are training units.
    pub(crate) fn with_held_out(data: &Dataset, held_out: usize, rng: &mut Rng) -> Self {
        let train = data.len() - held_out;
        let mut subjects = shuffled_subjects(data, train..data.len(), rng);
        let calibration = take_units(&mut subjects, held_out / 2);
        let train = data.content_order(&(0..train).collect::<Vec<_>>());
        Self { train, valid: subjects.concat(), calibration }
    }

    /// Training and validation units.
    pub(crate) fn learning(&self) -> Vec<usize> {
        self.train.iter().chain(&self.valid).copied().collect()
    }

    /// All units, those of one subject next to each other.
    pub(crate) fn all(&self) -> Vec<usize> {
        [&self.train[..], &self.valid, &self.calibration].concat()
    }
}

/// The rows of every subject, in an order that depends on the content of the units and on `rng` alone.
fn shuffled_subjects(data: &Dataset, rows: Range<usize>, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut subjects = data.groups_of(&data.content_order(&rows.collect::<Vec<_>>()));
    subjects.shuffle(rng);
    subjects
}

/// Removes subjects from the end until they have `units` units, and returns their units in the order of the subjects.
fn take_units(subjects: &mut Vec<Vec<usize>>, units: usize) -> Vec<usize> {
    let (mut first, mut taken) = (subjects.len(), 0);
    while taken < units && first > 0 {
        first -= 1;
        taken += subjects[first].len();
    }
    subjects.split_off(first).concat()
}

/// At most `max_rows` of `rows`, evenly spaced, because rows may be sorted.
pub(crate) fn sample(rows: &[usize], max_rows: usize) -> Vec<usize> {
    let (n, count) = (rows.len(), rows.len().min(max_rows));
    (0..count).map(|i| rows[i * n / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Units;
    use crate::stream;

    fn dataset(n: usize) -> Dataset {
        let units = || Units::new("a", vec![1], vec![0.0; n]).unwrap();
        Dataset::new(units(), units(), units()).unwrap()
    }

    #[test]
    fn every_unit_is_in_exactly_one_set() {
        for n in [7, 128, 2100] {
            let split = Split::new(&dataset(n), &mut stream(1, &["split"]));
            let mut all = [split.learning(), split.calibration.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert_eq!(split.valid.len(), split.calibration.len());
            assert!(split.train.len() * 10 >= n * 6 || n < 10);
        }
        let split = Split::with_held_out(&dataset(14), 4, &mut stream(1, &["split"]));
        assert_eq!((split.train.len(), split.valid.len(), split.calibration.len()), (10, 2, 2));
        assert_eq!(sample(&split.train, 4), [0, 2, 5, 7]);
        assert_eq!(sample(&split.train, 40), split.train);
    }

    #[test]
    fn without_subjects_rows_are_shuffled_and_cut() {
        // the split of earlier versions: the last 15 of 100 shuffled rows, and the 15 before them
        let mut rows: Vec<usize> = (0..100).collect();
        rows.shuffle(&mut stream(3, &["split"]));
        let split = Split::new(&dataset(100), &mut stream(3, &["split"]));
        assert_eq!(
            (&split.train[..], &split.calibration[..], &split.valid[..]),
            (&rows[..70], &rows[70..85], &rows[85..])
        );
    }

    #[test]
    fn the_split_does_not_depend_on_the_order_of_the_units() {
        let values: Vec<f32> = (0..50).map(|i| (i * 13 % 50) as f32).collect();
        let units = |values: &[f32]| Units::new("a", vec![1], values.to_vec()).unwrap();
        let dataset = |values: &[f32]| Dataset::new(units(values), units(values), units(values)).unwrap();
        let sets = |values: &[f32]| {
            let split = Split::new(&dataset(values), &mut stream(1, &["split"]));
            split.all().into_iter().map(|i| values[i]).collect::<Vec<_>>()
        };
        let reversed: Vec<f32> = values.iter().rev().copied().collect();
        assert_eq!(sets(&reversed), sets(&values));
    }

    #[test]
    fn units_of_one_subject_are_in_one_set() {
        // 40 subjects of 1 to 4 units each, scattered over the rows
        let groups: Vec<u32> = (0..100).map(|i| (i * i + i / 7) % 40).collect();
        let data = dataset(100).with_groups(groups).unwrap();
        let check = |split: &Split| {
            let sets = [&split.train, &split.valid, &split.calibration];
            assert!(sets.iter().all(|set| !set.is_empty()));
            assert_eq!(sets.iter().map(|set| set.len()).sum::<usize>(), 100);
            let groups = data.groups().unwrap();
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                assert!(sets[a].iter().all(|&i| sets[b].iter().all(|&j| groups[i] != groups[j])));
            }
        };
        let split = Split::new(&data, &mut stream(1, &["split"]));
        check(&split);
        assert!((15..25).contains(&split.valid.len()) && (15..25).contains(&split.calibration.len()));
        let joined = dataset(60).join(&data.pick(&(60..100).collect::<Vec<_>>()).unwrap()).unwrap();
        let split = Split::with_held_out(&joined, 40, &mut stream(1, &["split"]));
        let groups = joined.groups().unwrap();
        assert_eq!(split.train, (0..60).collect::<Vec<_>>());
        assert!(split.valid.iter().all(|&i| split.calibration.iter().all(|&j| groups[i] != groups[j])));
    }
}
