//! A column that divides the units of a table into groups: by category, by value, or by quantiles of a number.

use std::collections::{BTreeMap, HashMap};

use super::cells::{Cell, Reading};
use super::columns::scalar_cells;
use super::dates::format_date;
use super::input::TableInput;
use super::layout::Layout;
use super::levels::sort_levels;
use super::names::{list_names, nearest};
use super::numbers::Decimal;
use super::problem::{Problem, quote_in_hint};
use super::source::Source;
use super::unit_batch::UnitBatch;
use super::unit_reader::read_column_names;
use crate::error::Result;

/// A number with more distinct values than this is divided at its quantiles.
const MAX_FEW_VALUES: usize = 10;
/// The largest number of categories that are groups of their own.
const MAX_CATEGORIES: usize = 20;
/// A number is divided at its quartiles if there are this many values, else in thirds.
const MIN_QUARTILE_VALUES: usize = 400;
/// Rows that are read at a time.
const CHUNK_ROWS: usize = 1 << 14;
/// The groups of rows without a value, and of categories that are not groups of their own.
const MISSING: &str = "missing";
const OTHERS: &str = "all others";

/// A column that divides the units of a table into groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupColumn {
    pub name: String,
    /// The names of the groups, in order.
    pub groups: Vec<String>,
    /// The group of every row, or, in a table with one row per sample, of every unit.
    of_row: Vec<usize>,
    /// The units of a table with one row per sample.
    units: Option<HashMap<String, usize>>,
}

impl GroupColumn {
    /// The group of unit `i`.
    pub(crate) fn group(&self, units: &UnitBatch, i: usize) -> Option<usize> {
        let row = match (&self.units, &units.rows) {
            (Some(known), _) => *known.get(&units.ids.text(i))?,
            (None, rows) => *rows.as_ref()?.get(i)?,
        };
        self.of_row.get(row).copied()
    }
}

/// Reads the columns `names` of a table with a known layout. In a table with one row per sample, the first value of a unit counts.
///
/// # Errors
/// If the table cannot be read, or a column does not exist or holds lists.
pub(crate) fn read_group_columns(
    input: &TableInput,
    layout: &Layout,
    names: &[String],
) -> Result<Vec<GroupColumn>> {
    let (path, options) = (input.name(), layout.file_options(input));
    check_names(names, &read_column_names(input, &options)?).map_err(|problem| problem.at(path))?;
    let id = layout.samples().and(layout.id.as_ref());
    let wanted: Vec<String> = names.iter().chain(id).cloned().collect();
    let mut source = Source::open(input, &options, Some(&wanted))?;
    let reading = Reading::new(&layout.missing, Decimal::new(layout.decimal));
    let mut columns: Vec<Values> = names.iter().map(|_| Values::default()).collect();
    let mut units = id.map(|_| HashMap::new());
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        let ids = id.map(|id| scalar_cells(&chunk, id)).transpose().map_err(|problem| problem.at(path))?;
        let rows: Vec<usize> = match (&ids, &mut units) {
            (Some(ids), Some(units)) => {
                let is_new = |i: &usize| {
                    let next = units.len();
                    ids.label(*i, &reading).is_some_and(|id| *units.entry(id).or_insert(next) == next)
                };
                (0..chunk.rows()).filter(is_new).collect()
            }
            _ => (0..chunk.rows()).collect(),
        };
        for (values, name) in columns.iter_mut().zip(names) {
            let cells = scalar_cells(&chunk, name).map_err(|problem| problem.at(path))?;
            rows.iter().for_each(|&i| values.add(cells.cell(i, &reading)));
        }
    }
    let column = |(name, values): (&String, Values)| {
        let (groups, of_row) = values.groups();
        GroupColumn { name: name.clone(), groups, of_row, units: units.clone() }
    };
    Ok(names.iter().zip(columns).map(column).collect())
}

/// Checks that there are columns of these names.
fn check_names(names: &[String], columns: &[String]) -> Result<(), Problem> {
    let Some(unknown) = names.iter().find(|name| !columns.contains(name)) else { return Ok(()) };
    let near = nearest(unknown, columns);
    let near = near.map_or(String::new(), |near| format!("did you mean {}? ", quote_in_hint(near)));
    let hint = format!("{near}The columns are {}", list_names(columns));
    Err(Problem::new(format!("there is no column `{unknown}` to divide units by"), hint))
}

