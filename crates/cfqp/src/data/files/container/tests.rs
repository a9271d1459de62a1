use super::*;
use crate::data::read_bytes;

fn read_container(path: &Path) -> Result<(Value, Vec<NamedArray>)> {
    super::read_container(path, &read_bytes(path)?)
}
use serde_json::json;
use std::path::PathBuf;
use tempfile::TempDir;

fn sample_arrays() -> Vec<NamedArray> {
    let values = [1.0, -0.0, f32::MIN_POSITIVE / 3.0, 1.0 / 3.0, f32::MAX, 6.0];
    let array = |name: &str, shape: &[usize], count: usize| NamedArray {
        name: name.to_owned(),
        shape: shape.to_vec(),
        values: values[..count].to_vec(),
    };
    vec![array("z", &[2, 3], 6), array("a", &[], 1), array("m", &[0], 0), array("b", &[1, 2], 2)]
}

fn header() -> Value {
    json!({ "scale": 0.1, "classes": 3, "names": ["é", "\"", ""], "none": null })
}

fn written() -> (TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cfqp");
    write_container(&path, &header(), &sample_arrays()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (folder, path, bytes)
}

/// The error of reading a file of `arrays` with the JSON text `head`.
fn read_error(head: Option<&str>, arrays: &[NamedArray]) -> Error {
    let (_folder, path, _) = written();
    let bytes = match head {
        Some(head) => to_bytes(head.to_owned(), arrays).unwrap(),
        None => safetensors::serialize(Vec::<(&str, TensorView)>::new(), None).unwrap(),
    };
    std::fs::write(&path, bytes).unwrap();
    read_container(&path).unwrap_err()
}

#[test]
fn content_is_read_back_bit_by_bit_in_order_and_gives_the_same_bytes() {
    let (_folder, path, bytes) = written();
    let (head, arrays) = read_container(&path).unwrap();
    assert_eq!(head, header());
    assert_eq!(arrays, sample_arrays());
    let bits = |arrays: &[NamedArray]| -> Vec<u32> {
        arrays.iter().flat_map(|array| array.values.iter().map(|value| value.to_bits())).collect()
    };
    assert_eq!(bits(&arrays), bits(&sample_arrays()));
    for _ in 0..8 {
        write_container(&path, &head, &arrays).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    let (_folder, path, bytes) = written();
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        assert!(matches!(read_container(&path), Err(Error::File { .. })), "at {cut}");
    }
    std::fs::write(&path, [&bytes[..], &[0; 4]].concat()).unwrap();
    assert!(read_container(&path).is_err());
}

#[test]
fn every_flipped_bit_is_detected() {
    let (_folder, path, bytes) = written();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        // whitespace of the JSON text may change without a change of content
        if let Ok(read) = read_container(&path) {
            assert_eq!(read, (header(), sample_arrays()), "bit {bit}");
        }
    }
}

#[test]
fn hostile_lengths_and_offsets_are_errors() {
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
fn a_newer_format_is_an_error_with_a_hint() {
    let error = read_error(Some(r#"{"format": 7, "shape of things to come": 1}"#), &[]);
    let message = error.to_string();
    assert!(
        message.ends_with("written by a newer version of cfqp (format 7; this version reads up to 1)"),
        "{message}"
    );
    assert!(error.hint().unwrap().contains("install a newer version"));
}

#[test]
fn foreign_files_and_inconsistent_lists_are_errors() {
    assert!(read_error(None, &[]).to_string().contains("has no `cfqp`"));
    for text in ["", "{", "[]", "{}", r#"{"format": 0}"#, r#"{"format": "1"}"#, r#"{"format": 1}"#] {
        assert!(read_error(Some(text), &[]).to_string().contains("metadata `cfqp`"), "{text}");
    }
    let head = |order: &str| format!(r#"{{"format":1,"checksum":0,"order":{order},"model":{{}}}}"#);
    let message = |order: &str| read_error(Some(&head(order)), &sample_arrays()[1..2]).to_string();
    assert!(message("[]").contains("it has 1 arrays, but lists 0"));
    assert!(message(r#"["b"]"#).contains("array `b` is missing"));
    assert!(message(r#"["a","a"]"#).contains("lists 2"));
    assert!(message(r#"["a"]"#).contains("checksum"));
    let nan = NamedArray { name: "a".to_owned(), shape: vec![1], values: vec![f32::NAN] };
    assert!(read_error(Some(&head(r#"["a"]"#)), &[nan]).to_string().contains("array `a`, element 0"));
}

#[test]
fn other_element_types_are_errors() {
    let (_folder, path, _) = written();
    let head = r#"{"format":1,"checksum":0,"order":["a"],"model":{}}"#.to_owned();
    let view = TensorView::new(Dtype::F64, vec![1], &[0; 8]).unwrap();
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), head)]);
    let bytes = safetensors::serialize([("a", view)], Some(metadata)).unwrap();
    std::fs::write(&path, bytes).unwrap();
    assert!(read_container(&path).unwrap_err().to_string().contains("array `a` has type F64"));
}

#[test]
fn invalid_arrays_are_not_written() {
    let (_folder, path, bytes) = written();
    let twice = [sample_arrays(), sample_arrays()].concat();
    let mut shape = sample_arrays();
    shape[0].shape = vec![5];
    let mut nan = sample_arrays();
    nan[0].values[2] = f32::NAN;
    for arrays in [twice, shape, nan] {
        assert!(write_container(&path, &header(), &arrays).is_err());
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}
