//! The standardised units that a density is fitted to.

use std::collections::HashMap;

use super::network::Element;
use super::scale::OutcomeScale;

/// Inputs and outcomes of units, and which rows belong to one subject.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// x, then t: `[n, inputs]`
    pub inputs: Vec<f32>,
    /// `[n, outcomes]`; 0 where missing
    pub outcomes: Vec<f32>,
    /// Predictions of regressors for every row by models that were not fitted to it; empty: they are computed where needed.
    pub offsets: Vec<f32>,
    /// The folds of rows to which the model was fitted: their predictions are those of the regressors without that fold.
    pub folds: HashMap<usize, usize>,
    /// Whether each outcome element was observed; none: all were.
    pub observed: Option<Vec<bool>>,
    /// Outcomes as standardised numbers, for the search of starts; none: as they are.
    pub numeric: Option<Vec<f32>>,
    /// The number of values of an input and of an outcome.
    pub width: usize,
    pub d: usize,
    /// The rows of every subject; one row each without groups.
    pub subjects: Vec<Vec<usize>>,
    /// Of every row whose treatment is unknown: treatments, `[n, d_t]`, over which its class weights are averaged.
    pub possible_treatments: HashMap<usize, Vec<f32>>,
}

impl Rows {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.outcomes.len() / self.d
    }

    pub(crate) fn input(&self, row: usize) -> &[f32] {
        &self.inputs[row * self.width..][..self.width]
    }

    pub(crate) fn outcome(&self, row: usize) -> &[f32] {
        &self.outcomes[row * self.d..][..self.d]
    }

    /// The predictions of regressors for `row`; empty if there are none.
    pub(crate) fn offset(&self, row: usize) -> &[f32] {
        let count = self.offsets.len() / self.len().max(1);
        &self.offsets[row * count..][..count]
    }

    /// An element of the outcome of `row`, in standardised outcomes; none where it was not observed.
    pub(crate) fn element(&self, row: usize, element: Element, scales: &[OutcomeScale]) -> Option<f64> {
        let value = |head: usize| scales[head].restore(f64::from(self.outcome(row)[head]));
        match element {
            Element::Amount(head) if self.is_observed(row, head) => {
                Some(if self.is_observed(row, head + 1) { value(head + 1) } else { 0.0 })
            }
            Element::Amount(_) => None,
            Element::Number(head) | Element::Chance(head) | Element::Level(head) | Element::Ranked(head) => {
                self.is_observed(row, head).then(|| value(head))
            }
        }
    }

    /// The outcome as standardised numbers.
    pub(crate) fn numeric_outcome(&self, row: usize) -> &[f32] {
        let values = self.numeric.as_ref().unwrap_or(&self.outcomes);
        &values[row * self.d..][..self.d]
    }

    /// Whether element `j` of the outcome of `row` was observed.
    pub(crate) fn is_observed(&self, row: usize, j: usize) -> bool {
        self.observed.as_ref().is_none_or(|observed| observed[row * self.d + j])
    }

    /// Whether any subject has several rows.
    pub(crate) fn has_repeats(&self) -> bool {
        self.subjects.iter().any(|rows| rows.len() > 1)
    }
}
