//! The levels of categories: equal ones may be spelled differently, as `true`, `True` and `1`, or in files of another
//! type, as `3` and `3.0`.

use std::collections::{BTreeMap, HashMap};

use super::numbers::parse_number;

/// Whether a word is `true` or `yes` (`Some(true)`), or `false` or `no`, in upper or lower case.
pub(crate) fn truth_of_word(text: &str) -> Option<bool> {
    let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["true", "yes"]) {
        return Some(true);
    }
    is(["false", "no"]).then_some(false)
}

/// As [`truth_of_word`], in a column that holds nothing else: `y`, `n`, 1 and 0 count too.
pub(crate) fn truth(text: &str) -> Option<bool> {
    let is_letter = |letter: &str| text.eq_ignore_ascii_case(letter);
    match (truth_of_word(text), parse_number(text)) {
        (Some(truth), _) => Some(truth),
        (None, Some(1.0)) => Some(true),
        (None, Some(0.0)) => Some(false),
        (None, None) if is_letter("y") => Some(true),
        (None, None) if is_letter("n") => Some(false),
        (None, _) => None,
    }
}

/// The levels with their counts, where different spellings of true and false are one level each.
pub(crate) fn merge_spellings(levels: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let is_boolean = levels.keys().all(|level| truth(level).is_some());
    let truth_of = |level: &str| if is_boolean { truth(level) } else { truth_of_word(level) };
    let name = |level: &str| {
        let Some(value) = truth_of(level) else { return level.to_owned() };
        let spellings: Vec<&String> = levels.keys().filter(|other| truth_of(other) == Some(value)).collect();
        if spellings.len() == 1 {
            return level.to_owned();
        }
        let is_yes = spellings.iter().any(|spelling| spelling.starts_with(['y', 'Y', 'n', 'N']));
        match (is_yes, value) {
            (true, true) => "yes",
            (true, false) => "no",
            (false, true) => "true",
            (false, false) => "false",
        }
        .to_owned()
    };
    let mut merged = BTreeMap::new();
    for (level, count) in levels {
        *merged.entry(name(level)).or_insert(0) += count;
    }
    merged
}

/// The levels in order: by value if all are numbers, of which 3 and 3.0 are one, else by name.
pub(crate) fn sort_levels(mut levels: Vec<String>) -> Vec<String> {
    let values: Option<Vec<f64>> = levels.iter().map(|level| parse_number(level)).collect();
    match values {
        Some(values) => {
            let mut order: Vec<(f64, String)> = values.into_iter().zip(levels).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
            order.dedup_by(|a, b| a.0 == b.0);
            order.into_iter().map(|(_, level)| level).collect()
        }
        None => {
            levels.sort();
            levels
        }
    }
}

/// Finds the level of a cell.
pub(crate) struct LevelIndex<'a> {
    exact: HashMap<&'a str, usize>,
    is_boolean: bool,
    /// The levels that are false and true.
    truths: [Option<usize>; 2],
    numbers: Vec<(f64, usize)>,
}

impl<'a> LevelIndex<'a> {
    pub(crate) fn new(levels: &'a [String]) -> Self {
        let is_boolean = levels.iter().all(|level| truth(level).is_some());
        let mut truths = [None; 2];
        for (k, level) in levels.iter().enumerate() {
            if let Some(value) = if is_boolean { truth(level) } else { truth_of_word(level) } {
                truths[usize::from(value)].get_or_insert(k);
            }
        }
        Self {
            exact: levels.iter().enumerate().map(|(k, level)| (level.as_str(), k)).collect(),
            is_boolean,
            truths,
            numbers: levels
                .iter()
                .enumerate()
                .filter_map(|(k, level)| Some((parse_number(level)?, k)))
                .collect(),
        }
    }

    /// The level with this name, or else one that means the same.
    pub(crate) fn find(&self, label: &str) -> Option<usize> {
        if let Some(&k) = self.exact.get(label) {
            return Some(k);
        }
        let truth = if self.is_boolean { truth(label) } else { truth_of_word(label) };
        if let Some(k) = truth.and_then(|value| self.truths[usize::from(value)]) {
            return Some(k);
        }
        let value = parse_number(label)?;
        self.numbers.iter().find(|(number, _)| *number == value).map(|(_, k)| *k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(levels: &[&str]) -> String {
        let levels = levels.iter().map(|level| ((*level).to_owned(), 1)).collect();
        let merged = merge_spellings(&levels);
        merged.iter().map(|(level, count)| format!("{level}:{count}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn spellings_of_true_and_false_are_one_level_each() {
        assert_eq!(merged(&["true", "True", "TRUE", "1", "false"]), "false:1 true:4");
        assert_eq!(merged(&["yes", "Yes", "y", "No"]), "No:1 yes:3");
        assert_eq!(merged(&["no", "yes"]), "no:1 yes:1");
        assert_eq!(merged(&["yes", "Yes", "maybe", "y"]), "maybe:1 y:1 yes:2");
        assert_eq!(merged(&["north", "North"]), "North:1 north:1");
        assert_eq!(merged(&["0", "1", "2", "true"]), "0:1 1:1 2:1 true:1");
    }

    #[test]
    fn levels_that_are_numbers_are_sorted_by_value() {
        let sorted = |levels: &[&str]| sort_levels(levels.iter().map(|level| (*level).to_owned()).collect());
        assert_eq!(sorted(&["10.0", "10", "9", "0.5"]), ["0.5", "9", "10"]);
        assert_eq!(sorted(&["10", "9", "B"]), ["10", "9", "B"]);
    }

    #[test]
    fn a_level_is_found_by_its_name_or_its_meaning() {
        let find = |levels: &[&str], label: &str| {
            let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
            LevelIndex::new(&levels).find(label)
        };
        assert_eq!(find(&["false", "true"], "True"), Some(1));
        assert_eq!(find(&["false", "true"], "0"), Some(0));
        assert_eq!(find(&["no", "yes"], "Y"), Some(1));
        assert_eq!(find(&["12", "3"], "3.0"), Some(1));
        assert_eq!(find(&["a", "b"], "A"), None);
        assert_eq!(find(&["a", "no", "yes"], "n"), None);
        assert_eq!(find(&["a", "no", "yes"], "NO"), Some(1));
        assert_eq!(find(&["Y", "n"], "n"), Some(1));
    }
}
