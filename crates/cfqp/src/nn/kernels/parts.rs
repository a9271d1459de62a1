//! A batch cut into parts for threads.

use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::buffer::Buffer;
use super::vectorised::add;

/// The most parts of a batch.
const MOST: usize = 8;
/// Multiplications from which a part is worth a thread: below, packing the weights once more costs what the
/// thread gains.
const WORTH: usize = 6_000_000;

/// How n units are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    units: usize,
    each: usize,
}

impl Parts {
    /// Parts of equal size, but for the last, for units that take `work` multiplications each.
    ///
    /// How many depends on the work alone, never on the threads: the same bits on any number of them.
    pub fn of(units: usize, work: usize) -> Self {
        let parts = (units * work / WORTH).clamp(1, MOST);
        Self { units, each: units.div_ceil(parts).max(1) }
    }

    /// How many parts there are.
    pub fn count(self) -> usize {
        self.units.div_ceil(self.each)
    }

    /// Every part's piece of an array with one row per unit.
    pub fn cut(self, data: &[f32]) -> impl Iterator<Item = &[f32]> {
        let width = self.width(data.len());
        let mut rest = data;
        (0..self.count()).map(move |i| {
            let (part, after) = rest.split_at(self.size(i) * width);
            rest = after;
            part
        })
    }

    /// The same, to write to.
    pub fn cut_mut(self, data: &mut [f32]) -> impl Iterator<Item = &mut [f32]> {
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
        self.each.min(self.units - part * self.each)
    }
}

/// Work on the parts, on the threads of the current pool; results in the parts' order.
pub(super) fn run<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.into_iter().map(work).collect(); // no thread to wake
    }
    parts.into_par_iter().with_max_len(1).map(work).collect()
}

/// The sum of arrays of one length, added in their order; `len` zeros if there are none.
pub(super) fn total(arrays: impl IntoIterator<Item = Buffer>, len: usize) -> Buffer {
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
    fn every_row_is_in_one_part_and_arrays_without_columns_are_cut_too() {
        for units in [0, 1, 2, 3, 5, 128] {
            let parts = Parts::of(units, WORTH);
            let data: Vec<f32> = (0..3 * units).map(|i| i as f32).collect();
            assert_eq!(parts.cut(&data).collect::<Vec<_>>().concat(), data);
            assert_eq!(parts.cut(&[]).count(), parts.count());
            assert_eq!(Parts::of(units, 1).count(), units.min(1));
            assert!(parts.count() <= MOST.min(units));
        }
    }
}
