//! A fitted model: what it is made of, and its file.

use std::path::Path;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::components::Components;
use super::mixture::Mixture;
use super::{Calibration, Prior, Resources, Scales, Support};
use crate::config::{FitConfig, Sharing, Start};
use crate::data::{Layout, Scaler, read_container, write_container};
use crate::models::{BaseConfig, Shapes};
use crate::nn::{Weight, load_weights, save_weights};
use crate::{Error, Result, stream};

/// More elements than this in one unit, no file has.
const MOST_ELEMENTS: usize = 1 << 24;

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub(crate) header: Header,
    pub(crate) mixture: Mixture,
    /// Other solutions that held-out units cannot rule out.
    pub(crate) alternatives: Vec<Mixture>,
    pub(crate) support: Support,
    pub(crate) device: Device,
    pub(crate) threads: usize,
}

/// All of a model but its arrays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub version: String,
    pub config: FitConfig,
    pub shapes: Shapes,
    pub base: BaseConfig,
    pub classes: usize,
    pub scaler: Scaler,
    pub calibration: Calibration,
    pub members: Part,
    pub alternatives: Vec<Part>,
    pub report: FitReport,
    /// The columns of the table that the units came from; files of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// One mixture's own settings, beside its networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// How many members.
    pub members: usize,
    /// How many networks each member has: one per class, or one.
    pub networks: usize,
    pub scales: Scales,
    pub prior: Prior,
}

impl Part {
    pub fn of(mixture: &Mixture) -> Self {
        Self {
            members: mixture.members.len(),
            networks: mixture.members[0].nets.len(),
            scales: mixture.scales.clone(),
            prior: mixture.prior.clone(),
        }
    }
}

/// How a fit went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitReport {
    /// Units that trained, that selected and that calibrated.
    pub units: [usize; 3],
    /// Every base model and number of classes tried.
    pub tried: Vec<Tried>,
    /// Every start of the chosen ones.
    pub starts: Vec<StartReport>,
    /// How far starts agree with the best on the classes: mean adjusted Rand index, weighted by nothing.
    pub agreement: f64,
    /// Whether one class explains held-out units as well.
    pub one_class_suffices: bool,
    /// Units of each class among those learned from.
    pub class_sizes: Vec<usize>,
    /// Largest class mean of |y - m_k| per element, in standardised outcomes: the bound on what is identified.
    pub delta_hat: f64,
    /// Mean -log likelihood of a unit that its member did not learn from.
    pub val_nll: f64,
    /// Mean squared error on such units, each under its most probable class, in standardised outcomes.
    pub val_mse: f64,
    /// Epochs of the longest training of a member.
    pub epochs: usize,
    /// How members are trained.
    pub effort: String,
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// A base model and a number of classes, as held-out units see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The base model.
    pub base: String,
    /// How many classes.
    pub classes: usize,
    /// Mean -log likelihood of a validation unit.
    pub nll: f64,
    /// The same under a law with a full scatter matrix.
    pub evidence: f64,
    /// What every class after the first must bring of it.
    #[serde(default)]
    pub price: f64,
    /// Mean squared error on validation units, each under its most probable class.
    pub mse: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl Tried {
    /// What K is chosen by: the evidence and the price of its classes; lower is better.
    pub fn priced(&self) -> f64 {
        self.evidence + self.price * (self.classes - 1) as f64
    }
}

/// One start of EM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReport {
    /// Which.
    pub start: Start,
    /// How its classes share networks.
    pub sharing: Sharing,
    /// Mean -log likelihood of a validation unit.
    pub nll: f64,
    /// Adjusted Rand index of its classes with the best start's.
    pub agreement: f64,
}

impl Fitted {
    /// How the fit went.
    pub fn report(&self) -> &FitReport {
        &self.header.report
    }

    /// The settings it was fitted with.
    pub fn config(&self) -> &FitConfig {
        &self.header.config
    }

    /// The columns of the table that it was fitted on, if it was a table.
    pub fn layout(&self) -> Option<&Layout> {
        self.header.layout.as_ref()
    }

    /// The same model, which remembers the columns of its table.
    pub fn with_layout(mut self, layout: Layout) -> Result<Self> {
        self.header.layout = Some(layout);
        self.header
            .check()
            .map_err(|problem| Error::data("layout", problem, "give the layout of the data"))?;
        Ok(self)
    }

    /// The version of this library that fitted it.
    pub fn version(&self) -> &str {
        &self.header.version
    }

    /// How many classes.
    pub fn classes(&self) -> usize {
        self.header.classes
    }

