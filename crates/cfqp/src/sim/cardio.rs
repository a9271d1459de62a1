//! A cardiovascular system that is given fluid; the response of the veins is the hidden class.

use std::array;

use serde::{Deserialize, Serialize};

use super::ode::rk4;
use super::{
    Draw, Noise, Shapes, Simulated, Unit, check_rho, check_sigma, draw_class, normal, other_noise, simulate,
    uniform, unit_stream,
};
use crate::{Result, Rng};

/// Seconds, and samples, before and after the start of the treatment.
const SECONDS: usize = 20;
/// Integration steps per second: pressures are accurate to 1e-8.
const STEPS: usize = 8;
const CLASSES: usize = 2;

const F_MAX: f64 = 3.0;
const F_MIN: f64 = 2.0 / 3.0;
const R_MAX: f64 = 2.134;
const R_MIN: f64 = 0.5335;
const C_A: f64 = 4.0;
const C_V: f64 = 111.0;
const K: f64 = 0.1838;
const P_SET: f64 = 70.0;
const TAU: f64 = 20.0;

/// p_a = P_a/100, p_v = P_v/10, s = S, sv = SV/100.
type State = [f64; 4];

/// The cardiovascular system: arterial and venous pressure over 40 s, fluid given from 20 s on.
///
/// ```text
/// q = -(P_a - P_v)/R(S) + SV f(S)                    net flow into the arteries
/// C_a dP_a/dt = q
/// C_v dP_v/dt = -q + (1 + 2 z + noise(t)) I(t)
/// dS/dt = (1 - 1/(1 + exp(-k (P_a - P_set))) - S)/tau
/// dsv/dt = 0.001 I(t)                                sv = SV/100
/// R(S) = S (R_max - R_min) + R_min    f(S) = S (f_max - f_min) + f_min
/// I(t) = 0 before 20 s, then 5 T g(0.5 + (p_a(0) - 0.75)/0.1) exp(-((t - 25)/5)^2)
/// g(u) = 0.02 (cos(5u - 0.2) (5 - u)^2)^2
/// ```
///
/// Start: p_a ~ U(0.75, 0.85), p_v ~ U(0.3, 0.7), S ~ U(0.15, 0.25), sv ~ U(0.9, 1). z ~ Bernoulli(1/2),
/// T ~ U(0.4, 1). Additive noise: N(0, sigma^2) on every point. Non-additive: noise(t) is N(0, sigma^2),
/// independent every second. The noise of an outcome is the same under every treatment unless `rho` is below 1.
///
/// # Shapes
/// x `[2, 20]` (p_a = P_a/100 and p_v = P_v/10 at 1, 2, ..., 20 s), t `[1]`, y `[2, 20]` (at 21, 22, ..., 40 s).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cardio {
    /// How noise enters the outcome.
    pub noise: Noise,
    /// The standard deviation of the noise; 0.01 by default.
    pub sigma: Option<f32>,
    /// The correlation of the noise under t and t'; 1 by default, the same noise.
    pub rho: Option<f32>,
    /// Draws the venous compliance C_v from U(10, 110) per unit, unobserved, instead of 111.
    pub hidden_compliance: bool,
    /// Puts all units in class 0: there are no hidden classes.
    pub single_class: bool,
}

