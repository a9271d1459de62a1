//! Columns for outcomes that are not numbers: the most probable level of a category, the set of levels that holds the
//! promised probability, and the distribution of counts and ordered levels.

use std::ops::Range;

use super::answer::Answers;
use super::distribution::ValueProbabilities;
use crate::data::table::{Feature, Layout, OutputBatch, OutputColumn};

/// Counts from this one on share a column.
const MAX_COUNT_COLUMN: usize = 20;
/// Between the levels of a set.
const SEPARATOR: &str = "|";

/// An outcome that is one of several levels without an order.
#[derive(Clone, Debug)]
pub(super) struct CategoryColumn {
    name: String,
    levels: Vec<String>,
    /// Its elements of y, one per level.
    elements: Range<usize>,
}

impl CategoryColumn {
    /// The categories among the outcomes of a table.
    pub(super) fn of_layout(layout: Option<&Layout>) -> Vec<Self> {
        let features = layout.map(Layout::outcome_features).unwrap_or_default();
        let category = |(elements, feature): (Range<usize>, &Feature)| {
            let levels = feature.categories.clone().filter(|levels| levels.len() == elements.len())?;
            Some(Self { name: feature.name.clone(), levels, elements })
        };
        features.into_iter().filter_map(category).collect()
    }

    /// The levels from the most to the least probable, with their probabilities.
    fn ranking(&self, answers: &Answers, i: usize) -> Vec<(&str, f32)> {
        let row = answers.point.row(i);
        let probabilities = row[self.elements.clone()].iter().copied();
        let mut ranking: Vec<(&str, f32)> =
            self.levels.iter().map(String::as_str).zip(probabilities).collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranking
    }

    /// The smallest set of levels whose probability is at least `level`.
    fn set(ranking: &[(&str, f32)], level: f64) -> String {
        let (mut sum, mut set) = (0.0, Vec::new());
        for (name, probability) in ranking {
            set.push(*name);
            sum += f64::from(*probability);
            if sum >= level {
                break;
            }
        }
        set.join(SEPARATOR)
    }
}

impl CategoryColumn {
    /// Adds the most probable level, and `set_` with the smallest set of levels whose probability is at least the level of the
    /// intervals.
    pub(super) fn push(&self, output: &mut OutputBatch, answers: &Answers, suffix: &str) {
        let rankings: Vec<_> = (0..answers.point.len()).map(|i| self.ranking(answers, i)).collect();
        let modes = rankings.iter().map(|ranking| ranking[0].0.to_owned()).collect();
        let sets = rankings.iter().map(|ranking| Self::set(ranking, answers.level)).collect();
        output.push(format!("{}{suffix}", self.name), OutputColumn::Text(modes));
        output.push(format!("set_{}{suffix}", self.name), OutputColumn::Text(sets));
    }
}

/// Adds the probabilities of the values of the ordered level `name`, one column each.
pub(super) fn push_levels(output: &mut OutputBatch, name: &str, distribution: &ValueProbabilities) {
    for &value in &distribution.values {
        output.push(format!("{name}={value}"), probabilities(distribution, value));
    }
}

/// Adds the probabilities of the values of the count `name`, and of all large ones together.
pub(super) fn push_counts(output: &mut OutputBatch, name: &str, distribution: &ValueProbabilities) {
    for count in 0..MAX_COUNT_COLUMN {
        output.push(format!("{name}={count}"), probabilities(distribution, count as f32));
    }
    let rest = |i: usize| distribution.of_unit(i).iter().skip(MAX_COUNT_COLUMN).sum();
    let rest = OutputColumn::Numbers((0..distribution.units()).map(rest).collect());
    output.push(format!("{name}>={MAX_COUNT_COLUMN}"), rest);
}

fn probabilities(distribution: &ValueProbabilities, value: f32) -> OutputColumn {
    OutputColumn::Numbers((0..distribution.units()).map(|i| distribution.of_value(i, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_set_that_holds_the_level() {
        let ranking = [("b", 0.6), ("a", 0.35), ("c", 0.05)];
        assert_eq!(CategoryColumn::set(&ranking, 0.5), "b");
        assert_eq!(CategoryColumn::set(&ranking, 0.9), "b|a");
        assert_eq!(CategoryColumn::set(&ranking, 0.99), "b|a|c");
    }
}
