//! The verdict on agreement with plain estimates.

use super::contrast::ContrastFindings;
use super::grade::{Assumption, Grade, Verdict, VerdictLimits};
use crate::ask::PlainComparison;
use crate::ask::plain_check::short;
use crate::math::{normal_cdf, normal_half_width};
use crate::model::Model;

/// The distances between the mean of the units' effects and the doubly robust average or a plain estimate, in standard errors
/// of a single outcome, above which agreement is doubtful and failed.
pub(super) const MAX_DISTANCES: VerdictLimits = VerdictLimits { ok: 2.0, failed: 4.0 };

impl Model {
    /// Agreement with plain estimates: the largest distance over outcomes and contrasts between the mean of the units' effects and
    /// the doubly robust average or a plain estimate, in standard errors. With several of them the limits grow, so that all
    /// together exceed them by chance as rarely as a single one. Not tested if the only disagreements are explained by a class
    /// that drives the treatment. None if no plain estimate can be made.
    pub(super) fn agreement(&self, findings: &[ContrastFindings]) -> Option<Verdict> {
        let compared: Vec<(&ContrastFindings, &PlainComparison)> =
            findings.iter().flat_map(|of| of.comparisons.iter().map(move |own| (of, own))).collect();
        let count = compared.len() as f64;
        let limit = |single: f64| normal_half_width(1.0 - 2.0 * normal_cdf(-single) / count);
        let limits = VerdictLimits { ok: limit(MAX_DISTANCES.ok), failed: limit(MAX_DISTANCES.failed) };
        let is_explained = |own: &PlainComparison| own.class_drives_treatment && distance(own) > limits.ok;
        let farthest = |explained: bool| {
            let some = compared.iter().filter(|(_, own)| is_explained(own) == explained);
            let some = some.filter_map(|(of, own)| Some((own, self.agreement_sentence(of, own)?)));
            some.max_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))
        };
        let tested = farthest(false).map(|(own, sentence)| {
            let advice = match own.is_doubly_robust {
                true => "the effects of single units are wrong on average; rely on the doubly robust average",
                false => "one of them is wrong; try other classes or covariates before you rely on either",
            };
            Verdict::new(Assumption::PlainAgreement, distance(own), limits, sentence).advise(advice)
        });
        let explained = farthest(true)
            .map(|(_, sentence)| Verdict::not_tested(Assumption::PlainAgreement, limits, sentence));
        match tested {
            Some(tested) if tested.grade > Grade::Ok => Some(tested),
            tested => explained.or(tested),
        }
    }

    /// The mean of the units' effects of a contrast and the estimate it is compared with in words.
    fn agreement_sentence(&self, findings: &ContrastFindings, own: &PlainComparison) -> Option<String> {
        let text = |t: &[f32]| self.treatment_text(t, |value| short(f64::from(value)));
        Some(format!("for {} against {}, {}", text(&findings.to), text(&findings.from), own.sentence()?))
    }
}

fn distance(comparison: &PlainComparison) -> f64 {
    comparison.distance.unwrap_or(0.0)
}
