//! `cfqp query`: what units would have shown under other treatments.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use cfqp::{Ask, Asked, Dataset, Fitted, Format, Ids, Tabulation, Units, write_sheets};

use super::arrays::{write_answers, write_curves};
use super::flags::{Answered, Flags};
use super::grid::Grid;
use super::{AskArgs, curve};
use crate::args::{Show, finite};
use crate::error::{Failure, Result};
use crate::files::check_out;
use crate::output::Output;
use crate::progress::Counter;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::stream::{Batch, Stream};

const EXAMPLES: &str = "\
Examples:
  cfqp query model.cfqp patients.csv --treatment 0.8 --out answers.parquet
  cfqp query model.cfqp patients.csv --treatment-from planned_dose --out answers.csv
  cfqp query model.cfqp data.npz --treatment-from t_new --rho 0 --out answers.npz
  cfqp query model.cfqp data.npz --grid 0.2:1:9 --level 0.95 --out curves.npz

FILE has the columns that the model was fitted on: it remembers them, so no flags are needed. A table \
is read and answered part by part: its length does not matter, if the rows of a unit stand together.
The output as .parquet, .csv, .arrow or .jsonl has a row per unit (and time): id, t, t_new, every \
outcome Y with lower_Y and upper_Y, class, posterior_K and flag: ok, or what speaks against the \
answer: ambiguous_class, off_support, starts_disagree.
As .npz: answer, lower and upper [n, ...], posterior [n, classes], class, entropy, t_new, the flags, \
and id where ids are whole numbers;
with --grid: answer, lower, upper [n, N, ...], off_support, starts_disagree [n, N], and grid.";

/// Answer: what would each unit have shown under another treatment?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryArgs {
    /// The model
    model: PathBuf,
    /// The units, with their x, t and y: .csv, .parquet, .arrow or .npz
    file: PathBuf,
    #[command(flatten)]
    what: What,
    /// The file to write: .parquet, .csv, .arrow, .jsonl or .npz
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// The treatment asked about, for all units; comma-separated where it has several dimensions
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    treatment: Vec<f32>,
    /// A column (or, in an .npz file, an array) of FILE with a treatment for each unit
    #[arg(long, value_name = "COL")]
    treatment_from: Option<String>,
    /// N treatments from LO to HI, each for all units: a dose curve
    #[arg(long, value_name = "LO:HI:N", allow_hyphen_values = true)]
    grid: Option<Grid>,
}

pub fn run(args: &QueryArgs, show: &Show) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    check_out(&args.out, args.force)?;
    let format = Format::of_output(&args.out)?;
    let fitted = Fitted::load(&args.model, &resources)?;
    let grid = args.what.grid.map(|grid| grid.resolve(&fitted)).transpose()?;
    let stream = Stream::open(&args.file, &fitted, args.what.treatment_from.as_deref())?;
    let start = Instant::now();
    let to = || Units::new("treatment", vec![args.what.treatment.len()], args.what.treatment.clone());
    let flags = match (format, &grid) {
        (Format::Npz, None) => arrays(args, stream, &fitted, &ask, to)?,
        (Format::Npz, Some(grid)) => curves(args, stream, &fitted, &ask, grid)?,
        (_, None) => rows(args, stream, &fitted, &ask, to, show)?,
        (_, Some(grid)) => curve::write(&args.out, stream, &fitted, grid, &ask, show)?,
    };
    let (query_seconds, peak_rss_mb) = (start.elapsed().as_secs_f64(), peak_rss_mb());
    let report = Answered { out: &args.out, flags: &flags, ask, query_seconds, peak_rss_mb };
    Output::new(report.text(","), &report)
}

/// A row per unit, part by part.
fn rows(
    args: &QueryArgs,
    mut stream: Stream,
    fitted: &Fitted,
    ask: &Ask,
    to: impl Fn() -> cfqp::Result<Units>,
    show: &Show,
) -> Result<Flags> {
    let tabulation = Tabulation::new(fitted);
    let mut flags = Flags::default();
    let counter = Counter::new(show, "query");
    let sheets = stream.by_ref().map(|batch| {
        let Batch { part, to: own } = batch?;
        let to = own.map_or_else(&to, Ok)?;
        let answers = fitted.query(&part.data, &to, ask)?;
        flags.add(&answers);
        counter.add(part.data.len());
        Ok(tabulation.sheet(&part, &Asked::Outcome(&to), &answers))
    });
    write_sheets(&args.out, sheets)?;
    flags.count(&stream.tally());
    Ok(flags)
}

/// All units at once, for arrays.
fn whole(stream: &mut Stream) -> Result<(Dataset, Option<Units>, Option<Vec<i64>>)> {
    let batches = stream.collect::<cfqp::Result<Vec<Batch>>>()?;
    let data = Dataset::concat(&batches.iter().map(|batch| &batch.part.data).collect::<Vec<_>>())?;
    let own: Option<Vec<&Units>> = batches.iter().map(|batch| batch.to.as_ref()).collect();
    let own = own.filter(|own| !own.is_empty()).map(|own| {
        let values = own.iter().flat_map(|to| to.values()).copied().collect();
        Units::new("treatment", own[0].shape().to_vec(), values)
    });
    // an array holds no texts; a file of arrays has no ids
    let ids = batches.iter().flat_map(|batch| {
        let ids = &batch.part.ids;
        let id = |i| if matches!(ids, Ids::Rows(_)) { None } else { ids.text(i).parse::<i64>().ok() };
        (0..ids.len()).map(id)
    });
    let ids = ids.collect();
    Ok((data, own.transpose()?, ids))
}

fn arrays(
    args: &QueryArgs,
    mut stream: Stream,
    fitted: &Fitted,
    ask: &Ask,
    to: impl Fn() -> cfqp::Result<Units>,
) -> Result<Flags> {
    let (data, own, ids) = whole(&mut stream)?;
    let to = own.map_or_else(to, Ok)?;
    let answers = fitted.query(&data, &to, ask)?;
    write_answers(&args.out, &answers, &repeat(&to, data.len())?, ids.as_deref())?;
    let mut flags = Flags::default();
    flags.add(&answers);
    flags.count(&stream.tally());
    Ok(flags)
}

fn curves(args: &QueryArgs, mut stream: Stream, fitted: &Fitted, ask: &Ask, grid: &Units) -> Result<Flags> {
    let (data, _, _) = whole(&mut stream)?;
    check_size(grid.len(), data.len(), fitted.shapes().y.iter().product())?;
    let answers = fitted.curve(&data, grid, ask)?;
    write_curves(&args.out, &answers, grid)?;
    let mut flags = Flags::default();
    answers.iter().for_each(|answers| flags.add_for(answers, 0));
    flags.units = data.len();
    flags.count(&stream.tally());
    Ok(flags)
}

/// The curves of all units are held at once.
fn check_size(steps: usize, units: usize, each: usize) -> Result<()> {
    const MOST: usize = 1 << 30;
    let numbers = steps.saturating_mul(units).saturating_mul(each);
    if numbers <= MOST {
        return Ok(());
    }
    let message = format!("grid: {steps} outcomes of {units} units are {numbers} numbers");
    let hint = format!("write a .parquet file, or ask for fewer steps: arrays have {MOST} numbers at most");
    Err(Failure::new(message, hint))
}

/// One treatment per unit.
fn repeat(to: &Units, n: usize) -> cfqp::Result<Units> {
    if to.len() == n {
        return Ok(to.clone());
    }
    Units::new("t_new", to.shape().to_vec(), to.values().repeat(n))
}
