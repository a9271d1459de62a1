//! Questions to a model: `model.ask(&data).under(0.8).level(0.9).answers()`.

use std::borrow::Cow;

use super::answer::Answers;
use super::curve::treatments_at;
use super::distribution::{ValueProbabilities, effects_have_none};
use super::options::{AskOptions, option_setters};
use crate::data::{Dataset, UnitData, Units};
use crate::model::Model;
use crate::{Error, Result};

/// The treatments of a question: one for all units, or one per unit.
///
/// Converts from a number (a treatment of one dimension), an array of numbers (one dimension each), a text (a level such as
/// `"B"`, or several treatments: `"drug=B,dose=0.8"`) or [`Units`] (a treatment per unit, or a single one).
#[derive(Clone, Debug)]
pub struct Treatments<'a>(TreatmentSource<'a>);

#[derive(Clone, Debug)]
enum TreatmentSource<'a> {
    Same(Vec<f32>),
    Text(Cow<'a, str>),
    Units(Cow<'a, Units>),
}

impl<'a> Treatments<'a> {
    /// The treatments as units; a text is read as `model` knows its levels.
    ///
    /// # Errors
    /// [`Error::Data`] if a number is not finite, there are none, or a text is not a treatment of the model.
    pub fn units(&self, model: &Model) -> Result<Cow<'_, Units>> {
        let same = |values: Vec<f32>| Ok(Cow::Owned(Units::new("treatment", vec![values.len()], values)?));
        match &self.0 {
            TreatmentSource::Same(values) => same(values.clone()),
            TreatmentSource::Text(text) => same(model.parse_treatment(text)?),
            TreatmentSource::Units(units) => Ok(Cow::Borrowed(units)),
        }
    }
}

impl From<f32> for Treatments<'_> {
    fn from(value: f32) -> Self {
        Self(TreatmentSource::Same(vec![value]))
    }
}

impl From<f64> for Treatments<'_> {
    fn from(value: f64) -> Self {
        Self(TreatmentSource::Same(vec![value as f32]))
    }
}

impl<const N: usize> From<[f32; N]> for Treatments<'_> {
    fn from(values: [f32; N]) -> Self {
        Self(TreatmentSource::Same(values.to_vec()))
    }
}

impl From<&[f32]> for Treatments<'_> {
    fn from(values: &[f32]) -> Self {
        Self(TreatmentSource::Same(values.to_vec()))
    }
}

impl<'a> From<&'a str> for Treatments<'a> {
    fn from(text: &'a str) -> Self {
        Self(TreatmentSource::Text(Cow::Borrowed(text)))
    }
}

impl From<String> for Treatments<'_> {
    fn from(text: String) -> Self {
        Self(TreatmentSource::Text(Cow::Owned(text)))
    }
}

impl<'a> From<&'a Units> for Treatments<'a> {
    fn from(units: &'a Units) -> Self {
        Self(TreatmentSource::Units(Cow::Borrowed(units)))
    }
}

impl From<Units> for Treatments<'_> {
    fn from(units: Units) -> Self {
        Self(TreatmentSource::Units(Cow::Owned(units)))
    }
}

impl Model {
    /// Asks about the units of `data`, a [`Dataset`] or a [`Table`](crate::Table). Units without an outcome are answered by their
    /// covariates alone, with fresh noise, and have the flag [`NoOutcome`](crate::ask::Flag::NoOutcome).
    ///
    /// ```
    /// use cfqp::sim::Oscillator;
    /// use cfqp::{Base, Classes, Fit, FitConfig};
    ///
    /// # fn main() -> cfqp::Result<()> {
    /// let simulated = Oscillator::default().simulate(200, 1)?;
    /// let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
    /// let model = Fit::new(config).run(&simulated.data)?;
    ///
    /// let outcomes = model.ask(&simulated.data).under(0.5).level(0.8).answers()?;
    /// let effects = model.ask(&simulated.data).effect(0.3, 0.7).answers()?;
    /// let fresh_noise = model.ask(&simulated.data).under(0.5).rho(0.0).answers()?;
    /// assert_eq!(outcomes.point.len(), 200);
    /// assert_ne!(outcomes.point, fresh_noise.point);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask<'a>(&'a self, data: impl Into<UnitData<'a>>) -> Ask<'a> {
        Ask { model: self, data: data.into() }
    }
}

