//! `cfqp check`: what is in a file, before anything is trained.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::{Counts, Grid};

use crate::columns::TableArgs;
use crate::error::Result;
use crate::load::{Input, input};
use crate::output::Output;
use crate::table::{count, counted, percent, plain, small, table};

const EXAMPLES: &str = "\
Examples:
  cfqp check patients.csv --x age,sex,'bp_*' --t dose --y outcome --id patient
  cfqp check samples.csv --id patient --time minute --series pa,pv --t dose --treated-at 20
  cfqp check study.toml --json

Exit code 1 where a check failed: a fit would be refused, or pointless.";

/// Check data: rows read, units kept and dropped, missing values, constant columns, treatments
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The data: .csv, .parquet, .arrow or .npz; or a study, .toml
    file: PathBuf,
    #[command(flatten)]
    table: TableArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    ok: bool,
    #[serde(flatten)]
    counts: &'a Counts,
}

pub fn run(args: &CheckArgs) -> Result<Output> {
    let input = input(&args.file, &args.table)?;
    let counts = input.load()?.counts;
    let ok = counts.problems.is_empty();
    let report = Report { file: &input.data, ok, counts: &counts };
    Ok(Output::new(text(&input, &counts), &report)?.with_failure(!ok))
}

fn text(input: &Input, counts: &Counts) -> String {
    let (rows, units) = (counted(counts.rows, "row"), counted(counts.units, "unit"));
    let mut text =
        format!("{}: {rows} read, {units} kept, {} dropped\n", input.data.display(), count(counts.lost()));
    for dropped in &counts.dropped {
        let _ =
            writeln!(text, "  dropped {}: {} (first: {})", count(dropped.units), dropped.why, dropped.first);
    }
    let missing =
        |share: f64| if share > 0.0 { format!(", {} missing", percent(share)) } else { String::new() };
    let _ = writeln!(text, "x {:?}{}", counts.x_shape, missing(counts.x_missing));
    let _ = writeln!(text, "y {:?}{}", counts.y_shape, missing(counts.y_missing));
    text += &counts.grid.map_or(String::new(), |grid| grid_text(&grid, counts));
    for t in &counts.treatments {
        let [low, tenth, median, ninetieth, high] =
            [t.low, t.tenth, t.median, t.ninetieth, t.high].map(|value| small(value.into()));
        let different = count(t.distinct);
        let _ = writeln!(
            text,
            "treatment {}: {low} to {high}, {different} different; 10% below {tenth}, half below {median}, 10% above {ninetieth}",
            t.name
        );
    }
    text += &columns(counts);
    counts.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    counts.problems.iter().for_each(|problem| text += &format!("failed: {problem}\n"));
    if counts.problems.is_empty() {
        let _ =
            writeln!(text, "nothing speaks against a fit\nnext: cfqp fit {} --out model.cfqp", input.words());
    }
    text
}

fn grid_text(grid: &Grid, counts: &Counts) -> String {
    let at = |point: i64| plain(point as f64 * grid.step);
    let averaged = match counts.averaged {
        0 => String::new(),
        n => format!("; {} share a point and are averaged", counted(n, "sample")),
    };
    format!(
        "grid of step {}, counted from the treatment: x from {} to {}, y from {} to {}{averaged}\n",
        plain(grid.step),
        at(grid.x.0),
        at(grid.x.1),
        at(grid.y.0),
        at(grid.y.1)
    )
}

fn columns(counts: &Counts) -> String {
    const SHOWN: usize = 60;
    if counts.columns.is_empty() {
        return String::new();
    }
    let mut rows =
        vec![["column", "role", "holds", "missing", "low", "mean", "high"].map(String::from).to_vec()];
    let number = |value: Option<f64>| value.map_or(String::new(), small);
    for column in counts.columns.iter().take(SHOWN) {
        rows.push(vec![
            column.name.clone(),
            column.role.clone(),
            column.kind.clone(),
            count(column.missing),
            number(column.low),
            number(column.mean),
            number(column.high),
        ]);
    }
    let rest = counts.columns.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!("  ... and {rest} more: see --json\n") } else { String::new() };
    table(&rows) + &more
}
