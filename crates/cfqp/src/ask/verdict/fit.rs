//! Verdicts on the fit: whether other starts lead to the same answers, and what it predicts.

use super::grade::{Assumption, Grade, Verdict, VerdictLimits};
use super::true_share;
use crate::Result;
use crate::ask::{AskOptions, treatment_quantiles};
use crate::data::Dataset;
use crate::model::{Model, Predictor};

/// The mean agreement of starts (adjusted Rand index) below which their verdict is doubtful.
pub(super) const MIN_AGREEMENT: f64 = 0.6;

/// The shares of answers that are the same under all solutions, of networks of class means.
pub(super) const SAME_ANSWERS: VerdictLimits = VerdictLimits { ok: 0.9, failed: 0.7 };
/// The agreement of the members on the classes (mean adjusted Rand index), of tables.
pub(super) const MEMBERS_AGREE: VerdictLimits = VerdictLimits { ok: 0.5, failed: 0.1 };

/// The share of the variance of held-out outcomes below which the model's predictions are doubtful.
pub(super) const MIN_R2: f64 = 0.05;
/// The same if all outcomes are yes or no, or categories.
pub(super) const MIN_CHANCE_R2: f64 = 0.01;

impl Model {
    /// Predictive power: R2 of held-out outcomes. Also doubtful if it is within its standard error of 0; none if the fit
    /// did not compute it.
    pub(super) fn predictive_power(&self) -> Option<Verdict> {
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
        Some(verdict.advise("answers for single units say little; add covariates that predict the outcome"))
    }

    /// Agreement of starts: the share of units for which all solutions that held-out units do not rule out agree. Also
    /// doubtful if most starts lead to other classes: the best may then be best by chance.
    pub(super) fn agreement_of_starts(&self, data: &Dataset, options: AskOptions) -> Result<Verdict> {
        let limits = SAME_ANSWERS;
        if matches!(self.predictor, Predictor::Density(_)) && self.classes() > 1 {
            let agreement = self.fit_report().agreement;
            let sentence = format!(
                "members fitted without other fifths of the units agree on the classes with {agreement:.2} (mean adjusted \
                 Rand index)"
            );
            let verdict = Verdict::new(Assumption::AgreementOfStarts, agreement, MEMBERS_AGREE, sentence);
            return Ok(
                verdict.advise("the classes of single units are uncertain; rely on averages over all units")
            );
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
        Ok(verdict.advise("rely on answers without the flag `starts_disagree`"))
    }
}
