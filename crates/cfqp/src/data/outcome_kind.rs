//! Kinds of outcomes: what the values of an outcome mean, and so which likelihood and which answer they have.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Units;
use crate::error::{Error, Result};

/// Outcomes with more elements than this are numbers.
pub(crate) const MAX_KIND_ELEMENTS: usize = 8;
/// The share of zeros from which an outcome is an amount with zeros.
const MIN_ZERO_SHARE: f64 = 0.05;
/// Whole numbers with a larger mean are not counted one by one.
const MAX_MEAN_COUNT: f64 = 50.0;
/// The largest number of ordered levels that are recognised, and that are allowed.
const MAX_RECOGNISED_LEVELS: usize = 10;
const MAX_LEVELS: usize = 50;

/// What one element of an outcome is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutcomeKind {
    /// A number.
    #[default]
    Number,
    /// 0 or 1. An answer is the probability of 1.
    YesNo,
    /// 0, 1, 2, ... An answer is an expected count with an interval of counts.
    Count,
    /// One of few levels that have an order, given as numbers.
    Ordered,
    /// 0 or a positive amount.
    Amount,
    /// One level of an unordered category: 1 for units of that level. An answer is the probability of the level. The levels
    /// of one category are adjacent elements with the same number.
    Level(usize),
}

impl OutcomeKind {
    /// The name, as in the program's flag `--y-kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::YesNo => "yes-no",
            Self::Count => "count",
            Self::Ordered => "ordered",
            Self::Amount => "amount",
            Self::Level(_) => "category",
        }
    }

    /// Whether answers are probabilities.
    pub fn is_chance(self) -> bool {
        matches!(self, Self::YesNo | Self::Level(_))
    }

    /// Whether outcomes of these kinds are one yes or no, or one category. One such outcome per unit shows no hidden classes:
    /// every mixture of such laws is another such law.
    pub(crate) fn is_single_chance(kinds: &[Self]) -> bool {
        match kinds {
            [Self::YesNo] => true,
            [first @ Self::Level(_), others @ ..] => others.iter().all(|kind| kind == first),
            _ => false,
        }
    }

    /// The kind that observed values look like. A single element is never a category: its levels have no numbers.
    ///
    /// # Examples
    /// ```
    /// use cfqp::data::OutcomeKind;
    ///
    /// assert_eq!(OutcomeKind::recognise(&[0.0, 1.0, 1.0]), OutcomeKind::YesNo);
    /// assert_eq!(OutcomeKind::recognise(&[0.0, 3.0, 1.0, 7.0]), OutcomeKind::Count);
    /// assert_eq!(OutcomeKind::recognise(&[0.0, 0.0, 12.5, 31.2]), OutcomeKind::Amount);
    /// assert_eq!(OutcomeKind::recognise(&[1.2, -0.4]), OutcomeKind::Number);
    /// ```
    pub fn recognise(values: &[f32]) -> Self {
        let mut seen = SeenValues::default();
        values.iter().for_each(|&value| seen.add(value));
        seen.kind()
    }

    /// Checks that observed values are of this kind; `name` is that of the outcome.
    fn check(self, name: &str, values: &[f32]) -> Result<()> {
        let (fits, rule): (fn(f32) -> bool, &str) = match self {
            Self::Number => return Ok(()),
            Self::YesNo | Self::Level(_) => (|value| value == 0.0 || value == 1.0, "0 or 1"),
            Self::Count => (|value| value >= 0.0 && value.fract() == 0.0, "a whole number from 0 on"),
            Self::Amount => (|value| value >= 0.0, "0 or positive"),
            Self::Ordered => return check_levels(name, values),
        };
        match values.iter().find(|value| !fits(**value)) {
            None => Ok(()),
            Some(value) => {
                let problem = format!("{value} is not {rule}, as an outcome of kind {} must be", self.name());
                Err(Error::data(name, problem, "correct the value, or give another kind of outcome"))
            }
        }
    }
}

/// What tells the kind of an outcome: its values may come in any order, and in parts.
#[derive(Clone, Debug)]
pub(crate) struct SeenValues {
    count: f64,
    sum: f64,
    zeros: f64,
    pub lowest: f32,
    is_whole: bool,
    /// In ascending order; none if there are many.
    distinct: Option<Vec<f32>>,
}

impl Default for SeenValues {
    fn default() -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            zeros: 0.0,
            lowest: f32::INFINITY,
            is_whole: true,
            distinct: Some(Vec::new()),
        }
    }
}

impl SeenValues {
    /// Adds an observed value.
    pub(crate) fn add(&mut self, value: f32) {
        self.count += 1.0;
        self.sum += f64::from(value);
        self.zeros += f64::from(u8::from(value == 0.0));
        self.lowest = self.lowest.min(value);
        self.is_whole &= value.fract() == 0.0;
        if let Some(distinct) = &mut self.distinct
            && !insert_distinct(distinct, value, MAX_RECOGNISED_LEVELS)
        {
            self.distinct = None;
        }
    }

