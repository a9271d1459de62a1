//! Simulators: units whose counterfactuals are known.
//!
//! A simulator draws, per unit, covariates x, a hidden class z, noise, a treatment t and another treatment t' from the
//! same distribution given x. Both outcomes have the same x, z and, by default, noise:
//!
//! ```text
//! y = f(x, t, z, e)    y' = f(x, t', z, e'),    e' = rho e + sqrt(1 - rho^2) (independent noise of the same size)
//! ```
//!
//! Methods are fitted to the [`Dataset`]; the [`Truth`] is separate from it, for scoring.
//!
//! ```
//! use cfqp::sim::Oscillator;
//! let simulated = Oscillator::default().simulate(100, 7)?;
//! assert_eq!(simulated.data.y().shape(), [2, 20]);
//! assert_eq!(simulated.outcome(3, &simulated.data.t().row(3)), *simulated.data.y().row(3));
//! # Ok::<(), cfqp::Error>(())
//! ```

mod cardio;
mod digits;
mod glyphs;
mod ihdp;
mod image;
mod noise;
mod ode;
mod oscillator;
mod scenario;
mod table;
#[cfg(test)]
mod tests;
mod whole_law;

use std::fmt::Debug;
use std::sync::Arc;

use rand::RngExt as _;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Units};
use crate::{Error, Result, Rng, stream};

pub use cardio::Cardio;
pub use digits::{DigitSource, Digits};
pub use ihdp::Ihdp;
pub use image::{Interpolation, blur, rotate};
pub use oscillator::Oscillator;
pub use scenario::{
    ClassDifference, CovariateEffect, CurveForm, Interval, NoiseScale, Scenario, ScenarioDescription,
    ScenarioNoise, ScenarioOutcome, ScenarioTruth, SurfaceForm, TreatmentKind, WeightKind,
};
pub use table::{Table, TableWorld};

/// How noise enters the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Added to every element.
    #[default]
    Additive,
    /// Inside the mechanism: in a phase, a flow or a blur.
    NonAdditive,
}

/// The hidden part of simulated units, for scoring only.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The hidden class of every unit.
    pub z: Vec<usize>,
    /// A new treatment t' of every unit, from the distribution of t given x (and z, where t depends on it).
    pub t_new: Units,
    /// The outcome of every unit under t'.
    pub y_new: Units,
    /// E[y' | x, t, y] with the simulator's laws known, the answer with the least expected squared error, where it can be
    /// computed. The probability of yes or of a level where the outcome is yes/no or a category.
    pub y_bayes: Option<Units>,
    /// The probability of the true y' given x, t and y with the simulator's laws known, for counts.
    pub p_bayes: Option<Units>,
}

/// Simulated units, the truth about them, and their outcomes under any treatment.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The observed part.
    pub data: Dataset,
    /// The hidden part.
    pub truth: Truth,
    world: Arc<dyn World>,
}

impl Simulated {
    /// The outcome of `unit` under treatment `t`, with the same x, class and noise. Under the factual treatment it equals
    /// the factual outcome bit by bit.
    ///
    /// # Panics
    /// If there is no such unit, or `t` has not as many numbers as the treatments of the data.
    pub fn outcome(&self, unit: usize, t: &[f32]) -> Vec<f32> {
        assert_eq!(t.len(), self.data.t().elements(), "the number of treatments of a unit");
        self.world.outcome(unit, t)
    }
}

/// The hidden variables of a unit: everything that its outcome depends on besides the treatment.
trait Unit: Debug + Send + Sync {
    fn outcome(&self, t: &[f32]) -> Vec<f32>;
}

/// The hidden variables of all units.
trait World: Debug + Send + Sync {
    fn outcome(&self, unit: usize, t: &[f32]) -> Vec<f32>;
}

impl<U: Unit> World for Vec<U> {
    fn outcome(&self, unit: usize, t: &[f32]) -> Vec<f32> {
        self[unit].outcome(t)
    }
}

/// The shapes of units: x, the number of treatments, y.
struct Shapes<'a> {
    x: &'a [usize],
    t: usize,
    y: &'a [usize],
}

/// The variables of one unit.
struct Draw<U> {
    x: Vec<f32>,
    z: usize,
    t: Vec<f32>,
    t_new: Vec<f32>,
    unit: U,
    /// The unit under `t_new`, where its noise differs.
    other: Option<U>,
    /// The best answer under `t_new`, where known.
    y_bayes: Option<Vec<f32>>,
    /// The probability of the true outcome under `t_new`, where known.
    p_bayes: Option<Vec<f32>>,
}

/// Draws `n` units in parallel. `draw(i)` must depend on `i` only, not on `n` or on other units.
fn simulate<U: Unit + 'static>(
    n: usize,
    shapes: &Shapes<'_>,
    draw: impl Fn(usize) -> Draw<U> + Sync,
) -> Result<Simulated> {
    simulate_subjects(n, 1, shapes, |i| vec![draw(i)])
}

