//! Probabilities of causation of yes/no outcomes: necessity and sufficiency.
//!
//! Necessity: of the units treated with about `to` that showed the outcome, the share that would not have shown it under
//! `from`. Sufficiency: of those treated with about `from` that did not show it, the share that would have under `to`
//! (Tian and Pearl, 2000). A unit counts as treated with the one of both that its treatment is nearer to. Unlike average
//! effects, they depend on rho: data alone only bound them.

use serde::Serialize;

use super::answer::Answers;
use super::options::AskOptions;
use super::tabulate::Tabulation;
use crate::Result;
use crate::data::{Dataset, OutcomeKind, UnitData, Units};
use crate::model::Model;

/// The probabilities of causation of one yes/no outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Causation {
    /// The name of the outcome.
    pub outcome: String,
    /// Of the units that showed the outcome under `to`: would they not have under `from`? None if there are no such units.
    pub necessity: Option<CausationShare>,
    /// Of the units that did not show it under `from`: would they have under `to`?
    pub sufficiency: Option<CausationShare>,
}

/// A probability averaged over units, with the average of the units' intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CausationShare {
    /// The number of units.
    pub units: usize,
    /// The average probability.
    pub probability: f64,
    /// The average of the lower ends of the units' intervals.
    pub lower: f64,
    /// The average of the upper ends.
    pub upper: f64,
}

impl Model {
    /// The probabilities of necessity and sufficiency of `to` against `from` for every yes/no outcome.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units or treatments do not fit the model.
    pub fn causation<'a>(
        &self,
        data: impl Into<UnitData<'a>>,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<Causation>> {
        let (data, kinds) = (data.into().units, self.outcome_kinds());
        let tabulation = Tabulation::new(self);
        let outcomes: Vec<(String, usize)> = tabulation
            .outcomes()
            .filter(|(_, range)| range.len() == 1 && kinds.get(range.start) == Some(&OutcomeKind::YesNo))
            .map(|(name, range)| (name.to_owned(), range.start))
            .collect();
        if outcomes.is_empty() {
            return Ok(Vec::new());
        }
        let treatment = |t: &[f32]| Units::new("treatment", vec![t.len()], t.to_vec());
        let under_from = self.outcomes(data, &treatment(from)?, options)?;
        let under_to = self.outcomes(data, &treatment(to)?, options)?;
        let near_to = self.nearer(data, from, to);
        let causation = |(outcome, j): (String, usize)| {
            let with = |near: bool, shown: f32| -> Vec<usize> {
                let is_one = |&i: &usize| near_to[i] == near && observed(data, i, j) == Some(shown);
                (0..data.len()).filter(is_one).collect()
            };
            Causation {
                outcome,
                necessity: share(&under_from, &with(true, 1.0), j).map(CausationShare::complement),
                sufficiency: share(&under_to, &with(false, 0.0), j),
            }
        };
        Ok(outcomes.into_iter().map(causation).collect())
    }

    /// Whether each unit's treatment is nearer to `to` than to `from`, in standard deviations.
    fn nearer(&self, data: &Dataset, from: &[f32], to: &[f32]) -> Vec<bool> {
        let scaler = &self.scaler().t;
        let distance = |t: &[f32], other: &[f32]| -> f32 {
            let gaps = t.iter().zip(other).enumerate();
            gaps.map(|(i, (a, b))| ((a - b) / scaler.deviation(i)).powi(2)).sum()
        };
        let is_nearer =
            |i: usize| distance(data.t().row(i).as_ref(), to) < distance(data.t().row(i).as_ref(), from);
        (0..data.len()).map(is_nearer).collect()
    }
}

impl CausationShare {
    /// The probability of the opposite.
    fn complement(self) -> Self {
        let Self { units, probability, lower, upper } = self;
        Self { units, probability: 1.0 - probability, lower: 1.0 - upper, upper: 1.0 - lower }
    }
}

/// Element `j` of the outcome of unit `i`, if it was observed.
fn observed(data: &Dataset, i: usize, j: usize) -> Option<f32> {
    data.y().mask_row(i).is_none_or(|mask| mask[j]).then(|| data.y().row(i)[j])
}

/// The average probability of element `j` over `units`; none if there are none.
fn share(answers: &Answers, units: &[usize], j: usize) -> Option<CausationShare> {
    let mean = |values: &Units| {
        let sum: f64 = units.iter().map(|&i| f64::from(values.row(i)[j])).sum();
        sum / units.len() as f64
    };
    (!units.is_empty()).then(|| CausationShare {
        units: units.len(),
        probability: mean(&answers.point),
        lower: mean(&answers.lower),
        upper: mean(&answers.upper),
    })
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::config::{Base, Classes, FitConfig};
    use crate::fit::Fit;
    use crate::stream;

    /// Units of which 30% recover without and 60% with a treatment.
    fn recoveries(n: usize) -> Dataset {
        let mut rng = stream(4, &["recoveries"]);
        let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..n {
            let treated = i % 2 == 1;
            x.push(rng.random_range(-1.0..1.0));
            t.push(if treated { 1.0 } else { 0.0 });
            let recovers = rng.random::<f32>() < if treated { 0.6 } else { 0.3 };
            y.push(if recovers { 1.0 } else { 0.0 });
        }
        let units = |name: &str, values: Vec<f32>| Units::new(name, vec![1], values).unwrap();
        Dataset::new(units("x", x), units("t", t), units("y", y)).unwrap()
    }

    #[test]
    fn necessity_and_sufficiency_are_those_of_a_monotone_response() {
        let data = recoveries(1000);
        let config = FitConfig { classes: Classes::Given(1), base: Base::Linear, ..FitConfig::default() };
        let model = Fit::new(config).run(&data).unwrap();
        assert_eq!(model.outcome_kinds(), [OutcomeKind::YesNo]);
        let at = |rho: f32| {
            let options = AskOptions { rho: crate::ask::Rho::Given(rho), ..AskOptions::default() };
            model.causation(&data, &[0.0], &[1.0], options).unwrap().remove(0)
        };
        // rho = 1: of 0.6 who recovered with it, 0.3 would have without; of 0.7 who did not without it, 0.3 would have with it
        let same = at(1.0);
        let (necessity, sufficiency) = (same.necessity.unwrap(), same.sufficiency.unwrap());
        assert!((necessity.probability - 0.5).abs() < 0.08, "{necessity:?}");
        assert!((sufficiency.probability - 3.0 / 7.0).abs() < 0.08, "{sufficiency:?}");
        assert!(necessity.lower < necessity.probability && necessity.probability < necessity.upper);
        assert!((280..320).contains(&necessity.units));
        // rho = 0: what was shown says nothing
        let fresh = at(0.0);
        assert!((fresh.necessity.unwrap().probability - 0.7).abs() < 0.06);
        assert!((fresh.sufficiency.unwrap().probability - 0.6).abs() < 0.06);
        // the average effect is the same
        let effect = model.ask(&data).effect(0.0, 1.0).rho(1.0).answers().unwrap();
        let mean = effect.point.values().iter().map(|v| f64::from(*v)).sum::<f64>() / 1000.0;
        assert!((mean - 0.3).abs() < 0.07, "{mean}");
        assert!(effect.lower.values().iter().chain(effect.upper.values()).all(|v| (-1.0..=1.0).contains(v)));
    }
}
