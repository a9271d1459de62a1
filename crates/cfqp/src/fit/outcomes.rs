//! How outcomes of all kinds are modelled: the laws of the heads of a network, and the scales of numbers.

use crate::data::{OutcomeKind, Scaler, Units};
use crate::density::{HeadLaw, OutcomeScale, Rows};
use crate::math::{mean, standard_deviation};
use crate::model::density_rows;
use crate::models::YScale;
use crate::train::Context;
use crate::{Error, Result};

/// Shares of 0 or 1 are taken as if this many units more had each value.
const PSEUDO_UNITS: f64 = 0.5;

/// Positive numbers whose largest value is this many times the smallest are not shifted by their mean.
const MANY_TIMES: f32 = 1e3;

/// The scaler with which outcomes `y` are modelled: only numbers are standardised, and positive ones over several decades are
/// divided by their deviation alone.
pub(super) fn outcome_scaler(scaler: &Scaler, y: &Units, kinds: &[OutcomeKind]) -> Scaler {
    let mut scaler = scaler.clone();
    for (i, kind) in kinds.iter().enumerate() {
        if *kind != OutcomeKind::Number {
            scaler.y.keep_channel(i);
        } else if spans_decades(y, i) {
            scaler.y.keep_origin(i);
        }
    }
    scaler
}

fn spans_decades(y: &Units, i: usize) -> bool {
    let observed = |row: &usize| y.mask_row(*row).is_none_or(|mask| mask[i]);
    let range = |(low, high): (f32, f32), row: usize| (low.min(y.row(row)[i]), high.max(y.row(row)[i]));
    let (low, high) = (0..y.len()).filter(observed).fold((f32::INFINITY, 0.0), range);
    low > 0.0 && high > MANY_TIMES * low
}

/// The laws and scales of the heads of a network.
#[derive(Clone, Debug)]
pub(super) struct OutcomeHeads {
    /// "linear" or "log".
    pub name: &'static str,
    /// Empty if all outcomes are numbers.
    pub laws: Vec<HeadLaw>,
    pub scales: Vec<OutcomeScale>,
}

impl OutcomeHeads {
    /// The forms to try. If the setting is auto: numbers on their own scale and, if all are positive, as logarithms.
    ///
    /// # Errors
    /// If logarithms are asked for and there are none.
    pub(super) fn candidates(context: &Context<'_>, kinds: &[OutcomeKind]) -> Result<Vec<Self>> {
        let linear = || Self::new("linear", context, kinds, |_| Some(OutcomeScale::Identity));
        let log = || Self::new("log", context, kinds, |j| log_scale(context, j));
        let has_numbers = kinds.contains(&OutcomeKind::Number);
        Ok(match context.config.y_scale {
            YScale::Auto if has_numbers => linear().into_iter().chain(log()).collect(),
            YScale::Auto | YScale::Linear => linear().into_iter().collect(),
            YScale::Log => {
                let log = log().filter(|_| has_numbers);
                vec![log.ok_or_else(|| no_logarithm(context.data.y()))?]
            }
        })
    }

    /// The heads of every element; none if `scale_of` gives no scale to a number.
    fn new(
        name: &'static str,
        context: &Context<'_>,
        kinds: &[OutcomeKind],
        scale_of: impl Fn(usize) -> Option<OutcomeScale>,
    ) -> Option<Self> {
        let (mut laws, mut scales) = (Vec::new(), Vec::new());
        for (j, &kind) in kinds.iter().enumerate() {
            let scale = match kind {
                OutcomeKind::Number => scale_of(j)?,
                _ => OutcomeScale::Identity,
            };
            match kind {
                OutcomeKind::Amount => {
                    let values = observed_values(context, j);
                    laws.extend([HeadLaw::Positive { offset: log_odds(&values) }, HeadLaw::Number]);
                    scales.extend([scale, amount_scale(&values)]);
                }
                _ => {
                    laws.push(law(context, kinds, j));
                    scales.push(scale);
                }
            }
        }
        if laws.iter().all(|law| *law == HeadLaw::Number) {
            laws.clear();
        }
        Some(Self { name, laws, scales })
    }

    /// The units of a fit.
    pub(super) fn rows(&self, context: &Context<'_>) -> Rows {
        let mut rows = density_rows(&context.batcher(), &self.laws, &self.scales);
        if !self.laws.is_empty() {
            rows.numeric = Some(numeric_outcomes(&rows, &self.laws));
        }
        rows
    }
}

