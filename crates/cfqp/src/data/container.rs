//! One file for a fitted model: a [safetensors](https://github.com/huggingface/safetensors) file of f32
//! arrays whose metadata hold one JSON text under the key `cfqp`:
//!
//! ```json
//! {"format": 1, "checksum": 123, "order": ["a", "b"], "model": {}}
//! ```
//!
//! Safetensors sorts its arrays, so their own order is kept in `order`. The checksum (CRC-32 of the model's
//! JSON text, then of each array's name, shape and values) finds damage that would still be a readable file.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use flate2::Crc;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::atomic::write_atomically;
use crate::{Error, Result, Weight};

/// The newest format that is read, and the one that is written.
const FORMAT: u64 = 1;
const KEY: &str = "cfqp";
const DAMAGED: &str = "the file is damaged: copy it again from its source, or fit the model again";
const UNREADABLE: &str = "the file is damaged or no model: give one written by cfqp, or fit the model again";
const FOREIGN: &str = "give a model file written by cfqp";

/// What stands beside the arrays.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u64,
    checksum: u32,
    order: Vec<String>,
    model: Value,
}

/// Writes `header` and `arrays` to one file, whole or not at all. The same content gives the same bytes.
/// Names must differ, values must be finite.
pub fn write_container(path: &Path, header: &impl Serialize, arrays: &[Weight]) -> Result<()> {
    let hint = "this is a defect of cfqp: please report it";
    let bad = |problem: String| Error::file(path, format!("cannot be written: {problem}"), hint);
    // By way of a `Value`, whose maps are sorted.
    let model = serde_json::to_value(header).map_err(|error| bad(error.to_string()))?;
    let mut names = HashSet::new();
    for array in arrays {
        let problem = check(array).err();
        let twice = || (!names.insert(&array.name)).then(|| format!("`{}` occurs twice", array.name));
        if let Some(problem) = problem.or_else(twice) {
            return Err(bad(problem));
        }
    }
    let order = arrays.iter().map(|array| array.name.clone()).collect();
    let head = Head { format: FORMAT, checksum: checksum(&model, arrays), order, model };
    let head = serde_json::to_string(&head).map_err(|error| bad(error.to_string()))?;
    let bytes = to_bytes(head, arrays).map_err(|error| bad(error.to_string()))?;
    write_atomically(path, |file| file.write_all(&bytes).map_err(Error::io(path)))
}

fn to_bytes(head: String, arrays: &[Weight]) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let data: Vec<_> = arrays.iter().map(|array| little_endian(&array.values)).collect();
    let views = arrays.iter().zip(&data).map(|(array, data)| {
        Ok((array.name.as_str(), TensorView::new(Dtype::F32, array.shape.clone(), data)?))
    });
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), head)])))
}

/// The header and the arrays, in their order, of a file by [`write_container`]; everything is checked.
pub fn read_container(path: &Path) -> Result<(Value, Vec<Weight>)> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let fail = |problem: String, hint: &str| Error::file(path, problem, hint);
    let (_, metadata) = SafeTensors::read_metadata(&bytes)
        .map_err(|error| fail(format!("not a whole safetensors file: {error}"), UNREADABLE))?;
    let text = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let text = text.ok_or_else(|| fail(format!("its metadata have no `{KEY}`"), FOREIGN))?;
    let head = parse(text).map_err(|(problem, hint)| fail(problem, hint))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| fail(error.to_string(), DAMAGED))?;
    let arrays = arrays(&head, &tensors).map_err(|problem| fail(problem, DAMAGED))?;
    Ok((head.model, arrays))
}

/// The version comes first: a newer format may have other fields.
fn parse(text: &str) -> Result<Head, (String, &'static str)> {
    let broken = |error: serde_json::Error| (format!("metadata `{KEY}`: {error}"), DAMAGED);
    let value: Value = serde_json::from_str(text).map_err(broken)?;
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format > FORMAT => Err((
            format!("written by a newer cfqp (format {format}; this one reads up to {FORMAT})"),
            "install a newer cfqp, or fit the model again with this one",
        )),
        Some(1..) => serde_json::from_value(value).map_err(broken),
        _ => Err((format!("metadata `{KEY}` have no format"), FOREIGN)),
    }
}

