//! Columns with one value per row, in a table whose layout is known.

use super::cells::{Cell, Cells, Reading};
use super::dates::{DateEncoding, is_date_like, parse_date};
use super::numbers::{NumberText, read_number};
use super::place::Place;
use super::problem::Problem;
use super::problems::{CellFault, Problems};
use super::source::Chunk;

/// The hint for dates where numbers are needed.
pub(crate) const DATES_HINT: &str = "dates can be covariates or times of samples: elsewhere give numbers";
/// The hint for numbers such as 1,234.
pub(crate) const AMBIGUOUS_HINT: &str =
    "set `decimal` to '.' if commas separate thousands, to ',' if they are decimal commas";
/// The hint for decimal commas.
pub(crate) const COMMA_HINT: &str = "set `decimal` to ','";
/// The hint for decimal points where commas were announced.
pub(crate) const POINT_HINT: &str = "write all numbers with a decimal comma, or set `decimal` to '.'";
/// The hint for dates such as 03/04/2024.
pub(crate) const ORDER_HINT: &str =
    "set `date_format` to dmy if the day comes first, to mdy if the month does";

/// The cells of the column `name`, which must have one value per row.
pub(crate) fn scalar_cells<'a>(chunk: &'a Chunk, name: &str) -> Result<Cells<'a>, Problem> {
    match chunk.cells(name) {
        Cells::Lists(_) => {
            let hint = "give one value per row, as in the training data";
            Err(Problem::new(format!("column `{name}` holds lists"), hint))
        }
        Cells::Other(kind) => Err(Problem::new(format!("column `{name}`: {kind}"), "give numbers or texts")),
        cells => Ok(cells),
    }
}

/// A column with one value per row that must be a number, or a date.
pub(crate) struct ScalarColumn<'a> {
    pub cells: Cells<'a>,
    pub name: &'a str,
    pub reading: &'a Reading,
    /// What is subtracted from numbers.
    pub origin: f64,
}

impl ScalarColumn<'_> {
    /// The number in row `i`; NaN where it is missing, or not a number, which is a problem.
    pub(super) fn number(&self, i: usize, place: impl FnOnce() -> Place, problems: &mut Problems) -> f32 {
        let store = |value: f64| (value - self.origin) as f32;
        match self.cells.cell(i, self.reading) {
            Cell::Missing => f32::NAN,
            Cell::Number(value) | Cell::Formatted(value, _) if store(value).is_finite() => store(value),
            cell => match cell.value().map(store).filter(|value| value.is_finite()) {
                Some(value) => value,
                None => {
                    self.report(i, place(), problems);
                    f32::NAN
                }
            },
        }
    }

    /// The number in row `i` at full precision, such as a time; `None` where it is missing or a problem.
    pub(super) fn precise(&self, i: usize, place: Place, problems: &mut Problems) -> Option<f64> {
        match self.cells.cell(i, self.reading) {
            Cell::Missing => None,
            Cell::Number(value) | Cell::Formatted(value, _) if value.is_finite() => Some(value),
            _ => {
                self.report(i, place, problems);
                None
            }
        }
    }

    /// The date in row `i`, in days since 1970-01-01; `None` where it is missing or a problem.
    pub(super) fn date(
        &self,
        i: usize,
        encoding: &DateEncoding,
        place: impl FnOnce() -> Place,
        problems: &mut Problems,
    ) -> Option<f64> {
        let text = match self.cells.cell(i, self.reading) {
            Cell::Missing => return None,
            Cell::Date(date) => return Some(date),
            Cell::Text(text) => match parse_date(text, encoding.order) {
                Some(date) => return Some(date),
                None => text.to_owned(),
            },
            Cell::Number(_) | Cell::Formatted(..) => self.cells.label(i, self.reading).unwrap_or_default(),
        };
        let hint = || "the training data have dates in this column: write them as 2024-03-01".to_owned();
        problems.add_cell(CellFault::NotADate, self.name, place(), &text, hint);
        None
    }

    /// Reports a cell that is not a number.
    fn report(&self, i: usize, place: Place, problems: &mut Problems) {
        let text = self.cells.label(i, self.reading).unwrap_or_default();
        let is_date = matches!(&self.cells, Cells::Dates(_)) || is_date_like(&text);
        let (fault, hint) = match read_number(&text, self.reading.decimal) {
            NumberText::DecimalComma => (CellFault::DecimalComma, "write it with a decimal point"),
            NumberText::Ambiguous => (CellFault::AmbiguousNumber, "write it without thousands separators"),
            _ if is_date => (CellFault::Date, DATES_HINT),
            _ => (CellFault::NotANumber, "fix the cell, or leave it empty if the value is missing"),
        };
        problems.add_cell(fault, self.name, place, &text, || hint.to_owned());
    }
}
