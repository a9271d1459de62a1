//! `cfqp diagnose`: checks the assumptions behind the answers.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use cfqp::Model;
use cfqp::ask::{Grade, Trust};

use super::ask::{AskArgs, SourceArgs, parse_treatment};
use crate::args::OutputArgs;
use crate::error::Result;
use crate::format::{pluralise, shell_quote};
use crate::load::read_units;
use crate::output::{Output, path_text};

const EXAMPLES: &str = "\
Examples:
  cfqp diagnose model.cfqp patients.csv
  cfqp diagnose model.cfqp patients.csv --from 0.5 --to 0.8
  cfqp diagnose model.cfqp new-patients.parquet --level 0.95 --json

Each assumption is graded ok, doubtful or failed, or not tested if the fit tried nothing else. The exit code \
is 1 if one failed. With --from and --to, overlap, identification and agreement with plain estimates are about this \
contrast; otherwise about treatments from the 10th to the 90th percentile, and the quartiles of the treatment (or its most \
frequent levels). Overlap asks whether similar units received both treatments; identification, of several classes, whether the \
data show which class under one treatment is which under the other. \
Agreement compares the mean of the units' effects with a doubly robust average; a disagreement comes first. No data can check that \
no hidden cause affects both treatment and outcome. How much of the noise would have been the same (--rho) \
can be learned from subjects seen more than once only. Observed outcomes are compared with intervals with \
fresh noise, whatever --rho is.";

const FILE_HELP: &str = "Units like those the model was fitted to, ideally others";

/// Check whether the answers can be trusted: a verdict on each assumption
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("file", |arg| arg.help(FILE_HELP)))]
#[command(mut_arg("level", |arg| arg.help("The level of the intervals to check")))]
pub(crate) struct DiagnoseArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The reference treatment of a contrast to judge: a number or a level; of several treatments 0.5,A or dose=0.5,drug=A
    #[arg(long, value_name = "T", allow_negative_numbers = true, requires = "to")]
    from: Option<String>,
    /// The treatment to compare with it
    #[arg(long, value_name = "T", allow_negative_numbers = true, requires = "from")]
    to: Option<String>,
    #[command(flatten)]
    ask: AskArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "path_text")]
    model: &'a Path,
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    #[serde(flatten)]
    trust: &'a Trust,
}

pub(super) fn run(args: &DiagnoseArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let SourceArgs { model, file } = &args.source;
    let fitted = Model::load(model, &settings.resources)?;
    let contrast = match (&args.from, &args.to) {
        (Some(from), Some(to)) => {
            Some([parse_treatment("--from", from, &fitted)?, parse_treatment("--to", to, &fitted)?])
        }
        _ => None,
    };
    let data = read_units(fitted.read_observed_units(file)?, file, output)?;
    let ends = contrast.as_ref().map(|[from, to]| [&from[..], &to[..]]);
    let trust = fitted.trust(&data, ends, settings.ask)?;
    let report = Report { model, file, trust: &trust };
    let contrast = contrast.map(|ends| ends.map(|t| fitted.treatment_text(&t, |value| value.to_string())));
    Ok(Output::new(text(model, contrast.as_ref(), &trust), &report)?.with_failure(!trust.ok))
}

fn text(model: &Path, contrast: Option<&[String; 2]>, trust: &Trust) -> String {
    let wide = trust.verdicts.iter().map(|verdict| verdict.assumption.name().len()).max().unwrap_or(0);
    let units = pluralise(trust.units, "unit");
    let mut text = format!("{} on {units}\n", shell_quote(model));
    if let Some([from, to]) = contrast {
        text += &format!("effect of {to} against {from}\n");
    }
    text += &format!("rho: {}\n", trust.rho);
    for verdict in &trust.verdicts {
        let (name, sentence) = (verdict.assumption.name(), &verdict.sentence);
        text += &format!("  {:<10}  {name:<wide$}  {sentence}\n", verdict.grade.name());
    }
    trust.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    text + match trust.worst() {
        Grade::NotTested | Grade::Ok if !trust.warnings.is_empty() => {
            "no assumption is in doubt; mind the warnings\n"
        }
        Grade::NotTested | Grade::Ok => "no problems found\n",
        Grade::Doubtful => {
            "some assumptions are doubtful: check them before you rely on the answers; flags mark the units concerned\n"
        }
        Grade::Failed => "do not rely on the answers\n",
    }
}