fn arrays(head: &Head, tensors: &SafeTensors) -> Result<Vec<Weight>, String> {
    let names: HashSet<_> = head.order.iter().collect();
    if names.len() != head.order.len() || names.len() != tensors.len() {
        return Err(format!("it holds {} arrays, its list names {}", tensors.len(), head.order.len()));
    }
    let arrays = head.order.iter().map(|name| array(name, tensors)).collect::<Result<Vec<_>, _>>()?;
    if checksum(&head.model, &arrays) != head.checksum {
        return Err("the checksum does not agree with the content".to_owned());
    }
    Ok(arrays)
}

fn array(name: &str, tensors: &SafeTensors) -> Result<Weight, String> {
    let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
    if tensor.dtype() != Dtype::F32 {
        return Err(format!("array `{name}` is of type {}, not F32", tensor.dtype()));
    }
    let (words, _) = tensor.data().as_chunks();
    let values = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
    let array = Weight { name: name.to_owned(), shape: tensor.shape().to_vec(), values };
    check(&array).map(|()| array)
}

/// As many values as the shape holds, all of them finite.
fn check(array: &Weight) -> Result<(), String> {
    let Weight { name, shape, values } = array;
    if shape.iter().product::<usize>() != values.len() {
        return Err(format!("array `{name}`: {} values do not have shape {shape:?}", values.len()));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(i) => Err(format!("array `{name}`, element {i}: the value is {}", values[i])),
        None => Ok(()),
    }
}

