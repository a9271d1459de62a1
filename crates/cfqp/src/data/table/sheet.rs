//! Tables that are written part by part: Parquet, Arrow, CSV or JSON lines, whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::format::Format;
use crate::data::write_atomically;
use crate::{Error, Result};

type Out<'a, 'b> = &'a mut BufWriter<&'b File>;

/// Some rows of a table, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    columns: Vec<(String, Cells)>,
}

/// One column of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers; NaN is written as missing.
    Numbers(Vec<f32>),
    /// Numbers of full precision, such as times.
    Precise(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
    /// So many numbers per row.
    Lists(usize, Vec<f32>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Precise(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Lists(each, values) => values.len() / (*each).max(1),
        }
    }

    fn array(&self) -> std::result::Result<ArrayRef, arrow_schema::ArrowError> {
        Ok(match self {
            Self::Integers(values) => Arc::new(Int64Array::from(values.clone())),
            Self::Numbers(values) => {
                Arc::new(values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect::<Float32Array>())
            }
            Self::Precise(values) => Arc::new(Float64Array::from(values.clone())),
            Self::Text(values) => Arc::new(StringArray::from_iter_values(values)),
            Self::Lists(each, values) => {
                let values =
                    Arc::new(values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect::<Float32Array>());
                let field = Arc::new(Field::new("item", DataType::Float32, true));
                Arc::new(FixedSizeListArray::try_new(field, *each as i32, values, None)?)
            }
        })
    }

    /// One cell as text, with `quote` for texts; lists are `[1,2]`.
    fn text(&self, i: usize, quote: bool, out: &mut String) {
        use std::fmt::Write as _;
        let missing = if quote { "null" } else { "" };
        let number = |value: f32, out: &mut String| {
            // the shortest digits that give the same number, without a row of zeros
            let _ = match value.abs() {
                size if !size.is_finite() => write!(out, "{missing}"),
                size if size != 0.0 && !(1e-5..1e9).contains(&size) => write!(out, "{value:e}"),
                _ => write!(out, "{value}"),
            };
        };
        match self {
            Self::Integers(values) => {
                let _ = write!(out, "{}", values[i]);
            }
            Self::Numbers(values) => number(values[i], out),
            Self::Precise(values) => {
                let _ = write!(out, "{}", values[i]);
            }
            Self::Text(values) if quote => {
                out.push_str(&serde_json::Value::from(values[i].as_str()).to_string())
            }
            Self::Text(values) => out.push_str(&values[i]),
            Self::Lists(each, values) => {
                out.push('[');
                for (j, value) in values[i * each..(i + 1) * each].iter().enumerate() {
                    out.push_str(if j > 0 { "," } else { "" });
                    number(*value, out);
                }
                out.push(']');
            }
        }
    }
}

