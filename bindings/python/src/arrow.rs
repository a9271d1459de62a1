//! The [Arrow PyCapsule interface](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html): tables
//! and arrays cross the border without a copy.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    make_array,
};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

fn invalid(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("not a valid Arrow object: {error}"))
}

/// The content of a capsule of the given name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

/// The record batches of an object with `__arrow_c_stream__`.
pub(crate) fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    if !object.hasattr("__arrow_c_stream__")? {
        let problem = format!("{} has no method __arrow_c_stream__", object.get_type().name()?);
        return Err(PyTypeError::new_err(problem));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream: NonNull<FFI_ArrowArrayStream> = pointer(&capsule, STREAM)?;
    // SAFETY: the name of the capsule says that it holds such a stream, which is moved out of it
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(|e| invalid(&e))?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|error| invalid(&error))?;
    Ok((schema, batches))
}

/// The numbers of an object with `__arrow_c_array__`, of single or double precision; NaN where they are missing.
pub(crate) fn import_numbers(object: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let capsules = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let schema: NonNull<FFI_ArrowSchema> = pointer(&capsules.get_item(0)?, SCHEMA)?;
    let array: NonNull<FFI_ArrowArray> = pointer(&capsules.get_item(1)?, ARRAY)?;
    // SAFETY: the names of the capsules say what they hold; the array is moved out of its capsule, which then holds an
    // empty one, and the schema is borrowed while its capsule lives
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    let array = make_array(data.map_err(|error| invalid(&error))?);
    match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            Ok(values.iter().map(|value| value.map_or(f64::NAN, f64::from)).collect())
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            Ok(values.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        }
        other => Err(PyTypeError::new_err(format!("expected float32 or float64, found {other}"))),
    }
}

/// Record batches as the capsule of `__arrow_c_stream__`.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// Numbers for consumers of Arrow arrays.
#[pyclass(frozen, module = "cfqp._cfqp")]
pub(crate) struct ArrowValues(ArrayRef);

#[pymethods]
impl ArrowValues {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        export_array(py, &self.0)
    }
}

impl From<Vec<f32>> for ArrowValues {
    fn from(values: Vec<f32>) -> Self {
        Self(Arc::new(Float32Array::from(values)))
    }
}

impl From<Vec<i64>> for ArrowValues {
    fn from(values: Vec<i64>) -> Self {
        Self(Arc::new(Int64Array::from(values)))
    }
}

/// An array as the capsules of `__arrow_c_array__`.
fn export_array<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(|error| invalid(&error))?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}
