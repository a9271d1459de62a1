//! The split of a batch into parts for threads.

use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::buffer::Buffer;
use super::vectorised::add;

/// The maximal number of parts.
const MAX_PARTS: usize = 8;
/// The minimal number of multiplications per part: with fewer, packing the weights once more costs what a thread gains.
const MIN_PART_WORK: usize = 6_000_000;

/// A split of n units into parts of equal size, except for the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSplit {
    units: usize,
    units_per_part: usize,
}

impl BatchSplit {
    /// The split of units that take `work` multiplications each.
    ///
    /// It depends on the work only, never on the number of threads: the same bits on any number.
    pub(super) fn new(units: usize, work: usize) -> Self {
        let parts = (units * work / MIN_PART_WORK).clamp(1, MAX_PARTS);
        Self { units, units_per_part: units.div_ceil(parts).max(1) }
    }

    /// The number of parts.
    pub(super) fn count(self) -> usize {
        self.units.div_ceil(self.units_per_part)
    }

    /// The parts of an array with one row per unit.
    pub(super) fn parts(self, data: &[f32]) -> impl Iterator<Item = &[f32]> {
        let width = self.width(data.len());
        let mut rest = data;
        (0..self.count()).map(move |i| {
            let (part, after) = rest.split_at(self.size(i) * width);
            rest = after;
            part
        })
    }

    /// The parts of an array with one row per unit, mutable.
    pub(super) fn parts_mut(self, data: &mut [f32]) -> impl Iterator<Item = &mut [f32]> {
        let width = self.width(data.len());
        let mut rest = data;
        (0..self.count()).map(move |i| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(self.size(i) * width);
            rest = after;
            part
        })
    }

    fn width(self, len: usize) -> usize {
        debug_assert!(len.is_multiple_of(self.units.max(1)));
        len / self.units.max(1)
    }

    fn size(self, part: usize) -> usize {
        self.units_per_part.min(self.units - part * self.units_per_part)
    }
}

/// Maps the parts on the threads of the current pool; results are in the order of the parts.
pub(super) fn map_parts<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.into_iter().map(work).collect(); // no need to wake a thread
    }
    parts.into_par_iter().with_max_len(1).map(work).collect()
}

/// The sum of arrays of equal length, in their order; `len` zeros if there are none.
pub(super) fn sum_arrays(arrays: impl IntoIterator<Item = Buffer>, len: usize) -> Buffer {
    let sum = |mut total: Buffer, addend: Buffer| {
        add(&mut total, &addend);
        total
    };
    arrays.into_iter().reduce(sum).unwrap_or_else(|| vec![0.0; len].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_part_and_arrays_without_columns_are_split_too() {
        for units in [0, 1, 2, 3, 5, 128] {
            let split = BatchSplit::new(units, MIN_PART_WORK);
            let data: Vec<f32> = (0..3 * units).map(|i| i as f32).collect();
            assert_eq!(split.parts(&data).collect::<Vec<_>>().concat(), data);
            assert_eq!(split.parts(&[]).count(), split.count());
            assert_eq!(BatchSplit::new(units, 1).count(), units.min(1));
            assert!(split.count() <= MAX_PARTS.min(units));
        }
    }
}