/// The law of an element that has one head.
fn law(context: &Context<'_>, kinds: &[OutcomeKind], j: usize) -> HeadLaw {
    match kinds[j] {
        OutcomeKind::YesNo => HeadLaw::Chance { offset: log_odds(&observed_values(context, j)) },
        OutcomeKind::Count => {
            let values = observed_values(context, j);
            let total: f64 = values.iter().sum();
            let offset = ((total + PSEUDO_UNITS) / (values.len() as f64 + PSEUDO_UNITS)).ln();
            HeadLaw::Count { offset, overdispersed: true }
        }
        OutcomeKind::Ordered => ordered_law(&observed_values(context, j)),
        OutcomeKind::Level(_) => {
            let same = |i: &usize| kinds[*i] == kinds[j];
            let before = (0..j).rev().take_while(same).count();
            let after = (j + 1..kinds.len()).take_while(same).count();
            HeadLaw::Level { level: before, levels: before + 1 + after }
        }
        OutcomeKind::Number | OutcomeKind::Amount => HeadLaw::Number,
    }
}

/// log P / (1 - P) of a positive value.
fn log_odds(values: &[f64]) -> f64 {
    let positive = values.iter().filter(|value| **value > 0.0).count() as f64;
    ((positive + PSEUDO_UNITS) / (values.len() as f64 - positive + PSEUDO_UNITS)).ln()
}

/// Thresholds at which the average unit has the observed shares of levels.
fn ordered_law(values: &[f64]) -> HeadLaw {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut levels = sorted.clone();
    levels.dedup();
    let threshold = |level: &f64| {
        let below = sorted.partition_point(|value| value <= level) as f64;
        ((below + PSEUDO_UNITS) / (sorted.len() as f64 - below + PSEUDO_UNITS)).ln()
    };
    let thresholds = levels[..levels.len().saturating_sub(1)].iter().map(threshold).collect();
    HeadLaw::Ordered { values: levels, thresholds }
}

/// The logarithmic scale of positive amounts.
fn amount_scale(values: &[f64]) -> OutcomeScale {
    let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    OutcomeScale::log(&positive, 0.0, 1.0).unwrap_or(OutcomeScale::Identity)
}

/// The observed values of element `j`, standardised if they are numbers.
pub(super) fn observed_values(context: &Context<'_>, j: usize) -> Vec<f64> {
    let d = context.scaler.y.elements();
    let all: Vec<usize> = (0..context.data.len()).collect();
    let outcomes = context.batcher().outcomes(&all);
    let is_observed = |i: &usize| context.data.y().mask_row(*i).is_none_or(|mask| mask[j]);
    all.iter().filter(|i| is_observed(i)).map(|&i| f64::from(outcomes[i * d + j])).collect()
}

/// The logarithmic scale of number `j`; none unless all its values are positive.
fn log_scale(context: &Context<'_>, j: usize) -> Option<OutcomeScale> {
    let mut zero = vec![0.0; context.scaler.y.elements()];
    context.scaler.y.restore(&mut zero);
    let deviation = f64::from(context.scaler.y.deviation(j));
    OutcomeScale::log(&observed_values(context, j), f64::from(zero[j]), deviation)
}

/// Outcomes of all heads as standardised numbers; counts by their logarithm.
fn numeric_outcomes(rows: &Rows, laws: &[HeadLaw]) -> Vec<f32> {
    let mut numeric = rows.outcomes.clone();
    for (j, law) in laws.iter().enumerate().filter(|(_, law)| **law != HeadLaw::Number) {
        let value =
            |y: f32| if matches!(law, HeadLaw::Count { .. }) { f64::from(y).ln_1p() } else { f64::from(y) };
        let observed: Vec<usize> = (0..rows.len()).filter(|&i| rows.is_observed(i, j)).collect();
        let values: Vec<f64> = observed.iter().map(|&i| value(rows.outcome(i)[j])).collect();
        let (centre, deviation) = (mean(&values), standard_deviation(&values).max(1e-6));
        for (&i, value) in observed.iter().zip(values) {
            numeric[i * rows.d + j] = ((value - centre) / deviation) as f32;
        }
    }
    numeric
}

/// Why outcomes cannot be modelled on the scale of their logarithm.
fn no_logarithm(y: &Units) -> Error {
    let is_observed = |i: usize, j: usize| y.mask_row(i).is_none_or(|mask| mask[j]);
    let smallest = |i: usize| {
        let row = y.row(i);
        let observed = (0..row.len()).filter(|&j| is_observed(i, j)).map(|j| row[j]);
        observed.fold(f32::INFINITY, f32::min)
    };
    let smallest: Vec<f32> = (0..y.len()).map(smallest).collect();
    let without = smallest.iter().filter(|value| **value <= 0.0).count();
    let problem = match without {
        0 => "the outcomes are nearly constant, or too small beside their spread".to_owned(),
        _ => format!(
            "{without} of {} units have an outcome of 0 or less, which has no logarithm (the smallest is {})",
            y.len(),
            smallest.iter().copied().fold(f32::INFINITY, f32::min)
        ),
    };
    Error::config(
        "y_scale",
        problem,
        "set `y_scale` to linear or auto, or fit units with positive outcomes only",
    )
}
