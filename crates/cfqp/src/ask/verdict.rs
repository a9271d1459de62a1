//! Verdicts: how well each assumption of a model holds on some units, with the figure behind the grade.
//!
//! Some are about the model and the units alone; support, identification and agreement with plain estimates are about one
//! treatment against another: the contrast that was asked about, or else typical ones.

mod agreement;
mod classes;
mod contrast;
mod fit;
mod grade;
mod support;

pub(crate) use contrast::ContrastFindings;
pub use grade::{Assumption, Grade, Verdict, VerdictLimits};

use super::answer::Answers;
use super::options::AskOptions;
use super::rho::Rho;
use crate::Result;
use crate::data::{Dataset, UnitData, Units};
use crate::math::coverage;
use crate::model::{Model, Predictor};

/// Largest number of units that verdicts are based on.
const MAX_VERDICT_UNITS: usize = 5000;

/// The excess of coverage over the level above which calibration is doubtful ...
const MAX_EXCESS_COVERAGE: f64 = 0.08;
/// ... if the level is below this.
const MAX_EXCESS_LEVEL: f64 = 0.92;

impl Model {
    /// A verdict on every assumption that can be checked, from `data` (at most 5,000 evenly spaced units) and the fit.
    /// `options` are those of the questions that the verdicts are for. Coverage is counted on factual outcomes, with fresh
    /// noise whatever their rho. What depends on the treatments is judged for typical ones.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if an option cannot be used, [`Error::Data`](crate::Error::Data) if the units
    /// do not fit the model or one has no outcome.
    pub fn verdicts<'a>(&self, data: impl Into<UnitData<'a>>, options: AskOptions) -> Result<Vec<Verdict>> {
        self.judge(data.into().units, None, options)
    }

    /// The same assumptions as [`verdicts`](Self::verdicts); what depends on the treatments is judged for `to` against `from`.
    ///
    /// # Errors
    /// As [`verdicts`](Self::verdicts), and if the treatments do not fit the model.
    pub fn verdicts_for<'a>(
        &self,
        data: impl Into<UnitData<'a>>,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<Verdict>> {
        self.judge(data.into().units, Some([from, to]), options)
    }

    /// The verdicts on `to` against `from` alone: support, calibration, identification (of tables with several classes) and
    /// agreement with plain estimates (where there are any). Units may have no outcome.
    ///
    /// ```
    /// use cfqp::ask::{Assumption, Grade};
    /// # use cfqp::{AskOptions, Base, Classes, Fit, FitConfig, sim::Oscillator};
    /// # let data = Oscillator::default().simulate(200, 1)?.data;
    /// # let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
    /// # let model = Fit::new(config).run(&data)?;
    ///
    /// let near = model.contrast_verdicts(&data, &[0.3], &[0.7], AskOptions::default())?;
    /// assert_eq!((near[0].assumption, near[0].grade), (Assumption::Overlap, Grade::Ok));
    /// let far = model.contrast_verdicts(&data, &[0.3], &[9.0], AskOptions::default())?;
    /// assert_eq!(far[0].grade, Grade::Failed);
    /// # Ok::<(), cfqp::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if an option cannot be used, [`Error::Data`](crate::Error::Data) if the units
    /// or treatments do not fit the model.
    pub fn contrast_verdicts<'a>(
        &self,
        data: impl Into<UnitData<'a>>,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Vec<Verdict>> {
        options.validate()?;
        let data = verdict_sample(data.into().units)?;
        let findings = self.contrast_findings(&data, [from, to], options)?;
        let observed: Vec<usize> = (0..data.len()).filter(|&i| data.has_outcome(i)).collect();
        let observed = if observed.is_empty() { None } else { Some(data.pick(&observed)?) };
        self.judge_contrast(&findings, observed.as_ref(), options)
    }

    /// The verdicts on one contrast; `observed` are units with outcomes.
    pub(super) fn judge_contrast(
        &self,
        findings: &ContrastFindings,
        observed: Option<&Dataset>,
        options: AskOptions,
    ) -> Result<Vec<Verdict>> {
        let calibration = match observed {
            Some(data) => self.calibration_verdict(data, &self.factual(data, options.level)?, options),
            None => no_outcomes(options.level),
        };
        let findings = std::slice::from_ref(findings);
        let mut verdicts = vec![findings[0].support(), calibration];
        verdicts.extend(self.identification(findings));
        Ok(with_agreement(verdicts, self.agreement(findings)))
    }

    /// Verdicts on every assumption, for a contrast or for typical ones.
    fn judge(
        &self,
        data: &Dataset,
        contrast: Option<[&[f32]; 2]>,
        options: AskOptions,
    ) -> Result<Vec<Verdict>> {
        options.validate()?;
        data.check_observed()?;
        let data = verdict_sample(data)?;
        let contrasts = match contrast {
            Some(ends) => vec![ends.map(<[f32]>::to_vec)],
            None => self.typical_contrasts(data.t())?,
        };
        let of_ends = |[from, to]: &[Vec<f32>; 2]| self.contrast_findings(&data, [from, to], options);
        let findings = contrasts.iter().map(of_ends).collect::<Result<Vec<_>>>()?;
        let factual = self.factual(&data, options.level)?;
        let mut verdicts = vec![
            self.separation(&factual),
            match contrast {
                Some(_) => findings[0].support(),
                None => self.overlap(&data, options.level)?,
            },
            self.agreement_of_starts(&data, options)?,
            self.calibration_verdict(&data, &factual, options),
            self.number_of_classes(),
        ];
        verdicts.extend(self.predictive_power());
        verdicts.extend(self.identification(&findings));
        Ok(with_agreement(verdicts, self.agreement(&findings)))
    }

    /// The answers for the treatments received, with fresh noise.
    fn factual(&self, data: &Dataset, level: f64) -> Result<Answers> {
        self.outcomes(data, data.t(), AskOptions { rho: Rho::Given(0.0), level })
    }

    /// Calibration: the coverage of factual outcomes by intervals with fresh noise. Coverage at another rho cannot be counted.
    /// Failed if a density has one member, which does not know its own error; doubtful if outcomes cannot show classes that the
    /// rho of the question depends on or, of networks of class means, if coverage is far above the level. Not tested if all
    /// answers are probabilities.
    fn calibration_verdict(&self, data: &Dataset, factual: &Answers, options: AskOptions) -> Verdict {
        let level = options.level;
        let limits = coverage_limits(level);
        let is_density = matches!(self.predictor, Predictor::Density(_));
        let Some(covered) = self.factual_coverage(data, factual) else {
            let sentence =
                "answers are probabilities, whose intervals no outcome can be compared with".to_owned();
            let sentence = sentence + &self.unsure_classes(options.rho).unwrap_or_default();
            return Verdict::not_tested(Assumption::Calibration, limits, sentence);
        };
        let sentence = format!(
            "intervals at level {level} cover {:.1}% of the observed outcomes, with fresh noise (rho = 0)",
            100.0 * covered
        );
        let mut verdict = Verdict::new(Assumption::Calibration, covered, limits, sentence);
        let is_excessive = covered > level + MAX_EXCESS_COVERAGE && level < MAX_EXCESS_LEVEL;
        if is_excessive && !is_density && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
            verdict.sentence += ": they are wider than necessary";
        }
        if is_density && self.members() == 1 {
            verdict.grade = Grade::Failed;
            verdict.sentence +=
                "; with any other rho they are too narrow, because a single member does not know its error";
        } else if is_density {
            let rho = self.used_rho(options.rho);
            verdict.sentence += &format!(
                "; no data can show what they cover with rho {rho} (docs/ASSUMPTIONS.md: how often this verdict was right on \
                 random tables)"
            );
            if let Some(reason) = self.unsure_classes(options.rho).filter(|_| verdict.grade == Grade::Ok) {
                verdict.grade = Grade::Doubtful;
                verdict.sentence += &reason;
            }
        }
        verdict
    }

    /// The share of the observed outcomes inside their intervals; none if all answers are probabilities, whose intervals
    /// hold no outcomes.
    pub(crate) fn factual_coverage(&self, data: &Dataset, factual: &Answers) -> Option<f64> {
        let kinds = self.outcome_kinds();
        if !kinds.iter().any(|kind| kind.is_chance()) {
            return Some(covered_share(data.y(), &factual.lower, &factual.upper));
        }
        let d = kinds.len();
        let counted =
            |i: usize| !kinds[i % d].is_chance() && data.y().mask_row(i / d).is_none_or(|mask| mask[i % d]);
        let is_counted: Vec<bool> = (0..data.len() * d).map(counted).collect();
        let (lower, upper) = (factual.lower.values(), factual.upper.values());
        coverage(data.y().values(), lower, upper, Some(&is_counted)).map(|coverage| coverage.share)
    }

    /// Why intervals with a given rho may not cover: outcomes that do not show classes.
    fn unsure_classes(&self, rho: Rho) -> Option<String> {
        let (reason, rho) = (self.unseen_classes()?, self.used_rho(rho).rho?);
        Some(format!("; with rho = {rho} they assume that there are no hidden classes, and {reason}"))
    }
}

