//! A first pass over the columns: their content, missing values, and whether they can be used.

use std::collections::BTreeSet;
use std::path::Path;

use super::cells::{Cell, Cells, DATES_HINT, MissingWords, is_date};
use super::problem::{Problem, quote_in_hint, shorten};
use super::role::ColumnRole;
use super::source::{Chunk, Place, Source};
use crate::error::Result;

/// Columns with more distinct texts are not categorical.
const MAX_CATEGORIES: usize = 64;
/// Rows that are scanned at a time.
const CHUNK_ROWS: usize = 4096;

/// The content of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnScan {
    pub name: String,
    pub role: ColumnRole,
    pub numbers: usize,
    pub texts: usize,
    pub missing: usize,
    dates: usize,
    first_text: Option<(Place, String)>,
    pub categories: BTreeSet<String>,
    pub min: f64,
    pub max: f64,
    sum: f64,
    /// The largest shape, if the column holds lists.
    pub list_shape: Option<Vec<usize>>,
    /// Whether the lists differ in shape.
    pub ragged: bool,
}

impl ColumnScan {
    fn new(name: &str, role: ColumnRole) -> Self {
        Self {
            name: name.to_owned(),
            role,
            numbers: 0,
            texts: 0,
            missing: 0,
            dates: 0,
            first_text: None,
            categories: BTreeSet::new(),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            list_shape: None,
            ragged: false,
        }
    }

    /// The mean of the numbers; `None` if there are none.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.numbers > 0).then(|| self.sum / self.numbers as f64)
    }

    /// Whether all values are equal.
    pub(crate) fn is_constant(&self) -> bool {
        match self.texts {
            0 => self.numbers > 0 && self.min == self.max,
            _ => self.categories.len() == 1 && self.numbers == 0,
        }
    }

    fn add(&mut self, chunk: &Chunk, missing_words: &MissingWords) -> Result<(), Problem> {
        let cells = chunk.cells(&self.name);
        match &cells {
            Cells::Dates => return Err(self.date_problem(None)),
            Cells::Other(kind) => {
                let problem = format!("column `{}`: {kind}", self.name);
                return Err(Problem::new(problem, "give numbers, texts or lists of numbers"));
            }
            Cells::Lists(lists) => {
                for i in 0..lists.len() {
                    match lists.row(i) {
                        None => self.missing += 1,
                        Some((shape, values)) => self.add_list(chunk.place(i), shape, values)?,
                    }
                }
                return Ok(());
            }
            Cells::Numbers(_) | Cells::Text(_) => {}
        }
        for i in 0..cells.len().unwrap_or(0) {
            match cells.cell(i, missing_words) {
                Cell::Missing => self.missing += 1,
                Cell::Number(value) => {
                    self.add_number(value);
                    self.add_category(|| cells.label(i, missing_words));
                }
                cell @ Cell::Text(text) => match cell.value() {
                    Some(value) if self.role != ColumnRole::Covariate => self.add_number(value),
                    _ => {
                        self.texts += 1;
                        self.dates += usize::from(is_date(text));
                        self.first_text.get_or_insert_with(|| (chunk.place(i), text.to_owned()));
                        self.add_category(|| Some(text.to_owned()));
                    }
                },
            }
        }
        Ok(())
    }

    fn add_number(&mut self, value: f64) {
        self.numbers += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds a category, unless there are too many already.
    fn add_category(&mut self, label: impl FnOnce() -> Option<String>) {
        if self.role == ColumnRole::Covariate && self.categories.len() <= MAX_CATEGORIES {
            self.categories.extend(label());
        }
    }

    fn add_list(&mut self, place: Place, shape: &[usize], values: &[f64]) -> Result<(), Problem> {
        values.iter().filter(|value| !value.is_nan()).for_each(|&value| self.add_number(value));
        if let Some(value) = values.iter().find(|value| !value.is_nan() && !(**value as f32).is_finite()) {
            let problem = format!("{place}, column `{}`: the list contains {value}", self.name);
            return Err(Problem::new(problem, "give finite numbers, and nulls for missing values"));
        }
        let Some(largest) = &mut self.list_shape else {
            self.list_shape = Some(shape.to_vec());
            return Ok(());
        };
        if largest.len() != shape.len() {
            let problem =
                format!("{place}, column `{}`: a list of shape {shape:?} after {largest:?}", self.name);
            return Err(Problem::new(problem, "give every row an array with the same number of axes"));
        }
        self.ragged |= largest != shape;
        largest.iter_mut().zip(shape).for_each(|(largest, &side)| *largest = side.max(*largest));
        Ok(())
    }

    fn date_problem(&self, place: Option<&(Place, String)>) -> Problem {
        let problem = match place {
            Some((place, text)) => format!("{place}, column `{}`: `{text}` is a date", self.name),
            None => format!("column `{}` holds dates", self.name),
        };
        Problem::new(problem, DATES_HINT)
    }

    /// Checks that the column can be used in its role; `categorical` if the user declared it to be that.
    pub(crate) fn check(&self, categorical: bool) -> Result<(), Problem> {
        let name = &self.name;
        let has_dates = self.dates > 0 && self.dates * 2 >= self.texts;
        if let Some(first) = self.first_text.as_ref().filter(|_| has_dates) {
            return Err(self.date_problem(Some(first)));
        }
        if self.numbers + self.texts == 0 && self.list_shape.is_none() {
            let problem = format!("column `{name}` has no values");
            return Err(Problem::new(problem, "leave it out, or fill it in"));
        }
        if self.list_shape.is_some() {
            self.check_list()?;
        }
        match &self.first_text {
            Some((place, text))
                if self.role != ColumnRole::Covariate || self.is_mostly_numbers(categorical) =>
            {
                Err(not_a_number(*place, name, text, self.role))
            }
            _ if self.is_category(categorical) && self.categories.len() > MAX_CATEGORIES => {
                let problem = format!("column `{name}` has more than {MAX_CATEGORIES} categories");
                let hint =
                    "leave it out (is it a name or an id?), merge rare categories, or encode it as a number";
                Err(Problem::new(problem, hint))
            }
            _ => Ok(()),
        }
    }

    fn check_list(&self) -> Result<(), Problem> {
        let name = &self.name;
        if !matches!(self.role, ColumnRole::Covariate | ColumnRole::Outcome) {
            let problem = format!("column `{name}` holds lists, but is used as `{}`", self.role);
            return Err(Problem::new(problem, "give a column with one number per row"));
        }
        if self.texts > 0 {
            let problem = format!("column `{name}` holds lists and texts");
            return Err(Problem::new(problem, "give numbers only, or lists only"));
        }
        Ok(())
    }

    /// Whether texts are mistakes in a column of numbers rather than categories.
    fn is_mostly_numbers(&self, categorical: bool) -> bool {
        !categorical && self.numbers >= self.texts
    }

    /// Whether the cells are categories; `declared` if the user declared them to be.
    pub(crate) fn is_category(&self, declared: bool) -> bool {
        self.role == ColumnRole::Covariate && self.list_shape.is_none() && (declared || self.texts > 0)
    }
}

