//! CSV files, plain or compressed by gzip; errors name the line.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// An open CSV file, positioned after its header.
pub(crate) struct CsvReader {
    reader: csv::Reader<Box<dyn Read>>,
}

/// Opens `path` and reads the names of the columns.
pub(crate) fn open_csv(path: &Path, delimiter: Option<char>) -> Result<(CsvReader, Vec<String>)> {
    let delimiter = delimiter_byte(path, delimiter)?;
    let file = File::open(path).map_err(Error::io(path))?;
    let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let mut input: Box<dyn Read> =
        if is_gzip { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
    // read the start in one piece: the byte order mark must not be split
    let mut start = Vec::new();
    input.by_ref().take(4096).read_to_end(&mut start).map_err(Error::io(path))?;
    check_start(path, &start)?;
    let input: Box<dyn Read> = Box::new(std::io::Cursor::new(start).chain(input));
    let mut reader = ReaderBuilder::new().delimiter(delimiter).buffer_capacity(1 << 18).from_reader(input);
    let header = reader.headers().map_err(|error| read_error(path, error))?;
    let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    check_header(path, &columns, delimiter)?;
    Ok((CsvReader { reader }, columns))
}

/// The given delimiter, or the usual one of the extension.
fn delimiter_byte(path: &Path, given: Option<char>) -> Result<u8> {
    let name = path.to_string_lossy().to_lowercase();
    let usual = if name.ends_with(".tsv") || name.ends_with(".tsv.gz") { '\t' } else { ',' };
    let delimiter = given.unwrap_or(usual);
    u8::try_from(delimiter).ok().filter(u8::is_ascii).ok_or_else(|| {
        let problem = format!("`{delimiter}` cannot separate cells");
        Error::config("delimiter", problem, "give one ASCII character, such as ';'")
    })
}

fn check_start(path: &Path, start: &[u8]) -> Result<()> {
    let convert = "save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`";
    match start {
        [] => Err(Error::file(
            path,
            "the file is empty",
            "give a file with a header and one row per unit or sample",
        )),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(Error::file(path, "the file is UTF-16 text", convert)),
        start if start.contains(&0) => {
            Err(Error::file(path, "the file is not text: it has a zero byte", "give a CSV file"))
        }
        _ => Ok(()),
    }
}

fn check_header(path: &Path, columns: &[String], delimiter: u8) -> Result<()> {
    let [only] = columns else { return Ok(()) };
    let other =
        [';', '\t', '|', ','].into_iter().find(|&c| only.contains(c) && u32::from(delimiter) != c as u32);
    match other {
        None => Ok(()),
        Some(other) => {
            let problem = format!("the header has only one column, `{only}`");
            let shown = if other == '\t' { "a tab".to_owned() } else { format!("'{other}'") };
            Err(Error::file(path, problem, format!("set `delimiter` to {shown}")))
        }
    }
}

impl CsvReader {
    /// The next rows, at most `limit`; `None` at the end.
    pub(super) fn next(&mut self, path: &Path, limit: usize) -> Result<Option<Vec<StringRecord>>> {
        let mut records = Vec::new();
        while records.len() < limit {
            let mut record = StringRecord::new();
            match self.reader.read_record(&mut record) {
                Ok(true) => records.push(record),
                Ok(false) => break,
                Err(error) => return Err(read_error(path, error)),
            }
        }
        Ok((!records.is_empty()).then_some(records))
    }
}

fn read_error(path: &Path, error: csv::Error) -> Error {
    let line = |position: &Option<csv::Position>| position.as_ref().map_or(1, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => Error::file(
            path,
            format!("line {}: {len} cells, but the header has {expected_len}", line(pos)),
            "fix the line; a cell that contains the delimiter must be quoted",
        ),
        ErrorKind::Utf8 { pos, .. } => Error::file(
            path,
            format!("line {}: not UTF-8 text", line(pos)),
            "save the file as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`",
        ),
        ErrorKind::Io(_) => {
            let hint = "copy the file again from its source";
            Error::file(path, "the file cannot be read to the end", hint).with_source(error)
        }
        _ => Error::file(path, "the file cannot be read as CSV", "give a CSV file").with_source(error),
    }
}
