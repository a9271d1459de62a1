//! Decodes numeric columns of Arrow arrays.

use arrow_array::cast::AsArray as _;
use arrow_array::types as kinds;
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::DataType;

/// The values of a numeric column, NaN where missing; `None` for other types.
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
        DataType::Decimal32(_, places) => {
            gather!(kinds::Decimal32Type, |value| f64::from(value) / power_of_ten(*places))
        }
        DataType::Decimal64(_, places) => {
            gather!(kinds::Decimal64Type, |value| value as f64 / power_of_ten(*places))
        }
        DataType::Decimal128(_, places) => {
            gather!(kinds::Decimal128Type, |value| value as f64 / power_of_ten(*places))
        }
        DataType::Decimal256(_, _) => {
            let number = |name: Option<String>| name.and_then(|name| name.parse().ok()).unwrap_or(f64::NAN);
            exact_names(array)?.into_iter().map(number).collect()
        }
        DataType::Boolean => {
            let value = |yes: Option<bool>| yes.map_or(f64::NAN, |yes| f64::from(u8::from(yes)));
            array.as_boolean().iter().map(value).collect()
        }
        _ => return None,
    })
}

fn power_of_ten(places: i8) -> f64 {
    10.0_f64.powi(i32::from(places))
}

/// The values of an integer column, for ids; `None` for other types, and if a value is too large.
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
        DataType::UInt64 => {
            let signed = |value: Option<u64>| value.map(i64::try_from).transpose().ok();
            array.as_primitive::<kinds::UInt64Type>().iter().map(signed).collect()
        }
        _ => None,
    }
}

/// The values of a column as names, exactly: integers beyond the range of [`integers`], decimal numbers, bytes, and
/// categories of all these and of integers; `None` for other types.
pub(crate) fn exact_names(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    macro_rules! gather {
        ($values:expr, $name:expr) => {
            $values.iter().map(|value| value.map($name)).collect()
        };
    }
    macro_rules! decimals {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>();
            (0..array.len()).map(|i| (!array.is_null(i)).then(|| values.value_as_string(i))).collect()
        }};
    }
    Some(match array.data_type() {
        DataType::UInt64 => gather!(array.as_primitive::<kinds::UInt64Type>(), |value| value.to_string()),
        DataType::Decimal32(_, _) => decimals!(kinds::Decimal32Type),
        DataType::Decimal64(_, _) => decimals!(kinds::Decimal64Type),
        DataType::Decimal128(_, _) => decimals!(kinds::Decimal128Type),
        DataType::Decimal256(_, _) => decimals!(kinds::Decimal256Type),
        DataType::Binary => gather!(array.as_binary::<i32>(), bytes_name),
        DataType::LargeBinary => gather!(array.as_binary::<i64>(), bytes_name),
        DataType::BinaryView => gather!(array.as_binary_view(), bytes_name),
        DataType::FixedSizeBinary(_) => gather!(array.as_fixed_size_binary(), bytes_name),
        DataType::Dictionary(_, _) => {
            let values = array.as_any_dictionary().values();
            let names = exact_names(values).or_else(|| {
                let integers = integers(values)?;
                Some(integers.into_iter().map(|value| value.map(|value| value.to_string())).collect())
            })?;
            let name = |key: Option<usize>| names.get(key?).cloned().flatten();
            dictionary_keys(array).into_iter().map(name).collect()
        }
        _ => return None,
    })
}

/// Bytes as text, or else in hexadecimal digits.
fn bytes_name(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The place of every row's value among those of a dictionary; `None` where it is missing.
pub(crate) fn dictionary_keys(array: &ArrayRef) -> Vec<Option<usize>> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return vec![None; array.len()];
    }
    let keys = dictionary.normalized_keys();
    keys.into_iter().enumerate().map(|(i, key)| (!array.is_null(i)).then_some(key)).collect()
}
