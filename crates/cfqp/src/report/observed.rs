//! Outcomes as they were observed: their distributions, and their means by treatment.

use std::ops::Range;

use serde::{Serialize, Serializer};

use super::by_treatment::{OutcomeByTreatment, TreatmentPlaces, UnitOutcomes};
use super::histogram::{Histogram, ValueRange};
use crate::data::table::{Feature, Layout};
use crate::data::{OutcomeKind, Units};

/// An observed outcome, or a category with all its levels.
#[derive(Clone, Debug, Serialize)]
pub struct ObservedOutcome {
    /// The name of the outcome, or of the category.
    pub name: String,
    /// What the values are, by [`OutcomeKind::name`] in JSON. Outcomes with several elements are numbers.
    #[serde(serialize_with = "serialise_kind")]
    pub kind: OutcomeKind,
    /// The number of elements per unit that are in the histogram: points in time, pixels; 1 for a category.
    pub elements: usize,
    /// The number of units with an observed element.
    pub units: usize,
    /// The names of levels, the first of yes or no being no, or single values: one per bin. None if bins are ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The share of zeros of an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zeros: Option<f64>,
    /// The range of the values in the histogram; of levels, that of their positions.
    pub range: ValueRange,
    /// All observed elements, of an amount the positive ones, as a single group. The first and the last bin hold the values
    /// outside, too: a long tail is not drawn to its end.
    pub histogram: Histogram,
    /// The outcome against the first treatments.
    pub by_treatment: Vec<OutcomeByTreatment>,
}

/// The name of a kind.
pub(super) fn serialise_kind<S: Serializer>(kind: &OutcomeKind, serialiser: S) -> Result<S::Ok, S::Error> {
    serialiser.serialize_str(kind.name())
}

/// One outcome, or all levels of a category, among the elements of y.
pub(super) struct OutcomeElements {
    pub name: String,
    pub kind: OutcomeKind,
    pub range: Range<usize>,
    /// The levels of a category, or no and yes.
    pub levels: Option<Vec<String>>,
}

impl OutcomeElements {
    /// The outcomes with these names and elements, the levels of a category as one.
    pub(super) fn group<'a>(
        outcomes: impl Iterator<Item = (&'a str, Range<usize>)>,
        kinds: &[OutcomeKind],
        layout: Option<&Layout>,
    ) -> Vec<Self> {
        let mut grouped: Vec<Self> = Vec::new();
        for (name, range) in outcomes {
            let kind = if range.len() == 1 { kinds[range.start] } else { OutcomeKind::Number };
            match (grouped.last_mut(), kind) {
                (Some(last), OutcomeKind::Level(_)) if last.kind == kind => {
                    last.range.end = range.end;
                    last.levels.get_or_insert_default().push(name.to_owned());
                }
                _ => {
                    let levels = match kind {
                        OutcomeKind::Level(_) => Some(vec![name.to_owned()]),
                        OutcomeKind::YesNo => Some(["no", "yes"].map(str::to_owned).to_vec()),
                        _ => None,
                    };
                    grouped.push(Self { name: name.to_owned(), kind, range, levels });
                }
            }
        }
        for outcome in &mut grouped {
            outcome.name_levels(layout);
        }
        grouped
    }

    /// Replaces names of elements by those of the column and of its levels.
    fn name_levels(&mut self, layout: Option<&Layout>) {
        if let Some(Feature { name, categories: Some(levels), .. }) = feature_at(layout, self.range.start) {
            self.name.clone_from(name);
            self.levels = Some(levels.clone());
        } else if let (OutcomeKind::Level(_), Some([first, .., last])) = (self.kind, self.levels.as_deref()) {
            self.name = format!("{first} to {last}");
        }
    }

    /// The outcome of every unit as one number, if it was observed.
    fn unit_outcomes(&self, y: &Units) -> UnitOutcomes {
        let value = |i: usize| {
            let values: Vec<f64> = observed_values(y, i, self.range.clone()).collect();
            match (values.is_empty(), self.kind) {
                (true, _) => None,
                (false, OutcomeKind::Level(_)) => {
                    values.iter().position(|value| *value > 0.5).map(|k| k as f64)
                }
                (false, _) => Some(values.iter().sum::<f64>() / values.len() as f64),
            }
        };
        let values = (0..y.len()).map(value).collect();
        UnitOutcomes { kind: self.kind, levels: self.range.len(), values }
    }

    pub(super) fn summarise(self, y: &Units, treatments: &[TreatmentPlaces], level: f64) -> ObservedOutcome {
        let outcomes = self.unit_outcomes(y);
        let by_treatment =
            treatments.iter().map(|treatment| OutcomeByTreatment::new(treatment, &outcomes, level)).collect();
        let units = outcomes.values.iter().flatten().count();
        let elements = if self.levels.is_some() { 1 } else { self.range.len() };
        let mut values: Vec<f64> = match elements {
            1 => outcomes.values.into_iter().flatten().collect(),
            _ => (0..y.len()).flat_map(|i| observed_values(y, i, self.range.clone())).collect(),
        };
        let zeros = (self.kind == OutcomeKind::Amount).then(|| {
            let all = values.len();
            values.retain(|value| *value != 0.0);
            (all - values.len()) as f64 / all.max(1) as f64
        });
        let range = ValueRange::from_values(values.iter().copied());
        let (labels, histogram) = match (self.levels, self.kind) {
            (Some(levels), _) => {
                let histogram = Histogram::of_positions(levels.len(), values.into_iter());
                (Some(levels), histogram)
            }
            (None, OutcomeKind::Ordered) => {
                let (levels, histogram) = Histogram::of_single_values(&values);
                (Some(levels), histogram)
            }
            (None, _) => Histogram::of_numbers(&values),
        };
        let Self { name, kind, .. } = self;
        ObservedOutcome { name, kind, elements, units, labels, zeros, range, histogram, by_treatment }
    }
}

