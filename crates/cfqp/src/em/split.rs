//! Which units train, which select and which calibrate.

use rand::seq::SliceRandom;

use crate::Rng;

/// Disjoint rows of one data set: 70, 15 and 15 per cent of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Split {
    /// Networks learn from these.
    pub train: Vec<usize>,
    /// Starts, base models, K and epochs are chosen on these.
    pub valid: Vec<usize>,
    /// Intervals are calibrated on these; they choose nothing.
    pub calibration: Vec<usize>,
}

impl Split {
    /// A random split of `n` units.
    pub fn new(n: usize, rng: &mut Rng) -> Self {
        let mut rows: Vec<usize> = (0..n).collect();
        rows.shuffle(rng);
        let part = (n * 15).div_ceil(100);
        let valid = rows.split_off(n - part);
        let calibration = rows.split_off(n - 2 * part);
        Self { train: rows, valid, calibration }
    }

    /// `n` units to learn from and, behind them, `others` to select and calibrate on, half each.
    pub fn given(n: usize, others: usize, rng: &mut Rng) -> Self {
        let mut rest: Vec<usize> = (n..n + others).collect();
        rest.shuffle(rng);
        let calibration = rest.split_off(others.div_ceil(2));
        Self { train: (0..n).collect(), valid: rest, calibration }
    }

    /// Everything but the calibration units.
    pub fn learning(&self) -> Vec<usize> {
        self.train.iter().chain(&self.valid).copied().collect()
    }
}

/// At most so many of `rows`, evenly spaced: rows may stand in an order of their own.
pub(crate) fn sample(rows: &[usize], most: usize) -> Vec<usize> {
    let (n, m) = (rows.len(), rows.len().min(most));
    (0..m).map(|i| rows[i * n / m]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn every_unit_is_in_one_part() {
        for n in [7, 128, 2100] {
            let split = Split::new(n, &mut stream(1, &["split"]));
            let mut all = [split.learning(), split.calibration.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert_eq!(split.valid.len(), split.calibration.len());
            assert!(split.train.len() * 10 >= n * 6 || n < 10);
        }
        let split = Split::given(10, 4, &mut stream(1, &["split"]));
        assert_eq!((split.train.len(), split.valid.len(), split.calibration.len()), (10, 2, 2));
        assert_eq!(sample(&split.train, 4), [0, 2, 5, 7]);
        assert_eq!(sample(&split.train, 40), split.train);
    }
}
