//! The methods by name, and how each is fitted.

use serde::{Deserialize, Serialize};

use super::Counterfactual;
use super::deep_scm::{DeepScm, DeepScmConfig};
use super::diff_scm::{DiffScm, DiffScmConfig};
use super::mixture::{DeepIte, Own, Published};
use super::synthetic_control::{SyntheticControl, SyntheticControlConfig};
use crate::config::{FitConfig, Start};
use crate::data::Dataset;
use crate::em::{Monitor, Resources};
use crate::{Ask, Error, Result};

/// A way to answer counterfactual queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One model of the mean, m(x, t').
    DeepIte,
    /// Synthetic control.
    Sc,
    /// A conditional normalising flow.
    DeepScm,
    /// A score-based diffusion.
    DiffScm,
    /// The published algorithm from k-means.
    CfqpKmeans,
    /// The published algorithm from a Gaussian mixture.
    CfqpGmm,
    /// This library's own.
    Cfqp,
    /// This library's own, told the true classes.
    Oracle,
}

impl Method {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 8] = [
        Self::DeepIte,
        Self::Sc,
        Self::DeepScm,
        Self::DiffScm,
        Self::CfqpKmeans,
        Self::CfqpGmm,
        Self::Cfqp,
        Self::Oracle,
    ];

    /// What it is called.
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
        }
    }

    /// Whether the number of classes must be given to it.
    pub fn needs_classes(self) -> bool {
        matches!(self, Self::CfqpKmeans | Self::CfqpGmm)
    }

    /// Fit it to `data`. The oracle is no estimator and is refused: see [`Oracle`](crate::Oracle).
    pub fn fit(
        self,
        data: &Dataset,
        config: &MethodConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Box<dyn Counterfactual>> {
        let own = &config.fit;
        Ok(match self {
            Self::DeepIte => Box::new(DeepIte::fit(data, own, resources, monitor)?),
            Self::Sc => Box::new(SyntheticControl::fit(data, &config.sc, resources)?),
            Self::DeepScm => {
                let flow = DeepScmConfig {
                    epochs: own.epochs.or(config.deep_scm.epochs),
                    ..config.deep_scm.clone()
                };
                Box::new(DeepScm::fit(data, &flow, own.seed, resources, monitor)?)
            }
            Self::DiffScm => {
                let diffusion = DiffScmConfig {
                    epochs: own.epochs.or(config.diff_scm.epochs),
                    ..config.diff_scm.clone()
                };
                Box::new(DiffScm::fit(data, &diffusion, own.seed, resources, monitor)?)
            }
            Self::CfqpKmeans => Box::new(Published::fit(data, Start::Kmeans, own, resources, monitor)?),
            Self::CfqpGmm => Box::new(Published::fit(data, Start::Gmm, own, resources, monitor)?),
            Self::Cfqp => Box::new(Own::fit(data, own, config.rho, resources, monitor)?),
            Self::Oracle => {
                let hint = "it learns from the truth and must be told it; leave the oracle out";
                return Err(Error::config("method", "the oracle is no estimator", hint));
            }
        })
    }
}

/// Settings of all methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MethodConfig {
    /// Of every method that fits a mixture: classes, base model, epochs. Its seed is the seed of all methods.
    pub fit: FitConfig,
    /// How much of a unit's noise is the same in both worlds: an assumption, used by our own method and the oracle.
    pub rho: f32,
    /// Of synthetic control.
    pub sc: SyntheticControlConfig,
    /// Of the normalising flow; `fit.epochs`, where given, goes before its own.
    pub deep_scm: DeepScmConfig,
    /// Of the diffusion; `fit.epochs`, where given, goes before its own.
    pub diff_scm: DiffScmConfig,
}

impl Default for MethodConfig {
    fn default() -> Self {
        Self {
            fit: FitConfig::default(),
            rho: Ask::default().rho,
            sc: SyntheticControlConfig::default(),
            deep_scm: DeepScmConfig::default(),
            diff_scm: DiffScmConfig::default(),
        }
    }
}

impl MethodConfig {
    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        self.fit.check()?;
        Ask { rho: self.rho, ..Ask::default() }.check()?;
        self.sc.check()?;
        self.deep_scm.check()?;
        self.diff_scm.check()
    }
}
