//! Tables read in chunks of rows: CSV, spreadsheets, Parquet (files and folders), Arrow IPC (file and stream) and record
//! batches in memory.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::arrow_cells::decode_cells;
use super::arrow_numbers::{exact_names, integers};
use super::cells::Cells;
use super::csv_reader::{CsvReader, TextRow, open_csv};
use super::file_options::FileOptions;
use super::folder::FolderReader;
use super::format::FileFormat;
use super::guard::catch_panics;
use super::input::{RecordBatches, TableInput};
use super::names::{list_names, nearest};
use super::place::Place;
use super::problem::{Problem, quote_in_hint};
use super::problems::Problems;
use super::record_reader::RecordReader;
use super::sheet::{SheetReader, open_sheet};
use crate::data::open_file;
use crate::error::Result;

/// An open table.
pub(crate) struct Source {
    path: PathBuf,
    columns: Arc<Vec<String>>,
    /// Columns that are read as if all their cells were empty.
    absent: Arc<Vec<String>>,
    reader: Reader,
    /// The number of rows that the file claims to have, where it does before its rows; a few bytes may stand for many.
    pub claimed_rows: usize,
    /// The number of rows returned so far.
    rows: usize,
    /// The rows of a decoded batch that were not returned yet.
    rest: Option<RecordBatch>,
    /// The problems found so far.
    pub problems: Problems,
}

enum Reader {
    Csv(CsvReader),
    Sheet(SheetReader),
    Records(RecordReader),
    Folder(FolderReader),
    /// Record batches in memory, and the number of those returned.
    Memory(RecordBatches, usize),
}

/// Some rows of a table.
pub(crate) struct Chunk {
    columns: Arc<Vec<String>>,
    absent: Arc<Vec<String>>,
    /// The number of rows before these.
    pub first: usize,
    content: Content,
}

enum Content {
    Text(Vec<TextRow>),
    Arrow(RecordBatch),
}

impl Source {
    /// Opens a table. If `wanted` columns are given, others need not be decoded.
    pub(super) fn open(input: &TableInput, options: &FileOptions, wanted: Option<&[String]>) -> Result<Self> {
        match input {
            TableInput::Path(path) if path.is_dir() => {
                let (reader, columns, rows) = FolderReader::open(path, wanted)?;
                Self::new(path, Reader::Folder(reader), columns, rows)
            }
            TableInput::Path(path) => Self::open_file(path, options, wanted),
            TableInput::Batches(batches) => {
                let reader = Reader::Memory(batches.clone(), 0);
                Self::new(input.name(), reader, batches.columns(), batches.rows())
            }
        }
    }

    fn open_file(path: &Path, options: &FileOptions, wanted: Option<&[String]>) -> Result<Self> {
        // before readers that open the path themselves
        open_file(path)?;
        let (reader, columns, claimed_rows) = match FileFormat::detect_table(path)? {
            FileFormat::Csv => {
                let (csv, columns) = open_csv(path, options.delimiter)?;
                (Reader::Csv(csv), columns, 0)
            }
            FileFormat::Xlsx => {
                let (sheet, columns) = open_sheet(path, options.sheet.as_deref())?;
                (Reader::Sheet(sheet), columns, 0)
            }
            FileFormat::Parquet => {
                let (reader, columns, rows) = RecordReader::open_parquet(path, wanted)?;
                (Reader::Records(reader), columns, rows)
            }
            _ => {
                let (reader, columns) = RecordReader::open_arrow(path)?;
                (Reader::Records(reader), columns, 0)
            }
        };
        Self::new(path, reader, columns, claimed_rows)
    }

    fn new(path: &Path, reader: Reader, columns: Vec<String>, claimed_rows: usize) -> Result<Self> {
        check_columns(&columns).map_err(|problem| problem.at(path))?;
        Ok(Self {
            path: path.to_owned(),
            columns: Arc::new(columns),
            absent: Arc::default(),
            reader,
            claimed_rows,
            rows: 0,
            rest: None,
            problems: Problems::default(),
        })
    }