    /// What the base model is called.
    pub fn base(&self) -> &'static str {
        self.header.base.name()
    }

    /// How many members the ensemble has.
    pub fn members(&self) -> usize {
        self.mixture.members.len()
    }

    /// Whether all classes share one network that is told the class.
    pub fn shares(&self) -> bool {
        self.classes() > 1 && self.mixture.members[0].nets.len() == 1
    }

    /// The shapes of x, t and y.
    pub fn shapes(&self) -> &Shapes {
        &self.header.shapes
    }

    /// How x, t and y are standardised.
    pub fn scaler(&self) -> &Scaler {
        &self.header.scaler
    }

    /// Whether a class's scales depend on the treatment, and whether the weights depend on x.
    pub fn varies(&self) -> (bool, bool) {
        let scales = &self.mixture.scales;
        let curves = (0..self.classes()).any(|k| scales.depends_on_treatment(k));
        (curves, self.mixture.prior.depends_on_x())
    }

    /// Write the model to one file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut arrays = self.support.to_weights();
        let parts = std::iter::once(&self.mixture).chain(&self.alternatives);
        for (p, mixture) in parts.enumerate() {
            for (m, member) in mixture.members.iter().enumerate() {
                for (j, net) in member.nets.iter().enumerate() {
                    let named = |w: Weight| Weight { name: format!("{p}.{m}.{j}.{}", w.name), ..w };
                    arrays.extend(save_weights(net).into_iter().map(named));
                }
            }
        }
        write_container(path, &self.header, &arrays)
    }

    /// Read a model, checking all of it.
    pub fn load(path: &Path, resources: &Resources) -> Result<Self> {
        let device = &resources.device;
        let (header, arrays) = read_container(path)?;
        let wrong = |problem: String| {
            Error::file(
                path,
                problem,
                "the file is damaged or was made by other software: fit the model again",
            )
        };
        let header: Header = serde_json::from_value(header).map_err(|e| wrong(format!("header: {e}")))?;
        header.check().map_err(wrong)?;
        let (support, arrays) = Support::from_weights(&arrays, header.shapes.t)
            .ok_or_else(|| wrong("the remembered units are not in the file".into()))?;
        let mut arrays = arrays.iter().peekable();
        let mut mixtures = Vec::new();
        for (p, part) in std::iter::once(&header.members).chain(&header.alternatives).enumerate() {
            let mut members = Vec::new();
            for m in 0..part.members {
                let mut nets = Vec::new();
                for j in 0..part.networks {
                    let prefix = format!("{p}.{m}.{j}.");
                    let mut own = Vec::new();
                    while let Some(w) = arrays.next_if(|w| w.name.starts_with(&prefix)) {
                        own.push(Weight { name: w.name[prefix.len()..].to_owned(), ..w.clone() });
                    }
                    nets.push(header.network(part, &own, device).map_err(|e| e.in_file(path))?);
                }
                members.push(Components { nets, classes: header.classes });
            }
            mixtures.push(Mixture { members, scales: part.scales.clone(), prior: part.prior.clone() });
        }
        if let Some(extra) = arrays.next() {
            return Err(wrong(format!("array `{}` belongs to no network", extra.name)));
        }
        let mixture = mixtures.remove(0);
        Ok(Self {
            header,
            mixture,
            alternatives: mixtures,
            support,
            device: device.clone(),
            threads: resources.threads,
        })
    }
}

impl Header {
    fn network(&self, part: &Part, weights: &[Weight], device: &Device) -> Result<crate::models::Net> {
        let told = if part.networks == self.classes { 0 } else { self.classes };
        let shapes = Shapes { classes: told, ..self.shapes.clone() };
        load_weights(self.base.init(&shapes, &mut stream(0, &[]), device)?, weights)
    }

    fn check(&self) -> Result<(), String> {
        let elements = |shape: &[usize]| shape.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
        let bounded = |shape: &[usize]| elements(shape).is_some_and(|n| n <= MOST_ELEMENTS);
        if !(bounded(self.scaler.x.shape()) && bounded(self.scaler.y.shape()) && self.base.is_bounded()) {
            return Err("header: sizes beyond all reason".to_owned());
        }
        let (x, t, y) = (&self.scaler.x, &self.scaler.t, &self.scaler.y);
        let scalers = x.is_sound() && t.is_sound() && y.is_sound() && self.scaler.x_variance > 0.0;
        let shapes = x.shape() == self.shapes.x && t.shape() == [self.shapes.t] && y.shape() == self.shapes.y;
        let d = self.scaler.y.each();
        let part = |part: &Part| {
            let networks = part.networks == 1 || part.networks == self.classes;
            let sound = part.scales.is_sound(self.classes, d, self.shapes.t);
            part.members > 0 && networks && sound && part.prior.is_sound(self.classes, &self.shapes.x)
        };
        let layout = self.layout.as_ref().is_none_or(|layout| {
            let known = layout.is_sound() && layout.t.len() == self.shapes.t;
            known && layout.shapes() == (self.shapes.x.clone(), self.shapes.y.clone())
        });
        let checks = [
            ("layout", layout),
            ("classes", (1..=1000).contains(&self.classes) && self.shapes.classes == 0),
            ("scaler", scalers && shapes),
            ("calibration", self.calibration.is_sound(self.scaler.y.each())),
            ("mixture", part(&self.members) && self.alternatives.iter().all(part)),
        ];
        match checks.iter().find(|(_, sound)| !sound) {
            Some((name, _)) => Err(format!("header: the {name} cannot be right")),
            None => Ok(()),
        }
    }
}
