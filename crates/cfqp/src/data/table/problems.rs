//! All problems of a table, so that they can be reported at once: cells grouped by kind and column, with the number of
//! cells and the first places.

use std::path::Path;

use super::place::Place;
use super::problem::{Problem, shorten};
use crate::error::Error;

/// The number of places that a message names.
const MAX_PLACES: usize = 3;
/// The number of problems that a message lists.
const MAX_LISTED: usize = 20;

/// What is wrong with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellFault {
    /// A text where a number is needed.
    NotANumber,
    /// A number with a decimal comma, where none was announced.
    DecimalComma,
    /// A number with a decimal point, where a comma was announced.
    DecimalPoint,
    /// A number such as 1,234, which may be 1234 or 1.234.
    AmbiguousNumber,
    /// A date or a time of day where a number is needed.
    Date,
    /// A text where a date is needed.
    NotADate,
    /// A date such as 03/04/2024, whose day may be 3 or 4.
    AmbiguousDate,
    /// A row with too few or too many cells.
    RowLength,
    /// A cell that contradicts another one of its unit.
    Contradiction,
}

impl CellFault {
    fn one(self, text: &str) -> String {
        match self {
            Self::NotANumber => format!("`{text}` is not a number"),
            Self::DecimalComma => format!("`{text}` has a decimal comma"),
            Self::DecimalPoint => format!("`{text}` has a decimal point"),
            Self::AmbiguousNumber => format!("`{text}` may have a decimal comma or a thousands separator"),
            Self::Date => format!("`{text}` is a date"),
            Self::NotADate => format!("`{text}` is not a date"),
            Self::AmbiguousDate => format!("the day of `{text}` may be the first number or the second"),
            Self::RowLength | Self::Contradiction => text.to_owned(),
        }
    }

    /// Whether the text of a cell of this kind is a description rather than its content.
    fn is_described(self) -> bool {
        matches!(self, Self::RowLength | Self::Contradiction)
    }

    fn many(self) -> &'static str {
        match self {
            Self::NotANumber => "cells are not numbers",
            Self::DecimalComma => "cells have a decimal comma",
            Self::DecimalPoint => "cells have a decimal point",
            Self::AmbiguousNumber => "cells may have a decimal comma or a thousands separator",
            Self::Date => "cells are dates",
            Self::NotADate => "cells are not dates",
            Self::AmbiguousDate => "dates whose day may be the first number or the second",
            Self::RowLength => "rows have more or fewer cells than the header",
            Self::Contradiction => "cells contradict another one of their unit",
        }
    }
}

/// Cells of one kind: their number and the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundCells {
    pub count: usize,
    pub first: Vec<(Place, String)>,
}

impl FoundCells {
    /// Adds a cell; of a long text, the start.
    pub(crate) fn add(&mut self, place: Place, text: &str) {
        self.push(place, || shorten(text));
    }

    fn push(&mut self, place: Place, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < MAX_PLACES {
            self.first.push((place, text()));
        }
    }

    /// Adds the cells of `other`.
    pub(crate) fn append(&mut self, other: &Self) {
        self.count += other.count;
        let free = MAX_PLACES - self.first.len();
        self.first.extend(other.first.iter().take(free).cloned());
    }

    /// The problem of these cells, all of one column; of none if `column` is empty.
    pub(crate) fn problem(&self, fault: CellFault, column: &str, hint: impl Into<String>) -> Problem {
        let of = |place: &str| match column {
            "" => place.to_owned(),
            column if place.is_empty() => format!("column `{column}`"),
            column => format!("{place}, column `{column}`"),
        };
        let text = match &self.first[..] {
            [] => format!("{}: {} {}", of(""), self.count, fault.many()),
            [(place, text)] if self.count == 1 => format!("{}: {}", of(&place.to_string()), fault.one(text)),
            first => {
                let shown = |(place, text): &(Place, String)| match fault.is_described() {
                    true => format!("{place} ({text})"),
                    false => format!("`{text}` in {place}"),
                };
                let shown: Vec<String> = first.iter().map(shown).collect();
                let more = if self.count > first.len() { ", ..." } else { "" };
                let column = if column.is_empty() { String::new() } else { of("") + ": " };
                format!("{column}{} {}: {}{more}", self.count, fault.many(), shown.join(", "))
            }
        };
        Problem::new(text, hint)
    }
}

