//! Dense symmetric positive definite systems by Cholesky factors, A = L L'.
//!
//! Matrices are row-major slices. Every sum is taken in a fixed order, so that equal inputs give equal bits.

use thiserror::Error;

/// A matrix that has no Cholesky factor.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the matrix is not positive definite: pivot {pivot} is {value:e}")]
pub(crate) struct NotPositiveDefinite {
    /// The first row at which factorisation fails.
    pub pivot: usize,
    /// What is left of its diagonal element: zero, negative or not a number.
    pub value: f64,
}

/// L with L L' = A, written over the lower half of `a`.
///
/// # Shapes
/// a `[p, p]`, of which the lower half is read
///
/// # Panics
/// If `a` holds fewer than p * p elements.
pub(crate) fn cholesky(a: &mut [f64], p: usize) -> Result<(), NotPositiveDefinite> {
    for j in 0..p {
        let (above, below) = a.split_at_mut(j * p);
        let row_j = &mut below[..p];
        for k in 0..j {
            let row_k = &above[k * p..(k + 1) * p];
            row_j[k] = (row_j[k] - dot(&row_j[..k], &row_k[..k])) / row_k[k];
        }
        let value = row_j[j] - dot(&row_j[..j], &row_j[..j]);
        if value.is_nan() || value <= 0.0 {
            return Err(NotPositiveDefinite { pivot: j, value });
        }
        row_j[j] = value.sqrt();
    }
    Ok(())
}

/// L^-1 B, written over `b`, for the factor L of [`cholesky`].
///
/// # Shapes
/// l `[p, p]`, b `[p, q]`
///
/// # Panics
/// If either holds fewer elements.
pub(crate) fn solve_lower(l: &[f64], p: usize, b: &mut [f64], q: usize) {
    for i in 0..p {
        let (done, rest) = b.split_at_mut(i * q);
        let row = &mut rest[..q];
        for (k, other) in done.chunks_exact(q).enumerate() {
            row.iter_mut().zip(other).for_each(|(w, o)| *w -= l[i * p + k] * o);
        }
        row.iter_mut().for_each(|w| *w /= l[i * p + i]);
    }
}

/// L'^-1 B, written over `b`, for the factor L of [`cholesky`].
///
/// # Shapes
/// l `[p, p]`, b `[p, q]`
///
/// # Panics
/// If either holds fewer elements.
fn solve_lower_transposed(l: &[f64], p: usize, b: &mut [f64], q: usize) {
    for i in (0..p).rev() {
        let (front, done) = b.split_at_mut((i + 1) * q);
        let row = &mut front[i * q..];
        for (k, other) in done.chunks_exact(q).enumerate() {
            row.iter_mut().zip(other).for_each(|(w, o)| *w -= l[(i + 1 + k) * p + i] * o);
        }
        row.iter_mut().for_each(|w| *w /= l[i * p + i]);
    }
}

/// (L L')^-1 B, written over `b`, for the factor L of [`cholesky`].
///
/// # Shapes
/// l `[p, p]`, b `[p, q]`
pub(crate) fn solve_with_factor(l: &[f64], p: usize, b: &mut [f64], q: usize) {
    solve_lower(l, p, b, q);
    solve_lower_transposed(l, p, b, q);
}

/// A^-1 B, written over `b`; `a` holds its Cholesky factor afterwards. On an error `b` is unchanged.
///
/// # Shapes
/// a `[p, p]`, b `[p, q]`
///
/// # Panics
/// If either holds fewer elements.
pub(crate) fn cholesky_solve(
    a: &mut [f64],
    p: usize,
    b: &mut [f64],
    q: usize,
) -> Result<(), NotPositiveDefinite> {
    cholesky(a, p)?;
    solve_with_factor(a, p, b, q);
    Ok(())
}

/// A pivot below this share of its diagonal element is rounding error: the row depends on those before.
const MIN_PIVOT_SHARE: f64 = 1e-12;

/// The Cholesky factor of a matrix that grows by a row and a column at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrowingCholesky {
    /// Row i of L holds i + 1 elements.
    rows: Vec<Vec<f64>>,
}

