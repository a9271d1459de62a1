//! `cfqp report`: a report on a model and some units as one HTML file.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use cfqp::ask::Grade;
use cfqp::report::ReportSpec;
use cfqp::{AskOptions, Model, Rho, TableSpec};
use cfqp_html::{HtmlReport, PageSpec, Provenance, checksum};

use super::ask::{AskArgs, OutArgs, SourceArgs, parse_treatment};
use crate::args::OutputArgs;
use crate::columns::flag;
use crate::error::{Failure, Result};
use crate::files::write_text;
use crate::fit_command::{fit_command, study_settings};
use crate::format::{format_number, pluralise, shell_quote};
use crate::output::{Output, path_text};
use crate::progress::Counter;

const EXAMPLES: &str = "\
Examples:
  cfqp report model.cfqp patients.csv --out report.html
  cfqp report model.cfqp patients.csv --units 17,203 --from 0.3 --to 0.7 --out report.html
  cfqp report model.cfqp trial.csv --from A --to C --out report.html

The page is self-contained and can be printed. It begins with a summary: the average effect, who gains and who loses (by class and by \
the covariate whose subgroups differ most), the verdicts on this contrast, and for how many units there is no answer. Then come the \
question, the data with the balance of covariates before and after weighting, a verdict on each assumption, the classes, \
outcomes by treatment, effects, single units, and how to reproduce it. Average effects stand beside plain estimates of the same \
contrast, as in cfqp effect. For a large file it is based on an even sample, which the summary says. --json prints the same numbers.";

/// Write a self-contained HTML report
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("out", |arg| arg.help("The page to write").value_name("FILE.html")))]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    out: OutArgs,
    /// The ids of the single units to show, comma-separated [default: typical and flagged units]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    units: Vec<String>,
    /// The low treatment, or a level; of several treatments 0.5,A or dose=0.5,drug=A [default: the 10th percentile,
    /// the lower of two values, or a frequent level]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    from: Option<String>,
    /// The high treatment, or another level [default: the 90th percentile, the higher of two values, or another frequent
    /// level]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    to: Option<String>,
    #[command(flatten)]
    ask: AskArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(serialize_with = "path_text")]
    out: &'a Path,
    #[serde(serialize_with = "path_text")]
    model_file: &'a Path,
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    #[serde(flatten)]
    page: &'a HtmlReport,
}

pub(super) fn run(args: &ReportArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let out = args.out.resolve(&args.source.files())?;
    let SourceArgs { model, file } = &args.source;
    let bytes = std::fs::read(model).map_err(|error| Failure::io(model, error))?;
    let fitted = Model::load(model, &settings.resources)?;
    let parse = |flag: &str, text: &Option<String>| {
        text.as_ref().map(|text| parse_treatment(flag, text, &fitted)).transpose()
    };
    let (from, to) = (parse("--from", &args.from)?, parse("--to", &args.to)?);
    let spec = PageSpec {
        question: ReportSpec { from, to, ask: settings.ask },
        units: &args.units,
        model: &model.display().to_string(),
        data: &file.display().to_string(),
        checksum: checksum(&bytes),
        provenance: provenance(args, out, &settings.ask, &fitted),
    };
    let counter = Counter::new(output, "report");
    let page = HtmlReport::new(&fitted, fitted.read_observed_units(file)?, &spec, &counter)?;
    drop(counter);
    let question = &page.report.question;
    if question.from == question.to && !output.quiet {
        eprintln!("warning: the low and the high treatment are equal: choose two with --from and --to");
    }
    write_text(out, &page.html)?;
    let written = Written { out, model_file: model, file, page: &page };
    Output::new(text(&written), &written)
}

fn text(written: &Written<'_>) -> String {
    let Written { out, page, .. } = written;
    let grades = |grade: Grade| page.report.verdicts.iter().filter(|verdict| verdict.grade == grade).count();
    format!(
        "{}, {} shown individually; assumptions: {} ok, {} doubtful, {} failed\nrho: {}\nwrote {} ({} kB)\n",
        pluralise(page.units_in_file, "unit"),
        page.report.units.len(),
        grades(Grade::Ok),
        grades(Grade::Doubtful),
        grades(Grade::Failed),
        page.report.question.rho,
        shell_quote(out),
        page.html.len().div_ceil(1000),
    )
}

/// The commands that make the same page, and the same model.
fn provenance(args: &ReportArgs, out: &Path, ask: &AskOptions, model: &Model) -> Provenance {
    let (data, spec) = match model.layout() {
        Some(layout) => ("DATA", layout.spec()),
        None => ("DATA.npz", TableSpec::default()),
    };
    Provenance::Program {
        report: command_line(args, out, ask),
        fit: fit_command(Path::new(data), &spec, model.config(), None, &args.source.model),
        study_settings: study_settings(model.config()),
    }
}

/// The command that makes the same page again.
fn command_line(args: &ReportArgs, out: &Path, ask: &AskOptions) -> String {
    let mut words =
        vec![format!("cfqp report {} {}", shell_quote(&args.source.model), shell_quote(&args.source.file))];
    if !args.units.is_empty() {
        words.push(format!("--units {}", shell_quote(Path::new(&args.units.join(",")))));
    }
    words.extend(args.from.as_ref().map(|from| flag("from", from)));
    words.extend(args.to.as_ref().map(|to| flag("to", to)));
    if let Rho::Given(rho) = ask.rho {
        words.push(format!("--rho {rho}"));
    }
    if ask.level != 0.9 {
        words.push(format!("--level {}", format_number(ask.level)));
    }
    words.push(format!("--out {}", shell_quote(out)));
    words.join(" ")
}
