//! Tables in memory and folders of Parquet files give the units of one file with the same rows.

use arrow_array::RecordBatch;

use super::*;
use crate::error::Error;

const DOSES: [f32; 6] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];

/// The rows `rows` of a small table.
fn part(rows: std::ops::Range<usize>) -> OutputBatch {
    let mut batch = OutputBatch::default();
    batch.push("age", OutputColumn::Integers(rows.clone().map(|i| 30 + i as i64).collect()));
    batch.push("dose", OutputColumn::Numbers(DOSES[rows.clone()].to_vec()));
    batch.push("y", OutputColumn::Numbers(rows.map(|i| i as f32 / 3.0).collect()));
    batch
}

fn in_memory(parts: &[OutputBatch]) -> RecordBatches {
    let batches: Vec<RecordBatch> = parts.iter().map(|part| part.to_record_batch().unwrap()).collect();
    RecordBatches::new("DataFrame", batches[0].schema(), batches)
}

fn write(path: &std::path::Path, part: OutputBatch) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_table(path, std::iter::once(Ok(part))).unwrap();
}

#[test]
fn a_table_in_memory_gives_the_units_of_a_file() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    write(&path, part(0..6));
    let spec = wide_spec("age", "dose", "y");
    let file = Table::read(&path, &spec).unwrap();
    let batches = in_memory(&[part(0..1), part(1..1), part(1..6)]);
    let memory = Table::read(batches.clone(), &spec).unwrap();
    assert_eq!(memory, file);
    assert_eq!(file.layout.read(batches, true).unwrap().batch.data, file.data);
}

#[test]
fn errors_of_a_table_in_memory_have_its_name() {
    let read = |spec: &TableSpec| Table::read(in_memory(&[part(0..6)]), spec).unwrap_err().to_string();
    assert_eq!(
        read(&wide_spec("aeg", "dose", "y")).split(": ").next(),
        Some("DataFrame"),
        "{}",
        read(&wide_spec("aeg", "dose", "y"))
    );
    let empty = Table::read(in_memory(&[part(0..0)]), &wide_spec("age", "dose", "y")).unwrap_err();
    assert_eq!(empty.to_string(), "DataFrame: the table has a header but no rows");
}

#[test]
fn a_folder_gives_the_units_of_one_file() {
    let folder = Folder::new();
    let spec = wide_spec("age", "dose", "y");
    write(&folder.path("one.parquet"), part(0..6));
    let file = Table::read(folder.path("one.parquet"), &spec).unwrap();
    write(&folder.path("all/b/2.parquet"), part(4..6));
    write(&folder.path("all/a/1.pq"), part(0..4));
    std::fs::write(folder.path("all/_SUCCESS"), "").unwrap();
    std::fs::write(folder.path("all/.part.crc"), "crc").unwrap();
    assert_eq!(Table::read(folder.path("all"), &spec).unwrap(), file);
}

#[test]
fn partitions_are_columns() {
    let folder = Folder::new();
    write(&folder.path("all/region=north%20west/p.parquet"), part(0..2));
    write(&folder.path("all/region=south/p.parquet"), part(2..4));
    write(&folder.path("all/region=__HIVE_DEFAULT_PARTITION__/p.parquet"), part(4..6));
    let table = Table::read(folder.path("all"), &wide_spec("age,region", "dose", "y")).unwrap();
    let names = match &table.layout.form {
        TableForm::Wide { x: Block::Features(features), .. } => features[1].names(),
        form => panic!("{form:?}"),
    };
    assert_eq!(names, ["region=north west", "region=south"]);
    let x = |i: usize| table.data.x().row(i).to_vec();
    assert_eq!((0..6).map(|i| x(i)[0]).collect::<Vec<_>>(), [34.0, 35.0, 30.0, 31.0, 32.0, 33.0]);
    assert_eq!((x(2)[1..].to_vec(), x(4)[1..].to_vec()), (vec![1.0, 0.0], vec![0.0, 1.0]));
    assert_eq!(table.data.x().mask_row(0).unwrap()[1..], [false, false]);
}

#[test]
fn files_of_a_folder_need_the_same_columns() {
    let folder = Folder::new();
    let spec = wide_spec("age", "dose", "y");
    let error = |name: &str| match Table::read(folder.path(name), &spec).unwrap_err() {
        Error::File { path, problem, .. } => (path, problem),
        error => panic!("{error}"),
    };
    write(&folder.path("all/1.parquet"), part(0..4));
    let mut other = OutputBatch::default();
    other.push("age", OutputColumn::Integers(vec![1]));
    write(&folder.path("all/2.parquet"), other);
    let (path, problem) = error("all");
    assert_eq!(path, folder.path("all/2.parquet"));
    assert_eq!(problem, "there is no column `dose`, which the first file of the folder has");
    std::fs::create_dir(folder.path("none")).unwrap();
    assert_eq!(error("none").1, "the folder has no Parquet files");
}