    /// The same table; the columns `absent`, which it has not, are read as if all their cells were empty.
    pub(super) fn with_absent(self, absent: Vec<String>) -> Self {
        Self { absent: Arc::new(absent), ..self }
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next rows, at most `limit`; `None` at the end.
    pub(super) fn next(&mut self, limit: usize) -> Result<Option<Chunk>> {
        let content = match &mut self.reader {
            Reader::Csv(csv) => csv.next(&self.path, limit, &mut self.problems)?.map(Content::Text),
            Reader::Sheet(sheet) => sheet.next(limit).map(Content::Text),
            _ => self.next_batch(limit)?.map(Content::Arrow),
        };
        let Some(content) = content else { return Ok(None) };
        let (columns, absent) = (self.columns.clone(), self.absent.clone());
        let chunk = Chunk { columns, absent, first: self.rows, content };
        self.rows += chunk.rows();
        Ok(Some(chunk))
    }

    fn next_batch(&mut self, limit: usize) -> Result<Option<RecordBatch>> {
        while self.rest.as_ref().is_none_or(|rest| rest.num_rows() == 0) {
            let next = match &mut self.reader {
                Reader::Csv(_) | Reader::Sheet(_) => None,
                Reader::Records(reader) => reader.next()?,
                Reader::Folder(reader) => reader.next()?,
                Reader::Memory(batches, returned) => {
                    *returned += 1;
                    batches.get(*returned - 1)
                }
            };
            match next {
                None => return Ok(None),
                batch => self.rest = batch,
            }
        }
        let Some(batch) = self.rest.take() else { return Ok(None) };
        let count = batch.num_rows().min(limit);
        self.rest = Some(batch.slice(count, batch.num_rows() - count));
        Ok(Some(batch.slice(0, count)))
    }
}

impl Chunk {
    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        match &self.content {
            Content::Text(rows) => rows.len(),
            Content::Arrow(batch) => batch.num_rows(),
        }
    }

    /// Whether the table has no column `name`, which is read as if all its cells were empty.
    pub(super) fn is_absent(&self, name: &str) -> bool {
        self.absent.iter().any(|absent| absent == name)
    }

    /// The cells of the column `name`.
    pub(super) fn cells(&self, name: &str) -> Cells<'_> {
        if self.is_absent(name) {
            return Cells::Numbers(vec![f64::NAN; self.rows()]);
        }
        match &self.content {
            Content::Text(rows) => match self.columns.iter().position(|column| column == name) {
                Some(j) => Cells::Text(rows.iter().map(|row| row.cells.get(j)).collect()),
                None => no_column(),
            },
            Content::Arrow(batch) => match batch.column_by_name(name) {
                Some(array) => decoded(|| decode_cells(array))
                    .unwrap_or_else(|| Cells::Other("damaged values: write the file again".to_owned())),
                None => no_column(),
            },
        }
    }

    /// The cells of a column that is stored as integers; `None` for other types and where cells are texts.
    pub(super) fn integers(&self, name: &str) -> Option<Vec<Option<i64>>> {
        match &self.content {
            Content::Text(_) => None,
            Content::Arrow(batch) => decoded(|| integers(batch.column_by_name(name)?)).flatten(),
        }
    }

    /// The cells of a column as names, where their type would lose digits as numbers; `None` for other types.
    pub(super) fn exact_names(&self, name: &str) -> Option<Vec<Option<String>>> {
        match &self.content {
            Content::Text(_) => None,
            Content::Arrow(batch) => decoded(|| exact_names(batch.column_by_name(name)?)).flatten(),
        }
    }

    /// The place of row `i` in the file.
    pub(super) fn place(&self, i: usize) -> Place {
        match &self.content {
            Content::Text(rows) => rows[i].place,
            Content::Arrow(_) => Place::Row(self.first as u64 + i as u64 + 1),
        }
    }
}

/// What `decode` makes of an array; `None` if it panics, because the content of the file is inconsistent.
fn decoded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    catch_panics(|| Ok::<T, Infallible>(decode())).ok()
}

fn no_column<'a>() -> Cells<'a> {
    Cells::Other("there is no such column".to_owned())
}

/// Checks that no two columns have the same name.
fn check_columns(columns: &[String]) -> Result<(), Problem> {
    let mut places = HashMap::with_capacity(columns.len());
    for (i, name) in columns.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = places.insert(name, i) {
            let problem = format!("columns {} and {} are both named `{name}`", first + 1, i + 1);
            return Err(Problem::new(problem, "give every column a different name"));
        }
    }
    Ok(())
}

/// Checks that all `wanted` columns, those of a model, exist.
pub(crate) fn check_present(wanted: &[String], columns: &[String]) -> Result<(), Problem> {
    let missing: Vec<&String> = wanted.iter().filter(|name| !columns.contains(name)).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let others = match missing.len() - 1 {
        0 => String::new(),
        1 => ", nor 1 other column of the model".to_owned(),
        more => format!(", nor {more} other columns of the model"),
    };
    let rename = nearest(first, columns)
        .map_or(String::new(), |near| format!("did you mean {}? If so, rename it; ", quote_in_hint(near)));
    let hint =
        format!("{rename}the model was fitted with this column; the columns are {}", list_names(columns));
    Err(Problem::new(format!("there is no column `{first}`{others}"), hint))
}