    /// The kind that the values look like.
    pub(crate) fn kind(&self) -> OutcomeKind {
        if self.count == 0.0 || self.lowest < 0.0 {
            return OutcomeKind::Number;
        }
        match self.distinct.as_deref() {
            Some([] | [_]) => OutcomeKind::Number,
            Some([zero, one]) if *zero == 0.0 && *one == 1.0 => OutcomeKind::YesNo,
            Some([_, _]) => OutcomeKind::Number,
            Some(levels) if self.is_whole && is_run_from_one(levels) => OutcomeKind::Ordered,
            _ if self.is_whole && self.zeros > 0.0 && self.sum / self.count <= MAX_MEAN_COUNT => {
                OutcomeKind::Count
            }
            _ if self.zeros >= MIN_ZERO_SHARE * self.count => OutcomeKind::Amount,
            _ => OutcomeKind::Number,
        }
    }
}

/// Few levels that are not the same for all.
fn check_levels(name: &str, values: &[f32]) -> Result<()> {
    match few_distinct(values, MAX_LEVELS) {
        Some(levels) if levels.len() > 1 => Ok(()),
        Some(_) => Err(Error::data(name, "all units have the same level", "give an outcome that varies")),
        None => {
            let problem = format!("more than {MAX_LEVELS} different values");
            Err(Error::data(name, problem, "give the outcome as a number, or fewer levels"))
        }
    }
}

/// The distinct values in ascending order; none if there are more than `most`.
fn few_distinct(values: &[f32], most: usize) -> Option<Vec<f32>> {
    let mut distinct: Vec<f32> = Vec::new();
    values.iter().all(|&value| insert_distinct(&mut distinct, value, most)).then_some(distinct)
}

/// Adds a value to distinct values in ascending order; false if there would be more than `most`.
fn insert_distinct(distinct: &mut Vec<f32>, value: f32, most: usize) -> bool {
    match distinct.binary_search_by(|found| found.total_cmp(&value)) {
        Ok(_) => true,
        Err(_) if distinct.len() == most => false,
        Err(at) => {
            distinct.insert(at, value);
            true
        }
    }
}

/// Whether levels are 1, 2, 3, ...
fn is_run_from_one(levels: &[f32]) -> bool {
    levels.len() > 2 && levels.iter().enumerate().all(|(i, level)| *level == (i + 1) as f32)
}

/// The observed values of element `j`.
pub(crate) fn observed_values(y: &Units, j: usize) -> Vec<f32> {
    let observed = (0..y.len()).filter(|&i| y.mask_row(i).is_none_or(|mask| mask[j]));
    observed.map(|i| y.row(i)[j]).collect()
}

/// The kinds that outcomes look like; numbers, unless a unit has few elements in one row. Adjacent elements of 0 or 1 of
/// which every unit has exactly one 1 are the levels of a category.
pub(super) fn recognise_kinds(y: &Units) -> Vec<OutcomeKind> {
    let elements = y.elements();
    if y.shape().len() > 1 || elements > MAX_KIND_ELEMENTS {
        return vec![OutcomeKind::Number; elements];
    }
    let mut kinds: Vec<OutcomeKind> =
        (0..elements).map(|j| OutcomeKind::recognise(&observed_values(y, j))).collect();
    let (mut first, mut categories) = (0, 0);
    for group in kinds.chunk_by_mut(|a, b| (*a, *b) == (OutcomeKind::YesNo, OutcomeKind::YesNo)) {
        let levels = first..first + group.len();
        first = levels.end;
        if group.len() > 2 && is_one_hot(y, levels) {
            group.fill(OutcomeKind::Level(categories));
            categories += 1;
        }
    }
    kinds
}

/// Whether every unit has exactly one 1 among the elements, all of which were observed or none.
fn is_one_hot(y: &Units, elements: Range<usize>) -> bool {
    (0..y.len()).all(|i| {
        let observed = |j: &usize| y.mask_row(i).is_none_or(|mask| mask[*j]);
        match elements.clone().filter(observed).count() {
            0 => true,
            count if count < elements.len() => false,
            _ => y.row(i)[elements.clone()].iter().filter(|value| **value == 1.0).count() == 1,
        }
    })
}

/// The place of element `j` of an outcome in messages.
pub(crate) fn element_name(j: usize) -> String {
    format!("y[{j}]")
}

/// Checks that there is one kind per element and that values are of their kind.
pub(super) fn check_kinds(y: &Units, kinds: &[OutcomeKind], name: impl Fn(usize) -> String) -> Result<()> {
    let elements = y.elements();
    if kinds.len() != elements {
        let problem = format!("{} kinds are given for {elements} elements", kinds.len());
        return Err(Error::data("y", problem, "give the kind of every element"));
    }
    if y.shape().len() > 1 && kinds.iter().any(|kind| *kind != OutcomeKind::Number) {
        let problem =
            format!("a unit has shape {:?}, and elements of series and images are numbers", y.shape());
        return Err(Error::data("y", problem, "give outcomes of other kinds as one row per unit"));
    }
    for (j, &kind) in kinds.iter().enumerate().filter(|(_, kind)| **kind != OutcomeKind::Number) {
        kind.check(&name(j), &observed_values(y, j))?;
    }
    check_categories(y, kinds)
}

