//! All that a report on a model and some units says, as numbers; how it looks is not decided here.
//!
//! A low and a high treatment are compared throughout: the 10th and the 90th percentile, if nothing else is asked.

mod classes;
mod evidence;
mod glance;
mod responses;
mod units;

use serde::Serialize;

pub use classes::{ClassSummary, CovariateMeans};
pub use evidence::Evidence;
pub use glance::{Glance, Histogram, OutcomeGlance, TreatmentGlance};
pub use responses::{Curve, Curves, Effects, OutcomeCurves, OutcomeEffects};
pub use units::{UnitCurve, UnitSummary};

use super::answer::Ask;
use super::judge::{Verdict, quantiles};
use super::tabulate::Tabulation;
use crate::config::FitConfig;
use crate::data::{Layout, Part};
use crate::em::{FitReport, Fitted};
use crate::{Dataset, Result, Units};

/// Numbers that are looked at per array, at most about: large units are fewer.
const NUMBERS: usize = 100_000;
/// Units that are looked at, at least and at most.
const LOOKED_AT: (usize, usize) = (200, 2500);
/// Treatments on a dose curve.
const STEPS: usize = 13;
/// The percentiles that a dose curve runs between.
const ENDS: (f64, f64) = (0.02, 0.98);

/// What a report should be about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSpec {
    /// The low treatment; none: the 10th percentile.
    pub from: Option<Vec<f32>>,
    /// The high treatment; none: the 90th percentile.
    pub to: Option<Vec<f32>>,
    /// How to ask.
    pub ask: Ask,
}

/// What there is to say about a model and some units.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was asked.
    pub question: ReportQuestion,
    /// The data at a glance.
    pub data: Glance,
    /// The verdict on each assumption.
    pub verdicts: Vec<Verdict>,
    /// What the verdicts rest on.
    pub evidence: Evidence,
    /// The hidden classes.
    pub classes: Vec<ClassSummary>,
    /// Mean responses of classes under a range of treatments.
    pub curves: Curves,
    /// Effects of the high treatment against the low one.
    pub effects: Effects,
    /// Units of interest.
    pub units: Vec<UnitSummary>,
    /// The model.
    pub model: ModelSummary,
}

/// What a report compares.
#[derive(Clone, Debug, Serialize)]
pub struct ReportQuestion {
    /// The names of the treatments.
    pub treatments: Vec<String>,
    /// The names of the outcomes.
    pub outcomes: Vec<String>,
    /// The low treatment.
    pub from: Vec<f32>,
    /// The median treatment.
    pub middle: Vec<f32>,
    /// The high treatment.
    pub to: Vec<f32>,
    /// How much of the noise is the same in both worlds, and the level of the intervals.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What a model is made of.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// The version of the library that fitted it.
    pub version: String,
    /// The base model.
    pub base: String,
    /// How many classes.
    pub classes: usize,
    /// How many members its ensemble has.
    pub members: usize,
    /// The settings of the fit.
    pub config: FitConfig,
    /// The columns that it was fitted on.
    pub layout: Option<Layout>,
    /// How the fit went.
    pub fit: FitReport,
}

/// A model, the units looked at, and what is asked of them; what every part of a report needs.
struct Scene<'a> {
    fitted: &'a Fitted,
    data: &'a Dataset,
    outcomes: Vec<Outcome>,
    from: Units,
    middle: Units,
    to: Units,
    grid: Vec<Units>,
    ask: Ask,
}

/// An outcome and the elements of y that make it.
struct Outcome {
    name: String,
    range: std::ops::Range<usize>,
}

impl Outcome {
    /// The mean over the elements of unit `i`, in which an outcome of many elements is told.
    fn mean(&self, units: &Units, i: usize) -> f64 {
        let own = &units.row(i)[self.range.clone()];
        own.iter().map(|value| f64::from(*value)).sum::<f64>() / own.len() as f64
    }
}

