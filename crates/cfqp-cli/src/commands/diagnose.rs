//! `cfqp diagnose`: can the answers be trusted?

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::{Fitted, Grade, Verdict};

use crate::args::Show;
use crate::error::Result;
use crate::load::read_for;
use crate::output::Output;
use crate::resources::ResourceArgs;
use crate::table::{counted, shell};

const EXAMPLES: &str = "\
Examples:
  cfqp diagnose model.cfqp patients.csv
  cfqp diagnose model.cfqp new-patients.parquet --level 0.95 --json

A verdict on each assumption: ok, doubtful or failed. Exit code 1 where one failed. What no data can \
check: that no hidden cause drives both treatment and outcome, and how much of the noise would have \
been the same (--rho of a query).";

/// Can I trust it? A verdict on each assumption, with its figure
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DiagnoseArgs {
    /// The model
    model: PathBuf,
    /// Units such as it was fitted on; best, others than those
    file: PathBuf,
    /// The level of the intervals that are checked
    #[arg(long, default_value_t = 0.9, value_name = "L", allow_negative_numbers = true)]
    level: f64,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    model: &'a Path,
    file: &'a Path,
    units: usize,
    ok: bool,
    verdicts: &'a [Verdict],
}

pub fn run(args: &DiagnoseArgs, show: &Show) -> Result<Output> {
    cfqp::Ask { level: args.level, ..cfqp::Ask::default() }.check()?;
    let fitted = Fitted::load(&args.model, &args.resources.resolve()?)?;
    let data = read_for(&args.file, &fitted, show)?;
    let verdicts = fitted.judge(&data, args.level)?;
    let worst = verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Ok);
    let ok = worst != Grade::Failed;
    let report = Report { model: &args.model, file: &args.file, units: data.len(), ok, verdicts: &verdicts };
    Ok(Output::new(text(&report, worst), &report)?.with_failure(!ok))
}

fn text(report: &Report<'_>, worst: Grade) -> String {
    let word = |grade: Grade| match grade {
        Grade::Ok => "ok",
        Grade::Doubtful => "doubtful",
        Grade::Failed => "failed",
    };
    let wide = report.verdicts.iter().map(|verdict| verdict.name.len()).max().unwrap_or(0);
    let mut text = format!("{} on {}\n", shell(report.model), counted(report.units, "unit"));
    for verdict in report.verdicts {
        let Verdict { name, sentence, .. } = verdict;
        text += &format!("  {:<8}  {name:<wide$}  {sentence}\n", word(verdict.grade));
    }
    text + match worst {
        Grade::Ok => "nothing that data can tell speaks against the answers\n",
        Grade::Doubtful => {
            "look at what is doubtful before you rely on the answers; flags tell which units it concerns\n"
        }
        Grade::Failed => "do not rely on the answers\n",
    }
}
