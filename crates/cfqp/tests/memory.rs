//! Files that ask for more memory than the limit are refused with an error that names the file and both sizes.
//!
//! The limit is one of the process, so these tests have a process of their own.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Float64Array, ListArray, NullArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use cfqp::data::{read_idx, set_memory_limit};
use cfqp::sim::Oscillator;
use cfqp::{Base, Classes, Dataset, Error, Fit, FitConfig, Model, Resources, Table, TableSpec};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The limit of this process: 16 MB.
const LIMIT: u64 = 16 << 20;

/// A folder for the files of one test.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        static LIMITED: Once = Once::new();
        LIMITED.call_once(|| set_memory_limit(LIMIT));
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// Checks that the error names the file, what is needed and what is allowed.
#[track_caller]
fn check<T: std::fmt::Debug>(result: Result<T, Error>, path: &Path) -> String {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert!(text.contains("needs ") && text.ends_with("of memory; the limit is 16 MB"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("`memory_limit`")), "{error:?}");
    text
}

fn spec(x: &str) -> TableSpec {
    TableSpec { x: vec![x.into()], t: vec!["t".into()], y: vec!["y".into()], ..TableSpec::default() }
}

fn gzip(write: impl FnOnce(&mut GzEncoder<Vec<u8>>)) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    write(&mut encoder);
    encoder.finish().unwrap()
}

/// An archive with one array of `count` elements, each a zero of `size` bytes.
fn npz(descr: &str, size: usize, count: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut array = |name: &str| {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}\n");
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(0), (size * count) as u64), &mut zip).unwrap();
    };
    array("x.npy");
    array("x_mask.npy");
    zip.finish().unwrap().into_inner()
}

#[test]
fn arrays_count_as_they_will_be_in_memory() {
    let fixture = Fixture::new();
    // 5 MB of truth values are 20 MB of numbers
    let path = fixture.file("bool.npz", &npz("|b1", 1, 5 << 20));
    let text = check(Dataset::read_npz(&path), &path);
    assert!(text.contains("array `x`: needs 20 MB"), "{text}");
    // 3 million numbers fit, a mask of as many does not fit beside them
    let path = fixture.file("mask.npz", &npz("<f4", 4, 3 << 20));
    let text = check(Dataset::read_npz(&path), &path);
    assert!(text.contains("array `x_mask`: needs 24 MB"), "{text}");
}

#[test]
fn compressed_texts_count_as_they_expand() {
    let fixture = Fixture::new();
    let many_rows = gzip(|file| {
        file.write_all(b"x,t,y\n").unwrap();
        file.write_all(&b"1,2,3\n".repeat(2 << 20)).unwrap();
    });
    assert!(many_rows.len() < 1 << 20);
    let path = fixture.file("rows.csv.gz", &many_rows);
    check(Table::read(&path, &spec("x")), &path);
    let one_row = gzip(|file| {
        file.write_all(b"x,t,y\n1,2,\"").unwrap();
        file.write_all(&vec![b'\n'; 8 << 20]).unwrap();
    });
    let path = fixture.file("row.csv.gz", &one_row);
    check(Table::read(&path, &spec("x")), &path);
    let wide = gzip(|file| file.write_all(&vec![b','; 8 << 20]).unwrap());
    let path = fixture.file("columns.csv.gz", &wide);
    check(Table::read(&path, &spec("x")), &path);
}

#[test]
fn a_long_table_counts_as_its_grid() {
    let fixture = Fixture::new();
    // every unit has few samples, but one of them lies far away
    let mut text = "id,time,t,v\n".to_owned();
    for unit in 0..2000 {
        text += &format!("{unit},0,1,1\n{unit},1,1,2\n{unit},2,1,2\n{unit},3,1,2\n{unit},4,1,3\n");
    }
    text += "0,9000,1,1\n";
    let path = fixture.file("long.csv", text.as_bytes());
    let spec = TableSpec {
        id: Some("id".into()),
        time: Some("time".into()),
        series: vec!["v".into()],
        t: vec!["t".into()],
        treated_at: Some(cfqp::data::table::TreatedAt::Number(1.0)),
        ..TableSpec::default()
    };
    check(Table::read(&path, &spec), &path);
}

/// A column of numbers, another, and the treatment and outcome.
fn batch(x: ArrayRef) -> RecordBatch {
    let numbers = || Arc::new(Float64Array::from(vec![0.5; x.len()])) as ArrayRef;
    RecordBatch::try_from_iter([("x", x.clone()), ("t", numbers()), ("y", numbers())]).unwrap()
}

fn arrow_file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn lengths_of_compressed_buffers_are_not_believed() {
    let fixture = Fixture::new();
    let batch = batch(Arc::new(Float64Array::from(vec![0.0; 4096])));
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let mut bytes = arrow_file(&batch, Some(codec));
        let honest = fixture.file("honest.arrow", &bytes);
        assert!(Table::read(&honest, &spec("x")).is_ok());
        // every buffer begins with its length when it is expanded
        let length = (4096_u64 * 8).to_le_bytes();
        let at = bytes.windows(8).rposition(|bytes| bytes == length).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let path = fixture.file("lying.arrow", &bytes);
        check(Table::read(&path, &spec("x")), &path);
    }
}

