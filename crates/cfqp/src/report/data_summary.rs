//! A summary of the data: shapes, missing values, the range of every treatment and outcome, and the first outcomes as they
//! were observed.

use serde::Serialize;

use super::by_treatment::TreatmentPlaces;
use super::histogram::{Histogram, ValueRange};
use super::observed::{ObservedOutcome, OutcomeElements, observed_values};
use super::{Outcome, ReportContext};
use crate::data::Units;
use crate::data::table::TreatmentColumn;

/// The largest number of outcomes and of treatments that are drawn against each other.
const MAX_OBSERVED_OUTCOMES: usize = 4;
const MAX_OBSERVED_TREATMENTS: usize = 2;

/// A summary of the units that a report is based on.
#[derive(Clone, Debug, Serialize)]
pub struct DataSummary {
    /// The number of units.
    pub units: usize,
    /// The shape of a unit's covariates.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's outcome.
    pub y_shape: Vec<usize>,
    /// The share of covariates that are missing.
    pub x_missing: f64,
    /// The share of outcome elements that are missing.
    pub y_missing: f64,
    /// All treatments.
    pub treatments: Vec<TreatmentDistribution>,
    /// All outcomes.
    pub outcomes: Vec<OutcomeDistribution>,
    /// The distributions of the first four outcomes, and each against the first two treatments. The levels of a category are
    /// one outcome here.
    pub observed: Vec<ObservedOutcome>,
    /// The number of outcomes; the levels of a category are one.
    pub outcome_count: usize,
}

/// The distribution of one treatment over units.
#[derive(Clone, Debug, Serialize)]
pub struct TreatmentDistribution {
    /// The name of the treatment.
    pub name: String,
    /// The levels, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// The range over all units; of levels, that of their positions.
    pub range: ValueRange,
    /// The values of the bins, if there is one per value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// The number of units per bin, as a single group; one bin per level, or per value if there are few.
    pub histogram: Histogram,
}

/// The range of one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeDistribution {
    /// The name of the outcome.
    pub name: String,
    /// The number of elements per unit: points in time, pixels.
    pub elements: usize,
    /// The range over all observed elements of all units.
    pub range: ValueRange,
}

impl ReportContext<'_> {
    pub(super) fn summarise_data(&self) -> DataSummary {
        let (x, t, y) = (self.data.x(), self.data.t(), self.data.y());
        let outcome = |outcome: &Outcome| {
            let values = (0..y.len()).flat_map(|i| observed_values(y, i, outcome.range.clone()));
            OutcomeDistribution {
                name: outcome.name.clone(),
                elements: outcome.range.len(),
                range: ValueRange::from_values(values),
            }
        };
        let mut treatments = self.treatment_places(t);
        let distributions = treatments.iter().map(TreatmentDistribution::new).collect();
        treatments.truncate(MAX_OBSERVED_TREATMENTS);
        let names = self.outcomes.iter().map(|outcome| (outcome.name.as_str(), outcome.range.clone()));
        let mut grouped = OutcomeElements::group(names, &self.model.outcome_kinds(), self.model.layout());
        let outcome_count = grouped.len();
        grouped.truncate(MAX_OBSERVED_OUTCOMES);
        let observed = grouped.into_iter().map(|outcome| outcome.summarise(y, &treatments, self.ask.level));
        DataSummary {
            units: self.data.len(),
            x_shape: x.shape().to_vec(),
            y_shape: y.shape().to_vec(),
            x_missing: missing_share(x),
            y_missing: missing_share(y),
            treatments: distributions,
            outcomes: self.outcomes.iter().map(outcome).collect(),
            observed: observed.collect(),
            outcome_count,
        }
    }

    fn treatment_places(&self, t: &Units) -> Vec<TreatmentPlaces> {
        let mut start = 0;
        let mut places = |(name, column): (String, TreatmentColumn)| {
            let range = start..start + column.elements();
            start = range.end;
            let place = |i: usize| {
                let elements = &t.row(i)[range.clone()];
                match &column.levels {
                    None => f64::from(elements[0]),
                    Some(_) => {
                        elements.iter().position(|element| *element > 0.5).map_or(0.0, |k| k as f64 + 1.0)
                    }
                }
            };
            let places = (0..t.len()).map(place).collect();
            TreatmentPlaces { name, levels: column.levels, places }
        };
        let columns = self.model.treatment_columns();
        self.treatment_names().into_iter().zip(columns).map(&mut places).collect()
    }
}

impl TreatmentDistribution {
    fn new(treatment: &TreatmentPlaces) -> Self {
        let places = || treatment.places.iter().copied();
        let (values, histogram) = match &treatment.levels {
            None => Histogram::of_numbers(&treatment.places),
            Some(levels) => (None, Histogram::of_positions(levels.len(), places())),
        };
        Self {
            name: treatment.name.clone(),
            levels: treatment.levels.clone(),
            range: ValueRange::from_values(places()),
            values,
            histogram,
        }
    }
}

fn missing_share(units: &Units) -> f64 {
    units
        .mask()
        .map_or(0.0, |mask| mask.iter().filter(|observed| !**observed).count() as f64 / mask.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unobserved_elements_are_missing() {
        let mask = Some(vec![true, false, true, true]);
        let units = Units::with_mask("y", vec![2], vec![1.0, 2.0, 3.0, 4.0], mask).unwrap();
        assert_eq!(missing_share(&units), 0.25);
    }
}
