//! Decodes list columns of Arrow arrays.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::arrow_numbers::numbers;
use super::lists::Lists;

pub(crate) fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _))
}

/// Decodes a column of lists; the error describes elements that are not numbers, or ragged lists within a row.
pub(crate) fn decode_lists(array: &ArrayRef) -> Result<Lists, String> {
    let mut lists = Lists { starts: vec![0], ..Lists::default() };
    for i in 0..array.len() {
        let shape = match list_at(array, i) {
            Some(list) => {
                let mut shape = vec![list.len()];
                flatten(&list, &mut shape, 1, &mut lists.values)?;
                Some(shape)
            }
            None => None,
        };
        lists.shapes.push(shape.filter(|shape| !shape.contains(&0)));
        lists.starts.push(lists.values.len());
    }
    Ok(lists)
}

/// The list in row `i`; `None` if it is missing.
fn list_at(array: &ArrayRef, i: usize) -> Option<ArrayRef> {
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

/// Appends the numbers of `array` to `out`. Its axes from `depth` on are added to `shape`, or must match it.
fn flatten(array: &ArrayRef, shape: &mut Vec<usize>, depth: usize, out: &mut Vec<f64>) -> Result<(), String> {
    if !is_list(array.data_type()) {
        let values = numbers(array).ok_or_else(|| format!("lists of type {}", array.data_type()))?;
        out.extend(values);
        return Ok(());
    }
    for i in 0..array.len() {
        let list = list_at(array, i).ok_or("a missing list within a list")?;
        match shape.get(depth) {
            None => shape.push(list.len()),
            Some(&side) if side != list.len() => {
                return Err(format!("lists of lengths {side} and {} within one row", list.len()));
            }
            Some(_) => {}
        }
        flatten(&list, shape, depth + 1, out)?;
    }
    Ok(())
}
