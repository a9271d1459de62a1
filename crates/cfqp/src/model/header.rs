//! The header of a model file: everything except the arrays.

use serde::{Deserialize, Serialize};

use super::mixture::Mixture;
use super::predictor::Predictor;
use super::{Calibration, FitReport, Prior, Scales};
use crate::config::FitConfig;
use crate::data::Scaler;
use crate::data::table::{Layout, UnitShapes};
use crate::density::{Ensemble, Form, LevelCalibration, OutcomeScale};
use crate::models::{BaseConfig, Shapes};

/// Largest number of elements of one unit that a model file may have.
const MAX_ELEMENTS: usize = 1 << 24;

/// Everything in a model file except the arrays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub version: String,
    pub config: FitConfig,
    pub shapes: Shapes,
    pub base: BaseConfig,
    pub classes: usize,
    pub scaler: Scaler,
    /// Networks of the class means and their calibration; none in a model of mixture density networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<MixtureHeader>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<MixtureHeader>,
    /// Mixture density networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<DensityHeader>,
    pub report: FitReport,
    /// The hash of the units that the model was fitted to; absent in files of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// The columns of the table that the model was fitted to; absent in files of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// An ensemble of mixture density networks without their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DensityHeader {
    /// The form of every member.
    pub forms: Vec<Form>,
    pub scales: Vec<OutcomeScale>,
    pub calibration: LevelCalibration,
    /// Of intervals of probabilities, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance_calibration: Option<LevelCalibration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_rho: Option<f64>,
    /// The variance of the error of the ensemble over that between members, as far as members err independently.
    pub error_ratio: f64,
    /// The variance of the error that all members have in common over that between members.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub common_error: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl DensityHeader {
    pub(crate) fn new(ensemble: &Ensemble) -> Self {
        Self {
            forms: ensemble.members.iter().map(|member| member.form.clone()).collect(),
            scales: ensemble.scales.clone(),
            calibration: ensemble.calibration.clone(),
            chance_calibration: ensemble.chance_calibration.clone(),
            learned_rho: ensemble.learned_rho,
            error_ratio: ensemble.error_ratio,
            common_error: ensemble.common_error,
        }
    }

    /// Whether it has the sizes of the header.
    fn is_sound(&self, header: &Header) -> bool {
        let (x, d) = (header.scaler.x.elements(), header.scaler.y.elements());
        let x = x * (1 + usize::from(header.shapes.missing));
        let form = |form: &Form| {
            let inputs = form.x_cosines.len() == x && form.t_cosines.len() == header.shapes.t;
            let elements = form.is_bounded() && form.elements().len() == d;
            inputs && form.outcomes == self.scales.len() && elements
        };
        let chosen = self.forms.first().is_some_and(|first| first.classes == header.classes);
        let rho = self.learned_rho.is_none_or(|rho| (0.0..=1.0).contains(&rho));
        chosen
            && self.forms.iter().all(form)
            && [self.error_ratio, self.common_error].iter().all(|ratio| (0.0..100.0).contains(ratio))
            && rho
            && self.scales.iter().all(|scale| scale.is_sound())
            && self.calibration.is_sound()
            && self.chance_calibration.as_ref().is_none_or(LevelCalibration::is_sound)
    }
}

/// A mixture without its networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MixtureHeader {
    /// The number of members.
    pub members: usize,
    /// The number of networks of each member: one per class, or one.
    pub networks: usize,
    pub scales: Scales,
    pub prior: Prior,
}

impl MixtureHeader {
    pub(crate) fn new(mixture: &Mixture) -> Self {
        Self {
            members: mixture.members.len(),
            networks: mixture.members[0].nets.len(),
            scales: mixture.scales.clone(),
            prior: mixture.prior.clone(),
        }
    }
}

impl Header {
    /// Describes the networks of `predictor`.
    pub(crate) fn describe(&mut self, predictor: &Predictor) {
        match predictor {
            Predictor::ClassNetworks(networks) => {
                self.calibration = Some(networks.calibration.clone());
                self.members = Some(MixtureHeader::new(&networks.mixture));
                self.alternatives = networks.alternatives.iter().map(MixtureHeader::new).collect();
            }
            Predictor::Density(ensemble) => self.density = Some(DensityHeader::new(ensemble)),
        }
    }

    /// Checks that sizes agree and values are finite; the error says what is wrong.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let elements = |shape: &[usize]| shape.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
        let bounded = |shape: &[usize]| elements(shape).is_some_and(|n| n <= MAX_ELEMENTS);
        if !(bounded(self.scaler.x.shape()) && bounded(self.scaler.y.shape()) && self.base.is_bounded()) {
            return Err("header: the sizes are too large".to_owned());
        }
        let (x, t, y) = (&self.scaler.x, &self.scaler.t, &self.scaler.y);
        let scalers = x.is_sound() && t.is_sound() && y.is_sound() && self.scaler.x_variance > 0.0;
        let shapes = x.shape() == self.shapes.x && t.shape() == [self.shapes.t] && y.shape() == self.shapes.y;
        let d = self.scaler.y.elements();
        let part = |part: &MixtureHeader| {
            let networks = part.networks == 1 || part.networks == self.classes;
            let sound = part.scales.is_sound(self.classes, d, self.shapes.t);
            part.members > 0 && networks && sound && part.prior.is_sound(self.classes, &self.shapes.x)
        };
        let layout = self.layout.as_ref().is_none_or(|layout| {
            let known = layout.is_sound() && layout.treatment_elements() == self.shapes.t;
            known && layout.shapes() == UnitShapes { x: self.shapes.x.clone(), y: self.shapes.y.clone() }
        });
        let checks = [
            ("layout", layout),
            ("classes", (1..=1000).contains(&self.classes) && self.shapes.classes == 0),
            ("scaler", scalers && shapes),
            ("calibration", self.calibration.iter().all(|calibration| calibration.is_sound(d))),
            ("mixture", self.members.iter().all(part) && self.alternatives.iter().all(part)),
            ("density", self.density.iter().all(|density| density.is_sound(self))),
            ("predictor", self.members.is_some() != self.density.is_some()),
            ("predictor", self.members.is_some() == self.calibration.is_some()),
        ];
        match checks.iter().find(|(_, sound)| !sound) {
            Some((name, _)) => Err(format!("header: the {name} is invalid")),
            None => Ok(()),
        }
    }
}
