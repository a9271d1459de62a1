//! The forms of the outcomes of a scenario.

use serde::{Deserialize, Serialize};

use super::dose::{CurveForm, curve_form};
use super::draw::{choose, log_uniform};
use super::surface::{SurfaceForm, surface_form};
use crate::Rng;
use crate::sim::uniform;

/// Outcomes over more decades have normal noise: the exponential of skewed noise would have no mean.
const MAX_SKEWED_DECADES: f64 = 2.0;

/// The kind of outcome of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScenarioOutcome {
    /// A number.
    Number,
    /// A positive number over one to six decades.
    Positive,
    /// A count.
    Count,
    /// 0 or 1.
    YesNo,
}

/// In what classes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassDifference {
    /// There is one class.
    None,
    /// In level: classes respond alike to the treatment.
    Level,
    /// In the response to the treatment.
    Response,
    /// In level and response.
    Both,
}

/// How covariates change the response to the treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CovariateEffect {
    /// Not at all.
    None,
    /// In all classes alike.
    Alike,
    /// In each class differently.
    ByClass,
}

/// The form of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScenarioNoise {
    /// Normal.
    Normal,
    /// Student's t with 3 degrees of freedom.
    Heavy,
    /// Exponential.
    Skewed,
}

/// What the scale of the noise depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseScale {
    /// Nothing.
    Constant,
    /// Covariates.
    Covariates,
    /// The treatment.
    Treatment,
    /// The class.
    Class,
}

/// The forms that all outcomes of a scenario share.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutcomeForms {
    pub kind: ScenarioOutcome,
    pub classes: usize,
    pub difference: ClassDifference,
    pub covariate_effect: CovariateEffect,
    pub base: SurfaceForm,
    pub curve: CurveForm,
    pub noise: ScenarioNoise,
    pub noise_scale: NoiseScale,
    /// The standard deviation of the noise over that of base and common response.
    pub noise_share: f64,
    /// The root mean squared difference of two classes, in standard deviations of the noise.
    pub class_distance: f64,
    /// The decades of a positive outcome between its 1% and 99% quantiles.
    pub decades: f64,
}

/// The forms of the outcomes, and their number.
pub(super) fn draw_forms(rng: &mut Rng, classes: usize, has_covariates: bool) -> (OutcomeForms, usize) {
    let kind = choose(
        rng,
        &[
            (0.7, ScenarioOutcome::Number),
            (0.15, ScenarioOutcome::Positive),
            (0.07, ScenarioOutcome::Count),
            (0.08, ScenarioOutcome::YesNo),
        ],
    );
    let difference = choose(
        rng,
        &[(0.1, ClassDifference::Level), (0.45, ClassDifference::Response), (0.45, ClassDifference::Both)],
    );
    let effect = choose(
        rng,
        &[(0.35, CovariateEffect::None), (0.35, CovariateEffect::Alike), (0.3, CovariateEffect::ByClass)],
    );
    let covariate_effect = match effect {
        _ if !has_covariates => CovariateEffect::None,
        CovariateEffect::ByClass if classes == 1 || difference == ClassDifference::Level => {
            CovariateEffect::Alike
        }
        effect => effect,
    };
    let noise = choose(
        rng,
        &[(0.55, ScenarioNoise::Normal), (0.25, ScenarioNoise::Heavy), (0.2, ScenarioNoise::Skewed)],
    );
    let noise_scale = choose(
        rng,
        &[
            (0.5, NoiseScale::Constant),
            (0.17, NoiseScale::Covariates),
            (0.17, NoiseScale::Treatment),
            (0.16, NoiseScale::Class),
        ],
    );
    let noise_scale = match noise_scale {
        NoiseScale::Covariates if !has_covariates => NoiseScale::Treatment,
        NoiseScale::Class if classes == 1 => NoiseScale::Constant,
        scale => scale,
    };
    let count = choose(rng, &[(0.8, 1), (0.12, 2), (0.08, 3)]);
    let [noise_share, class_distance, decades] =
        [log_uniform(rng, 0.1, 1.0), uniform(rng, 0.5, 4.0), uniform(rng, 1.0, 6.0)];
    // the exponential of heavy-tailed noise has no mean
    let is_light = noise == ScenarioNoise::Skewed && decades <= MAX_SKEWED_DECADES;
    let noise = match kind {
        ScenarioOutcome::Positive if !is_light => ScenarioNoise::Normal,
        _ => noise,
    };
    let forms = OutcomeForms {
        kind,
        classes,
        difference: if classes == 1 { ClassDifference::None } else { difference },
        covariate_effect,
        base: surface_form(rng),
        curve: curve_form(rng),
        noise,
        noise_scale,
        noise_share,
        class_distance,
        decades,
    };
    (forms, if kind == ScenarioOutcome::Number { count } else { 1 })
}
