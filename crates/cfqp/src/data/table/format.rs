//! What kind of file a path names.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::{Error, Result};

/// Kinds of files that tables and answers are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, a row per line.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, as a file or a stream.
    Arrow,
    /// A JSON object per line; written, not read.
    JsonLines,
    /// Arrays of numpy.
    Npz,
}

impl Format {
    /// By the ending of `path`.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"]) {
            Some(Self::Csv)
        } else if ends(&[".parquet", ".pq"]) {
            Some(Self::Parquet)
        } else if ends(&[".arrow", ".arrows", ".feather", ".ipc"]) {
            Some(Self::Arrow)
        } else if ends(&[".jsonl", ".ndjson"]) {
            Some(Self::JsonLines)
        } else if ends(&[".npz"]) {
            Some(Self::Npz)
        } else {
            None
        }
    }

    /// What `path` can be written as.
    pub fn of_output(path: &Path) -> Result<Self> {
        let hint = "end its name in .parquet, .csv, .arrow, .jsonl or .npz";
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        Self::of(path)
            .filter(|_| !gzip)
            .ok_or_else(|| Error::file(path, "the ending of its name is of no format that is written", hint))
    }

    /// What the existing table `path` is: by its ending, else by its first bytes.
    pub(crate) fn of_table(path: &Path) -> Result<Self> {
        let table = |format: &Self| matches!(format, Self::Csv | Self::Parquet | Self::Arrow);
        if let Some(format) = Self::of(path).filter(table) {
            return Ok(format);
        }
        let mut start = [0; 6];
        let mut file = File::open(path).map_err(Error::io(path))?;
        let read = file.read(&mut start).map_err(Error::io(path))?;
        match &start[..read] {
            [b'P', b'A', b'R', b'1', ..] => Ok(Self::Parquet),
            b"ARROW1" => Ok(Self::Arrow),
            _ => {
                let hint = "give a .csv, .parquet or .arrow file, or arrays as .npz";
                Err(Error::file(path, "it is no kind of table that is read", hint))
            }
        }
    }
}