/// Units about which a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    model: &'a Model,
    data: UnitData<'a>,
}

impl<'a> Ask<'a> {
    /// Asks for the outcome under `treatment`: one for all units, or one per unit.
    pub fn under(self, treatment: impl Into<Treatments<'a>>) -> Question<'a> {
        self.question(None, treatment.into())
    }

    /// Asks for the difference between the outcome under `to` and under `from`.
    pub fn effect(self, from: impl Into<Treatments<'a>>, to: impl Into<Treatments<'a>>) -> Question<'a> {
        self.question(Some(from.into()), to.into())
    }

    /// Asks for the outcome under every treatment of `grid` in turn: a dose-response curve per unit. Elements that are missing
    /// in the grid are those of each unit's own treatment; see [`Model::curve_grid`].
    pub fn curve(self, grid: &'a Units) -> CurveQuestion<'a> {
        CurveQuestion { ask: self, grid, options: AskOptions::default() }
    }

    fn question(self, from: Option<Treatments<'a>>, to: Treatments<'a>) -> Question<'a> {
        Question { ask: self, from, to, options: AskOptions::default() }
    }

    /// The units, if the model can be asked about them.
    fn units(&self) -> Result<&'a Dataset> {
        if let (Some(layout), Some(own)) = (self.data.layout, self.model.layout())
            && layout != own
        {
            let problem = "the table was read with other columns or categories than the model's";
            let hint = "read the table with the layout of the model: `Model::read_units`";
            return Err(Error::data("table", problem, hint));
        }
        Ok(self.data.units)
    }
}

/// A question about an outcome or an effect.
#[derive(Clone, Debug)]
#[must_use = "a question does nothing until `answers` is called"]
pub struct Question<'a> {
    ask: Ask<'a>,
    from: Option<Treatments<'a>>,
    to: Treatments<'a>,
    options: AskOptions,
}

impl Question<'_> {
    option_setters!();

    /// Answers the question.
    ///
    /// # Errors
    /// [`Error::Config`] if an option cannot be used, [`Error::Data`] if the units or treatments do not fit the model.
    pub fn answers(&self) -> Result<Answers> {
        let (model, data) = (self.ask.model, self.ask.units()?);
        let to = self.to.units(model)?;
        match &self.from {
            None => model.outcomes(data, &to, self.options),
            Some(from) => model.effects(data, &*from.units(model)?, &to, self.options),
        }
    }

    /// The distributions of the outcomes that are counts or ordered levels.
    ///
    /// # Errors
    /// [`Error::Config`] for effects and for options that cannot be used, [`Error::Data`] if the units or treatments do not fit
    /// the model.
    pub fn distributions(&self) -> Result<Vec<ValueProbabilities>> {
        let (model, data) = (self.ask.model, self.ask.units()?);
        match self.from {
            None => model.distributions(data, &*self.to.units(model)?, self.options),
            Some(_) => Err(effects_have_none()),
        }
    }
}

/// A question about dose-response curves.
#[derive(Clone, Copy, Debug)]
#[must_use = "a question does nothing until `answers` is called"]
pub struct CurveQuestion<'a> {
    ask: Ask<'a>,
    grid: &'a Units,
    options: AskOptions,
}

impl CurveQuestion<'_> {
    option_setters!();

    /// The answers for all units, one item per treatment of the grid.
    ///
    /// # Errors
    /// As [`Question::answers`].
    pub fn answers(&self) -> Result<Vec<Answers>> {
        let data = self.ask.units()?;
        let at = |p: usize| treatments_at(self.grid, p, data);
        (0..self.grid.len()).map(|p| self.ask.model.outcomes(data, &at(p)?, self.options)).collect()
    }
}
