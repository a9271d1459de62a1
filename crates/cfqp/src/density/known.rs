//! The rows that a model was fitted to, by their hash: regressors and members that have seen a row would explain its noise.

use std::collections::HashMap;

use super::rows::Rows;
use crate::rng::fnv1a;

/// With more rows than this, regressors explain little of a single one, and none are remembered.
const MAX_ROWS: usize = 200_000;
/// The bits of a number that an array of 32-bit floats holds exactly.
const BITS: u32 = 24;

/// The fold of every row that a model was fitted to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KnownRows {
    folds: HashMap<u64, u8>,
}

impl KnownRows {
    /// Remembers rows with their folds; none if there are too many.
    pub(crate) fn new(rows: &Rows, folds: &[usize]) -> Self {
        if rows.len() > MAX_ROWS {
            return Self::default();
        }
        Self { folds: (0..rows.len()).map(|row| (hash(rows, row), folds[row] as u8)).collect() }
    }

    /// The fold of a row; none if the model was not fitted to it.
    pub(crate) fn fold(&self, rows: &Rows, row: usize) -> Option<usize> {
        if self.folds.is_empty() {
            return None;
        }
        self.folds.get(&hash(rows, row)).map(|&fold| usize::from(fold))
    }

    /// All of it as numbers, in a fixed order: two halves of a hash and a fold.
    pub(crate) fn to_array(&self) -> Vec<f32> {
        let mut folds: Vec<(u64, u8)> = self.folds.iter().map(|(&hash, &fold)| (hash, fold)).collect();
        folds.sort_unstable();
        let numbers = |(hash, fold): (u64, u8)| {
            [(hash >> BITS) as f32, (hash & ((1 << BITS) - 1)) as f32, f32::from(fold)]
        };
        folds.into_iter().flat_map(numbers).collect()
    }

    /// What [`to_array`](Self::to_array) gave, for this many folds; none if it is damaged.
    pub(crate) fn from_array(array: &[f32], folds: usize) -> Option<Self> {
        let whole = |value: f32| (0.0..(1_u32 << BITS) as f32).contains(&value) && value.fract() == 0.0;
        let rows = array.chunks_exact(3);
        let sound = rows.remainder().is_empty()
            && array.iter().all(|&value| whole(value))
            && array.chunks_exact(3).all(|row| (row[2] as usize) < folds);
        let row = |row: &[f32]| (((row[0] as u64) << BITS) | row[1] as u64, row[2] as u8);
        sound.then(|| Self { folds: rows.map(row).collect() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }
}

/// The hash of the inputs and outcomes of a row, in 48 bits.
fn hash(rows: &Rows, row: usize) -> u64 {
    let values = rows.input(row).iter().chain(rows.outcome(row));
    fnv1a(values.flat_map(|value| value.to_le_bytes())) >> (64 - 2 * BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::lines;

    #[test]
    fn rows_are_known_by_their_content() {
        let data = lines(&[1.0, -1.0], 30, 1, 0.3).rows;
        let folds: Vec<usize> = (0..30).map(|row| row % 5).collect();
        let known = KnownRows::new(&data, &folds);
        assert!((0..30).all(|row| known.fold(&data, row) == Some(row % 5)));
        let mut other = data.clone();
        other.outcomes[3] += 1e-3;
        assert_eq!(known.fold(&other, 3), None);
        let array = known.to_array();
        assert_eq!(KnownRows::from_array(&array, 5), Some(known));
        assert_eq!(KnownRows::from_array(&array, 4), None, "a fold that does not exist");
        assert_eq!(KnownRows::from_array(&array[1..], 5), None);
    }
}
