//! Columns of outcomes: which kind each is, as declared or as its cells look like.

use super::layout::{Block, Feature, Layout, TableForm};
use super::levels::truth;
use super::problem::Problem;
use super::scan::{ColumnContent, ColumnScan};
use super::y_kind::YKind;
use crate::data::{Dataset, MAX_KIND_ELEMENTS, OutcomeKind, SeenValues, element_name};

/// Words in the names of times to an event, and of columns that say whether it happened.
const TIME_WORDS: [&str; 6] = ["time", "duration", "survival", "days", "months", "followup"];
const EVENT_WORDS: [&str; 5] = ["event", "status", "death", "died", "dead"];
const CENSOR_WORD: &str = "censor";

/// Refuses outcomes that look like a time to an event with censored units.
pub(super) fn refuse_censored_times(columns: &[String]) -> Result<(), Problem> {
    let with = |words: &[&str]| {
        columns.iter().find(|name| words.iter().any(|word| name.to_lowercase().contains(word)))
    };
    let times = with(&TIME_WORDS).zip(with(&EVENT_WORDS)).filter(|(time, event)| time != event);
    let Some(name) = with(&[CENSOR_WORD]).or(times.map(|(time, _)| time)) else { return Ok(()) };
    let problem =
        format!("`{name}` looks like a time to an event with censored units, which is not supported");
    let hint = "use survival analysis; or give one outcome that is known of all units, such as whether the event \
                happened within a year";
    Err(Problem::new(problem, hint))
}

/// Sets the kinds of the outcomes of a wide table, as far as they are declared or have levels.
pub(super) fn declare_outcomes(
    y: &mut Block,
    declared: &[YKind],
    scans: &[ColumnScan],
) -> Result<(), Problem> {
    let Block::Features(features) = y else { return Ok(()) };
    let mut categories = 0;
    for (feature, &declared) in features.iter_mut().zip(declared) {
        let scan = scans.iter().find(|scan| scan.name == feature.name);
        let holds_levels =
            scan.is_some_and(|scan| scan.content(declared.has_levels()) == ColumnContent::Categories);
        feature.outcome = match &feature.categories {
            Some(levels) if holds_levels => {
                Some(level_kind(&feature.name, levels, declared, &mut categories)?)
            }
            _ => declared.of_numbers(),
        };
        if feature.outcome.is_some_and(|kind| kind != OutcomeKind::Number) {
            // counts and levels are what they are, not differences
            feature.origin = None;
        }
        if let (Some(OutcomeKind::YesNo), Some(levels)) = (feature.outcome, &mut feature.categories) {
            // no before yes
            levels.sort_by_key(|level| truth(level).unwrap_or(false));
        }
    }
    Ok(())
}

/// The kind of an outcome with levels: yes or no, or the next category.
fn level_kind(
    name: &str,
    levels: &[String],
    declared: YKind,
    categories: &mut usize,
) -> Result<OutcomeKind, Problem> {
    if declared.of_numbers().is_some() {
        let problem = format!("the outcome `{name}` should be a number, but holds texts");
        return Err(Problem::new(problem, "fix the cells, or set `y_kind` to category"));
    }
    let are_truths = levels.iter().all(|level| truth(level).is_some());
    match levels.len() {
        0 | 1 => {
            let problem = format!("the outcome `{name}` has only one level");
            Err(Problem::new(problem, "give rows with another level: nothing can be learned about it"))
        }
        2 if declared == YKind::YesNo || (declared == YKind::Auto && are_truths) => Ok(OutcomeKind::YesNo),
        count if declared == YKind::YesNo => {
            let problem = format!("the outcome `{name}` has {count} values, but yes or no has two");
            Err(Problem::new(problem, "set `y_kind` to category, or correct the cells"))
        }
        count if count > MAX_KIND_ELEMENTS => {
            let problem =
                format!("the outcome `{name}` has {count} levels; at most {MAX_KIND_ELEMENTS} are possible");
            Err(Problem::new(problem, "merge rare levels, or give the outcome as a number"))
        }
        _ => {
            *categories += 1;
            Ok(OutcomeKind::Level(*categories - 1))
        }
    }
}

impl Layout {
    /// The kinds of all elements of an outcome, as far as the layout says; none if it is not one of single values.
    pub(super) fn outcome_kinds(&self) -> Option<Vec<OutcomeKind>> {
        let TableForm::Wide { y: Block::Features(features), .. } = &self.form else { return None };
        let kinds =
            |feature: &Feature| std::iter::repeat_n(feature.outcome.unwrap_or_default(), feature.elements());
        Some(features.iter().flat_map(kinds).collect())
    }

    /// The column of element `j` of an outcome, in messages.
    pub(super) fn outcome_name(&self, j: usize) -> String {
        let features = self.outcome_features();
        let column = features.iter().find(|(elements, _)| elements.contains(&j));
        column.map_or_else(|| element_name(j), |(_, feature)| format!("column `{}`", feature.name))
    }

    /// Sets the kinds of outcomes that are not declared to those that their values look like, and gives `data` all kinds.
    pub(super) fn recognise_outcomes(&mut self, data: Dataset) -> crate::Result<Dataset> {
        let mut seen = SeenOutcomes::default();
        seen.add(&data);
        self.recognise_seen_outcomes(&seen, data)
    }

    /// As [`recognise_outcomes`](Self::recognise_outcomes), from values of which `data` may be a part.
    pub(super) fn recognise_seen_outcomes(
        &mut self,
        seen: &SeenOutcomes,
        data: Dataset,
    ) -> crate::Result<Dataset> {
        let TableForm::Wide { y: Block::Features(features), .. } = &mut self.form else { return Ok(data) };
        let elements: usize = features.iter().map(Feature::elements).sum();
        let mut kinds = Vec::with_capacity(elements);
        for feature in features {
            let recognise = || match elements <= MAX_KIND_ELEMENTS {
                true => seen.0[kinds.len()].kind(),
                false => OutcomeKind::Number,
            };
            let kind = feature.outcome.unwrap_or_else(recognise);
            // numbers that only look like ones are not declared
            feature.outcome = feature.outcome.or((kind != OutcomeKind::Number).then_some(kind));
            kinds.extend(std::iter::repeat_n(kind, feature.elements()));
        }
        data.with_outcome_kinds(kinds)
    }
}

/// The values of every element of an outcome; those of large outcomes, which are numbers, are not looked at.
#[derive(Default)]
pub(super) struct SeenOutcomes(Vec<SeenValues>);

impl SeenOutcomes {
    /// Adds the outcomes of `data`.
    pub(super) fn add(&mut self, data: &Dataset) {
        let y = data.y();
        if y.elements() > MAX_KIND_ELEMENTS {
            return;
        }
        self.0.resize(y.elements(), SeenValues::default());
        for i in 0..y.len() {
            let (row, mask) = (y.row(i), y.mask_row(i));
            for (j, (seen, &value)) in self.0.iter_mut().zip(row.iter()).enumerate() {
                if mask.is_none_or(|mask| mask[j]) {
                    seen.add(value);
                }
            }
        }
    }

    /// The smallest values.
    pub(super) fn lowest(&self) -> Vec<f32> {
        self.0.iter().map(|seen| seen.lowest).collect()
    }
}
