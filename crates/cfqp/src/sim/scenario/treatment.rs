//! Treatments, which may depend on covariates and on the class.
//!
//! ```text
//! m_k(x) = a s(x) + shift_k
//! amounts:          t = low + span g(score),  score ~ N(m_k(x), 1 - a^2)
//! few values, arms: P(value v) ~ exp(b_v + c m_k(x) position_v)
//! ```

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::draw::{choose, happens, log_uniform, moments, standard};
use super::surface::Surface;
use crate::Rng;
use crate::math::{log_sum_exp_of, normal_cdf, normal_quantile};
use crate::sim::uniform;

/// The strength with which m_k(x) changes the odds of a value.
const ODDS: f64 = 1.2;
/// Ranks nearer to 0 or 1 have the score of this rank.
const MIN_RANK: f64 = 1e-6;

/// The kind of treatment of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreatmentKind {
    /// An amount, evenly spread.
    Uniform,
    /// An amount, normal.
    Normal,
    /// An amount, mostly small.
    Skewed,
    /// Three to eight amounts.
    FewValues,
    /// 0 or 1.
    Binary,
    /// Three or four arms, as columns of 0 or 1.
    Levels,
    /// Two amounts at once.
    Two,
}

impl TreatmentKind {
    /// Whether treatments are amounts of which no two units need have the same.
    pub fn is_continuous(self) -> bool {
        matches!(self, Self::Uniform | Self::Normal | Self::Skewed | Self::Two)
    }
}

/// Where a treatment lies: amounts from 0 to 1, or an arm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinates {
    pub amounts: Vec<f64>,
    pub arm: Option<usize>,
}

/// The distribution of the treatment.
#[derive(Clone, Debug)]
pub(super) struct Treatment {
    pub kind: TreatmentKind,
    /// The lowest amount and the span of usual amounts.
    low: f64,
    span: f64,
    shape: Shape,
    /// a and s(x), if the treatment depends on x.
    confounding: Option<(f64, Surface)>,
    /// One per class; 0 if the class does not drive the treatment.
    shifts: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Shape {
    /// u = Phi(score)^power, per amount with the loading of m_k(x)
    Ranks { power: f64, loadings: Vec<f64> },
    /// u = 1/2 + score/5
    Normal,
    /// Amounts or arms, one of which a unit receives.
    Values(Vec<Value>),
}

#[derive(Clone, Debug)]
struct Value {
    amount: f64,
    log_weight: f64,
    position: f64,
}

/// What a treatment may depend on.
pub(super) struct TreatmentCauses {
    pub confounder: Option<Surface>,
    pub classes: usize,
    pub class_drives: bool,
}

impl Treatment {
    pub(super) fn new(rng: &mut Rng, causes: TreatmentCauses) -> Self {
        let kind = choose(
            rng,
            &[
                (0.22, TreatmentKind::Uniform),
                (0.13, TreatmentKind::Normal),
                (0.14, TreatmentKind::Skewed),
                (0.17, TreatmentKind::FewValues),
                (0.16, TreatmentKind::Binary),
                (0.09, TreatmentKind::Levels),
                (0.09, TreatmentKind::Two),
            ],
        );
        let shape = Shape::new(rng, kind);
        let (low, span) = match kind {
            TreatmentKind::Binary | TreatmentKind::Levels => (0.0, 1.0),
            _ => choose(rng, &[(0.35, (0.0, 1.0)), (0.35, (0.0, 0.0)), (0.3, (1.0, 0.0))]),
        };
        let span = if span > 0.0 { span } else { nice(log_uniform(rng, 2.0, 500.0)) };
        let low = if low > 0.0 { nice(span * uniform(rng, 0.1, 1.0)) } else { 0.0 };
        let TreatmentCauses { confounder, classes, class_drives } = causes;
        let confounding = confounder.map(|surface| (uniform(rng, 0.4, 0.8), surface));
        let far = uniform(rng, 0.8, 1.8);
        let middle = 0.5 * (classes as f64 - 1.0);
        let shift = |k: usize| if class_drives { far * (k as f64 - middle) / middle.max(0.5) } else { 0.0 };
        Self { kind, low, span, shape, confounding, shifts: (0..classes).map(shift).collect() }
    }

    pub(super) fn is_confounded(&self) -> bool {
        self.confounding.is_some()
    }

    /// The number of columns.
    pub(super) fn columns(&self) -> usize {
        match (&self.shape, self.kind) {
            (Shape::Values(values), TreatmentKind::Levels) => values.len() - 1,
            (Shape::Ranks { loadings, .. }, _) => loadings.len(),
            _ => 1,
        }
    }

    /// The number of values that occur; none if there is no limit.
    pub(super) fn values(&self) -> Option<usize> {
        match &self.shape {
            Shape::Values(values) => Some(values.len()),
            _ => None,
        }
    }

