//! Questions to a fitted model and its answers, in the units of the data.

use serde::{Deserialize, Serialize};

use super::abduct::{Abducted, NEGLIGIBLE, Question, abduct, likeliest};
use super::interval::{Part, interval};
use crate::data::{Batcher, Dataset, Units};
use crate::em::{Fitted, Pool, normal_half_width};
use crate::{Error, Result};

/// Below this posterior probability a unit's class is called ambiguous.
const SURE: f32 = 0.9;

/// How to ask.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ask {
    /// How much of the noise is the same in both worlds, from 0 (drawn anew) to 1 (all of it).
    pub rho: f32,
    /// The level of the intervals.
    pub level: f64,
}

impl Default for Ask {
    fn default() -> Self {
        Self { rho: 1.0, level: 0.9 }
    }
}

impl Ask {
    /// Whether the question can be asked.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.rho) {
            let hint = "1 keeps all of the noise, 0 draws it anew";
            return Err(Error::config("rho", format!("{} is not between 0 and 1", self.rho), hint));
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let problem = format!("{} is not between 0 and 1", self.level);
            return Err(Error::config(
                "level",
                problem,
                "give the share that intervals should cover, such as 0.9",
            ));
        }
        Ok(())
    }
}

/// What a model says of n units.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The answer: an outcome, or a difference of two.
    pub point: Units,
    /// Lower ends of the intervals.
    pub lower: Units,
    /// Upper ends of the intervals.
    pub upper: Units,
    /// P(class | x, t, y), `[n, classes]`, flat.
    pub posterior: Vec<f32>,
    /// What to think of each answer.
    pub diagnoses: Vec<Diagnosis>,
}

/// What to think of the answer for one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The most probable class.
    pub class: usize,
    /// Entropy of the posterior over classes, from 0 (one class) to 1 (all alike).
    pub entropy: f32,
    /// No class is clearly the most probable.
    pub ambiguous_class: bool,
    /// The treatment asked about lies outside those seen near this unit's covariates.
    pub off_support: bool,
    /// Another solution that held-out units do not rule out gives another answer.
    pub starts_disagree: bool,
}

impl Diagnosis {
    /// Nothing speaks against the answer.
    pub fn ok(&self) -> bool {
        !(self.ambiguous_class || self.off_support || self.starts_disagree)
    }
}

impl Fitted {
    /// The outcome of each unit of `data`, had its treatment been that of `to`.
    ///
    /// `to` has one treatment per unit, or one for all.
    pub fn query(&self, data: &Dataset, to: &Units, ask: &Ask) -> Result<Answers> {
        self.answer(data, to, None, ask)
    }

    /// How much higher each unit's outcome would have been under `to` than under `from`.
    pub fn effect(&self, data: &Dataset, from: &Units, to: &Units, ask: &Ask) -> Result<Answers> {
        self.answer(data, to, Some(from), ask)
    }

    /// The outcome of each unit under every treatment of `grid` in turn.
    pub fn curve(&self, data: &Dataset, grid: &Units, ask: &Ask) -> Result<Vec<Answers>> {
        let at = |i| Units::new("grid", grid.shape().to_vec(), grid.row(i).to_vec());
        (0..grid.len()).map(|i| self.query(data, &at(i)?, ask)).collect()
    }

    fn answer(&self, data: &Dataset, to: &Units, from: Option<&Units>, ask: &Ask) -> Result<Answers> {
        ask.check()?;
        self.shapes().check(data)?;
        let scaler = self.scaler();
        let batcher = Batcher { data, scaler, missing: self.shapes().missing };
        let to = self.shapes().treatments(&scaler.t, to, data.len())?;
        let from = from.map(|from| self.shapes().treatments(&scaler.t, from, data.len())).transpose()?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let calibration = &self.header.calibration;
        let part = |rows: &[usize]| {
            let own = rows[0] * scaler.t.each()..(rows[rows.len() - 1] + 1) * scaler.t.each();
            let from = from.as_ref().map(|from| &from[own.clone()]);
            let to = &to[own.clone()];
            self.answer_batch(
                &Question { batcher, rows, to, from, rho: ask.rho, calibration, least: NEGLIGIBLE },
                ask,
            )
        };
        let parts = if rows.len() <= batcher.at_once() {
            vec![part(&rows)]
        } else {
            Pool::new(self.threads)?.map(rows.chunks(batcher.at_once()).collect(), part)
        };
        self.assemble(parts)
    }

    fn assemble(&self, parts: Vec<Batch>) -> Result<Answers> {
        let shape = || self.shapes().y.clone();
        let join = |values: &dyn Fn(&Batch) -> &Vec<f32>| -> Vec<f32> {
            parts.iter().flat_map(|part| values(part).iter().copied()).collect()
        };
        Ok(Answers {
            point: Units::new("answer", shape(), join(&|part| &part.point))?,
            lower: Units::new("lower", shape(), join(&|part| &part.lower))?,
            upper: Units::new("upper", shape(), join(&|part| &part.upper))?,
            posterior: join(&|part| &part.posterior),
            diagnoses: parts.iter().flat_map(|part| part.diagnoses.iter().copied()).collect(),
        })
    }

