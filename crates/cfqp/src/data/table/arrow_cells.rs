//! Decodes columns of Parquet and Arrow files into cells.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::arrow_lists::{decode_lists, is_list};
use super::arrow_numbers::numbers;
use super::cells::Cells;

/// Decodes part of a column.
pub(crate) fn decode_cells(array: &ArrayRef) -> Cells<'_> {
    let rows = 0..array.len();
    match array.data_type() {
        kind if is_list(kind) => decode_lists(array).map_or_else(Cells::Other, Cells::Lists),
        kind if is_time(kind) => Cells::Dates,
        DataType::Null => Cells::Numbers(vec![f64::NAN; array.len()]),
        DataType::Boolean => {
            let values = array.as_boolean();
            let word = |i| if values.value(i) { "true" } else { "false" };
            Cells::Text(rows.map(|i| (!values.is_null(i)).then(|| word(i))).collect())
        }
        DataType::Utf8 => Cells::Text(array.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Cells::Text(array.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Cells::Text(array.as_string_view().iter().collect()),
        DataType::Dictionary(_, _) => decode_dictionary(array),
        kind => numbers(array).map_or_else(|| Cells::Other(format!("values of type {kind}")), Cells::Numbers),
    }
}

fn is_time(kind: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Interval, Time32, Time64, Timestamp};
    let plain = matches!(kind, Date32 | Date64 | Time32(_) | Time64(_) | Duration(_) | Interval(_));
    plain || matches!(kind, Timestamp(_, _))
}

/// Decodes a dictionary column, the type in which data frames store categories.
fn decode_dictionary(array: &ArrayRef) -> Cells<'_> {
    let dictionary = array.as_any_dictionary();
    let keys = dictionary.normalized_keys();
    let key = |i: usize| (!array.is_null(i)).then(|| keys[i]);
    match decode_cells(dictionary.values()) {
        Cells::Text(values) => {
            Cells::Text((0..array.len()).map(|i| key(i).and_then(|key| values.get(key).copied()?)).collect())
        }
        Cells::Numbers(values) => {
            let number = |i| key(i).and_then(|key| values.get(key).copied()).unwrap_or(f64::NAN);
            Cells::Numbers((0..array.len()).map(number).collect())
        }
        other => other,
    }
}
