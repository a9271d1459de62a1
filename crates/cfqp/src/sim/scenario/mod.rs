//! Random scenarios: tables of which everything is drawn from a seed, with the truth and the best answers.

mod covariates;
mod description;
mod dose;
mod draw;
mod forms;
mod outcome;
mod predictive;
mod recipe;
mod surface;
#[cfg(test)]
mod tests;
mod treatment;
mod truth;
mod unit;
mod weights;

use std::sync::Arc;

use rand::RngExt as _;
use rayon::prelude::*;

use super::{Draw, Shapes, Simulated, Unit as _, simulate_subjects};
use crate::data::{Dataset, OutcomeKind, Units};
use crate::{Result, stream};

pub use description::ScenarioDescription;
pub use dose::CurveForm;
pub use forms::{ClassDifference, CovariateEffect, NoiseScale, ScenarioNoise, ScenarioOutcome};
pub use surface::SurfaceForm;
pub use treatment::TreatmentKind;
pub use truth::{Interval, ScenarioTruth};
pub use weights::WeightKind;

use draw::standard;
use recipe::Recipe;
use truth::RowTruth;
use unit::{Observed, ObservedRow, ScenarioUnit};

/// A random scenario: a table of which the number of classes, covariates, treatment, outcomes, functions and noise are
/// drawn from a seed.
///
/// ```text
/// x ~ p(x)    z ~ w_z(x)    t ~ p(t | x, z)    y = f_z(x, t) + s_z(x, t) e    (or exp of it, a count, yes or no)
/// ```
///
/// The counterfactual has the same x, z and e; t' is drawn again from p(t | x, z). `y_bayes` is E[y' | x, t, y] with
/// everything but the class and the noise of the unit known, also the cells of x that are missing in the data; of positive outcomes it is
/// exp(E[log y' | x, t, y]), the best answer on the log scale. t' says nothing about the class: it is what is asked about.
///
/// Subjects with repeats have several units with the same x and z. The noise of two of them, and of a unit and its
/// counterfactual, has the correlation [`ScenarioDescription::within_correlation`]; `y_bayes` uses all units of the subject.
///
/// # Shapes
/// x `[covariates]` (`[1]`, a constant, if there are none), t `[1]` or, of two treatments or arms, `[2]` or `[3]`,
/// y `[outcomes]`.
///
/// ```
/// use cfqp::sim::Scenario;
///
/// let scenario = Scenario::new(3);
/// let simulated = scenario.simulate(100, 1)?;
/// assert_eq!(simulated.data.len(), 100 * scenario.description().repeats);
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    recipe: Arc<Recipe>,
    description: ScenarioDescription,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn new(world_seed: u64) -> Self {
        let (recipe, description) = recipe::draw(world_seed);
        Self { recipe: Arc::new(recipe), description }
    }

    /// What the scenario is made of.
    pub fn description(&self) -> &ScenarioDescription {
        &self.description
    }

    /// The number of subjects that the scenario has by default.
    pub fn subjects(&self) -> usize {
        self.description.subjects
    }

    /// The number of units that the scenario has by default: subjects times repeats.
    pub fn units(&self) -> usize {
        self.description.units
    }

    /// Simulates `subjects` subjects; the units of a subject follow each other. Subject `i` depends on the scenario, `seed`
    /// and `i` only.
    ///
    /// # Errors
    /// If there are no subjects.
    pub fn simulate(&self, subjects: usize, seed: u64) -> Result<Simulated> {
        let (recipe, kinds) = (&self.recipe, self.outcome_kinds());
        let shapes = Shapes {
            x: &[recipe.covariates.recorded()],
            t: recipe.treatment.columns(),
            y: &[recipe.outcomes.len()],
        };
        let draw = |i: usize| self.subject(i, seed).rows.into_iter().map(|row| row.draw).collect();
        let simulated = simulate_subjects(subjects, recipe.repeats, &shapes, draw)?;
        let data = self.with_missing_cells(&simulated.data, seed)?.with_outcome_kinds(kinds)?;
        Ok(Simulated { data, ..simulated })
    }

    /// The rest of the truth about the units of [`simulate`](Self::simulate).
    ///
    /// # Errors
    /// If there are no subjects.
    pub fn truth(&self, subjects: usize, seed: u64) -> Result<ScenarioTruth> {
        let rows = |i: usize| -> Vec<RowTruth> {
            let subject = self.subject(i, seed);
            (0..subject.rows.len()).map(|row| self.row_truth(&subject, row)).collect()
        };
        let rows: Vec<RowTruth> =
            (0..subjects).into_par_iter().map(rows).collect::<Vec<_>>().into_iter().flatten().collect();
        ScenarioTruth::new(&rows, self.recipe.treatment.columns(), self.recipe.outcomes.len())
    }

    /// The kind of every outcome.
    pub fn outcome_kinds(&self) -> Vec<OutcomeKind> {
        let kind = match self.description.outcome {
            ScenarioOutcome::Number | ScenarioOutcome::Positive => OutcomeKind::Number,
            ScenarioOutcome::Count => OutcomeKind::Count,
            ScenarioOutcome::YesNo => OutcomeKind::YesNo,
        };
        vec![kind; self.description.outcomes]
    }

    /// The same units, with cells of x missing.
    fn with_missing_cells(&self, data: &Dataset, seed: u64) -> Result<Dataset> {
        let recipe = &self.recipe;
        if recipe.covariates.missing == 0.0 {
            return Ok(data.clone());
        }
        let subjects = data.len() / recipe.repeats;
        let observed = |i: usize| {
            let observed = self.covariates(i, seed).1.observed;
            std::iter::repeat_n(observed, recipe.repeats).flatten()
        };
        let mask = (0..subjects).flat_map(observed).collect();
        let x = Units::with_mask("x", data.x().shape().to_vec(), data.x().values().to_vec(), Some(mask))?;
        let missing = Dataset::new(x, data.t().clone(), data.y().clone())?;
        match data.groups() {
            Some(groups) => missing.with_groups(groups.to_vec()),
            None => Ok(missing),
        }
    }

    /// The covariates of a subject, and the stream of what is drawn after them.
    fn covariates(&self, i: usize, seed: u64) -> (crate::Rng, covariates::SubjectCovariates) {
        let world = self.description.world_seed.to_string();
        let mut rng = stream(seed, &["scenario", &world, &i.to_string()]);
        let covariates = self.recipe.covariates.draw(&mut rng);
        (rng, covariates)
    }

    fn subject(&self, i: usize, seed: u64) -> Subject {
        let recipe = &self.recipe;
        let (mut rng, covariates) = self.covariates(i, seed);
        let rng = &mut rng;
        let x: Arc<[f64]> = covariates.values.into();
        let z = recipe.weights.draw(rng, &x);
        let common = standard(rng);
        let mut rows: Vec<SubjectRow> = Vec::with_capacity(recipe.repeats);
        for _ in 0..recipe.repeats {
            let [t, t_new, t_from] = [(), (), ()].map(|()| recipe.treatment.draw(rng, &x, z));
            let [own, fresh] = [(), ()].map(|()| draw_scores(recipe, common, rng));
            let rho: f64 = rng.random();
            let unit = |scores: Vec<f64>| ScenarioUnit { recipe: recipe.clone(), x: x.clone(), z, scores };
            let mixed =
                own.iter().zip(&fresh).map(|(own, fresh)| rho * own + (1.0 - rho * rho).sqrt() * fresh);
            let unknown_rho = unit(if recipe.within.is_some() { fresh.clone() } else { mixed.collect() });
            let other = recipe.within.map(|_| unit(fresh));
            let x = covariates.recorded.clone();
            let draw = Draw { x, z, t, t_new, unit: unit(own), other, y_bayes: None, p_bayes: None };
            rows.push(SubjectRow { draw, t_from, unknown_rho });
        }
        let mut subject = Subject { x, rows };
        let best: Vec<Vec<f32>> = (0..recipe.repeats).map(|row| self.best_answer(&subject, row)).collect();
        for (row, best) in subject.rows.iter_mut().zip(best) {
            row.draw.y_bayes = Some(best);
        }
        subject
    }

    fn best_answer(&self, subject: &Subject, row: usize) -> Vec<f32> {
        let recipe = &self.recipe;
        let abducted = subject.observed(recipe).abduct(row);
        let at = recipe.treatment.coordinates(&subject.rows[row].draw.t_new);
        let answer = |j: usize| abducted.predict(recipe, &subject.x, &at, j).point() as f32;
        (0..recipe.outcomes.len()).map(answer).collect()
    }

    fn row_truth(&self, subject: &Subject, row: usize) -> RowTruth {
        let recipe = &self.recipe;
        let SubjectRow { draw, t_from, unknown_rho } = &subject.rows[row];
        let same = draw.other.as_ref().unwrap_or(&draw.unit);
        let abducted = subject.observed(recipe).abduct(row);
        let [at, at_from] = [&draw.t_new, t_from].map(|t| recipe.treatment.coordinates(t));
        let mut truth = RowTruth {
            t_from: t_from.clone(),
            effect: difference(&same.outcome(&draw.t_new), &same.outcome(t_from)),
            y_new: unknown_rho.outcome(&draw.t_new),
            effect_unknown_rho: difference(&unknown_rho.outcome(&draw.t_new), &unknown_rho.outcome(t_from)),
            ..RowTruth::default()
        };
        for j in 0..recipe.outcomes.len() {
            let new = abducted.predict(recipe, &subject.x, &at, j);
            let from = abducted.predict(recipe, &subject.x, &at_from, j);
            let marginal = unit::marginal(recipe, &subject.x, &at, j);
            // with repeats the correlation is known: it is that of the forecast
            let unknown = |of: &predictive::Predictive| {
                if recipe.within.is_some() { of.point() } else { of.point_unknown_rho() }
            };
            truth.add(
                &new,
                &marginal,
                [new.point() - from.point(), unknown(&new), unknown(&new) - unknown(&from)],
            );
        }
        truth
    }
}

