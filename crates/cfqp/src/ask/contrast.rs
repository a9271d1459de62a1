//! One treatment against another over many units: average effects beside plain estimates of the same contrast.

use serde::Serialize;

use super::answer::Answers;
use super::average::{AverageEffect, Averages};
use super::causation::Causation;
use super::even_sample::EvenSample;
use super::options::AskOptions;
use super::plain_check::PlainComparison;
use super::robust::MAX_SAMPLE_UNITS;
use super::subgroup::{SubgroupEffects, Subgroups};
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
    subgroups: Option<Subgroups>,
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
    /// The average effects over subgroups, by column and outcome; empty unless there are columns to divide units by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subgroups: Vec<SubgroupEffects>,
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
        Self {
            model,
            from: from.to_vec(),
            to: to.to_vec(),
            options,
            averages,
            findings,
            sample,
            subgroups: None,
        }
    }

    /// Averages over subgroups too. The units to come must be those of the table whose columns were read.
    #[must_use]
    pub fn by(self, subgroups: Subgroups) -> Self {
        let averages = Averages::with_subgroups(self.model, self.options.level, subgroups.count());
        Self { averages, subgroups: Some(subgroups), ..self }
    }

    /// Adds units and their effects.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units have other shapes than those before.
    pub fn add(&mut self, units: &UnitBatch, answers: &Answers) -> Result<()> {
        match &self.subgroups {
            None => self.averages.add(answers),
            Some(subgroups) => self.averages.add_with(answers, |i| subgroups.of_unit(units, i)),
        }
        self.findings.add(answers);
        self.sample.add(units)
    }

    /// The averages, and what is computed from an even sample of the units.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the treatments do not fit the model.
    pub fn finish(self) -> Result<ContrastSummary> {
        let Self { model, from, to, options, mut averages, findings, sample, subgroups } = self;
        let (mut plain, mut causation) = (Vec::new(), Vec::new());
        let units = sample.finish()?;
        let sample = match &units {
            Some(units) => {
                causation = model.causation(&units.data, &from, &to, options)?;
                model.effect_sample(&units.data, &from, &to, options)?
            }
            None => None,
        };
        let sampled = units.as_ref().zip(sample.as_ref());
        if let Some((units, sample)) = sampled {
            match &subgroups {
                None => averages.correct(sample),
                Some(subgroups) => {
                    averages.correct_with(sample, |i| subgroups.of_unit(units, sample.positions[i]));
                }
            }
            plain = model.compare_sample(sample, &from, &to, options)?;
        }
        let findings = findings.with_comparisons(plain.clone());
        Ok(ContrastSummary {
            from: model.treatment_values(&from),
            to: model.treatment_values(&to),
            averages: averages.finish(),
            subgroups: subgroups.map_or(Vec::new(), |subgroups| subgroups.effects(&averages, sampled)),
            verdicts: model.judge_contrast(&findings, sample.as_ref().map(|sample| &sample.data), options)?,
            plain,
            causation,
        })
    }
}
