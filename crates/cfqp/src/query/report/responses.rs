//! How outcomes respond: effects between two treatments, and dose curves of the classes.

use serde::Serialize;

use super::{Histogram, Outcome, Scene};
use crate::query::answer::{Answers, Diagnosis};
use crate::query::average::{AverageEffect, Averages};
use crate::{Result, Units};

/// Outcomes that are drawn, at most: of more, those with the largest effects.
const DRAWN: usize = 8;

/// Effects of the high treatment against the low one.
#[derive(Clone, Debug, Serialize)]
pub struct Effects {
    /// Averages over all units, over those without a flag, and over classes, for every outcome.
    pub averages: Vec<AverageEffect>,
    /// The outcomes with the largest effects, and how units differ.
    pub outcomes: Vec<OutcomeEffects>,
    /// Units that nothing speaks against.
    pub ok: usize,
    /// Units with no clearly most probable class.
    pub ambiguous_class: usize,
    /// Units near which one of the two treatments was not seen.
    pub off_support: usize,
    /// Units for which other solutions answer otherwise.
    pub starts_disagree: usize,
}

/// How units differ in the effect on one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeEffects {
    /// The outcome.
    pub name: String,
    /// The share of units whose outcome would have been higher.
    pub higher: f64,
    /// How many units of each class have which effect.
    pub histogram: Histogram,
}

/// Mean responses under a range of treatments.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// The treatments.
    pub grid: Vec<Vec<f32>>,
    /// The outcomes with the largest effects.
    pub outcomes: Vec<OutcomeCurves>,
}

/// Mean responses of one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeCurves {
    /// The outcome.
    pub name: String,
    /// A curve for every class.
    pub classes: Vec<Curve>,
}

/// The mean answer over some units at every treatment, between the means of their intervals' ends.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    /// The mean.
    pub mean: Vec<f64>,
    /// The mean lower end.
    pub lower: Vec<f64>,
    /// The mean upper end.
    pub upper: Vec<f64>,
}

impl Scene<'_> {
    /// Which outcomes are drawn, in their own order: those with the largest average effect for their spread.
    pub(super) fn shown(&self, effects: &Answers) -> Vec<usize> {
        let size = |outcome: &Outcome| {
            let sum: f64 = (0..self.data.len()).map(|i| outcome.mean(&effects.point, i).abs()).sum();
            sum / f64::from(self.fitted.scaler().y.deviation(outcome.range.start))
        };
        let mut order: Vec<(usize, f64)> = self.outcomes.iter().map(size).enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut shown: Vec<usize> = order.into_iter().take(DRAWN).map(|(i, _)| i).collect();
        shown.sort_unstable();
        shown
    }

    /// Effects of all units, summarised.
    pub(super) fn effects(&self, effects: &Answers, shown: &[usize]) -> Effects {
        let mut averages = Averages::new(self.fitted, self.ask.level);
        averages.add(effects);
        let outcome = |&o: &usize| {
            let own = &self.outcomes[o];
            let diagnoses = effects.diagnoses.iter().enumerate();
            let values: Vec<(usize, f64)> =
                diagnoses.map(|(i, d)| (d.class, own.mean(&effects.point, i))).collect();
            let higher = values.iter().filter(|(_, effect)| *effect > 0.0).count();
            OutcomeEffects {
                name: own.name.clone(),
                higher: higher as f64 / values.len() as f64,
                histogram: Histogram::of(self.fitted.classes(), &values),
            }
        };
        let number = |flag: fn(&Diagnosis) -> bool| effects.diagnoses.iter().filter(|d| flag(d)).count();
        Effects {
            averages: averages.finish(),
            outcomes: shown.iter().map(outcome).collect(),
            ok: number(Diagnosis::ok),
            ambiguous_class: number(|d| d.ambiguous_class),
            off_support: number(|d| d.off_support),
            starts_disagree: number(|d| d.starts_disagree),
        }
    }

    /// Dose curves of the classes, and for each treatment the share of units near which it was seen.
    pub(super) fn curves(&self, effects: &Answers, shown: &[usize]) -> Result<(Curves, Vec<f64>)> {
        let empty = |&o: &usize| OutcomeCurves {
            name: self.outcomes[o].name.clone(),
            classes: vec![Curve::default(); self.fitted.classes()],
        };
        let mut outcomes: Vec<OutcomeCurves> = shown.iter().map(empty).collect();
        let mut overlap = Vec::new();
        for t in &self.grid {
            let answers = self.fitted.query(self.data, t, &self.ask)?;
            let inside = answers.diagnoses.iter().filter(|d| !d.off_support).count();
            overlap.push(inside as f64 / answers.diagnoses.len() as f64);
            for (curves, &o) in outcomes.iter_mut().zip(shown) {
                let means = |units: &Units| self.class_means(&effects.diagnoses, o, units);
                let ends = (means(&answers.point), means(&answers.lower), means(&answers.upper));
                for (k, curve) in curves.classes.iter_mut().enumerate() {
                    curve.mean.push(ends.0[k]);
                    curve.lower.push(ends.1[k]);
                    curve.upper.push(ends.2[k]);
                }
            }
        }
        let grid = self.grid.iter().map(|t| t.row(0).to_vec()).collect();
        Ok((Curves { grid, outcomes }, overlap))
    }

    /// The mean of outcome `o` over the units of each class; NaN for a class without units.
    pub(super) fn class_means(&self, diagnoses: &[Diagnosis], o: usize, units: &Units) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.fitted.classes()];
        for (i, diagnosis) in diagnoses.iter().enumerate() {
            let sum = &mut sums[diagnosis.class];
            *sum = (sum.0 + self.outcomes[o].mean(units, i), sum.1 + 1.0);
        }
        sums.into_iter().map(|(sum, n)| sum / n).collect()
    }
}
