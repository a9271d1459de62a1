//! What data say of one treatment against another, and whether they show which class is which.

use super::grade::{Assumption, Verdict, VerdictLimits};
use crate::Result;
use crate::ask::{Answers, AskOptions, PlainComparison};
use crate::data::{Dataset, Units};
use crate::model::{Model, Predictor};

/// The share of units whose effect does not depend on which class is which. It never failed: averages over all units do not
/// depend on it.
pub(super) const IDENTIFIED: VerdictLimits = VerdictLimits { ok: 0.9, failed: 0.0 };

/// What data say of one treatment against another.
#[derive(Clone, Debug)]
pub(crate) struct ContrastFindings {
    pub(super) from: Vec<f32>,
    pub(super) to: Vec<f32>,
    units: usize,
    /// The number of units for which both treatments are on support.
    supported: usize,
    /// The number of units without the flag `not_identified`.
    identified: usize,
    /// Average effects beside plain estimates.
    pub(super) comparisons: Vec<PlainComparison>,
}

impl ContrastFindings {
    /// Findings on no units yet.
    pub(crate) fn new(from: &[f32], to: &[f32]) -> Self {
        let (from, to, comparisons) = (from.to_vec(), to.to_vec(), Vec::new());
        Self { from, to, units: 0, supported: 0, identified: 0, comparisons }
    }

    /// Counts the effects of some units.
    pub(crate) fn add(&mut self, effects: &Answers) {
        let diagnoses = &effects.diagnoses;
        self.units += diagnoses.len();
        self.supported += diagnoses.iter().filter(|diagnosis| !diagnosis.off_support).count();
        self.identified += diagnoses.iter().filter(|diagnosis| !diagnosis.not_identified).count();
    }

    /// Sets what the average effects are compared with.
    pub(crate) fn with_comparisons(self, comparisons: Vec<PlainComparison>) -> Self {
        Self { comparisons, ..self }
    }

    pub(super) fn supported_share(&self) -> f64 {
        self.supported as f64 / self.units.max(1) as f64
    }

    fn identified_share(&self) -> f64 {
        self.identified as f64 / self.units.max(1) as f64
    }
}

impl Model {
    /// What `data`, at most 5,000 units, say of a contrast.
    pub(super) fn contrast_findings(
        &self,
        data: &Dataset,
        [from, to]: [&[f32]; 2],
        options: AskOptions,
    ) -> Result<ContrastFindings> {
        let mut findings = ContrastFindings::new(from, to);
        let sample = self.effect_sample(data, from, to, options)?;
        match &sample {
            Some(sample) if sample.data.len() == data.len() => findings.add(&sample.effects),
            _ => {
                let treatment = |t: &[f32]| Units::new("treatment", vec![t.len()], t.to_vec());
                findings.add(&self.effects(data, &treatment(from)?, &treatment(to)?, options)?);
            }
        }
        let comparisons = match &sample {
            Some(sample) => self.compare_sample(sample, from, to, options)?,
            None => Vec::new(),
        };
        Ok(findings.with_comparisons(comparisons))
    }

    /// Identification: the share of units whose effect does not depend on which class under one treatment is which under the
    /// other, or for which data show it; of several contrasts the smallest share. None if the model has one class, or networks
    /// of class means.
    pub(super) fn identification(&self, findings: &[ContrastFindings]) -> Option<Verdict> {
        let Predictor::Density(_) = &self.predictor else { return None };
        let share = findings.iter().map(ContrastFindings::identified_share).min_by(f64::total_cmp)?;
        if self.classes() == 1 {
            return None;
        }
        let sentence = match share {
            1.0 => "effects do not depend on which class under one treatment is which under the other, or data show it"
                .to_owned(),
            _ => format!(
                "for {:.1}% of units, the effect depends on which class under one treatment is which under the other, which \
                 data do not show",
                100.0 * (1.0 - share)
            ),
        };
        let advice = "the effects of these units are averages over both possibilities, with the flag `not_identified`; rely on \
                      averages over all units";
        Some(Verdict::new(Assumption::Identification, share, IDENTIFIED, sentence).advise(advice))
    }
}