impl Cardio {
    /// The standard deviation of the noise, given or default.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(0.01)
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        check_rho(self.rho)?;
        check_sigma(self.sigma())
    }

    /// Simulates `n` units. Unit `i` depends on the settings, `seed` and `i` only.
    pub fn simulate(&self, n: usize, seed: u64) -> Result<Simulated> {
        self.validate()?;
        simulate(n, &Shapes { x: &[2, SECONDS], t: 1, y: &[2, SECONDS] }, |i| {
            self.draw(&mut unit_stream(seed, "cardio", i))
        })
    }

    fn draw(&self, rng: &mut Rng) -> Draw<Patient> {
        let start = [
            uniform(rng, 0.75, 0.85),
            uniform(rng, 0.3, 0.7),
            uniform(rng, 0.15, 0.25),
            uniform(rng, 0.9, 1.0),
        ];
        let hidden = uniform(rng, 10.0, 110.0);
        let c_v = if self.hidden_compliance { hidden } else { C_V };
        let z = draw_class(rng, CLASSES, self.single_class);
        let t = uniform(rng, 0.4, 1.0) as f32;
        let t_new = uniform(rng, 0.4, 1.0) as f32;
        let (point_sigma, flow_sigma) = match self.noise {
            Noise::Additive => (self.sigma(), 0.0),
            Noise::NonAdditive => (0.0, self.sigma()),
        };
        let x_noise = point_noise(point_sigma, rng);
        let y_noise = point_noise(point_sigma, rng);
        let flow = flow_noise(flow_sigma, rng);
        let other = (
            other_noise(&y_noise, self.rho, || point_noise(point_sigma, rng)),
            other_noise(&flow, self.rho, || flow_noise(flow_sigma, rng)),
        );

        let before = trajectory(start, c_v, |_, _| [0.0; 2]);
        let (response, treated_from) = (response(start[0]), before[SECONDS - 1]);
        let x = pressures(&before, &x_noise);
        let unit = Patient { z, c_v, response, treated_from, flow_noise: flow, y_noise };
        let other = match other {
            (Some(y_noise), Some(flow_noise)) => Some(Patient { flow_noise, y_noise, ..unit }),
            _ => None,
        };
        Draw { x, z, t: vec![t], t_new: vec![t_new], unit, other, y_bayes: None, p_bayes: None }
    }
}

/// The hidden variables of a patient.
#[derive(Debug)]
struct Patient {
    z: usize,
    c_v: f64,
    /// g(0.5 + (p_a(0) - 0.75)/0.1)
    response: f64,
    /// The state at 20 s.
    treated_from: State,
    /// noise(t), one value per second.
    flow_noise: Vec<f64>,
    y_noise: Vec<f64>,
}

impl Patient {
    /// The states at 21, 22, ..., 40 s under treatment `t`.
    fn treated(&self, t: f64) -> [State; SECONDS] {
        let peak = 5.0 * t * self.response;
        trajectory(self.treated_from, self.c_v, |second, since| {
            let given = peak * (-((since - 5.0) / 5.0).powi(2)).exp();
            [given, (1.0 + 2.0 * self.z as f64 + self.flow_noise[second]) * given]
        })
    }
}

impl Unit for Patient {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        pressures(&self.treated(f64::from(t[0])), &self.y_noise)
    }
}

/// The strength of a patient's response, by the arterial pressure at the start.
fn response(p_a: f64) -> f64 {
    let u = 0.5 + (p_a - 0.75) / 0.1;
    0.02 * ((5.0 * u - 0.2).cos() * (5.0 - u).powi(2)).powi(2)
}

/// The states 1, 2, ..., 20 s after `state`. `fluid(second, since)` is the fluid given and the fluid that reaches the
/// veins, `since` seconds after `state`. It may jump at whole seconds: each second is integrated separately.
fn trajectory(mut state: State, c_v: f64, fluid: impl Fn(usize, f64) -> [f64; 2]) -> [State; SECONDS] {
    array::from_fn(|second| {
        let slope = |since: f64, state: &State| derivative(state, c_v, fluid(second, since));
        state = rk4(slope, second as f64, 1.0, STEPS, state);
        state
    })
}

/// d(state)/dt with `given` fluid per second, of which `venous` (including class and noise) reaches the veins.
fn derivative(&[p_a, p_v, s, sv]: &State, c_v: f64, [given, venous]: [f64; 2]) -> State {
    let (arterial, vein, stroke) = (100.0 * p_a, 10.0 * p_v, 100.0 * sv);
    let resistance = s * (R_MAX - R_MIN) + R_MIN;
    let rate = s * (F_MAX - F_MIN) + F_MIN;
    let q = -(arterial - vein) / resistance + stroke * rate;
    let tone = 1.0 - 1.0 / (1.0 + (-K * (arterial - P_SET)).exp());
    [q / C_A / 100.0, (-q + venous) / c_v / 10.0, (tone - s) / TAU, 0.001 * given]
}

