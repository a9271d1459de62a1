//! `cfqp diagnose`: checks the assumptions behind the answers.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use cfqp::Model;
use cfqp::ask::{Grade, Verdict};
use cfqp::data::Warning;

use super::ask::SourceArgs;
use crate::args::OutputArgs;
use crate::error::Result;
use crate::format::{pluralise, shell_quote};
use crate::load::read_units;
use crate::output::Output;
use crate::resources::ResourceArgs;

const EXAMPLES: &str = "\
Examples:
  cfqp diagnose model.cfqp patients.csv
  cfqp diagnose model.cfqp new-patients.parquet --level 0.95 --json

Each assumption is graded ok, doubtful or failed, or not tested if the fit tried nothing else. The exit code \
is 1 if one failed. Agreement with plain estimates compares the average effect between the quartiles of the \
treatment (or its two most frequent levels) with a doubly robust estimate; a disagreement comes first. No data can check that \
no hidden cause affects both treatment and outcome, nor how much of the noise would have been the same \
(--rho of a query).";

const FILE_HELP: &str = "Units like those the model was fitted to, ideally others";

/// Check whether the answers can be trusted: a verdict on each assumption
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("file", |arg| arg.help(FILE_HELP)))]
pub(crate) struct DiagnoseArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The level of the intervals to check
    #[arg(long, default_value_t = 0.9, value_name = "L", allow_negative_numbers = true)]
    level: f64,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    model: &'a Path,
    file: &'a Path,
    units: usize,
    ok: bool,
    verdicts: &'a [Verdict],
    /// What makes the data unsuitable, however well the assumptions hold.
    warnings: Vec<Warning>,
}

pub(super) fn run(args: &DiagnoseArgs, output: &OutputArgs) -> Result<Output> {
    cfqp::AskOptions { level: args.level, ..cfqp::AskOptions::default() }.validate()?;
    let SourceArgs { model, file } = &args.source;
    let fitted = Model::load(model, &args.resources.resolve()?)?;
    let data = read_units(file, &fitted, output)?;
    let verdicts = fitted.verdicts(&data, args.level)?;
    let worst = verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Ok);
    let ok = worst != Grade::Failed;
    let warnings = Warning::find(&data, fitted.layout());
    let report = Report { model, file, units: data.len(), ok, verdicts: &verdicts, warnings };
    Ok(Output::new(text(&report, worst), &report)?.with_failure(!ok))
}

fn text(report: &Report<'_>, worst: Grade) -> String {
    let wide = report.verdicts.iter().map(|verdict| verdict.assumption.name().len()).max().unwrap_or(0);
    let mut text = format!("{} on {}\n", shell_quote(report.model), pluralise(report.units, "unit"));
    for verdict in report.verdicts {
        let (name, sentence) = (verdict.assumption.name(), &verdict.sentence);
        text += &format!("  {:<10}  {name:<wide$}  {sentence}\n", verdict.grade.name());
    }
    report.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    text + match worst {
        Grade::NotTested | Grade::Ok if !report.warnings.is_empty() => {
            "no assumption is in doubt; mind the warnings\n"
        }
        Grade::NotTested | Grade::Ok => "no problems found\n",
        Grade::Doubtful => {
            "some assumptions are doubtful: check them before you rely on the answers; flags mark the units concerned\n"
        }
        Grade::Failed => "do not rely on the answers\n",
    }
}
