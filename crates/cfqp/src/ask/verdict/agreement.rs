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
    /// that drives the treatment, or if every plain estimate is too uncertain. None if no plain estimate can be made.
    pub(super) fn agreement(&self, findings: &[ContrastFindings]) -> Option<Verdict> {
        let compared: Vec<(&ContrastFindings, &PlainComparison)> =
            findings.iter().flat_map(|of| of.comparisons.iter().map(move |own| (of, own))).collect();
        let count = compared.len() as f64;
        let limit = |single: f64| normal_half_width(1.0 - 2.0 * normal_cdf(-single) / count);
        let limits = VerdictLimits { ok: limit(MAX_DISTANCES.ok), failed: limit(MAX_DISTANCES.failed) };
        let kind = |own: &PlainComparison| match distance(own) > limits.ok {
            true if own.class_drives_treatment => Kind::Explained,
            false if !own.is_precise => Kind::Vague,
            _ => Kind::Tested,
        };
        let farthest = |wanted: Kind| {
            let some = compared.iter().filter(|(_, own)| kind(own) == wanted);
            let some = some.filter_map(|(of, own)| Some((own, self.agreement_sentence(of, own)?)));
            some.max_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))
        };
        let not_tested = |(_, sentence): (_, String), reason: &str| {
            Verdict::not_tested(Assumption::PlainAgreement, limits, sentence + reason)
        };
        let tested = farthest(Kind::Tested).map(|(own, sentence)| {
            let advice = match own.is_doubly_robust {
                true => "the effects of single units are wrong on average; rely on the doubly robust average",
                false => "one of them is wrong; try other classes or covariates before you rely on either",
            };
            Verdict::new(Assumption::PlainAgreement, distance(own), limits, sentence).advise(advice)
        });
        if tested.as_ref().is_some_and(|tested| tested.grade > Grade::Ok) {
            return tested;
        }
        let explained = farthest(Kind::Explained).map(|found| not_tested(found, ""));
        let vague = || farthest(Kind::Vague).map(|found| not_tested(found, VAGUE));
        explained.or(tested).or_else(vague)
    }

    /// The mean of the units' effects of a contrast and the estimate it is compared with in words.
    fn agreement_sentence(&self, findings: &ContrastFindings, own: &PlainComparison) -> Option<String> {
        let text = |t: &[f32]| self.treatment_text(t, |value| short(f64::from(value)));
        Some(format!("for {} against {}, {}", text(&findings.to), text(&findings.from), own.sentence()?))
    }
}

/// What a comparison says.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Whether the model agrees.
    Tested,
    /// That the model disagrees because the class drives the treatment.
    Explained,
    /// Nothing: the estimate is too uncertain to disagree with.
    Vague,
}

/// Why a comparison says nothing.
const VAGUE: &str = "; that error is too large to show a disagreement";

fn distance(comparison: &PlainComparison) -> f64 {
    comparison.distance.unwrap_or(0.0)
}
