//! Matrix products on a single thread.
//!
//! The crate `gemm` picks its kernels by the processor and cannot be told otherwise. A narrower instruction set runs the
//! kernels that `gemm` picks on a processor of that kind. Their sums have other orders, and those of the portable one are
//! without fused multiply-add: products differ between instruction sets in their last bits.

use gemm::Parallelism;

use super::isa::Isa;

/// A row-major matrix, or the transpose of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// `data` as rows of `columns`.
    ///
    /// # Panics
    /// If the length of `data` is not a multiple of `columns`.
    pub(crate) fn new(data: &'a [T], columns: usize) -> Self {
        let rows = data.len() / columns;
        assert_eq!(data.len(), rows * columns, "a matrix of {columns} columns");
        Self { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The transpose, on the same data.
    pub(crate) fn transposed(self) -> Self {
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
pub(crate) fn product<T: Element>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T], add: bool) {
    assert_eq!(a.columns, b.rows, "inner sizes of a product");
    assert_eq!(c.len(), a.rows * b.columns, "size of a product");
    if c.is_empty() {
        return;
    }
    let isa = Isa::active();
    // SAFETY: the sizes are those that the functions below require, asserted above. The instruction set is supported:
    // `Isa::active` is at most `Isa::widest`.
    unsafe {
        if isa == Isa::widest() {
            widest(a, b, c, add);
        } else if b.columns > 1 {
            // the kernels prefer a result whose columns are contiguous, as does `gemm::gemm`: c' = b' a'
            T::narrower(isa, b.transposed(), a.transposed(), c, [b.columns, 1], add);
        } else {
            T::narrower(isa, a, b, c, [1, 1], add);
        }
    }
}

/// The product with the kernels that `gemm` picks.
///
/// # Safety
/// a.columns = b.rows and c.len() = a.rows * b.columns.
unsafe fn widest<T: Element>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T], add: bool) {
    // SAFETY: `Matrix::new` ensures data.len() = rows * columns with strides (columns, 1), and `transposed` swaps sizes and
    // strides together, so that every element (i, j) of a and b, at i * row_stride + j * column_stride, lies within its
    // slice. c holds a.rows * b.columns elements with strides (b.columns, 1). c is borrowed mutably and does not overlap a
    // or b.
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
            if add { T::ONE } else { T::ZERO },
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The numbers that matrices consist of.
pub(crate) trait Element: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;

    /// The product with the kernels of an instruction set; element (i, j) of c is at i * strides[1] + j * strides[0].
    ///
    /// # Safety
    /// The processor has the instruction set, a.columns = b.rows, and c holds the a.rows * b.columns elements.
    unsafe fn narrower(
        isa: Isa,
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        c: &mut [Self],
        strides: [usize; 2],
        add: bool,
    );
}

/// Implements [`Element`] by kernels of `gemm`; `lanes` is the number of elements in 256 bits.
macro_rules! element {
    ($type:ident, $kernels:ident, lanes: $lanes:literal) => {
        impl Element for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            unsafe fn narrower(
                isa: Isa,
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                c: &mut [Self],
                strides: [usize; 2],
                add: bool,
            ) {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the processor has the instruction set, and sizes and strides are as the caller promises.
                    Isa::Avx2 | Isa::Avx512 => unsafe {
                        run!($type, $kernels::microkernel::fma::$type, V3, $lanes, a, b, c, strides, add);
                    },
                    // SAFETY: every processor has these instructions, and sizes and strides are as the caller promises.
                    _ => unsafe {
                        run!($type, $kernels::microkernel::scalar::$type, Scalar, 1, a, b, c, strides, add);
                    },
                }
            }
        }
    };
}

