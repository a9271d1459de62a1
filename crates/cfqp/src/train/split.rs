//! The split of units into training, validation and calibration units.

use rand::seq::SliceRandom;

use crate::Rng;

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
    /// A random split of `n` units: 70, 15 and 15 per cent.
    pub(crate) fn new(n: usize, rng: &mut Rng) -> Self {
        let mut rows: Vec<usize> = (0..n).collect();
        rows.shuffle(rng);
        let held_out = (n * 15).div_ceil(100);
        let valid = rows.split_off(n - held_out);
        let calibration = rows.split_off(n - 2 * held_out);
        Self { train: rows, valid, calibration }
    }

    /// A split with given validation data: the first `train` units are training units; the `held_out` units after them are
    /// divided at random, half into validation and half into calibration units.
    pub(crate) fn with_held_out(train: usize, held_out: usize, rng: &mut Rng) -> Self {
        let mut valid: Vec<usize> = (train..train + held_out).collect();
        valid.shuffle(rng);
        let calibration = valid.split_off(held_out.div_ceil(2));
        Self { train: (0..train).collect(), valid, calibration }
    }

    /// Training and validation units.
    pub(crate) fn learning(&self) -> Vec<usize> {
        self.train.iter().chain(&self.valid).copied().collect()
    }
}

/// At most `max_rows` of `rows`, evenly spaced, because rows may be sorted.
pub(crate) fn sample(rows: &[usize], max_rows: usize) -> Vec<usize> {
    let (n, count) = (rows.len(), rows.len().min(max_rows));
    (0..count).map(|i| rows[i * n / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn every_unit_is_in_exactly_one_set() {
        for n in [7, 128, 2100] {
            let split = Split::new(n, &mut stream(1, &["split"]));
            let mut all = [split.learning(), split.calibration.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert_eq!(split.valid.len(), split.calibration.len());
            assert!(split.train.len() * 10 >= n * 6 || n < 10);
        }
        let split = Split::with_held_out(10, 4, &mut stream(1, &["split"]));
        assert_eq!((split.train.len(), split.valid.len(), split.calibration.len()), (10, 2, 2));
        assert_eq!(sample(&split.train, 4), [0, 2, 5, 7]);
        assert_eq!(sample(&split.train, 40), split.train);
    }
}
