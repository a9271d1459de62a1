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
        Ok(match config.used_by(self) {
            Used::One(config) => Box::new(DeepIte::fit(data, &config, resources, monitor)?),
            Used::Donors(config) => Box::new(SyntheticControl::fit(data, &config, resources)?),
            Used::Flow(config, seed) => Box::new(DeepScm::fit(data, &config, seed, resources, monitor)?),
            Used::Diffusion(config, seed) => Box::new(DiffScm::fit(data, &config, seed, resources, monitor)?),
            Used::Published(start, config) => {
                Box::new(Published::fit(data, start, &config, resources, monitor)?)
            }
            Used::Own(config, rho) => Box::new(Own::fit(data, &config, rho, resources, monitor)?),
            Used::Told(..) => {
                let hint = "it learns from the truth and must be told it; leave the oracle out";
                return Err(Error::config("method", "the oracle is no estimator", hint));
            }
        })
    }
}

/// What of the settings of all methods one of them uses.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum Used {
    One(FitConfig),
    Donors(SyntheticControlConfig),
    /// With the seed.
    Flow(DeepScmConfig, u64),
    /// With the seed.
    Diffusion(DiffScmConfig, u64),
    Published(Start, FitConfig),
    /// With rho.
    Own(FitConfig, f32),
    /// With rho.
    Told(FitConfig, f32),
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
    /// Of the normalising flow; `fit.epochs` and `fit.learning_rate`, where given, go before its own.
    pub deep_scm: DeepScmConfig,
    /// Of the diffusion; `fit.epochs` and `fit.learning_rate`, where given, go before its own.
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
    pub(crate) fn used_by(&self, method: Method) -> Used {
        let own = self.fit.clone();
        match method {
            Method::DeepIte => Used::One(own),
            Method::Sc => Used::Donors(self.sc),
            Method::DeepScm => {
                let mut flow = self.deep_scm.clone();
                flow.epochs = own.epochs.or(flow.epochs);
                flow.learning_rate = own.learning_rate.or(flow.learning_rate);
                Used::Flow(flow, own.seed)
            }
            Method::DiffScm => {
                let mut diffusion = self.diff_scm.clone();
                diffusion.epochs = own.epochs.or(diffusion.epochs);
                diffusion.learning_rate = own.learning_rate.unwrap_or(diffusion.learning_rate);
                Used::Diffusion(diffusion, own.seed)
            }
            Method::CfqpKmeans => Used::Published(Start::Kmeans, own),
            Method::CfqpGmm => Used::Published(Start::Gmm, own),
            Method::Cfqp => Used::Own(own, self.rho),
            Method::Oracle => Used::Told(own, self.rho),
        }
    }

    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        self.fit.check()?;
        Ask { rho: self.rho, ..Ask::default() }.check()?;
        self.sc.check()?;
        self.deep_scm.check()?;
        self.diff_scm.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_depends_on_its_own_settings_alone() {
        let text =
            |config: &MethodConfig, method: Method| serde_json::to_string(&config.used_by(method)).unwrap();
        let usual = MethodConfig::default();
        let mut other = usual.clone();
        other.deep_scm.couplings += 1;
        other.diff_scm.tolerance *= 2.0;
        for method in Method::ALL {
            let own = matches!(method, Method::DeepScm | Method::DiffScm);
            assert_eq!(text(&usual, method) != text(&other, method), own, "{method:?}");
        }
        let mut faster = usual.clone();
        faster.fit.learning_rate = Some(0.5);
        for method in Method::ALL {
            assert_eq!(text(&usual, method) == text(&faster, method), method == Method::Sc, "{method:?}");
        }
    }
}
