//! `cfqp select`: compares numbers of hidden classes on held-out units.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{Base, ClassScore, Classes, Fit, FitConfig};
use cfqp_html::chart::draw_class_scores;

use super::fit::FitSettingArgs;
use crate::args::OutputArgs;
use crate::columns::TableArgs;
use crate::error::Result;
use crate::files::{check_out, write_text};
use crate::fit_summary::candidates_table;
use crate::format::{pluralise, shell_quote};
use crate::interrupt;
use crate::load::{Input, Loaded, resolve_input};
use crate::output::{Output, optional_path_text, path_text};
use crate::progress::Progress;
use crate::resources::{ResourceArgs, peak_rss_mb};

const MAX_CLASSES: usize = 50;

const EXAMPLES: &str = "\
Examples:
  cfqp select patients.csv --x age,sex --t dose --y outcome --classes 1..6
  cfqp select study.toml --classes 1..6 --plot classes.svg
  cfqp select data.npz --classes 1..4 --base linear --json

For outcomes of at most 8 elements every unit is held out in turn (units of --valid are added to those of FILE), and the \
chosen number of classes is the smallest that no larger one beats by more than 2 standard errors of the held-out \
log-likelihood. There is no penalty. The column 'minus chosen' is the difference from the chosen number, with its standard \
error; the search ends after two numbers without a gain.
For larger outcomes, the column 'full covariance' is the mean negative log-likelihood of a held-out unit under a \
distribution with a full covariance matrix. It keeps falling a little with every class, so every class after the \
first has a penalty: 0.06 nats per outcome element (at most 64 elements), or 0.4 of the largest gain of a single \
class, whichever is larger. The score is the sum of both. The chosen number is the smallest that no larger one beats \
by more than two standard errors and the penalty of its additional classes.";

/// Compare numbers of hidden classes on held-out units
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SelectArgs {
    /// The data: .csv, .parquet, .arrow or .npz; or a study file, .toml
    file: PathBuf,
    /// The numbers of classes to compare, starting at 1
    #[arg(long, value_name = "1..K", default_value = "1..6", value_parser = parse_range)]
    classes: usize,
    /// Data for selection [default: a part of FILE, or every unit in turn]
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    /// Write a plot of the scores to this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Replace an existing plot
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    settings: FitSettingArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Parses `1..K` to K.
fn parse_range(text: &str) -> Result<usize, String> {
    let max = match text.split_once("..") {
        Some(("1", max)) => max.trim_start_matches('=').parse().ok(),
        _ => None,
    };
    max.filter(|max| (1..=MAX_CLASSES).contains(max))
        .ok_or_else(|| format!("expected 1..K with K up to {MAX_CLASSES}, for example 1..6"))
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    units: usize,
    classes: usize,
    base: Base,
    candidates: &'a [ClassScore],
    #[serde(serialize_with = "optional_path_text")]
    plot: Option<&'a Path>,
    seconds: f64,
    peak_rss_mb: Option<f64>,
}

pub(super) fn run(args: &SelectArgs, output: &OutputArgs) -> Result<Output> {
    let resources = args.resources.resolve()?;
    let mut input = resolve_input(&args.file, &args.table)?;
    input.valid = args.valid.clone().or(input.valid);
    if let Some(plot) = &args.plot {
        check_out(plot, args.force, &input.files(&args.file))?;
    }
    input.config = args.settings.override_config(input.config);
    let config = FitConfig { classes: Classes::Auto, max_classes: args.classes, ..input.config.clone() };
    config.validate()?;
    let loaded = input.load()?;
    loaded.check(&input, output)?;
    let valid = input.load_valid(loaded.layout.as_ref(), output)?;
    interrupt::stop_between_steps();
    let start = Instant::now();
    let progress = Progress::new(output, "select");
    let fit = Fit::new(config).resources(resources).monitor(&progress);
    let tried = match &valid {
        Some(valid) => fit.validate_on(valid).score_classes(loaded.units()),
        None => fit.score_classes(loaded.units()),
    };
    drop(progress);
    let tried = tried?;
    if let Some(plot) = &args.plot {
        write_text(plot, &draw_class_scores(&tried))?;
    }
    summarise(args, &input, &loaded, &tried, start.elapsed().as_secs_f64())
}

fn summarise(
    args: &SelectArgs,
    input: &Input,
    loaded: &Loaded,
    tried: &[ClassScore],
    seconds: f64,
) -> Result<Output> {
    let chosen = tried.iter().find(|tried| tried.chosen);
    let (classes, base) = chosen.map_or((1, Base::Auto), |chosen| (chosen.classes, chosen.base));
    let next = FitConfig { classes: Classes::Given(classes), ..input.config.clone() };
    let plot = args.plot.as_ref().map_or(String::new(), |plot| format!("wrote {}\n", shell_quote(plot)));
    let text = format!(
        "{}, scores on held-out units:\n{}chosen: {} with {base} in {seconds:.1} s\n{plot}\
         next: {}\n",
        pluralise(loaded.data.len(), "unit"),
        candidates_table(tried),
        if classes == 1 { "1 class".to_owned() } else { format!("{classes} classes") },
        input.fit_command(&next),
    );
    let report = Report {
        file: &input.data,
        units: loaded.data.len(),
        classes,
        base,
        candidates: tried,
        plot: args.plot.as_deref(),
        seconds,
        peak_rss_mb: peak_rss_mb(),
    };
    Output::new(text, &report)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_range_of_classes_starts_at_one() {
        assert_eq!(super::parse_range("1..6"), Ok(6));
        assert_eq!(super::parse_range("1..=3"), Ok(3));
        assert!(["2..6", "6", "1..0", "1..x", ""].iter().all(|text| super::parse_range(text).is_err()));
    }
}
