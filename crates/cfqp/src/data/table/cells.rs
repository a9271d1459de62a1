//! The cells of one column: numbers, texts, lists or missing values.

use super::lists::Lists;

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
    /// Dates or times of day.
    Dates,
    /// An unsupported type, with a description.
    Other(String),
}

/// One cell of a column with one value per row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

/// Recognises missing values: the usual words and those of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissingWords {
    words: Vec<String>,
    numbers: Vec<f64>,
}

impl MissingWords {
    pub(super) fn new(words: &[String]) -> Self {
        Self { words: words.to_vec(), numbers: words.iter().filter_map(|word| parse_number(word)).collect() }
    }

    fn has_text(&self, text: &str) -> bool {
        MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
            || self.words.iter().any(|word| word == text)
    }

    fn has_number(&self, value: f64) -> bool {
        value.is_nan() || self.numbers.contains(&value)
    }
}

impl<'a> Cells<'a> {
    /// The number of rows; `None` for unsupported columns.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Numbers(values) => Some(values.len()),
            Self::Text(values) => Some(values.len()),
            Self::Lists(lists) => Some(lists.len()),
            Self::Dates | Self::Other(_) => None,
        }
    }

    /// Row `i` of a column with one value per row.
    pub(super) fn cell(&self, i: usize, missing_words: &MissingWords) -> Cell<'a> {
        match self {
            Self::Numbers(values) if missing_words.has_number(values[i]) => Cell::Missing,
            Self::Numbers(values) => Cell::Number(values[i]),
            Self::Text(values) => match values[i].map(str::trim) {
                None => Cell::Missing,
                Some(text) if missing_words.has_text(text) => Cell::Missing,
                Some(text) => match parse_number(text) {
                    Some(value) if missing_words.has_number(value) => Cell::Missing,
                    Some(value) => Cell::Number(value),
                    None => Cell::Text(text),
                },
            },
            Self::Lists(_) | Self::Dates | Self::Other(_) => Cell::Missing,
        }
    }

    /// Row `i` as the name of a category or a unit; `None` where it is missing.
    pub(super) fn label(&self, i: usize, missing_words: &MissingWords) -> Option<String> {
        match self {
            Self::Text(values) => {
                values[i].map(str::trim).filter(|text| !missing_words.has_text(text)).map(str::to_owned)
            }
            _ => match self.cell(i, missing_words) {
                Cell::Missing => None,
                Cell::Number(value) => Some(value.to_string()),
                Cell::Text(text) => Some(text.to_owned()),
            },
        }
    }
}

impl Cell<'_> {
    /// The number, if the cell is one; `true` is 1 and `false` is 0.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(value),
            Self::Text(text) if text.eq_ignore_ascii_case("true") => Some(1.0),
            Self::Text(text) if text.eq_ignore_ascii_case("false") => Some(0.0),
            _ => None,
        }
    }
}

/// Parses a number that is finite as f32.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| (*value as f32).is_finite())
}

/// Whether a text looks like a date or a time of day, such as 2024-03-01, 1/3/2024 or 08:15.
pub(crate) fn is_date(text: &str) -> bool {
    let text = text.trim();
    let dated = ['-', '/', '.'].iter().any(|&mark| {
        let parts: Vec<&str> = text.splitn(3, mark).collect();
        let &[a, b, c] = &parts[..] else { return false };
        let c = c.split(['T', ' ']).next().unwrap_or("");
        let digits = |part: &str, sizes: &[usize]| {
            sizes.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let year_first = digits(a, &[4]) && digits(b, &[1, 2]) && digits(c, &[1, 2]);
        year_first || digits(a, &[1, 2]) && digits(b, &[1, 2]) && digits(c, &[2, 4])
    });
    let clock = |text: &str| {
        let mut parts = text.split(':');
        let two = |part: Option<&str>| {
            part.is_some_and(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
        };
        two(parts.next()) && two(parts.next())
    };
    dated || clock(text)
}

/// The hint for dates.
pub(crate) const DATES_HINT: &str =
    "dates are not numbers: give the days (or minutes) since a fixed time instead";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_texts_or_missing() {
        let texts = ["1.5", " -2e3 ", "", "NA", "NaN", "-999", "abc", "true", "inf", "1e300"];
        let cells = Cells::Text(texts.iter().map(|&text| Some(text)).chain([None]).collect());
        let missing_words = MissingWords::new(&["-999".to_owned()]);
        let found: Vec<Cell> = (0..11).map(|i| cells.cell(i, &missing_words)).collect();
        assert_eq!(found[..2], [Cell::Number(1.5), Cell::Number(-2000.0)]);
        assert!(found[2..6].iter().chain(&found[10..]).all(|cell| *cell == Cell::Missing));
        assert_eq!(
            found[6..10].iter().map(|cell| cell.value()).collect::<Vec<_>>(),
            [None, Some(1.0), None, None]
        );
        let numbers = Cells::Numbers(vec![f64::NAN, -999.0, 3.0]);
        assert_eq!(
            (0..3).map(|i| numbers.label(i, &missing_words)).collect::<Vec<_>>(),
            [None, None, Some("3".into())]
        );
    }

    #[test]
    fn dates_and_times_are_distinguished_from_numbers_and_names() {
        for date in ["2024-03-01", "2024-03-01T08:15:00Z", "2024-03-01 08:15", "1/3/2024", "01.03.24", "8:15"]
        {
            assert!(is_date(date), "{date}");
        }
        for other in ["12", "1.5", "a-b-c", "1-2", "north", "10-20", "1.2.3.4.5", "2024"] {
            assert!(!is_date(other), "{other}");
        }
    }
}
