//! The methods by name, and their settings.

use serde::{Deserialize, Serialize};

use super::Counterfactual;
use super::cfqp::{Cfqp, DeepIte, PublishedCfqp};
use super::conformal::Conformal;
use super::deep_scm::{DeepScm, DeepScmConfig};
use super::diff_scm::{DiffScm, DiffScmConfig};
use super::plain::{PlainForm, PlainRegression, Regressor, ResidualShare};
use super::synthetic_control::{SyntheticControl, SyntheticControlConfig};
use crate::ask::{AskOptions, Rho};
use crate::config::{FitConfig, Start};
use crate::data::Dataset;
use crate::runtime::{Monitor, Pool, Resources};
use crate::{Error, Result};

/// A method that answers counterfactual queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One model m(x, t') for all units.
    DeepIte,
    /// Synthetic control.
    Sc,
    /// A conditional normalising flow.
    DeepScm,
    /// A score-based diffusion.
    DiffScm,
    /// The published CFQP algorithm, started from k-means.
    CfqpKmeans,
    /// The published CFQP algorithm, started from a Gaussian mixture.
    CfqpGmm,
    /// The library's own method.
    Cfqp,
    /// The library's own method with the true classes given.
    Oracle,
    /// Boosted trees on covariates and treatment.
    Regression,
    /// The regression plus the unit's residual.
    Residual,
    /// The regression plus a share of the unit's residual.
    ShrunkResidual,
    /// The regression with intervals by cross-conformal prediction.
    Conformal,
    /// A Gaussian process on covariates and treatment, plus the unit's residual.
    Process,
}

impl Method {
    /// All methods: those of the paper's tables, then the plain ones.
    pub const ALL: [Self; 13] = [
        Self::DeepIte,
        Self::Sc,
        Self::DeepScm,
        Self::DiffScm,
        Self::CfqpKmeans,
        Self::CfqpGmm,
        Self::Cfqp,
        Self::Oracle,
        Self::Regression,
        Self::Residual,
        Self::ShrunkResidual,
        Self::Conformal,
        Self::Process,
    ];

    /// The methods of the paper's tables, in their order.
    pub const PAPER: [Self; 8] = [
        Self::DeepIte,
        Self::Sc,
        Self::DeepScm,
        Self::DiffScm,
        Self::CfqpKmeans,
        Self::CfqpGmm,
        Self::Cfqp,
        Self::Oracle,
    ];

    /// The methods that are compared on pairs of measurements unless others are named.
    pub const PAIRS: [Self; 5] =
        [Self::Regression, Self::Residual, Self::ShrunkResidual, Self::Conformal, Self::Cfqp];

    /// The methods that are compared unless others are named: on pairs of measurements [`PAIRS`](Self::PAIRS), else those of
    /// the paper, the oracle only if the true classes are known.
    pub fn defaults(on_pairs: bool, classes_known: bool) -> Vec<Self> {
        if on_pairs {
            return Self::PAIRS.to_vec();
        }
        Self::PAPER.into_iter().filter(|method| classes_known || *method != Self::Oracle).collect()
    }

    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeepIte => "deep-ite",
            Self::Sc => "sc",
            Self::DeepScm => "deep-scm",
            Self::DiffScm => "diff-scm",
            Self::CfqpKmeans => "cfqp-kmeans",
            Self::CfqpGmm => "cfqp-gmm",
            Self::Cfqp => "cfqp",
            Self::Oracle => "oracle",
            Self::Regression => "regression",
            Self::Residual => "residual",
            Self::ShrunkResidual => "shrunk-residual",
            Self::Conformal => "conformal",
            Self::Process => "process",
        }
    }

    /// Whether the number of classes must be given: the method does not choose it.
    pub fn needs_classes(self) -> bool {
        matches!(self, Self::CfqpKmeans | Self::CfqpGmm)
    }

    /// Fits the method to `data`. The oracle needs the true classes and is refused: see [`Oracle`](crate::eval::Oracle).
    pub fn fit(
        self,
        data: &Dataset,
        config: &MethodConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Box<dyn Counterfactual>> {
        Ok(match config.used_by(self) {
            UsedSettings::DeepIte(config) => Box::new(DeepIte::fit(data, &config, resources, monitor)?),
            UsedSettings::SyntheticControl(config) => {
                Box::new(SyntheticControl::fit(data, &config, resources)?)
            }
            UsedSettings::DeepScm(config, seed) => {
                Box::new(DeepScm::fit(data, &config, seed, resources, monitor)?)
            }
            UsedSettings::DiffScm(config, seed) => {
                Box::new(DiffScm::fit(data, &config, seed, resources, monitor)?)
            }
            UsedSettings::PublishedCfqp(start, config) => {
                Box::new(PublishedCfqp::fit(data, start, &config, resources, monitor)?)
            }
            UsedSettings::Cfqp(config, rho) => Box::new(Cfqp::fit(data, &config, rho, resources, monitor)?),
            UsedSettings::Plain(share, seed) => {
                let form = PlainForm { regressor: Regressor::Trees, share };
                Box::new(PlainRegression::fit(data, form, seed, &Pool::new(resources.threads)?)?)
            }
            UsedSettings::Process(seed) => {
                let form = PlainForm { regressor: Regressor::Process, share: ResidualShare::All };
                Box::new(PlainRegression::fit(data, form, seed, &Pool::new(resources.threads)?)?)
            }
            UsedSettings::Conformal(seed) => {
                Box::new(Conformal::fit(data, seed, &Pool::new(resources.threads)?)?)
            }
            UsedSettings::Oracle(..) => {
                let hint = "leave the oracle out, or fit it with the true classes";
                return Err(Error::config(
                    "method",
                    "the oracle cannot be fitted without the true classes",
                    hint,
                ));
            }
        })
    }
}

