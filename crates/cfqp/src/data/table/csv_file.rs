//! CSV: quoted commas, a byte order mark, gzip; every problem with its line.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

use crate::{Error, Result};

/// An open CSV file behind its header.
pub(crate) struct Csv {
    reader: csv::Reader<Box<dyn Read>>,
}

/// Open `path` and read its header.
pub(crate) fn open(path: &Path, delimiter: Option<char>) -> Result<(Csv, Vec<String>)> {
    let delimiter = byte(path, delimiter)?;
    let file = File::open(path).map_err(Error::io(path))?;
    let zipped = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let mut input: Box<dyn Read> =
        if zipped { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
    // a whole first part, so that the byte order mark is seen in one piece
    let mut start = Vec::new();
    input.by_ref().take(4096).read_to_end(&mut start).map_err(Error::io(path))?;
    check_start(path, &start)?;
    let input: Box<dyn Read> = Box::new(std::io::Cursor::new(start).chain(input));
    let mut reader = ReaderBuilder::new().delimiter(delimiter).buffer_capacity(1 << 18).from_reader(input);
    let header = reader.headers().map_err(|error| explain(path, &error))?;
    let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    check_header(path, &columns, delimiter)?;
    Ok((Csv { reader }, columns))
}

/// The delimiter given, or the one of the ending.
fn byte(path: &Path, given: Option<char>) -> Result<u8> {
    let name = path.to_string_lossy().to_lowercase();
    let usual = if name.ends_with(".tsv") || name.ends_with(".tsv.gz") { '\t' } else { ',' };
    let delimiter = given.unwrap_or(usual);
    u8::try_from(delimiter).ok().filter(u8::is_ascii).ok_or_else(|| {
        let problem = format!("`{delimiter}` cannot separate cells");
        Error::config("delimiter", problem, "give one plain character, such as ';'")
    })
}

fn check_start(path: &Path, start: &[u8]) -> Result<()> {
    let unicode = "save it as UTF-8, for example by `iconv -f UTF-16 -t UTF-8`";
    match start {
        [] => Err(Error::file(
            path,
            "the file is empty",
            "give a file with a header and a row per unit or sample",
        )),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(Error::file(path, "it is UTF-16 text", unicode)),
        start if start.contains(&0) => {
            Err(Error::file(path, "it is no text: it holds a zero byte", "give a CSV file"))
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
            let problem = format!("its header is one column, `{only}`");
            let shown = if other == '\t' { "$'\\t'".to_owned() } else { format!("'{other}'") };
            Err(Error::file(path, problem, format!("give --delimiter {shown}")))
        }
    }
}

impl Csv {
    /// The next rows, at most `most`.
    pub fn next(&mut self, path: &Path, most: usize) -> Result<Option<Vec<StringRecord>>> {
        let mut records = Vec::new();
        while records.len() < most {
            let mut record = StringRecord::new();
            match self.reader.read_record(&mut record) {
                Ok(true) => records.push(record),
                Ok(false) => break,
                Err(error) => return Err(explain(path, &error)),
            }
        }
        Ok((!records.is_empty()).then_some(records))
    }
}

fn explain(path: &Path, error: &csv::Error) -> Error {
    let line = |position: &Option<csv::Position>| position.as_ref().map_or(1, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => Error::file(
            path,
            format!("line {}: {len} cells, the header has {expected_len}", line(pos)),
            "mend the line; a cell that holds the delimiter must stand in quotes",
        ),
        ErrorKind::Utf8 { pos, .. } => Error::file(
            path,
            format!("line {}: it is not UTF-8 text", line(pos)),
            "save the file as UTF-8, for example by `iconv -f LATIN1 -t UTF-8`",
        ),
        ErrorKind::Io(source) => {
            let hint = "copy the file again from its source";
            Error::file(path, format!("it cannot be read to its end: {source}"), hint)
        }
        other => Error::file(path, format!("{other:?}"), "give a CSV file"),
    }
}