/// The units that verdicts are based on: evenly spaced ones of many.
fn verdict_sample(data: &Dataset) -> Result<Dataset> {
    data.pick(&data.even_sample(data.len().div_ceil(MAX_VERDICT_UNITS)))
}

/// Adds the verdict on agreement: a disagreement with the plain data comes before everything else.
fn with_agreement(mut verdicts: Vec<Verdict>, agreement: Option<Verdict>) -> Vec<Verdict> {
    if let Some(agreement) = agreement {
        let place = if agreement.grade > Grade::Ok { 0 } else { verdicts.len() };
        verdicts.insert(place, agreement);
    }
    verdicts
}

/// The limits of coverage at a level.
fn coverage_limits(level: f64) -> VerdictLimits {
    VerdictLimits { ok: level - 0.05, failed: level - 0.15 }
}

/// The verdict on the calibration of answers for units without outcomes.
fn no_outcomes(level: f64) -> Verdict {
    let sentence = "no unit has an outcome: nothing shows what intervals cover".to_owned();
    Verdict::not_tested(Assumption::Calibration, coverage_limits(level), sentence)
}

/// The share of `values` that are true; 0 if there are none.
fn true_share(values: impl Iterator<Item = bool>) -> f64 {
    let (n, count) = values.fold((0, 0), |(n, count), value| (n + 1, count + usize::from(value)));
    f64::from(count as u32) / f64::from((n as u32).max(1))
}

/// The share of observed elements inside their interval; 0 if none was observed.
fn covered_share(y: &Units, lower: &Units, upper: &Units) -> f64 {
    coverage(y.values(), lower.values(), upper.values(), y.mask()).map_or(0.0, |coverage| coverage.share)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "verdict/contrast_tests.rs"]
mod contrast_tests;

#[cfg(test)]
#[path = "verdict/limit_tests.rs"]
mod limit_tests;