/// The value of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Missing,
    Number(f64),
    /// The number of a text.
    Text(usize),
}

/// The values of one column.
#[derive(Debug, Default)]
struct Values {
    rows: Vec<Value>,
    texts: HashMap<String, usize>,
    /// Whether numbers are dates.
    has_dates: bool,
}

impl Values {
    fn add(&mut self, cell: Cell<'_>) {
        let value = match cell {
            Cell::Missing => Value::Missing,
            Cell::Number(value) | Cell::Formatted(value, _) => Value::Number(value),
            Cell::Date(date) => {
                self.has_dates = true;
                Value::Number(date)
            }
            Cell::Text(text) => {
                let next = self.texts.len();
                Value::Text(*self.texts.entry(text.to_owned()).or_insert(next))
            }
        };
        self.rows.push(value);
    }

    /// The name of a number.
    fn name(&self, value: f64) -> String {
        if self.has_dates { format_date(value) } else { value.to_string() }
    }

    /// The names of the groups, and the group of every row.
    fn groups(&self) -> (Vec<String>, Vec<usize>) {
        let names = if self.texts.is_empty() { self.number_names() } else { self.category_names() };
        let mut groups = Vec::new();
        names.iter().flatten().for_each(|(order, name)| {
            if !groups.contains(&(*order, name.clone())) {
                groups.push((*order, name.clone()));
            }
        });
        groups.sort();
        let mut groups: Vec<String> = groups.into_iter().map(|(_, name)| name).collect();
        let index: HashMap<String, usize> =
            groups.iter().enumerate().map(|(g, name)| (name.clone(), g)).collect();
        let missing = groups.len();
        let of_row: Vec<usize> =
            names.iter().map(|name| name.as_ref().map_or(missing, |(_, name)| index[name])).collect();
        if of_row.contains(&missing) {
            let is_taken = groups.iter().any(|name| name == MISSING);
            groups.push(if is_taken { format!("({MISSING})") } else { MISSING.to_owned() });
        }
        (groups, of_row)
    }

    /// The group of every row by its category: its place in the order, and its name.
    fn category_names(&self) -> Vec<Option<(usize, String)>> {
        let texts: HashMap<usize, &String> = self.texts.iter().map(|(text, &code)| (code, text)).collect();
        let label = |value: &Value| match value {
            Value::Missing => None,
            Value::Number(value) => Some(self.name(*value)),
            Value::Text(code) => Some(texts[code].clone()),
        };
        let labels: Vec<Option<String>> = self.rows.iter().map(label).collect();
        let mut counts = BTreeMap::<&String, usize>::new();
        labels.iter().flatten().for_each(|label| *counts.entry(label).or_default() += 1);
        let mut frequent: Vec<(&String, usize)> = counts.into_iter().collect();
        if frequent.len() > MAX_CATEGORIES {
            frequent.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            frequent.truncate(MAX_CATEGORIES - 1);
        }
        let order = sort_levels(frequent.into_iter().map(|(label, _)| label.clone()).collect());
        let order: HashMap<String, usize> =
            order.into_iter().enumerate().map(|(place, label)| (label, place)).collect();
        let named = |label: Option<String>| {
            label.map(|label| match order.get(&label) {
                Some(&place) => (place, label),
                None => (MAX_CATEGORIES, OTHERS.to_owned()),
            })
        };
        labels.into_iter().map(named).collect()
    }

    /// The group of every row by its number: the value itself if there are few, else the range between two quantiles.
    fn number_names(&self) -> Vec<Option<(usize, String)>> {
        let number = |value: &Value| if let Value::Number(value) = value { Some(*value) } else { None };
        let mut sorted: Vec<f64> = self.rows.iter().filter_map(number).collect();
        sorted.sort_by(f64::total_cmp);
        let mut distinct = sorted.clone();
        distinct.dedup();
        let cuts: Vec<f64> = match distinct.len() {
            0..=MAX_FEW_VALUES => distinct,
            _ => {
                let parts = if sorted.len() < MIN_QUARTILE_VALUES { 3 } else { 4 };
                let mut cuts: Vec<f64> =
                    (1..parts).map(|part| sorted[(part * sorted.len()).div_ceil(parts) - 1]).collect();
                cuts.dedup();
                let ranges = self.ranges(&cuts);
                let named = |value: f64| {
                    let place = cuts.partition_point(|&cut| cut < value);
                    (place, ranges[place].clone())
                };
                return self.rows.iter().map(|value| number(value).map(named)).collect();
            }
        };
        let named = |value: f64| (cuts.partition_point(|&cut| cut < value), self.name(value));
        self.rows.iter().map(|value| number(value).map(named)).collect()
    }

