//! Methods that are a fitted mixture, each asked in its own way: one class for all (Deep-ITE), the published
//! algorithm (CFQP), and our own.

use super::Counterfactual;
use crate::config::{Classes, FitConfig, Recipe, Start};
use crate::data::{Dataset, Units};
use crate::em::{Fitted, Monitor, Resources, fit};
use crate::query::Answering;
use crate::{Ask, Result};

/// Our own model, and how much of a unit's noise it takes to be the same in both worlds.
#[derive(Clone, Debug)]
pub struct Own {
    fitted: Fitted,
    rho: f32,
}

impl Own {
    /// The default recipe, whatever `config` says of it.
    pub(crate) fn fit(
        data: &Dataset,
        config: &FitConfig,
        rho: f32,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let config = FitConfig { recipe: Recipe::Default, ..config.clone() };
        Ok(Self { fitted: fit(data, None, &config, resources, monitor)?, rho })
    }

    fn ask(&self) -> Ask {
        Ask { rho: self.rho, ..Ask::default() }
    }
}

impl Counterfactual for Own {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        Ok(self.fitted.query(data, to, &self.ask())?.point)
    }

    fn mixture(&self) -> Option<(&Fitted, Ask)> {
        Some((&self.fitted, self.ask()))
    }
}

/// Deep-ITE: m(x, t'), one model of the mean for all units. What the unit showed is not used.
#[derive(Clone, Debug)]
pub struct DeepIte(Fitted);

impl DeepIte {
    /// One class, and else as our own model is fitted, base model chosen on held-out units; one network unless `config`
    /// asks for more.
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
        fit(data, None, &config, resources, monitor).map(Self)
    }
}

impl Counterfactual for DeepIte {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.0.answer_as(data, to, Answering::Likeliest, 0.0)
    }

    fn validation_loss(&self) -> Option<f64> {
        Some(self.0.report().val_mse)
    }
}

/// The published algorithm: the model that predicts the unit's own outcome best answers, m_k(x, t').
#[derive(Clone, Debug)]
pub struct Published(Fitted);

impl Published {
    /// Groups of residuals by `start`; U-Nets for series and images unless `config` asks for another base model.
    pub(crate) fn fit(
        data: &Dataset,
        start: Start,
        config: &FitConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let config = FitConfig { recipe: Recipe::Paper, starts: vec![start], ..config.clone() };
        fit(data, None, &config, resources, monitor).map(Self)
    }
}

impl Counterfactual for Published {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.0.answer_as(data, to, Answering::Likeliest, 0.0)
    }

    fn mixture(&self) -> Option<(&Fitted, Ask)> {
        Some((&self.0, Ask { rho: 0.0, ..Ask::default() }))
    }
}