fn flow_noise(sigma: f32, rng: &mut Rng) -> Vec<f64> {
    (0..SECONDS).map(|_| normal(rng, sigma)).collect()
}

fn point_noise(sigma: f32, rng: &mut Rng) -> Vec<f64> {
    (0..2 * SECONDS).map(|_| normal(rng, sigma)).collect()
}

/// p_a at every second, then p_v, `[2, 20]`, with `noise` added.
fn pressures(states: &[State; SECONDS], noise: &[f64]) -> Vec<f32> {
    let p_a = states.iter().map(|state| state[0]);
    let p_v = states.iter().map(|state| state[1]);
    p_a.chain(p_v).zip(noise).map(|(pressure, noise)| (pressure + noise) as f32).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn golden_sets() -> Vec<Value> {
        let golden: Value = serde_json::from_str(include_str!("../../tests/golden/cv_ode.json")).unwrap();
        golden["sets"].as_array().unwrap().clone()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    fn state(values: &[f64]) -> State {
        values.try_into().unwrap()
    }

    /// The patient of a golden set, without noise, and the states up to 20 s.
    fn patient(set: &Value) -> (Patient, [State; SECONDS]) {
        let start = state(&numbers(&set["init_state_pa_pv_s_sv"]));
        let c_v = set["cv"].as_f64().unwrap();
        let before = trajectory(start, c_v, |_, _| [0.0; 2]);
        let patient = Patient {
            z: set["Z"].as_u64().unwrap() as usize,
            c_v,
            response: response(start[0]),
            treated_from: before[SECONDS - 1],
            flow_noise: vec![0.0; SECONDS],
            y_noise: vec![0.0; 2 * SECONDS],
        };
        (patient, before)
    }

    #[test]
    fn trajectories_agree_with_scipy() {
        for set in golden_sets() {
            let (patient, before) = patient(&set);
            let after = patient.treated(set["T"].as_f64().unwrap());
            let golden = numbers(&set["traj_split_1e12"]["data"]);
            for (second, (ours, golden)) in before.iter().chain(&after).zip(golden[4..].chunks(4)).enumerate()
            {
                for (ours, golden) in ours.iter().zip(golden) {
                    assert!((ours - golden).abs() < 2e-8, "second {}: {ours} {golden}", second + 1);
                }
            }
        }
    }

    #[test]
    fn derivatives_agree_with_the_reference() {
        for set in golden_sets() {
            let peak = 5.0 * set["A"].as_f64().unwrap();
            let factor = 1.0 + 2.0 * set["Z"].as_f64().unwrap();
            for check in set["rhs_checks"].as_array().unwrap() {
                let t = check["t"].as_f64().unwrap();
                let given = if t < 20.0 { 0.0 } else { peak * (-((t - 25.0) / 5.0).powi(2)).exp() };
                let at = state(&numbers(&check["state"]));
                let ours = derivative(&at, set["cv"].as_f64().unwrap(), [given, factor * given]);
                for (ours, golden) in ours.iter().zip(numbers(&check["dxdt"])) {
                    assert!((ours - golden).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn flow_noise_changes_the_outcome_only() {
        let with = |sigma| Cardio { noise: Noise::NonAdditive, sigma: Some(sigma), ..Default::default() };
        let (quiet, loud) = (with(0.0).simulate(20, 5).unwrap(), with(0.5).simulate(20, 5).unwrap());
        assert_eq!(quiet.data.x(), loud.data.x());
        assert_ne!(quiet.data.y(), loud.data.y());
    }

    #[test]
    fn a_hidden_compliance_changes_x() {
        let hidden = Cardio { hidden_compliance: true, ..Default::default() };
        let (fixed, hidden) = (Cardio::default().simulate(5, 5).unwrap(), hidden.simulate(5, 5).unwrap());
        assert_eq!(fixed.data.t(), hidden.data.t());
        assert_ne!(fixed.data.x(), hidden.data.x());
    }
}
