//! The header of a model file: everything except the arrays.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::mixture::Mixture;
use super::predictor::Predictor;
use super::{Calibration, FitReport, Prior, Scales};
use crate::config::FitConfig;
use crate::data::Scaler;
use crate::data::table::{Layout, UnitShapes};
use crate::density::{Ensemble, Form, Group, OutcomeRange, OutcomeScale};
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
    /// The groups of members; absent in files of 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// The range of every element of the outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<OutcomeRange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_rho: Option<f64>,
    /// What files of 0.1.0 have, and is not used any more.
    #[serde(default, skip_serializing)]
    calibration: IgnoredAny,
    #[serde(default, skip_serializing)]
    chance_calibration: IgnoredAny,
    #[serde(default, skip_serializing)]
    error_ratio: IgnoredAny,
    #[serde(default, skip_serializing)]
    common_error: IgnoredAny,
}

/// The variance of the error of an ensemble over that between its members, where these are fitted to halves: files of 0.1.0.
const HALVES_ERROR_RATIO: f64 = 4.0;

impl DensityHeader {
    pub(crate) fn new(ensemble: &Ensemble) -> Self {
        Self {
            forms: ensemble.members.iter().map(|member| member.form.clone()).collect(),
            scales: ensemble.scales.clone(),
            groups: ensemble.groups.clone(),
            ranges: ensemble.ranges.clone(),
            learned_rho: ensemble.learned_rho,
            calibration: IgnoredAny,
            chance_calibration: IgnoredAny,
            error_ratio: IgnoredAny,
            common_error: IgnoredAny,
        }
    }

    /// The groups of members. Files of 0.1.0 have none: there, members with the same number of classes follow each other.
    pub(crate) fn groups(&self) -> Vec<Group> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        let same = self.forms.chunk_by(|a, b| a.classes == b.classes);
        let group = |forms: &[Form]| Group {
            members: forms.len(),
            weight: forms.len() as f64 / self.forms.len() as f64,
            error_ratio: HALVES_ERROR_RATIO,
            unseen_share: 0.0,
        };
        same.map(group).collect()
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
            && self.are_sound_groups()
            && rho
            && (self.ranges.is_empty() || self.ranges.len() == d)
            && self.ranges.iter().all(OutcomeRange::is_sound)
            && self.scales.iter().all(|scale| scale.is_sound())
    }
}

impl DensityHeader {
    /// Whether the groups are those of the members: each of one form, with weights that add up to 1.
    fn are_sound_groups(&self) -> bool {
        let groups = self.groups();
        let mut first = 0;
        let sound = groups.iter().all(|group| {
            let Some(forms) = self.forms.get(first..first + group.members) else { return false };
            first += group.members;
            let alike = forms.iter().all(|form| form.classes == forms[0].classes);
            !forms.is_empty()
                && alike
                && (0.0..=1.0).contains(&group.weight)
                && (0.0..1000.0).contains(&group.error_ratio)
                && (0.0..1000.0).contains(&group.unseen_share)
        });
        let total: f64 = groups.iter().map(|group| group.weight).sum();
        sound && first == self.forms.len() && (total - 1.0).abs() < 1e-6
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
