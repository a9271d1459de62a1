//! A first pass over the columns: their content, missing values, and whether they can be used.

use std::collections::BTreeMap;

use super::cells::{Cell, Cells, Reading};
use super::columns::{AMBIGUOUS_HINT, COMMA_HINT, DATES_HINT, ORDER_HINT, POINT_HINT};
use super::date_scan::DateScan;
use super::dates::{DateEncoding, DateOrder, DateText, is_date_like, read_date};
use super::file_options::FileOptions;
use super::input::TableInput;
use super::levels::{merge_spellings, truth};
use super::numbers::{Decimal, NumberText, Removed, read_number};
use super::place::Place;
use super::problem::{Problem, quote_in_hint};
use super::problems::{CellFault, FoundCells, Problems};
use super::role::ColumnRole;
use super::source::{Chunk, Source};
use super::unit_batch::VALUE_BYTES;
use crate::data::extremes::{Extremes, Outlier};
use crate::error::Result;
use crate::runtime::check_memory;

/// Columns with more distinct texts are not categorical.
const MAX_CATEGORIES: usize = 64;
/// Rows that are scanned at a time.
const CHUNK_ROWS: usize = 4096;

/// The content of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnScan {
    pub name: String,
    pub role: ColumnRole,
    /// Cells that are numbers.
    pub numbers: usize,
    pub missing: usize,
    /// Numbers from whose text something was removed, and what.
    pub formatted: usize,
    pub removed: Removed,
    /// Whether a number shows that its decimal separator is a point.
    has_point: bool,
    /// Cells that are neither numbers nor dates.
    pub texts: FoundCells,
    commas: FoundCells,
    points: FoundCells,
    ambiguous: FoundCells,
    dates: DateScan,
    /// Whether every cell is true or false, in any spelling.
    is_boolean: bool,
    /// The distinct texts of a covariate or treatment with their counts, as long as they are few.
    levels: BTreeMap<String, usize>,
    pub extremes: Extremes<Place>,
    sum: f64,
    /// The largest shape, if the column holds lists.
    pub list_shape: Option<Vec<usize>>,
    /// Whether the lists differ in shape.
    pub ragged: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnContent {
    Numbers,
    Categories,
    Dates,
    Lists,
}

impl ColumnScan {
    fn new(name: &str, role: ColumnRole) -> Self {
        Self {
            name: name.to_owned(),
            role,
            numbers: 0,
            missing: 0,
            formatted: 0,
            removed: Removed::default(),
            has_point: false,
            texts: FoundCells::default(),
            commas: FoundCells::default(),
            points: FoundCells::default(),
            ambiguous: FoundCells::default(),
            dates: DateScan::default(),
            is_boolean: true,
            levels: BTreeMap::new(),
            extremes: Extremes::default(),
            sum: 0.0,
            list_shape: None,
            ragged: false,
        }
    }

