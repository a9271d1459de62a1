//! Methods that are a fitted mixture, each queried in its own way: the library's own, one class for all units (Deep-ITE)
//! and the published CFQP algorithm.

use super::{Counterfactual, MixtureView};
use crate::Result;
use crate::ask::{AnswerClass, AskOptions, Rho};
use crate::config::{Classes, FitConfig, Recipe, Start};
use crate::data::{Dataset, Units};
use crate::fit::Fit;
use crate::model::Model;
use crate::models::YScale;
use crate::runtime::{Monitor, Resources};

/// The library's own model, with the assumed correlation of factual and counterfactual noise.
#[derive(Clone, Debug)]
pub(crate) struct Cfqp {
    fitted: Model,
    rho: Rho,
}

impl Cfqp {
    /// Fits by the default recipe, whichever `config` names.
    pub(crate) fn fit(
        data: &Dataset,
        config: &FitConfig,
        rho: Rho,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let config = FitConfig { recipe: Recipe::Default, ..config.clone() };
        let fitted = Fit::new(config).resources(resources.clone()).monitor(monitor).run(data)?;
        Ok(Self { fitted, rho })
    }

    fn ask(&self) -> AskOptions {
        AskOptions { rho: self.rho, ..AskOptions::default() }
    }
}

impl Counterfactual for Cfqp {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        Ok(self.fitted.outcomes(data, to, self.ask())?.point)
    }

    fn mixture(&self) -> Option<MixtureView<'_>> {
        Some(MixtureView { model: &self.fitted, options: self.ask() })
    }
}

/// Deep-ITE: m(x, t') of one model for all units. The factual outcome is not used.
#[derive(Clone, Debug)]
pub(crate) struct DeepIte(Model);

impl DeepIte {
    /// Fits one class by the default recipe; one network unless `config` asks for more.
    pub(crate) fn fit(
        data: &Dataset,
        config: &FitConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let config = FitConfig {
            classes: Classes::Given(1),
            recipe: Recipe::Default,
            members: config.members.or(Some(1)),
            ..config.clone()
        };
        Fit::new(config).resources(resources.clone()).monitor(monitor).run(data).map(Self)
    }
}

impl Counterfactual for DeepIte {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.0.answer_by_class(data, to, AnswerClass::MostProbable, 0.0)
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.0.fit_report().val_mse)
    }
}

/// The published CFQP algorithm: m_k(x, t') of the class k whose model predicts the factual outcome best.
#[derive(Clone, Debug)]
pub(crate) struct PublishedCfqp(Model);

impl PublishedCfqp {
    /// Fits from the clusters of residuals that `start` finds; with U-Nets for series and images unless `config` names
    /// another base model.
    pub(crate) fn fit(
        data: &Dataset,
        start: Start,
        config: &FitConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let config = FitConfig {
            recipe: Recipe::Paper,
            y_scale: YScale::default(),
            starts: vec![start],
            ..config.clone()
        };
        Fit::new(config).resources(resources.clone()).monitor(monitor).run(data).map(Self)
    }
}

impl Counterfactual for PublishedCfqp {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.0.answer_by_class(data, to, AnswerClass::MostProbable, 0.0)
    }

    fn mixture(&self) -> Option<MixtureView<'_>> {
        let options = AskOptions { rho: Rho::Given(0.0), ..AskOptions::default() };
        Some(MixtureView { model: &self.0, options })
    }
}
