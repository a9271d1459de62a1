//! Tables read in chunks of rows: CSV, spreadsheets, Parquet and Arrow IPC (file and stream).

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{FieldRef, Fields};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::arrow_cells::decode_cells;
use super::arrow_limits::{Refusal, check_file, check_stream};
use super::arrow_numbers::{exact_names, integers};
use super::cells::Cells;
use super::csv_reader::{CsvReader, TextRow, open_csv};
use super::file_options::FileOptions;
use super::format::FileFormat;
use super::guard::{Caught, catch_panics};
use super::names::{list_names, nearest};
use super::parquet_limits::check_pages;
use super::place::Place;
use super::problem::{Problem, quote_in_hint};
use super::problems::Problems;
use super::sheet::{SheetReader, open_sheet};
use crate::data::{Retrying, open_file};
use crate::error::{Error, Result};

const PARQUET_HINT: &str = "the file is damaged or is not a Parquet file: write it again";
const ARROW_HINT: &str = "the file is damaged or is not an Arrow file: write it again";
/// Part of the message of both crates about a codec that they were built without.
const DISABLED_CODEC: &str = "Disabled feature";
const CODEC_HINT: &str = "its compression is not supported: write it with snappy, zstd, gzip or lz4";
/// Rows that are decoded at a time.
const CHUNK_ROWS: usize = 4096;

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
    Parquet(ParquetRecordBatchReader),
    ArrowFile(FileReader<BufReader<Retrying<File>>>),
    ArrowStream(StreamReader<BufReader<Retrying<File>>>),
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
    /// Opens `path`. If `wanted` columns are given, others need not be decoded.
    pub(super) fn open(path: &Path, options: &FileOptions, wanted: Option<&[String]>) -> Result<Self> {
        // before readers that open the path themselves
        open_file(path)?;
        let mut claimed_rows = 0;
        let (reader, columns) = match FileFormat::detect_table(path)? {
            FileFormat::Csv => {
                let (csv, columns) = open_csv(path, options.delimiter)?;
                (Reader::Csv(csv), columns)
            }
            FileFormat::Xlsx => {
                let (sheet, columns) = open_sheet(path, options.sheet.as_deref())?;
                (Reader::Sheet(sheet), columns)
            }
            FileFormat::Parquet => {
                let (reader, columns, rows) = open_parquet(path, wanted)?;
                claimed_rows = rows;
                (reader, columns)
            }
            _ => open_arrow(path)?,
        };
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
            let (next, hint) = match &mut self.reader {
                Reader::Csv(_) | Reader::Sheet(_) => return Ok(None),
                Reader::Parquet(reader) => (catch_panics(|| reader.next().transpose()), PARQUET_HINT),
                Reader::ArrowFile(reader) => (catch_panics(|| reader.next().transpose()), ARROW_HINT),
                Reader::ArrowStream(reader) => (catch_panics(|| reader.next().transpose()), ARROW_HINT),
            };
            let next = next.map_err(|cause| self.decode_error(cause, hint))?;
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

    fn decode_error(&self, cause: Caught, hint: &str) -> Error {
        let problem = match self.rows {
            0 => "the first rows cannot be read".to_owned(),
            rows => format!("the rows after row {rows} cannot be read"),
        };
        let hint = if cause.to_string().contains(DISABLED_CODEC) { CODEC_HINT } else { hint };
        Error::file(&self.path, problem, hint).with_source(cause)
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

/// Opens a Parquet file; gives its columns and the number of its rows.
fn open_parquet(path: &Path, wanted: Option<&[String]>) -> Result<(Reader, Vec<String>, usize)> {
    let (file, pages) = (open_file(path)?, open_file(path)?);
    let damaged =
        |cause: Caught| Error::file(path, "not a readable Parquet file", PARQUET_HINT).with_source(cause);
    let builder = catch_panics(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(damaged)?;
    let columns: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mask = match wanted {
        None => ProjectionMask::all(),
        Some(wanted) => {
            let roots = (0..columns.len()).filter(|&i| wanted.contains(&columns[i]));
            ProjectionMask::roots(builder.parquet_schema(), roots)
        }
    };
    let rows = catch_panics(|| {
        let (metadata, fields) = (builder.metadata(), wanted_fields(&builder, wanted));
        Ok::<_, Infallible>(check_pages(&pages, metadata, &fields, &mask, CHUNK_ROWS))
    });
    let rows = rows.map_err(damaged)?.map_err(|refusal| match refusal {
        Refusal::TooLarge(large) => large.of(path, "the columns"),
        Refusal::Damaged(cause) => damaged(cause),
    })?;
    let groups = builder.metadata().row_groups().iter();
    let claimed = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
    let claimed = claimed.fold(0, usize::saturating_add);
    let builder = builder.with_projection(mask).with_batch_size(rows);
    let reader = catch_panics(|| builder.build()).map_err(damaged)?;
    Ok((Reader::Parquet(reader), columns, claimed))
}

/// The columns of a Parquet file that are `wanted`.
fn wanted_fields(builder: &ParquetRecordBatchReaderBuilder<File>, wanted: Option<&[String]>) -> Fields {
    let is_wanted = |field: &&FieldRef| wanted.is_none_or(|wanted| wanted.contains(field.name()));
    builder.schema().fields().iter().filter(is_wanted).cloned().collect()
}

fn open_arrow(path: &Path) -> Result<(Reader, Vec<String>)> {
    let mut file = open_file(path)?;
    let mut magic = [0; 6];
    let is_file = file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1";
    file.rewind().map_err(Error::io(path))?;
    let damaged =
        |cause: Caught| Error::file(path, "not a readable Arrow file", ARROW_HINT).with_source(cause);
    let mut file = BufReader::new(Retrying(file));
    let check = if is_file { check_file } else { check_stream };
    let checked = catch_panics(|| Ok::<_, Infallible>(check(&mut file))).map_err(damaged)?;
    checked.map_err(|refusal| match refusal {
        Refusal::TooLarge(large) => large.of(path, "the rows"),
        Refusal::Damaged(cause) => damaged(cause),
    })?;
    file.rewind().map_err(Error::io(path))?;
    let (reader, schema) = if is_file {
        let reader = catch_panics(|| FileReader::try_new(file, None)).map_err(damaged)?;
        let schema = reader.schema();
        (Reader::ArrowFile(reader), schema)
    } else {
        let reader = catch_panics(|| StreamReader::try_new(file, None)).map_err(damaged)?;
        let schema = reader.schema();
        (Reader::ArrowStream(reader), schema)
    };
    Ok((reader, schema.fields().iter().map(|field| field.name().clone()).collect()))
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
