//! Verdicts: how well each assumption of a model holds on some units, with the figure behind the grade.

use serde::{Deserialize, Serialize, Serializer};

use super::answer::Answers;
use super::options::AskOptions;
use super::plain_check::{PlainComparison, short};
use super::rho::Rho;
use super::treatments::treatment_quantiles;
use crate::Result;
use crate::config::Classes;
use crate::data::{Dataset, OutcomeKind, UnitData, Units};
use crate::math::{coverage, normal_cdf, normal_half_width};
use crate::model::{Model, Predictor};

/// Largest number of units that verdicts are based on.
const MAX_VERDICT_UNITS: usize = 5000;

/// The mean agreement of starts (adjusted Rand index) below which their verdict is doubtful.
const MIN_AGREEMENT: f64 = 0.6;

/// The gain of one more class, relative to that of the last class, above which the number of classes is doubtful.
const MAX_FURTHER_GAIN: f64 = 0.1;

/// The excess of coverage over the level above which calibration is doubtful ...
const MAX_EXCESS_COVERAGE: f64 = 0.08;
/// ... if the level is below this.
const MAX_EXCESS_LEVEL: f64 = 0.92;

/// The share of the variance of held-out outcomes below which the model's predictions are doubtful.
const MIN_R2: f64 = 0.05;
/// The same if all outcomes are yes or no, or categories.
const MIN_CHANCE_R2: f64 = 0.01;

/// The distances between the model's average effect and a plain estimate, in standard errors of a single outcome, above
/// which agreement is doubtful and failed.
const MAX_DISTANCES: (f64, f64) = (2.0, 4.0);

/// How well an assumption holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The fit made no test of it.
    NotTested,
    /// No problems found.
    Ok,
    /// It may not hold.
    Doubtful,
    /// It does not hold.
    Failed,
}

impl Grade {
    /// The name in output and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotTested => "not tested",
            Self::Ok => "ok",
            Self::Doubtful => "doubtful",
            Self::Failed => "failed",
        }
    }
}

/// An assumption that a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// Classes can be told apart.
    Separation,
    /// Similar units received different treatments.
    Overlap,
    /// EM reaches the same answers from other starts.
    AgreementOfStarts,
    /// Intervals cover the share of outcomes that their level promises.
    Calibration,
    /// Held-out units support the number of classes.
    NumberOfClasses,
    /// The model predicts held-out outcomes better than a constant.
    PredictivePower,
    /// The model's average effect agrees with plain estimates.
    PlainAgreement,
}

impl Assumption {
    /// The name in output and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Separation => "separation",
            Self::Overlap => "overlap",
            Self::AgreementOfStarts => "agreement of starts",
            Self::Calibration => "calibration",
            Self::NumberOfClasses => "number of classes",
            Self::PredictivePower => "predictive power",
            Self::PlainAgreement => "agreement with plain estimates",
        }
    }

    /// The question that the verdict answers.
    pub fn title(self) -> &'static str {
        match self {
            Self::Separation => "Can the classes be told apart?",
            Self::Overlap => "Did similar units receive different treatments?",
            Self::AgreementOfStarts => "Do other starts lead to the same answers?",
            Self::Calibration => "Do the intervals reach their coverage?",
            Self::NumberOfClasses => "Is the number of classes right?",
            Self::PredictivePower => "Does the model predict held-out outcomes?",
            Self::PlainAgreement => "Does the average effect agree with plain estimates?",
        }
    }
}

impl Serialize for Assumption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The verdict on one assumption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The assumption.
    #[serde(rename = "name")]
    pub assumption: Assumption,
    /// The grade.
    pub grade: Grade,
    /// The figure that the grade is based on; none if the assumption was not tested.
    pub figure: Option<f64>,
    /// The limits of the grades. A verdict may be doubtful for other reasons too, which its sentence gives.
    pub limits: VerdictLimits,
    /// The verdict in words.
    pub sentence: String,
}

/// The figures that separate the grades. Larger figures are better, unless the limit of `failed` is the larger one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VerdictLimits {
    /// The worst figure with which an assumption is ok.
    pub ok: f64,
    /// The figure beyond which it failed.
    pub failed: f64,
}

impl VerdictLimits {
    /// Whether larger figures are better.
    pub fn larger_is_better(&self) -> bool {
        self.ok >= self.failed
    }
}

