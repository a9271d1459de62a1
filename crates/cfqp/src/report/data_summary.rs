//! A summary of the data: shapes, missing values, and the range of every treatment and outcome.

use serde::Serialize;

use super::histogram::{Histogram, ValueRange};
use super::{Outcome, ReportContext};
use crate::data::Units;
use crate::data::table::TreatmentColumn;

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
    /// The number of units per bin, as a single group; one bin per level.
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
        DataSummary {
            units: self.data.len(),
            x_shape: x.shape().to_vec(),
            y_shape: y.shape().to_vec(),
            x_missing: missing_share(x),
            y_missing: missing_share(y),
            treatments: self.summarise_treatments(t),
            outcomes: self.outcomes.iter().map(outcome).collect(),
        }
    }
}

impl ReportContext<'_> {
    fn summarise_treatments(&self, t: &Units) -> Vec<TreatmentDistribution> {
        let columns = self.model.treatment_columns();
        let mut start = 0;
        let mut summarise = |(name, column): (String, TreatmentColumn)| {
            let range = start..start + column.elements();
            start = range.end;
            let position = |i: usize| match &column.levels {
                None => f64::from(t.row(i)[range.start]),
                Some(_) => {
                    let row = t.row(i);
                    row[range.clone()]
                        .iter()
                        .position(|element| *element > 0.5)
                        .map_or(0.0, |k| k as f64 + 1.0)
                }
            };
            let values: Vec<(usize, f64)> = (0..t.len()).map(|i| (0, position(i))).collect();
            let histogram = match &column.levels {
                None => Histogram::from_values(1, &values),
                Some(levels) => {
                    let (count, high) = (levels.len(), levels.len() as f64 - 0.5);
                    Histogram::between(-0.5, high, count, 1, values.iter().copied())
                }
            };
            let range = ValueRange::from_values(values.into_iter().map(|(_, value)| value));
            TreatmentDistribution { name, levels: column.levels, range, histogram }
        };
        self.treatment_names().into_iter().zip(columns).map(&mut summarise).collect()
    }
}

fn missing_share(units: &Units) -> f64 {
    units
        .mask()
        .map_or(0.0, |mask| mask.iter().filter(|observed| !**observed).count() as f64 / mask.len() as f64)
}

/// The observed values of unit `i` among `elements`.
pub(super) fn observed_values(
    units: &Units,
    i: usize,
    elements: std::ops::Range<usize>,
) -> impl Iterator<Item = f64> {
    let (row, mask) = (units.row(i), units.mask_row(i));
    let observed = elements.filter(move |&j| mask.is_none_or(|mask| mask[j]));
    observed.map(move |j| f64::from(row[j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unobserved_elements_are_left_out() {
        let mask = Some(vec![true, false, true, true]);
        let units = Units::with_mask("y", vec![2], vec![1.0, 2.0, 3.0, 4.0], mask).unwrap();
        assert_eq!(observed_values(&units, 0, 0..2).collect::<Vec<_>>(), [1.0]);
        assert_eq!(observed_values(&units, 1, 0..2).collect::<Vec<_>>(), [3.0, 4.0]);
        assert_eq!(missing_share(&units), 0.25);
    }
}
