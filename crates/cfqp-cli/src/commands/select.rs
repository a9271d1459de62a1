//! `cfqp select`: how many hidden classes held-out units support.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{Classes, FitConfig, Tried, compare_classes};

use super::fit::{SettingArgs, tried_table};
use crate::args::Show;
use crate::columns::TableArgs;
use crate::error::{Failure, Result};
use crate::files::{check_out, write_text};
use crate::interrupt;
use crate::load::input;
use crate::output::Output;
use crate::plot::evidence;
use crate::progress::Progress;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{counted, shell};

const EXAMPLES: &str = "\
Examples:
  cfqp select patients.csv --x age,sex --t dose --y outcome --classes 1..6
  cfqp select study.toml --classes 1..6 --plot classes.svg
  cfqp select data.npz --classes 1..4 --base linear --json

The column 'full law' is the mean -log likelihood of a held-out unit under a law with a full scatter matrix. \
It goes on falling a little with every class, so each after the first has a price: 0.06 nats per outcome \
element (64 of them at most), or 0.4 of the most that one class brought, if that is more. The column 'to \
judge K' has both together: K is where it is lowest.";

/// Compare numbers of hidden classes on held-out units
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SelectArgs {
    /// The data: .csv, .parquet, .arrow or .npz; or a study, .toml
    file: PathBuf,
    /// The numbers of classes to compare, from 1
    #[arg(long, value_name = "1..K", default_value = "1..6", value_parser = most)]
    classes: usize,
    /// Data to choose on [default: taken out of FILE]
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    /// Draw the comparison into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Replace the plot if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// The K of `1..K`.
fn most(text: &str) -> Result<usize, String> {
    let most = match text.split_once("..") {
        Some(("1", most)) => most.trim_start_matches('=').parse().ok(),
        _ => None,
    };
    most.filter(|most| (1..=50).contains(most))
        .ok_or_else(|| "give 1..K with K up to 50, such as 1..6".to_owned())
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    units: usize,
    classes: usize,
    base: &'a str,
    tried: &'a [Tried],
    plot: Option<&'a Path>,
    seconds: f64,
    peak_rss_mb: Option<f64>,
}

pub fn run(args: &SelectArgs, show: &Show) -> Result<Output> {
    let resources = args.resources.resolve()?;
    if let Some(plot) = &args.plot {
        check_out(plot, args.force)?;
    }
    let mut input = input(&args.file, &args.table)?;
    input.valid = args.valid.clone().or(input.valid);
    let config = args.settings.over(input.config.clone());
    let config = FitConfig { classes: Classes::Auto, max_classes: args.classes, ..config };
    config.check()?;
    let loaded = input.load()?;
    loaded.check(&input, show)?;
    let valid = input.load_valid(loaded.layout.as_ref(), show)?;
    interrupt::listen();
    let start = Instant::now();
    let progress = Progress::new(show, "select");
    let tried = compare_classes(&loaded.data, valid.as_ref(), &config, &resources, &progress);
    drop(progress);
    let tried = tried.map_err(|error| match error {
        cfqp::Error::Interrupted => Failure::interrupted("nothing was written: run the command again"),
        error => error.into(),
    })?;
    if let Some(plot) = &args.plot {
        let svg = evidence(&tried).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        write_text(plot, &svg)?;
    }
    let chosen = tried.iter().find(|tried| tried.chosen);
    let (classes, base) = chosen.map_or((1, ""), |chosen| (chosen.classes, &chosen.base[..]));
    let report = Report {
        file: &input.data,
        units: loaded.data.len(),
        classes,
        base,
        tried: &tried,
        plot: args.plot.as_deref(),
        seconds: start.elapsed().as_secs_f64(),
        peak_rss_mb: peak_rss_mb(),
    };
    let plot = args.plot.as_ref().map_or(String::new(), |plot| format!("wrote {}\n", shell(plot)));
    let text = format!(
        "{}, each number of classes on held-out units:\n{}{} with {base} in {:.1} s\n{plot}next: cfqp fit {} --classes {classes} --out model.cfqp\n",
        counted(report.units, "unit"),
        tried_table(&tried),
        if classes == 1 { "1 class".to_owned() } else { format!("{classes} classes") },
        report.seconds,
        input.words(),
    );
    Output::new(text, &report)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_range_of_classes_begins_with_one() {
        assert_eq!(super::most("1..6"), Ok(6));
        assert_eq!(super::most("1..=3"), Ok(3));
        assert!(["2..6", "6", "1..0", "1..x", ""].iter().all(|text| super::most(text).is_err()));
    }
}