    fn answer_batch(&self, question: &Question<'_>, ask: &Ask) -> Batch {
        let abducted = abduct(&self.mixture, question, &self.device);
        let mut batch = self.summarise(&abducted, question, ask);
        self.diagnose(&mut batch, question);
        let scale = |values: &mut [f32]| {
            let each = self.scaler().y.each();
            for unit in values.chunks_exact_mut(each) {
                match question.from {
                    None => self.scaler().y.restore(unit),
                    Some(_) => {
                        unit.iter_mut().enumerate().for_each(|(i, v)| *v *= self.scaler().y.deviation(i))
                    }
                }
            }
        };
        [&mut batch.point, &mut batch.lower, &mut batch.upper].into_iter().for_each(|values| scale(values));
        batch
    }

    /// Point answers and intervals from the classes' answers.
    fn summarise(&self, abducted: &Abducted, question: &Question<'_>, ask: &Ask) -> Batch {
        let (n, d, classes) = (question.rows.len(), self.scaler().y.each(), self.classes());
        let z = normal_half_width(ask.level);
        let calibration = &self.header.calibration;
        let stretch = (calibration.quantile(ask.level) / z).powi(2);
        let spread = f64::from(calibration.spread);
        let mut batch = Batch { posterior: abducted.posterior.clone(), ..Batch::default() };
        let mut parts = Vec::with_capacity(classes);
        for i in 0..n * d {
            let posterior = &abducted.posterior[i / d * classes..][..classes];
            parts.clear();
            let asked = abducted.classes.iter().zip(posterior).filter(|(_, weight)| **weight >= NEGLIGIBLE);
            parts.extend(asked.map(|(class, &weight)| {
                let (model, noise) = (f64::from(class.model[i]), f64::from(class.noise[i]));
                // the share of the noise that is new makes the interval predictive, the rest is about the mean
                let new = if noise > 0.0 { 1.0 - f64::from(ask.rho).powi(2) } else { 0.0 };
                let known = spread * model + f64::from(class.transport[i]);
                let variance = stretch * (noise + new * model) + (1.0 - new) * known;
                Part { weight: weight.into(), mean: class.mean[i].into(), deviation: variance.sqrt() }
            }));
            let (lower, upper) = interval(&parts, ask.level, z);
            batch.point.push(parts.iter().map(|part| part.weight * part.mean).sum::<f64>() as f32);
            batch.lower.push(lower as f32);
            batch.upper.push(upper as f32);
        }
        batch
    }

    fn diagnose(&self, batch: &mut Batch, question: &Question<'_>) {
        let (classes, d_t) = (self.classes(), self.shapes().t);
        let disagree = self.disagreements(batch, question);
        for (i, &row) in question.rows.iter().enumerate() {
            let posterior = &batch.posterior[i * classes..][..classes];
            let class = likeliest(posterior);
            let terms = posterior.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln());
            let entropy = if classes > 1 { terms.sum::<f32>() / (classes as f32).ln() } else { 0.0 };
            let place = self.support.place(&question.batcher, row);
            let own = i * d_t..(i + 1) * d_t;
            let held = |t: &[f32]| self.support.holds(place, &t[own.clone()]);
            batch.diagnoses.push(Diagnosis {
                class,
                entropy: entropy.clamp(0.0, 1.0),
                ambiguous_class: posterior[class] < SURE,
                off_support: !(held(question.to) && question.from.is_none_or(held)),
                starts_disagree: disagree[i],
            });
        }
    }

    /// Units for which another solution's answer lies outside the interval by more than its half width.
    fn disagreements(&self, batch: &Batch, question: &Question<'_>) -> Vec<bool> {
        let d = self.scaler().y.each();
        let mut disagree = vec![false; question.rows.len()];
        for mixture in &self.alternatives {
            let other = abduct(mixture, question, &self.device);
            let classes = mixture.classes();
            for (i, disagree) in disagree.iter_mut().enumerate() {
                let posterior = &other.posterior[i * classes..][..classes];
                let answer =
                    |j: usize| other.classes.iter().zip(posterior).map(|(c, p)| p * c.mean[j]).sum::<f32>();
                let (gap, width) = (i * d..(i + 1) * d).fold((0.0, 0.0), |(gap, width), j| {
                    (
                        gap + (answer(j) - batch.point[j]).powi(2),
                        width + (batch.upper[j] - batch.lower[j]).powi(2),
                    )
                });
                *disagree |= gap > width.max(0.01 * d as f32);
            }
        }
        disagree
    }
}

/// Answers for a batch, in standardised outcomes until they are restored.
#[derive(Clone, Debug, Default)]
struct Batch {
    point: Vec<f32>,
    lower: Vec<f32>,
    upper: Vec<f32>,
    posterior: Vec<f32>,
    diagnoses: Vec<Diagnosis>,
}