/// A subject and its units.
struct Subject {
    /// Standardised covariates.
    x: Arc<[f64]>,
    rows: Vec<SubjectRow>,
}

struct SubjectRow {
    draw: Draw<ScenarioUnit>,
    t_from: Vec<f32>,
    /// The unit in a world whose noise has a random correlation to that of this one.
    unknown_rho: ScenarioUnit,
}

impl Subject {
    fn observed<'a>(&'a self, recipe: &'a Recipe) -> Observed<'a> {
        let row = |row: &SubjectRow| ObservedRow {
            at: recipe.treatment.coordinates(&row.draw.t),
            y: row.draw.unit.outcome(&row.draw.t),
        };
        Observed { recipe, x: &self.x, rows: self.rows.iter().map(row).collect() }
    }
}

/// The scores of the noise of all outcomes; `common` is the part of the subject.
fn draw_scores(recipe: &Recipe, common: f64, rng: &mut crate::Rng) -> Vec<f64> {
    let rho = recipe.score_correlation();
    let common = if recipe.within.is_some() { common } else { standard(rng) };
    let score = |own: f64| rho.sqrt() * common + (1.0 - rho).sqrt() * own;
    recipe.outcomes.iter().map(|_| score(standard(rng))).collect()
}

fn difference(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)) as f32).collect()
}