/// Draws `n` subjects of `repeats` units each in parallel, as [`simulate`]. Several units of a subject form a group.
fn simulate_subjects<U: Unit + 'static>(
    n: usize,
    repeats: usize,
    shapes: &Shapes<'_>,
    draw: impl Fn(usize) -> Vec<Draw<U>> + Sync,
) -> Result<Simulated> {
    let subject = |i: usize| -> Vec<_> { draw(i).into_iter().map(with_outcomes).collect() };
    let subjects: Vec<_> = (0..n).into_par_iter().map(subject).collect();
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    let (mut z, mut t_new, mut y_new) = (Vec::new(), Vec::new(), Vec::new());
    let (mut y_bayes, mut p_bayes) = (Vec::new(), Vec::new());
    let mut world = Vec::with_capacity(n * repeats);
    for (draw, seen, other) in subjects.into_iter().flatten() {
        x.extend(draw.x);
        t.extend(draw.t);
        y.extend(seen);
        z.push(draw.z);
        t_new.extend(draw.t_new);
        y_new.extend(other);
        y_bayes.extend(draw.y_bayes.unwrap_or_default());
        p_bayes.extend(draw.p_bayes.unwrap_or_default());
        world.push(draw.unit);
    }
    let data = Dataset::new(
        Units::new("x", shapes.x.to_vec(), x)?,
        Units::new("t", vec![shapes.t], t)?,
        Units::new("y", shapes.y.to_vec(), y)?,
    )?;
    let data = if repeats > 1 { data.with_groups(subject_numbers(n, repeats))? } else { data };
    let t_new = Units::new("t_new", vec![shapes.t], t_new)?;
    let y_new = Units::new("y_new", shapes.y.to_vec(), y_new)?;
    let y_bayes = known_units("y_bayes", shapes.y, y_bayes)?;
    let p_bayes = known_units("p_bayes", &[1], p_bayes)?;
    Ok(Simulated { data, truth: Truth { z, t_new, y_new, y_bayes, p_bayes }, world: Arc::new(world) })
}

/// The values of all units; none if there are no values.
fn known_units(name: &str, shape: &[usize], values: Vec<f32>) -> Result<Option<Units>> {
    (!values.is_empty()).then(|| Units::new(name, shape.to_vec(), values)).transpose()
}

/// A unit with its outcomes under t and t'.
fn with_outcomes<U: Unit>(draw: Draw<U>) -> (Draw<U>, Vec<f32>, Vec<f32>) {
    let other = draw.other.as_ref().unwrap_or(&draw.unit);
    let (y, y_new) = (draw.unit.outcome(&draw.t), other.outcome(&draw.t_new));
    (draw, y, y_new)
}

/// The subject of every row.
fn subject_numbers(n: usize, repeats: usize) -> Vec<u32> {
    (0..n * repeats).map(|row| (row / repeats) as u32).collect()
}

/// The random stream of unit `i`.
fn unit_stream(seed: u64, simulator: &str, i: usize) -> Rng {
    stream(seed, &[simulator, &i.to_string()])
}

fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low..high)
}

/// A draw from N(0, sd^2).
fn normal(rng: &mut Rng, sd: f32) -> f64 {
    let unit: f64 = StandardNormal.sample(rng);
    f64::from(sd) * unit
}

/// A uniform draw from `0..classes`, or 0 with a single class. Uses the same random numbers in both cases, so that all
/// other variables are the same.
fn draw_class(rng: &mut Rng, classes: usize, single_class: bool) -> usize {
    let z = rng.random_range(0..classes);
    if single_class { 0 } else { z }
}

/// The noise under t', none where it is the same; `fresh` draws independent noise of the same size.
fn other_noise(noise: &[f64], rho: Option<f32>, fresh: impl FnOnce() -> Vec<f64>) -> Option<Vec<f64>> {
    let rho = rho.filter(|&rho| rho < 1.0)?;
    Some(noise.iter().zip(fresh()).map(|(&noise, fresh)| correlated(noise, fresh, rho)).collect())
}

/// rho noise + sqrt(1 - rho^2) fresh: noise of the same variance with correlation `rho` to the first.
fn correlated(noise: f64, fresh: f64, rho: f32) -> f64 {
    let rho = f64::from(rho);
    rho * noise + (1.0 - rho * rho).sqrt() * fresh
}

fn check_rho(rho: Option<f32>) -> Result<()> {
    match rho {
        Some(rho) if !(0.0..=1.0).contains(&rho) => {
            let problem = format!("{rho} is not a correlation");
            Err(Error::config("rho", problem, "give a number from 0 to 1"))
        }
        _ => Ok(()),
    }
}

fn check_sigma(sigma: f32) -> Result<()> {
    if sigma.is_finite() && sigma >= 0.0 {
        return Ok(());
    }
    Err(Error::config("sigma", format!("{sigma} is not a standard deviation"), "give a number from 0 up"))
}
