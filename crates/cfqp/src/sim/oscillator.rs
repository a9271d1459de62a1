//! Two coupled sines; the treatment shifts one of them, the other, or both.

use serde::{Deserialize, Serialize};

use super::{
    Draw, Noise, Shapes, Simulated, Unit, check_rho, check_sigma, draw_class, normal, other_noise, simulate,
    uniform, unit_stream,
};
use crate::{Result, Rng};

/// Steps before the treatment, and as many after it.
const STEPS: usize = 20;
/// The number of steps until the treatment has its full effect.
const RAMP: f64 = 3.0;
const CLASSES: usize = 3;

/// The oscillator: 40 steps of two channels, treated after the 20th.
///
/// ```text
/// phi ~ N(0, 1)    T ~ U(0.2, 1)    z uniform on {0, 1, 2}
/// base(s) = [sin(s/2 + phi), sin(s/2 + 2 phi)]
/// effect(s) = T min(s - 20, 3)/3    on channel 0 for z = 0 and 2, on channel 1 for z = 1 and 2
/// ```
///
/// Additive noise: N(0, sigma^2) on every point. Non-additive: the phase is phi + N(0, sigma^2), independent at every
/// step. The noise of an outcome is the same under every treatment unless `rho` is below 1.
///
/// # Shapes
/// x `[2, 20]`, t `[1]`, y `[2, 20]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oscillator {
    /// How noise enters the outcome.
    pub noise: Noise,
    /// The standard deviation of the noise; 0.05 by default.
    pub sigma: Option<f32>,
    /// The correlation of the noise under t and t'; 1 by default, the same noise.
    pub rho: Option<f32>,
    /// Puts all units in class 0: there are no hidden classes.
    pub single_class: bool,
}

impl Oscillator {
    /// The standard deviation of the noise, given or default.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(0.05)
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        check_rho(self.rho)?;
        check_sigma(self.sigma())
    }

    /// Simulates `n` units. Unit `i` depends on the settings, `seed` and `i` only.
    pub fn simulate(&self, n: usize, seed: u64) -> Result<Simulated> {
        self.validate()?;
        simulate(n, &Shapes { x: &[2, STEPS], t: 1, y: &[2, STEPS] }, |i| {
            self.draw(&mut unit_stream(seed, "oscillator", i))
        })
    }

    fn draw(&self, rng: &mut Rng) -> Draw<OscillatorUnit> {
        let phi = normal(rng, 1.0);
        let z = draw_class(rng, CLASSES, self.single_class);
        let t = uniform(rng, 0.2, 1.0) as f32;
        let t_new = uniform(rng, 0.2, 1.0) as f32;
        let x_noise = self.noise(rng);
        let noise = self.noise(rng);
        let other = other_noise(&noise, self.rho, || self.noise(rng));
        let x = self.untreated(phi, 0, &x_noise).iter().map(|&x| x as f32).collect();
        let unit = |noise: &[f64]| OscillatorUnit { z, untreated: self.untreated(phi, STEPS, noise) };
        Draw {
            x,
            z,
            t: vec![t],
            t_new: vec![t_new],
            unit: unit(&noise),
            other: other.as_deref().map(unit),
            y_bayes: None,
            p_bayes: None,
        }
    }

    /// The independent noise of every step: two values or one.
    fn noise(&self, rng: &mut Rng) -> Vec<f64> {
        let per_step = if self.noise == Noise::Additive { 2 } else { 1 };
        (0..per_step * STEPS).map(|_| normal(rng, self.sigma())).collect()
    }

    /// The 20 steps from `start` without treatment, noise included, `[2, 20]`.
    fn untreated(&self, phi: f64, start: usize, noise: &[f64]) -> Vec<f64> {
        let mut series = vec![0.0; 2 * STEPS];
        for step in 0..STEPS {
            let (noise_0, noise_1, phase) = match self.noise {
                Noise::Additive => (noise[2 * step], noise[2 * step + 1], phi),
                Noise::NonAdditive => (0.0, 0.0, phi + noise[step]),
            };
            let angle = 0.5 * (start + step) as f64;
            series[step] = (angle + phase).sin() + noise_0;
            series[STEPS + step] = (angle + 2.0 * phase).sin() + noise_1;
        }
        series
    }
}

/// The class of a unit and its outcome without treatment, to which the treatment adds.
#[derive(Debug)]
struct OscillatorUnit {
    z: usize,
    untreated: Vec<f64>,
}

impl Unit for OscillatorUnit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let responds = [self.z != 1, self.z != 0];
        let point = |(i, untreated): (usize, &f64)| {
            let (channel, step) = (i / STEPS, i % STEPS);
            let ramp = (step as f64).min(RAMP) / RAMP;
            let effect = if responds[channel] { ramp * f64::from(t[0]) } else { 0.0 };
            (untreated + effect) as f32
        };
        self.untreated.iter().enumerate().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_treatment_shifts_the_channels_of_the_class() {
        let simulated = Oscillator::default().simulate(60, 1).unwrap();
        for (unit, z) in simulated.truth.z.iter().enumerate() {
            let (low, high) = (simulated.outcome(unit, &[0.25]), simulated.outcome(unit, &[0.75]));
            let shift: Vec<f32> = low.iter().zip(&high).map(|(low, high)| high - low).collect();
            for (channel, responds) in [(0, [0, 2].contains(z)), (1, [1, 2].contains(z))] {
                let full = if responds { 0.5 } else { 0.0 };
                for (step, part) in [(0, 0.0), (1, 1.0 / 3.0), (2, 2.0 / 3.0), (3, 1.0), (19, 1.0)] {
                    let seen = shift[channel * STEPS + step];
                    assert!((seen - full * part).abs() < 1e-6, "class {z}, step {step}: {seen}");
                }
            }
        }
    }

    #[test]
    fn without_noise_the_channels_are_sines_of_one_phase() {
        for noise in [Noise::Additive, Noise::NonAdditive] {
            let config = Oscillator { noise, sigma: Some(0.0), ..Default::default() };
            let simulated = config.simulate(5, 3).unwrap();
            for i in 0..5 {
                let x = simulated.data.x().row(i);
                // sin(a - 1/2) + sin(a + 1/2) = 2 cos(1/2) sin(a), from x into y
                for channel in x.chunks(STEPS) {
                    assert!((channel[0] + channel[2] - 2.0 * 0.5_f32.cos() * channel[1]).abs() < 1e-5);
                }
                let y = simulated.outcome(i, &[0.0]);
                assert!((x[18] + y[0] - 2.0 * 0.5_f32.cos() * x[19]).abs() < 1e-5);
            }
        }
    }
}
