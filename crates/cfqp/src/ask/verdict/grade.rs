//! Grades of assumptions, with the figures behind them.

use serde::{Deserialize, Serialize, Serializer};

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
    /// Data show which class under one treatment is which under the other.
    Identification,
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
            Self::Identification => "identification",
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
            Self::Identification => {
                "Do the data show which class under one treatment is which under the other?"
            }
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
    pub(super) fn new(assumption: Assumption, figure: f64, limits: VerdictLimits, sentence: String) -> Self {
        let reaches = |limit: f64| if limits.larger_is_better() { figure >= limit } else { figure <= limit };
        let grade = match () {
            () if reaches(limits.ok) => Grade::Ok,
            () if reaches(limits.failed) => Grade::Doubtful,
            () => Grade::Failed,
        };
        Self { assumption, grade, figure: Some(figure), limits, sentence }
    }

    pub(super) fn not_tested(assumption: Assumption, limits: VerdictLimits, sentence: String) -> Self {
        Self { assumption, grade: Grade::NotTested, figure: None, limits, sentence }
    }

    /// Adds what to do to the sentence of an assumption that is doubtful or failed.
    pub(super) fn advise(mut self, advice: &str) -> Self {
        if self.grade > Grade::Ok {
            self.sentence += &format!(": {advice}");
        }
        self
    }
}
