//! `cfqp-lab scenarios`: errors, intervals and verdicts on random scenarios.

mod compare;
mod promises;
mod run;
mod score;
mod summary;
mod write;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::Resources;
use cfqp_cli::args::{OutputArgs, parse_count};
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::files::{create_folder, write_text};
use cfqp_cli::format::shell_quote;
use cfqp_cli::output::{Output, to_pretty_json};
use cfqp_cli::resources::ResourceArgs;
use cfqp_cli::{create_runs_folder, explain, interrupt};
use run::{Plan, ScenarioRun};
use summary::Summary;

/// The number of units that every fit is scored on.
const TEST_UNITS: usize = 1000;
/// The level of the intervals.
const LEVEL: f64 = 0.9;
const MAX_UNITS: usize = 1_000_000;
const MAX_SEEDS: u64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  cfqp-lab scenarios --seeds 0..6 --max-n 400 --out few             a check that it runs
  cfqp-lab scenarios --seeds 0..100 --label main --out main
  cfqp-lab scenarios --compare main changed

For every seed: the units of `cfqp simulate table --world random --world-seed SEED`, a fit with default settings (the number of
classes unknown) and 1,000 fresh units. Errors are mean squared errors at rho = 1 in variances of y of the fresh units, the
mean over outcomes; those of positive outcomes are of log y, with answers of at least 0.001 times the smallest y. The excess is
the error minus that of the best answers (the Bayes limit). At rho = auto the noise of every fresh unit has a correlation drawn from
[0, 1]. Where subjects have repeats, all is at rho = auto, and the noise has their correlation. Widths are mean widths: over that of the
true intervals of y' given x and t' alone (marginal), and of those given x, t and y (Bayes). Intervals of yes/no outcomes are compared with
the best probabilities. Verdicts are those of `cfqp diagnose` on the training units.
DIR receives results.json and table.md. Finished scenarios are kept in DIR/runs: the same command continues where it stopped. They
are fitted again if the version, the label, the default settings or the scenario have changed.";

/// Score fits on random scenarios: error, coverage, width, verdicts
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScenariosArgs {
    /// Seeds of scenarios: FIRST..END (without END), or a comma-separated list
    #[arg(long, value_name = "SEEDS", default_value = "0..20", value_parser = parse_seeds)]
    seeds: Seeds,
    /// The largest number of training units [default: that of the scenario]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_UNITS))]
    max_n: Option<usize>,
    /// A name for the build, kept with its results
    #[arg(long, value_name = "NAME", default_value = "")]
    label: String,
    /// The directory for results and finished scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    out: PathBuf,
    /// A folder for fitted models; those that it has, of any build, are not fitted again
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Compare the finished scenarios of two directories instead of fitting
    #[arg(long, value_name = "DIR", num_args = 2)]
    compare: Option<Vec<PathBuf>>,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// A list of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seeds(Vec<u64>);

fn parse_seeds(text: &str) -> std::result::Result<Seeds, String> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| format!("`{text}` is not a seed"));
    let mut seeds = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => seeds.push(number(part)?),
            Some((first, end)) => {
                let (first, end) = (number(first)?, number(end)?);
                if end <= first || end - first > MAX_SEEDS {
                    return Err(format!("`{part}` has no seeds, or more than {MAX_SEEDS}"));
                }
                seeds.extend(first..end);
            }
        }
    }
    Ok(Seeds(seeds))
}

/// A scenario that could not be fitted.
#[derive(Clone, Debug, Serialize)]
struct FailedRun {
    world_seed: u64,
    error: String,
}

/// The JSON of the command and the content of `results.json`.
#[derive(Serialize)]
struct Results {
    version: &'static str,
    label: String,
    test_units: usize,
    level: f64,
    max_n: Option<usize>,
    threads: usize,
    summary: Summary,
    failed: Vec<FailedRun>,
    runs: Vec<ScenarioRun>,
}

pub(crate) fn run(args: &ScenariosArgs, show: &OutputArgs) -> Result<Output> {
    if let Some([a, b]) = args.compare.as_deref() {
        let comparison = compare::compare(a, b)?;
        return Output::new(compare::text(&comparison), &comparison);
    }
    let resources = args.resources.resolve()?;
    let folder = create_runs_folder(&args.out)?;
    args.models.as_deref().map(create_folder).transpose()?;
    interrupt::stop_between_steps();
    let (runs, failed) = run_all(args, show, &resources, &folder)?;
    let results = Results {
        version: env!("CARGO_PKG_VERSION"),
        label: args.label.clone(),
        test_units: TEST_UNITS,
        level: LEVEL,
        max_n: args.max_n,
        threads: resources.threads,
        summary: Summary::new(&runs),
        failed,
        runs,
    };
    let text = write::overview(&results);
    write_text(&args.out.join("results.json"), &to_pretty_json(&results)?)?;
    write_text(&args.out.join("table.md"), &format!("{text}\n{}", write::runs_table(&results.runs)))?;
    let end = format!("\nwrote results.json and table.md to {}\n", shell_quote(&args.out));
    Output::new(text + &end, &results)
}

/// Runs every scenario that is not finished, and prints a line for each.
fn run_all(
    args: &ScenariosArgs,
    show: &OutputArgs,
    resources: &Resources,
    folder: &Path,
) -> Result<(Vec<ScenarioRun>, Vec<FailedRun>)> {
    let (mut runs, mut failed) = (Vec::new(), Vec::new());
    let seeds = &args.seeds.0;
    for (i, &world_seed) in seeds.iter().enumerate() {
        let plan =
            Plan { world_seed, max_n: args.max_n, label: args.label.clone(), models: args.models.clone() };
        let path = plan.path(folder);
        let found = ScenarioRun::load(&path, &plan);
        let note = if found.is_some() { " (finished before)" } else { "" };
        let run = match found {
            Some(run) => Ok(run),
            None => {
                let name = format!("[{}/{}] scenario {world_seed}", i + 1, seeds.len());
                match plan.run(resources, show, &name) {
                    Ok(run) => {
                        write_text(&path, &to_pretty_json(&run)?)?;
                        Ok(run)
                    }
                    Err(cfqp::Error::Interrupted) => {
                        return Err(explain(cfqp::Error::Interrupted, Some(&args.out)));
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
        };
        let line = match run {
            Ok(run) => {
                let line = write::line(&run);
                runs.push(run);
                line
            }
            Err(error) => {
                let line = format!("scenario {world_seed}: failed: {error}");
                failed.push(FailedRun { world_seed, error });
                line
            }
        };
        if !show.quiet {
            eprintln!("{line}{note}");
        }
    }
    if runs.is_empty() {
        let message =
            format!("no scenario was fitted: {}", failed.first().map_or("", |failed| &failed.error));
        return Err(Failure::new(message, "see the messages above"));
    }
    Ok((runs, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_or_a_list() {
        assert_eq!(parse_seeds("3..6").unwrap(), Seeds(vec![3, 4, 5]));
        assert_eq!(parse_seeds("9,1..3").unwrap(), Seeds(vec![9, 1, 2]));
        assert!(parse_seeds("6..6").is_err() && parse_seeds("x").is_err());
    }
}
