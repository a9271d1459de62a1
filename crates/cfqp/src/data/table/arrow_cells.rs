//! Columns of Parquet and Arrow files as cells.

use arrow_array::cast::AsArray as _;
use arrow_array::types as kinds;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::cells::Cells;
use super::lists::{is_list, lists};

/// Part of a column as cells.
pub(crate) fn cells(array: &ArrayRef) -> Cells<'_> {
    let rows = 0..array.len();
    match array.data_type() {
        kind if is_list(kind) => lists(array).map_or_else(Cells::Other, Cells::Lists),
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
        DataType::Dictionary(_, _) => dictionary(array),
        kind => numbers(array).map_or_else(|| Cells::Other(kind.to_string()), Cells::Numbers),
    }
}

pub(crate) fn is_time(kind: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Interval, Time32, Time64, Timestamp};
    let plain = matches!(kind, Date32 | Date64 | Time32(_) | Time64(_) | Duration(_) | Interval(_));
    plain || matches!(kind, Timestamp(_, _))
}

/// A column of keys into a few values, as data frames keep categories.
fn dictionary(array: &ArrayRef) -> Cells<'_> {
    let dictionary = array.as_any_dictionary();
    let keys = dictionary.normalized_keys();
    let pick = |i: usize| (!array.is_null(i)).then(|| keys[i]);
    match cells(dictionary.values()) {
        Cells::Text(values) => {
            Cells::Text((0..array.len()).map(|i| pick(i).and_then(|key| values.get(key).copied()?)).collect())
        }
        Cells::Numbers(values) => {
            let at = |i| pick(i).and_then(|key| values.get(key).copied()).unwrap_or(f64::NAN);
            Cells::Numbers((0..array.len()).map(at).collect())
        }
        other => other,
    }
}

/// The numbers of a column of numbers, NaN where missing.
pub(crate) fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    macro_rules! gather {
        ($kind:ty, $convert:expr) => {
            array.as_primitive::<$kind>().iter().map(|value| value.map_or(f64::NAN, $convert)).collect()
        };
    }
    Some(match array.data_type() {
        DataType::Int8 => gather!(kinds::Int8Type, f64::from),
        DataType::Int16 => gather!(kinds::Int16Type, f64::from),
        DataType::Int32 => gather!(kinds::Int32Type, f64::from),
        DataType::Int64 => gather!(kinds::Int64Type, |value| value as f64),
        DataType::UInt8 => gather!(kinds::UInt8Type, f64::from),
        DataType::UInt16 => gather!(kinds::UInt16Type, f64::from),
        DataType::UInt32 => gather!(kinds::UInt32Type, f64::from),
        DataType::UInt64 => gather!(kinds::UInt64Type, |value| value as f64),
        DataType::Float16 => gather!(kinds::Float16Type, |value| value.to_f64()),
        DataType::Float32 => gather!(kinds::Float32Type, f64::from),
        DataType::Float64 => gather!(kinds::Float64Type, |value| value),
        DataType::Decimal128(_, scale) => {
            let scale = 10.0_f64.powi(i32::from(*scale));
            gather!(kinds::Decimal128Type, |value| value as f64 / scale)
        }
        DataType::Boolean => {
            let value = |yes: Option<bool>| yes.map_or(f64::NAN, |yes| f64::from(u8::from(yes)));
            array.as_boolean().iter().map(value).collect()
        }
        _ => return None,
    })
}

/// The whole numbers of a column of whole numbers, for ids.
pub(crate) fn integers(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    macro_rules! gather {
        ($kind:ty) => {
            Some(array.as_primitive::<$kind>().iter().map(|value| value.map(i64::from)).collect())
        };
    }
    match array.data_type() {
        DataType::Int8 => gather!(kinds::Int8Type),
        DataType::Int16 => gather!(kinds::Int16Type),
        DataType::Int32 => gather!(kinds::Int32Type),
        DataType::Int64 => gather!(kinds::Int64Type),
        DataType::UInt8 => gather!(kinds::UInt8Type),
        DataType::UInt16 => gather!(kinds::UInt16Type),
        DataType::UInt32 => gather!(kinds::UInt32Type),
        _ => None,
    }
}
