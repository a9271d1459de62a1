//! `cfqp curve`: what units would have shown under every treatment of a grid.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use cfqp::{Ask, Asked, Fitted, Tabulation, Units, repeat_over, write_sheets};

use super::AskArgs;
use super::flags::{Answered, Flags};
use super::grid::Grid;
use crate::args::Show;
use crate::error::Result;
use crate::files::{check_out, check_table};
use crate::output::Output;
use crate::progress::Counter;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::stream::Stream;

const EXAMPLES: &str = "\
Examples:
  cfqp curve model.cfqp patients.csv --grid 0.2:1:17 --units 17,203 --out curves.csv
  cfqp curve model.cfqp patients.csv --grid 0.2:1:9 --out curves.parquet

The output has a row per unit and treatment (and time): id, t, t_new, every outcome Y with lower_Y \
and upper_Y, class, posterior_K, flag.";

/// Dose curves: what units would have shown under each treatment of a grid
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CurveArgs {
    /// The model
    model: PathBuf,
    /// The units: .csv, .parquet, .arrow or .npz
    file: PathBuf,
    /// N treatments from LO to HI
    #[arg(long, value_name = "LO:HI:N", allow_hyphen_values = true)]
    grid: Grid,
    /// The ids of the units wanted, comma-separated [default: all]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    units: Vec<String>,
    /// The file to write: .parquet, .csv, .arrow or .jsonl
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

pub fn run(args: &CurveArgs, show: &Show) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    check_out(&args.out, args.force)?;
    check_table(&args.out)?;
    let fitted = Fitted::load(&args.model, &resources)?;
    let grid = args.grid.resolve(&fitted)?;
    let start = Instant::now();
    let stream = Stream::open(&args.file, &fitted, None)?.only(&args.units);
    let flags = write(&args.out, stream, &fitted, &grid, &ask, show)?;
    let (query_seconds, peak_rss_mb) = (start.elapsed().as_secs_f64(), peak_rss_mb());
    let report = Answered { out: &args.out, flags: &flags, ask, query_seconds, peak_rss_mb };
    Output::new(report.text(&format!(", {} treatments each:", grid.len())), &report)
}

/// Write the curves of all units, part by part.
pub fn write(
    out: &Path,
    mut stream: Stream,
    fitted: &Fitted,
    grid: &Units,
    ask: &Ask,
    show: &Show,
) -> Result<Flags> {
    let tabulation = Tabulation::new(fitted);
    let mut flags = Flags::default();
    let counter = Counter::new(show, "curve");
    // a part is repeated for every treatment: few units at a time
    let most = (4096 / grid.len()).max(1);
    let pieces = stream.by_ref().flat_map(|batch| match batch {
        Err(error) => vec![Err(error)],
        Ok(batch) => {
            let rows: Vec<usize> = (0..batch.part.data.len()).collect();
            rows.chunks(most).map(|rows| batch.part.pick(rows)).collect()
        }
    });
    let sheets = pieces.map(|part| {
        let part = part?;
        let (repeated, to) = repeat_over(&part, grid)?;
        let answers = fitted.query(&repeated.data, &to, ask)?;
        flags.add_for(&answers, part.data.len());
        counter.add(part.data.len());
        Ok(tabulation.sheet(&repeated, &Asked::Outcome(&to), &answers))
    });
    write_sheets(out, sheets)?;
    flags.count(&stream.tally());
    Ok(flags)
}
