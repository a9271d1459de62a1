//! How many answers something speaks against, and how many units were not asked about.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use cfqp::{Answers, Ask, Diagnosis, Dropped, Tally};

use crate::table::{count, counted, shell};

/// Counts over all answers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flags {
    /// Units asked about.
    pub units: usize,
    pub answers: usize,
    pub ok: usize,
    pub ambiguous_class: usize,
    pub off_support: usize,
    pub starts_disagree: usize,
    /// Rows of the file.
    pub rows: usize,
    pub dropped: Vec<Dropped>,
}

/// What a command that writes answers prints with `--json`.
#[derive(Serialize)]
pub struct Answered<'a> {
    pub out: &'a Path,
    #[serde(flatten)]
    pub flags: &'a Flags,
    #[serde(flatten)]
    pub ask: Ask,
    pub query_seconds: f64,
    pub peak_rss_mb: Option<f64>,
}

impl Answered<'_> {
    /// For people; `each` follows the number of units.
    pub fn text(&self, each: &str) -> String {
        format!(
            "{}{each} {} in {:.2} s; nothing speaks against {}\n{}wrote {}\n",
            counted(self.flags.units, "unit"),
            counted(self.flags.answers, "answer"),
            self.query_seconds,
            count(self.flags.ok),
            self.flags.text(),
            shell(self.out)
        )
    }
}

impl Flags {
    /// Count some answers, one per unit.
    pub fn add(&mut self, answers: &Answers) {
        self.add_for(answers, answers.diagnoses.len());
    }

    /// Count some answers of so many units.
    pub fn add_for(&mut self, answers: &Answers, units: usize) {
        let number = |flag: fn(&Diagnosis) -> bool| answers.diagnoses.iter().filter(|d| flag(d)).count();
        self.units += units;
        self.answers += answers.diagnoses.len();
        self.ok += number(Diagnosis::ok);
        self.ambiguous_class += number(|d| d.ambiguous_class);
        self.off_support += number(|d| d.off_support);
        self.starts_disagree += number(|d| d.starts_disagree);
    }

    /// What was read.
    pub fn count(&mut self, tally: &Tally) {
        self.rows = tally.rows;
        self.dropped = tally.dropped();
    }

    /// What speaks against answers, a line each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let flags = [
            (self.ambiguous_class, "ambiguous_class: no class is clearly the most probable"),
            (self.off_support, "off_support: no such treatment was seen near this unit's covariates"),
            (self.starts_disagree, "starts_disagree: another solution fits as well and answers otherwise"),
        ];
        for (number, meaning) in flags.into_iter().filter(|(number, _)| *number > 0) {
            let _ = writeln!(text, "  {:>7} flagged {meaning}", count(number));
        }
        for dropped in &self.dropped {
            let units = counted(dropped.units, "unit");
            let _ = writeln!(text, "  {units} not asked about: {} (first: {})", dropped.why, dropped.first);
        }
        text
    }
}
