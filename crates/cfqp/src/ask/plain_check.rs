//! The model's average effect beside plain estimates of the same contrast.
//!
//! A model of classes and a plain estimate answer the same question about an average. Where they differ by more than
//! their standard errors, one of them is wrong. The model's standard error is that of its members: the variance of their
//! average effects, times the factor between it and the variance of their mean that calibration found, plus the variance of
//! the units' effects divided by their number. The interval of [`AverageEffect`](super::AverageEffect) is wider: it assumes
//! that the errors of all units have the same sign.

use serde::Serialize;

use super::answer::Answers;
use super::options::AskOptions;
use super::tabulate::Tabulation;
use super::treatments::treatment_quantiles;
use crate::Result;
use crate::data::table::Layout;
use crate::data::{Dataset, UnitData, Units};
use crate::math::{mean, normal_half_width, standard_deviation};
use crate::model::Model;
use crate::plain::{PlainEstimate, PlainMethod, plain_estimates, treatment_levels};

/// Largest number of units that are compared.
const MAX_COMPARED_UNITS: usize = 5000;
/// Largest number of levels that are compared with the most frequent one.
const MAX_COMPARED_LEVELS: usize = 4;
/// The distance, in standard errors of the difference, beyond which estimates disagree.
const MAX_DISTANCE: f64 = 2.0;

/// The model's average effect on one outcome beside plain estimates, all from the same units: at most 5,000 evenly
/// spaced ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlainComparison {
    /// The name of the outcome.
    pub outcome: String,
    /// The model's average effect.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The number of units.
    pub units: usize,
    /// The plain estimates that the data allow.
    pub estimates: Vec<PlainEstimate>,
    /// The distance between the model's effect and the estimate it is compared with, in standard errors of their
    /// difference.
    pub distance: Option<f64>,
    /// Whether the distance is above 2.
    pub disagrees: bool,
}

impl PlainComparison {
    /// The estimate that the model is compared with: the doubly robust one, else the regression, else the difference of
    /// means.
    pub fn reference(&self) -> Option<&PlainEstimate> {
        let order = [PlainMethod::DoublyRobust, PlainMethod::Regression, PlainMethod::DifferenceOfMeans];
        order.iter().find_map(|method| self.estimates.iter().find(|estimate| estimate.method == *method))
    }

    /// The model's effect and the estimate it is compared with in words; none without an estimate.
    pub fn sentence(&self) -> Option<String> {
        let (reference, distance) = (self.reference()?, self.distance?);
        let verb = if self.disagrees { "disagrees with" } else { "agrees with" };
        Some(format!(
            "the average effect on {}, {} (standard error {}), {verb} a plain estimate, {} ({}, standard error {}): they are \
             {distance:.1} standard errors apart",
            self.outcome,
            short(self.effect),
            short(self.standard_error),
            short(reference.effect),
            reference.method.name(),
            short(reference.standard_error),
        ))
    }
}

/// Three significant digits.
pub(super) fn short(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 12) };
    format!("{value:.*}", digits as usize)
}

