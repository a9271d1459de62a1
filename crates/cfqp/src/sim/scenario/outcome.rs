//! Outcomes: a base from the covariates, a response to the treatment, a part of the class, and noise.
//!
//! ```text
//! eta_k(x, t) = b(x) + r(t) + m(x) g(t) + level_k + h_k(t) + m_k(x) g_k(t)
//! number:   y = offset + scale (eta_k + s_k(x, t) e)
//! positive: y = exp(offset + scale (eta_k + s_k(x, t) e))
//! count:    negative binomial, mean exp(offset + scale eta_k)
//! yes/no:   log odds offset + scale eta_k
//! ```

use super::dose::{CurveForm, DoseFunction, curve_form};
use super::draw::{happens, log_uniform, moments, sign, standard};
use super::forms::{
    ClassDifference, CovariateEffect, NoiseScale, OutcomeForms, ScenarioNoise, ScenarioOutcome,
};
use super::surface::{Surface, SurfaceForm, surface_form};
use super::treatment::Coordinates;
use crate::Rng;
use crate::sim::noise::{NoiseForm, NoiseLaw};
use crate::sim::uniform;
use crate::sim::whole_law::WholeLaw;

/// Logarithms of positive outcomes stay within this, so that outcomes are finite in single precision.
const MAX_LOG: f64 = 60.0;
/// Rounding of outcomes may put noise this far below its smallest value.
const ROUNDING: f64 = 1e-3;

/// Covariates, class and treatment of units that functions are standardised with.
pub(super) struct Pilot {
    pub x: Vec<Vec<f64>>,
    pub z: Vec<usize>,
    pub t: Vec<Coordinates>,
    /// The covariates that matter.
    pub relevant: Vec<usize>,
}

/// One outcome.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    base: Option<(f64, Surface)>,
    response: (f64, DoseFunction),
    modifier: Option<Modifier>,
    classes: Vec<ClassPart>,
    /// The factor of the parts of the classes.
    class_weight: f64,
    form: NoiseForm,
    sd: f64,
    /// The change of the logarithm of the scale.
    scale: ScaleChange,
    link: Link,
}

/// m(x) g(t)
#[derive(Clone, Debug)]
struct Modifier {
    weight: f64,
    surface: Surface,
    dose: DoseFunction,
}

impl Modifier {
    fn at(&self, x: &[f64], t: &Coordinates) -> f64 {
        self.weight * self.surface.at(x) * self.dose.at(t)
    }
}

#[derive(Clone, Debug)]
struct ClassPart {
    level: f64,
    dose: Option<DoseFunction>,
    modifier: Option<Modifier>,
}

impl ClassPart {
    fn at(&self, x: &[f64], t: &Coordinates) -> f64 {
        let dose = self.dose.as_ref().map_or(0.0, |dose| dose.at(t));
        self.level + dose + self.modifier.as_ref().map_or(0.0, |modifier| modifier.at(x, t))
    }
}

#[derive(Clone, Debug)]
enum ScaleChange {
    None,
    Covariates(Surface),
    Treatment(DoseFunction),
    Class(Vec<f64>),
}

/// From eta to the outcome: offset + scale eta.
#[derive(Clone, Copy, Debug)]
struct Link {
    kind: ScenarioOutcome,
    offset: f64,
    scale: f64,
    /// The coefficient of variation of the rate of a count.
    variation: f64,
}

/// The distribution of an outcome given covariates, treatment and class.
#[derive(Clone, Debug)]
pub(super) enum OutcomeLaw {
    Number(NumberLaw),
    Whole(WholeLaw),
}

/// A number, or the exponential of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberLaw {
    location: f64,
    noise: NoiseLaw,
    pub is_log: bool,
}

impl NumberLaw {
    /// The outcome whose noise has this score; of positive outcomes, its logarithm.
    pub(super) fn value(self, score: f64) -> f64 {
        let value = self.location + self.noise.value(score);
        if self.is_log { value.clamp(-MAX_LOG, MAX_LOG) } else { value }
    }

