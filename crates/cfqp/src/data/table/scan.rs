//! A first look at every column: what it holds, what is missing, whether it can play its role.

use std::collections::BTreeSet;
use std::path::Path;

use super::cells::{Absent, Cell, Cells, DATES, is_date};
use super::problem::Problem;
use super::source::{Chunk, Place, Source};
use crate::Result;

/// More categories than this are no categories.
pub(crate) const MOST_CATEGORIES: usize = 64;
/// Rows that are looked at together.
pub(crate) const ROWS: usize = 4096;

/// What a column is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    X,
    T,
    Y,
    Series,
    Time,
    Moment,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::T => "t",
            Self::Y => "y",
            Self::Series => "series",
            Self::Time => "time",
            Self::Moment => "treated_at",
        }
    }
}

/// What was seen in a column.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub name: String,
    pub role: Role,
    pub numbers: usize,
    pub texts: usize,
    pub missing: usize,
    dates: usize,
    first_text: Option<(Place, String)>,
    pub categories: BTreeSet<String>,
    pub low: f64,
    pub high: f64,
    sum: f64,
    /// The largest list, where the column holds lists.
    pub list: Option<Vec<usize>>,
    /// Whether lists differ in length.
    pub ragged: bool,
}

impl Seen {
    fn new(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            role,
            numbers: 0,
            texts: 0,
            missing: 0,
            dates: 0,
            first_text: None,
            categories: BTreeSet::new(),
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            sum: 0.0,
            list: None,
            ragged: false,
        }
    }

    pub fn mean(&self) -> Option<f64> {
        (self.numbers > 0).then(|| self.sum / self.numbers as f64)
    }

    /// Whether all values are the same.
    pub fn constant(&self) -> bool {
        match self.texts {
            0 => self.numbers > 0 && self.low == self.high,
            _ => self.categories.len() == 1 && self.numbers == 0,
        }
    }

    fn add(&mut self, chunk: &Chunk, absent: &Absent) -> Result<(), Problem> {
        let cells = chunk.cells(&self.name);
        match &cells {
            Cells::Dates => return Err(self.dated(None)),
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
            match cells.cell(i, absent) {
                Cell::Missing => self.missing += 1,
                Cell::Number(value) => {
                    self.note(value);
                    self.categorise(|| cells.label(i, absent));
                }
                cell @ Cell::Text(text) => match cell.value() {
                    Some(value) if self.role != Role::X => self.note(value),
                    _ => {
                        self.texts += 1;
                        self.dates += usize::from(is_date(text));
                        self.first_text.get_or_insert_with(|| (chunk.place(i), text.to_owned()));
                        self.categorise(|| Some(text.to_owned()));
                    }
                },
            }
        }
        Ok(())
    }

    fn note(&mut self, value: f64) {
        self.numbers += 1;
        self.sum += value;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    /// Remember a category, as long as there are few.
    fn categorise(&mut self, label: impl FnOnce() -> Option<String>) {
        if self.role == Role::X && self.categories.len() <= MOST_CATEGORIES {
            self.categories.extend(label());
        }
    }

    fn add_list(&mut self, place: Place, shape: &[usize], values: &[f64]) -> Result<(), Problem> {
        values.iter().filter(|value| !value.is_nan()).for_each(|&value| self.note(value));
        if let Some(value) = values.iter().find(|value| !value.is_nan() && !(**value as f32).is_finite()) {
            let problem = format!("{place}, column `{}`: the list holds {value}", self.name);
            return Err(Problem::new(problem, "give finite numbers, and nulls where values are missing"));
        }
        let Some(most) = &mut self.list else {
            self.list = Some(shape.to_vec());
            return Ok(());
        };
        if most.len() != shape.len() {
            let problem =
                format!("{place}, column `{}`: a list of shape {shape:?}, others have {most:?}", self.name);
            return Err(Problem::new(problem, "give every row an array of the same number of axes"));
        }
        self.ragged |= most != shape;
        most.iter_mut().zip(shape).for_each(|(most, &side)| *most = side.max(*most));
        Ok(())
    }

    fn dated(&self, place: Option<&(Place, String)>) -> Problem {
        let problem = match place {
            Some((place, text)) => format!("{place}, column `{}`: `{text}` is a date", self.name),
            None => format!("column `{}` holds dates", self.name),
        };
        Problem::new(problem, DATES)
    }

    /// Whether the column can play its role; `categorical` where it was said to be that.
    pub fn check(&self, categorical: bool) -> Result<(), Problem> {
        let name = &self.name;
        if let Some(first) =
            self.first_text.as_ref().filter(|_| self.dates > 0 && self.dates * 2 >= self.texts)
        {
            return Err(self.dated(Some(first)));
        }
        if self.numbers + self.texts == 0 && self.list.is_none() {
            let problem = format!("column `{name}` holds no value");
            return Err(Problem::new(problem, "leave it out, or fill it in"));
        }
        if let (Some(_), Role::T | Role::Series | Role::Time | Role::Moment) = (&self.list, self.role) {
            let problem = format!("column `{name}` holds lists, but it is {}", self.role.name());
            return Err(Problem::new(problem, "give a column with one number per row"));
        }
        if self.list.is_some() && self.texts > 0 {
            return Err(Problem::new(
                format!("column `{name}` holds lists and texts"),
                "give numbers or lists",
            ));
        }
        match &self.first_text {
            Some((place, text)) if self.role != Role::X => Err(not_a_number(*place, name, text, self.role)),
            Some((place, text)) if !categorical && self.numbers >= self.texts => {
                Err(not_a_number(*place, name, text, self.role))
            }
            _ if self.is_category(categorical) && self.categories.len() > MOST_CATEGORIES => {
                let problem = format!("column `{name}`: more than {MOST_CATEGORIES} categories");
                let hint =
                    "leave it out (is it a name or an id?), join rare categories, or code it as a number";
                Err(Problem::new(problem, hint))
            }
            _ => Ok(()),
        }
    }

    /// Whether its cells are categories.
    pub fn is_category(&self, asked: bool) -> bool {
        self.role == Role::X && self.list.is_none() && (asked || self.texts > 0)
    }
}