    /// The names of the ranges between `cuts`, each with its upper end.
    fn ranges(&self, cuts: &[f64]) -> Vec<String> {
        let short: Vec<String> = cuts.iter().map(|&cut| round(cut).to_string()).collect();
        let is_clear = !self.has_dates && short.windows(2).all(|pair| pair[0] != pair[1]);
        let names: Vec<String> =
            if is_clear { short } else { cuts.iter().map(|&cut| self.name(cut)).collect() };
        let (first, last) = (&names[0], &names[names.len() - 1]);
        let between = names.windows(2).map(|pair| format!("{} to {}", pair[0], pair[1]));
        std::iter::once(format!("up to {first}")).chain(between).chain([format!("above {last}")]).collect()
    }
}

/// A number with three significant digits.
fn round(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(-300, 300);
    if digits <= 0 {
        return value.round();
    }
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(cells: &[Cell<'_>]) -> (Vec<String>, Vec<usize>) {
        let mut values = Values::default();
        cells.iter().for_each(|cell| values.add(*cell));
        values.groups()
    }

    #[test]
    fn few_values_and_categories_are_groups_and_missing_ones_too() {
        let (names, of_row) =
            groups(&[Cell::Number(2.0), Cell::Missing, Cell::Number(-1.0), Cell::Number(2.0)]);
        assert_eq!((names, of_row), (["-1", "2", "missing"].map(String::from).to_vec(), vec![1, 2, 0, 1]));
        let (names, of_row) = groups(&[Cell::Text("m"), Cell::Text("f"), Cell::Number(3.0), Cell::Text("m")]);
        assert_eq!((names, of_row), (["3", "f", "m"].map(String::from).to_vec(), vec![2, 1, 0, 2]));
        let (names, _) = groups(&[Cell::Text("missing"), Cell::Missing]);
        assert_eq!(names, ["missing", "(missing)"]);
        let (names, _) = groups(&[Cell::Date(19_783.0), Cell::Date(0.0)]);
        assert_eq!(names, ["1970-01-01", "2024-03-01"]);
    }

    #[test]
    fn many_values_are_divided_at_quantiles() {
        let numbers = |n: usize| -> Vec<Cell<'static>> { (0..n).map(|i| Cell::Number(i as f64)).collect() };
        let (names, of_row) = groups(&numbers(300));
        assert_eq!(names, ["up to 99", "99 to 199", "above 199"]);
        assert_eq!((of_row[99], of_row[100], of_row[199], of_row[200]), (0, 1, 1, 2));
        let (names, of_row) = groups(&numbers(400));
        assert_eq!(names, ["up to 99", "99 to 199", "199 to 299", "above 299"]);
        assert!((0..4).all(|group| of_row.iter().filter(|&&own| own == group).count() == 100));
        // half of the values are the same
        let mut ties = numbers(300);
        ties.extend([Cell::Number(0.0); 300]);
        assert_eq!(groups(&ties).0, ["up to 0", "0 to 149", "above 149"]);
    }

    #[test]
    fn of_many_categories_the_frequent_ones_are_groups() {
        let texts: Vec<String> = (0..30).map(|i| format!("c{i}")).collect();
        let cells: Vec<Cell> =
            texts.iter().enumerate().flat_map(|(i, text)| vec![Cell::Text(text); i + 1]).collect();
        let (names, of_row) = groups(&cells);
        assert_eq!((names.len(), &names[19][..]), (20, "all others"));
        assert_eq!(of_row.iter().filter(|&&group| group == 19).count(), (1..=11).sum::<usize>());
    }
}
