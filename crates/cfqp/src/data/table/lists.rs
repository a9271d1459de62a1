//! Columns with one array per row: series and images in Parquet and Arrow files.

/// One array of numbers per row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// The shape of every row's array, outermost axis first; `None` where the row is missing.
    pub shapes: Vec<Option<Vec<usize>>>,
    /// All numbers, row after row; NaN where missing.
    pub values: Vec<f64>,
    /// The first element of every row in `values`, and the end.
    pub starts: Vec<usize>,
}

impl Lists {
    pub(super) fn len(&self) -> usize {
        self.shapes.len()
    }

    /// The shape and the numbers of row `i`; `None` where it is missing.
    pub(super) fn row(&self, i: usize) -> Option<(&[usize], &[f64])> {
        self.shapes[i].as_deref().map(|shape| (shape, &self.values[self.starts[i]..self.starts[i + 1]]))
    }

    /// Row `i` padded with NaN to `shape`; `None` where it is missing or larger.
    pub(super) fn padded(&self, i: usize, shape: &[usize]) -> Option<Vec<f64>> {
        let (row_shape, values) = self.row(i)?;
        // a flat list may hold the elements of an array with several axes
        let is_flat = row_shape.len() == 1 && row_shape[0] == shape.iter().product::<usize>();
        if row_shape == shape || is_flat {
            return Some(values.to_vec());
        }
        if row_shape.len() != shape.len() || row_shape.iter().zip(shape).any(|(side, limit)| side > limit) {
            return None;
        }
        let mut padded = vec![f64::NAN; shape.iter().product()];
        for (index, &value) in values.iter().enumerate() {
            let (mut rest, mut to, mut stride) = (index, 0, 1);
            for (side, padded_side) in row_shape.iter().zip(shape).rev() {
                to += rest % side * stride;
                rest /= side;
                stride *= padded_side;
            }
            padded[to] = value;
        }
        Some(padded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rows_are_padded_at_the_end_of_every_axis() {
        let lists = Lists {
            shapes: vec![Some(vec![2, 2]), None, Some(vec![6])],
            values: vec![1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            starts: vec![0, 4, 4, 10],
        };
        let padded = lists.padded(0, &[2, 3]).unwrap();
        assert_eq!(padded[..2], [1.0, 2.0]);
        assert!(padded[2].is_nan() && padded[5].is_nan());
        assert_eq!(padded[3..5], [3.0, 4.0]);
        assert_eq!(lists.padded(1, &[2, 3]), None);
        assert_eq!(lists.padded(2, &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(lists.padded(0, &[1, 3]), None);
    }
}
