//! Verdicts: how well each assumption of a model holds on some units, with the figure behind the grade.

use serde::{Serialize, Serializer};

use super::answer::Answers;
use super::options::AskOptions;
use super::rho::Rho;
use crate::Result;
use crate::data::{Dataset, UnitData, Units};
use crate::math::{argmin, coverage};
use crate::model::Model;

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

/// How well an assumption holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
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
    /// The figure that the grade is based on.
    pub figure: f64,
    /// The limits of the grades. A verdict may be doubtful for other reasons too, which its sentence gives.
    pub limits: VerdictLimits,
    /// The verdict in words.
    pub sentence: String,
}

/// The figures that separate the grades.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VerdictLimits {
    /// The smallest figure with which an assumption is ok.
    pub ok: f64,
    /// The figure below which it failed.
    pub failed: f64,
}

impl Verdict {
    fn new(assumption: Assumption, figure: f64, limits: VerdictLimits, sentence: String) -> Self {
        let grade = match figure {
            figure if figure >= limits.ok => Grade::Ok,
            figure if figure >= limits.failed => Grade::Doubtful,
            _ => Grade::Failed,
        };
        Self { assumption, grade, figure, limits, sentence }
    }
}

impl Model {
    /// A verdict on every assumption that can be checked, from `data` (at most 5,000 evenly spaced units) and the fit.
    /// `options` are those of the questions that the verdicts are for. Coverage is counted on factual outcomes, with fresh
    /// noise whatever their rho.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if an option cannot be used, [`Error::Data`](crate::Error::Data) if the units
    /// do not fit the model.
    pub fn verdicts<'a>(&self, data: impl Into<UnitData<'a>>, options: AskOptions) -> Result<Vec<Verdict>> {
        options.validate()?;
        let level = options.level;
        let data = data.into().units;
        let step = data.len().div_ceil(MAX_VERDICT_UNITS);
        let data = data.pick(&data.even_sample(step))?;
        let factual = self.outcomes(&data, data.t(), AskOptions { rho: Rho::Given(0.0), level })?;
        Ok(vec![
            self.separation(&factual),
            self.overlap(&data, level)?,
            self.agreement_of_starts(&data, options)?,
            Self::calibration_verdict(&data, &factual, level),
            self.number_of_classes(),
        ])
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
        Verdict::new(Assumption::Separation, clear, VerdictLimits { ok: 0.9, failed: 0.7 }, sentence)
    }

    /// Overlap: the share of units for which the 10th, 50th and 90th percentile of the treatments are all within the
    /// support.
    fn overlap(&self, data: &Dataset, level: f64) -> Result<Verdict> {
        let mut supported = vec![true; data.len()];
        for quantile in [0.1, 0.5, 0.9] {
            let t = treatment_quantiles(data.t(), quantile)?;
            let answers = self.outcomes(data, &t, AskOptions { rho: Rho::Given(1.0), level })?;
            for (supported, diagnosis) in supported.iter_mut().zip(&answers.diagnoses) {
                *supported &= !diagnosis.off_support;
            }
        }
        let share = true_share(supported.into_iter());
        let sentence = format!(
            "for {:.1}% of units, similar units received treatments from the 10th to the 90th percentile",
            100.0 * share
        );
        Ok(Verdict::new(Assumption::Overlap, share, VerdictLimits { ok: 0.8, failed: 0.5 }, sentence))
    }

    /// Agreement of starts: the share of units for which all solutions that held-out units do not rule out agree. Also
    /// doubtful if most starts lead to other classes: the best may then be best by chance.
    fn agreement_of_starts(&self, data: &Dataset, options: AskOptions) -> Result<Verdict> {
        let t = treatment_quantiles(data.t(), 0.5)?;
        let answers = self.outcomes(data, &t, options)?;
        let same = true_share(answers.diagnoses.iter().map(|diagnosis| !diagnosis.starts_disagree));
        let sentence = format!(
            "{:.1}% of answers are the same under every solution that held-out units do not rule out \
             (mean agreement of starts on the classes: {:.2})",
            100.0 * same,
            self.fit_report().agreement
        );
        let limits = VerdictLimits { ok: 0.9, failed: 0.7 };
        let mut verdict = Verdict::new(Assumption::AgreementOfStarts, same, limits, sentence);
        if self.fit_report().agreement < MIN_AGREEMENT && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
        }
        Ok(verdict)
    }

    /// Calibration: the coverage of factual outcomes by intervals with fresh noise. Also doubtful if it is far above
    /// the level.
    fn calibration_verdict(data: &Dataset, factual: &Answers, level: f64) -> Verdict {
        let covered = covered_share(data.y(), &factual.lower, &factual.upper);
        let sentence = format!(
            "intervals at level {level} cover {:.1}% of the observed outcomes, with fresh noise (rho = 0)",
            100.0 * covered
        );
        let limits = VerdictLimits { ok: level - 0.05, failed: level - 0.15 };
        let mut verdict = Verdict::new(Assumption::Calibration, covered, limits, sentence);
        let is_excessive = covered > level + MAX_EXCESS_COVERAGE && level < MAX_EXCESS_LEVEL;
        if is_excessive && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
            verdict.sentence += ": they are wider than necessary";
        }
        verdict
    }

    /// Number of classes: the share of the smallest class, or 0 if one class suffices. Also doubtful if one more class
    /// gains much of what the last one gained.
    fn number_of_classes(&self) -> Verdict {
        let report = self.fit_report();
        let all: usize = report.class_sizes.iter().sum();
        let smallest = report.class_sizes.iter().min().copied().unwrap_or(0) as f64 / all.max(1) as f64;
        let one_suffices = self.classes() > 1 && report.one_class_suffices;
        let sentence = match self.classes() {
            1 => "held-out units support one class: no hidden classes were found".to_owned(),
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
        let limits = VerdictLimits { ok: 0.05, failed: 0.005 };
        let mut verdict = Verdict::new(Assumption::NumberOfClasses, figure, limits, sentence);
        if let Some(share) = self.further_gain().filter(|share| *share > MAX_FURTHER_GAIN) {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            let gain = 100.0 * share;
            verdict.sentence += &format!(
                "; one more class would gain {gain:.0}% of what the last one gained: units may differ continuously"
            );
        }
        verdict
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

/// The share of `values` that are true; 0 if there are none.
fn true_share(values: impl Iterator<Item = bool>) -> f64 {
    let (n, count) = values.fold((0, 0), |(n, count), value| (n + 1, count + usize::from(value)));
    f64::from(count as u32) / f64::from((n as u32).max(1))
}

/// The quantile of the treatments at `share`. Of several treatments, the combination received by a unit that is nearest to
/// the quantile of each: nobody may have received the combination of all quantiles.
pub(crate) fn treatment_quantiles(t: &Units, share: f64) -> Result<Units> {
    let quantile = |j: usize, share: f64| {
        let mut values: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        values[((values.len() - 1) as f64 * share).round() as usize]
    };
    let at: Vec<f32> = (0..t.elements()).map(|j| quantile(j, share)).collect();
    if t.elements() == 1 {
        return Units::new("treatment", vec![1], at);
    }
    let range: Vec<f32> = (0..t.elements()).map(|j| quantile(j, 1.0) - quantile(j, 0.0)).collect();
    let distance = |i: usize| -> f64 {
        let row = t.row(i);
        let scaled = |j: usize| f64::from((row[j] - at[j]) / range[j].max(f32::MIN_POSITIVE));
        (0..t.elements()).map(|j| scaled(j).powi(2)).sum()
    };
    let nearest = argmin((0..t.len()).map(distance)).unwrap_or(0);
    Units::new("treatment", vec![t.elements()], t.row(nearest).to_vec())
}

/// The share of observed elements inside their interval; 0 if none was observed.
pub(crate) fn covered_share(y: &Units, lower: &Units, upper: &Units) -> f64 {
    coverage(y.values(), lower.values(), upper.values(), y.mask()).map_or(0.0, |coverage| coverage.share)
}
