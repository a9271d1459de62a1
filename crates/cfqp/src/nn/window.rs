//! A window that slides over a large grid; its places form a small grid.
//!
//! A series is a grid of height 1.

/// A window that slides over a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Height and width of the large grid.
    pub large: [usize; 2],
    /// Height and width of the small grid, of its places.
    pub small: [usize; 2],
    /// Height and width of the window.
    pub kernel: [usize; 2],
    /// The stride along each axis.
    pub stride: [usize; 2],
}

impl Window {
    /// A window over `large` that never leaves it: (large - kernel) / stride + 1 places along each axis.
    ///
    /// # Panics
    /// If the window is larger than the grid.
    pub(crate) fn new(large: [usize; 2], kernel: [usize; 2], stride: [usize; 2]) -> Self {
        let small = std::array::from_fn(|axis| (large[axis] - kernel[axis]) / stride[axis] + 1);
        Self { large, small, kernel, stride }
    }

    /// The number of positions of the large grid.
    pub(crate) fn positions(&self) -> usize {
        self.large[0] * self.large[1]
    }

    /// The number of places of the window.
    pub(crate) fn places(&self) -> usize {
        self.small[0] * self.small[1]
    }

    /// The number of positions that the window covers.
    pub(crate) fn cover(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// The table P: for each place, row by row, the positions that the window covers, row by row.
    pub(crate) fn table(&self) -> Vec<i64> {
        let [height, width] = self.kernel;
        let mut table = Vec::with_capacity(self.places() * self.cover());
        for place in 0..self.places() {
            let (top, left) =
                (place / self.small[1] * self.stride[0], place % self.small[1] * self.stride[1]);
            for row in top..top + height {
                table.extend((left..left + width).map(|column| (row * self.large[1] + column) as i64));
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_positions_that_a_window_covers() {
        let series = Window::new([1, 8], [1, 3], [1, 2]);
        assert_eq!((series.positions(), series.places()), (8, 3));
        assert_eq!(series.table(), [0, 1, 2, 2, 3, 4, 4, 5, 6]);
        let image = Window::new([3, 4], [3, 3], [1, 1]);
        assert_eq!(image.small, [1, 2]);
        assert_eq!(image.table(), [0, 1, 2, 4, 5, 6, 8, 9, 10, 1, 2, 3, 5, 6, 7, 9, 10, 11]);
    }
}
