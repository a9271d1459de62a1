//! Parquet and Arrow files, list columns, damaged files.

use super::*;

/// A small table.
fn output_batch() -> OutputBatch {
    let mut batch = OutputBatch::default();
    batch.push("id", OutputColumn::Integers(vec![7, 8, 9]));
    batch.push("sex", OutputColumn::Text(strings("f,m,f")));
    batch.push("dose", OutputColumn::Numbers(vec![0.1, 0.2, 0.3]));
    batch.push("y", OutputColumn::Numbers(vec![1.0 / 3.0, 1e-7, 123_456.79]));
    batch
}

#[test]
fn all_formats_give_the_same_units() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide_spec("sex", "dose", "y") };
    let read = |name: &str| {
        let path = folder.path(name);
        write_table(&path, std::iter::once(Ok(output_batch()))).unwrap();
        Table::read(&path, &spec).unwrap()
    };
    let (csv, parquet, arrow) = (read("a.csv"), read("a.parquet"), read("a.arrow"));
    assert_eq!(csv.data, parquet.data);
    assert_eq!(csv.data, arrow.data);
    assert_eq!(parquet.ids, Ids::Numbers(vec![7, 8, 9]));
    assert_eq!(csv.ids, Ids::Text(strings("7,8,9")));
    assert_eq!(csv.layout, parquet.layout);
    // without a known extension, the format is detected from the first bytes
    std::fs::rename(folder.path("a.parquet"), folder.path("table")).unwrap();
    assert_eq!(Table::read(folder.path("table"), &spec).unwrap().data, csv.data);
}

