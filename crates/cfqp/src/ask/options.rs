//! Options of a question.

use serde::{Deserialize, Serialize};

use super::rho::Rho;
use crate::model::Model;
use crate::{Error, Result};

/// Defines the methods that set options, for every kind of question.
macro_rules! option_setters {
    () => {
        /// Sets the correlation of the noise in both worlds: 1 is the same noise, 0 is fresh noise. By default it is
        /// [`Rho::Auto`](crate::ask::Rho::Auto): learned if possible, else unknown.
        pub fn rho(mut self, rho: impl Into<crate::ask::Rho>) -> Self {
            self.options.rho = rho.into();
            self
        }

        /// Sets the level of the intervals; 0.9 by default.
        pub fn level(mut self, level: f64) -> Self {
            self.options.level = level;
            self
        }

        /// Sets both options.
        pub fn options(mut self, options: AskOptions) -> Self {
            self.options = options;
            self
        }
    };
}
pub(super) use option_setters;

/// The noise that both worlds share, and the level of intervals.
///
/// ```
/// use cfqp::{AskOptions, Rho};
///
/// let fresh_noise = AskOptions { rho: Rho::Given(0.0), ..AskOptions::default() };
/// assert!(fresh_noise.validate().is_ok());
/// assert!(AskOptions { level: 90.0, ..fresh_noise }.validate().is_err(), "a level is a share");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AskOptions {
    /// The correlation of the noise in both worlds.
    pub rho: Rho,
    /// The level of the intervals.
    pub level: f64,
}

impl Default for AskOptions {
    fn default() -> Self {
        Self { rho: Rho::Auto, level: 0.9 }
    }
}

impl AskOptions {
    /// Validates the options.
    ///
    /// # Errors
    /// [`Error::Config`] names the option that cannot be used.
    pub fn validate(&self) -> Result<()> {
        if let Rho::Given(rho) = self.rho
            && !(0.0..=1.0).contains(&rho)
        {
            let hint = "give 1 for the same noise, 0 for fresh noise, or auto";
            return Err(Error::config("rho", format!("{rho} is not between 0 and 1"), hint));
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let problem = format!("{} is not between 0 and 1", self.level);
            return Err(Error::config(
                "level",
                problem,
                "give the share that intervals should cover, such as 0.9",
            ));
        }
        Ok(())
    }

    /// Validates the options for questions to `model`: its intervals were calibrated on so many units, and levels are
    /// extrapolated no further than to one in ten times as many.
    pub(crate) fn validate_for(&self, model: &Model) -> Result<()> {
        self.validate()?;
        let sizes = model.fit_report().units;
        let units = if sizes.calibration > 0 { sizes.calibration } else { sizes.total() };
        let most = 1.0 - 1.0 / (10.0 * units.max(1) as f64);
        if self.level <= most {
            return Ok(());
        }
        let problem =
            format!("{} is more than intervals calibrated on {units} units can promise", self.level);
        let hint = format!("give at most {:.4}, or fit the model to more units", (most * 1e4).floor() / 1e4);
        Err(Error::config("level", problem, hint))
    }
}
