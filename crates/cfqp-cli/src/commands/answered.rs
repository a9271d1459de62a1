//! Counts of answers, their flags, and units that were not used.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use cfqp::Answers;
use cfqp::ask::{Diagnosis, Flag, UnitsQuestion, UsedRho};
use cfqp::data::table::{DroppedUnits, ReadSummary, UnitBatch};

use crate::args::OutputArgs;
use crate::error::Result;
use crate::format::{count_dropped, format_count, pluralise, shell_quote};
use crate::output::path_text;
use crate::progress::Counter;

/// Answers `question` batch by batch with a progress display, and writes a table if there is an output file.
pub(super) fn write_answers(
    question: UnitsQuestion<'_>,
    out: Option<&Path>,
    name: &str,
    output: &OutputArgs,
) -> Result<AnswerCounts> {
    write_answers_with(question, out, name, output, |_, _| Ok(()))
}

/// As [`write_answers`], calling `inspect` with the units and answers of every batch.
pub(super) fn write_answers_with(
    question: UnitsQuestion<'_>,
    out: Option<&Path>,
    name: &str,
    output: &OutputArgs,
    mut inspect: impl FnMut(&UnitBatch, &Answers) -> Result<()>,
) -> Result<AnswerCounts> {
    let (mut counts, mut inspected) = (AnswerCounts::default(), Ok(()));
    let counter = Counter::new(output, name);
    let question = question.monitor(&counter).inspect(|units, answers| {
        counts.add_repeated(answers, units.data.len());
        counter.add(units.data.len());
        if inspected.is_ok() {
            inspected = inspect(units, answers);
        }
    });
    let summary = match out {
        Some(out) => question.write(out)?,
        None => question.run()?,
    };
    inspected?;
    counts.set_read(&summary);
    Ok(counts)
}

/// Counts over all answers.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct AnswerCounts {
    /// Units asked about.
    pub units: usize,
    pub answers: usize,
    /// Answers without flags.
    pub ok: usize,
    pub no_outcome: usize,
    pub extreme_value: usize,
    pub ambiguous_class: usize,
    pub off_support: usize,
    pub starts_disagree: usize,
    /// Rows of the file.
    pub rows: usize,
    pub dropped: Vec<DroppedUnits>,
}

/// The JSON of a command that writes answers.
#[derive(Serialize)]
pub(super) struct Answered<'a> {
    #[serde(serialize_with = "path_text")]
    pub out: &'a Path,
    #[serde(flatten)]
    pub counts: &'a AnswerCounts,
    #[serde(flatten)]
    pub rho: UsedRho,
    pub level: f64,
    pub query_seconds: f64,
    pub peak_rss_mb: Option<f64>,
}

impl Answered<'_> {
    /// The text for the terminal.
    pub(super) fn text(&self) -> String {
        let AnswerCounts { units, answers, ok, .. } = self.counts;
        format!(
            "{} in {:.2} s; {} of {} without warnings\nrho: {}\n{}wrote {}\n",
            pluralise(*units, "unit"),
            self.query_seconds,
            format_count(*ok),
            pluralise(*answers, "answer"),
            self.rho,
            self.counts.text(),
            shell_quote(self.out)
        )
    }
}

impl AnswerCounts {
    /// Adds answers, one per unit.
    pub(super) fn add(&mut self, answers: &Answers) {
        self.add_repeated(answers, answers.diagnoses.len());
    }

    /// Adds several answers for each of `units` units.
    pub(super) fn add_repeated(&mut self, answers: &Answers, units: usize) {
        let flagged = |flag: Flag| answers.diagnoses.iter().filter(|diagnosis| diagnosis.has(flag)).count();
        self.units += units;
        self.answers += answers.diagnoses.len();
        self.ok += answers.diagnoses.iter().filter(|diagnosis| Diagnosis::ok(diagnosis)).count();
        self.no_outcome += flagged(Flag::NoOutcome);
        self.extreme_value += flagged(Flag::ExtremeValue);
        self.ambiguous_class += flagged(Flag::AmbiguousClass);
        self.off_support += flagged(Flag::OffSupport);
        self.starts_disagree += flagged(Flag::StartsDisagree);
    }

    /// Sets the counts of what was read.
    pub(super) fn set_read(&mut self, summary: &ReadSummary) {
        self.rows = summary.rows;
        self.dropped = summary.dropped();
    }

    /// A line for every flag that was raised and every reason why units were not used.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let flags = [
            (self.no_outcome, Flag::NoOutcome),
            (self.extreme_value, Flag::ExtremeValue),
            (self.ambiguous_class, Flag::AmbiguousClass),
            (self.off_support, Flag::OffSupport),
            (self.starts_disagree, Flag::StartsDisagree),
        ];
        for (number, flag) in flags.into_iter().filter(|(number, _)| *number > 0) {
            let _ = writeln!(text, "  {:>7} {flag}: {}", format_count(number), flag.description());
        }
        for dropped in &self.dropped {
            let units = count_dropped(dropped);
            let _ = writeln!(text, "  {units} not used: {} (first: {})", dropped.reason, dropped.first);
        }
        text
    }
}
