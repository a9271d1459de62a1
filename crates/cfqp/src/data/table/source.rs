//! Files of rows and columns, read part by part: CSV, Parquet, Arrow IPC (file and stream).

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::arrow_cells;
use super::cells::Cells;
use super::csv_file;
use super::format::Format;
use super::names::listed;
use super::problem::Problem;
use crate::{Error, Result};

const PARQUET: &str = "the file is damaged or no Parquet file: write it again";
const ARROW: &str = "the file is damaged or no Arrow file: write it again";
/// Both crates say this of what they were built without.
const NOT_BUILT_IN: &str = "Disabled feature";
const COMPRESSION: &str =
    "it is compressed in a way that is not read here: write it with snappy, zstd, gzip or lz4";
/// Rows that are decoded at once.
const ROWS: usize = 4096;

/// An open table.
pub(crate) struct Source {
    path: PathBuf,
    columns: Arc<Vec<String>>,
    reader: Reader,
    /// Rows given out so far.
    rows: usize,
    /// A batch of which a part is still to be given out.
    rest: Option<RecordBatch>,
}

enum Reader {
    Csv(csv_file::Csv),
    Parquet(ParquetRecordBatchReader),
    ArrowFile(FileReader<BufReader<File>>),
    ArrowStream(StreamReader<BufReader<File>>),
}

/// Some rows of a table.
pub(crate) struct Chunk {
    columns: Arc<Vec<String>>,
    /// How many rows of the file stand before these.
    pub first: usize,
    content: Content,
}

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A line of text.
    Line(u64),
    /// A row of the table.
    Row(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

enum Content {
    Csv(Vec<csv::StringRecord>),
    Arrow(RecordBatch),
}

impl Source {
    /// Open `path`. Where columns are `wanted`, others need not be decoded.
    pub fn open(path: &Path, delimiter: Option<char>, wanted: Option<&[String]>) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::io(path)(std::io::ErrorKind::IsADirectory.into()));
        }
        let (reader, columns) = match Format::of_table(path)? {
            Format::Csv => {
                let (csv, columns) = csv_file::open(path, delimiter)?;
                (Reader::Csv(csv), columns)
            }
            Format::Parquet => open_parquet(path, wanted)?,
            _ => open_arrow(path)?,
        };
        check_columns(&columns).map_err(|problem| problem.at(path))?;
        Ok(Self { path: path.to_owned(), columns: Arc::new(columns), reader, rows: 0, rest: None })
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next rows, at most `most`.
    pub fn next(&mut self, most: usize) -> Result<Option<Chunk>> {
        let content = match &mut self.reader {
            Reader::Csv(csv) => csv.next(&self.path, most)?.map(Content::Csv),
            _ => self.next_batch(most)?.map(Content::Arrow),
        };
        let Some(content) = content else { return Ok(None) };
        let chunk = Chunk { columns: self.columns.clone(), first: self.rows, content };
        self.rows += chunk.rows();
        Ok(Some(chunk))
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<RecordBatch>> {
        while self.rest.as_ref().is_none_or(|rest| rest.num_rows() == 0) {
            let (next, hint) = match &mut self.reader {
                Reader::Csv(_) => return Ok(None),
                Reader::Parquet(reader) => (guarded(|| reader.next().transpose()), PARQUET),
                Reader::ArrowFile(reader) => (guarded(|| reader.next().transpose()), ARROW),
                Reader::ArrowStream(reader) => (guarded(|| reader.next().transpose()), ARROW),
            };
            let next = next.map_err(|error| {
                let place = if self.rows > 0 { format!("behind row {}: ", self.rows) } else { String::new() };
                let hint = if error.contains(NOT_BUILT_IN) { COMPRESSION } else { hint };
                Error::file(&self.path, place + &error, hint)
            })?;
            match next {
                None => return Ok(None),
                batch => self.rest = batch,
            }
        }
        let Some(batch) = self.rest.take() else { return Ok(None) };
        let count = batch.num_rows().min(most);
        self.rest = Some(batch.slice(count, batch.num_rows() - count));
        Ok(Some(batch.slice(0, count)))
    }
}

impl Chunk {
    pub fn rows(&self) -> usize {
        match &self.content {
            Content::Csv(records) => records.len(),
            Content::Arrow(batch) => batch.num_rows(),
        }
    }

