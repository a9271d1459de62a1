//! Treatments as users write them, and typical treatments.

use crate::data::Units;
use crate::data::table::{TreatmentColumn, TreatmentValue, parse_numbers};
use crate::math::argmin;
use crate::model::Model;
use crate::{Error, Result};

impl Model {
    /// The elements of a treatment that a user wrote: a number, a level such as `B`, or several of them as `B,0.8` or
    /// `drug=B,dose=0.8`.
    ///
    /// # Errors
    /// [`Error::Data`] that lists the levels if there is no such level, or if there are too few or too many values.
    pub fn parse_treatment(&self, text: &str) -> Result<Vec<f32>> {
        let parsed = match self.layout() {
            Some(layout) => layout.parse_treatment(text),
            None => parse_numbers(text),
        };
        parsed.map_err(|problem| Error::data("treatment", problem.problem, problem.hint))
    }

    /// The values of the treatments with elements `t`: numbers and names of levels.
    ///
    /// # Panics
    /// If `t` has fewer elements than the treatments of the model.
    pub fn treatment_values(&self, t: &[f32]) -> Vec<TreatmentValue> {
        match self.layout() {
            Some(layout) => layout.treatment_values(t),
            None => t.iter().map(|value| TreatmentValue::Number(*value)).collect(),
        }
    }

    /// A treatment as text, such as `B` or `0.5`; several treatments of a table with their names, as `drug B, dose 0.5`.
    ///
    /// # Panics
    /// If `t` has fewer elements than the treatments of the model.
    pub fn treatment_text(&self, t: &[f32], number: impl Fn(f32) -> String) -> String {
        let text = |value: TreatmentValue| match value {
            TreatmentValue::Number(value) => number(value),
            TreatmentValue::Precise(value) => value.to_string(),
            TreatmentValue::Level(level) => level,
        };
        let values = self.treatment_values(t).into_iter().map(text);
        match self.layout().filter(|layout| layout.t.len() > 1) {
            Some(layout) => {
                let named =
                    layout.t.iter().zip(values).map(|(column, value)| format!("{} {value}", column.name));
                named.collect::<Vec<_>>().join(", ")
            }
            None => values.collect::<Vec<_>>().join(","),
        }
    }

    /// The columns of the treatments; those of arrays are named by number.
    pub(crate) fn treatment_columns(&self) -> Vec<TreatmentColumn> {
        match self.layout() {
            Some(layout) => layout.t.clone(),
            None => (0..self.shapes().t).map(|j| TreatmentColumn::number(j.to_string())).collect(),
        }
    }

    /// One treatment per level of the first treatment that has levels, with the other treatments as in `typical`; none if
    /// there are no levels.
    pub(crate) fn level_grid(&self, typical: &[f32]) -> Option<Vec<Vec<f32>>> {
        let layout = self.layout()?;
        let mut start = 0;
        for column in &layout.t {
            let end = start + column.elements();
            if column.levels.is_some() {
                let with = |own: Vec<f32>| [&typical[..start], &own, &typical[end..]].concat();
                return Some(column.level_elements().into_iter().map(with).collect());
            }
            start = end;
        }
        None
    }

    /// Checks that treatments of a model with levels are levels.
    pub(crate) fn check_levels(&self, treatments: &Units) -> Result<()> {
        let Some(layout) = self.layout().filter(|layout| layout.has_levels()) else { return Ok(()) };
        if treatments.elements() != self.shapes().t {
            // the number of elements is checked elsewhere
            return Ok(());
        }
        let is_wrong = |i: &usize| !layout.is_treatment(&treatments.row(*i));
        match (0..treatments.len()).find(is_wrong) {
            None => Ok(()),
            Some(i) => {
                let problem = format!("{:?} is not a combination of levels", treatments.row(i));
                let hint = "give treatments by name, such as \"B\": a level is at most one 1 among zeros";
                Err(Error::data("treatment", problem, hint))
            }
        }
    }
}

/// The quantile of the treatments at `share`. Of several treatments, the combination received by a unit that is nearest to
/// the quantile of each: nobody may have received the combination of all quantiles.
pub(crate) fn treatment_quantiles(t: &Units, share: f64) -> Result<Units> {
    let quantile = |j: usize, share: f64| {
        let mut values: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        values[((values.len() - 1) as f64 * share).round() as usize]
    };
    let at: Vec<f32> = (0..t.elements()).map(|j| quantile(j, share)).collect();
    if t.elements() == 1 {
        return Units::new("treatment", vec![1], at);
    }
    let range: Vec<f32> = (0..t.elements()).map(|j| quantile(j, 1.0) - quantile(j, 0.0)).collect();
    let distance = |i: usize| -> f64 {
        let row = t.row(i);
        let scaled = |j: usize| f64::from((row[j] - at[j]) / range[j].max(f32::MIN_POSITIVE));
        (0..t.elements()).map(|j| scaled(j).powi(2)).sum()
    };
    let nearest = argmin((0..t.len()).map(distance)).unwrap_or(0);
    Units::new("treatment", vec![t.elements()], t.row(nearest).to_vec())
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