/// The settings that one method uses. Their serialised form is part of the key of a cached run, so its names are fixed.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum UsedSettings {
    #[serde(rename = "One")]
    DeepIte(FitConfig),
    #[serde(rename = "Donors")]
    SyntheticControl(SyntheticControlConfig),
    /// With the seed.
    #[serde(rename = "Flow")]
    DeepScm(DeepScmConfig, u64),
    /// With the seed.
    #[serde(rename = "Diffusion")]
    DiffScm(DiffScmConfig, u64),
    #[serde(rename = "Published")]
    PublishedCfqp(Start, FitConfig),
    /// With rho.
    #[serde(rename = "Own")]
    Cfqp(FitConfig, Rho),
    /// With rho.
    #[serde(rename = "Told")]
    Oracle(FitConfig, Rho),
    /// With the seed.
    #[serde(rename = "Trees")]
    Plain(ResidualShare, u64),
    /// With the seed.
    Conformal(u64),
    /// With the seed.
    Process(u64),
}

/// The settings of all methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MethodConfig {
    /// Settings of every method that fits a mixture: classes, base model, epochs. Its seed is that of all methods.
    pub fit: FitConfig,
    /// The assumed correlation of factual and counterfactual noise, used by [`Method::Cfqp`] and the oracle.
    pub rho: Rho,
    /// Settings of synthetic control.
    pub sc: SyntheticControlConfig,
    /// Settings of the normalising flow; `fit.epochs` and `fit.learning_rate`, where given, override its own.
    pub deep_scm: DeepScmConfig,
    /// Settings of the diffusion; `fit.epochs` and `fit.learning_rate`, where given, override its own.
    pub diff_scm: DiffScmConfig,
}

impl Default for MethodConfig {
    fn default() -> Self {
        Self {
            fit: FitConfig::default(),
            rho: Rho::Given(1.0),
            sc: SyntheticControlConfig::default(),
            deep_scm: DeepScmConfig::default(),
            diff_scm: DiffScmConfig::default(),
        }
    }
}

impl MethodConfig {
    /// The settings that `method` uses.
    pub(crate) fn used_by(&self, method: Method) -> UsedSettings {
        let fit = self.fit.clone();
        match method {
            Method::DeepIte => UsedSettings::DeepIte(fit),
            Method::Sc => UsedSettings::SyntheticControl(self.sc),
            Method::DeepScm => {
                let mut flow = self.deep_scm.clone();
                flow.epochs = fit.epochs.or(flow.epochs);
                flow.learning_rate = fit.learning_rate.or(flow.learning_rate);
                UsedSettings::DeepScm(flow, fit.seed)
            }
            Method::DiffScm => {
                let mut diffusion = self.diff_scm.clone();
                diffusion.epochs = fit.epochs.or(diffusion.epochs);
                diffusion.learning_rate = fit.learning_rate.unwrap_or(diffusion.learning_rate);
                UsedSettings::DiffScm(diffusion, fit.seed)
            }
            Method::CfqpKmeans => UsedSettings::PublishedCfqp(Start::Kmeans, fit),
            Method::CfqpGmm => UsedSettings::PublishedCfqp(Start::Gmm, fit),
            Method::Cfqp => UsedSettings::Cfqp(fit, self.rho),
            Method::Oracle => UsedSettings::Oracle(fit, self.rho),
            Method::Regression => UsedSettings::Plain(ResidualShare::None, fit.seed),
            Method::Residual => UsedSettings::Plain(ResidualShare::All, fit.seed),
            Method::ShrunkResidual => UsedSettings::Plain(ResidualShare::Learned, fit.seed),
            Method::Conformal => UsedSettings::Conformal(fit.seed),
            Method::Process => UsedSettings::Process(fit.seed),
        }
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        self.fit.validate()?;
        AskOptions { rho: self.rho, ..AskOptions::default() }.validate()?;
        self.sc.validate()?;
        self.deep_scm.validate()?;
        self.diff_scm.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_depends_on_its_own_settings_only() {
        let text =
            |config: &MethodConfig, method: Method| serde_json::to_string(&config.used_by(method)).unwrap();
        let default = MethodConfig::default();
        let mut other = default.clone();
        other.deep_scm.couplings += 1;
        other.diff_scm.tolerance *= 2.0;
        for method in Method::ALL {
            let changed = matches!(method, Method::DeepScm | Method::DiffScm);
            assert_eq!(text(&default, method) != text(&other, method), changed, "{method:?}");
        }
        let mut faster = default.clone();
        faster.fit.learning_rate = Some(0.5);
        for method in Method::ALL {
            let is_plain = matches!(
                method,
                Method::Regression
                    | Method::Residual
                    | Method::ShrunkResidual
                    | Method::Conformal
                    | Method::Process
            );
            let fixed = is_plain || method == Method::Sc;
            assert_eq!(text(&default, method) == text(&faster, method), fixed, "{method:?}");
        }
    }
}