/// A product with the kernels of one module, whose vectors have `lanes` elements.
macro_rules! run {
    ($type:ident, $($kernels:ident)::+, $simd:ident, $lanes:literal, $a:ident, $b:ident, $c:ident, $strides:ident, $add:ident) => {{
        use $($kernels)::+ as kernels;
        let simd = <gemm_common::simd::$simd as gemm_common::simd::MixedSimd<$type, $type, $type, $type>>::try_new();
        gemm_common::gemm::gemm_basic_generic::<_, _, $lanes, { $lanes * kernels::MR_DIV_N }, _, _, _, _>(
            simd.expect("the processor has the instruction set"),
            $a.rows,
            $b.columns,
            $a.columns,
            $c.as_mut_ptr(),
            $strides[0] as isize,
            $strides[1] as isize,
            $add,
            $a.data.as_ptr(),
            $a.column_stride as isize,
            $a.row_stride as isize,
            $b.data.as_ptr(),
            $b.column_stride as isize,
            $b.row_stride as isize,
            if $add { 1.0 } else { 0.0 },
            1.0,
            false,
            false,
            false,
            |a, b, c| a * b + c,
            &kernels::UKR,
            &kernels::H_UKR,
            false,
            Parallelism::None,
        );
    }};
}

element!(f32, gemm_f32, lanes: 8);
element!(f64, gemm_f64, lanes: 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::isa::testing::with_each_isa;

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

    /// Sizes that take each way through `gemm`: small products of rows, single rows and columns, short and long sums.
    const SIZES: [[usize; 3]; 7] =
        [[3, 5, 40], [12, 16, 1500], [1, 90, 33], [90, 1, 33], [40, 50, 2], [70, 90, 37], [130, 70, 1100]];

    /// The product of two matrices of whole numbers, as they are and transposed, with each instruction set.
    #[test]
    fn products_of_whole_numbers_are_exact_with_each_instruction_set() {
        for [rows, columns, inner] in SIZES {
            let some = |n: usize, step: usize| -> Vec<f64> {
                (0..n).map(|i| (i * step % 15) as f64 - 7.0).collect()
            };
            let (a, b) = (some(rows * inner, 7), some(inner * columns, 11));
            let mut exact = vec![1.0; rows * columns];
            for (i, c) in exact.iter_mut().enumerate() {
                let (row, column) = (i / columns, i % columns);
                *c += (0..inner).map(|k| a[row * inner + k] * b[k * columns + column]).sum::<f64>();
            }
            let flip = |values: &[f64], width: usize| -> Vec<f64> {
                (0..width).flat_map(|j| values.iter().skip(j).step_by(width).copied()).collect()
            };
            let (a_flipped, b_flipped) = (flip(&a, inner), flip(&b, columns));
            for (_, results) in with_each_isa(1, || {
                let (a, a_flipped) = (Matrix::new(&a, inner), Matrix::new(&a_flipped, rows).transposed());
                let (b, b_flipped) = (Matrix::new(&b, columns), Matrix::new(&b_flipped, inner).transposed());
                [(a, b), (a_flipped, b), (a, b_flipped), (a_flipped, b_flipped)].map(|(a, b)| {
                    let mut c = vec![1.0; rows * columns];
                    product(a, b, &mut c, true);
                    c
                })
            }) {
                assert!(results.iter().all(|c| *c == exact), "{rows} x {inner} x {columns}");
            }
        }
    }

    /// Elements are between -1 and 1; the rounding errors of a sum grow with the root of its length.
    #[test]
    fn products_in_single_precision_differ_in_their_last_bits() {
        for [rows, columns, inner] in SIZES {
            let some =
                |n: usize, seed: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * 1.7 + seed).sin()).collect() };
            let (a, b) = (some(rows * inner, 1.0), some(inner * columns, 2.0));
            let results = with_each_isa(1, || {
                let mut c = vec![0.0; rows * columns];
                product(Matrix::new(&a, inner), Matrix::new(&b, columns), &mut c, false);
                c
            });
            let (_, first) = &results[0];
            for (isa, c) in &results {
                let off = c.iter().zip(first).fold(0_f32, |most, (a, b)| most.max((a - b).abs()));
                let bound = 2e-6 * (inner as f32).sqrt();
                assert!(off <= bound, "{isa:?}, {rows} x {inner} x {columns}: {off}");
            }
        }
    }
}
