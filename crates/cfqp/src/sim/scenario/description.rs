//! The description of a scenario.

use serde::{Deserialize, Serialize};

use super::dose::CurveForm;
use super::forms::{ClassDifference, CovariateEffect, NoiseScale, ScenarioNoise, ScenarioOutcome};
use super::surface::SurfaceForm;
use super::treatment::TreatmentKind;
use super::weights::WeightKind;

/// What a scenario is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioDescription {
    /// The seed that everything is drawn from.
    pub world_seed: u64,
    /// The number of classes.
    pub classes: usize,
    /// The number of subjects.
    pub subjects: usize,
    /// The number of units of every subject.
    pub repeats: usize,
    /// The number of units.
    pub units: usize,
    /// The number of covariates; 0 is recorded as one constant column.
    pub covariates: usize,
    /// The number of covariates that matter.
    pub relevant_covariates: usize,
    /// The number of columns with few whole numbers.
    pub categorical_covariates: usize,
    /// The number of log-normal columns.
    pub skewed_covariates: usize,
    /// The correlation of the scores behind any two covariates.
    pub covariate_correlation: f64,
    /// The share of missing cells of x.
    pub missing: f64,
    /// The kind of treatment.
    pub treatment: TreatmentKind,
    /// The number of different treatments; none if there is no limit.
    pub treatment_values: Option<usize>,
    /// Whether the treatment depends on covariates.
    pub confounded: bool,
    /// What the class probabilities depend on.
    pub class_weights: WeightKind,
    /// The kind of outcome.
    pub outcome: ScenarioOutcome,
    /// The number of outcomes.
    pub outcomes: usize,
    /// How the outcome depends on covariates.
    pub base: SurfaceForm,
    /// How the outcome depends on the treatment.
    pub response: CurveForm,
    /// How covariates change the response to the treatment.
    pub covariate_effect: CovariateEffect,
    /// In what classes differ.
    pub class_difference: ClassDifference,
    /// The root mean squared difference of two classes in standard deviations of the noise, with several classes.
    pub class_distance: Option<f64>,
    /// The form of the noise of numbers.
    pub noise: Option<ScenarioNoise>,
    /// What the scale of that noise depends on.
    pub noise_scale: Option<NoiseScale>,
    /// Its standard deviation over that of what covariates and treatment explain in all classes alike.
    pub noise_share: Option<f64>,
    /// The decades between the 1% and 99% quantiles of positive outcomes, roughly.
    pub decades: Option<f64>,
    /// The correlation of the noise of two outcomes of a unit.
    pub outcome_correlation: f64,
    /// The correlation of the noise of two units of a subject, with repeats.
    pub within_correlation: Option<f64>,
}