/// A cell that should be a number is none.
pub(crate) fn not_a_number(place: Place, column: &str, text: &str, role: Role) -> Problem {
    let shown: String = text.chars().take(40).collect();
    let comma = text.contains(',') && text.replace(',', ".").parse::<f64>().is_ok();
    let hint = match role {
        _ if comma => "write decimals with a point".to_owned(),
        Role::X => {
            format!(
                "mend the cell, give --missing '{shown}' if it means that, or --categorical {column} if all are categories"
            )
        }
        Role::T | Role::Y => {
            format!("mend the cell, give --missing '{shown}' if it means that, or code categories as numbers")
        }
        _ => format!("mend the cell, or give --missing '{shown}' if it means that"),
    };
    Problem::new(format!("{place}, column `{column}`: `{shown}` is not a number"), hint)
}

/// The same of a table whose columns are known: how they are read is settled.
pub(crate) fn no_number(place: Place, column: &str, text: &str) -> Problem {
    let shown: String = text.chars().take(40).collect();
    let problem = format!("{place}, column `{column}`: `{shown}` is not a number");
    Problem::new(problem, "mend the cell, or leave it empty if the value is missing")
}

/// What stands in `columns` of the table, and how many rows it has.
pub(crate) fn scan(
    path: &Path,
    delimiter: Option<char>,
    columns: &[(String, Role)],
    absent: &Absent,
) -> Result<(Vec<Seen>, usize)> {
    let wanted: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let mut source = Source::open(path, delimiter, Some(&wanted))?;
    let mut seen: Vec<Seen> = columns.iter().map(|(name, role)| Seen::new(name, *role)).collect();
    let mut rows = 0;
    while let Some(chunk) = source.next(ROWS)? {
        rows += chunk.rows();
        seen.iter_mut().try_for_each(|seen| seen.add(&chunk, absent)).map_err(|problem| problem.at(path))?;
    }
    if rows == 0 {
        return Err(Problem::new("it has a header but no rows", "give a row per unit or sample").at(path));
    }
    Ok((seen, rows))
}
