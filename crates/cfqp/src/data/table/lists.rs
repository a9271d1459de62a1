//! Columns that hold an array per row: series and images in Parquet and Arrow files.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::arrow_cells::numbers;

/// An array of numbers per row, all of the same number of axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Sides of every row's array, outermost first; none where the row is missing.
    pub shapes: Vec<Option<Vec<usize>>>,
    /// All numbers, row after row; NaN where missing.
    pub values: Vec<f64>,
    /// Where every row begins, and the end.
    pub starts: Vec<usize>,
}

impl Lists {
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// The shape and the numbers of row `i`.
    pub fn row(&self, i: usize) -> Option<(&[usize], &[f64])> {
        self.shapes[i].as_deref().map(|shape| (shape, &self.values[self.starts[i]..self.starts[i + 1]]))
    }

    /// Row `i` padded with NaN to `shape`; none where it is missing or larger.
    pub fn padded(&self, i: usize, shape: &[usize]) -> Option<Vec<f64>> {
        let (own, values) = self.row(i)?;
        if own == shape {
            return Some(values.to_vec());
        }
        // a flat list may be the elements of an array of several axes
        if own.len() == 1 && own[0] == shape.iter().product::<usize>() {
            return Some(values.to_vec());
        }
        if own.len() != shape.len() || own.iter().zip(shape).any(|(own, side)| own > side) {
            return None;
        }
        let mut out = vec![f64::NAN; shape.iter().product()];
        for (at, &value) in values.iter().enumerate() {
            let (mut rest, mut to, mut stride) = (at, 0, 1);
            for (own, side) in own.iter().zip(shape).rev() {
                to += rest % own * stride;
                rest /= own;
                stride *= side;
            }
            out[to] = value;
        }
        Some(out)
    }
}

/// The lists of a column; the problem where it holds something else than numbers, or rows that are no box.
pub(crate) fn lists(array: &ArrayRef) -> Result<Lists, String> {
    let mut out = Lists { starts: vec![0], ..Lists::default() };
    for i in 0..array.len() {
        let shape = match element(array, i) {
            Some(inner) => {
                let mut shape = vec![inner.len()];
                flatten(&inner, &mut shape, 1, &mut out.values)?;
                Some(shape)
            }
            None => None,
        };
        out.shapes.push(shape.filter(|shape| !shape.contains(&0)));
        out.starts.push(out.values.len());
    }
    Ok(out)
}

/// The list of row `i`, if it is not missing.
fn element(array: &ArrayRef, i: usize) -> Option<ArrayRef> {
    if array.is_null(i) {
        return None;
    }
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(i)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(i)),
        DataType::FixedSizeList(_, _) => Some(array.as_fixed_size_list().value(i)),
        _ => None,
    }
}

pub(crate) fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _))
}

/// Append the numbers of `array`, whose axes from `depth` on are noted in `shape` or must agree with it.
fn flatten(array: &ArrayRef, shape: &mut Vec<usize>, depth: usize, out: &mut Vec<f64>) -> Result<(), String> {
    if !is_list(array.data_type()) {
        let values = numbers(array).ok_or_else(|| format!("its lists hold {}", array.data_type()))?;
        out.extend(values);
        return Ok(());
    }
    for i in 0..array.len() {
        let inner = element(array, i).ok_or("a list inside a list is missing")?;
        match shape.get(depth) {
            None => shape.push(inner.len()),
            Some(&side) if side != inner.len() => {
                return Err(format!("lists of {side} and of {} inside one row", inner.len()));
            }
            Some(_) => {}
        }
        flatten(&inner, shape, depth + 1, out)?;
    }
    Ok(())
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
