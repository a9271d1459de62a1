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
    assert_eq!(Table::read(&folder.path("table"), &spec).unwrap().data, csv.data);
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
