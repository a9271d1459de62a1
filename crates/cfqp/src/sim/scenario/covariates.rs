//! Covariates: normal, uniform, skewed or categorical, some of them correlated, some cells missing.

use rand::RngExt as _;

use super::draw::{choose, happens, log_uniform, standard};
use crate::Rng;
use crate::math::normal_cdf;
use crate::sim::uniform;

/// Skewed columns are exp(SKEW z).
const SKEW: f64 = 0.8;
/// The share of units that have the first level of a column with two levels lies within this distance of a half.
const UNEVEN: f64 = 0.3;

/// The covariates of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Covariates {
    columns: Vec<Column>,
    /// The correlation of the scores behind any two columns.
    pub correlation: f64,
    /// The probability that a cell is missing.
    pub missing: f64,
}

/// A column: standardised values v, written as offset + scale v.
#[derive(Clone, Debug)]
struct Column {
    form: ColumnForm,
    offset: f64,
    scale: f64,
}

#[derive(Clone, Debug)]
enum ColumnForm {
    Normal,
    Uniform,
    Skewed,
    /// 0, 1, ...: the cumulative shares of the levels, without the last.
    Levels(Vec<f64>),
}

/// The covariates of one subject.
#[derive(Clone, Debug)]
pub(super) struct SubjectCovariates {
    /// Standardised values, all of them known.
    pub values: Vec<f64>,
    /// What is recorded; one constant if there are no covariates.
    pub recorded: Vec<f32>,
    pub observed: Vec<bool>,
}

impl Covariates {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let count = match choose(rng, &[(0.05, 0), (0.77, 1), (0.18, 2)]) {
            0 => 0,
            1 => rng.random_range(1..=12),
            _ => rng.random_range(13..=60),
        };
        let columns = (0..count).map(|_| Column::new(rng)).collect();
        let correlation = if happens(rng, 0.35) { uniform(rng, 0.15, 0.7) } else { 0.0 };
        let missing = if count > 0 && happens(rng, 0.15) { uniform(rng, 0.02, 0.2) } else { 0.0 };
        Self { columns, correlation, missing }
    }

    pub(super) fn count(&self) -> usize {
        self.columns.len()
    }

    /// The number of recorded columns: one, a constant, if there are no covariates.
    pub(super) fn recorded(&self) -> usize {
        self.count().max(1)
    }

    pub(super) fn categorical(&self) -> usize {
        self.columns.iter().filter(|column| matches!(column.form, ColumnForm::Levels(_))).count()
    }

    pub(super) fn skewed(&self) -> usize {
        self.columns.iter().filter(|column| matches!(column.form, ColumnForm::Skewed)).count()
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> SubjectCovariates {
        let common = standard(rng);
        let score = |own: f64| self.correlation.sqrt() * common + (1.0 - self.correlation).sqrt() * own;
        let scores: Vec<f64> = self.columns.iter().map(|_| score(standard(rng))).collect();
        let values: Vec<f64> =
            self.columns.iter().zip(scores).map(|(column, score)| column.value(score)).collect();
        let recorded = self.columns.iter().zip(&values).map(|(column, value)| column.recorded(*value));
        let recorded: Vec<f32> = if values.is_empty() { vec![0.0] } else { recorded.collect() };
        let observed = recorded.iter().map(|_| !happens(rng, self.missing)).collect();
        SubjectCovariates { values, recorded, observed }
    }
}

impl Column {
    fn new(rng: &mut Rng) -> Self {
        let form = match choose(rng, &[(0.45, 0), (0.15, 1), (0.12, 2), (0.14, 3), (0.14, 4)]) {
            0 => ColumnForm::Normal,
            1 => ColumnForm::Uniform,
            2 => ColumnForm::Skewed,
            3 => ColumnForm::Levels(vec![uniform(rng, 0.5 - UNEVEN, 0.5 + UNEVEN)]),
            _ => {
                let weights: Vec<f64> =
                    (0..rng.random_range(3..=5)).map(|_| uniform(rng, 0.3, 1.0)).collect();
                let sum: f64 = weights.iter().sum();
                let upper = weights.iter().scan(0.0, |below, weight| {
                    *below += weight / sum;
                    Some(*below)
                });
                ColumnForm::Levels(upper.take(weights.len() - 1).collect())
            }
        };
        let (offset, scale) = match &form {
            ColumnForm::Levels(upper) => level_moments(upper),
            _ if happens(rng, 0.5) => {
                let scale = log_uniform(rng, 0.1, 50.0);
                (scale * uniform(rng, -1.0, 5.0), scale)
            }
            _ => (0.0, 1.0),
        };
        Self { form, offset, scale }
    }

    /// The standardised value of a standard normal score.
    fn value(&self, score: f64) -> f64 {
        match &self.form {
            ColumnForm::Normal => score,
            ColumnForm::Uniform => 12.0_f64.sqrt() * (normal_cdf(score) - 0.5),
            ColumnForm::Skewed => {
                let mean = (0.5 * SKEW * SKEW).exp();
                let sd = mean * ((SKEW * SKEW).exp() - 1.0).sqrt();
                ((SKEW * score).exp() - mean) / sd
            }
            ColumnForm::Levels(upper) => {
                let rank = normal_cdf(score);
                let level = upper.iter().filter(|&&upper| upper < rank).count();
                (level as f64 - self.offset) / self.scale
            }
        }
    }

    fn recorded(&self, value: f64) -> f32 {
        let recorded = self.offset + self.scale * value;
        match self.form {
            ColumnForm::Levels(_) => recorded.round() as f32,
            _ => recorded as f32,
        }
    }
}

/// Mean and standard deviation of levels 0, 1, ... with these cumulative shares.
fn level_moments(upper: &[f64]) -> (f64, f64) {
    let mut below = 0.0;
    let shares: Vec<f64> =
        upper.iter().chain([&1.0]).map(|&upper| upper - std::mem::replace(&mut below, upper)).collect();
    let mean: f64 = shares.iter().enumerate().map(|(level, share)| level as f64 * share).sum();
    let variance: f64 =
        shares.iter().enumerate().map(|(level, share)| (level as f64 - mean).powi(2) * share).sum();
    (mean, variance.sqrt())
}