#[test]
fn arrow_streams_and_columns_of_data_frames_are_read() {
    use arrow_array::types::Int32Type;
    use arrow_array::{BooleanArray, Date32Array, DictionaryArray, Int32Array, RecordBatch, UInt8Array};
    use std::sync::Arc;
    let folder = Folder::new();
    let kind: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("b")].into_iter().collect();
    let columns: Vec<(&str, arrow_array::ArrayRef)> = vec![
        ("kind", Arc::new(kind)),
        ("t", Arc::new(UInt8Array::from(vec![1, 2, 3]))),
        ("y", Arc::new(Int32Array::from(vec![Some(-4), Some(5), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("day", Arc::new(Date32Array::from(vec![1, 2, 3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path("a.arrows");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let table = Table::read(&path, &wide_spec("kind,flag", "t", "y")).unwrap();
    assert_eq!(table.data.y().values(), [-4.0, 5.0]);
    assert_eq!(table.data.x().values(), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(table.data.x().mask_row(1), Some(&[false, false, true, true][..]));
    let table = Table::read(&path, &wide_spec("day", "t", "y")).unwrap();
    assert_eq!(table.data.x().values(), [0.0, 1.0]);
    let error = Table::read(&path, &wide_spec("kind", "day", "y")).unwrap_err();
    assert!(error.to_string().contains("column `day`: 3 cells are dates"), "{error}");
}

#[test]
fn lists_become_series_and_images() {
    let folder = Folder::new();
    let mut batch = OutputBatch::default();
    let values = |n: usize| (0..n).map(|i| i as f32).collect::<Vec<_>>();
    batch.push("a", OutputColumn::Lists { length: 6, values: values(18) });
    batch.push("b", OutputColumn::Lists { length: 6, values: values(18) });
    batch.push("t", OutputColumn::Numbers(vec![1.0, 2.0, 3.0]));
    batch.push("y", OutputColumn::Numbers(vec![1.0, 2.0, 3.0]));
    let path = folder.path("a.parquet");
    write_table(&path, std::iter::once(Ok(batch))).unwrap();
    let shape = |spec: TableSpec| Table::read(&path, &spec).map(|table| table.data.x().shape().to_vec());
    assert_eq!(shape(wide_spec("a", "t", "y")).unwrap(), [1, 6]);
    assert_eq!(shape(wide_spec("a,b", "t", "y")).unwrap(), [2, 6]);
    let image = TableSpec { x_shape: vec![1, 2, 3], ..wide_spec("a", "t", "y") };
    let table = Table::read(&path, &image).unwrap();
    assert_eq!((table.data.x().shape(), table.data.x().row(1)[0]), (&[1, 2, 3][..], 6.0));
    let wrong = TableSpec { x_shape: vec![4], ..wide_spec("a", "t", "y") };
    assert!(shape(wrong).unwrap_err().to_string().contains("[4] is not the shape of 6 elements"));
    assert!(shape(wide_spec("a,t", "y", "b")).unwrap_err().to_string().contains("`t` holds single values"));
    assert!(
        shape(wide_spec("b", "a", "y")).unwrap_err().to_string().contains("holds lists, but is used as `t`")
    );
    assert_eq!(table.layout.read(&path, true).unwrap().batch.data, table.data);
}

#[test]
fn damaged_files_are_errors() {
    let folder = Folder::new();
    for name in ["a.parquet", "a.arrow"] {
        let path = folder.path(name);
        write_table(&path, std::iter::once(Ok(output_batch()))).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            if let Err(error) = Table::read(&path, &wide_spec("sex", "dose", "y")) {
                assert!(error.to_string().contains(name) && error.hint().is_some(), "{error}");
            } else {
                panic!("{name} cut at {cut} was read");
            }
        }
        for place in (0..bytes.len()).step_by(3) {
            let mut bytes = bytes.clone();
            bytes[place] ^= 0x15;
            std::fs::write(&path, &bytes).unwrap();
            let _ = Table::read(&path, &wide_spec("sex", "dose", "y"));
        }
    }
}

/// Writes columns to an Arrow file.
fn write_arrow(path: &std::path::Path, columns: Vec<(&str, arrow_array::ArrayRef)>) {
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn ids_of_every_type_are_exact() {
    use arrow_array::types::Int8Type;
    use arrow_array::{
        ArrayRef, BinaryArray, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray,
        Float64Array, Int8Array, LargeStringArray, StringViewArray, UInt64Array,
    };
    use std::sync::Arc;
    let large = [11_753_139_189_196_474_894, 11_753_139_189_196_474_895, u64::MAX];
    let large_names = "11753139189196474894,11753139189196474895,18446744073709551615";
    let categories = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![2, 0, 1]),
        Arc::new(UInt64Array::from(vec![large[1], large[2], large[0]])),
    );
    let decimals = [123_456_789_012_345_678_901_i128, 123_456_789_012_345_678_902, -5];
    let decimal = Decimal128Array::from(decimals.to_vec()).with_precision_and_scale(30, 2).unwrap();
    let wide: Decimal256Array = decimals.into_iter().map(|value| Some(value.into())).collect();
    let wide = wide.with_precision_and_scale(60, 0).unwrap();
    let bytes: Vec<&[u8]> = vec![b"a1", b"a2", &[0xff, 0x00]];
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(UInt64Array::from(large.to_vec())), large_names),
        (Arc::new(categories), large_names),
        (Arc::new(decimal), "1234567890123456789.01,1234567890123456789.02,-0.05"),
        (Arc::new(wide), "123456789012345678901,123456789012345678902,-5"),
        (Arc::new(BinaryArray::from(bytes.clone())), "a1,a2,ff00"),
        (Arc::new(FixedSizeBinaryArray::try_from_iter(bytes.into_iter()).unwrap()), "a1,a2,ff00"),
        (Arc::new(LargeStringArray::from(vec!["007", "7", "7.0"])), "007,7,7.0"),
        (Arc::new(StringViewArray::from(vec!["007", "7", "7.0"])), "007,7,7.0"),
    ];
    let folder = Folder::new();
    let path = folder.path("a.arrow");
    let spec = TableSpec { id: Some("id".into()), ..wide_spec("x", "t", "y") };
    let numbers = || Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3])) as ArrayRef;
    for (ids, expected) in cases {
        let kind = ids.data_type().clone();
        write_arrow(&path, vec![("id", ids), ("x", numbers()), ("t", numbers()), ("y", numbers())]);
        let table = Table::read(&path, &spec).unwrap();
        assert_eq!(table.ids, Ids::Text(strings(expected)), "{kind}");
    }
}

#[test]
fn a_category_without_any_value_is_an_empty_column() {
    use arrow_array::types::Int8Type;
    use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int8Array, StringArray};
    use std::sync::Arc;
    let empty = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![None, None, None]),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    );
    let numbers = || Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3])) as ArrayRef;
    let folder = Folder::new();
    let path = folder.path("a.feather");
    write_arrow(&path, vec![("kind", Arc::new(empty)), ("x", numbers()), ("t", numbers()), ("y", numbers())]);
    let error = Table::read(&path, &wide_spec("kind,x", "t", "y")).unwrap_err().to_string();
    assert!(error.contains("kind"), "{error}");
    let spec = TableSpec { id: Some("kind".into()), ..wide_spec("x", "t", "y") };
    let error = Table::read(&path, &spec).unwrap_err().to_string();
    assert!(error.contains("kind"), "{error}");
}

#[test]
fn many_columns_are_checked_for_equal_names_in_linear_time() {
    let names: Vec<String> = (0..100_000).map(|i| format!("c{i}")).collect();
    let row = vec!["1"; names.len()].join(",");
    let twice = format!("{},c0\n{row},1\n", names.join(","));
    assert_error(&twice, &wide_spec("c1", "c2", "c3"), "columns 1 and 100001 are both named `c0`", "");
}