/// Checks that a unit has exactly one level of every category.
fn check_categories(y: &Units, kinds: &[OutcomeKind]) -> Result<()> {
    let mut first = 0;
    for group in kinds.chunk_by(|a, b| a == b && matches!(a, OutcomeKind::Level(_))) {
        let levels = first..first + group.len();
        first += group.len();
        if !matches!(group[0], OutcomeKind::Level(_)) {
            continue;
        }
        for i in 0..y.len() {
            let observed = |j: usize| y.mask_row(i).is_none_or(|mask| mask[j]);
            let ones = levels.clone().filter(|&j| y.row(i)[j] == 1.0).count();
            if observed(levels.start) && ones != 1 {
                let problem = format!("unit {i} has {ones} levels of a category");
                return Err(Error::data("y", problem, "give exactly one level of every category"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recognised_from_values() {
        let counts: Vec<f32> = (0..40).map(|i| (i % 13) as f32).collect();
        let ratings: Vec<f32> = (0..40).map(|i| (1 + i % 5) as f32).collect();
        let revenue: Vec<f32> = (0..40).map(|i| if i % 4 == 0 { 0.0 } else { 9.99 * i as f32 }).collect();
        let whole_revenue: Vec<f32> =
            (0..40).map(|i| if i % 4 == 0 { 0.0 } else { 100.0 * i as f32 }).collect();
        let pressure: Vec<f32> = (0..40).map(|i| (110 + i) as f32).collect();
        assert_eq!(OutcomeKind::recognise(&counts), OutcomeKind::Count);
        assert_eq!(OutcomeKind::recognise(&ratings), OutcomeKind::Ordered);
        assert_eq!(OutcomeKind::recognise(&revenue), OutcomeKind::Amount);
        assert_eq!(OutcomeKind::recognise(&whole_revenue), OutcomeKind::Amount);
        assert_eq!(OutcomeKind::recognise(&pressure), OutcomeKind::Number);
        assert_eq!(
            OutcomeKind::recognise(&[1.0, 2.0, 1.0]),
            OutcomeKind::Number,
            "two values, but not 0 and 1"
        );
        assert_eq!(OutcomeKind::recognise(&[0.0, 0.0]), OutcomeKind::Number);
        assert_eq!(OutcomeKind::recognise(&[]), OutcomeKind::Number);
        let long = Units::new("y", vec![9], vec![0.0; 18]).unwrap();
        assert_eq!(recognise_kinds(&long), [OutcomeKind::Number; 9]);
    }

    #[test]
    fn elements_of_which_every_unit_has_one_are_levels() {
        let rows = [[0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 2.5], [0.0, 0.0, 1.0, -1.0]];
        let level = OutcomeKind::Level(0);
        let kinds = |values: Vec<f32>| recognise_kinds(&Units::new("y", vec![4], values).unwrap());
        assert_eq!(kinds(rows.concat()), [level, level, level, OutcomeKind::Number]);
        let mut two = rows.concat();
        two[0] = 1.0;
        let yes_no = OutcomeKind::YesNo;
        assert_eq!(kinds(two), [yes_no, yes_no, yes_no, OutcomeKind::Number], "unit 0 has two");
        let mask = [[true; 4], [true; 4], [false, false, false, true], [true; 4]].concat();
        let mut missing = rows.concat();
        missing.splice(8..8, [0.0, 0.0, 0.0, 1.5]);
        let missing = Units::with_mask("y", vec![4], missing, Some(mask)).unwrap();
        assert_eq!(recognise_kinds(&missing)[..3], [level; 3]);
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        let y = Units::new("y", vec![2], vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        let category = [OutcomeKind::Level(0); 2];
        assert!(check_kinds(&y, &category, element_name).is_ok());
        assert!(check_kinds(&y, &[OutcomeKind::YesNo], element_name).is_err(), "one kind per element");
        let both = Units::new("y", vec![2], vec![1.0, 1.0]).unwrap();
        assert!(check_kinds(&both, &category, element_name).unwrap_err().to_string().contains("2 levels"));
        let half = Units::new("y", vec![1], vec![0.5, 1.0]).unwrap();
        for kind in [OutcomeKind::YesNo, OutcomeKind::Count] {
            assert!(
                check_kinds(&half, &[kind], element_name).unwrap_err().to_string().contains("0.5"),
                "{kind:?}"
            );
        }
        let series = Units::new("y", vec![1, 2], vec![0.0, 1.0]).unwrap();
        assert!(check_kinds(&series, &[OutcomeKind::YesNo; 2], element_name).is_err());
        assert!(
            OutcomeKind::is_single_chance(&category) && OutcomeKind::is_single_chance(&[OutcomeKind::YesNo])
        );
        assert!(!OutcomeKind::is_single_chance(&[OutcomeKind::YesNo; 2]), "two outcomes show classes");
        assert!(check_kinds(&half, &[OutcomeKind::Amount], element_name).is_ok());
        assert!(check_kinds(&half, &[OutcomeKind::Ordered], element_name).is_ok());
    }
}
