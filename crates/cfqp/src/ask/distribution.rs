//! Distributions of counts and ordered levels: the probability of every value.

use super::answering::Asked;
use super::options::AskOptions;
use super::rho::UsedRho;
use crate::data::{Dataset, Units};
use crate::density::Ensemble;
use crate::model::{Model, Predictor};
use crate::models::Batcher;
use crate::{Error, Result};

/// The distribution of an outcome that is a count or an ordered level, for n units.
///
/// ```
/// use cfqp::sim::{Table, TableWorld};
/// use cfqp::{Classes, Fit, FitConfig};
///
/// let units = Table { world: TableWorld::Count, ..Table::default() }.simulate(200, 1)?.data;
/// let config = FitConfig { classes: Classes::Given(1), members: Some(2), ..FitConfig::default() };
/// let model = Fit::new(config).run(&units)?;
/// let counts = model.ask(&units).under(0.5).distributions()?.remove(0);
/// println!("unit 0 has no event with probability {}", counts.of_unit(0)[0]);
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueProbabilities {
    /// The element of y.
    pub element: usize,
    /// The values, ascending: 0, 1, 2, ... for counts.
    pub values: Vec<f32>,
    /// P(value) of each unit, `[n, values]`, flat.
    pub probabilities: Vec<f32>,
}

impl ValueProbabilities {
    /// The probabilities of all values of unit `i`.
    pub fn of_unit(&self, i: usize) -> &[f32] {
        &self.probabilities[i * self.values.len()..][..self.values.len()]
    }

    /// The number of units.
    pub(crate) fn units(&self) -> usize {
        self.probabilities.len() / self.values.len()
    }

    /// P(`value`) of unit `i`.
    pub(crate) fn of_value(&self, i: usize, value: f32) -> f32 {
        self.values.iter().position(|found| *found == value).map_or(0.0, |at| self.of_unit(i)[at])
    }

    /// Those of the units at `positions`.
    pub(crate) fn pick(&self, positions: &[usize]) -> Self {
        let probabilities = positions.iter().flat_map(|&i| self.of_unit(i)).copied().collect();
        Self { probabilities, values: self.values.clone(), ..*self }
    }
}

impl Model {
    /// The distribution of every count and ordered level of each unit of `data` under `to`.
    pub(crate) fn distributions(
        &self,
        data: &Dataset,
        to: &Units,
        options: AskOptions,
    ) -> Result<Vec<ValueProbabilities>> {
        options.validate()?;
        self.check_question(data, to, None)?;
        let Predictor::Density(ensemble) = &self.predictor else { return Ok(Vec::new()) };
        let scaler = self.scaler();
        let batcher = Batcher { data, scaler, missing: self.shapes().missing };
        let to = self.shapes().treatments(&scaler.t, to, data.len())?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let asked = Asked { batcher, rows: &rows, to: &to, from: None };
        Ok(self.density_distributions(ensemble, &asked, self.used_rho(options.rho)))
    }

    fn density_distributions(
        &self,
        ensemble: &Ensemble,
        asked: &Asked<'_>,
        rho: UsedRho,
    ) -> Vec<ValueProbabilities> {
        let elements = ensemble.elements();
        let ranked: Vec<usize> = (0..elements.len()).filter(|&j| elements[j].is_ranked()).collect();
        if ranked.is_empty() {
            return Vec::new();
        }
        let answered = self.map_density_answers(ensemble, asked, rho.correlation(), |answer| {
            let of_element = |&j: &usize| ensemble.value_probabilities(elements[j], &answer.elements[j]);
            ranked.iter().map(of_element).collect::<Vec<_>>()
        });
        let mut by_row = vec![Vec::new(); asked.rows.len()];
        answered.into_iter().for_each(|(row, found)| by_row[row] = found);
        let of_element = |(i, &element): (usize, &usize)| {
            // counts of some units go further than those of others
            let count = by_row.iter().map(|of_row| of_row[i].len()).max().unwrap_or(0);
            let padded = |of_row: &Vec<Vec<f64>>| {
                let own = of_row[i].iter().map(|&p| p as f32);
                own.chain(std::iter::repeat(0.0)).take(count).collect::<Vec<f32>>()
            };
            ValueProbabilities {
                element,
                values: ensemble.ranked_values(elements[element], count),
                probabilities: by_row.iter().flat_map(padded).collect(),
            }
        };
        ranked.iter().enumerate().map(of_element).collect()
    }
}

/// The error of a question about the distribution of a difference.
pub(super) fn effects_have_none() -> Error {
    let problem = "an effect has no distribution of values";
    Error::config("distributions", problem, "ask for the distribution under one treatment")
}
