//! Scores of answers about the units of a scenario.

use serde::{Deserialize, Serialize};

use cfqp::sim::{Interval, ScenarioOutcome};
use cfqp::{Answers, Units};

/// Answers about positive outcomes are at least this share of the smallest outcome seen.
const FLOOR: f64 = 1e-3;
/// A mean width below this share of the marginal one is no width.
const MIN_BAYES_WIDTH: f64 = 1e-3;

/// The scale on which outcomes are scored: that of the outcome, or of its logarithm for positive outcomes.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    is_log: bool,
    floor: f64,
    /// The variance of every outcome on this scale.
    variances: Vec<f64>,
    /// The variance of every outcome as it is.
    raw_variances: Vec<f64>,
}

impl Scale {
    /// The scale of outcomes like `y`.
    pub(super) fn new(kind: ScenarioOutcome, y: &Units) -> Self {
        let is_log = kind == ScenarioOutcome::Positive;
        let smallest = y.values().iter().copied().fold(f32::INFINITY, f32::min);
        let mut scale = Self {
            is_log,
            floor: FLOOR * f64::from(smallest),
            variances: Vec::new(),
            raw_variances: Vec::new(),
        };
        let of = |j: usize, value: &dyn Fn(f32) -> f64| {
            let values: Vec<f64> =
                y.values().iter().skip(j).step_by(y.elements()).map(|&y| value(y)).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance =
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            if variance > 0.0 { variance } else { 1.0 }
        };
        scale.variances = (0..y.elements()).map(|j| of(j, &|y| scale.value(y))).collect();
        scale.raw_variances = (0..y.elements()).map(|j| of(j, &|y| f64::from(y))).collect();
        scale
    }

    fn value(&self, y: f32) -> f64 {
        if self.is_log { f64::from(y).max(self.floor).ln() } else { f64::from(y) }
    }

    /// The mean squared error of the units at `rows`, in variances of y; the mean over outcomes.
    pub(super) fn error_of(&self, truth: &Units, answers: &Units, rows: &[usize]) -> f64 {
        let unit = |&i: &usize| {
            let (truth, answer) = (truth.row(i), answers.row(i));
            let gaps = truth.iter().zip(answer.iter()).zip(&self.variances);
            gaps.map(|((y, answer), variance)| (self.value(*y) - self.value(*answer)).powi(2) / variance)
                .sum::<f64>()
        };
        rows.iter().map(unit).sum::<f64>() / (rows.len() * truth.elements()).max(1) as f64
    }

    pub(super) fn error(&self, truth: &Units, answers: &Units) -> f64 {
        self.error_of(truth, answers, &(0..truth.len()).collect::<Vec<_>>())
    }

    /// The difference of the means of `answers` and `truth`, in standard deviations of y: the largest over outcomes.
    pub(super) fn bias(&self, truth: &Units, answers: &Units) -> f64 {
        let bias = |j: usize| {
            let gap = |i: usize| f64::from(answers.row(i)[j]) - f64::from(truth.row(i)[j]);
            let mean = (0..truth.len()).map(gap).sum::<f64>() / truth.len() as f64;
            mean.abs() / self.raw_variances[j].sqrt()
        };
        (0..truth.elements()).map(bias).fold(0.0, f64::max)
    }

    /// The mean width of intervals in standard deviations of y.
    fn width(&self, lower: &Units, upper: &Units) -> f64 {
        let width = |(i, (lower, upper)): (usize, (&f32, &f32))| {
            (self.value(*upper) - self.value(*lower)) / self.variances[i % self.variances.len()].sqrt()
        };
        let ends = lower.values().iter().zip(upper.values());
        ends.enumerate().map(width).sum::<f64>() / lower.values().len() as f64
    }

    /// The mean width of intervals of effects, in standard deviations of y.
    fn effect_width(&self, lower: &Units, upper: &Units) -> f64 {
        let width = |(i, (lower, upper)): (usize, (&f32, &f32))| {
            f64::from(upper - lower) / self.raw_variances[i % self.raw_variances.len()].sqrt()
        };
        let ends = lower.values().iter().zip(upper.values());
        ends.enumerate().map(width).sum::<f64>() / lower.values().len() as f64
    }

    /// The share of the values of the units at `rows` that are inside their intervals, but for rounding.
    pub(super) fn coverage_of(&self, truth: &Units, answers: &Answers, rows: &[usize]) -> f64 {
        let inside = |i: usize| {
            let (truth, lower, upper) = (truth.row(i), answers.lower.row(i), answers.upper.row(i));
            let is_inside = |j: usize| {
                let slack = 1e-5 * truth[j].abs() + 1e-5 * self.raw_variances[j].sqrt() as f32;
                // of positive outcomes the smallest are far below the standard deviation
                let slack = if self.is_log { slack.min(1e-4 * truth[j].abs()) } else { slack };
                (lower[j] - slack..=upper[j] + slack).contains(&truth[j])
            };
            (0..truth.len()).filter(|&j| is_inside(j)).count()
        };
        let count: usize = rows.iter().map(|&i| inside(i)).sum();
        count as f64 / (rows.len() * truth.elements()).max(1) as f64
    }

    pub(super) fn coverage(&self, truth: &Units, answers: &Answers) -> f64 {
        self.coverage_of(truth, answers, &(0..truth.len()).collect::<Vec<_>>())
    }
}

/// The intervals of one question: outcomes and effects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct IntervalScores {
    /// The coverage of the intervals of outcomes; of the best probabilities for yes/no outcomes.
    pub coverage: f64,
    /// Their mean width, in standard deviations of y (of log y for positive outcomes).
    pub width: f64,
    /// Mean width over that of the true intervals of y' given x and t' alone; none for yes/no outcomes.
    pub width_over_marginal: Option<f64>,
    /// Mean width over that of the true intervals given x, t and y, at rho 1; none where these have no width.
    pub width_over_bayes: Option<f64>,
    /// The coverage of the intervals of effects; of the best differences of probabilities for yes/no outcomes.
    pub effect_coverage: f64,
    /// Their mean width, in standard deviations of y.
    pub effect_width: f64,
}

/// Answers about outcomes and effects, and what they should cover.
pub(super) struct Asked<'a> {
    pub outcomes: &'a Answers,
    pub effects: &'a Answers,
    pub covered: &'a Units,
    pub covered_effect: &'a Units,
    pub marginal: &'a Interval,
    /// None if it is not that of the question.
    pub bayes: Option<&'a Interval>,
    pub is_chance: bool,
}

impl IntervalScores {
    pub(super) fn new(scale: &Scale, asked: &Asked<'_>) -> Self {
        let width = scale.width(&asked.outcomes.lower, &asked.outcomes.upper);
        let marginal = scale.width(&asked.marginal.lower, &asked.marginal.upper);
        let bayes = asked.bayes.map(|bayes| scale.width(&bayes.lower, &bayes.upper));
        let bayes = bayes.filter(|bayes| !asked.is_chance && *bayes > MIN_BAYES_WIDTH * marginal);
        Self {
            coverage: scale.coverage(asked.covered, asked.outcomes),
            width,
            width_over_marginal: (!asked.is_chance).then_some(width / marginal),
            width_over_bayes: bayes.map(|bayes| width / bayes),
            effect_coverage: scale.coverage(asked.covered_effect, asked.effects),
            effect_width: scale.effect_width(&asked.effects.lower, &asked.effects.upper),
        }
    }
}
