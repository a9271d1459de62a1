//! Tables with one outcome, in many worlds, with the best answer that the observed values allow.

mod bayes;
mod kinds;
#[cfg(test)]
mod kinds_tests;
mod laws;
#[cfg(test)]
mod tests;
mod world;

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Draw, Shapes, Simulated, Unit, check_rho, correlated, normal, simulate, simulate_subjects};
use crate::data::{Dataset, Units};
use crate::{Error, Result, Rng, stream};

use bayes::{Observed, Row};
pub use world::TableWorld;
use world::draw_weighted;

/// The most rows of one subject.
const MAX_REPEATS: usize = 1000;
/// The default correlation of the noise in the rows of one subject.
const REPEATS_RHO: f32 = 0.6;

/// A table with one outcome and a hidden class, in one of the worlds of [`TableWorld`].
///
/// ```text
/// x ~ N(0, 1)    z ~ w_z(x)    t ~ p(t | x, z)    y = f_z(x, t) + e    (lognormal: y = exp(f_z(x, t) + e))
/// ```
///
/// The counterfactual has the same x, z and, by default, e; t' is drawn again from p(t | x, z). The truth contains
/// `y_bayes`, E[y' | x, t, y] with f, w and the distributions of t and e known: no method that has to infer the class from
/// the observed values can have a smaller expected squared error. Its error is the Bayes limit.
///
/// With `repeats` every subject has several rows with the same x and z, each with its own t. The noise of a row, and
/// of its counterfactual, is a part of the subject and a part of its own; any two have the correlation `rho`. The best answer then uses all
/// rows of the subject.
///
/// The outcome of some worlds is not a number ([`TableWorld::outcome_kinds`]): yes or no, a count, an amount with zeros,
/// whose noise is its rank u in y = F_z^-1(u | x, t), or one of several levels, which as many units as possible keep. Then
/// `rho` is the probability that the noise is the same under t', `y_bayes` has the probabilities of yes and of levels, and there
/// are no repeats.
///
/// # Shapes
/// x `[6]` (`Wide`: `[30]`), t `[1]` (`SeveralTreatments`, `Arms`: `[2]`), y `[1]` (`Category`: `[3]`, one of them 1).
///
/// ```
/// use cfqp::sim::{Table, TableWorld};
/// let simulated = Table { world: TableWorld::Single, ..Table::default() }.simulate(100, 7)?;
/// let truth = &simulated.truth;
/// // with one class and the same noise the answer is exact
/// let best = truth.y_bayes.as_ref().unwrap();
/// assert!(best.values().iter().zip(truth.y_new.values()).all(|(best, y)| (best - y).abs() < 1e-5));
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Table {
    /// The world.
    pub world: TableWorld,
    /// The standard deviation of the noise; the default depends on the world.
    pub sigma: Option<f32>,
    /// The correlation of the noise under t and t', and in the rows of one subject; 1 by default, 0.6 with repeats.
    pub rho: Option<f32>,
    /// The number of rows of every subject; 1 by default.
    pub repeats: usize,
    /// Covariates, after the others, that play no part; none by default.
    pub noise_columns: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { world: TableWorld::default(), sigma: None, rho: None, repeats: 1, noise_columns: 0 }
    }
}