    pub(super) fn draw(&self, rng: &mut Rng, x: &[f64], k: usize) -> Vec<f32> {
        let (mean, sd) = self.score_law(x, k);
        match &self.shape {
            Shape::Ranks { power, loadings } => {
                let amount = |loading: &f64| {
                    let sd = (1.0 - (1.0 - sd * sd) * loading * loading).sqrt();
                    normal_cdf(loading * mean + sd * standard(rng)).powf(*power)
                };
                loadings.iter().map(amount).map(|amount| self.recorded(amount)).collect()
            }
            Shape::Normal => vec![self.recorded(0.5 + 0.2 * (mean + sd * standard(rng)))],
            Shape::Values(values) => {
                let weights: Vec<(f64, usize)> =
                    log_odds(values, mean).iter().map(|odds| odds.exp()).zip(0..).collect();
                let chosen = choose(rng, &weights);
                if self.kind == TreatmentKind::Levels {
                    return (1..values.len()).map(|arm| f32::from(u8::from(arm == chosen))).collect();
                }
                vec![self.recorded(values[chosen].amount)]
            }
        }
    }

    /// log p(t | x, k), up to a term that is the same for all classes.
    pub(super) fn log_density(&self, at: &Coordinates, x: &[f64], k: usize) -> f64 {
        let (mean, sd) = self.score_law(x, k);
        match &self.shape {
            Shape::Ranks { power, loadings } => {
                let log = |(loading, amount): (&f64, &f64)| {
                    let rank = amount.max(0.0).powf(1.0 / power).clamp(MIN_RANK, 1.0 - MIN_RANK);
                    let sd = (1.0 - (1.0 - sd * sd) * loading * loading).sqrt();
                    -0.5 * ((normal_quantile(rank) - loading * mean) / sd).powi(2)
                };
                loadings.iter().zip(&at.amounts).map(log).sum()
            }
            Shape::Normal => -0.5 * (((at.amounts[0] - 0.5) / 0.2 - mean) / sd).powi(2),
            Shape::Values(values) => {
                let odds = log_odds(values, mean);
                let near = |value: &Value| (value.amount - at.amounts[0]).abs();
                let nearest = || {
                    (0..values.len())
                        .min_by(|&a, &b| near(&values[a]).total_cmp(&near(&values[b])))
                        .unwrap_or(0)
                };
                odds[at.arm.unwrap_or_else(nearest)] - log_sum_exp_of(&odds)
            }
        }
    }

    pub(super) fn coordinates(&self, t: &[f32]) -> Coordinates {
        if self.kind == TreatmentKind::Levels {
            let arm = t.iter().position(|&t| t > 0.5).map_or(0, |column| column + 1);
            return Coordinates { amounts: vec![arm as f64], arm: Some(arm) };
        }
        Coordinates { amounts: t.iter().map(|&t| (f64::from(t) - self.low) / self.span).collect(), arm: None }
    }

    fn recorded(&self, amount: f64) -> f32 {
        (self.low + self.span * amount) as f32
    }

    /// The mean m_k(x) and the standard deviation of the score.
    fn score_law(&self, x: &[f64], k: usize) -> (f64, f64) {
        match &self.confounding {
            Some((strength, surface)) => {
                (strength * surface.at(x) + self.shifts[k], (1.0 - strength * strength).sqrt())
            }
            None => (self.shifts[k], 1.0),
        }
    }
}

impl Shape {
    fn new(rng: &mut Rng, kind: TreatmentKind) -> Self {
        let count = match kind {
            TreatmentKind::Uniform => return Self::Ranks { power: 1.0, loadings: vec![1.0] },
            TreatmentKind::Skewed => {
                return Self::Ranks { power: uniform(rng, 1.8, 3.5), loadings: vec![1.0] };
            }
            TreatmentKind::Two => {
                return Self::Ranks { power: 1.0, loadings: vec![1.0, uniform(rng, -0.8, 0.8)] };
            }
            TreatmentKind::Normal => return Self::Normal,
            TreatmentKind::Binary => 2,
            TreatmentKind::FewValues => rng.random_range(3..=8),
            TreatmentKind::Levels => rng.random_range(3..=4),
        };
        let uneven = happens(rng, 0.3);
        let last = count as f64 - 1.0;
        let value = |v: usize, rng: &mut Rng| {
            let amount = v as f64 / last;
            let position =
                if kind == TreatmentKind::Levels { standard(rng) } else { (amount - 0.5) * 12.0_f64.sqrt() };
            let amount = if uneven && kind == TreatmentKind::FewValues { amount * amount } else { amount };
            Value { amount, log_weight: uniform(rng, -0.5, 0.5), position }
        };
        let mut values: Vec<Value> = (0..count).map(|v| value(v, rng)).collect();
        let (mean, sd) = moments(values.iter().map(|value| value.position));
        values.iter_mut().for_each(|value| value.position = (value.position - mean) / sd);
        Self::Values(values)
    }
}

fn log_odds(values: &[Value], mean: f64) -> Vec<f64> {
    values.iter().map(|value| value.log_weight + ODDS * mean * value.position).collect()
}

/// The number rounded to two digits.
fn nice(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}
