//! A folder of Parquet files, which may be partitioned: `region=north/part-0.parquet`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::names::list_names;
use super::record_reader::RecordReader;
use crate::error::{Error, Result};

/// The name of a partition whose value is missing.
const MISSING_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// A Parquet file of a folder, with the columns that the names of its folders add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartFile {
    pub path: PathBuf,
    /// Names and values; `None` where the value is missing.
    partition: Vec<(String, Option<String>)>,
}

/// The Parquet files of `folder` and of its folders, in the order of their names.
pub(super) fn parquet_files(folder: &Path) -> Result<Vec<PartFile>> {
    let mut files = Vec::new();
    collect_files(folder, &mut Vec::new(), &mut files)?;
    Ok(files)
}

fn collect_files(
    folder: &Path,
    partition: &mut Vec<(String, Option<String>)>,
    files: &mut Vec<PartFile>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(Error::io(folder))?;
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(['_', '.']) {
            continue;
        }
        if path.is_dir() {
            let key = name.split_once('=').map(|(key, value)| (unescape(key), partition_value(value)));
            let depth = partition.len();
            partition.extend(key);
            collect_files(&path, partition, files)?;
            partition.truncate(depth);
        } else if path.extension().is_some_and(|extension| extension == "parquet" || extension == "pq") {
            files.push(PartFile { path, partition: partition.clone() });
        }
    }
    Ok(())
}

fn partition_value(text: &str) -> Option<String> {
    (text != MISSING_PARTITION).then(|| unescape(text))
}

/// A name of a folder, in which `%2F` stands for the byte 0x2F.
fn unescape(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let (bytes, mut plain, mut i) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(i) {
        match (byte, digit(bytes.get(i + 1)), digit(bytes.get(i + 2))) {
            (b'%', Some(high), Some(low)) => {
                plain.push((16 * high + low) as u8);
                i += 3;
            }
            _ => {
                plain.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The files of a folder, read one after another.
pub(super) struct FolderReader {
    files: std::vec::IntoIter<PartFile>,
    columns: Vec<String>,
    wanted: Option<Vec<String>>,
    current: Option<(RecordReader, PartFile)>,
}

impl FolderReader {
    /// Opens `folder`; gives its columns, those of its first file, and the rows that its files claim to have.
    pub(super) fn open(folder: &Path, wanted: Option<&[String]>) -> Result<(Self, Vec<String>, usize)> {
        let files = parquet_files(folder)?;
        let Some(first) = files.first() else {
            let hint = "give a folder of .parquet files, or one file";
            return Err(Error::file(folder, "the folder has no Parquet files", hint));
        };
        let (_, columns, mut claimed_rows) = first.open(wanted)?;
        for file in &files[1..] {
            let (_, found, rows) = file.open(wanted)?;
            file.check_columns(&columns, &found)?;
            claimed_rows = claimed_rows.saturating_add(rows);
        }
        let reader = Self {
            files: files.into_iter(),
            columns: columns.clone(),
            wanted: wanted.map(<[String]>::to_vec),
            current: None,
        };
        Ok((reader, columns, claimed_rows))
    }

    /// The next rows; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some((reader, file)) = &mut self.current {
                if let Some(batch) = reader.next()? {
                    return file.with_partition(&batch).map(Some);
                }
                self.current = None;
            }
            let Some(file) = self.files.next() else { return Ok(None) };
            let (reader, columns, _) = file.open(self.wanted.as_deref())?;
            // files may change between the passes over a table
            file.check_columns(&self.columns, &columns)?;
            self.current = Some((reader, file));
        }
    }
}

impl PartFile {
    /// The file's record batches, its columns with those of the partitions, and the number of its rows.
    fn open(&self, wanted: Option<&[String]>) -> Result<(RecordReader, Vec<String>, usize)> {
        let (reader, mut columns, rows) = RecordReader::open_parquet(&self.path, wanted)?;
        columns.retain(|name| self.is_own(name));
        columns.extend(self.partition.iter().map(|(key, _)| key.clone()));
        Ok((reader, columns, rows))
    }

    /// Whether the column `name` is the file's own, not that of a partition.
    fn is_own(&self, name: &str) -> bool {
        !self.partition.iter().any(|(key, _)| key == name)
    }

    /// Checks that the file has the columns of the first file, in any order.
    fn check_columns(&self, first: &[String], own: &[String]) -> Result<()> {
        let missing = first.iter().find(|name| !own.contains(name));
        let extra = own.iter().find(|name| !first.contains(name));
        let problem = match (missing, extra) {
            (None, None) => return Ok(()),
            (Some(name), _) => format!("there is no column `{name}`, which the first file of the folder has"),
            (None, Some(name)) => format!("column `{name}` is not in the first file of the folder"),
        };
        let hint = format!(
            "all files of a folder need the same columns; those of the first are {}",
            list_names(first)
        );
        Err(Error::file(&self.path, problem, hint))
    }

    /// The rows with a column for every partition, which replaces one of the same name.
    fn with_partition(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if self.partition.is_empty() {
            return Ok(batch.clone());
        }
        let schema = batch.schema();
        let own = schema.fields().iter().zip(batch.columns()).filter(|(field, _)| self.is_own(field.name()));
        let (mut fields, mut columns): (Vec<_>, Vec<ArrayRef>) =
            own.map(|(field, column)| (field.clone(), column.clone())).unzip();
        for (key, value) in &self.partition {
            fields.push(Arc::new(Field::new(key, DataType::Utf8, true)));
            columns.push(Arc::new(StringArray::from(vec![value.as_deref(); batch.num_rows()])));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|cause| {
            let hint = "rename the folders so that no two of them name the same column";
            Error::file(&self.path, "the partitions cannot be read", hint).with_source(cause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_unescaped() {
        assert_eq!(unescape("a%2Fb%20c"), "a/b c");
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%zz%4"), "%zz%4");
        assert_eq!(partition_value(MISSING_PARTITION), None);
    }
}
