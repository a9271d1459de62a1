//! Answers for units, with intervals, posteriors and flags.

use serde::Serialize;

use super::rho::UsedRho;
use crate::data::Units;

/// The answers for n units.
///
/// ```
/// # use cfqp::{Base, Classes, Fit, FitConfig, sim::Oscillator};
/// # let simulated = Oscillator::default().simulate(200, 1)?;
/// # let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// # let model = Fit::new(config).run(&simulated.data)?;
/// let answers = model.ask(&simulated.data).under(0.6).answers()?;
/// for (unit, diagnosis) in answers.diagnoses.iter().enumerate().filter(|(_, diagnosis)| diagnosis.ok()).take(3) {
///     let (point, lower, upper) = (answers.point.row(unit), answers.lower.row(unit), answers.upper.row(unit));
///     println!("unit {unit}, class {}: {} [{}, {}]", diagnosis.class, point[0], lower[0], upper[0]);
/// }
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The point answer: an outcome, or a difference of two.
    pub point: Units,
    /// Lower ends of the intervals.
    pub lower: Units,
    /// Upper ends of the intervals.
    pub upper: Units,
    /// P(class | x, t, y), `[n, classes]`, flat. Of units without an outcome: the class weights, P(class | x, t), or their mean
    /// over the treatments of similar training units if t is missing too.
    pub posterior: Vec<f32>,
    /// The diagnosis of each answer.
    pub diagnoses: Vec<Diagnosis>,
    /// The correlation of the noise in both worlds that the answers assume.
    pub rho: UsedRho,
    /// The level of the intervals.
    pub level: f64,
    /// The answers of the members of an ensemble of densities, which show the error of an average; with fresh noise where
    /// outcomes are not numbers. Empty for other models.
    pub(crate) members: Vec<Units>,
}

impl Answers {
    /// The answers for the units at `positions`.
    pub(crate) fn pick(&self, positions: &[usize]) -> Self {
        let classes = self.posterior.len() / self.diagnoses.len().max(1);
        let posterior = |&i: &usize| &self.posterior[i * classes..][..classes];
        Self {
            point: self.point.pick(positions),
            lower: self.lower.pick(positions),
            upper: self.upper.pick(positions),
            posterior: positions.iter().flat_map(posterior).copied().collect(),
            diagnoses: positions.iter().map(|&i| self.diagnoses[i]).collect(),
            rho: self.rho,
            level: self.level,
            members: self.members.iter().map(|points| points.pick(positions)).collect(),
        }
    }
}

/// How far the answer for one unit can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The most probable class.
    pub class: usize,
    /// Entropy of the posterior over classes, from 0 (one class) to 1 (all equally probable).
    pub entropy: f32,
    /// No class is clearly the most probable.
    pub ambiguous_class: bool,
    /// The treatment asked about lies outside those seen near this unit's covariates.
    pub off_support: bool,
    /// Another solution that held-out units do not rule out gives another answer.
    pub starts_disagree: bool,
    /// The unit has no outcome: the answer is by its covariates alone, with fresh noise.
    pub no_outcome: bool,
    /// A covariate or outcome of the unit is far from all that the model was fitted to.
    pub extreme_value: bool,
    /// The data do not show which class under the treatment received is which under the one asked about, and the answer
    /// depends on it.
    pub not_identified: bool,
    /// The answer is far outside the outcomes that the model was fitted to.
    pub extreme_answer: bool,
    /// The model has a single member, which says nothing of its own error: intervals are too narrow.
    pub single_member: bool,
}

/// A warning about one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flag {
    /// The unit has no outcome: the answer is by its covariates alone, with fresh noise.
    NoOutcome,
    /// A covariate or outcome of the unit is far from all that the model was fitted to: perhaps a wrong entry.
    ExtremeValue,
    /// The treatment asked about lies outside those seen near this unit's covariates.
    OffSupport,
    /// No class is clearly the most probable.
    AmbiguousClass,
    /// Another solution that held-out units do not rule out gives another answer.
    StartsDisagree,
    /// The data do not show which class under the treatment received is which under the one asked about.
    NotIdentified,
    /// The answer is far outside the outcomes that the model was fitted to.
    ExtremeAnswer,
    /// The model has a single member: intervals are too narrow.
    SingleMember,
}

impl Flag {
    /// Every flag, in the order in which they are written.
    pub const ALL: [Self; 8] = [
        Self::NoOutcome,
        Self::ExtremeValue,
        Self::OffSupport,
        Self::AmbiguousClass,
        Self::StartsDisagree,
        Self::NotIdentified,
        Self::ExtremeAnswer,
        Self::SingleMember,
    ];

    /// The name in output and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoOutcome => "no_outcome",
            Self::ExtremeValue => "extreme_value",
            Self::OffSupport => "off_support",
            Self::AmbiguousClass => "ambiguous_class",
            Self::StartsDisagree => "starts_disagree",
            Self::NotIdentified => "not_identified",
            Self::ExtremeAnswer => "extreme_answer",
            Self::SingleMember => "single_member",
        }
    }

    /// What the flag means, as part of a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::NoOutcome => "no outcome was observed: the answer is by covariates alone, with fresh noise",
            Self::ExtremeValue => "a covariate or outcome is far from all that the model was fitted to",
            Self::OffSupport => "no similar unit received such a treatment",
            Self::AmbiguousClass => "no class is clearly the most probable",
            Self::StartsDisagree => "another solution fits as well and gives a different answer",
            Self::NotIdentified => {
                "the data do not show which class under one treatment is which under the other, and the answer depends on it"
            }
            Self::ExtremeAnswer => "the answer is far outside the outcomes that the model was fitted to",
            Self::SingleMember => {
                "the model has one member, which does not know its own error: the interval is too narrow"
            }
        }
    }

    /// The text of a `flag` column: `ok`, or the names joined by `|`.
    pub(crate) fn join(flags: impl IntoIterator<Item = Self>) -> String {
        let names: Vec<&str> = flags.into_iter().map(Self::name).collect();
        if names.is_empty() { "ok".to_owned() } else { names.join("|") }
    }
}

impl std::fmt::Display for Flag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Diagnosis {
    /// Whether the answer has no flag.
    pub fn ok(&self) -> bool {
        self.flags().next().is_none()
    }

    /// Whether the answer has this flag.
    pub fn has(&self, flag: Flag) -> bool {
        match flag {
            Flag::NoOutcome => self.no_outcome,
            Flag::ExtremeValue => self.extreme_value,
            Flag::OffSupport => self.off_support,
            Flag::AmbiguousClass => self.ambiguous_class,
            Flag::StartsDisagree => self.starts_disagree,
            Flag::NotIdentified => self.not_identified,
            Flag::ExtremeAnswer => self.extreme_answer,
            Flag::SingleMember => self.single_member,
        }
    }

    /// The flags of the answer.
    pub fn flags(&self) -> impl Iterator<Item = Flag> {
        let diagnosis = *self;
        Flag::ALL.into_iter().filter(move |flag| diagnosis.has(*flag))
    }
}