impl Sheet {
    /// Append a column; all columns have as many cells.
    pub fn push(&mut self, name: impl Into<String>, cells: Cells) {
        debug_assert!(self.columns.first().is_none_or(|(_, first)| first.len() == cells.len()));
        self.columns.push((name.into(), cells));
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Lists as a column for each element, for formats that know no lists.
    fn flat(self) -> Self {
        let mut flat = Self::default();
        for (name, cells) in self.columns {
            match cells {
                Cells::Lists(each, values) => {
                    for j in 0..each {
                        let own = values.iter().skip(j).step_by(each).copied().collect();
                        flat.push(format!("{name}_{j}"), Cells::Numbers(own));
                    }
                }
                cells => flat.push(name, cells),
            }
        }
        flat
    }

    fn batch(&self) -> std::result::Result<RecordBatch, arrow_schema::ArrowError> {
        let arrays = self.columns.iter().map(|(_, cells)| cells.array());
        let arrays = arrays.collect::<std::result::Result<Vec<_>, _>>()?;
        let field = |((name, _), array): (&(String, Cells), &ArrayRef)| {
            Field::new(name, array.data_type().clone(), true)
        };
        let fields: Vec<Field> = self.columns.iter().zip(&arrays).map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

/// Write `sheets`, which all have the same columns, to one file by the ending of its name; how many rows.
///
/// A sheet is asked for when the one before it is written, so that only one is held at a time. After an error nothing
/// is left behind.
pub fn write_sheets(path: &Path, sheets: impl Iterator<Item = Result<Sheet>>) -> Result<usize> {
    let format = Format::of_output(path)?;
    let mut rows = 0;
    let sheets = sheets.inspect(|sheet| rows += sheet.as_ref().map_or(0, Sheet::rows));
    write_atomically(path, |out| match format {
        Format::Csv => write_csv(path, out, sheets),
        Format::JsonLines => write_json(path, out, sheets),
        Format::Parquet => write_parquet(path, out, sheets),
        Format::Arrow => write_arrow(path, out, sheets),
        Format::Npz => {
            let hint = "end its name in .parquet, .csv, .arrow or .jsonl";
            Err(Error::file(path, "a table cannot be written as .npz", hint))
        }
    })?;
    Ok(rows)
}

fn write_csv(path: &Path, out: Out<'_, '_>, sheets: impl Iterator<Item = Result<Sheet>>) -> Result<()> {
    let tab = path.extension().is_some_and(|extension| extension == "tsv");
    let mut writer = csv::WriterBuilder::new().delimiter(if tab { b'\t' } else { b',' }).from_writer(out);
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::io(path)(source),
        other => Error::file(path, format!("{other:?}"), "please report this"),
    };
    let mut cell = String::new();
    for (n, sheet) in sheets.enumerate() {
        let sheet = sheet?.flat();
        if n == 0 {
            writer.write_record(sheet.names()).map_err(failed)?;
        }
        for i in 0..sheet.rows() {
            for (_, cells) in &sheet.columns {
                cell.clear();
                cells.text(i, false, &mut cell);
                writer.write_field(&cell).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
    }
    writer.flush().map_err(Error::io(path))
}

fn write_json(path: &Path, out: Out<'_, '_>, sheets: impl Iterator<Item = Result<Sheet>>) -> Result<()> {
    let mut line = String::new();
    for sheet in sheets {
        let sheet = sheet?;
        let names: Vec<String> =
            sheet.names().iter().map(|&name| serde_json::Value::from(name).to_string()).collect();
        for i in 0..sheet.rows() {
            line.clear();
            for (j, ((_, cells), name)) in sheet.columns.iter().zip(&names).enumerate() {
                line.push(if j == 0 { '{' } else { ',' });
                line.push_str(name);
                line.push(':');
                cells.text(i, true, &mut line);
            }
            line.push_str("}\n");
            out.write_all(line.as_bytes()).map_err(Error::io(path))?;
        }
    }
    Ok(())
}

fn write_parquet(
    path: &Path,
    out: Out<'_, '_>,
    mut sheets: impl Iterator<Item = Result<Sheet>>,
) -> Result<()> {
    // a group is held in memory until it is full
    const GROUP: usize = 1 << 17;
    let failed = |error: parquet::errors::ParquetError| cannot_write(path, &error);
    let Some(first) = sheets.next().transpose()? else { return Err(nothing(path)) };
    let first = first.batch().map_err(|error| cannot_write(path, &error))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    let mut writer = ArrowWriter::try_new(out, first.schema(), Some(properties)).map_err(failed)?;
    writer.write(&first).map_err(failed)?;
    for sheet in sheets {
        let batch = sheet?.batch().map_err(|error| cannot_write(path, &error))?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.close().map(drop).map_err(failed)
}

fn write_arrow(path: &Path, out: Out<'_, '_>, mut sheets: impl Iterator<Item = Result<Sheet>>) -> Result<()> {
    let failed = |error: arrow_schema::ArrowError| cannot_write(path, &error);
    let Some(first) = sheets.next().transpose()? else { return Err(nothing(path)) };
    let first = first.batch().map_err(failed)?;
    let mut writer = FileWriter::try_new(out, &first.schema()).map_err(failed)?;
    writer.write(&first).map_err(failed)?;
    for sheet in sheets {
        writer.write(&sheet?.batch().map_err(failed)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

fn nothing(path: &Path) -> Error {
    Error::file(path, "there is nothing to write", "give at least one unit")
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::file(path, format!("cannot be written: {error}"), "is the disk full?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(from: i64) -> Sheet {
        let mut sheet = Sheet::default();
        sheet.push("id", Cells::Integers(vec![from, from + 1]));
        sheet.push("name", Cells::Text(vec!["a, \"b\"".into(), "c".into()]));
        sheet.push("y", Cells::Numbers(vec![0.1, f32::NAN]));
        sheet.push("s", Cells::Lists(2, vec![1.0, 2.0, 3.0, 4.5]));
        sheet
    }

    #[test]
    fn texts_are_written_as_their_readers_expect() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            assert_eq!(write_sheets(&path, [sheet(1), sheet(3)].into_iter().map(Ok)).unwrap(), 4);
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
    fn an_error_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.parquet", "a.arrow", "a.jsonl"] {
            let sheets = [Ok(sheet(1)), Err(Error::Interrupted)].into_iter();
            assert!(matches!(write_sheets(&folder.path().join(name), sheets), Err(Error::Interrupted)));
        }
        assert!(write_sheets(&folder.path().join("a.xlsx"), [Ok(sheet(1))].into_iter()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