impl Report {
    /// A report on `units`; those in `chosen` are shown one by one, or else some typical and some flagged ones.
    pub fn new(fitted: &Fitted, units: &Part, chosen: Option<&Part>, spec: &ReportSpec) -> Result<Self> {
        spec.ask.check()?;
        let verdicts = fitted.judge(&units.data, spec.ask.level)?;
        let most = (NUMBERS / fitted.scaler().y.each()).clamp(LOOKED_AT.0, LOOKED_AT.1);
        let rows: Vec<usize> = (0..units.data.len()).step_by(units.data.len().div_ceil(most)).collect();
        let looked_at = units.pick(&rows)?;
        let scene = Scene::new(fitted, &looked_at.data, spec)?;
        let effects = scene.fitted.effect(scene.data, &scene.from, &scene.to, &spec.ask)?;
        let shown = scene.shown(&effects);
        let (curves, overlap) = scene.curves(&effects, &shown)?;
        let typical = match chosen {
            Some(_) => None,
            None => Some(scene.typical(&effects, &looked_at)?),
        };
        let of_interest = match (&typical, chosen) {
            (Some((part, why)), _) => scene.units(part, why, &shown)?,
            (None, Some(part)) => {
                scene.units(part, &vec!["asked for".to_owned(); part.data.len()], &shown)?
            }
            (None, None) => Vec::new(),
        };
        Ok(Self {
            data: scene.glance(),
            verdicts,
            evidence: scene.evidence(overlap)?,
            classes: scene.classes(&effects, &shown)?,
            curves,
            effects: scene.effects(&effects, &shown),
            units: of_interest,
            model: summary(fitted),
            question: scene.question(),
        })
    }
}

impl<'a> Scene<'a> {
    fn new(fitted: &'a Fitted, data: &'a Dataset, spec: &ReportSpec) -> Result<Self> {
        let treatment = |given: &Option<Vec<f32>>, share: f64| match given {
            Some(given) => Units::new("treatment", vec![given.len()], given.clone()),
            None => quantiles(data.t(), share),
        };
        let outcomes = Tabulation::new(fitted)
            .outcomes()
            .map(|(name, range)| Outcome { name: name.to_owned(), range })
            .collect();
        let (low, high) = (quantiles(data.t(), ENDS.0)?, quantiles(data.t(), ENDS.1)?);
        let between = |i: usize| {
            let part = i as f32 / (STEPS - 1) as f32;
            let at = low.row(0).iter().zip(high.row(0)).map(|(low, high)| low + part * (high - low));
            Units::new("grid", low.shape().to_vec(), at.collect())
        };
        Ok(Self {
            fitted,
            data,
            outcomes,
            from: treatment(&spec.from, 0.1)?,
            middle: quantiles(data.t(), 0.5)?,
            to: treatment(&spec.to, 0.9)?,
            grid: (0..STEPS).map(between).collect::<Result<_>>()?,
            ask: spec.ask,
        })
    }

    fn question(&self) -> ReportQuestion {
        ReportQuestion {
            treatments: self.treatments(),
            outcomes: self.outcomes.iter().map(|outcome| outcome.name.clone()).collect(),
            from: self.from.row(0).to_vec(),
            middle: self.middle.row(0).to_vec(),
            to: self.to.row(0).to_vec(),
            ask: self.ask,
        }
    }

    fn treatments(&self) -> Vec<String> {
        match self.fitted.layout() {
            Some(layout) => layout.t.clone(),
            None if self.data.t().each() == 1 => vec!["t".to_owned()],
            None => (0..self.data.t().each()).map(|j| format!("t{j}")).collect(),
        }
    }
}

fn summary(fitted: &Fitted) -> ModelSummary {
    ModelSummary {
        version: fitted.version().to_owned(),
        base: fitted.base().to_owned(),
        classes: fitted.classes(),
        members: fitted.members(),
        config: fitted.config().clone(),
        layout: fitted.layout().cloned(),
        fit: fitted.report().clone(),
    }
}

#[cfg(test)]
mod tests;
