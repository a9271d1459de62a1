//! Counts of answers, their flags, and units that were not used.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use cfqp::Answers;
use cfqp::ask::{AnswerCounts, UnitsQuestion, UsedRho};
use cfqp::data::table::UnitBatch;

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
    mut inspect: impl FnMut(&UnitBatch, &Answers) -> cfqp::Result<()>,
) -> Result<AnswerCounts> {
    let (mut counts, mut inspected) = (AnswerCounts::default(), Ok(()));
    let counter = Counter::new(output, name);
    let question = question.monitor(&counter).inspect(|units, answers| {
        counts.add_repeated(answers, units.data.len());
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
            counts_text(self.counts),
            shell_quote(self.out)
        )
    }
}

/// A line for every flag that was raised and every reason why units were not used.
pub(super) fn counts_text(counts: &AnswerCounts) -> String {
    let mut text = String::new();
    for (flag, answers) in counts.flags() {
        let _ = writeln!(text, "  {:>7} {flag}: {}", format_count(answers), flag.description());
    }
    for dropped in &counts.dropped {
        let units = count_dropped(dropped);
        let _ = writeln!(text, "  {units} not used: {} (first: {})", dropped.reason, dropped.first);
    }
    text
}
