//! The file of a fitted model: a [safetensors](https://github.com/huggingface/safetensors) file of f32 arrays whose
//! metadata has one JSON text under the key `cfqp`:
//!
//! ```json
//! {"format": 1, "checksum": 123, "order": ["a", "b"], "model": {}}
//! ```
//!
//! Safetensors sorts its arrays, so `order` records their original order. The checksum (CRC-32 of the model's JSON
//! text, then of each array's name, shape and values) detects damage that leaves the file readable.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use flate2::Crc;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::atomic::write_atomically;
use crate::data::NamedArray;
use crate::error::{Error, Result};

/// The format that is written, and the newest one that can be read.
const FORMAT: u64 = 1;
const METADATA_KEY: &str = "cfqp";
const DAMAGED: &str = "the file is damaged: copy it again from its source, or fit the model again";
const NOT_A_MODEL: &str =
    "the file is damaged or is not a model: give one written by cfqp, or fit the model again";
const FOREIGN: &str = "give a model file written by cfqp";
const BUG: &str = "this is a bug in cfqp: please report it";

/// The JSON text beside the arrays.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u64,
    checksum: u32,
    order: Vec<String>,
    model: Value,
}

/// The content of a file with `header` and `arrays`. The same header and arrays give the same bytes. Errors call it `path`.
///
/// # Errors
/// If names repeat, a shape does not match its values, or a value is not finite.
pub(crate) fn container_bytes(
    path: &Path,
    header: &impl Serialize,
    arrays: &[NamedArray],
) -> Result<Vec<u8>> {
    let unserialisable = |error| Error::file(path, "the header cannot be serialised", BUG).with_source(error);
    // the maps of a `Value` are sorted
    let model = serde_json::to_value(header).map_err(unserialisable)?;
    check_arrays(arrays)
        .map_err(|problem| Error::file(path, format!("cannot be written: {problem}"), BUG))?;
    let order = arrays.iter().map(|array| array.name.clone()).collect();
    let head = Head { format: FORMAT, checksum: checksum(&model, arrays), order, model };
    let head = serde_json::to_string(&head).map_err(unserialisable)?;
    to_bytes(head, arrays)
        .map_err(|error| Error::file(path, "the arrays cannot be serialised", BUG).with_source(error))
}

/// Writes [`container_bytes`] to one file, completely or not at all.
///
/// # Errors
/// As [`container_bytes`], or if the file cannot be written.
pub(crate) fn write_container(path: &Path, header: &impl Serialize, arrays: &[NamedArray]) -> Result<()> {
    let bytes = container_bytes(path, header, arrays)?;
    write_atomically(path, |file| file.write_all(&bytes).map_err(Error::io(path)))
}

fn check_arrays(arrays: &[NamedArray]) -> Result<(), String> {
    let mut names = HashSet::new();
    for array in arrays {
        check_array(array)?;
        if !names.insert(&array.name) {
            return Err(format!("array `{}` occurs twice", array.name));
        }
    }
    Ok(())
}

fn to_bytes(head: String, arrays: &[NamedArray]) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let data: Vec<_> = arrays.iter().map(|array| little_endian(&array.values)).collect();
    let views = arrays.iter().zip(&data).map(|(array, data)| {
        Ok((array.name.as_str(), TensorView::new(Dtype::F32, array.shape.clone(), data)?))
    });
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    safetensors::serialize(views, Some(HashMap::from([(METADATA_KEY.to_owned(), head)])))
}

/// Reads the header and the arrays, in their original order, of the content of a file written by [`write_container`]. Errors
/// call it `path`.
///
/// # Errors
/// If it is not a model, was written in a newer format, or is damaged.
pub(crate) fn read_container(path: &Path, bytes: &[u8]) -> Result<(Value, Vec<NamedArray>)> {
    let content = read_unverified(path, bytes)?;
    if checksum(&content.model, &content.arrays) != content.checksum {
        return Err(Error::file(path, "the checksum does not match the content", DAMAGED));
    }
    Ok((content.model, content.arrays))
}

/// The content of a model file.
pub(crate) struct Content {
    /// The header of the model.
    pub model: Value,
    /// The arrays, in their original order.
    pub arrays: Vec<NamedArray>,
    checksum: u32,
}

/// As [`read_container`], with everything checked but the checksum.
pub(crate) fn read_unverified(path: &Path, bytes: &[u8]) -> Result<Content> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| {
        Error::file(path, "not a complete safetensors file", NOT_A_MODEL).with_source(error)
    })?;
    let text = metadata.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
    let text =
        text.ok_or_else(|| Error::file(path, format!("its metadata has no `{METADATA_KEY}`"), FOREIGN))?;
    let head = parse_head(path, text)?;
    let tensors = SafeTensors::deserialize(bytes)
        .map_err(|error| Error::file(path, "its arrays cannot be read", DAMAGED).with_source(error))?;
    let arrays = read_arrays(&head, &tensors).map_err(|problem| Error::file(path, problem, DAMAGED))?;
    Ok(Content { model: head.model, arrays, checksum: head.checksum })
}

/// Checks the format number before the other fields: a newer format may have different ones.
fn parse_head(path: &Path, text: &str) -> Result<Head> {
    let invalid = |error: serde_json::Error| {
        Error::file(path, format!("metadata `{METADATA_KEY}` is invalid"), DAMAGED).with_source(error)
    };
    let value: Value = serde_json::from_str(text).map_err(invalid)?;
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format > FORMAT => Err(Error::file(
            path,
            format!(
                "written by a newer version of cfqp (format {format}; this version reads up to {FORMAT})"
            ),
            "install a newer version of cfqp, or fit the model again with this one",
        )),
        Some(1..) => serde_json::from_value(value).map_err(invalid),
        _ => Err(Error::file(path, format!("metadata `{METADATA_KEY}` has no format number"), FOREIGN)),
    }
}

fn read_arrays(head: &Head, tensors: &SafeTensors) -> Result<Vec<NamedArray>, String> {
    let names: HashSet<_> = head.order.iter().collect();
    if names.len() != head.order.len() || names.len() != tensors.len() {
        return Err(format!("it has {} arrays, but lists {}", tensors.len(), head.order.len()));
    }
    head.order.iter().map(|name| read_array(name, tensors)).collect()
}

fn read_array(name: &str, tensors: &SafeTensors) -> Result<NamedArray, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("array `{name}` is missing"))?;
    if tensor.dtype() != Dtype::F32 {
        return Err(format!("array `{name}` has type {}, not F32", tensor.dtype()));
    }
    let (words, _) = tensor.data().as_chunks();
    let values = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
    let array = NamedArray { name: name.to_owned(), shape: tensor.shape().to_vec(), values };
    check_array(&array).map(|()| array)
}

/// Checks that the values match the shape and are finite.
fn check_array(array: &NamedArray) -> Result<(), String> {
    let NamedArray { name, shape, values } = array;
    let size = shape.iter().try_fold(1_usize, |size, &side| size.checked_mul(side));
    if size != Some(values.len()) {
        return Err(format!("array `{name}`: {} values do not have shape {shape:?}", values.len()));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(i) => Err(format!("array `{name}`, element {i}: the value is {}", values[i])),
        None => Ok(()),
    }
}

fn checksum(model: &Value, arrays: &[NamedArray]) -> u32 {
    let mut crc = Crc::new();
    crc.update(model.to_string().as_bytes());
    for array in arrays {
        crc.update(format!("{:?} {:?}", array.name, array.shape).as_bytes());
        crc.update(&little_endian(&array.values));
    }
    crc.sum()
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
