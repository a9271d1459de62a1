//! Columns with one value per row, in a table whose layout is known.

use super::cells::{Cell, Cells, DATES_HINT, MissingWords, is_date};
use super::problem::Problem;
use super::role::ColumnRole;
use super::source::{Chunk, Place};

/// The cells of the column `name`, which must have one value per row.
pub(crate) fn scalar_cells<'a>(chunk: &'a Chunk, name: &str) -> Result<Cells<'a>, Problem> {
    match chunk.cells(name) {
        Cells::Dates => Err(Problem::new(format!("column `{name}` holds dates"), DATES_HINT)),
        Cells::Lists(_) => {
            let hint = "give one value per row, as in the training data";
            Err(Problem::new(format!("column `{name}` holds lists"), hint))
        }
        Cells::Other(kind) => Err(Problem::new(format!("column `{name}`: {kind}"), "give numbers or texts")),
        cells => Ok(cells),
    }
}

/// A column whose cells must be numbers.
pub(crate) struct NumberColumn<'a> {
    pub cells: &'a Cells<'a>,
    pub name: &'a str,
    pub role: ColumnRole,
    pub missing_words: &'a MissingWords,
}

impl NumberColumn<'_> {
    /// The number in row `i`, NaN where missing.
    pub(super) fn number(&self, i: usize, place: impl FnOnce() -> Place) -> Result<f32, Problem> {
        match self.cells.cell(i, self.missing_words) {
            Cell::Missing => Ok(f32::NAN),
            Cell::Number(value) if (value as f32).is_finite() => Ok(value as f32),
            Cell::Number(value) => Err(not_a_number(place(), self.name, &value.to_string())),
            cell @ Cell::Text(text) => match cell.value().filter(|_| self.role != ColumnRole::Covariate) {
                Some(value) => Ok(value as f32),
                None => Err(not_a_number(place(), self.name, text)),
            },
        }
    }
}

/// The number in a cell at full precision, such as a time; `None` where it is missing.
pub(crate) fn precise_number(cell: Cell<'_>, column: &str, place: Place) -> Result<Option<f64>, Problem> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Number(value) if value.is_finite() => Ok(Some(value)),
        Cell::Number(value) => Err(not_a_number(place, column, &value.to_string())),
        Cell::Text(text) if is_date(text) => {
            let problem = format!("{place}, column `{column}`: `{text}` is a date");
            Err(Problem::new(problem, DATES_HINT))
        }
        Cell::Text(text) => Err(not_a_number(place, column, text)),
    }
}

fn not_a_number(place: Place, column: &str, text: &str) -> Problem {
    Problem::not_a_number(place, column, text, "fix the cell, or leave it empty if the value is missing")
}
