//! What is true of the units of a scenario, besides the counterfactual with the same noise.

use super::predictive::Predictive;
use crate::Result;
use crate::data::Units;

/// The level of the intervals.
const LEVEL: f64 = 0.9;

/// Lower and upper ends of intervals of level 0.9.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Lower ends.
    pub lower: Units,
    /// Upper ends.
    pub upper: Units,
}

/// The truth about the units of a scenario besides [`Truth`](super::super::Truth), for scoring only.
///
/// "Unknown rho" is a world in which the noise has a correlation to that of the factual world which is drawn per unit,
/// uniform on [0, 1] (between standard normal scores of the same rank), or with repeats that within subjects.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioTruth {
    /// Another treatment of every unit, drawn as t' was, that effects start from.
    pub t_from: Units,
    /// y(t') - y(t_from) with the same noise as [`Truth::y_new`](super::super::Truth::y_new).
    pub effect: Units,
    /// E of the effect given x, t, y.
    pub effect_bayes: Units,
    /// y' with unknown rho.
    pub y_new_unknown_rho: Units,
    /// E of it given x, t, y; exp(E log) of positive outcomes.
    pub y_bayes_unknown_rho: Units,
    /// The effect with unknown rho: the noise is the same under t_from and t'.
    pub effect_unknown_rho: Units,
    /// E of it given x, t, y.
    pub effect_bayes_unknown_rho: Units,
    /// The 5% and 95% quantiles of y' given x, t, y, with the same noise. The outcome is no more certain than the class.
    pub bayes: Interval,
    /// The 5% and 95% quantiles of y' given x and t' alone.
    pub marginal: Interval,
}

/// The truth about one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct RowTruth {
    pub t_from: Vec<f32>,
    pub effect: Vec<f32>,
    pub y_new: Vec<f32>,
    pub effect_unknown_rho: Vec<f32>,
    pub effect_bayes: Vec<f32>,
    pub y_bayes: Vec<f32>,
    pub effect_bayes_unknown_rho: Vec<f32>,
    pub bayes: [Vec<f32>; 2],
    pub marginal: [Vec<f32>; 2],
}

impl RowTruth {
    /// Adds an outcome: its distributions given the unit and given x and t' alone, and the means of its effect, of the outcome
    /// with unknown rho, and of the effect with unknown rho.
    pub(super) fn add(&mut self, new: &Predictive, marginal: &Predictive, means: [f64; 3]) {
        let [effect, y, effect_unknown_rho] = means.map(|mean| mean as f32);
        self.effect_bayes.push(effect);
        self.y_bayes.push(y);
        self.effect_bayes_unknown_rho.push(effect_unknown_rho);
        for (end, p) in [0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)].into_iter().enumerate() {
            self.bayes[end].push(new.quantile(p) as f32);
            self.marginal[end].push(marginal.quantile(p) as f32);
        }
    }
}

impl ScenarioTruth {
    pub(super) fn new(rows: &[RowTruth], treatments: usize, outcomes: usize) -> Result<Self> {
        let of_outcomes = |name: &str, values: fn(&RowTruth) -> &Vec<f32>| {
            Units::new(name, vec![outcomes], rows.iter().flat_map(values).copied().collect())
        };
        let t_from = rows.iter().flat_map(|row| &row.t_from).copied().collect();
        Ok(Self {
            t_from: Units::new("t_from", vec![treatments], t_from)?,
            effect: of_outcomes("effect", |row| &row.effect)?,
            effect_bayes: of_outcomes("effect_bayes", |row| &row.effect_bayes)?,
            y_new_unknown_rho: of_outcomes("y_new", |row| &row.y_new)?,
            y_bayes_unknown_rho: of_outcomes("y_bayes", |row| &row.y_bayes)?,
            effect_unknown_rho: of_outcomes("effect", |row| &row.effect_unknown_rho)?,
            effect_bayes_unknown_rho: of_outcomes("effect_bayes", |row| &row.effect_bayes_unknown_rho)?,
            bayes: Interval {
                lower: of_outcomes("lower", |row| &row.bayes[0])?,
                upper: of_outcomes("upper", |row| &row.bayes[1])?,
            },
            marginal: Interval {
                lower: of_outcomes("lower", |row| &row.marginal[0])?,
                upper: of_outcomes("upper", |row| &row.marginal[1])?,
            },
        })
    }
}
