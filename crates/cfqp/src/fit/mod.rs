//! Fitting a model: the default recipe, for outcomes of few elements and of many, the published one, and one with known
//! classes.

mod default;
mod density;
mod ensemble;
mod final_mixture;
mod finish;
mod known_classes;
mod outcomes;
mod paper;
#[cfg(test)]
mod permuted_tests;
mod predictive_power;
mod setup;
mod shards;
mod streamed;
#[cfg(test)]
mod streamed_tests;
mod study;

pub(crate) use known_classes::fit_known_classes;
pub use study::Study;

use self::density::Rest;
use crate::Result;
use crate::config::{FitConfig, Recipe};
use crate::data::UnitData;
use crate::model::{ClassScore, Model};
use crate::runtime::{Monitor, Resources};
use crate::search::score_classes;

/// A fit to be run: settings, resources and a monitor.
///
/// ```
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig};
///
/// # fn main() -> cfqp::Result<()> {
/// let simulated = Oscillator::default().simulate(200, 1)?;
/// let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&simulated.data)?;
/// assert_eq!(model.classes(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fit<'a> {
    config: FitConfig,
    resources: Resources,
    monitor: &'a dyn Monitor,
    validation: Option<UnitData<'a>>,
}

impl<'a> Fit<'a> {
    /// A fit with these settings, on all cores.
    pub fn new(config: FitConfig) -> Self {
        Self { config, resources: Resources::default(), monitor: &(), validation: None }
    }

    /// Selects and calibrates on `data`; all data passed to [`run`](Self::run) are then used for training. For outcomes of at
    /// most 8 elements, where every unit is held out in turn, `data` are added to them.
    #[must_use]
    pub fn validate_on(mut self, data: impl Into<UnitData<'a>>) -> Self {
        self.validation = Some(data.into());
        self
    }

    /// Uses these threads, this device and this checkpoint. They do not affect the result.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// Reports progress to `monitor`, which may stop the fit.
    #[must_use]
    pub fn monitor(mut self, monitor: &'a dyn Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// Fits a model to `data`, a [`Dataset`](crate::Dataset) or a [`Table`](crate::Table). A model fitted to a table
    /// remembers its columns.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if a setting cannot be used, [`Error::Data`](crate::Error::Data) if the
    /// data cannot, [`Error::Interrupted`](crate::Error::Interrupted) if the monitor stops the fit.
    pub fn run<'d>(&self, data: impl Into<UnitData<'d>>) -> Result<Model> {
        let UnitData { units, layout } = data.into();
        let joined = self.validation.map_or(0, |validation| validation.units.len());
        let model = setup::with_context(self, units, |context| match context.config.recipe {
            Recipe::Default if density::applies(context)? => {
                density::fit_density(context, Rest::Joined(joined))
            }
            Recipe::Default => default::fit_default(context),
            Recipe::Paper => paper::fit_paper(context),
        })?;
        match layout {
            Some(layout) => model.with_layout(layout.clone()),
            None => Ok(model),
        }
    }

    /// The held-out score of every number of classes up to [`FitConfig::max_classes`], without fitting a model.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn score_classes<'d>(&self, data: impl Into<UnitData<'d>>) -> Result<Vec<ClassScore>> {
        setup::with_context(self, data.into().units, |context| {
            if context.config.recipe == Recipe::Default && density::applies(context)? {
                density::score_density_classes(context)
            } else {
                score_classes(context)
            }
        })
    }
}
