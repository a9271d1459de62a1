//! `cfqp effect`: how much another treatment changes each unit, and on average.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{Ask, Asked, AverageEffect, Averages, Fitted, Tabulation, Units, write_sheets};

use super::AskArgs;
use super::flags::Flags;
use crate::args::{Show, finite};
use crate::error::Result;
use crate::files::{check_out, check_table};
use crate::output::Output;
use crate::progress::Counter;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::stream::Stream;
use crate::table::{count, counted, plain, shell, small, table};

const EXAMPLES: &str = "\
Examples:
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8 --out effects.parquet

FILE has the columns that the model was fitted on. The output has a row per unit (and time): id, t, \
from, to, effect_Y, lower_Y, upper_Y for every outcome Y, class, posterior_K, flag.
The interval of an average takes the errors of the model to be shared by all units, so that they do \
not average out, and adds what units differ by, divided by their number. Of a series, the mean over \
time is averaged.";

/// The effect of one treatment against another: per unit, and the average with its interval
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EffectArgs {
    /// The model
    model: PathBuf,
    /// The units: .csv, .parquet, .arrow or .npz
    file: PathBuf,
    /// The treatment to compare with; comma-separated where it has several dimensions
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true, required = true)]
    from: Vec<f32>,
    /// The treatment asked about
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true, required = true)]
    to: Vec<f32>,
    /// The file for the units' effects: .parquet, .csv, .arrow or .jsonl [default: none, averages only]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    out: Option<&'a Path>,
    from: &'a [f32],
    to: &'a [f32],
    averages: &'a [AverageEffect],
    #[serde(flatten)]
    flags: &'a Flags,
    #[serde(flatten)]
    ask: Ask,
    seconds: f64,
    peak_rss_mb: Option<f64>,
}

pub fn run(args: &EffectArgs, show: &Show) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    if let Some(out) = &args.out {
        check_out(out, args.force)?;
        check_table(out)?;
    }
    let fitted = Fitted::load(&args.model, &resources)?;
    let units = |name: &str, values: &[f32]| Units::new(name, vec![values.len()], values.to_vec());
    let (from, to) = (units("from", &args.from)?, units("to", &args.to)?);
    let start = Instant::now();
    let mut stream = Stream::open(&args.file, &fitted, None)?;
    let tabulation = Tabulation::new(&fitted);
    let (mut averages, mut flags) = (Averages::new(&fitted, ask.level), Flags::default());
    let counter = Counter::new(show, "effect");
    let mut sheets = stream.by_ref().map(|batch| {
        let part = batch?.part;
        let answers = fitted.effect(&part.data, &from, &to, &ask)?;
        averages.add(&answers);
        flags.add(&answers);
        counter.add(part.data.len());
        Ok(tabulation.sheet(&part, &Asked::Effect(&from, &to), &answers))
    });
    match &args.out {
        Some(out) => write_sheets(out, sheets).map(drop)?,
        None => sheets.try_for_each(|sheet: cfqp::Result<_>| sheet.map(drop))?,
    }
    drop(counter);
    flags.count(&stream.tally());
    let averages = averages.finish();
    let report = Report {
        out: args.out.as_deref(),
        from: &args.from,
        to: &args.to,
        averages: &averages,
        flags: &flags,
        ask,
        seconds: start.elapsed().as_secs_f64(),
        peak_rss_mb: peak_rss_mb(),
    };
    Output::new(text(&report), &report)
}

fn text(report: &Report<'_>) -> String {
    let list = |values: &[f32]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let units = counted(report.flags.units, "unit");
    let mut text = format!(
        "effect of {} against {} on {units}, with {}% intervals:\n",
        list(report.to),
        list(report.from),
        plain(100.0 * report.ask.level)
    );
    let mut rows = vec![["outcome", "group", "units", "effect", "lower", "upper"].map(String::from).to_vec()];
    for average in report.averages {
        // those without a flag are told only where there are others
        if average.group == "ok" && average.units == report.flags.units {
            continue;
        }
        rows.push(vec![
            average.outcome.clone(),
            average.group.clone(),
            count(average.units),
            small(average.effect),
            small(average.lower),
            small(average.upper),
        ]);
    }
    text += &table(&rows);
    text += &report.flags.text();
    text + &report.out.map_or(String::new(), |out| format!("wrote {}\n", shell(out)))
}