impl Table {
    /// The standard deviation of the noise, given or default.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(self.world.sigma())
    }

    /// The correlation of the noise, given or default.
    pub fn rho(&self) -> f32 {
        self.rho.unwrap_or(if self.repeats > 1 { REPEATS_RHO } else { 1.0 })
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        check_rho(self.rho)?;
        if !(self.sigma().is_finite() && self.sigma() > 0.0) {
            let problem = format!("{} is not a standard deviation above 0", self.sigma());
            return Err(Error::config("sigma", problem, "give a number above 0"));
        }
        if !(1..=MAX_REPEATS).contains(&self.repeats) {
            let hint = format!("give a number from 1 to {MAX_REPEATS}");
            return Err(Error::config("repeats", format!("{} rows per subject", self.repeats), hint));
        }
        self.validate_kind()
    }

    /// Refuses settings that an outcome which is not a number does not have.
    fn validate_kind(&self) -> Result<()> {
        let name = self.world.name();
        if self.repeats > 1 && !self.world.is_number() {
            let problem = format!("the subjects of the world {name} have one row each");
            return Err(Error::config("repeats", problem, "give 1, or a world whose outcome is a number"));
        }
        if self.sigma.is_some() && matches!(self.world, TableWorld::YesNo | TableWorld::Category) {
            let problem = format!("the outcome of the world {name} has no standard deviation to set");
            return Err(Error::config("sigma", problem, "leave it out"));
        }
        Ok(())
    }

    /// Simulates `n` subjects, `n` times `repeats` units; the rows of a subject follow each other. Subject `i` depends on
    /// the settings, `seed` and `i` only.
    pub fn simulate(&self, n: usize, seed: u64) -> Result<Simulated> {
        self.simulate_range(0..n, seed)
    }

    /// Some of the subjects of [`simulate`](Self::simulate).
    pub fn simulate_range(&self, subjects: Range<usize>, seed: u64) -> Result<Simulated> {
        let simulated = self.simulate_world(subjects.clone(), seed)?;
        if self.noise_columns == 0 {
            return Ok(simulated);
        }
        let data = &simulated.data;
        let mut x = Vec::with_capacity(data.len() * (data.x().elements() + self.noise_columns));
        for (i, subject) in subjects.enumerate() {
            let mut rng = stream(seed, &["noise columns", &subject.to_string()]);
            let noise: Vec<f32> = (0..self.noise_columns).map(|_| normal(&mut rng, 1.0) as f32).collect();
            for row in i * self.repeats..(i + 1) * self.repeats {
                x.extend_from_slice(&data.x().row(row));
                x.extend_from_slice(&noise);
            }
        }
        let x = Units::new("x", vec![data.x().elements() + self.noise_columns], x)?;
        let wide = Dataset::new(x, data.t().clone(), data.y().clone())?;
        let wide = match data.groups() {
            Some(groups) => wide.with_groups(groups.to_vec())?,
            None => wide,
        };
        Ok(Simulated { data: wide.with_outcome_kinds(data.outcome_kinds())?, ..simulated })
    }

    fn simulate_world(&self, subjects: Range<usize>, seed: u64) -> Result<Simulated> {
        self.validate()?;
        let n = subjects.len();
        let kinds = self.world.outcome_kinds();
        let shapes = Shapes { x: &[self.world.covariates()], t: self.world.treatments(), y: &[kinds.len()] };
        let rng = |i: usize| stream(seed, &["table", self.world.name(), &(subjects.start + i).to_string()]);
        if self.world.is_number() {
            return simulate_subjects(n, self.repeats, &shapes, |i| self.draw(&mut rng(i)));
        }
        let simulated = simulate(n, &shapes, |i| self.draw_kind(&mut rng(i)))?;
        Ok(Simulated { data: simulated.data.with_outcome_kinds(kinds)?, ..simulated })
    }

    /// The rows of one subject.
    fn draw(&self, rng: &mut Rng) -> Vec<Draw<TableUnit>> {
        let x = self.draw_covariates(rng);
        let subject = self.draw_subject(&x, rng);
        let mut draws: Vec<_> = (0..self.repeats).map(|_| self.draw_row(x.clone(), &subject, rng)).collect();
        let answers = self.best_answers(&subject, &draws);
        for (draw, answer) in draws.iter_mut().zip(answers) {
            draw.y_bayes = Some(vec![answer as f32]);
        }
        draws
    }

    fn draw_covariates(&self, rng: &mut Rng) -> Vec<f32> {
        (0..self.world.covariates()).map(|_| normal(rng, 1.0) as f32).collect()
    }

    fn draw_class(&self, x: &[f64], rng: &mut Rng) -> usize {
        let weights: Vec<f64> =
            (0..self.world.classes()).map(|k| self.world.log_weight(x, k).exp()).collect();
        draw_weighted(&weights, rng)
    }

    fn draw_subject(&self, x: &[f32], rng: &mut Rng) -> Subject {
        let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let z = self.draw_class(&x, rng);
        let slope = self.world.slope_sd() * normal(rng, 1.0);
        Subject { x: x.into(), z, slope, score: normal(rng, 1.0) }
    }

    fn draw_row(&self, x: Vec<f32>, subject: &Subject, rng: &mut Rng) -> Draw<TableUnit> {
        let mut treatment = || self.world.draw_treatment(&subject.x, subject.z, rng);
        let (t, t_new) = (treatment(), treatment());
        let (own, fresh) = (normal(rng, 1.0), normal(rng, 1.0));
        let [score, other] = self.scores(subject.score, own, fresh);
        let law = self.world.noise(f64::from(self.sigma()));
        let unit = |score: f64| TableUnit {
            world: self.world,
            x: subject.x.clone(),
            z: subject.z,
            slope: subject.slope,
            noise: law.value(score),
        };
        let other = (other != score).then(|| unit(other));
        Draw { x, z: subject.z, t, t_new, unit: unit(score), other, y_bayes: None, p_bayes: None }
    }

    /// The scores of the noise under t and t', with correlation rho; with repeats, through the score of the subject.
    fn scores(&self, subject: f64, own: f64, fresh: f64) -> [f64; 2] {
        if self.repeats == 1 {
            let rho = self.rho();
            return [own, if rho < 1.0 { correlated(own, fresh, rho) } else { own }];
        }
        let rho = f64::from(self.rho());
        [own, fresh].map(|own| rho.sqrt() * subject + (1.0 - rho).sqrt() * own)
    }

    /// E[y' | all rows of the subject], for each row.
    fn best_answers(&self, subject: &Subject, draws: &[Draw<TableUnit>]) -> Vec<f64> {
        let wide = |t: &[f32]| t.iter().map(|&t| f64::from(t)).collect::<Vec<f64>>();
        let row =
            |draw: &Draw<TableUnit>| Row { t: wide(&draw.t), y: f64::from(draw.unit.outcome(&draw.t)[0]) };
        let observed = Observed {
            world: self.world,
            noise: self.world.noise(f64::from(self.sigma())),
            rho: f64::from(self.rho()),
            x: &subject.x,
            rows: draws.iter().map(row).collect(),
        };
        observed.answers(&draws.iter().map(|draw| wide(&draw.t_new)).collect::<Vec<_>>())
    }
}

/// What the rows of a subject have in common.
struct Subject {
    x: Arc<[f64]>,
    z: usize,
    /// The difference between its slope and the mean slope.
    slope: f64,
    /// The subject's part of the score of its noise.
    score: f64,
}

/// The hidden variables of a unit.
#[derive(Debug)]
struct TableUnit {
    world: TableWorld,
    x: Arc<[f64]>,
    z: usize,
    slope: f64,
    noise: f64,
}

impl Unit for TableUnit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let t: Vec<f64> = t.iter().map(|&t| f64::from(t)).collect();
        let sum = self.world.mean(&self.x, &t, self.z) + self.slope * t[0] + self.noise;
        vec![self.world.outcome(sum) as f32]
    }
}