fn checksum(model: &Value, arrays: &[Weight]) -> u32 {
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
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn weights() -> Vec<Weight> {
        let values = [1.0, -0.0, f32::MIN_POSITIVE / 3.0, 1.0 / 3.0, f32::MAX, 6.0];
        let weight = |name: &str, shape: &[usize], count: usize| Weight {
            name: name.to_owned(),
            shape: shape.to_vec(),
            values: values[..count].to_vec(),
        };
        vec![weight("z", &[2, 3], 6), weight("a", &[], 1), weight("m", &[0], 0), weight("b", &[1, 2], 2)]
    }

    fn header() -> Value {
        json!({ "scale": 0.1, "classes": 3, "names": ["é", "\"", ""], "none": null })
    }

    fn written() -> (TempDir, PathBuf, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cfqp");
        write_container(&path, &header(), &weights()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (folder, path, bytes)
    }

    /// The error of reading a file of `arrays` whose JSON text is `head`.
    fn refused(head: Option<&str>, arrays: &[Weight]) -> Error {
        let (_folder, path, _) = written();
        let bytes = match head {
            Some(head) => to_bytes(head.to_owned(), arrays).unwrap(),
            None => safetensors::serialize(Vec::<(&str, TensorView)>::new(), None).unwrap(),
        };
        std::fs::write(&path, bytes).unwrap();
        read_container(&path).unwrap_err()
    }

    #[test]
    fn content_comes_back_bit_by_bit_in_its_order_and_gives_the_same_bytes() {
        let (_folder, path, bytes) = written();
        let (head, arrays) = read_container(&path).unwrap();
        assert_eq!(head, header());
        assert_eq!(arrays, weights());
        let bits = |arrays: &[Weight]| -> Vec<u32> {
            arrays.iter().flat_map(|array| array.values.iter().map(|value| value.to_bits())).collect()
        };
        assert_eq!(bits(&arrays), bits(&weights()));
        for _ in 0..8 {
            write_container(&path, &head, &arrays).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_file_cut_short_anywhere_is_an_error() {
        let (_folder, path, bytes) = written();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(matches!(read_container(&path), Err(Error::File { .. })), "at {cut}");
        }
        std::fs::write(&path, [&bytes[..], &[0; 4]].concat()).unwrap();
        assert!(read_container(&path).is_err());
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let (_folder, path, bytes) = written();
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bytes).unwrap();
            // White space of the JSON text may change without a change of content.
            if let Ok(read) = read_container(&path) {
                assert_eq!(read, (header(), weights()), "bit {bit}");
            }
        }
    }

    #[test]
    fn hostile_lengths_and_offsets_are_refused() {
        let (_folder, path, _) = written();
        let long = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
        let deep = "[".repeat(100_000);
        let tensor = |shape: &str, offsets: &str| {
            format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        let texts = [
            tensor("[4611686018427387905]", "[0,4]"),
            tensor("[1099511627776]", "[0,4398046511104]"),
            tensor("[1]", "[4,0]"),
            tensor("[1]", "[18446744073709551612,0]"),
            tensor("[-1]", "[0,4]"),
            deep,
        ];
        let files = texts.map(|text| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat());
        for bytes in files.into_iter().chain([long, vec![], vec![0; 8], vec![b'x'; 999]]) {
            std::fs::write(&path, &bytes).unwrap();
            assert!(matches!(read_container(&path), Err(Error::File { .. })));
        }
        assert!(matches!(read_container(Path::new("/no/such/file")), Err(Error::Io { .. })));
    }

    #[test]
    fn a_newer_format_is_named_with_the_way_out() {
        let error = refused(Some(r#"{"format": 7, "shape of things to come": 1}"#), &[]);
        let message = error.to_string();
        assert!(message.ends_with("written by a newer cfqp (format 7; this one reads up to 1)"), "{message}");
        assert!(error.hint().unwrap().contains("install a newer cfqp"));
    }

    #[test]
    fn foreign_files_and_lists_that_do_not_agree_are_refused() {
        assert!(refused(None, &[]).to_string().contains("have no `cfqp`"));
        for text in ["", "{", "[]", "{}", r#"{"format": 0}"#, r#"{"format": "1"}"#, r#"{"format": 1}"#] {
            assert!(refused(Some(text), &[]).to_string().contains("metadata `cfqp`"), "{text}");
        }
        let head = |order: &str| format!(r#"{{"format":1,"checksum":0,"order":{order},"model":{{}}}}"#);
        let message = |order: &str| refused(Some(&head(order)), &weights()[1..2]).to_string();
        assert!(message("[]").contains("it holds 1 arrays, its list names 0"));
        assert!(message(r#"["b"]"#).contains("`b` not found"));
        assert!(message(r#"["a","a"]"#).contains("names 2"));
        assert!(message(r#"["a"]"#).contains("checksum"));
        let nan = Weight { name: "a".to_owned(), shape: vec![1], values: vec![f32::NAN] };
        assert!(refused(Some(&head(r#"["a"]"#)), &[nan]).to_string().contains("array `a`, element 0"));
    }

    #[test]
    fn another_type_is_refused() {
        let (_folder, path, _) = written();
        let head = r#"{"format":1,"checksum":0,"order":["a"],"model":{}}"#.to_owned();
        let view = TensorView::new(Dtype::F64, vec![1], &[0; 8]).unwrap();
        let metadata = HashMap::from([(KEY.to_owned(), head)]);
        let bytes = safetensors::serialize([("a", view)], Some(metadata)).unwrap();
        std::fs::write(&path, bytes).unwrap();
        assert!(read_container(&path).unwrap_err().to_string().contains("array `a` is of type F64"));
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        let (_folder, path, bytes) = written();
        let twice = [weights(), weights()].concat();
        let mut shape = weights();
        shape[0].shape = vec![5];
        let mut nan = weights();
        nan[0].values[2] = f32::NAN;
        for arrays in [twice, shape, nan] {
            assert!(write_container(&path, &header(), &arrays).is_err());
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