    /// The mean of the numbers; `None` if there are none.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.numbers > 0).then(|| self.sum / self.numbers as f64)
    }

    /// The number that the values of a column of single numbers are stored relative to, if they need one.
    pub(crate) fn origin(&self) -> Option<f64> {
        let is_number = self.content(false) == ColumnContent::Numbers && self.texts.count == 0;
        self.extremes.origin().filter(|_| is_number)
    }

    /// What is wrong with the numbers of a covariate, treatment or outcome, so that a fit would go wrong; `has_origin` if they
    /// may be stored relative to an origin.
    pub(crate) fn value_problems(&self, has_origin: bool) -> Vec<String> {
        let is_time = matches!(self.role, ColumnRole::Time | ColumnRole::TreatedAt);
        if is_time || matches!(self.content(false), ColumnContent::Categories | ColumnContent::Dates) {
            return Vec::new();
        }
        let outlier = self.extremes.outlier().map(|outlier| {
            let Outlier { place, .. } = outlier;
            format!("{place}, column `{}`: {outlier}: correct it or leave it empty", self.name)
        });
        let lost = self.extremes.lost_digits().filter(|_| !(has_origin && self.origin().is_some()));
        let lost = lost.map(|lost| format!("column `{}`: {}: {}", self.name, lost.problem, lost.hint));
        outlier.into_iter().chain(lost).collect()
    }

    /// Whether all numbers, of which there are some, are equal.
    pub(crate) fn is_constant(&self) -> bool {
        self.numbers > 0 && self.texts.count == 0 && self.extremes.min == self.extremes.max
    }

    /// What the column holds; `declared` if the user declared it to be categories.
    pub(crate) fn content(&self, declared: bool) -> ColumnContent {
        if self.list_shape.is_some() {
            return ColumnContent::Lists;
        }
        let takes_dates =
            matches!(self.role, ColumnRole::Covariate | ColumnRole::Time | ColumnRole::TreatedAt);
        let number_like = self.numbers + self.commas.count + self.points.count + self.ambiguous.count;
        let rest = number_like + self.texts.count;
        if self.takes_levels() && declared {
            ColumnContent::Categories
        } else if takes_dates && self.dates.count() > 0 && self.dates.count() >= rest {
            ColumnContent::Dates
        } else if matches!(self.role, ColumnRole::Treatment | ColumnRole::Outcome) {
            let are_names = number_like + self.dates.count() < self.texts.count;
            let is_one_word = self.role == ColumnRole::Outcome && self.levels.len() < 2;
            if are_names && !is_one_word { ColumnContent::Categories } else { ColumnContent::Numbers }
        } else if self.role != ColumnRole::Covariate || self.texts.count + self.dates.count() == 0 {
            ColumnContent::Numbers
        } else if self.is_boolean || number_like < self.texts.count + self.dates.count() {
            ColumnContent::Categories
        } else {
            // texts are mistakes in a column of numbers
            ColumnContent::Numbers
        }
    }

    /// Whether a column of this role may hold categories.
    fn takes_levels(&self) -> bool {
        matches!(self.role, ColumnRole::Covariate | ColumnRole::Treatment | ColumnRole::Outcome)
    }

    /// Whether every cell is true or false, in any spelling.
    pub(crate) fn is_boolean(&self) -> bool {
        self.is_boolean
    }

    /// The levels of a categorical column with their counts.
    pub(crate) fn levels(&self) -> BTreeMap<String, usize> {
        merge_spellings(&self.levels)
    }

    /// How dates become numbers; `parts` if months and weekdays are wanted too.
    pub(crate) fn date_encoding(&self, given: Option<DateOrder>, parts: bool) -> DateEncoding {
        self.dates.encoding(given, parts)
    }

    fn add(&mut self, chunk: &Chunk, reading: &Reading, order: Option<DateOrder>, problems: &mut Problems) {
        let cells = chunk.cells(&self.name);
        match &cells {
            Cells::Other(kind) => {
                let problem = format!("column `{}`: {kind}", self.name);
                problems.add(Problem::new(problem, "give numbers, texts, dates or lists of numbers"));
            }
            Cells::Lists(lists) => {
                for i in 0..lists.len() {
                    match lists.row(i) {
                        None => self.missing += 1,
                        Some((shape, values)) => {
                            self.add_list(chunk.place(i), shape, values).unwrap_or_else(|p| problems.add(p));
                        }
                    }
                }
            }
            Cells::Numbers(_) | Cells::Text(_) | Cells::Dates(_) => {
                for i in 0..cells.len().unwrap_or(0) {
                    self.add_cell(&cells, i, reading, order, || chunk.place(i));
                }
            }
        }
    }

    fn add_cell(
        &mut self,
        cells: &Cells<'_>,
        i: usize,
        reading: &Reading,
        order: Option<DateOrder>,
        place: impl FnOnce() -> Place,
    ) {
        match cells.cell(i, reading) {
            Cell::Missing => self.missing += 1,
            Cell::Number(value) if (value as f32).is_finite() => {
                self.has_point |= value.fract() != 0.0;
                self.add_number(value, place());
                self.add_level(|| cells.label(i, reading));
            }
            Cell::Number(value) => self.texts.add(place(), &value.to_string()),
            Cell::Formatted(value, removed) => {
                self.formatted += 1;
                self.removed = self.removed.or(removed);
                self.has_point |= value.fract() != 0.0 || removed.thousands;
                self.add_number(value, place());
                self.add_level(|| cells.label(i, reading));
            }
            Cell::Date(date) => {
                self.dates.add(date);
                self.add_level(|| cells.label(i, reading));
            }
            cell @ Cell::Text(text) => match cell.value() {
                Some(value) if self.role != ColumnRole::Covariate => {
                    self.add_number(value, place());
                    self.add_level(|| Some(text.to_owned()));
                }
                _ => self.add_text(text, reading.decimal, order, place),
            },
        }
    }

    fn add_text(
        &mut self,
        text: &str,
        decimal: Decimal,
        order: Option<DateOrder>,
        place: impl FnOnce() -> Place,
    ) {
        self.add_level(|| Some(text.to_owned()));
        match (read_number(text, decimal), read_date(text, order)) {
            (NumberText::DecimalComma, _) => self.commas.add(place(), text),
            (NumberText::Ambiguous, _) => self.ambiguous.add(place(), text),
            // a number by another convention than the one given
            _ if is_number_with(text, decimal, Decimal::Comma) => self.commas.add(place(), text),
            _ if is_number_with(text, decimal, Decimal::Point) => self.points.add(place(), text),
            (_, DateText::Text) if is_date_like(text) => self.dates.add_unreadable(place(), text),
            (_, DateText::Text) => self.texts.add(place(), text),
            (_, date) => self.dates.add_text(date, place, text),
        }
    }

    fn add_number(&mut self, value: f64, place: Place) {
        self.numbers += 1;
        self.sum += value;
        self.extremes.add(value, place);
    }

    /// Adds a level of a covariate, treatment or outcome, unless there are too many already.
    fn add_level(&mut self, label: impl FnOnce() -> Option<String>) {
        if !self.takes_levels() || !self.is_boolean && self.levels.len() > MAX_CATEGORIES {
            return;
        }
        let Some(label) = label() else { return };
        self.is_boolean = self.is_boolean && truth(&label).is_some();
        if let Some(count) = self.levels.get_mut(&label) {
            *count += 1;
        } else if self.levels.len() <= MAX_CATEGORIES {
            self.levels.insert(label, 1);
        }
    }

    fn add_list(&mut self, place: Place, shape: &[usize], values: &[f64]) -> Result<(), Problem> {
        values.iter().filter(|value| !value.is_nan()).for_each(|&value| self.add_number(value, place));
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

    /// Adds the problems of using the column in its role; `declared` if the user declared it to be categories.
    pub(crate) fn check(&self, declared: bool, given: Option<DateOrder>, problems: &mut Problems) {
        let name = &self.name;
        let found = [&self.texts, &self.commas, &self.points, &self.ambiguous, &self.dates.all()];
        let cells = self.numbers + found.iter().map(|found| found.count).sum::<usize>();
        if cells == 0 && self.list_shape.is_none() {
            return problems
                .add(Problem::new(format!("column `{name}` has no values"), "leave it out, or fill it in"));
        }
        match self.content(declared) {
            ColumnContent::Lists => self.check_list().unwrap_or_else(|problem| problems.add(problem)),
            ColumnContent::Categories if self.levels.len() > MAX_CATEGORIES => {
                let problem = format!("column `{name}` has more than {MAX_CATEGORIES} categories");
                let hint = "leave it out (is it a name or an id?), for example by `except`, merge rare categories, \
                            or encode it as a number";
                problems.add(Problem::new(problem, hint));
            }
            ColumnContent::Categories => {}
            ColumnContent::Dates => self.check_dates(given, problems),
            ColumnContent::Numbers => self.check_numbers(problems),
        }
    }

    /// Adds the problems of a treatment with levels: it needs two, and must not be declared to be a number.
    pub(crate) fn check_treatment(
        &self,
        categorical: &[String],
        numeric: &[String],
        problems: &mut Problems,
    ) {
        let content = self.content(categorical.contains(&self.name));
        if self.role != ColumnRole::Treatment || content != ColumnContent::Categories {
            return;
        }
        if numeric.contains(&self.name) {
            return self.check_numbers(problems);
        }
        if let [level] = &self.levels().into_keys().collect::<Vec<_>>()[..] {
            let problem = format!("the treatment `{}` is `{level}` in every row", self.name);
            problems.add(Problem::new(problem, "give rows with another level: its effect cannot be learned"));
        }
    }

    fn check_numbers(&self, problems: &mut Problems) {
        let name = &self.name;
        let mut report = |found: &FoundCells, fault: CellFault, hint: &str| {
            if found.count > 0 {
                problems.add(found.problem(fault, name, hint));
            }
        };
        report(&self.commas, CellFault::DecimalComma, COMMA_HINT);
        report(&self.points, CellFault::DecimalPoint, POINT_HINT);
        report(&self.ambiguous, CellFault::AmbiguousNumber, AMBIGUOUS_HINT);
        report(&self.dates.all(), CellFault::Date, DATES_HINT);
        if let Some((_, text)) = self.texts.first.first() {
            let hint = number_hint(name, text, self.role);
            report(&self.texts, CellFault::NotANumber, &hint);
        }
    }

    fn check_dates(&self, given: Option<DateOrder>, problems: &mut Problems) {
        let name = &self.name;
        if given.is_none() {
            self.dates.check_order(name, ORDER_HINT, problems);
        }
        let unreadable = self.dates.unreadable();
        if unreadable.count > 0 {
            let hint = "write dates as 2024-03-01, 01.03.2024 or 2024-03-01T08:15, with four digits of the year; \
                        give times of day as numbers";
            problems.add(unreadable.problem(CellFault::NotADate, name, hint));
        }
        let others = [&self.texts, &self.commas, &self.points, &self.ambiguous];
        for found in others.into_iter().filter(|found| found.count > 0) {
            problems.add(found.problem(CellFault::NotADate, name, "fix the cells, or leave them empty"));
        }
        if self.numbers > 0 {
            let problem = format!("column `{name}`: {} numbers among dates", self.numbers);
            problems.add(Problem::new(problem, "give dates only, or numbers only"));
        }
    }

    fn check_list(&self) -> Result<(), Problem> {
        let name = &self.name;
        if !matches!(self.role, ColumnRole::Covariate | ColumnRole::Outcome) {
            let problem = format!("column `{name}` holds lists, but is used as `{}`", self.role);
            return Err(Problem::new(problem, "give a column with one number per row"));
        }
        if self.texts.count > 0 {
            let problem = format!("column `{name}` holds lists and texts");
            return Err(Problem::new(problem, "give numbers only, or lists only"));
        }
        Ok(())
    }

    /// Whether single commas can only be thousands separators: other numbers of the column show that.
    fn shows_thousands(&self) -> bool {
        self.ambiguous.count > 0 && self.has_point && self.commas.count == 0
    }
}