    pub(super) fn score(self, value: f64) -> f64 {
        self.noise.score(self.residual(value))
    }

    pub(super) fn log_density(self, value: f64) -> f64 {
        self.noise.log_density(self.residual(value))
    }

    fn residual(self, value: f64) -> f64 {
        let residual = value - self.location;
        let lowest = -self.noise.sd;
        let is_rounded = self.noise.form == NoiseForm::Exponential
            && residual < lowest
            && residual > (1.0 + ROUNDING) * lowest;
        if is_rounded { lowest } else { residual }
    }
}

impl Outcome {
    pub(super) fn new(rng: &mut Rng, forms: &OutcomeForms, pilot: &Pilot) -> Self {
        let Pilot { x, t, relevant, .. } = pilot;
        let base = (!relevant.is_empty()).then(|| (1.0, Surface::new(rng, forms.base, relevant, x)));
        let response = (uniform(rng, 0.3, 1.5), DoseFunction::new(rng, forms.curve, t));
        let is_modified = forms.covariate_effect != CovariateEffect::None;
        let modifier = is_modified.then(|| Modifier::new(rng, uniform_weight, pilot, forms.curve));
        let classes = (0..forms.classes).map(|_| ClassPart::new(rng, forms, pilot)).collect();
        let form = match forms.noise {
            ScenarioNoise::Normal => NoiseForm::Normal,
            ScenarioNoise::Heavy => NoiseForm::Student,
            ScenarioNoise::Skewed => NoiseForm::Exponential,
        };
        let scale = ScaleChange::new(rng, forms, pilot);
        let link = Link { kind: forms.kind, offset: 0.0, scale: 1.0, variation: uniform(rng, 0.1, 0.6) };
        let mut outcome =
            Self { base, response, modifier, classes, class_weight: 0.0, form, sd: 1.0, scale, link };
        let (_, signal) = moments((0..x.len()).map(|i| outcome.location(&x[i], &t[i], 0)));
        outcome.sd = forms.noise_share * signal;
        outcome.class_weight = forms.class_distance * outcome.sd / outcome.class_spread(pilot);
        outcome.choose_link(rng, forms, pilot);
        outcome
    }

    /// The root mean squared difference of the parts of two classes.
    fn class_spread(&self, pilot: &Pilot) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (x, t) in pilot.x.iter().zip(&pilot.t) {
            let parts: Vec<f64> = self.classes.iter().map(|class| class.at(x, t)).collect();
            for (k, one) in parts.iter().enumerate() {
                for other in &parts[..k] {
                    sum += (one - other).powi(2);
                    count += 1.0;
                }
            }
        }
        if sum > 0.0 { (sum / count).sqrt() } else { 1.0 }
    }

    fn choose_link(&mut self, rng: &mut Rng, forms: &OutcomeForms, pilot: &Pilot) {
        let eta = |i: usize| self.location(&pilot.x[i], &pilot.t[i], pilot.z[i]);
        let (mean, sd) = moments((0..pilot.x.len()).map(eta));
        let total = (sd * sd + self.sd * self.sd).sqrt();
        let (centre, spread) = match forms.kind {
            ScenarioOutcome::Number => {
                let scale = if happens(rng, 0.5) { 1.0 } else { log_uniform(rng, 0.2, 100.0) };
                self.link.offset = if happens(rng, 0.5) { scale * uniform(rng, -3.0, 6.0) } else { 0.0 };
                self.link.scale = scale;
                return;
            }
            ScenarioOutcome::Positive => {
                let spread = forms.decades * std::f64::consts::LN_10 / 4.65;
                (uniform(rng, -2.0, 5.0), spread / total)
            }
            ScenarioOutcome::Count => (log_uniform(rng, 1.5, 15.0).ln(), uniform(rng, 0.35, 0.9) / sd),
            ScenarioOutcome::YesNo => (uniform(rng, -1.0, 1.0), uniform(rng, 1.0, 2.5) / sd),
        };
        self.link.scale = spread;
        self.link.offset = centre - spread * mean;
    }

    /// eta_k(x, t)
    fn location(&self, x: &[f64], t: &Coordinates, k: usize) -> f64 {
        let base = self.base.as_ref().map_or(0.0, |(weight, surface)| weight * surface.at(x));
        let response = self.response.0 * self.response.1.at(t);
        let modifier = self.modifier.as_ref().map_or(0.0, |modifier| modifier.at(x, t));
        base + response + modifier + self.class_weight * self.classes[k].at(x, t)
    }

    /// The distribution of the outcome.
    pub(super) fn law(&self, x: &[f64], t: &Coordinates, k: usize) -> OutcomeLaw {
        let Link { kind, offset, scale, variation } = self.link;
        let location = offset + scale * self.location(x, t, k);
        match kind {
            ScenarioOutcome::Number | ScenarioOutcome::Positive => {
                let change = match &self.scale {
                    ScaleChange::None => 0.0,
                    ScaleChange::Covariates(surface) => 0.4 * surface.at(x).clamp(-2.0, 2.0),
                    ScaleChange::Treatment(dose) => 0.4 * dose.at(t).clamp(-2.0, 2.0),
                    ScaleChange::Class(logs) => logs[k],
                };
                let noise = NoiseLaw { form: self.form, sd: scale * self.sd * change.exp() };
                OutcomeLaw::Number(NumberLaw { location, noise, is_log: kind == ScenarioOutcome::Positive })
            }
            ScenarioOutcome::Count => {
                OutcomeLaw::Whole(WholeLaw::negative_binomial(location.clamp(-5.0, 4.5).exp(), variation))
            }
            ScenarioOutcome::YesNo => OutcomeLaw::Whole(WholeLaw::chance(1.0 / (1.0 + (-location).exp()))),
        }
    }
}