/// The problem of a cell that should be a number, in a table whose columns are being described.
fn not_a_number(place: Place, column: &str, text: &str, role: ColumnRole) -> Problem {
    let comma = text.contains(',') && text.replace(',', ".").parse::<f64>().is_ok();
    let cell = quote_in_hint(&shorten(text));
    let missing = format!("fix the cell, or add {cell} to `missing` if it stands for a missing value");
    let hint = match role {
        _ if comma => "use a decimal point".to_owned(),
        ColumnRole::Covariate => {
            let column = quote_in_hint(column);
            format!("{missing}, or add {column} to `categorical` if all cells are categories")
        }
        ColumnRole::Treatment | ColumnRole::Outcome => format!("{missing}, or encode categories as numbers"),
        _ => missing,
    };
    Problem::not_a_number(place, column, text, hint)
}

/// Scans `columns` of the table.
pub(crate) fn scan_columns(
    path: &Path,
    delimiter: Option<char>,
    columns: &[(String, ColumnRole)],
    missing_words: &MissingWords,
) -> Result<Vec<ColumnScan>> {
    let wanted: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let mut source = Source::open(path, delimiter, Some(&wanted))?;
    let mut scans: Vec<ColumnScan> =
        columns.iter().map(|(name, role)| ColumnScan::new(name, *role)).collect();
    let mut has_rows = false;
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        has_rows |= chunk.rows() > 0;
        let added = scans.iter_mut().try_for_each(|scan| scan.add(&chunk, missing_words));
        added.map_err(|problem| problem.at(path))?;
    }
    if !has_rows {
        let problem = Problem::new("the table has a header but no rows", "give one row per unit or sample");
        return Err(problem.at(path));
    }
    Ok(scans)
}
