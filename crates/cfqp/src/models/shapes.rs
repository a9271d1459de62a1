//! The shapes of the data that a model works on.

use serde::{Deserialize, Serialize};

use crate::data::{ChannelScaler, Dataset, Units};
use crate::{Error, Result};

/// The shapes of the data that a network works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shapes {
    /// One unit's covariates: `[features]`, `[channels, steps]` or `[channels, height, width]`.
    pub x: Vec<usize>,
    /// Treatment dimensions.
    pub t: usize,
    /// One unit's outcome.
    pub y: Vec<usize>,
    /// Whether x may have missing values: then every element has an indicator.
    pub missing: bool,
    /// The number of classes of the class input; 0 without class input.
    pub(crate) classes: usize,
}

const SAME_SHAPES: &str = "give units of the shapes that the model was fitted to";

impl Shapes {
    /// The shapes of `data`, without class input.
    pub(crate) fn from_data(data: &Dataset) -> Self {
        Self {
            x: data.x().shape().to_vec(),
            t: data.t().elements(),
            y: data.y().shape().to_vec(),
            missing: data.x().mask().is_some(),
            classes: 0,
        }
    }

    /// Checks that a model for these shapes can be queried for `data`.
    pub(crate) fn check(&self, data: &Dataset) -> Result<()> {
        let pairs = [("x", data.x().shape(), &self.x), ("y", data.y().shape(), &self.y)];
        for (name, seen, expected) in pairs {
            if seen != expected {
                let problem = format!("a unit has shape {seen:?}, the model was fitted to {expected:?}");
                return Err(Error::data(name, problem, SAME_SHAPES));
            }
        }
        if data.t().elements() != self.t {
            let problem =
                format!("{} treatments per unit, the model was fitted to {}", data.t().elements(), self.t);
            return Err(Error::data("t", problem, SAME_SHAPES));
        }
        if data.x().mask().is_some() && !self.missing {
            let hint = "fit the model to data with missing values, or fill them in";
            return Err(Error::data("x", "values are missing, and none were in training", hint));
        }
        Ok(())
    }

    /// Checks that `t` has one treatment for each of `n` units, or one for all.
    pub(crate) fn check_treatments(&self, t: &Units, n: usize) -> Result<()> {
        if t.elements() != self.t || t.shape().len() != 1 {
            let problem = format!("{} numbers per treatment, the model has {}", t.elements(), self.t);
            return Err(Error::data("treatment", problem, "give as many numbers as t has in the data"));
        }
        if t.len() != n && t.len() != 1 {
            let problem = format!("{} treatments for {n} units", t.len());
            return Err(Error::data("treatment", problem, "give one for every unit, or one for all"));
        }
        Ok(())
    }

    /// Standardised treatments of `n` units, from one treatment per unit or one for all.
    ///
    /// # Shapes
    /// `[n or 1, d_t]` to `[n, d_t]`
    pub(crate) fn treatments(&self, moments: &ChannelScaler, t: &Units, n: usize) -> Result<Vec<f32>> {
        self.check_treatments(t, n)?;
        let mut out = Vec::with_capacity(n * self.t);
        (0..n).for_each(|i| moments.standardise_into(&t.row(if t.len() == 1 { 0 } else { i }), &mut out));
        Ok(out)
    }
}