    /// The cells of the column called `name`, which is one of the table's.
    pub fn cells(&self, name: &str) -> Cells<'_> {
        match &self.content {
            Content::Csv(records) => match self.columns.iter().position(|column| column == name) {
                Some(j) => Cells::Text(records.iter().map(|record| record.get(j)).collect()),
                None => Cells::Other("nothing".to_owned()),
            },
            Content::Arrow(batch) => match batch.column_by_name(name) {
                Some(array) => arrow_cells::cells(array),
                None => Cells::Other("nothing".to_owned()),
            },
        }
    }

    /// The cells of a column that its file says to be whole numbers.
    pub fn integers(&self, name: &str) -> Option<Vec<Option<i64>>> {
        match &self.content {
            Content::Csv(_) => None,
            Content::Arrow(batch) => arrow_cells::integers(batch.column_by_name(name)?),
        }
    }

    /// Where row `i` stands, as a reader of the file counts.
    pub fn place(&self, i: usize) -> Place {
        let line = match &self.content {
            Content::Csv(records) => records[i].position().map(csv::Position::line),
            Content::Arrow(_) => None,
        };
        line.map_or(Place::Row(self.first as u64 + i as u64 + 1), Place::Line)
    }
}

fn check_columns(columns: &[String]) -> Result<(), Problem> {
    for (i, name) in columns.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = columns[..i].iter().position(|other| other == name) {
            let problem = format!("columns {} and {} are both called `{name}`", first + 1, i + 1);
            return Err(Problem::new(problem, "give every column a name of its own"));
        }
    }
    Ok(())
}

fn open_parquet(path: &Path, wanted: Option<&[String]>) -> Result<(Reader, Vec<String>)> {
    let file = File::open(path).map_err(Error::io(path))?;
    let damaged = |problem: String| Error::file(path, problem, PARQUET);
    let builder = guarded(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(damaged)?;
    let columns: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mask = match wanted {
        None => ProjectionMask::all(),
        Some(wanted) => {
            let roots = (0..columns.len()).filter(|&i| wanted.contains(&columns[i]));
            ProjectionMask::roots(builder.parquet_schema(), roots)
        }
    };
    let reader = guarded(|| builder.with_projection(mask).with_batch_size(ROWS).build()).map_err(damaged)?;
    Ok((Reader::Parquet(reader), columns))
}

fn open_arrow(path: &Path) -> Result<(Reader, Vec<String>)> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut magic = [0; 6];
    let whole = file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1";
    file.rewind().map_err(Error::io(path))?;
    let damaged = |problem: String| Error::file(path, problem, ARROW);
    let file = BufReader::new(file);
    let (reader, schema) = if whole {
        let reader = guarded(|| FileReader::try_new(file, None)).map_err(damaged)?;
        let schema = reader.schema();
        (Reader::ArrowFile(reader), schema)
    } else {
        let reader = guarded(|| StreamReader::try_new(file, None)).map_err(damaged)?;
        let schema = reader.schema();
        (Reader::ArrowStream(reader), schema)
    };
    Ok((reader, schema.fields().iter().map(|field| field.name().clone()).collect()))
}

thread_local! {
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread is inside a reader whose panics become errors: a program's panic hook need not tell them.
pub fn panics_are_errors() -> bool {
    GUARDED.get()
}

/// What a reader of another crate says. Damaged files make some of them panic: that too is only an error here, and the
/// reader is not used again.
fn guarded<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    GUARDED.set(true);
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    GUARDED.set(false);
    match read {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string().lines().next().unwrap_or("it cannot be read").to_owned()),
        Err(_) => Err("its reader came to an impossible state".to_owned()),
    }
}

/// Whether all of `wanted` are among `columns`, as a model needs them.
pub(crate) fn check_present(wanted: &[String], columns: &[String]) -> Result<(), Problem> {
    let missing: Vec<String> = wanted.iter().filter(|name| !columns.contains(name)).cloned().collect();
    match missing.first() {
        None => Ok(()),
        Some(first) => {
            let near = super::names::nearest(first, columns);
            let near = near.map_or(String::new(), |near| format!("is `{near}` meant? If so, rename it: "));
            let more = missing.len() - 1;
            let more = if more > 0 { format!(", nor {more} others") } else { String::new() };
            let problem = format!("there is no column `{first}`{more}");
            let hint = format!(
                "{near}the model was fitted on a table that has it; the columns here are {}",
                listed(columns)
            );
            Err(Problem::new(problem, hint))
        }
    }
}