/// The problems of a table found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    cells: Vec<CellGroup>,
    others: Vec<Problem>,
}

#[derive(Debug)]
struct CellGroup {
    fault: CellFault,
    column: String,
    found: FoundCells,
    hint: String,
}

impl Problems {
    /// Adds a problem that is not about single cells.
    pub(crate) fn add(&mut self, problem: Problem) {
        if !self.others.contains(&problem) {
            self.others.push(problem);
        }
    }

    /// Adds a cell; `hint` is that of the first cell of its kind and column.
    pub(crate) fn add_cell(
        &mut self,
        fault: CellFault,
        column: &str,
        place: Place,
        text: &str,
        hint: impl FnOnce() -> String,
    ) {
        let known = self.cells.iter_mut().find(|group| group.fault == fault && group.column == column);
        let text = || if fault.is_described() { text.to_owned() } else { shorten(text) };
        match known {
            Some(group) => group.found.push(place, text),
            None => {
                let mut found = FoundCells::default();
                found.push(place, text);
                self.cells.push(CellGroup { fault, column: column.to_owned(), found, hint: hint() });
            }
        }
    }

    /// Adds the problems found elsewhere.
    pub(crate) fn append(&mut self, other: Self) {
        self.cells.extend(other.cells);
        self.others.extend(other.others);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.others.is_empty()
    }

    /// The error of the file `path`, if there are problems.
    pub(crate) fn check(self, path: &Path) -> Result<(), Error> {
        self.into_problem().map_or(Ok(()), |problem| Err(problem.at(path)))
    }

    /// The error of the file `path`; there must be problems.
    pub(crate) fn error(self, path: &Path) -> Error {
        self.into_problem().unwrap_or_else(|| Problem::new("the file cannot be used", "")).at(path)
    }

    /// All of them as one problem; `None` if there are none.
    fn into_problem(self) -> Option<Problem> {
        let of_cells = |group: CellGroup| group.found.problem(group.fault, &group.column, group.hint);
        let mut all: Vec<Problem> = self.cells.into_iter().map(of_cells).chain(self.others).collect();
        if all.len() < 2 {
            return all.pop();
        }
        let lines = all.iter().take(MAX_LISTED).map(|problem| format!("\n  {}", problem.problem));
        let mut text = format!("{} problems", all.len()) + &lines.collect::<String>();
        if all.len() > MAX_LISTED {
            text += &format!("\n  ... and {} more", all.len() - MAX_LISTED);
        }
        let mut hints: Vec<&str> = Vec::new();
        for problem in all.iter().filter(|problem| !problem.hint.is_empty()) {
            if !hints.contains(&&*problem.hint) {
                hints.push(&problem.hint);
            }
        }
        Some(Problem::new(text, hints.join("\n      ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_grouped_by_kind_and_column() {
        let mut problems = Problems::default();
        for line in 2..7 {
            let text = format!("n{line}");
            problems.add_cell(CellFault::NotANumber, "y", Place::Line(line), &text, || "fix".to_owned());
        }
        problems.add_cell(CellFault::NotANumber, "a", Place::Line(3), "?", || "fix".to_owned());
        problems.add(Problem::new("column `b` has no values", "leave it out"));
        let all = problems.into_problem().unwrap();
        let lines: Vec<&str> = all.problem.lines().collect();
        assert_eq!(
            lines,
            [
                "3 problems",
                "  column `y`: 5 cells are not numbers: `n2` in line 2, `n3` in line 3, `n4` in line 4, ...",
                "  line 3, column `a`: `?` is not a number",
                "  column `b` has no values",
            ]
        );
        assert_eq!(all.hint, "fix\n      leave it out");
        assert_eq!(Problems::default().into_problem(), None);
    }

    #[test]
    fn a_single_problem_is_not_a_list() {
        let mut problems = Problems::default();
        problems.add_cell(CellFault::RowLength, "", Place::Line(3), "2 cells, but the header has 3", || {
            "fix".to_owned()
        });
        let problem = problems.into_problem().unwrap().problem;
        assert_eq!(problem, "line 3: 2 cells, but the header has 3");
    }
}
