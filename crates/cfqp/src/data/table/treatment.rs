//! Columns of treatments: amounts, or levels such as the names of drugs.
//!
//! A treatment with levels becomes one 0/1 element per level but the first, which is the reference: all elements 0.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cells::Cell;
use super::levels::LevelIndex;
use super::names::{list_names, nearest};
use super::numbers::parse_number;
use super::origin::absolute;
use super::problem::{Problem, quote_in_hint, shorten};

/// What the values of a treatment are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreatmentKind {
    /// Levels if most cells are texts, else numbers.
    #[default]
    Auto,
    /// Numbers.
    Number,
    /// Names of levels without an order, even if they look like numbers.
    Category,
}

impl TreatmentKind {
    /// The name of the kind, as it is serialised.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Number => "number",
            Self::Category => "category",
        }
    }
}

/// A column that holds a treatment. One of numbers is serialised as its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredColumn", into = "StoredColumn")]
pub struct TreatmentColumn {
    /// The name of the column.
    pub name: String,
    /// The levels, the reference first; `None` for numbers.
    pub levels: Option<Vec<String>>,
    /// What is subtracted from numbers that differ in late digits only, before they are stored in single precision.
    pub origin: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredColumn {
    Numbers(String),
    Levels { name: String, levels: Vec<String> },
    Relative { name: String, origin: f64 },
}

impl From<StoredColumn> for TreatmentColumn {
    fn from(stored: StoredColumn) -> Self {
        match stored {
            StoredColumn::Numbers(name) => Self::number(name),
            StoredColumn::Levels { name, levels } => Self { levels: Some(levels), ..Self::number(name) },
            StoredColumn::Relative { name, origin } => Self { origin: Some(origin), ..Self::number(name) },
        }
    }
}

impl From<TreatmentColumn> for StoredColumn {
    fn from(column: TreatmentColumn) -> Self {
        let TreatmentColumn { name, levels, origin } = column;
        match (levels, origin) {
            (Some(levels), _) => Self::Levels { name, levels },
            (None, Some(origin)) => Self::Relative { name, origin },
            (None, None) => Self::Numbers(name),
        }
    }
}

/// One value of a treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TreatmentValue {
    /// An amount.
    Number(f32),
    /// An amount of which single precision would lose digits.
    Precise(f64),
    /// The name of a level.
    Level(String),
}

impl TreatmentValue {
    /// The amount; `None` for a level.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(f64::from(*value)),
            Self::Precise(value) => Some(*value),
            Self::Level(_) => None,
        }
    }
}

impl fmt::Display for TreatmentValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Precise(value) => write!(f, "{value}"),
            Self::Level(level) => f.write_str(level),
        }
    }
}

