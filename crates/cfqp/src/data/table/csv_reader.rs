//! CSV files, plain or compressed by gzip; errors name the line.

use std::cell::Cell;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use csv::{ByteRecord, ErrorKind, ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

use super::place::Place;
use super::problems::{CellFault, Problems};
use crate::data::{Retrying, open_file};
use crate::error::{Error, Result};
use crate::runtime::{TooLarge, check_memory, check_size};

/// An open CSV file, positioned after its header.
pub(crate) struct CsvReader {
    reader: csv::Reader<Box<dyn Read>>,
    /// The number of cells of the header.
    width: usize,
    /// The bytes that were read since the last row was complete.
    pending: Rc<Cell<u64>>,
}

/// The memory of a byte of a row while it is read: a cell takes a byte or more, the reader keeps the ends of cells, and its
/// buffers grow by doubling.
const BYTE_OF_ROW: u64 = 16;
/// The memory of a row beside its cells, and of a cell beside its text.
const ROW_BYTES: usize = 128;
const CELL_BYTES: usize = size_of::<usize>();
/// The memory of the name of a column and of what is known about it.
const COLUMN_BYTES: usize = 1024;

/// A row of texts, and where it starts.
pub(crate) struct TextRow {
    pub cells: StringRecord,
    pub place: Place,
}

/// Opens `path` and reads the names of the columns.
pub(crate) fn open_csv(path: &Path, delimiter: Option<char>) -> Result<(CsvReader, Vec<String>)> {
    let delimiter = delimiter_byte(path, delimiter)?;
    let file = open_file(path)?;
    let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    read_header(path, file, is_gzip, delimiter)
}

/// Reads the names of the columns of `file`, the content of `path`.
fn read_header(
    path: &Path,
    file: impl Read + 'static,
    is_gzip: bool,
    delimiter: u8,
) -> Result<(CsvReader, Vec<String>)> {
    let file = Retrying(file);
    let mut input: Box<dyn Read> =
        if is_gzip { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
    // read the start in one piece: the byte order mark must not be split
    let mut start = Vec::new();
    input.by_ref().take(4096).read_to_end(&mut start).map_err(Error::io(path))?;
    check_start(path, &start)?;
    let has_commas = has_decimal_commas(&start);
    // every line has an end, so that lines can be counted by it
    let input = Cursor::new(start).chain(input).chain(Cursor::new(b"\n"));
    let pending = Rc::new(Cell::new(0));
    let input = LimitedRows { input, pending: pending.clone() };
    let input: Box<dyn Read> = Box::new(UnixLines { input, is_after_return: false });
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter).flexible(true).buffer_capacity(1 << 18).from_reader(input);
    let header = reader.headers().map_err(|error| read_error(path, error))?;
    let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    check_header(path, &columns, delimiter, has_commas)?;
    check_memory(path, "the header", columns.len(), COLUMN_BYTES)?;
    Ok((CsvReader { reader, width: columns.len(), pending }, columns))
}

/// Ends with an error where a single row is larger than the limit on memory: a small compressed file may hold one.
struct LimitedRows<R> {
    input: R,
    pending: Rc<Cell<u64>>,
}

impl<R: Read> Read for LimitedRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let pending = self.pending.get();
        check_size(pending.saturating_mul(BYTE_OF_ROW)).map_err(std::io::Error::other)?;
        let count = self.input.read(buffer)?;
        self.pending.set(pending + count as u64);
        Ok(count)
    }
}

/// Turns the line ends of Windows and of old Macs into those of Unix.
struct UnixLines<R> {
    input: R,
    is_after_return: bool,
}

impl<R: Read> Read for UnixLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.input.read(buffer)?;
            if count == 0 || !self.is_after_return && !buffer[..count].contains(&b'\r') {
                return Ok(count);
            }
            let mut kept = 0;
            for i in 0..count {
                let byte = buffer[i];
                let is_second = byte == b'\n' && self.is_after_return;
                self.is_after_return = byte == b'\r';
                if !is_second {
                    buffer[kept] = if byte == b'\r' { b'\n' } else { byte };
                    kept += 1;
                }
            }
            if kept > 0 {
                return Ok(kept);
            }
        }
    }
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

/// Whether a comma stands between two digits below the header.
fn has_decimal_commas(start: &[u8]) -> bool {
    let below = start.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &start[end..]);
    below.windows(3).any(|bytes| bytes[1] == b',' && bytes[0].is_ascii_digit() && bytes[2].is_ascii_digit())
}

fn check_header(path: &Path, columns: &[String], delimiter: u8, has_decimal_commas: bool) -> Result<()> {
    let [only] = columns else { return Ok(()) };
    let other =
        [';', '\t', '|', ','].into_iter().find(|&c| only.contains(c) && u32::from(delimiter) != c as u32);
    match other {
        None => Ok(()),
        Some(other) => {
            let problem = format!("the header has only one column, `{only}`");
            let shown = if other == '\t' { "a tab".to_owned() } else { format!("'{other}'") };
            let decimal = if has_decimal_commas && other != ',' { " and `decimal` to ','" } else { "" };
            Err(Error::file(path, problem, format!("set `delimiter` to {shown}{decimal}")))
        }
    }
}

