//! Verdicts on support: whether similar units received the treatments.

use super::contrast::ContrastFindings;
use super::grade::{Assumption, Verdict, VerdictLimits};
use super::true_share;
use crate::Result;
use crate::ask::{AskOptions, Rho, treatment_quantiles};
use crate::data::{Dataset, Units};
use crate::model::Model;

/// The share of units for which treatments are on support.
pub(super) const SUPPORT: VerdictLimits = VerdictLimits { ok: 0.8, failed: 0.5 };

/// What to do where typical treatments are off support.
const OFF_SUPPORT: &str = "other answers extrapolate; leave out those with the flag `off_support`";

impl ContrastFindings {
    /// Overlap: the share of units for which both treatments are on support.
    pub(super) fn support(&self) -> Verdict {
        let share = self.supported_share();
        let sentence = format!("for {:.1}% of units, similar units received both treatments", 100.0 * share);
        let advice = match share {
            0.0 => "all answers extrapolate; ask about treatments that units received",
            _ => "answers for the others extrapolate; rely on the average over the units on support",
        };
        Verdict::new(Assumption::Overlap, share, SUPPORT, sentence).advise(advice)
    }
}

impl Model {
    /// Overlap: the share of units for which all levels, or the 10th, 50th and 90th percentile of the treatments, are within
    /// the support.
    pub(super) fn overlap(&self, data: &Dataset, level: f64) -> Result<Verdict> {
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
        Ok(Verdict::new(Assumption::Overlap, share, SUPPORT, sentence).advise(OFF_SUPPORT))
    }
}