impl TreatmentColumn {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), levels: None, origin: None }
    }

    /// The number of elements that the column becomes.
    pub fn elements(&self) -> usize {
        self.levels.as_ref().map_or(1, |levels| levels.len().saturating_sub(1))
    }

    /// The names of the elements: that of the column, or `drug=B` for every level but the reference.
    pub fn element_names(&self) -> Vec<String> {
        match &self.levels {
            None => vec![self.name.clone()],
            Some(levels) => levels.iter().skip(1).map(|level| format!("{}={level}", self.name)).collect(),
        }
    }

    /// Whether there are no levels, or at least two different ones.
    pub(crate) fn is_sound(&self) -> bool {
        let are_distinct = |levels: &Vec<String>| {
            levels.len() > 1 && (1..levels.len()).all(|i| !levels[..i].contains(&levels[i]))
        };
        self.levels.as_ref().is_none_or(are_distinct) && self.origin.is_none_or(f64::is_finite)
    }

    /// Writes the elements of level `k`, of which 0 is the reference.
    pub(crate) fn write_level(&self, k: usize, elements: &mut [f32]) {
        elements.fill(0.0);
        if let Some(element) = k.checked_sub(1).and_then(|k| elements.get_mut(k)) {
            *element = 1.0;
        }
    }

    /// The elements of every level, the reference first; empty for numbers.
    pub(crate) fn level_elements(&self) -> Vec<Vec<f32>> {
        let elements = |k: usize| {
            let mut elements = vec![0.0; self.elements()];
            self.write_level(k, &mut elements);
            elements
        };
        (0..self.levels.as_ref().map_or(0, Vec::len)).map(elements).collect()
    }

    /// Whether these elements are a number, or those of a level.
    pub(crate) fn has_elements(&self, elements: &[f32]) -> bool {
        let is_one_level = || {
            let ones = elements.iter().filter(|element| **element == 1.0).count();
            ones <= 1 && elements.iter().all(|element| matches!(element, 0.0 | 1.0))
        };
        elements.len() == self.elements() && (self.levels.is_none() || is_one_level())
    }

    /// The value that these elements stand for.
    pub fn value(&self, elements: &[f32]) -> TreatmentValue {
        match (&self.levels, self.origin) {
            (None, None) => TreatmentValue::Number(elements[0]),
            (None, Some(origin)) => TreatmentValue::Precise(absolute(origin, elements[0])),
            (Some(levels), _) => {
                let k = elements.iter().position(|element| *element > 0.5).map_or(0, |k| k + 1);
                TreatmentValue::Level(levels[k].clone())
            }
        }
    }

    /// The element of an amount.
    pub(crate) fn element(&self, amount: f64) -> f32 {
        (amount - self.origin.unwrap_or(0.0)) as f32
    }

    /// The elements of a value that a user wrote.
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<f32>, Problem> {
        let text = text.trim();
        let Some(levels) = &self.levels else {
            // as in the cells of a table, true is 1
            let truth = || Cell::Text(text).value();
            let value = parse_number(text).or_else(truth).map(|value| self.element(value));
            let value = value.filter(|value| value.is_finite());
            return value.map(|value| vec![value]).ok_or_else(|| self.not_a_number(text));
        };
        self.find_level(text).ok_or_else(|| self.unknown_level(text, levels))
    }

    /// The elements of the level with this name, or one that means the same.
    pub(crate) fn find_level(&self, name: &str) -> Option<Vec<f32>> {
        let k = LevelIndex::new(self.levels.as_ref()?).find(name)?;
        let mut elements = vec![0.0; self.elements()];
        self.write_level(k, &mut elements);
        Some(elements)
    }

    fn not_a_number(&self, text: &str) -> Problem {
        let problem =
            format!("`{}` is not a number, but the treatment `{}` is one", shorten(text), self.name);
        Problem::new(problem, "give a finite number")
    }

    fn unknown_level(&self, text: &str, levels: &[String]) -> Problem {
        let problem = format!("`{}` is not a level of the treatment `{}`", shorten(text), self.name);
        let listed = format!("the levels are {}", list_names(levels));
        let hint = match nearest(text, levels) {
            // every other name of a letter is near a letter
            Some(near) if text.chars().count() > 2 => {
                format!("did you mean {}? {listed}", quote_in_hint(near))
            }
            _ => listed,
        };
        Problem::new(problem, hint)
    }
}

/// Treatments that a user wrote for models without a table: numbers separated by commas.
pub(crate) fn parse_numbers(text: &str) -> Result<Vec<f32>, Problem> {
    let parse = |part: &str| TreatmentColumn::number("t").parse(part);
    Ok(text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drug() -> TreatmentColumn {
        let levels = Some(["A", "B", "C"].map(String::from).to_vec());
        TreatmentColumn { levels, ..TreatmentColumn::number("drug") }
    }

    #[test]
    fn levels_are_one_element_each_without_the_reference() {
        let drug = drug();
        assert_eq!(drug.level_elements(), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(drug.element_names(), ["drug=B", "drug=C"]);
        for (elements, level) in drug.level_elements().iter().zip(["A", "B", "C"]) {
            assert_eq!(drug.value(elements), TreatmentValue::Level(level.into()));
        }
        assert!(!drug.has_elements(&[1.0, 1.0]) && !drug.has_elements(&[0.5, 0.0]));
        assert!(!TreatmentColumn { levels: Some(vec!["A".into()]), ..drug }.is_sound());
    }

    #[test]
    fn columns_of_numbers_are_stored_by_name_as_in_earlier_versions() {
        let columns = vec![TreatmentColumn::number("dose"), drug()];
        let text = serde_json::to_string(&columns).unwrap();
        assert_eq!(text, r#"["dose",{"name":"drug","levels":["A","B","C"]}]"#);
        assert_eq!(serde_json::from_str::<Vec<TreatmentColumn>>(&text).unwrap(), columns);
    }

    #[test]
    fn amounts_that_differ_in_late_digits_keep_them() {
        let time = TreatmentColumn { origin: Some(1e8), ..TreatmentColumn::number("time") };
        let elements = time.parse("100000000.25").unwrap();
        assert_eq!(elements, [0.25]);
        assert_eq!(time.value(&elements).to_string(), "100000000.25");
        let text = serde_json::to_string(&time).unwrap();
        assert_eq!(serde_json::from_str::<TreatmentColumn>(&text).unwrap(), time);
        assert!(!TreatmentColumn { origin: Some(f64::NAN), ..time }.is_sound());
    }
}
