//! Writes tables batch by batch: Parquet, Arrow, CSV or JSON lines.

use std::io::Write;
use std::path::Path;

use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::format::FileFormat;
use super::output::{OutputBatch, TextStyle};
use crate::data::write_atomically;
use crate::error::{Error, Result};

/// Rows of a Parquet row group, which is held in memory until it is complete.
const ROW_GROUP_ROWS: usize = 1 << 17;

/// Writes `batches`, which all have the same columns, to one file, in the format of its extension. Returns the number of
/// rows.
///
/// A batch is requested when the previous one is written, so that only one is held in memory. The file is written
/// completely or not at all.
///
/// # Errors
/// If a batch is an error, if there are none (Parquet and Arrow), if the extension is not supported, or if the file
/// cannot be written.
pub fn write_table(path: &Path, batches: impl Iterator<Item = Result<OutputBatch>>) -> Result<usize> {
    let format = FileFormat::for_output(path)?;
    let mut rows = 0;
    let batches = batches.inspect(|batch| rows += batch.as_ref().map_or(0, OutputBatch::rows));
    write_atomically(path, |out| write_batches(path, format, out, batches))?;
    Ok(rows)
}

fn write_batches(
    path: &Path,
    format: FileFormat,
    out: &mut (impl Write + Send),
    batches: impl Iterator<Item = Result<OutputBatch>>,
) -> Result<()> {
    match format {
        FileFormat::Csv => write_csv(path, out, batches),
        FileFormat::JsonLines => write_json(path, out, batches),
        FileFormat::Parquet => write_parquet(path, out, batches),
        FileFormat::Arrow => write_arrow(path, out, batches),
        FileFormat::Npz | FileFormat::Xlsx => {
            let hint = "use the extension .parquet, .csv, .arrow or .jsonl";
            Err(Error::file(path, "a table cannot be written in this format", hint))
        }
    }
}

fn write_csv(
    path: &Path,
    out: &mut (impl Write + Send),
    batches: impl Iterator<Item = Result<OutputBatch>>,
) -> Result<()> {
    let is_tsv = path.extension().is_some_and(|extension| extension == "tsv");
    let mut writer = csv::WriterBuilder::new().delimiter(if is_tsv { b'\t' } else { b',' }).from_writer(out);
    let failed = |error: csv::Error| write_error(path, error);
    let mut cell = String::new();
    for (n, batch) in batches.enumerate() {
        let batch = batch?.flatten_lists();
        if n == 0 {
            writer.write_record(batch.names()).map_err(failed)?;
        }
        for i in 0..batch.rows() {
            for (_, column) in &batch.columns {
                cell.clear();
                column.write_text(i, TextStyle::Csv, &mut cell);
                writer.write_field(&cell).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
    }
    writer.flush().map_err(Error::io(path))
}

fn write_json(
    path: &Path,
    out: &mut (impl Write + Send),
    batches: impl Iterator<Item = Result<OutputBatch>>,
) -> Result<()> {
    let mut line = String::new();
    for batch in batches {
        let batch = batch?;
        let names: Vec<String> =
            batch.names().iter().map(|&name| serde_json::Value::from(name).to_string()).collect();
        for i in 0..batch.rows() {
            line.clear();
            for (j, ((_, column), name)) in batch.columns.iter().zip(&names).enumerate() {
                line.push(if j == 0 { '{' } else { ',' });
                line.push_str(name);
                line.push(':');
                column.write_text(i, TextStyle::Json, &mut line);
            }
            line.push_str("}\n");
            out.write_all(line.as_bytes()).map_err(Error::io(path))?;
        }
    }
    Ok(())
}

fn write_parquet(
    path: &Path,
    out: &mut (impl Write + Send),
    mut batches: impl Iterator<Item = Result<OutputBatch>>,
) -> Result<()> {
    let failed = |error: ParquetError| write_error(path, error);
    let Some(first) = batches.next().transpose()? else { return Err(no_batches(path)) };
    let first = first.to_record_batch().map_err(|error| write_error(path, error))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(out, first.schema(), Some(properties)).map_err(failed)?;
    writer.write(&first).map_err(failed)?;
    for batch in batches {
        let batch = batch?.to_record_batch().map_err(|error| write_error(path, error))?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.close().map(drop).map_err(failed)
}

fn write_arrow(
    path: &Path,
    out: &mut (impl Write + Send),
    mut batches: impl Iterator<Item = Result<OutputBatch>>,
) -> Result<()> {
    let failed = |error: ArrowError| write_error(path, error);
    let Some(first) = batches.next().transpose()? else { return Err(no_batches(path)) };
    let first = first.to_record_batch().map_err(failed)?;
    let mut writer = FileWriter::try_new(out, &first.schema()).map_err(failed)?;
    writer.write(&first).map_err(failed)?;
    for batch in batches {
        writer.write(&batch?.to_record_batch().map_err(failed)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

fn no_batches(path: &Path) -> Error {
    Error::file(path, "there are no rows to write", "give at least one unit")
}

fn write_error(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::file(path, "the file cannot be written", "check that the disk is not full").with_source(error)
}

#[cfg(test)]
mod tests {
    use std::io::BufWriter;

    use super::*;
    use crate::data::faulty::check_writer;
    use crate::data::table::OutputColumn;

    fn batch(from: i64) -> OutputBatch {
        let mut batch = OutputBatch::default();
        batch.push("id", OutputColumn::Integers(vec![from, from + 1]));
        batch.push("name", OutputColumn::Text(vec!["a, \"b\"".into(), "c".into()]));
        batch.push("y", OutputColumn::Numbers(vec![0.1, f32::NAN]));
        batch.push("s", OutputColumn::Lists { length: 2, values: vec![1.0, 2.0, 3.0, 4.5] });
        batch
    }

    #[test]
    fn csv_and_json_are_quoted_correctly() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            assert_eq!(write_table(&path, [batch(1), batch(3)].into_iter().map(Ok)).unwrap(), 4);
            std::fs::read_to_string(path).unwrap()
        };
        let csv = "id,name,y,s_0,s_1\n1,\"a, \"\"b\"\"\",0.1,1,2\n2,c,,3,4.5\n";
        assert!(write("a.csv").starts_with(csv));
        let json = r#"{"id":1,"name":"a, \"b\"","y":0.1,"s":[1,2]}"#;
        let text = write("a.jsonl");
        assert_eq!((text.lines().next(), text.lines().count()), (Some(json), 4));
        assert!(text.contains(r#""y":null"#));
    }

    #[test]
    fn faults_are_errors_or_change_nothing() {
        let formats = [FileFormat::Csv, FileFormat::JsonLines, FileFormat::Parquet, FileFormat::Arrow];
        for (format, capacity) in formats.into_iter().flat_map(|format| [0, 7, 1 << 13].map(|c| (format, c)))
        {
            check_writer(|file| {
                let path = Path::new("a");
                let mut out = BufWriter::with_capacity(capacity, file);
                write_batches(path, format, &mut out, [batch(1), batch(3)].into_iter().map(Ok))?;
                out.flush().map_err(Error::io(path))
            });
        }
    }

    #[test]
    fn an_error_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.parquet", "a.arrow", "a.jsonl"] {
            let batches = [Ok(batch(1)), Err(Error::Interrupted)].into_iter();
            assert!(matches!(write_table(&folder.path().join(name), batches), Err(Error::Interrupted)));
        }
        assert!(write_table(&folder.path().join("a.xlsx"), [Ok(batch(1))].into_iter()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
