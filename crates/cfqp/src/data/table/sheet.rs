//! Spreadsheets (.xlsx): one sheet, whose first row with content names the columns.

#[cfg(feature = "xlsx")]
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use csv::StringRecord;

use super::csv_reader::TextRow;
#[cfg(feature = "xlsx")]
use crate::data::open_file;
use crate::error::{Error, Result};
#[cfg(feature = "xlsx")]
use crate::runtime::{check_memory, check_size, memory_limit};

/// The rows of a sheet below its header.
pub(crate) struct SheetReader {
    rows: std::vec::IntoIter<TextRow>,
}

impl SheetReader {
    /// The next rows, at most `limit`; `None` at the end.
    pub(super) fn next(&mut self, limit: usize) -> Option<Vec<TextRow>> {
        let rows: Vec<TextRow> = self.rows.by_ref().take(limit).collect();
        (!rows.is_empty()).then_some(rows)
    }
}

/// Reads the sheet with this name, or the first one, and the names of its columns.
#[cfg(feature = "xlsx")]
pub(crate) fn open_sheet(path: &Path, sheet: Option<&str>) -> Result<(SheetReader, Vec<String>)> {
    use super::guard::{Caught, catch_panics};
    use super::names::list_names;
    use super::place::Place;
    use calamine::{Reader as _, Xlsx, open_workbook};

    let damaged = |cause: Caught| {
        let hint = "the file is damaged or is not an .xlsx file: save it again, or as CSV";
        Error::file(path, "not a readable .xlsx file", hint).with_source(cause)
    };
    check_expanded(path)?;
    let mut workbook: Xlsx<_> = catch_panics(|| open_workbook::<Xlsx<_>, _>(path)).map_err(damaged)?;
    let names = workbook.sheet_names();
    let name = match sheet {
        None => names.first(),
        Some(sheet) => names.iter().find(|name| *name == sheet),
    };
    let Some(name) = name else {
        let problem = format!("there is no sheet {}", sheet.unwrap_or_default());
        return Err(Error::file(path, problem, format!("the sheets are {}", list_names(&names))));
    };
    let cells = catch_panics(|| extent(workbook.worksheet_cells_reader(name)?)).map_err(damaged)?;
    check_memory(path, &format!("the sheet {name}"), cells, CELL_BYTES)?;
    let range = catch_panics(|| workbook.worksheet_range(name)).map_err(damaged)?;
    let first = range.start().map_or(0, |(row, _)| u64::from(row));
    let mut rows = range.rows().enumerate().filter_map(|(i, cells)| {
        let cells: StringRecord = cells.iter().map(text).collect();
        let is_empty = cells.iter().all(|cell| cell.trim().is_empty());
        (!is_empty).then_some(TextRow { cells, place: Place::Row(first + i as u64 + 1) })
    });
    let header = rows.next().ok_or_else(|| {
        Error::file(path, format!("the sheet {name} is empty"), "set `sheet` to the one with the table")
    })?;
    let columns = header.cells.iter().map(|name| name.trim().to_owned()).collect();
    Ok((SheetReader { rows: rows.collect::<Vec<_>>().into_iter() }, columns))
}

/// The memory of a cell as the reader and as the table keep it.
#[cfg(feature = "xlsx")]
const CELL_BYTES: usize = 128;

/// The number of cells of the rectangle that holds all of a sheet: the reader keeps an array of them, however few have content.
#[cfg(feature = "xlsx")]
fn extent(mut cells: calamine::XlsxCellReader<'_, impl Read + Seek>) -> Result<usize, calamine::XlsxError> {
    let mut corners: Option<[(u32, u32); 2]> = None;
    while let Some(cell) = cells.next_cell()? {
        let at = cell.get_position();
        let [low, high] = corners.unwrap_or([at, at]);
        corners = Some([(low.0.min(at.0), low.1.min(at.1)), (high.0.max(at.0), high.1.max(at.1))]);
    }
    let side = |low: u32, high: u32| (high - low) as usize + 1;
    Ok(corners.map_or(0, |[low, high]| side(low.0, high.0).saturating_mul(side(low.1, high.1))))
}

/// Checks the size of all parts of a spreadsheet, which is a zip archive, by expanding them; a part may be larger than it claims.
#[cfg(feature = "xlsx")]
fn check_expanded(path: &Path) -> Result<()> {
    let Ok(mut zip) = zip::ZipArchive::new(BufReader::new(open_file(path)?)) else { return Ok(()) };
    let mut size = 0;
    for i in 0..zip.len() {
        // a part that cannot be read is reported by the reader, if it needs it
        let Ok(part) = zip.by_index(i) else { continue };
        let rest = memory_limit().saturating_add(1).saturating_sub(size);
        let mut part = part.take(rest);
        let _ = std::io::copy(&mut part, &mut std::io::sink());
        size += rest - part.limit();
        check_size(size).map_err(|large| large.of(path, "the expanded spreadsheet"))?;
    }
    Ok(())
}

/// A cell as text: dates as 2024-03-01T08:15:00.000, `#N/A` as a missing value.
#[cfg(feature = "xlsx")]
fn text(cell: &calamine::Data) -> String {
    use calamine::{CellErrorType, Data};

    match cell {
        Data::Int(value) => value.to_string(),
        Data::Float(value) => value.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(value) => value.to_string(),
        Data::DateTime(date) if date.is_datetime() && date.as_f64() >= 1.0 => {
            let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}")
        }
        Data::DateTime(time) => time.as_f64().to_string(),
        Data::Error(CellErrorType::NA) | Data::Empty => String::new(),
        Data::Error(error) => error.to_string(),
    }
}

/// Without the feature `xlsx`, spreadsheets are refused.
#[cfg(not(feature = "xlsx"))]
pub(crate) fn open_sheet(path: &Path, _sheet: Option<&str>) -> Result<(SheetReader, Vec<String>)> {
    let problem = "this build of the library cannot read spreadsheets";
    Err(Error::file(path, problem, "save the sheet as CSV, or build with the feature xlsx"))
}