#[test]
fn rows_of_an_arrow_file_that_take_no_bytes_count() {
    let fixture = Fixture::new();
    let batch = RecordBatch::try_from_iter([
        ("x", Arc::new(NullArray::new(4 << 20)) as ArrayRef),
        ("t", Arc::new(NullArray::new(4 << 20))),
        ("y", Arc::new(NullArray::new(4 << 20))),
    ])
    .unwrap();
    let path = fixture.file("file.arrow", &arrow_file(&batch, None));
    check(Table::read(&path, &spec("x")), &path);
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let path = fixture.file("stream.arrow", &stream.into_inner().unwrap());
    check(Table::read(&path, &spec("x")), &path);
}

#[test]
fn a_message_beyond_the_end_of_an_arrow_file_is_damage() {
    let fixture = Fixture::new();
    let batch = batch(Arc::new(Float64Array::from(vec![0.0; 64])));
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let bytes = stream.into_inner().unwrap();
    let path = fixture.file("cut.arrow", &bytes[..bytes.len() - 600]);
    let error = Table::read(&path, &spec("x")).unwrap_err().to_string();
    assert!(error.ends_with("not a readable Arrow file"), "{error}");
}

fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn lists_of_a_parquet_file_count_as_they_expand() {
    let fixture = Fixture::new();
    let long = Some(vec![Some(7); 4 << 20]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([long, Some(vec![Some(1)])]);
    let bytes = parquet_file(&batch(Arc::new(lists)));
    assert!(bytes.len() < 64 << 10, "{}", bytes.len());
    let path = fixture.file("lists.parquet", &bytes);
    check(Table::read(&path, &spec("x")), &path);
}

#[test]
fn a_long_text_repeated_in_a_parquet_file_is_read_in_small_batches() {
    let fixture = Fixture::new();
    // 40 rows with a text of 1 MB: 40 MB as a column
    let text = "a".repeat(1 << 20);
    let texts = StringArray::from(vec![text.as_str(); 40]);
    let bytes = parquet_file(&batch(Arc::new(texts)));
    let path = fixture.file("texts.parquet", &bytes);
    let error = Table::read(&path, &TableSpec { categorical: vec!["x".into()], ..spec("x") }).map(|_| ());
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn the_cells_of_a_sheet_count_as_a_rectangle() {
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let fixture = Fixture::new();
    let relation = |kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id=\"a\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/></Relationships>"
        )
    };
    let sheets = format!(
        "<workbook xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"s\" sheetId=\"1\" r:id=\"a\"/></sheets></workbook>"
    );
    let cells =
        "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"1000000\"><c r=\"ZZ1000000\"><v>1</v></c></row>";
    let sheet = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/workbook.xml", sheets),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "worksheets/sheet1.xml")),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/extra.xml", String::new()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let path = fixture.file("corners.xlsx", &zip.finish().unwrap().into_inner());
    let text = check(Table::read(&path, &spec("x")), &path);
    assert!(text.contains("the sheet s"), "{text}");

    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("xl/sharedStrings.xml", SimpleFileOptions::default()).unwrap();
    zip.write_all(&vec![b' '; 32 << 20]).unwrap();
    let path = fixture.file("expanded.xlsx", &zip.finish().unwrap().into_inner());
    check(Table::read(&path, &spec("x")), &path);
}

#[test]
fn images_count_before_they_are_read() {
    let fixture = Fixture::new();
    let images = gzip(|file| {
        file.write_all(&[0, 0, 8, 1, 2, 0, 0, 0]).unwrap();
        file.write_all(&vec![0; 32 << 20]).unwrap();
    });
    let path = fixture.file("images", &images);
    check(read_idx(&path), &path);
}

#[test]
fn a_model_file_larger_than_the_limit_is_not_read() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("large.cfqp");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(64 << 20).unwrap();
    check(Model::load(&path, &Resources::default()), &path);
}

#[test]
fn a_model_header_is_compared_with_the_arrays_before_networks_are_built() {
    let fixture = Fixture::new();
    let data = Oscillator::default().simulate(60, 1).unwrap().data;
    let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
    let path = fixture.folder.path().join("model.cfqp");
    Fit::new(config).run(&data).unwrap().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let text = &metadata.metadata().as_ref().unwrap()["cfqp"];
    let mut head: serde_json::Value = serde_json::from_str(text).unwrap();
    // a perceptron with 64 layers of 16384: 64 GB
    let treatment = serde_json::json!({ "kind": "smooth", "frequencies": 0, "scale": 0.0 });
    head["model"]["base"] =
        serde_json::json!({ "model": "mlp", "hidden": vec![1 << 14; 64], "treatment": treatment });
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    head["checksum"] = checksum(&head, &tensors).into();
    let metadata = std::collections::HashMap::from([("cfqp".to_owned(), head.to_string())]);
    let views: Vec<_> = tensors.tensors().into_iter().collect();
    let path = fixture.file("large.cfqp", &safetensors::serialize(views, Some(metadata)).unwrap());
    let error = Model::load(&path, &Resources::default()).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    assert!(error.contains("numbers for a network of 16913842216 parameters"), "{error}");
}

/// The checksum of a model file: of the JSON text of the model, then of each array's name, shape and values.
fn checksum(head: &serde_json::Value, tensors: &safetensors::SafeTensors) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(head["model"].to_string().as_bytes());
    for name in head["order"].as_array().unwrap() {
        let tensor = tensors.tensor(name.as_str().unwrap()).unwrap();
        crc.update(format!("{:?} {:?}", name.as_str().unwrap(), tensor.shape()).as_bytes());
        crc.update(tensor.data());
    }
    crc.sum()
}
