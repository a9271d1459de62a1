//! `cfqp curve`: dose-response curves of units.

use std::time::Instant;

use clap::Args;

use cfqp::Model;
use cfqp::ask::CurveSpec;

use super::answered::{Answered, write_answers};
use super::ask::{AskArgs, BoundArgs, OutArgs, SourceArgs};
use super::grid::Grid;
use crate::args::OutputArgs;
use crate::error::Result;
use crate::files::check_table;
use crate::output::Output;
use crate::resources::peak_rss_mb;

const EXAMPLES: &str = "\
Examples:
  cfqp curve model.cfqp patients.csv --grid 0.2:1:17 --units 17,203 --out curves.csv
  cfqp curve model.cfqp patients.csv --grid 0.2:1:9 --out curves.parquet
  cfqp curve model.cfqp trial.csv --out answers_per_drug.csv
  cfqp curve model.cfqp trial.csv --over dose --hold drug=B --grid 0.2:1:9 --out b.csv
  cfqp curve model.cfqp new.csv --grid 0.2:1:9 --out curves.csv    # no dose, no outcome yet

The output has one row per unit and treatment (and time): id, t, t_new, every outcome Y with lower_Y \
and upper_Y, class, posterior_K, flag, rho, rho_source.
Units without an outcome (empty cells, or no such column) have the mean curve of the classes, by their weights, and are \
flagged no_outcome. They need no treatment.";

/// Dose-response curves: the outcomes of units at every treatment of a grid
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("out", |arg| arg.help("The file to write: .parquet, .csv, .arrow or .jsonl")))]
pub(crate) struct CurveArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// N treatments from LO to HI; leave it out for a treatment with levels: one answer per level
    #[arg(long, value_name = "LO:HI:N", allow_hyphen_values = true)]
    grid: Option<Grid>,
    /// The treatment that varies, if there are several [default: the only one of numbers with --grid, the only one with levels
    /// without]
    #[arg(long, value_name = "COL")]
    over: Option<String>,
    /// The values of other treatments: drug=B, comma-separated [default: what each unit received]
    #[arg(long, value_name = "COL=T")]
    hold: Option<String>,
    /// The ids of the units, comma-separated [default: all]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    units: Vec<String>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    bounds: BoundArgs,
}

pub(super) fn run(args: &CurveArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let out = args.out.resolve(&args.source.files())?;
    check_table(out)?;
    let model = Model::load(&args.source.model, &settings.resources)?;
    let amounts = args.grid.map(|grid| grid.amounts());
    let (over, held) = (args.over.as_deref(), args.hold.as_deref());
    let grid = model.curve_grid(&CurveSpec { over, amounts: amounts.as_deref(), held })?;
    let start = Instant::now();
    let question = model.ask_units(&args.source.file).curve(&grid).only(&args.units).options(settings.ask);
    let question = question.rho_bounds(args.bounds.rho_bounds);
    let counts = write_answers(question, Some(out), "curve", output)?;
    let (query_seconds, peak_rss_mb) = (start.elapsed().as_secs_f64(), peak_rss_mb());
    let (rho, level) = (model.used_rho(settings.ask.rho), settings.ask.level);
    let report = Answered { out, counts: &counts, rho, level, query_seconds, peak_rss_mb };
    Output::new(report.text(), &report)
}