fn uniform_weight(rng: &mut Rng) -> f64 {
    uniform(rng, 0.3, 0.9)
}

impl Modifier {
    fn new(rng: &mut Rng, weight: fn(&mut Rng) -> f64, pilot: &Pilot, curve: CurveForm) -> Self {
        let count = pilot.relevant.len().min(2);
        let columns = &pilot.relevant[..count];
        let form = if happens(rng, 0.6) { SurfaceForm::Linear } else { surface_form(rng) };
        Self {
            weight: weight(rng),
            surface: Surface::new(rng, form, columns, &pilot.x),
            dose: DoseFunction::new(rng, curve, &pilot.t),
        }
    }
}

impl ClassPart {
    fn new(rng: &mut Rng, forms: &OutcomeForms, pilot: &Pilot) -> Self {
        let (has_level, has_dose) = match forms.difference {
            ClassDifference::None => (false, false),
            ClassDifference::Level => (true, false),
            ClassDifference::Response => (false, true),
            ClassDifference::Both => (true, true),
        };
        let level = if has_level { standard(rng) } else { 0.0 };
        let own_curve = |rng: &mut Rng| if happens(rng, 0.5) { forms.curve } else { curve_form(rng) };
        let dose = has_dose.then(|| {
            let form = own_curve(rng);
            DoseFunction::new(rng, form, &pilot.t).times(sign(rng) * uniform(rng, 0.5, 1.5))
        });
        let is_modified = has_dose && forms.covariate_effect == CovariateEffect::ByClass;
        let modifier = is_modified.then(|| {
            let form = own_curve(rng);
            Modifier::new(rng, uniform_weight, pilot, form)
        });
        Self { level, dose, modifier }
    }
}

impl ScaleChange {
    fn new(rng: &mut Rng, forms: &OutcomeForms, pilot: &Pilot) -> Self {
        match forms.noise_scale {
            NoiseScale::Constant => Self::None,
            NoiseScale::Covariates => {
                Self::Covariates(Surface::new(rng, SurfaceForm::Linear, &pilot.relevant, &pilot.x))
            }
            NoiseScale::Treatment => Self::Treatment(DoseFunction::new(rng, CurveForm::Linear, &pilot.t)),
            NoiseScale::Class => Self::Class((0..forms.classes).map(|_| uniform(rng, -0.6, 0.6)).collect()),
        }
    }
}
