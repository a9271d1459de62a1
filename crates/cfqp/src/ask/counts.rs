//! Counts of answers, of their flags, and of units that were not used.

use serde::Serialize;

use super::answer::{Answers, Diagnosis, Flag};
use crate::data::table::{DroppedUnits, ReadSummary};

/// Counts over all answers to a question about many units, accumulated batch by batch.
///
/// ```
/// # use cfqp::{Base, Classes, Fit, FitConfig, sim::Oscillator};
/// # let data = Oscillator::default().simulate(200, 1)?.data;
/// # let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// # let model = Fit::new(config).run(&data)?;
/// let mut counts = cfqp::ask::AnswerCounts::default();
/// counts.add(&model.ask(&data).under(0.6).answers()?);
/// assert_eq!((counts.units, counts.answers), (200, 200));
/// for (flag, answers) in counts.flags() {
///     println!("{answers} answers: {}", flag.description());
/// }
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerCounts {
    /// Units asked about.
    pub units: usize,
    /// Answers.
    pub answers: usize,
    /// Answers without flags.
    pub ok: usize,
    /// Answers with the flag [`Flag::NoOutcome`].
    pub no_outcome: usize,
    /// Answers with the flag [`Flag::ExtremeValue`].
    pub extreme_value: usize,
    /// Answers with the flag [`Flag::AmbiguousClass`].
    pub ambiguous_class: usize,
    /// Answers with the flag [`Flag::OffSupport`].
    pub off_support: usize,
    /// Answers with the flag [`Flag::StartsDisagree`].
    pub starts_disagree: usize,
    /// Answers with the flag [`Flag::NotIdentified`].
    pub not_identified: usize,
    /// Answers with the flag [`Flag::ExtremeAnswer`].
    pub extreme_answer: usize,
    /// Answers with the flag [`Flag::SingleMember`].
    pub single_member: usize,
    /// Rows of the file.
    pub rows: usize,
    /// Units of the file that were not used, by reason.
    pub dropped: Vec<DroppedUnits>,
}

impl AnswerCounts {
    /// Adds answers, one per unit.
    pub fn add(&mut self, answers: &Answers) {
        self.add_repeated(answers, answers.diagnoses.len());
    }

    /// Adds several answers for each of `units` units.
    pub fn add_repeated(&mut self, answers: &Answers, units: usize) {
        let flagged = |flag: Flag| answers.diagnoses.iter().filter(|diagnosis| diagnosis.has(flag)).count();
        self.units += units;
        self.answers += answers.diagnoses.len();
        self.ok += answers.diagnoses.iter().filter(|diagnosis| Diagnosis::ok(diagnosis)).count();
        self.no_outcome += flagged(Flag::NoOutcome);
        self.extreme_value += flagged(Flag::ExtremeValue);
        self.ambiguous_class += flagged(Flag::AmbiguousClass);
        self.off_support += flagged(Flag::OffSupport);
        self.starts_disagree += flagged(Flag::StartsDisagree);
        self.not_identified += flagged(Flag::NotIdentified);
        self.extreme_answer += flagged(Flag::ExtremeAnswer);
        self.single_member += flagged(Flag::SingleMember);
    }

    /// Sets the counts of what was read.
    pub fn set_read(&mut self, summary: &ReadSummary) {
        self.rows = summary.rows;
        self.dropped = summary.dropped();
    }

    /// The flags that were raised, with the number of answers that have them.
    pub fn flags(&self) -> Vec<(Flag, usize)> {
        let flags = [
            (Flag::NoOutcome, self.no_outcome),
            (Flag::ExtremeValue, self.extreme_value),
            (Flag::AmbiguousClass, self.ambiguous_class),
            (Flag::OffSupport, self.off_support),
            (Flag::StartsDisagree, self.starts_disagree),
            (Flag::NotIdentified, self.not_identified),
            (Flag::ExtremeAnswer, self.extreme_answer),
            (Flag::SingleMember, self.single_member),
        ];
        flags.into_iter().filter(|(_, answers)| *answers > 0).collect()
    }
}
