//! The model's average effect beside plain estimates of the same contrast.
//!
//! The average effect is doubly robust where the data allow it ([`robust`](super::robust)). Then it shows whether the model's own
//! answers are right on average: they disagree if the mean of the units' effects is more than two standard errors away from it.
//! Elsewhere the mean of the units' effects is compared with a plain estimate; its standard error is that of the members: the variance of
//! their averages, times the factor between it and the variance of their mean, plus the variance of the units' effects divided
//! by their number.

use std::ops::Range;

use serde::Serialize;

use super::answer::Answers;
use super::options::AskOptions;
use super::robust::{EffectSample, RobustAverage};
use super::tabulate::Tabulation;
use super::treatments::treatment_quantiles;
use crate::Result;
use crate::data::table::Layout;
use crate::data::{UnitData, Units};
use crate::math::{mean, normal_half_width, standard_deviation};
use crate::model::Model;
use crate::plain::{PlainEstimate, PlainMethod, plain_estimates, treatment_levels};

/// Largest number of levels that are compared with the most frequent one.
const MAX_COMPARED_LEVELS: usize = 4;
/// The distance, in standard errors of the difference, beyond which estimates disagree.
const MAX_DISTANCE: f64 = 2.0;
/// The standard error of a distance, in standard deviations of the outcome, from which a comparison is not precise.
const MAX_ERROR: f64 = 0.5;

/// Why the model and a plain estimate may differ although both are as they should be.
const CLASS_DRIVES_TREATMENT: &str = "; the class drives the treatment, so that plain estimates, which do not know the class, \
                                      are confounded by it: a difference is expected, and the average is as right as the classes";

/// The model's average effect on one outcome beside plain estimates, all from the same units: at most 5,000 evenly
/// spaced ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlainComparison {
    /// The name of the outcome.
    pub outcome: String,
    /// The average effect: doubly robust, or else the mean of the units' effects.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The mean of the units' effects.
    pub mean_effect: f64,
    /// The number of units.
    pub units: usize,
    /// The plain estimates that the data allow.
    pub estimates: Vec<PlainEstimate>,
    /// The distance between the mean of the units' effects and the doubly robust average or a plain estimate, in standard errors.
    pub distance: Option<f64>,
    /// Whether the average effect is doubly robust.
    pub is_doubly_robust: bool,
    /// Whether the standard error of the distance is below half a standard deviation of the outcome: else nearly everything agrees.
    pub is_precise: bool,
    /// Whether class weights differ between the treatments: plain estimates, which do not know the class, are then confounded by
    /// it, and the average effect is not doubly robust.
    pub class_drives_treatment: bool,
    /// Whether the distance is above 2 and the class does not explain it.
    pub disagrees: bool,
}

impl PlainComparison {
    /// The plain estimate that the model is compared with: the doubly robust one, else the regression, else the difference of
    /// means.
    pub fn reference(&self) -> Option<&PlainEstimate> {
        let order = [PlainMethod::DoublyRobust, PlainMethod::Regression, PlainMethod::DifferenceOfMeans];
        order.iter().find_map(|method| self.estimates.iter().find(|estimate| estimate.method == *method))
    }

    /// The mean of the units' effects and the estimate it is compared with in words; none without an estimate.
    pub fn sentence(&self) -> Option<String> {
        let (compared, distance) = (self.compared()?, self.distance?);
        let is_far = distance > MAX_DISTANCE;
        let verb = if is_far { "disagrees with" } else { "agrees with" };
        let reason = if is_far && self.class_drives_treatment { CLASS_DRIVES_TREATMENT } else { "" };
        let (estimate, error) = (short(compared.effect), short(compared.standard_error));
        let estimate = match compared.method {
            None => format!("the doubly robust average, {estimate} (standard error {error})"),
            Some(method) => {
                format!("a plain estimate, {estimate} ({}, standard error {error})", method.name())
            }
        };
        Some(format!(
            "the mean of the units' effects on {}, {}, {verb} {estimate}: they are {distance:.1} standard errors apart{reason}",
            self.outcome,
            short(self.mean_effect),
        ))
    }

    /// The estimate that the mean of the units' effects is compared with: of doubly robust ones that with the smaller standard error.
    fn compared(&self) -> Option<Compared> {
        let own = self.is_doubly_robust.then_some(Compared {
            effect: self.effect,
            standard_error: self.standard_error,
            method: None,
        });
        let reference = self.reference().map(|reference| Compared {
            effect: reference.effect,
            standard_error: reference.standard_error,
            method: Some(reference.method),
        });
        let is_robust = |other: &Compared| other.method == Some(PlainMethod::DoublyRobust);
        match (own, reference) {
            (Some(own), Some(other)) if is_robust(&other) && other.standard_error < own.standard_error => {
                Some(other)
            }
            (Some(own), _) => Some(own),
            (None, other) => other,
        }
    }