impl Verdict {
    fn new(assumption: Assumption, figure: f64, limits: VerdictLimits, sentence: String) -> Self {
        let reaches = |limit: f64| if limits.larger_is_better() { figure >= limit } else { figure <= limit };
        let grade = match () {
            () if reaches(limits.ok) => Grade::Ok,
            () if reaches(limits.failed) => Grade::Doubtful,
            () => Grade::Failed,
        };
        Self { assumption, grade, figure: Some(figure), limits, sentence }
    }

    fn not_tested(assumption: Assumption, limits: VerdictLimits, sentence: String) -> Self {
        Self { assumption, grade: Grade::NotTested, figure: None, limits, sentence }
    }
}

impl Model {
    /// A verdict on every assumption that can be checked, from `data` (at most 5,000 evenly spaced units) and the fit.
    /// `options` are those of the questions that the verdicts are for. Coverage is counted on factual outcomes, with fresh
    /// noise whatever their rho.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if an option cannot be used, [`Error::Data`](crate::Error::Data) if the units
    /// do not fit the model or one has no outcome.
    pub fn verdicts<'a>(&self, data: impl Into<UnitData<'a>>, options: AskOptions) -> Result<Vec<Verdict>> {
        options.validate()?;
        let level = options.level;
        let data = data.into().units;
        data.check_observed()?;
        let step = data.len().div_ceil(MAX_VERDICT_UNITS);
        let data = data.pick(&data.even_sample(step))?;
        let factual = self.outcomes(&data, data.t(), AskOptions { rho: Rho::Given(0.0), level })?;
        let mut verdicts = vec![
            self.separation(&factual),
            self.overlap(&data, level)?,
            self.agreement_of_starts(&data, options)?,
            self.calibration_verdict(&data, &factual, options),
            self.number_of_classes(),
        ];
        verdicts.extend(self.predictive_power());
        if let Some(agreement) = self.plain_agreement(&data, level)? {
            // a disagreement with the plain data comes before everything else
            let place = if agreement.grade > Grade::Ok { 0 } else { verdicts.len() };
            verdicts.insert(place, agreement);
        }
        Ok(verdicts)
    }

    /// Predictive power: R2 of held-out outcomes. Also doubtful if it is within its standard error of 0; none if the fit
    /// did not compute it.
    fn predictive_power(&self) -> Option<Verdict> {
        let r2 = self.fit_report().r2?;
        // of yes or no, even the true probabilities explain little
        let only_chances = self.outcome_kinds().iter().all(|kind| kind.is_chance());
        let least = if only_chances { MIN_CHANCE_R2 } else { MIN_R2 };
        let figures = format!("R2 = {:.3}, standard error {:.3}", r2.value, r2.standard_error);
        let sentence = match r2.value {
            value if value >= least => format!(
                "covariates and treatment predict {:.1}% of the variance of held-out outcomes ({figures})",
                100.0 * value
            ),
            value if value > 0.0 => {
                format!(
                    "covariates and treatment predict held-out outcomes hardly better than a constant ({figures})"
                )
            }
            _ => format!(
                "covariates and treatment predict held-out outcomes no better than a constant ({figures})"
            ),
        };
        let limits = VerdictLimits { ok: least, failed: -r2.standard_error };
        let mut verdict = Verdict::new(Assumption::PredictivePower, r2.value, limits, sentence);
        if r2.value < r2.standard_error && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
        }
        Some(verdict)
    }

    /// Agreement with plain estimates: the largest distance over outcomes and levels between the model's average effect and
    /// a plain estimate, in standard errors. With several of them the limits grow, so that all together exceed them by
    /// chance as rarely as a single one. None if no plain estimate can be made.
    fn plain_agreement(&self, data: &Dataset, level: f64) -> Result<Option<Verdict>> {
        let options = AskOptions { level, ..AskOptions::default() };
        let mut compared: Vec<(PlainComparison, [Vec<f32>; 2])> = Vec::new();
        for ends in self.typical_contrasts(data.t())? {
            let of_ends = self.compare_plain(data, &ends[0], &ends[1], options)?;
            compared.extend(of_ends.into_iter().map(|own| (own, ends.clone())));
        }
        let distance = |comparison: &PlainComparison| comparison.distance.unwrap_or(0.0);
        let with_sentence = compared.iter().filter_map(|(own, ends)| Some((own, ends, own.sentence()?)));
        let farthest = with_sentence.max_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
        let Some((farthest, [from, to], sentence)) = farthest else { return Ok(None) };
        let count = compared.len() as f64;
        let limit = |single: f64| normal_half_width(1.0 - 2.0 * normal_tail(single) / count);
        let limits = VerdictLimits { ok: limit(MAX_DISTANCES.0), failed: limit(MAX_DISTANCES.1) };
        let text = |t: &[f32]| self.treatment_text(t, |value| short(f64::from(value)));
        let sentence = format!("for {} against {}, {sentence}", text(to), text(from));
        Ok(Some(Verdict::new(Assumption::PlainAgreement, distance(farthest), limits, sentence)))
    }

    /// Separation: the share of units with one clearly most probable class.
    fn separation(&self, factual: &Answers) -> Verdict {
        let clear = true_share(factual.diagnoses.iter().map(|diagnosis| !diagnosis.ambiguous_class));
        let sentence = match self.classes() {
            1 => "there is only one class".to_owned(),
            k => format!(
                "{:.1}% of units belong to one of the {k} classes with a probability of at least 0.9",
                100.0 * clear
            ),
        };
        // answers of a density take the class as uncertain as it is
        let failed = if matches!(self.predictor, Predictor::Density(_)) { 0.0 } else { 0.7 };
        Verdict::new(Assumption::Separation, clear, VerdictLimits { ok: 0.9, failed }, sentence)
    }

    /// Overlap: the share of units for which all levels, or the 10th, 50th and 90th percentile of the treatments, are within
    /// the support.
    fn overlap(&self, data: &Dataset, level: f64) -> Result<Verdict> {
        let mut supported = vec![true; data.len()];
        let typical = treatment_quantiles(data.t(), 0.5)?;
        let levels = self.level_grid(&typical.row(0));
        let treatments = match &levels {
            Some(levels) => levels
                .iter()
                .map(|t| Units::new("treatment", vec![t.len()], t.clone()))
                .collect::<Result<Vec<_>>>()?,
            None => vec![treatment_quantiles(data.t(), 0.1)?, typical, treatment_quantiles(data.t(), 0.9)?],
        };
        for t in treatments {
            let answers = self.outcomes(data, &t, AskOptions { rho: Rho::Given(1.0), level })?;
            for (supported, diagnosis) in supported.iter_mut().zip(&answers.diagnoses) {
                *supported &= !diagnosis.off_support;
            }
        }
        let share = true_share(supported.into_iter());
        let received = match (levels, self.layout().filter(|layout| layout.t.len() > 1)) {
            (Some(_), None) => "every level of the treatment",
            (Some(_), Some(_)) => {
                "every level of the first treatment that has levels, with the others as a typical unit received them"
            }
            (None, _) => "treatments from the 10th to the 90th percentile",
        };
        let sentence = format!("for {:.1}% of units, similar units received {received}", 100.0 * share);
        Ok(Verdict::new(Assumption::Overlap, share, VerdictLimits { ok: 0.8, failed: 0.5 }, sentence))
    }

    /// Agreement of starts: the share of units for which all solutions that held-out units do not rule out agree. Also
    /// doubtful if most starts lead to other classes: the best may then be best by chance.
    fn agreement_of_starts(&self, data: &Dataset, options: AskOptions) -> Result<Verdict> {
        let limits = VerdictLimits { ok: 0.9, failed: 0.7 };
        if matches!(self.predictor, Predictor::Density(_)) && self.classes() > 1 {
            let agreement = self.fit_report().agreement;
            let sentence = format!(
                "members fitted without other fifths of the units agree on the classes with {agreement:.2} (mean adjusted \
                 Rand index)"
            );
            let limits = VerdictLimits { ok: 0.5, failed: 0.1 };
            return Ok(Verdict::new(Assumption::AgreementOfStarts, agreement, limits, sentence));
        }
        if self.fit_report().starts.len() < 2 {
            let sentence =
                "there is one class or one start: there are no other solutions to compare with".to_owned();
            return Ok(Verdict::not_tested(Assumption::AgreementOfStarts, limits, sentence));
        }
        let t = treatment_quantiles(data.t(), 0.5)?;
        let answers = self.outcomes(data, &t, options)?;
        let same = true_share(answers.diagnoses.iter().map(|diagnosis| !diagnosis.starts_disagree));
        let sentence = format!(
            "{:.1}% of answers are the same under every solution that held-out units do not rule out \
             (mean agreement of starts on the classes: {:.2})",
            100.0 * same,
            self.fit_report().agreement
        );
        let mut verdict = Verdict::new(Assumption::AgreementOfStarts, same, limits, sentence);
        if self.fit_report().agreement < MIN_AGREEMENT && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
        }
        Ok(verdict)
    }

    /// Calibration: the coverage of factual outcomes by intervals with fresh noise. Coverage at another rho cannot be counted.
    /// Failed if a density has one member, which does not know its own error; doubtful if outcomes cannot show classes that the
    /// rho of the question depends on or, of networks of class means, if coverage is far above the level. Not tested if all
    /// answers are probabilities.
    fn calibration_verdict(&self, data: &Dataset, factual: &Answers, options: AskOptions) -> Verdict {
        let level = options.level;
        let limits = VerdictLimits { ok: level - 0.05, failed: level - 0.15 };
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
            verdict.sentence += &format!("; no data can show what they cover with rho {rho}");
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

    /// Number of classes: the share of the smallest class, or 0 if one class suffices. Also doubtful if one more class
    /// gains much of what the last one gained.
    fn number_of_classes(&self) -> Verdict {
        let (report, limits) = (self.fit_report(), VerdictLimits { ok: 0.05, failed: 0.005 });
        if let Some(sentence) = self.untested_classes() {
            return Verdict::not_tested(Assumption::NumberOfClasses, limits, sentence);
        }
        let all: usize = report.class_sizes.iter().sum();
        let smallest = report.class_sizes.iter().min().copied().unwrap_or(0) as f64 / all.max(1) as f64;
        let one_suffices = self.classes() > 1 && report.one_class_suffices;
        let sentence = match self.classes() {
            1 => "no hidden classes could be shown: held-out units support one class".to_owned(),
            k if one_suffices => {
                format!("one class explains held-out units as well as {k}: fit one class instead")
            }
            k => {
                format!(
                    "held-out units support {k} classes; the smallest has {:.1}% of units",
                    100.0 * smallest
                )
            }
        };
        let figure = if one_suffices { 0.0 } else { smallest };
        let mut verdict = Verdict::new(Assumption::NumberOfClasses, figure, limits, sentence);
        if let Some(sentence) = report.alike_sentence() {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            verdict.sentence += &format!("; {sentence}");
        }
        if let Some(share) = self.further_gain().filter(|share| *share > MAX_FURTHER_GAIN) {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            let gain = 100.0 * share;
            verdict.sentence += &format!(
                "; one more class would gain {gain:.0}% of what the last one gained: units may differ continuously"
            );
        }
        verdict
    }

    /// Why nothing can be said about the number of classes, if the fit tried no other number.
    fn untested_classes(&self) -> Option<String> {
        if let Some(sentence) = self.unseen_classes() {
            return Some(sentence.to_owned());
        }
        let tried = self.tried_classes();
        let is_tested = tried.len() > 1 || (tried.len() == 1 && self.header.config.classes == Classes::Auto);
        (!is_tested).then(|| match self.classes() {
            1 => "the model was given one class; no other number was tried".to_owned(),
            k => format!("the model was given {k} classes; no other number was tried"),
        })
    }

    /// The numbers of classes that the fit tried.
    fn tried_classes(&self) -> Vec<usize> {
        let mut tried: Vec<usize> = self.fit_report().candidates.iter().map(|tried| tried.classes).collect();
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// Why outcomes cannot show hidden classes, if that is so.
    fn unseen_classes(&self) -> Option<&'static str> {
        let is_single = OutcomeKind::is_single_chance(&self.outcome_kinds());
        let is_unseen = is_single && self.tried_classes().len() < 2 && self.learned_rho().is_none();
        is_unseen.then_some("one yes/no outcome or category per unit does not show hidden classes")
    }

    /// The gain of one more class relative to that of the last class; `None` if it was not tried.
    fn further_gain(&self) -> Option<f64> {
        let tried = &self.fit_report().candidates;
        let base = &tried.iter().find(|tried| tried.chosen)?.base;
        let nll = |classes: usize| {
            let found = tried.iter().find(|tried| tried.base == *base && tried.classes == classes);
            found.map(|tried| tried.full_nll)
        };
        let k = self.classes();
        if k == 1 {
            return None;
        }
        let (last_gain, further_gain) = (nll(k - 1)? - nll(k)?, nll(k)? - nll(k + 1)?);
        (last_gain > 0.0).then(|| further_gain / last_gain)
    }
}

/// P(Z > z) of a standard normal Z.
fn normal_tail(z: f64) -> f64 {
    normal_cdf(-z)
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
