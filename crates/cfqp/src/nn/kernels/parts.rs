//! A batch cut into parts for threads.

use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::buffer::Buffer;
use super::vectorised::add;

/// A batch is cut into this many parts, whatever the number of threads: the same bits on any machine's threads.
pub(super) const PARTS: usize = 4;

/// How n units are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    units: usize,
    each: usize,
}

impl Parts {
    /// At most [`PARTS`] parts of equal size, but for the last.
    pub fn of(units: usize) -> Self {
        Self { units, each: units.div_ceil(PARTS).max(1) }
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
            let parts = Parts::of(units);
            let data: Vec<f32> = (0..3 * units).map(|i| i as f32).collect();
            assert_eq!(parts.cut(&data).collect::<Vec<_>>().concat(), data);
            assert_eq!(parts.cut(&[]).count(), parts.count());
            assert!(parts.count() <= PARTS.min(units));
        }
    }
}