    /// Sets the distance between the mean of the units' effects and the estimate it is compared with, of an outcome with this
    /// standard deviation.
    fn compare(&mut self, deviation: f64) {
        let own_error = if self.is_doubly_robust { 0.0 } else { self.standard_error };
        let gap_and_error = self.compared().map(|compared| {
            ((self.mean_effect - compared.effect).abs(), compared.standard_error.hypot(own_error))
        });
        self.distance = gap_and_error.map(|(gap, error)| if gap > 0.0 { gap / error } else { 0.0 });
        self.is_precise = gap_and_error.is_some_and(|(_, error)| error < MAX_ERROR * deviation);
        let is_far = self.distance.is_some_and(|distance| distance > MAX_DISTANCE);
        self.disagrees = is_far && !self.class_drives_treatment;
    }
}

/// An estimate that the mean of the units' effects is compared with; without a method the doubly robust average of the model.
struct Compared {
    effect: f64,
    standard_error: f64,
    method: Option<PlainMethod>,
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
        match self.effect_sample(data.into().units, from, to, options)? {
            Some(sample) => self.compare_sample(&sample, from, to, options),
            None => Ok(Vec::new()),
        }
    }

    /// The same from a sample of units.
    pub(crate) fn compare_sample(
        &self,
        sample: &EffectSample,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<PlainComparison>> {
        let tabulation = Tabulation::new(self);
        let outcomes: Vec<_> = tabulation.outcomes().map(|(name, range)| (name.to_owned(), range)).collect();
        let ranges: Vec<_> = outcomes.iter().map(|(_, range)| range.clone()).collect();
        let plain = plain_estimates(&sample.data, &ranges, from, to, options.level)?;
        if plain.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let members = self.member_effects(sample, from, to, options)?;
        let each = outcomes.into_iter().zip(plain).enumerate();
        let compare = each.map(|(o, ((name, range), estimates))| {
            let own = self.own_effect(sample, &members, o, &range, options.level);
            let deviation = f64::from(self.scaler().y.deviation(range.start));
            own.beside(name, sample, deviation, estimates)
        });
        Ok(compare.collect())
    }

    /// The effects on the units of a sample by every member; none if averages are doubly robust.
    fn member_effects(
        &self,
        sample: &EffectSample,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<Units>> {
        if sample.terms.is_some() || !sample.effects.members.is_empty() || self.members() == 1 {
            return Ok(sample.effects.members.clone());
        }
        let treatment = |t: &[f32]| Units::new("treatment", vec![t.len()], t.to_vec());
        let (from, to) = (treatment(from)?, treatment(to)?);
        let of_member =
            |member: usize| Ok(self.with_member(member).effects(&sample.data, &from, &to, options)?.point);
        (0..self.members()).map(of_member).collect()
    }

    /// The average effect on outcome `o`, the mean over a range of elements of y.
    fn own_effect(
        &self,
        sample: &EffectSample,
        members: &[Units],
        o: usize,
        range: &Range<usize>,
        level: f64,
    ) -> OwnEffect {
        let effects = unit_means(&sample.effects.point, range);
        let mean_effect = mean(&effects);
        if let Some(average) = sample.terms.as_ref().and_then(|terms| terms.average(o, |_| true)) {
            let RobustAverage { effect, standard_error } = average;
            return OwnEffect { effect, standard_error, mean_effect, is_doubly_robust: true };
        }
        let sampling = standard_deviation(&effects).powi(2) / effects.len() as f64;
        let averages: Vec<f64> = members.iter().map(|point| mean(&unit_means(point, range))).collect();
        let factor: f64 = self.member_error_ratios().iter().sum();
        let model = match averages.len() {
            0 => interval_error(&sample.effects, range, level).powi(2),
            _ => factor * standard_deviation(&averages).powi(2),
        };
        let standard_error = (model + sampling).sqrt();
        OwnEffect { effect: mean_effect, standard_error, mean_effect, is_doubly_robust: false }
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

/// The average effect on an outcome.
struct OwnEffect {
    effect: f64,
    standard_error: f64,
    mean_effect: f64,
    is_doubly_robust: bool,
}

impl OwnEffect {
    fn beside(
        self,
        outcome: String,
        sample: &EffectSample,
        deviation: f64,
        estimates: Vec<PlainEstimate>,
    ) -> PlainComparison {
        let Self { effect, standard_error, mean_effect, is_doubly_robust } = self;
        let mut comparison = PlainComparison {
            outcome,
            effect,
            standard_error,
            mean_effect,
            units: sample.data.len(),
            estimates,
            distance: None,
            is_doubly_robust,
            is_precise: false,
            class_drives_treatment: sample.class_drives_treatment,
            disagrees: false,
        };
        comparison.compare(deviation);
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
