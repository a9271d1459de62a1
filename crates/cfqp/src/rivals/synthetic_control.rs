//! SC, synthetic control: the unit as a weighted mean of units that received the new treatment.
//!
//! Donors are the training units i with |t_i - t'| < window in every treatment. With weights
//!
//! ```text
//! w = argmin |x - sum_i w_i x_i|^2,  w_i >= 0, sum_i w_i = 1        answer = sum_i w_i y_i
//! ```
//!
//! x is standardised, t is not. The factual outcome is not used: the answer depends on x and t' only.

use serde::{Deserialize, Serialize};

use super::Counterfactual;
use super::simplex::nearest_in_hull;
use crate::data::{Dataset, Scaler, Units};
use crate::models::{Batcher, Shapes};
use crate::runtime::{Pool, Resources};
use crate::{Error, Result};

/// Settings of synthetic control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SyntheticControlConfig {
    /// The maximal distance of a donor's treatment from the new one, in units of t.
    pub window: f32,
}

impl Default for SyntheticControlConfig {
    fn default() -> Self {
        Self { window: 0.1 }
    }
}

impl SyntheticControlConfig {
    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        if self.window.is_finite() && self.window > 0.0 {
            return Ok(());
        }
        let problem = format!("{} is not a width", self.window);
        Err(Error::config("window", problem, "give a number above 0, in units of t; 0.1 is usual"))
    }
}

/// The training units; every query finds its own weights.
#[derive(Debug)]
pub(crate) struct SyntheticControl {
    data: Dataset,
    scaler: Scaler,
    shapes: Shapes,
    window: f32,
    pool: Pool,
}

impl SyntheticControl {
    /// Keeps all units of `data` as donors; nothing is trained.
    pub(crate) fn fit(
        data: &Dataset,
        config: &SyntheticControlConfig,
        resources: &Resources,
    ) -> Result<Self> {
        config.validate()?;
        let (scaler, shapes) = (Scaler::fit(&data.all(), true), Shapes::from_data(data));
        let pool = Pool::new(resources.threads)?;
        Ok(Self { data: data.clone(), scaler, shapes, window: config.window, pool })
    }

    fn batcher<'a>(&'a self, data: &'a Dataset) -> Batcher<'a> {
        Batcher { data, scaler: &self.scaler, missing: self.shapes.missing }
    }

    fn donors(&self, t: &[f32]) -> Vec<usize> {
        let near = |donor: &[f32]| donor.iter().zip(t).all(|(donor, t)| (donor - t).abs() < self.window);
        (0..self.data.len()).filter(|&i| near(&self.data.t().row(i))).collect()
    }

    fn answer(&self, asked: &Batcher<'_>, unit: usize, t: &[f32]) -> Result<Vec<f32>> {
        let donors = self.donors(t);
        if donors.is_empty() {
            let problem = format!("no training unit has a treatment within {} of {t:?}", self.window);
            let hint = "query treatments that occur in the data, or widen the window";
            return Err(Error::data(format!("unit {unit}"), problem, hint));
        }
        let d = self.data.x().elements();
        let x = asked.covariates(&[unit]);
        let donors_x = self.batcher(&self.data).covariates(&donors);
        let points: Vec<f64> =
            donors_x.iter().enumerate().map(|(i, value)| f64::from(*value) - f64::from(x[i % d])).collect();
        let weights = nearest_in_hull(&points, d).positive;
        Ok(self.mix(weights.iter().map(|&(i, weight)| (donors[i], weight)).collect()))
    }

    /// The weighted mean of observed outcomes; the training mean of elements that no donor observed.
    fn mix(&self, weights: Vec<(usize, f64)>) -> Vec<f32> {
        let (d, batcher) = (self.data.y().elements(), self.batcher(&self.data));
        let (mut sum, mut total) = (vec![0.0; d], vec![0.0; d]);
        for (row, weight) in weights {
            let mask = self.data.y().mask_row(row);
            for (j, y) in batcher.outcomes(&[row]).into_iter().enumerate() {
                let weight = if mask.is_none_or(|mask| mask[j]) { weight } else { 0.0 };
                sum[j] += weight * f64::from(y);
                total[j] += weight;
            }
        }
        let mean = |(sum, total): (f64, f64)| if total > 0.0 { (sum / total) as f32 } else { 0.0 };
        let mut answer: Vec<f32> = sum.into_iter().zip(total).map(mean).collect();
        self.scaler.y.restore(&mut answer);
        answer
    }
}

impl Counterfactual for SyntheticControl {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        let shapes = &self.shapes;
        shapes.check(data)?;
        let to = shapes.treatments(&self.scaler.t, to, data.len())?;
        let asked = self.batcher(data);
        let units = (0..data.len()).collect();
        let answers = self
            .pool
            .try_map(units, |unit: usize| self.answer(&asked, unit, &to[unit * shapes.t..][..shapes.t]))?;
        Units::new("answer", shapes.y.clone(), answers.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units on a line, x = i, treated alternately with 0 and 1, y = 10 x + t.
    fn line(n: usize) -> Dataset {
        let units = |name: &str, value: &dyn Fn(usize) -> f32| {
            Units::new(name, vec![1], (0..n).map(value).collect()).unwrap()
        };
        let t = |i: usize| (i % 2) as f32;
        Dataset::new(units("x", &|i| i as f32), units("t", &t), units("y", &|i| 10.0 * i as f32 + t(i)))
            .unwrap()
    }

    fn ask(t: f32) -> Result<Units> {
        let data = line(30);
        let model = SyntheticControl::fit(&data, &Default::default(), &Resources::default())?;
        model.counterfactual(&data, &Units::new("t", vec![1], vec![t])?)
    }

    #[test]
    fn a_unit_between_two_donors_gets_their_mean_outcome() {
        let answers = ask(1.05).unwrap();
        // unit 4 lies half way between the donors 3 and 5, unit 7 is a donor, unit 0 is nearest to donor 1
        for (unit, expected) in [(4, 41.0), (7, 71.0), (0, 11.0)] {
            assert!((answers.row(unit)[0] - expected).abs() < 1e-3, "{unit}: {:?}", answers.row(unit));
        }
    }

    #[test]
    fn a_query_without_donors_names_the_unit_and_the_treatment() {
        let error = ask(0.5).unwrap_err();
        assert_eq!(error.to_string(), "unit 0: no training unit has a treatment within 0.1 of [0.5]");
        assert!(SyntheticControlConfig { window: f32::NAN }.validate().is_err());
    }
}