impl CsvReader {
    /// The next rows, at most `limit`; `None` at the end. Rows with more or fewer cells than the header are left out
    /// and added to `problems`.
    pub(super) fn next(
        &mut self,
        path: &Path,
        limit: usize,
        problems: &mut Problems,
    ) -> Result<Option<Vec<TextRow>>> {
        let mut rows = Vec::new();
        let mut record = ByteRecord::new();
        let mut is_end = false;
        let mut bytes = 0;
        while rows.len() < limit && !is_end {
            self.pending.set(0);
            match self.reader.read_byte_record(&mut record) {
                Ok(true) => {
                    bytes += ROW_BYTES + record.as_slice().len() + record.len() * CELL_BYTES;
                    check_memory(path, "the rows read at a time", bytes, 1)?;
                    self.push_row(path, &record, &mut rows, problems)?;
                }
                Ok(false) => is_end = true,
                Err(error) => return Err(read_error(path, error)),
            }
        }
        Ok((!(is_end && rows.is_empty())).then_some(rows))
    }

    fn push_row(
        &self,
        path: &Path,
        record: &ByteRecord,
        rows: &mut Vec<TextRow>,
        problems: &mut Problems,
    ) -> Result<()> {
        // the reader stands after the end of the row's last line
        let line_ends = record.iter().flatten().filter(|byte| **byte == b'\n').count() as u64;
        let line = self.reader.position().line().saturating_sub(1 + line_ends);
        if record.len() != self.width {
            let text = format!("{} cells, but the header has {}", record.len(), self.width);
            let hint = "fix the line; a cell that contains the delimiter must be quoted";
            problems.add_cell(CellFault::RowLength, "", Place::Line(line), &text, || hint.to_owned());
            return Ok(());
        }
        match StringRecord::from_byte_record(record.clone()) {
            Ok(cells) => rows.push(TextRow { cells, place: Place::Line(line) }),
            Err(_) => return Err(not_utf8(path, line)),
        }
        Ok(())
    }
}

fn not_utf8(path: &Path, line: u64) -> Error {
    let hint = "save the file as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`";
    Error::file(path, format!("line {line}: not UTF-8 text"), hint)
}

fn read_error(path: &Path, error: csv::Error) -> Error {
    match error.kind() {
        ErrorKind::Utf8 { pos, .. } => not_utf8(path, pos.as_ref().map_or(1, csv::Position::line)),
        ErrorKind::Io(cause) => {
            if let Some(large) = too_large(cause) {
                return large.of(path, "a row");
            }
            let hint = "copy the file again from its source";
            Error::file(path, "the file cannot be read to the end", hint).with_source(error)
        }
        _ => Error::file(path, "the file cannot be read as CSV", "give a CSV file").with_source(error),
    }
}

/// The refusal of a row, if that is what ended reading.
fn too_large(cause: &std::io::Error) -> Option<TooLarge> {
    cause.get_ref().and_then(|cause| cause.downcast_ref()).copied()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::data::faulty::{Faulty, check_reader};

    /// The cells of a file of these bytes.
    fn read_all(file: Faulty, is_gzip: bool) -> Result<Vec<StringRecord>> {
        let path = Path::new("a.csv");
        let (mut reader, _) = read_header(path, file, is_gzip, b',')?;
        let rows = reader.next(path, usize::MAX, &mut Problems::default())?;
        Ok(rows.unwrap_or_default().into_iter().map(|row| row.cells).collect())
    }

    #[test]
    fn faults_are_errors_or_change_nothing() {
        let text = "a,b\r\n".to_owned() + &"1,2\r\n\"x\ny\",4\r\n".repeat(600);
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        zipped.write_all(text.as_bytes()).unwrap();
        for (bytes, is_gzip) in [(zipped.finish().unwrap(), true), (text.into_bytes(), false)] {
            check_reader(&bytes, |file| read_all(file, is_gzip));
        }
    }

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let unix = "\u{feff}a,b\n1,2\n\n\"x\ny\",2\n3\n4,5";
        for text in [unix.to_owned(), unix.replace('\n', "\r\n"), unix.replace('\n', "\r")] {
            std::fs::write(&path, &text).unwrap();
            let (mut reader, columns) = open_csv(&path, None).unwrap();
            assert_eq!(columns, ["a", "b"]);
            let mut problems = Problems::default();
            let rows = reader.next(&path, 10, &mut problems).unwrap().unwrap();
            assert_eq!(
                rows.iter().map(|row| row.place).collect::<Vec<_>>(),
                [2, 4, 7].map(Place::Line),
                "{text:?}"
            );
            assert!(reader.next(&path, 10, &mut problems).unwrap().is_none());
            let error = problems.check(&path).unwrap_err().to_string();
            assert!(error.ends_with("line 6: 1 cells, but the header has 2"), "{error}");
        }
    }

    #[test]
    fn line_ends_split_between_reads_are_one() {
        let input = Cursor::new(b"a\r").chain(Cursor::new(b"\nb\r")).chain(Cursor::new(b"\n\r"));
        let mut text = String::new();
        UnixLines { input, is_after_return: false }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb\n\n");
    }
}