/// The column of element `j` of the outcomes, if they are columns of single values.
fn feature_at(layout: Option<&Layout>, j: usize) -> Option<&Feature> {
    let found = layout?.outcome_features().into_iter().find(|(elements, _)| elements.contains(&j));
    found.map(|(_, feature)| feature)
}

/// The observed values of unit `i` among `elements`.
pub(super) fn observed_values(units: &Units, i: usize, elements: Range<usize>) -> impl Iterator<Item = f64> {
    let (row, mask) = (units.row(i), units.mask_row(i));
    let observed = elements.filter(move |&j| mask.is_none_or(|mask| mask[j]));
    observed.map(move |j| f64::from(row[j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summarise(y: &Units, kinds: &[OutcomeKind]) -> Vec<ObservedOutcome> {
        let names: Vec<String> = (0..kinds.len()).map(|j| format!("y{j}")).collect();
        let outcomes = names.iter().enumerate().map(|(j, name)| (name.as_str(), j..j + 1));
        let places = (0..y.len()).map(|i| i as f64).collect();
        let treatment = TreatmentPlaces { name: "t".to_owned(), levels: None, places };
        let grouped = OutcomeElements::group(outcomes, kinds, None);
        grouped
            .into_iter()
            .map(|outcome| outcome.summarise(y, std::slice::from_ref(&treatment), 0.9))
            .collect()
    }

    #[test]
    fn unobserved_elements_are_left_out() {
        let mask = Some(vec![true, false, true, true]);
        let units = Units::with_mask("y", vec![2], vec![1.0, 2.0, 3.0, 4.0], mask).unwrap();
        assert_eq!(observed_values(&units, 0, 0..2).collect::<Vec<_>>(), [1.0]);
        assert_eq!(observed_values(&units, 1, 0..2).collect::<Vec<_>>(), [3.0, 4.0]);
        let own = summarise(&units, &[OutcomeKind::Number; 2]);
        assert_eq!((own[0].units, own[1].units), (2, 1));
        assert_eq!(own[1].by_treatment[0].groups.iter().map(|group| group.units).sum::<usize>(), 1);
    }

    #[test]
    fn a_category_is_one_outcome_with_a_bin_per_level() {
        let rows = [[1.0, 0.0, 0.0, 7.5], [0.0, 0.0, 1.0, 8.5], [0.0, 0.0, 1.0, 9.0]].concat();
        let y = Units::new("y", vec![4], rows).unwrap();
        let level = OutcomeKind::Level(0);
        let own = summarise(&y, &[level, level, level, OutcomeKind::Number]);
        assert_eq!(own.iter().map(|outcome| &outcome.name[..]).collect::<Vec<_>>(), ["y0 to y2", "y3"]);
        assert_eq!(own[0].histogram.counts, [[1, 0, 2]]);
        assert_eq!(own[0].labels.as_deref().unwrap(), ["y0", "y1", "y2"]);
        assert_eq!(own[0].by_treatment[0].groups[0].means.len(), 3);
        assert_eq!(serde_json::to_value(&own[0]).unwrap()["kind"], "category");
        assert_eq!(
            own[1].labels.as_deref().unwrap(),
            ["7.5", "8", "8.5", "9"],
            "values are half a unit apart"
        );
        assert_eq!(own[1].histogram.counts, [[1, 0, 1, 1]]);
    }

    #[test]
    fn zeros_of_amounts_are_a_share_and_levels_have_names() {
        let rows = [[0.0, 1.0, 1.0], [0.0, 0.0, 2.5], [3.5, 1.0, 9.0], [2.25, 1.0, 1.0]].concat();
        let y = Units::new("y", vec![3], rows).unwrap();
        let own = summarise(&y, &[OutcomeKind::Amount, OutcomeKind::YesNo, OutcomeKind::Ordered]);
        assert_eq!((own[0].zeros, own[0].histogram.counts[0].iter().sum::<usize>()), (Some(0.5), 2));
        assert_eq!((own[0].range.min, own[0].by_treatment[0].points.len()), (2.25, 0));
        assert_eq!(
            (own[1].labels.as_deref().unwrap(), &own[1].histogram.counts[0][..]),
            (&["no".to_owned(), "yes".to_owned()][..], &[1, 3][..])
        );
        assert_eq!(own[2].labels.as_deref().unwrap(), ["1", "2.5", "9"]);
        assert_eq!(own[2].histogram.counts, [[2, 1, 1]]);
    }
}