impl Model {
    /// The average effect of `to` against `from` on every outcome, beside plain estimates from the same units: those with an
    /// outcome. Nothing if there are none, or if the data allow no plain estimate.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units or treatments do not fit the model.
    pub fn compare_plain<'a>(
        &self,
        data: impl Into<UnitData<'a>>,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<PlainComparison>> {
        let data = data.into().units;
        let observed: Vec<usize> = (0..data.len()).filter(|&i| data.has_outcome(i)).collect();
        if observed.is_empty() {
            return Ok(Vec::new());
        }
        let data = data.pick(&observed)?;
        let data = data.pick(&data.even_sample(data.len().div_ceil(MAX_COMPARED_UNITS)))?;
        let tabulation = Tabulation::new(self);
        let outcomes: Vec<_> = tabulation.outcomes().map(|(name, range)| (name.to_owned(), range)).collect();
        let ranges: Vec<_> = outcomes.iter().map(|(_, range)| range.clone()).collect();
        let plain = plain_estimates(&data, &ranges, from, to, options.level)?;
        if plain.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let treatment = |t: &[f32]| Units::new("treatment", vec![t.len()], t.to_vec());
        let own = self.average_effects(&data, &treatment(from)?, &treatment(to)?, options, &ranges)?;
        let comparisons = outcomes.into_iter().zip(plain).zip(own);
        Ok(comparisons.map(|(((name, _), estimates), own)| own.beside(name, data.len(), estimates)).collect())
    }

    /// The average effect on every range of elements of y, with its standard error.
    fn average_effects(
        &self,
        data: &Dataset,
        from: &Units,
        to: &Units,
        options: AskOptions,
        outcomes: &[std::ops::Range<usize>],
    ) -> Result<Vec<OwnEffect>> {
        let answers = self.effects(data, from, to, options)?;
        let mut members = answers.members.clone();
        if members.is_empty() && self.members() > 1 {
            for member in 0..self.members() {
                members.push(self.with_member(member).effects(data, from, to, options)?.point);
            }
        }
        let factor: f64 = self.member_error_ratios().iter().sum();
        let own = |range: &std::ops::Range<usize>| {
            let effects = unit_means(&answers.point, range);
            let sampling = standard_deviation(&effects).powi(2) / effects.len() as f64;
            let averages: Vec<f64> = members.iter().map(|point| mean(&unit_means(point, range))).collect();
            let model = match averages.len() {
                0 => interval_error(&answers, range, options.level).powi(2),
                _ => factor * standard_deviation(&averages).powi(2),
            };
            OwnEffect { effect: mean(&effects), standard_error: (model + sampling).sqrt() }
        };
        Ok(outcomes.iter().map(own).collect())
    }

    /// Pairs of treatments to compare the model with plain estimates at: the most frequent level against each of the next
    /// ones if the treatment has levels, else one pair.
    pub(super) fn typical_contrasts(&self, t: &Units) -> Result<Vec<[Vec<f32>; 2]>> {
        let has_levels = self.layout().is_some_and(Layout::has_levels);
        match treatment_levels(t).filter(|_| has_levels) {
            Some(levels) => {
                let mut levels = levels.into_iter().map(|level| level.t);
                let Some(first) = levels.next() else { return Ok(Vec::new()) };
                Ok(levels.take(MAX_COMPARED_LEVELS).map(|level| [first.clone(), level]).collect())
            }
            None => Ok(self.typical_contrast(t)?.into_iter().collect()),
        }
    }

    /// Two treatments to compare the model with plain estimates at: the two most frequent levels of a treatment that takes
    /// few values, else its quartiles; none if they are equal.
    fn typical_contrast(&self, t: &Units) -> Result<Option<[Vec<f32>; 2]>> {
        let ends = match treatment_levels(t) {
            Some(levels) => {
                let mut ends: Vec<Vec<f32>> = levels.into_iter().take(2).map(|level| level.t).collect();
                ends.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
                ends
            }
            None => [0.25, 0.75]
                .iter()
                .map(|share| Ok(treatment_quantiles(t, *share)?.values().to_vec()))
                .collect::<Result<Vec<_>>>()?,
        };
        Ok(<[Vec<f32>; 2]>::try_from(ends).ok().filter(|[from, to]| from != to))
    }
}

/// The model's average effect on an outcome.
struct OwnEffect {
    effect: f64,
    standard_error: f64,
}

impl OwnEffect {
    fn beside(self, outcome: String, units: usize, estimates: Vec<PlainEstimate>) -> PlainComparison {
        let Self { effect, standard_error } = self;
        let (distance, disagrees) = (None, false);
        let mut comparison =
            PlainComparison { outcome, effect, standard_error, units, estimates, distance, disagrees };
        comparison.distance = comparison.reference().map(|reference| {
            let gap = (effect - reference.effect).abs();
            let error = reference.standard_error.hypot(standard_error);
            if gap > 0.0 { gap / error } else { 0.0 }
        });
        comparison.disagrees = comparison.distance.is_some_and(|distance| distance > MAX_DISTANCE);
        comparison
    }
}

/// The mean over a range of elements of every unit.
fn unit_means(units: &Units, range: &std::ops::Range<usize>) -> Vec<f64> {
    let unit_mean = |i: usize| {
        let elements = &units.row(i)[range.clone()];
        elements.iter().map(|v| f64::from(*v)).sum::<f64>() / elements.len() as f64
    };
    (0..units.len()).map(unit_mean).collect()
}

/// The mean half width of the units' intervals as a standard error, for a model with one member.
fn interval_error(answers: &Answers, range: &std::ops::Range<usize>, level: f64) -> f64 {
    let [lower, upper] = [&answers.lower, &answers.upper].map(|units| mean(&unit_means(units, range)));
    0.5 * (upper - lower) / normal_half_width(level)
}
