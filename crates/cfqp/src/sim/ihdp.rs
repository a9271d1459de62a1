//! A table with nothing hidden in it, in the manner of IHDP: what a method that looks for classes must leave alone.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::{Draw, Simulated, Unit, check_rho, check_sigma, mixed, normal, simulate, unit_stream};
use crate::{Result, Rng, stream};

/// Columns of numbers, and of zeros and ones.
const NUMBERS: usize = 6;
const FLAGS: usize = 19;
const COLUMNS: usize = NUMBERS + FLAGS;
/// A coefficient is one of these, this often: most columns matter little or not at all.
const COEFFICIENTS: [f64; 5] = [0.0, 0.1, 0.2, 0.3, 0.4];
const SHARES: [f64; 5] = [0.6, 0.1, 0.1, 0.1, 0.1];
/// Mean effect of a full dose.
const EFFECT: f64 = 4.0;

/// One class, a dose that depends on x, a nonlinear response, and noise that the two worlds do not share.
///
/// ```text
/// x: 6 numbers N(0, 1), correlated by 0.3, and 19 flags of Bernoulli(1/2)
/// T = sigmoid(x a + N(0, 1))
/// y = (1 - T) exp((x + 1/2) b / 2) + T ((x + 1/2) b + 4) + noise
/// ```
///
/// The coefficients a and b are drawn once and for all. Noise: N(0, sigma^2), by default drawn apart in the two worlds.
///
/// # Shapes
/// x `[25]`, t `[1]`, y `[1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ihdp {
    /// Standard deviation of the noise; 1 where none is given.
    pub sigma: Option<f32>,
    /// Correlation of the noise in the two worlds; 0, noise drawn apart, where none is given.
    pub rho: Option<f32>,
}

impl Ihdp {
    /// Standard deviation of the noise, given or not.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(1.0)
    }

    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        check_rho(self.rho)?;
        check_sigma(self.sigma())
    }

    /// `n` units. Unit `i` depends on the settings, `seed` and `i` alone.
    pub fn simulate(&self, n: usize, seed: u64) -> Result<Simulated> {
        self.check()?;
        let surface = Surface::drawn();
        simulate(n, &[COLUMNS], &[1], |i| self.draw(&surface, &mut unit_stream(seed, "ihdp", i)))
    }

    fn draw(&self, surface: &Surface, rng: &mut Rng) -> Draw<Child> {
        let common = normal(rng, 0.3_f32.sqrt());
        let mut x: Vec<f64> = (0..NUMBERS).map(|_| common + normal(rng, 0.7_f32.sqrt())).collect();
        x.extend((0..FLAGS).map(|_| f64::from(u8::from(rng.random::<bool>()))));
        let mut dose = || surface.dose(&x, normal(rng, 1.0)) as f32;
        let (t, t_new) = (dose(), dose());
        let (noise, apart) = (normal(rng, self.sigma()), normal(rng, self.sigma()));
        let child = |noise: f64| Child { ends: surface.ends(&x), noise };
        let other = Some(child(mixed(noise, apart, self.rho.unwrap_or(0.0))));
        let unit = child(noise);
        Draw { x: x.iter().map(|&x| x as f32).collect(), z: 0, t, t_new, unit, other }
    }
}

/// How dose and outcome depend on x.
#[derive(Debug)]
struct Surface {
    dose: Vec<f64>,
    outcome: Vec<f64>,
}

impl Surface {
    /// The same for every seed: units of two seeds belong together.
    fn drawn() -> Self {
        let mut rng = stream(0, &["ihdp", "surface"]);
        let mut coefficients = || (0..COLUMNS).map(|_| coefficient(&mut rng)).collect::<Vec<f64>>();
        Self { dose: coefficients(), outcome: coefficients() }
    }

    fn dose(&self, x: &[f64], noise: f64) -> f64 {
        let lean: f64 = x[..NUMBERS].iter().zip(&self.dose).map(|(x, a)| x * a).sum();
        1.0 / (1.0 + (-(lean + noise)).exp())
    }

    /// The mean outcome at no and at full dose.
    fn ends(&self, x: &[f64]) -> [f64; 2] {
        let sum: f64 = x.iter().zip(&self.outcome).map(|(x, b)| (x + 0.5) * b).sum();
        [(0.5 * sum).exp(), sum + EFFECT]
    }
}

fn coefficient(rng: &mut Rng) -> f64 {
    let mut left: f64 = rng.random();
    for (value, share) in COEFFICIENTS.into_iter().zip(SHARES) {
        left -= share;
        if left < 0.0 {
            return value;
        }
    }
    COEFFICIENTS[0]
}

/// What an outcome needs beside the dose.
#[derive(Debug)]
struct Child {
    ends: [f64; 2],
    noise: f64,
}

impl Unit for Child {
    fn outcome(&self, t: f32) -> Vec<f32> {
        let t = f64::from(t);
        vec![((1.0 - t) * self.ends[0] + t * self.ends[1] + self.noise) as f32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_the_two_worlds_is_as_alike_as_it_is_told_to_be() {
        for rho in [0.0, 0.5, 1.0] {
            let (n, surface) = (4000, Surface::drawn());
            let simulated = Ihdp { rho: Some(rho), ..Ihdp::default() }.simulate(n, 3).unwrap();
            let noise = |i: usize, t: f32, y: f32| {
                let x: Vec<f64> = simulated.data.x().row(i).iter().map(|&x| f64::from(x)).collect();
                let [none, full] = surface.ends(&x);
                f64::from(y) - (1.0 - f64::from(t)) * none - f64::from(t) * full
            };
            let truth = &simulated.truth;
            let products = (0..n).map(|i| {
                let seen = noise(i, simulated.data.t().row(i)[0], simulated.data.y().row(i)[0]);
                let other = noise(i, truth.t_new.row(i)[0], truth.y_new.row(i)[0]);
                seen * other
            });
            let correlation = products.sum::<f64>() / n as f64;
            assert!((correlation - f64::from(rho)).abs() < 0.06, "{correlation} for {rho}");
        }
    }

    #[test]
    fn the_dose_depends_on_x_and_leaves_room() {
        let simulated = Ihdp::default().simulate(2000, 1).unwrap();
        let t = simulated.data.t().values();
        let mean = t.iter().sum::<f32>() / t.len() as f32;
        assert!(t.iter().all(|t| (0.0..=1.0).contains(t)) && (0.3..0.7).contains(&mean), "{mean}");
        let lean = |x: &[f32]| x[..NUMBERS].iter().sum::<f32>();
        let high: Vec<f32> =
            (0..2000).filter(|&i| lean(simulated.data.x().row(i)) > 2.0).map(|i| t[i]).collect();
        assert!(high.iter().sum::<f32>() / high.len() as f32 > mean + 0.02);
    }
}