/// Whether a text that is not a number by the convention `given` is one by `other`.
fn is_number_with(text: &str, given: Decimal, other: Decimal) -> bool {
    given != Decimal::Unknown
        && given != other
        && matches!(read_number(text, other), NumberText::Plain(_) | NumberText::Formatted(..))
}

/// The hint for a cell that should be a number, in a table whose columns are being described.
fn number_hint(column: &str, text: &str, role: ColumnRole) -> String {
    let missing =
        format!("fix the cell, or add {} to `missing` if it stands for a missing value", quote_in_hint(text));
    match role {
        ColumnRole::Covariate => {
            let column = quote_in_hint(column);
            format!("{missing}, or add {column} to `categorical` if all cells are categories")
        }
        ColumnRole::Treatment => {
            format!("{missing}, or set `t_kind` to category if the cells are names of treatments")
        }
        ColumnRole::Outcome => format!("{missing}, or encode categories as numbers"),
        _ => missing,
    }
}

/// The columns of a table, and the problems found while reading them.
pub(crate) struct TableScan {
    pub columns: Vec<ColumnScan>,
    pub problems: Problems,
    /// How numbers are written.
    pub decimal: Decimal,
    /// The number of rows.
    pub rows: usize,
}

/// What happens to the rows after the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanPurpose {
    /// They are kept in memory: more than the limit allows are an error.
    InMemory,
    /// They may be put on disk.
    OnDisk,
}

