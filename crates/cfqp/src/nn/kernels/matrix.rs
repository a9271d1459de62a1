//! Matrix products on a single thread.

/// A row-major matrix, or the transpose of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// `data` as rows of `columns`.
    ///
    /// # Panics
    /// If the length of `data` is not a multiple of `columns`.
    pub(super) fn new(data: &'a [f32], columns: usize) -> Self {
        let rows = data.len() / columns;
        assert_eq!(data.len(), rows * columns, "a matrix of {columns} columns");
        Self { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The transpose, on the same data.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// c = a b, or c += a b if `add`.
///
/// # Panics
/// If the sizes of a, b and c do not match.
pub(super) fn product(a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32], add: bool) {
    assert_eq!(a.columns, b.rows, "inner sizes of a product");
    assert_eq!(c.len(), a.rows * b.columns, "size of a product");
    if c.is_empty() {
        return;
    }
    // SAFETY: `Matrix::new` ensures data.len() = rows * columns with strides (columns, 1), and `transposed` swaps sizes and
    // strides together, so that every element (i, j) of a and b, at i * row_stride + j * column_stride, lies within its
    // slice. c holds a.rows * b.columns elements, asserted above, with strides (b.columns, 1). The inner sizes are equal,
    // asserted above. c is borrowed mutably and does not overlap a or b.
    unsafe {
        gemm::gemm(
            a.rows,
            b.columns,
            a.columns,
            c.as_mut_ptr(),
            1,
            b.columns as isize,
            add,
            a.data.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            if add { 1.0 } else { 0.0 },
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_matrices_and_their_transposes() {
        let (a, b) = ([1., 2., 3., 4., 5., 6.], [7., 8., 9., 10., 11., 12.]);
        let mut c = [0.0; 4];
        product(Matrix::new(&a, 3), Matrix::new(&b, 2), &mut c, false);
        assert_eq!(c, [58., 64., 139., 154.]);
        // [2, 3] times the transpose of [2, 3], added
        product(Matrix::new(&a, 3), Matrix::new(&b, 3).transposed(), &mut c, true);
        assert_eq!(c, [58. + 50., 64. + 68., 139. + 122., 154. + 167.]);
    }
}
