//! Decodes columns of Parquet and Arrow files into cells.

use arrow_array::cast::AsArray as _;
use arrow_array::types as kinds;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use super::arrow_lists::{decode_lists, is_list};
use super::arrow_numbers::{dictionary_keys, numbers};
use super::cells::Cells;

/// Decodes part of a column.
pub(crate) fn decode_cells(array: &ArrayRef) -> Cells<'_> {
    let rows = 0..array.len();
    match array.data_type() {
        kind if is_list(kind) => decode_lists(array).map_or_else(Cells::Other, Cells::Lists),
        kind if is_date(kind) => decode_dates(array),
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
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) | DataType::Interval(_) => {
            Cells::Other("times of day or lengths of time: store them as numbers".to_owned())
        }
        kind => numbers(array).map_or_else(|| Cells::Other(format!("values of type {kind}")), Cells::Numbers),
    }
}

fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _))
}

/// Decodes dates and timestamps into days since 1970-01-01; those with a zone are stored in universal time.
fn decode_dates(array: &ArrayRef) -> Cells<'_> {
    macro_rules! gather {
        ($kind:ty, $per_day:expr) => {{
            let days = |value: Option<_>| value.map_or(f64::NAN, |value| value as f64 / $per_day);
            Cells::Dates(array.as_primitive::<$kind>().iter().map(days).collect())
        }};
    }
    match array.data_type() {
        DataType::Date32 => gather!(kinds::Date32Type, 1.0),
        DataType::Timestamp(TimeUnit::Second, _) => gather!(kinds::TimestampSecondType, 86_400.0),
        DataType::Timestamp(TimeUnit::Microsecond, _) => gather!(kinds::TimestampMicrosecondType, 86_400e6),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => gather!(kinds::TimestampNanosecondType, 86_400e9),
        DataType::Timestamp(TimeUnit::Millisecond, _) => gather!(kinds::TimestampMillisecondType, 86_400e3),
        _ => gather!(kinds::Date64Type, 86_400e3),
    }
}

/// Decodes a dictionary column, the type in which data frames store categories.
fn decode_dictionary(array: &ArrayRef) -> Cells<'_> {
    let keys = dictionary_keys(array);
    let key = |i: usize| keys[i];
    match decode_cells(array.as_any_dictionary().values()) {
        Cells::Text(values) => {
            Cells::Text((0..array.len()).map(|i| key(i).and_then(|key| values.get(key).copied()?)).collect())
        }
        Cells::Numbers(values) => {
            let number = |i| key(i).and_then(|key| values.get(key).copied()).unwrap_or(f64::NAN);
            Cells::Numbers((0..array.len()).map(number).collect())
        }
        Cells::Dates(values) => {
            let date = |i| key(i).and_then(|key| values.get(key).copied()).unwrap_or(f64::NAN);
            Cells::Dates((0..array.len()).map(date).collect())
        }
        other => other,
    }
}
