//! One treatment against another over many units: average effects beside plain estimates of the same contrast.

use serde::Serialize;

use super::answer::Answers;
use super::average::{AverageEffect, Averages};
use super::causation::Causation;
use super::even_sample::EvenSample;
use super::options::AskOptions;
use super::plain_check::PlainComparison;
use super::robust::MAX_SAMPLE_UNITS;
use super::verdict::{ContrastFindings, Verdict};
use crate::Result;
use crate::data::table::{TreatmentValue, UnitBatch};
use crate::model::Model;

/// The effect of one treatment against another over many units, accumulated batch by batch.
///
/// ```
/// # use cfqp::{Base, Classes, Fit, FitConfig, data::table::UnitBatch, sim::Oscillator};
/// use cfqp::AskOptions;
/// use cfqp::ask::Contrast;
///
/// # let data = Oscillator::default().simulate(200, 1)?.data;
/// # let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
/// # let model = Fit::new(config).run(&data)?;
/// # let units = UnitBatch::from(data);
/// let mut contrast = Contrast::new(&model, &[0.3], &[0.7], AskOptions::default());
/// let answers = model.ask(&units.data).effect(0.3, 0.7).answers()?;
/// contrast.add(&units, &answers)?;
/// let summary = contrast.finish()?;
/// assert!(summary.averages.iter().all(|average| average.lower < average.upper));
/// # Ok::<(), cfqp::Error>(())
/// ```
pub struct Contrast<'a> {
    model: &'a Model,
    from: Vec<f32>,
    to: Vec<f32>,
    options: AskOptions,
    averages: Averages,
    findings: ContrastFindings,
    sample: EvenSample,
}

/// The effect of one treatment against another: averages, verdicts, plain estimates and shares of causation.
#[derive(Clone, Debug, Serialize)]
pub struct ContrastSummary {
    /// The reference treatment.
    pub from: Vec<TreatmentValue>,
    /// The treatment that is compared with it.
    pub to: Vec<TreatmentValue>,
    /// The average effects, of every outcome over every group of units.
    pub averages: Vec<AverageEffect>,
    /// The verdicts on this contrast: on support, identification, calibration and agreement with plain estimates; see
    /// [`Model::contrast_verdicts`].
    pub verdicts: Vec<Verdict>,
    /// The averages beside plain estimates from the same units (at most 5,000).
    pub plain: Vec<PlainComparison>,
    /// Necessity and sufficiency of yes/no outcomes; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causation: Vec<Causation>,
}

impl<'a> Contrast<'a> {
    /// The effect of `to` against `from`, over no units yet; `options` are those of the answers to come.
    pub fn new(model: &'a Model, from: &[f32], to: &[f32], options: AskOptions) -> Self {
        let averages = Averages::new(model, options.level);
        let sample = EvenSample::new(MAX_SAMPLE_UNITS);
        let findings = ContrastFindings::new(from, to);
        Self { model, from: from.to_vec(), to: to.to_vec(), options, averages, findings, sample }
    }

    /// Adds units and their effects.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units have other shapes than those before.
    pub fn add(&mut self, units: &UnitBatch, answers: &Answers) -> Result<()> {
        self.averages.add(answers);
        self.findings.add(answers);
        self.sample.add(units)
    }

    /// The averages, and what is computed from an even sample of the units.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the treatments do not fit the model.
    pub fn finish(self) -> Result<ContrastSummary> {
        let Self { model, from, to, options, mut averages, findings, sample } = self;
        let (mut plain, mut causation, mut observed) = (Vec::new(), Vec::new(), None);
        if let Some(units) = sample.finish()? {
            causation = model.causation(&units.data, &from, &to, options)?;
            if let Some(sample) = model.effect_sample(&units.data, &from, &to, options)? {
                averages.correct(&sample);
                plain = model.compare_sample(&sample, &from, &to, options)?;
                observed = Some(sample.data);
            }
        }
        let findings = findings.with_comparisons(plain.clone());
        Ok(ContrastSummary {
            from: model.treatment_values(&from),
            to: model.treatment_values(&to),
            averages: averages.finish(),
            verdicts: model.judge_contrast(&findings, observed.as_ref(), options)?,
            plain,
            causation,
        })
    }
}
