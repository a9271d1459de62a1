//! How a fit went: what was tried, what was chosen, and how well it predicts held-out units.

use serde::{Deserialize, Serialize};

use crate::config::{Base, Sharing, Start};

/// The report of a fit: what was tried and chosen, and held-out scores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitReport {
    /// The numbers of training, validation and calibration units.
    pub units: SplitSizes,
    /// Scores of every base model and number of classes tried.
    #[serde(alias = "tried")]
    pub candidates: Vec<ClassScore>,
    /// The starts with the chosen base model and number of classes.
    pub starts: Vec<StartReport>,
    /// Mean agreement of the other starts' classes with the best (adjusted Rand index).
    pub agreement: f64,
    /// Whether one class explains held-out units as well as the classes of the model.
    pub one_class_suffices: bool,
    /// Training and validation units of each class.
    pub class_sizes: Vec<usize>,
    /// Groups of classes that respond alike to the treatment, counted from 0: slices of one distribution of noise.
    #[serde(default)]
    pub alike_classes: Vec<Vec<usize>>,
    /// Largest class mean of |y - m_k| per element, in standardised outcomes: the bound of the identification result.
    pub delta_hat: f64,
    /// Mean negative log-likelihood of units under members that were not trained on them.
    pub val_nll: f64,
    /// Mean squared error of such units, each under its most probable class, in standardised outcomes.
    pub val_mse: f64,
    /// The share of the variance of held-out outcomes that their predicted means explain; none if it was not computed.
    #[serde(default)]
    pub r2: Option<HeldOutR2>,
    /// Epochs of the member trained longest.
    pub epochs: usize,
    /// The training length of the members.
    #[serde(alias = "effort")]
    pub training_length: TrainingLength,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl FitReport {
    /// The best result of every kind of start, best first: a start may have been run with both kinds of sharing.
    pub fn best_starts(&self) -> Vec<&StartReport> {
        let mut best: Vec<&StartReport> = Vec::new();
        for start in &self.starts {
            if best.iter().all(|other| other.start != start.start) {
                best.push(start);
            }
        }
        best
    }

    /// A sentence on classes that respond alike; none if there are no such classes.
    pub(crate) fn alike_sentence(&self) -> Option<String> {
        let names = |group: &Vec<usize>| {
            let numbers: Vec<String> = group.iter().map(ToString::to_string).collect();
            numbers.join(" and ")
        };
        let groups: Vec<String> = self.alike_classes.iter().map(names).collect();
        (!groups.is_empty()).then(|| {
            format!(
                "classes {} respond alike to the treatment: slices of one distribution of noise, not kinds of units",
                groups.join("; ")
            )
        })
    }
}

/// R2 = 1 - sum (y - predicted)^2 / sum (y - mean)^2 of outcomes of units that the predicting member was not trained on.
/// The prediction, sum_k w_k m_k(x, t), does not use the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOutR2 {
    /// At most 1; negative if a constant predicts better.
    pub value: f64,
    /// Its standard error, clustered by subject.
    pub standard_error: f64,
}

/// The held-out scores of a base model and a number of classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassScore {
    /// The base model.
    pub base: Base,
    /// The number of classes.
    pub classes: usize,
    /// Mean negative log-likelihood of the validation units.
    pub nll: f64,
    /// The same with a full covariance.
    #[serde(alias = "evidence")]
    pub full_nll: f64,
    /// The penalty of every class after the first.
    #[serde(default, alias = "price")]
    pub penalty: f64,
    /// Mean squared error of the validation units, each under its most probable class; none if it was not computed.
    pub mse: Option<f64>,
    /// The standard error of the difference from the chosen score, over held-out units; none if it was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_error: Option<f64>,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl ClassScore {
    /// The penalised score: negative log-likelihood (full covariance) plus the penalties of all classes but the first.
    pub fn score(&self) -> f64 {
        self.full_nll + self.penalty * (self.classes - 1) as f64
    }
}

/// One start of EM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReport {
    /// The kind of start.
    pub start: Start,
    /// How its classes share networks.
    pub sharing: Sharing,
    /// Mean negative log-likelihood of the validation units.
    pub nll: f64,
    /// Adjusted Rand index of its classes with the best start's.
    pub agreement: f64,
}

/// The numbers of units of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitSizes {
    /// Units that networks were trained on.
    pub train: usize,
    /// Units on which starts, base models, K and epochs were chosen.
    pub validation: usize,
    /// Units on which intervals were calibrated.
    pub calibration: usize,
}

impl SplitSizes {
    /// The number of all units.
    pub fn total(&self) -> usize {
        self.train + self.validation + self.calibration
    }
}

/// The length of the training of ensemble members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainingLength {
    /// 2,400 steps with strong weight decay.
    #[default]
    #[serde(alias = "gentle", alias = "")]
    Short,
    /// 5,000 steps.
    #[serde(alias = "middle")]
    Medium,
    /// 8,000 larger steps with little weight decay.
    #[serde(alias = "hard")]
    Long,
    /// That of the published algorithm.
    #[serde(alias = "paper")]
    Published,
}

impl TrainingLength {
    /// The name in random streams and checkpoint keys. Changing it changes results.
    pub(crate) fn stream_name(self) -> &'static str {
        match self {
            Self::Short => "gentle",
            Self::Medium => "middle",
            Self::Long => "hard",
            Self::Published => "paper",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_earlier_versions_are_read() {
        let old = r#"{"units":[70,15,15],"tried":[{"base":"linear","classes":2,"nll":1.0,"evidence":0.5,"price":0.1,
            "mse":0.2,"chosen":true}],"starts":[],"agreement":1.0,"one_class_suffices":false,"class_sizes":[40,45],
            "delta_hat":0.1,"val_nll":1.0,"val_mse":0.2,"epochs":1,"effort":"middle","notes":[]}"#;
        let report: FitReport = serde_json::from_str(old).unwrap();
        assert_eq!(report.units, SplitSizes { train: 70, validation: 15, calibration: 15 });
        assert_eq!(report.training_length, TrainingLength::Medium);
        assert_eq!(report.candidates[0].score(), 0.6);
    }
}
