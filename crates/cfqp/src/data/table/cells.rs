//! The cells of one column, and what they say: a number, a category, nothing.

use super::lists::Lists;

/// Words that stand for a missing value, whatever their case.
const MISSING: [&str; 8] = ["", "na", "n/a", "nan", "null", "none", "nil", "."];

/// Part of a column, as its file holds it.
#[derive(Debug)]
pub(crate) enum Cells<'a> {
    /// Numbers, NaN where missing.
    Numbers(Vec<f64>),
    /// Texts, or yes and no as `true` and `false`.
    Text(Vec<Option<&'a str>>),
    /// An array per row.
    Lists(Lists),
    /// Dates or times of day.
    Dates,
    /// Something else, of this type.
    Other(String),
}

/// One cell of a column that holds one value per row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

/// Words of this study that stand for a missing value, beside the usual ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Absent {
    words: Vec<String>,
    numbers: Vec<f64>,
}

impl Absent {
    pub fn new(words: &[String]) -> Self {
        Self { words: words.to_vec(), numbers: words.iter().filter_map(|word| number(word)).collect() }
    }

    fn text(&self, text: &str) -> bool {
        MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
            || self.words.iter().any(|word| word == text)
    }

    fn number(&self, value: f64) -> bool {
        value.is_nan() || self.numbers.contains(&value)
    }
}

impl<'a> Cells<'a> {
    /// How many rows.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Numbers(values) => Some(values.len()),
            Self::Text(values) => Some(values.len()),
            Self::Lists(lists) => Some(lists.len()),
            Self::Dates | Self::Other(_) => None,
        }
    }

    /// Row `i` of a column of single values.
    pub fn cell(&self, i: usize, absent: &Absent) -> Cell<'a> {
        match self {
            Self::Numbers(values) if absent.number(values[i]) => Cell::Missing,
            Self::Numbers(values) => Cell::Number(values[i]),
            Self::Text(values) => match values[i].map(str::trim) {
                None => Cell::Missing,
                Some(text) if absent.text(text) => Cell::Missing,
                Some(text) => match number(text) {
                    Some(value) if absent.number(value) => Cell::Missing,
                    Some(value) => Cell::Number(value),
                    None => Cell::Text(text),
                },
            },
            Self::Lists(_) | Self::Dates | Self::Other(_) => Cell::Missing,
        }
    }

    /// Row `i` as the text that names a category or a unit.
    pub fn label(&self, i: usize, absent: &Absent) -> Option<String> {
        match self {
            Self::Text(values) => {
                values[i].map(str::trim).filter(|text| !absent.text(text)).map(str::to_owned)
            }
            _ => match self.cell(i, absent) {
                Cell::Missing => None,
                Cell::Number(value) => Some(value.to_string()),
                Cell::Text(text) => Some(text.to_owned()),
            },
        }
    }
}

impl Cell<'_> {
    /// The number, where it is one; yes counts as 1 and no as 0.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(value),
            Self::Text(text) if text.eq_ignore_ascii_case("true") => Some(1.0),
            Self::Text(text) if text.eq_ignore_ascii_case("false") => Some(0.0),
            _ => None,
        }
    }
}

/// A finite number, as f32 holds it.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| (*value as f32).is_finite())
}

/// Whether a text looks like a date or a time of day: 2024-03-01, 1/3/2024, 08:15.
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

/// How to put a date into numbers.
pub(crate) const DATES: &str =
    "dates are not numbers: put the days (or minutes) since a fixed moment into a column";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_texts_or_missing() {
        let texts = ["1.5", " -2e3 ", "", "NA", "NaN", "-999", "abc", "true", "inf", "1e300"];
        let cells = Cells::Text(texts.iter().map(|&text| Some(text)).chain([None]).collect());
        let absent = Absent::new(&["-999".to_owned()]);
        let seen: Vec<Cell> = (0..11).map(|i| cells.cell(i, &absent)).collect();
        assert_eq!(seen[..2], [Cell::Number(1.5), Cell::Number(-2000.0)]);
        assert!(seen[2..6].iter().chain(&seen[10..]).all(|cell| *cell == Cell::Missing));
        assert_eq!(
            seen[6..10].iter().map(|cell| cell.value()).collect::<Vec<_>>(),
            [None, Some(1.0), None, None]
        );
        let numbers = Cells::Numbers(vec![f64::NAN, -999.0, 3.0]);
        assert_eq!(
            (0..3).map(|i| numbers.label(i, &absent)).collect::<Vec<_>>(),
            [None, None, Some("3".into())]
        );
    }

    #[test]
    fn dates_and_times_are_told_from_numbers_and_names() {
        for date in ["2024-03-01", "2024-03-01T08:15:00Z", "2024-03-01 08:15", "1/3/2024", "01.03.24", "8:15"]
        {
            assert!(is_date(date), "{date}");
        }
        for other in ["12", "1.5", "a-b-c", "1-2", "north", "10-20", "1.2.3.4.5", "2024"] {
            assert!(!is_date(other), "{other}");
        }
    }
}