/// Scans `columns` of the table. If the decimal separator is not known and single commas can only separate thousands, the
/// columns are scanned again with that knowledge.
pub(crate) fn scan_columns(
    input: &TableInput,
    options: &FileOptions,
    columns: &[(String, ColumnRole)],
    reading: &Reading,
    order: Option<DateOrder>,
    purpose: ScanPurpose,
) -> Result<TableScan> {
    let scan = scan_once(input, options, columns, reading, order, purpose)?;
    let is_known = reading.decimal != Decimal::Unknown;
    if is_known || !scan.columns.iter().any(ColumnScan::shows_thousands) {
        return Ok(scan);
    }
    let mut reading = reading.clone();
    reading.decimal = Decimal::Point;
    let mut again = scan_once(input, options, columns, &reading, order, purpose)?;
    // in columns that do not show it themselves, a single comma stays ambiguous
    for (first, column) in scan.columns.into_iter().zip(&mut again.columns) {
        if first.ambiguous.count > 0 && !first.shows_thousands() {
            *column = first;
        }
    }
    Ok(again)
}

fn scan_once(
    input: &TableInput,
    options: &FileOptions,
    columns: &[(String, ColumnRole)],
    reading: &Reading,
    order: Option<DateOrder>,
    purpose: ScanPurpose,
) -> Result<TableScan> {
    let wanted: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let mut source = Source::open(input, options, Some(&wanted))?;
    let path = input.name();
    let check_rows = |rows: usize| match purpose {
        ScanPurpose::InMemory => {
            check_memory(path, "the table", rows.saturating_mul(columns.len()), VALUE_BYTES)
        }
        ScanPurpose::OnDisk => Ok(()),
    };
    check_rows(source.claimed_rows)?;
    let mut scans: Vec<ColumnScan> =
        columns.iter().map(|(name, role)| ColumnScan::new(name, *role)).collect();
    let mut rows = 0;
    let mut problems = Problems::default();
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        rows += chunk.rows();
        check_rows(rows)?;
        scans.iter_mut().for_each(|scan| scan.add(&chunk, reading, order, &mut problems));
    }
    problems.append(source.problems);
    if rows == 0 && problems.is_empty() {
        let problem = Problem::new("the table has a header but no rows", "give one row per unit or sample");
        return Err(problem.at(path));
    }
    Ok(TableScan { columns: scans, problems, decimal: reading.decimal, rows })
}
