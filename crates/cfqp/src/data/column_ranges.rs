//! The ranges of the columns of an array, before its elements are converted to single precision.

use super::extremes::LostDigits;

/// Arrays with more columns are not measured.
const MAX_COLUMNS: usize = 1 << 16;

/// The smallest and the largest value of every column, that is of every element of a unit.
#[derive(Default)]
pub(super) struct ColumnRanges {
    ranges: Vec<[f64; 2]>,
    rows: usize,
    /// Whether the values of a column stand next to each other.
    is_by_column: bool,
    /// The number of values so far.
    count: usize,
}

impl ColumnRanges {
    /// The ranges of an array of this shape, whose first axis counts the rows. In Fortran order the first axis runs fastest.
    pub(super) fn new(shape: &[usize], is_fortran: bool) -> Self {
        let [rows, sides @ ..] = shape else { return Self::default() };
        let width = sides.iter().try_fold(1_usize, |width, &side| width.checked_mul(side));
        let width = width.filter(|width| *width <= MAX_COLUMNS).unwrap_or(0);
        let ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; width];
        Self { ranges, rows: *rows, is_by_column: is_fortran, count: 0 }
    }

    /// Adds the next value. NaN changes nothing.
    pub(super) fn add(&mut self, value: f64) {
        let width = self.ranges.len();
        if width == 0 || self.rows == 0 {
            return;
        }
        let column = if self.is_by_column { self.count / self.rows } else { self.count % width };
        self.count += 1;
        if let Some([min, max]) = self.ranges.get_mut(column) {
            (*min, *max) = (min.min(value), max.max(value));
        }
    }

    /// The first column whose values differ in digits that single precision does not have.
    pub(super) fn lost_digits(&self) -> Option<LostDigits> {
        self.ranges.iter().find_map(|&[min, max]| LostDigits::of(min, max))
    }
}
