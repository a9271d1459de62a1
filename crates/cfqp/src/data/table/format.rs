//! File formats of tables and answers.

use std::io::Read as _;
use std::path::Path;

use crate::data::open_file;
use crate::error::{Error, Result};

/// The format of a file with a table or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated text, one row per line.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, file or stream.
    Arrow,
    /// A spreadsheet of Excel; can be read only.
    Xlsx,
    /// One JSON object per line; can be written only.
    JsonLines,
    /// Numpy arrays.
    Npz,
}

impl FileFormat {
    /// The format that the extension of `path` stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let ends_in = |extensions: &[&str]| extensions.iter().any(|extension| name.ends_with(extension));
        if ends_in(&[".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"]) {
            Some(Self::Csv)
        } else if ends_in(&[".parquet", ".pq"]) {
            Some(Self::Parquet)
        } else if ends_in(&[".arrow", ".arrows", ".feather", ".ipc"]) {
            Some(Self::Arrow)
        } else if ends_in(&[".xlsx", ".xlsm"]) {
            Some(Self::Xlsx)
        } else if ends_in(&[".jsonl", ".ndjson"]) {
            Some(Self::JsonLines)
        } else if ends_in(&[".npz"]) {
            Some(Self::Npz)
        } else {
            None
        }
    }

    /// The format in which `path` can be written.
    ///
    /// # Errors
    /// If the extension stands for none.
    pub fn for_output(path: &Path) -> Result<Self> {
        let hint = "use the extension .parquet, .csv, .arrow, .jsonl or .npz";
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        Self::from_path(path)
            .filter(|format| !gzip && *format != Self::Xlsx)
            .ok_or_else(|| Error::file(path, "files with this extension cannot be written", hint))
    }

    /// The format of the existing table `path`, by its extension or else by its first bytes.
    pub(crate) fn detect_table(path: &Path) -> Result<Self> {
        let is_table = |format: &Self| matches!(format, Self::Csv | Self::Parquet | Self::Arrow | Self::Xlsx);
        if let Some(format) = Self::from_path(path).filter(is_table) {
            return Ok(format);
        }
        let mut start = [0; 6];
        let mut file = open_file(path)?;
        let read = file.read(&mut start).map_err(Error::io(path))?;
        match &start[..read] {
            [b'P', b'A', b'R', b'1', ..] => Ok(Self::Parquet),
            b"ARROW1" => Ok(Self::Arrow),
            _ => {
                let hint = "give a .csv, .parquet, .arrow or .xlsx file, or arrays as .npz";
                Err(Error::file(path, "the file is not in a supported table format", hint))
            }
        }
    }
}
