//! Decodes numeric columns of Arrow arrays.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray as _;
use arrow_array::types as kinds;
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

/// The values of a column of unsigned 64-bit integers, for ids beyond the range of [`integers`].
pub(crate) fn large_integers(array: &ArrayRef) -> Option<Vec<Option<u64>>> {
    let is_large = *array.data_type() == DataType::UInt64;
    is_large.then(|| array.as_primitive::<kinds::UInt64Type>().iter().collect())
}
