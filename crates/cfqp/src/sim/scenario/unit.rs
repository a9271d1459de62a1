//! The hidden variables of units, and what is known of them from what is observed.

use std::sync::Arc;

use super::outcome::{NumberLaw, OutcomeLaw};
use super::predictive::{Component, KnownNoise, Predictive, ScoreLaw};
use super::recipe::Recipe;
use super::treatment::Coordinates;
use crate::math::normal_cdf;
use crate::sim::Unit;
use crate::sim::whole_law::Ranks;

/// Everything that the outcomes of a unit depend on besides the treatment.
#[derive(Clone, Debug)]
pub(super) struct ScenarioUnit {
    pub recipe: Arc<Recipe>,
    /// Standardised covariates.
    pub x: Arc<[f64]>,
    pub z: usize,
    /// The standard normal score of the noise of every outcome.
    pub scores: Vec<f64>,
}

impl Unit for ScenarioUnit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let at = self.recipe.treatment.coordinates(t);
        let outcome =
            |(outcome, &score): (&super::outcome::Outcome, &f64)| match outcome.law(&self.x, &at, self.z) {
                OutcomeLaw::Number(law) if law.is_log => law.value(score).exp() as f32,
                OutcomeLaw::Number(law) => law.value(score) as f32,
                OutcomeLaw::Whole(law) => law.at_rank(normal_cdf(score)) as f32,
            };
        self.recipe.outcomes.iter().zip(&self.scores).map(outcome).collect()
    }
}

/// What is observed of a subject.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    pub recipe: &'a Recipe,
    pub x: &'a [f64],
    pub rows: Vec<ObservedRow>,
}

/// One row of a subject.
#[derive(Clone, Debug)]
pub(super) struct ObservedRow {
    pub at: Coordinates,
    pub y: Vec<f32>,
}

/// The posterior over classes, and what every class says about the noise of a row's outcomes.
pub(super) struct Abducted {
    pub posterior: Vec<f64>,
    /// `[class][outcome]`
    noise: Vec<Vec<KnownNoise>>,
}

impl Observed<'_> {
    /// log p(t_1, y_1, ..., t_R, y_R | x, k) + log w_k(x), up to a constant.
    fn log_joint(&self, k: usize) -> f64 {
        let recipe = self.recipe;
        let mut log = recipe.weights.logs(self.x)[k];
        let mut scores = Vec::new();
        for row in &self.rows {
            log += recipe.treatment.log_density(&row.at, self.x, k);
            for (outcome, &y) in recipe.outcomes.iter().zip(&row.y) {
                match outcome.law(self.x, &row.at, k) {
                    OutcomeLaw::Number(law) => {
                        log += law.log_density(observed_value(law, y));
                        scores.push(law.score(observed_value(law, y)));
                    }
                    OutcomeLaw::Whole(law) => log += law.ranks(f64::from(y)).width().max(1e-300).ln(),
                }
            }
        }
        log + log_copula(&scores, recipe.score_correlation())
    }

    /// The posterior over classes.
    fn posterior(&self) -> Vec<f64> {
        let classes = self.recipe.classes();
        if classes == 1 {
            return vec![1.0];
        }
        let logs: Vec<f64> = (0..classes).map(|k| self.log_joint(k)).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return vec![1.0 / classes as f64; classes];
        }
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// Abduction for the row at `row`. With repeats, what is known of the noise is that of a new row of the subject.
    pub(super) fn abduct(&self, row: usize) -> Abducted {
        let noise = |k: usize| (0..self.recipe.outcomes.len()).map(|j| self.noise(row, j, k)).collect();
        Abducted { posterior: self.posterior(), noise: (0..self.recipe.classes()).map(noise).collect() }
    }

    fn noise(&self, row: usize, j: usize, k: usize) -> KnownNoise {
        let law = |row: &ObservedRow| self.recipe.outcomes[j].law(self.x, &row.at, k);
        if let OutcomeLaw::Whole(law) = law(&self.rows[row]) {
            return KnownNoise::Ranks(law.ranks(f64::from(self.rows[row].y[j])));
        }
        let score = |row: &ObservedRow| match law(row) {
            OutcomeLaw::Number(law) => law.score(observed_value(law, row.y[j])),
            OutcomeLaw::Whole(_) => unreachable!("outcomes are numbers under every treatment"),
        };
        let Some(rho) = self.recipe.within else {
            return KnownNoise::Score(ScoreLaw { mean: score(&self.rows[row]), sd: 0.0 });
        };
        let rows = self.rows.len() as f64;
        let sum: f64 = self.rows.iter().map(score).sum();
        let common = 1.0 + (rows - 1.0) * rho;
        let variance = 1.0 - rows * rho * rho / common;
        KnownNoise::Score(ScoreLaw { mean: rho * sum / common, sd: variance.max(0.0).sqrt() })
    }
}

impl Abducted {
    /// The distribution of outcome `j` under the treatment at `at`, with what is known of the unit.
    pub(super) fn predict(&self, recipe: &Recipe, x: &[f64], at: &Coordinates, j: usize) -> Predictive {
        let component = |(k, &weight): (usize, &f64)| Component {
            weight,
            law: recipe.outcomes[j].law(x, at, k),
            noise: self.noise[k][j],
        };
        // an improbable class could have any noise
        let probable = self.posterior.iter().enumerate().filter(|(_, weight)| **weight > 1e-9);
        Predictive(probable.map(component).collect())
    }
}

/// The distribution of outcome `j` given x and the treatment alone. Where the class drives the treatment, that a unit
/// received it says something about its class.
pub(super) fn marginal(recipe: &Recipe, x: &[f64], at: &Coordinates, j: usize) -> Predictive {
    let classes = 0..recipe.classes();
    let logs = recipe.weights.logs(x);
    let log = |k: usize| logs[k] + recipe.treatment.log_density(at, x, k);
    let top = classes.clone().map(log).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = classes.clone().map(|k| (log(k) - top).exp()).sum();
    let component = |k: usize| {
        let law = recipe.outcomes[j].law(x, at, k);
        let noise = match law {
            OutcomeLaw::Number(_) => KnownNoise::Score(ScoreLaw::FRESH),
            OutcomeLaw::Whole(_) => KnownNoise::Ranks(Ranks::ALL),
        };
        Component { weight: (log(k) - top).exp() / sum, law, noise }
    };
    Predictive(classes.map(component).collect())
}

/// The observed outcome; the logarithm of a positive one.
fn observed_value(law: NumberLaw, y: f32) -> f64 {
    if law.is_log { f64::from(y).ln() } else { f64::from(y) }
}

/// The logarithm of the density of equally correlated normal scores over that of independent ones.
fn log_copula(scores: &[f64], rho: f64) -> f64 {
    if scores.len() < 2 || rho == 0.0 {
        return 0.0;
    }
    let rows = scores.len() as f64;
    let (sum, squares): (f64, f64) = (scores.iter().sum(), scores.iter().map(|score| score * score).sum());
    let common = 1.0 + (rows - 1.0) * rho;
    let quadratic = (squares - rho * sum * sum / common) / (1.0 - rho);
    let log_determinant = (rows - 1.0) * (1.0 - rho).ln() + common.ln();
    0.5 * (squares - quadratic - log_determinant)
}