impl GrowingCholesky {
    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Appends a row; returns false, and appends nothing, where it depends linearly on the rows before.
    ///
    /// # Shapes
    /// `off_diagonal(j)` is the new row's element in column j, for j below the present size
    pub(crate) fn append(&mut self, off_diagonal: impl Fn(usize) -> f64, diagonal: f64) -> bool {
        let mut row = Vec::with_capacity(self.rows.len() + 1);
        for (j, above) in self.rows.iter().enumerate() {
            let known = dot(&row, &above[..j]);
            row.push((off_diagonal(j) - known) / above[j]);
        }
        let pivot = diagonal - dot(&row, &row);
        let independent = pivot > MIN_PIVOT_SHARE * diagonal;
        if independent {
            row.push(pivot.sqrt());
            self.rows.push(row);
        }
        independent
    }

    /// A^-1 1, the solution for a right-hand side of ones.
    pub(crate) fn solve_ones(&self) -> Vec<f64> {
        let n = self.rows.len();
        let mut b = Vec::with_capacity(n);
        for (i, row) in self.rows.iter().enumerate() {
            b.push((1.0 - dot(&b, &row[..i])) / row[i]);
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| self.rows[j][i] * b[j]).sum();
            b[i] = (b[i] - known) / self.rows[i][i];
        }
        b
    }
}

/// sum_i a_i b_i, in eight partial sums so that it can be vectorised.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// M M' + I for a `[p, p]` matrix M.
    fn positive_definite(m: &[f64], p: usize) -> Vec<f64> {
        let row = |i: usize| &m[i * p..(i + 1) * p];
        let element = |i: usize, j: usize| dot(row(i), row(j)) + f64::from(u8::from(i == j));
        (0..p * p).map(|at| element(at / p, at % p)).collect()
    }

    #[test]
    fn the_factor_of_a_known_matrix() {
        let mut a = [4.0, 12.0, -16.0, 12.0, 37.0, -43.0, -16.0, -43.0, 98.0];
        cholesky(&mut a, 3).unwrap();
        let lower = [a[0], a[3], a[4], a[6], a[7], a[8]];
        assert_eq!(lower, [2.0, 6.0, 1.0, -8.0, 5.0, 3.0]);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_reported() {
        let error = cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2).unwrap_err();
        assert_eq!(error, NotPositiveDefinite { pivot: 1, value: -3.0 });
        assert_eq!(error.to_string(), "the matrix is not positive definite: pivot 1 is -3e0");
        assert_eq!(cholesky(&mut [0.0], 1), Err(NotPositiveDefinite { pivot: 0, value: 0.0 }));
        let mut b = [1.0];
        let nan = cholesky_solve(&mut [f64::NAN], 1, &mut b, 1).unwrap_err();
        assert!(nan.value.is_nan() && b == [1.0]);
    }

    #[test]
    fn a_dependent_row_is_not_appended() {
        let mut factor = GrowingCholesky::default();
        assert!(factor.append(|_| 0.0, 4.0));
        assert!(!factor.append(|_| 2.0, 1.0), "half of the first row");
        assert!(factor.append(|_| 2.0, 5.0));
        // [[4, 2], [2, 5]] b = [1, 1]
        let b = factor.solve_ones();
        assert!((b[0] - 3.0 / 16.0).abs() < 1e-15 && (b[1] - 2.0 / 16.0).abs() < 1e-15);
        factor.clear();
        assert!(factor.solve_ones().is_empty());
    }

    proptest! {
        #[test]
        fn solutions_satisfy_their_system(
            p in 1_usize..9,
            q in 1_usize..4,
            m in prop::collection::vec(-2.0_f64..2.0, 81),
            b in prop::collection::vec(-5.0_f64..5.0, 36),
        ) {
            let (a, b) = (positive_definite(&m, p), &b[..p * q]);
            let mut x = b.to_vec();
            cholesky_solve(&mut a.clone(), p, &mut x, q).unwrap();
            for i in 0..p {
                for j in 0..q {
                    let product: f64 = (0..p).map(|k| a[i * p + k] * x[k * q + j]).sum();
                    prop_assert!((product - b[i * q + j]).abs() < 1e-8);
                }
            }
        }

        #[test]
        fn a_growing_factor_solves_the_same_systems(p in 1_usize..9, m in prop::collection::vec(-2.0_f64..2.0, 81)) {
            let a = positive_definite(&m, p);
            let mut growing = GrowingCholesky::default();
            for i in 0..p {
                prop_assert!(growing.append(|j| a[i * p + j], a[i * p + i]));
            }
            let mut ones = vec![1.0; p];
            cholesky_solve(&mut a.clone(), p, &mut ones, 1).unwrap();
            for (grown, whole) in growing.solve_ones().iter().zip(&ones) {
                prop_assert!((grown - whole).abs() < 1e-10);
            }
        }
    }
}
