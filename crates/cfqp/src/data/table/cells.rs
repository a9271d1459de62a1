//! The cells of one column: numbers, texts, dates, lists or missing values.

use super::dates::format_date;
use super::lists::Lists;
use super::numbers::{Decimal, NumberText, Removed, parse_number, read_number};

/// Words that stand for a missing value, in upper or lower case.
const MISSING_WORDS: [&str; 8] = ["", "na", "n/a", "nan", "null", "none", "nil", "."];

/// Part of a column, as stored in its file.
#[derive(Debug)]
pub(crate) enum Cells<'a> {
    /// Numbers, NaN where missing.
    Numbers(Vec<f64>),
    /// Texts; booleans are `true` and `false`.
    Text(Vec<Option<&'a str>>),
    /// One array per row.
    Lists(Lists),
    /// Dates in days since 1970-01-01, NaN where missing.
    Dates(Vec<f64>),
    /// An unsupported type, with a description.
    Other(String),
}

/// One cell of a column with one value per row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Number(f64),
    /// A number after something was removed from its text.
    Formatted(f64, Removed),
    /// A date in days since 1970-01-01, in a file that stores dates.
    Date(f64),
    Text(&'a str),
}

/// How the texts of one table are read: what stands for a missing value, and how numbers are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    words: Vec<String>,
    numbers: Vec<f64>,
    pub decimal: Decimal,
}

impl Reading {
    pub(super) fn new(missing: &[String], decimal: Decimal) -> Self {
        let numbers = missing.iter().filter_map(|word| parse_number(word)).collect();
        Self { words: missing.to_vec(), numbers, decimal }
    }

    fn has_text(&self, text: &str) -> bool {
        MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
            || self.words.iter().any(|word| word == text)
    }

    fn has_number(&self, value: f64) -> bool {
        value.is_nan() || self.numbers.contains(&value)
    }

    /// A text, which is not a missing value yet, as a cell.
    pub(super) fn cell<'a>(&self, text: &'a str) -> Cell<'a> {
        match read_number(text, self.decimal) {
            NumberText::Plain(value) if self.has_number(value) => Cell::Missing,
            NumberText::Plain(value) => Cell::Number(value),
            NumberText::Formatted(value, _) if self.has_number(value) => Cell::Missing,
            NumberText::Formatted(value, removed) => Cell::Formatted(value, removed),
            NumberText::DecimalComma | NumberText::Ambiguous | NumberText::Text => Cell::Text(text),
        }
    }
}

impl<'a> Cells<'a> {
    /// The number of rows; `None` for unsupported columns.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Numbers(values) | Self::Dates(values) => Some(values.len()),
            Self::Text(values) => Some(values.len()),
            Self::Lists(lists) => Some(lists.len()),
            Self::Other(_) => None,
        }
    }

    /// Row `i` of a column with one value per row.
    pub(super) fn cell(&self, i: usize, reading: &Reading) -> Cell<'a> {
        match self {
            Self::Numbers(values) if reading.has_number(values[i]) => Cell::Missing,
            Self::Numbers(values) => Cell::Number(values[i]),
            Self::Text(values) => match values[i].map(str::trim) {
                None => Cell::Missing,
                Some(text) if reading.has_text(text) => Cell::Missing,
                Some(text) => reading.cell(text),
            },
            Self::Dates(values) if values[i].is_nan() => Cell::Missing,
            Self::Dates(values) => Cell::Date(values[i]),
            Self::Lists(_) | Self::Other(_) => Cell::Missing,
        }
    }

    /// Row `i` as the name of a category or a unit; `None` where it is missing.
    pub(super) fn label(&self, i: usize, reading: &Reading) -> Option<String> {
        match self {
            Self::Text(values) => {
                values[i].map(str::trim).filter(|text| !reading.has_text(text)).map(str::to_owned)
            }
            _ => match self.cell(i, reading) {
                Cell::Missing => None,
                Cell::Number(value) | Cell::Formatted(value, _) => Some(value.to_string()),
                Cell::Date(date) => Some(format_date(date)),
                Cell::Text(text) => Some(text.to_owned()),
            },
        }
    }
}

impl Cell<'_> {
    /// The number, if the cell is one; `true` is 1 and `false` is 0.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Self::Number(value) | Self::Formatted(value, _) => Some(value),
            Self::Text(text) if text.eq_ignore_ascii_case("true") => Some(1.0),
            Self::Text(text) if text.eq_ignore_ascii_case("false") => Some(0.0),
            Self::Missing | Self::Date(_) | Self::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_texts_or_missing() {
        let texts = ["1.5", " -2e3 ", "", "NA", "NaN", "-999", "abc", "true", "inf", "1e300"];
        let cells = Cells::Text(texts.iter().map(|&text| Some(text)).chain([None]).collect());
        let reading = Reading::new(&["-999".to_owned()], Decimal::Unknown);
        let found: Vec<Cell> = (0..11).map(|i| cells.cell(i, &reading)).collect();
        assert_eq!(found[..2], [Cell::Number(1.5), Cell::Number(-2000.0)]);
        assert!(found[2..6].iter().chain(&found[10..]).all(|cell| *cell == Cell::Missing));
        assert_eq!(
            found[6..10].iter().map(|cell| cell.value()).collect::<Vec<_>>(),
            [None, Some(1.0), None, None]
        );
        let numbers = Cells::Numbers(vec![f64::NAN, -999.0, 3.0]);
        assert_eq!(
            (0..3).map(|i| numbers.label(i, &reading)).collect::<Vec<_>>(),
            [None, None, Some("3".into())]
        );
        let dates = Cells::Dates(vec![f64::NAN, 19_783.0]);
        assert_eq!((dates.label(0, &reading), dates.label(1, &reading)), (None, Some("2024-03-01".into())));
    }
}
