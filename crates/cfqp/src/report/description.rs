//! Everything about a model that is not a number of its networks.

use serde::Serialize;

use super::observed::{OutcomeElements, serialise_kind};
use super::{ModelSummary, array_treatment_names, summarise_model};
use crate::ask::Tabulation;
use crate::config::Sharing;
use crate::data::OutcomeKind;
use crate::data::table::{Layout, TableForm};
use crate::density::{ClassWeights, NoiseLaw};
use crate::model::Model;

/// A description of a model: what it was fitted to, and what was chosen.
///
/// ```
/// # use cfqp::{Base, Classes, Fit, FitConfig, sim::Oscillator};
/// # let data = Oscillator::default().simulate(200, 1)?.data;
/// # let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
/// # let model = Fit::new(config).run(&data)?;
/// let about = model.describe();
/// assert_eq!((about.summary.classes, about.treatments[0].name.as_str()), (2, "t"));
/// assert_eq!((about.outcomes[1].name.as_str(), about.outcomes[1].elements), ("y1", 20));
/// assert_eq!((about.y_shape, about.learned_rho), (vec![2, 20], None));
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ModelDescription {
    /// The version, the classes, the base model, the members, the settings, the layout and the report of the fit.
    #[serde(flatten)]
    pub summary: ModelSummary,
    /// The outcomes.
    pub outcomes: Vec<OutcomeDescription>,
    /// The treatments.
    pub treatments: Vec<TreatmentDescription>,
    /// The columns of covariates, those of series first; empty for arrays.
    pub covariates: Vec<String>,
    /// The shape of the covariates of a unit.
    pub x_shape: Vec<usize>,
    /// The shape of its treatment: levels are one element each, but the first.
    pub t_shape: Vec<usize>,
    /// The shape of its outcome.
    pub y_shape: Vec<usize>,
    /// Whether covariates may be missing.
    pub missing_values: bool,
    /// Whether classes share a network.
    pub sharing: Sharing,
    /// What class weights depend on before the outcome is observed.
    pub class_weights: ClassWeights,
    /// Whether noise scales depend on the treatment.
    pub scales_depend_on_treatment: bool,
    /// The law of the noise; none if no outcome is a number or an amount.
    pub noise_law: Option<NoiseLaw>,
    /// Whether outcomes are modelled on the logarithmic scale.
    pub log_scale: bool,
    /// The correlation of the noise of two units of one subject; none if the fit saw no subject more than once.
    pub learned_rho: Option<f64>,
    /// The hash of the units of the fit; none for files of early versions.
    pub data_hash: Option<String>,
}

/// An outcome of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeDescription {
    /// Its name: that of a column, of a series, or of an element of an array.
    pub name: String,
    /// What it is, by [`OutcomeKind::name`] in JSON.
    #[serde(serialize_with = "serialise_kind")]
    pub kind: OutcomeKind,
    /// Its elements in y: points in time, or the levels of a category.
    pub elements: usize,
    /// The levels of a category, or no and yes; none for other outcomes.
    pub levels: Option<Vec<String>>,
}

/// A treatment of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreatmentDescription {
    /// Its name.
    pub name: String,
    /// Its levels, the reference first; none for numbers.
    pub levels: Option<Vec<String>>,
}

impl Model {
    /// What the model was fitted to, and what was chosen.
    pub fn describe(&self) -> ModelDescription {
        let (shapes, kinds) = (self.shapes(), self.outcome_kinds());
        let is_amount = |kind: &OutcomeKind| matches!(kind, OutcomeKind::Number | OutcomeKind::Amount);
        ModelDescription {
            summary: summarise_model(self),
            outcomes: describe_outcomes(self, &kinds),
            treatments: describe_treatments(self),
            covariates: self.layout().map_or(Vec::new(), covariate_columns),
            x_shape: shapes.x.clone(),
            t_shape: vec![shapes.t],
            y_shape: shapes.y.clone(),
            missing_values: shapes.missing,
            sharing: if self.is_shared() { Sharing::Conditional } else { Sharing::Separate },
            class_weights: self.class_weights(),
            scales_depend_on_treatment: self.scale_depends_on_treatment(),
            noise_law: kinds.iter().any(is_amount).then(|| self.noise_law()),
            log_scale: self.is_log_scale(),
            learned_rho: self.learned_rho(),
            data_hash: self.data_hash().map(str::to_owned),
        }
    }
}

fn describe_outcomes(model: &Model, kinds: &[OutcomeKind]) -> Vec<OutcomeDescription> {
    let tabulation = Tabulation::new(model);
    let outcome = |OutcomeElements { name, kind, range, levels }| OutcomeDescription {
        name,
        kind,
        elements: range.len(),
        levels,
    };
    OutcomeElements::group(tabulation.outcomes(), kinds, model.layout()).into_iter().map(outcome).collect()
}

fn describe_treatments(model: &Model) -> Vec<TreatmentDescription> {
    match model.layout() {
        Some(layout) => {
            let columns = layout.t.iter();
            columns
                .map(|column| TreatmentDescription {
                    name: column.name.clone(),
                    levels: column.levels.clone(),
                })
                .collect()
        }
        None => {
            let names = array_treatment_names(model.shapes().t).into_iter();
            names.map(|name| TreatmentDescription { name, levels: None }).collect()
        }
    }
}

fn covariate_columns(layout: &Layout) -> Vec<String> {
    match &layout.form {
        TableForm::Wide { x, .. } => x.columns(),
        TableForm::Long(samples) => {
            let fixed = samples.fixed.iter().map(|feature| feature.name.clone());
            samples.series.iter().cloned().chain(fixed).collect()
        }
    }
}
