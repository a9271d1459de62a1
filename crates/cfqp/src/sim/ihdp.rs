//! A table without hidden classes, modelled on IHDP: a method should find one class.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::{
    Draw, Shapes, Simulated, Unit, check_rho, check_sigma, correlated, normal, simulate, unit_stream,
};
use crate::{Result, Rng, stream};

/// The numbers of continuous and of binary columns.
const NUMBERS: usize = 6;
const FLAGS: usize = 19;
const COLUMNS: usize = NUMBERS + FLAGS;
/// The values of coefficients and their probabilities: most columns matter little or not at all.
const COEFFICIENTS: [f64; 5] = [0.0, 0.1, 0.2, 0.3, 0.4];
const SHARES: [f64; 5] = [0.6, 0.1, 0.1, 0.1, 0.1];
/// The constant part of the effect of a full dose.
const EFFECT: f64 = 4.0;

/// One class, a dose that depends on x, a nonlinear response, and independent noise under t and t'.
///
/// ```text
/// x: 6 numbers N(0, 1), correlated by 0.3, and 19 flags of Bernoulli(1/2)
/// T = sigmoid(x a + N(0, 1))
/// y = (1 - T) exp((x + 1/2) b / 2) + T ((x + 1/2) b + 4) + noise
/// ```
///
/// The coefficients a and b are the same for all seeds. Noise: N(0, sigma^2), by default independent under t and t'.
///
/// # Shapes
/// x `[25]`, t `[1]`, y `[1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ihdp {
    /// The standard deviation of the noise; 1 by default.
    pub sigma: Option<f32>,
    /// The correlation of the noise under t and t'; 0 by default, independent noise.
    pub rho: Option<f32>,
}

impl Ihdp {
    /// The standard deviation of the noise, given or default.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(1.0)
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        check_rho(self.rho)?;
        check_sigma(self.sigma())
    }

    /// Simulates `n` units. Unit `i` depends on the settings, `seed` and `i` only.
    pub fn simulate(&self, n: usize, seed: u64) -> Result<Simulated> {
        self.validate()?;
        let surface = ResponseSurface::fixed();
        simulate(n, &Shapes { x: &[COLUMNS], t: 1, y: &[1] }, |i| {
            self.draw(&surface, &mut unit_stream(seed, "ihdp", i))
        })
    }

    fn draw(&self, surface: &ResponseSurface, rng: &mut Rng) -> Draw<IhdpUnit> {
        let common = normal(rng, 0.3_f32.sqrt());
        let mut x: Vec<f64> = (0..NUMBERS).map(|_| common + normal(rng, 0.7_f32.sqrt())).collect();
        x.extend((0..FLAGS).map(|_| f64::from(u8::from(rng.random::<bool>()))));
        let mut dose = || surface.dose(&x, normal(rng, 1.0)) as f32;
        let (t, t_new) = (dose(), dose());
        let (noise, fresh) = (normal(rng, self.sigma()), normal(rng, self.sigma()));
        let unit = |noise: f64| IhdpUnit { ends: surface.end_points(&x), noise };
        let other = Some(unit(correlated(noise, fresh, self.rho.unwrap_or(0.0))));
        let unit = unit(noise);
        Draw {
            x: x.iter().map(|&x| x as f32).collect(),
            z: 0,
            t: vec![t],
            t_new: vec![t_new],
            unit,
            other,
            y_bayes: None,
            p_bayes: None,
        }
    }
}

/// The coefficients of dose and outcome.
#[derive(Debug)]
struct ResponseSurface {
    dose: Vec<f64>,
    outcome: Vec<f64>,
}

impl ResponseSurface {
    /// The coefficients, the same for every seed: training and test units must share them.
    fn fixed() -> Self {
        let mut rng = stream(0, &["ihdp", "surface"]);
        let mut coefficients = || (0..COLUMNS).map(|_| coefficient(&mut rng)).collect::<Vec<f64>>();
        Self { dose: coefficients(), outcome: coefficients() }
    }

    fn dose(&self, x: &[f64], noise: f64) -> f64 {
        let tendency: f64 = x[..NUMBERS].iter().zip(&self.dose).map(|(x, a)| x * a).sum();
        1.0 / (1.0 + (-(tendency + noise)).exp())
    }

    /// The mean outcome without dose and at full dose.
    fn end_points(&self, x: &[f64]) -> [f64; 2] {
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

/// The hidden variables of a unit.
#[derive(Debug)]
struct IhdpUnit {
    ends: [f64; 2],
    noise: f64,
}

impl Unit for IhdpUnit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let t = f64::from(t[0]);
        vec![((1.0 - t) * self.ends[0] + t * self.ends[1] + self.noise) as f32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_under_both_treatments_has_the_correlation_rho() {
        for rho in [0.0, 0.5, 1.0] {
            let (n, surface) = (4000, ResponseSurface::fixed());
            let simulated = Ihdp { rho: Some(rho), ..Ihdp::default() }.simulate(n, 3).unwrap();
            let noise = |i: usize, t: f32, y: f32| {
                let x: Vec<f64> = simulated.data.x().row(i).iter().map(|&x| f64::from(x)).collect();
                let [none, full] = surface.end_points(&x);
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
    fn the_dose_depends_on_x_and_covers_its_range() {
        let simulated = Ihdp::default().simulate(2000, 1).unwrap();
        let t = simulated.data.t().values();
        let mean = t.iter().sum::<f32>() / t.len() as f32;
        assert!(t.iter().all(|t| (0.0..=1.0).contains(t)) && (0.3..0.7).contains(&mean), "{mean}");
        let tendency = |x: &[f32]| x[..NUMBERS].iter().sum::<f32>();
        let high: Vec<f32> =
            (0..2000).filter(|&i| tendency(&simulated.data.x().row(i)) > 2.0).map(|i| t[i]).collect();
        assert!(high.iter().sum::<f32>() / high.len() as f32 > mean + 0.02);
    }
}
