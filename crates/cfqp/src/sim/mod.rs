//! Simulators: units whose counterfactuals are known.
//!
//! A simulator draws, per unit, covariates x, a hidden class z, noise, a treatment t and another one, t', from
//! the same law given x. Both outcomes come from the same x, z and, unless told otherwise, noise:
//!
//! ```text
//! y = f(x, t, z, e)    y' = f(x, t', z, e'),    e' = rho e + sqrt(1 - rho^2) (as much noise, drawn apart)
//! ```
//!
//! What training may see is the [`Dataset`]; the rest is the [`Truth`], kept apart from it.
//!
//! ```
//! use cfqp::sim::Oscillator;
//! let simulated = Oscillator::default().simulate(100, 7)?;
//! assert_eq!(simulated.data.y().shape(), [2, 20]);
//! assert_eq!(simulated.outcome(3, simulated.data.t().row(3)), simulated.data.y().row(3));
//! # Ok::<(), cfqp::Error>(())
//! ```

mod cardio;
mod digits;
mod glyphs;
mod ihdp;
mod image;
mod ode;
mod oscillator;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;

use rand::RngExt as _;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Dataset, Error, Result, Rng, Units, stream};

pub use cardio::Cardio;
pub use digits::{DigitSource, Digits};
pub use ihdp::Ihdp;
pub use image::{Interpolation, blur, rotate};
pub use oscillator::Oscillator;

/// How the noise enters the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Added to every element.
    #[default]
    Additive,
    /// Inside the mechanism: a phase, a flow, a blur.
    NonAdditive,
}

/// What was simulated and cannot be seen: for scoring alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The hidden class of every unit.
    pub z: Vec<usize>,
    /// Another treatment t' of every unit, from the law of t given its x.
    pub t_new: Units,
    /// The outcome every unit would have shown under t'.
    pub y_new: Units,
}

/// Simulated units, what is true of them, and their outcomes under any other treatment.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// What was seen.
    pub data: Dataset,
    /// What was not.
    pub truth: Truth,
    world: Arc<dyn World>,
}

impl Simulated {
    /// The outcome of `unit` under treatment `t`, everything else being equal: same x, class and noise.
    /// At the unit's own treatment it is the unit's own outcome, to the last bit.
    ///
    /// # Panics
    /// Where there is no such unit, or `t` is not one number.
    pub fn outcome(&self, unit: usize, t: &[f32]) -> Vec<f32> {
        let &[t] = t else { panic!("a simulated treatment is one number, not {}", t.len()) };
        self.world.outcome(unit, t)
    }
}

/// A unit's hidden variables: whatever its outcome needs beside the treatment.
trait Unit: Debug + Send + Sync {
    fn outcome(&self, t: f32) -> Vec<f32>;
}

/// The hidden variables of all units.
trait World: Debug + Send + Sync {
    fn outcome(&self, unit: usize, t: f32) -> Vec<f32>;
}

impl<U: Unit> World for Vec<U> {
    fn outcome(&self, unit: usize, t: f32) -> Vec<f32> {
        self[unit].outcome(t)
    }
}

/// All that is drawn for one unit.
struct Draw<U> {
    x: Vec<f32>,
    z: usize,
    t: f32,
    t_new: f32,
    unit: U,
    /// The unit in the world of `t_new`, where its noise is not the same.
    other: Option<U>,
}

/// Draws `n` units in parallel. `draw(i)` must depend on `i` alone, and not on `n` or on other units.
fn simulate<U: Unit + 'static>(
    n: usize,
    x_shape: &[usize],
    y_shape: &[usize],
    draw: impl Fn(usize) -> Draw<U> + Sync,
) -> Result<Simulated> {
    let rows: Vec<_> = (0..n)
        .into_par_iter()
        .map(|i| {
            let draw = draw(i);
            let other = draw.other.as_ref().unwrap_or(&draw.unit);
            let (y, y_new) = (draw.unit.outcome(draw.t), other.outcome(draw.t_new));
            (draw, y, y_new)
        })
        .collect();
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    let (mut z, mut t_new, mut y_new) = (Vec::new(), Vec::new(), Vec::new());
    let mut world = Vec::with_capacity(n);
    for (draw, seen, other) in rows {
        x.extend(draw.x);
        t.push(draw.t);
        y.extend(seen);
        z.push(draw.z);
        t_new.push(draw.t_new);
        y_new.extend(other);
        world.push(draw.unit);
    }
    let data = Dataset::new(
        Units::new("x", x_shape.to_vec(), x)?,
        Units::new("t", vec![1], t)?,
        Units::new("y", y_shape.to_vec(), y)?,
    )?;
    let t_new = Units::new("t_new", vec![1], t_new)?;
    let y_new = Units::new("y_new", y_shape.to_vec(), y_new)?;
    Ok(Simulated { data, truth: Truth { z, t_new, y_new }, world: Arc::new(world) })
}

/// The random numbers of unit `i`.
fn unit_stream(seed: u64, simulator: &str, i: usize) -> Rng {
    stream(seed, &[simulator, &i.to_string()])
}

fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low..high)
}

/// N(0, sd^2).
fn normal(rng: &mut Rng, sd: f32) -> f64 {
    let unit: f64 = StandardNormal.sample(rng);
    f64::from(sd) * unit
}

/// An even draw from `0..classes`, or 0 where all units are of one class. Uses the same random numbers in both
/// cases, so that all else stays as it is.
fn draw_class(rng: &mut Rng, classes: usize, single_class: bool) -> usize {
    let z = rng.random_range(0..classes);
    if single_class { 0 } else { z }
}

/// The noise of the other world, none where it is the same; `fresh` draws as much noise apart.
fn other_noise(noise: &[f64], rho: Option<f32>, fresh: impl FnOnce() -> Vec<f64>) -> Option<Vec<f64>> {
    let rho = rho.filter(|&rho| rho < 1.0)?;
    Some(noise.iter().zip(fresh()).map(|(&noise, fresh)| mixed(noise, fresh, rho)).collect())
}

/// As much noise as each, correlated with the first by `rho`.
fn mixed(noise: f64, fresh: f64, rho: f32) -> f64 {
    let rho = f64::from(rho);
    rho * noise + (1.0 - rho * rho).sqrt() * fresh
}

fn check_rho(rho: Option<f32>) -> Result<()> {
    match rho {
        Some(rho) if !(0.0..=1.0).contains(&rho) => {
            let problem = format!("{rho} is not a share of noise");
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
