//! The shapes of the data that a model is made for.

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Moments, Units};
use crate::{Error, Result};

/// The shapes that a network is made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shapes {
    /// One unit's covariates: `[features]`, `[channels, steps]` or `[channels, height, width]`.
    pub x: Vec<usize>,
    /// Treatment dimensions.
    pub t: usize,
    /// One unit's outcome.
    pub y: Vec<usize>,
    /// Whether x may have missing values: then an indicator stands beside every element.
    pub missing: bool,
    /// How many classes the network is told apart, 0 if it is not told the class.
    pub classes: usize,
}

const KIND: &str = "give units of the kind that the model was fitted on";

impl Shapes {
    /// Those of `data`, for networks that are told no class.
    pub(crate) fn of(data: &Dataset) -> Self {
        Self {
            x: data.x().shape().to_vec(),
            t: data.t().each(),
            y: data.y().shape().to_vec(),
            missing: data.x().mask().is_some(),
            classes: 0,
        }
    }

    /// Whether a model for these shapes can be asked about `data`.
    pub(crate) fn check(&self, data: &Dataset) -> Result<()> {
        let pairs = [("x", data.x().shape(), &self.x), ("y", data.y().shape(), &self.y)];
        for (name, seen, expected) in pairs {
            if seen != expected {
                let problem = format!("a unit has shape {seen:?}, the model was fitted on {expected:?}");
                return Err(Error::data(name, problem, KIND));
            }
        }
        if data.t().each() != self.t {
            let problem =
                format!("{} treatments per unit, the model was fitted on {}", data.t().each(), self.t);
            return Err(Error::data("t", problem, KIND));
        }
        if data.x().mask().is_some() && !self.missing {
            let hint = "fit the model on data with missing values, or fill them in";
            return Err(Error::data("x", "values are missing, and none were in training", hint));
        }
        Ok(())
    }

    /// The treatments `t`, one per unit or one for all, standardised, one for each of `n` units.
    pub(crate) fn treatments(&self, moments: &Moments, t: &Units, n: usize) -> Result<Vec<f32>> {
        if t.each() != self.t || t.shape().len() != 1 {
            let problem = format!("it is {} numbers, the model's treatments are {}", t.each(), self.t);
            return Err(Error::data("treatment", problem, "give as many numbers as t has in the data"));
        }
        if t.len() != n && t.len() != 1 {
            let problem = format!("{} treatments for {n} units", t.len());
            return Err(Error::data("treatment", problem, "give one for every unit, or one for all"));
        }
        let mut out = Vec::with_capacity(n * self.t);
        (0..n).for_each(|i| moments.standardise_into(t.row(if t.len() == 1 { 0 } else { i }), &mut out));
        Ok(out)
    }
}
