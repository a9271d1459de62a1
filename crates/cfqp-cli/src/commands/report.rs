//! `cfqp report`: a report on a model and some units as one HTML file.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use cfqp::ask::{Grade, StreamBatch};
use cfqp::data::table::{DroppedUnits, UnitBatch};
use cfqp::report::{Report, ReportSpec};
use cfqp::{AskOptions, Model, Rho};

use super::ask::{AskArgs, OutArgs, SourceArgs, parse_treatment};
use super::even_sample::EvenSample;
use crate::args::OutputArgs;
use crate::columns::flag;
use crate::error::{Failure, Result};
use crate::files::write_text;
use crate::format::{format_number, pluralise, shell_quote};
use crate::html::Page;
use crate::interrupt;
use crate::load::read_all;
use crate::output::{Output, path_text};
use crate::progress::Counter;

/// The maximum size of the sample of units; of larger files, every second, fourth, ... unit is used.
const MAX_SAMPLE: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  cfqp report model.cfqp patients.csv --out report.html
  cfqp report model.cfqp patients.csv --units 17,203 --from 0.3 --to 0.7 --out report.html
  cfqp report model.cfqp trial.csv --from A --to C --out report.html

The page is self-contained and can be printed. It has the question, the data, a verdict on each assumption, \
the classes, dose-response curves, effects, single units, and how to reproduce it. Average effects stand beside \
plain estimates of the same contrast, as in cfqp effect. For a large file it is based on an even sample. --json prints the same numbers.";

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
    rows: usize,
    units_in_file: usize,
    dropped: &'a [DroppedUnits],
    #[serde(flatten)]
    report: &'a Report,
}

/// An even sample of the units of a file, and those asked for.
struct Sampled {
    sample: UnitBatch,
    chosen: Option<StreamBatch>,
    units: usize,
    rows: usize,
    dropped: Vec<DroppedUnits>,
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
    let sampled = sample_units(args, &fitted, output)?;
    let spec = ReportSpec { from, to, ask: settings.ask };
    let report = Report::new(&fitted, &sampled.sample, sampled.chosen.as_ref(), &spec)?;
    if report.question.from == report.question.to && !output.quiet {
        eprintln!("warning: the low and the high treatment are equal: choose two with --from and --to");
    }
    let page = Page {
        report: &report,
        model,
        file,
        units: sampled.units,
        dropped: &sampled.dropped,
        command: &command_line(args, out, &settings.ask),
        checksum: checksum(&bytes),
    };
    let html = page.html();
    write_text(out, &html)?;
    let written = Written {
        out,
        model_file: model,
        file,
        rows: sampled.rows,
        units_in_file: sampled.units,
        dropped: &sampled.dropped,
        report: &report,
    };
    Output::new(text(&written, html.len()), &written)
}

/// The CRC-32 of a file.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

fn text(written: &Written<'_>, bytes: usize) -> String {
    let grades =
        |grade: Grade| written.report.verdicts.iter().filter(|verdict| verdict.grade == grade).count();
    format!(
        "{}, {} shown individually; assumptions: {} ok, {} doubtful, {} failed\nrho: {}\nwrote {} ({} kB)\n",
        pluralise(written.units_in_file, "unit"),
        written.report.units.len(),
        grades(Grade::Ok),
        grades(Grade::Doubtful),
        grades(Grade::Failed),
        written.report.question.rho,
        shell_quote(written.out),
        bytes.div_ceil(1000),
    )
}

/// Reads all units and keeps an even sample.
fn sample_units(args: &ReportArgs, fitted: &Model, output: &OutputArgs) -> Result<Sampled> {
    let file = &args.source.file;
    let chosen = read_chosen(fitted, file, &args.units)?;
    let mut stream = fitted.read_observed_units(file)?;
    let counter = Counter::new(output, "report");
    let mut sample = EvenSample::new(MAX_SAMPLE);
    for batch in stream.by_ref() {
        if interrupt::stopped() {
            return Err(cfqp::Error::Interrupted.into());
        }
        let part = batch?.units;
        counter.add(part.data.len());
        sample.add(&part)?;
    }
    let tally = stream.summary();
    let units = sample.units();
    let Some(sample) = sample.finish()? else {
        let message = format!("{}: the model cannot be asked about any of these units", file.display());
        let hint = "to see why, run: cfqp query MODEL FILE --treatment T --out answers.csv";
        return Err(Failure::new(message, hint));
    };
    Ok(Sampled { sample, chosen, units, rows: tally.rows, dropped: tally.dropped() })
}

/// The units with these ids, in that order; all of them must exist.
fn read_chosen(fitted: &Model, file: &Path, ids: &[String]) -> Result<Option<StreamBatch>> {
    if ids.is_empty() {
        return Ok(None);
    }
    let found = read_all(&mut fitted.read_observed_units(file)?.only(ids), file)?;
    let known = &found.units.ids;
    let position = |id: &String| (0..known.len()).find(|&i| known.text(i) == id.trim());
    let asked = ids.iter().filter_map(position).collect();
    Ok(Some(StreamBatch { asked: Some(asked), ..found }))
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
