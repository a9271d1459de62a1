//! `cfqp-lab reproduce`: the tables and figures of the paper, with its numbers beside ours.

mod class_search;
mod figures;
mod gallery;
mod plan;
mod published;
mod runner;
mod scenario;
mod tables;
mod write;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::eval::MethodRun;
use cfqp::rivals::Method;
use cfqp_cli::args::{OutputArgs, parse_count};
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::{pluralise, shell_quote};
use cfqp_cli::output::Output;
use cfqp_cli::resources::ResourceArgs;
use cfqp_cli::{interrupt, method_parser};
use class_search::{ClassSearch, FILE_PREFIX};
use gallery::Gallery;
use plan::{Cell, Experiment, Scale};
use runner::Runner;
use scenario::{Scenario, Simulator};

const EXAMPLES: &str = "\
Examples:
  cfqp-lab reproduce table1 --scale smoke --out smoke                   a check that it runs, two minutes
  cfqp-lab reproduce table1 --scale small --mnist ~/mnist --out small   series at the paper's sizes
  cfqp-lab reproduce all --scale paper --mnist ~/mnist --out paper      days

For every experiment, DIR receives results.json (every run with its settings and seed), table.md,
table.tex and figures as SVG. Finished runs are kept in DIR/runs: the same command continues where it
stopped.
Without --mnist, synthetic digits are drawn. With it, methods are trained on the training images of
MNIST and evaluated on its test images.";

/// Reproduce the tables and figures of the paper, with its numbers beside ours
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// The table or figure
    #[arg(value_enum)]
    experiment: Experiment,
    /// The size of the data and the training
    #[arg(long, value_enum, default_value = "small")]
    scale: Scale,
    /// A directory with the MNIST files, plain or .gz; without it, synthetic digits are drawn
    #[arg(long, value_name = "DIR")]
    mnist: Option<PathBuf>,
    /// Only these data, comma-separated [default: all data of the experiment]
    #[arg(long, value_enum, value_delimiter = ',')]
    data: Vec<Simulator>,
    /// Only these methods, comma-separated [default: all methods of the experiment]
    #[arg(long, value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// Seeds 1 to N, at most 5; at the small scale digits use 2 and sweeps use 1
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count(5))]
    seeds: usize,
    /// The directory for results and finished runs
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    out: PathBuf,
    /// Print how many finished runs DIR holds; they are reused with or without this flag
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// One run of one cell of the plan.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    data: String,
    scenario: Scenario,
    #[serde(skip_serializing_if = "Option::is_none")]
    swept_value: Option<f64>,
    run: MethodRun,
}

/// The content of `results.json`.
#[derive(Serialize)]
struct Results {
    version: &'static str,
    experiment: Experiment,
    scale: Scale,
    mnist: bool,
    cores: usize,
    seconds: f64,
    outcomes: Vec<Outcome>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    class_searches: Vec<ClassSearch>,
    #[serde(skip)]
    galleries: Vec<Gallery>,
}

pub(crate) fn run(args: &ReproduceArgs, show: &OutputArgs) -> Result<Output> {
    let plan = plan(args)?;
    let runner = Runner::new(args, show, &plan)?;
    interrupt::stop_between_steps();
    if args.resume && !show.quiet {
        let runs = runner.runs_folder();
        eprintln!("{}: {} found", shell_quote(runs), pluralise(count_runs(runs)?, "finished run"));
    }
    let (mut text, mut results) = (String::new(), Vec::new());
    for (experiment, cells) in &plan {
        let result = runner.run(*experiment, cells)?;
        text += &write::write(&result, &args.out)?;
        results.push(result);
    }
    text += &format!("wrote results, tables and figures to {}\n", shell_quote(&args.out));
    Output::new(text, &results)
}

/// The experiments to run and their cells.
fn plan(args: &ReproduceArgs) -> Result<Vec<(Experiment, Vec<Cell>)>> {
    let experiments = match args.experiment {
        Experiment::All => Experiment::SINGLE.to_vec(),
        single => vec![single],
    };
    let plan: Vec<(Experiment, Vec<Cell>)> = experiments
        .into_iter()
        .map(|experiment| (experiment, selected_cells(args, experiment)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    if plan.is_empty() {
        let message = format!("{}: no such data or methods in this experiment", args.experiment.name());
        return Err(Failure::new(message, "omit --data and --methods to run all of it"));
    }
    Ok(plan)
}

/// The cells of an experiment that `--data` and `--methods` select.
fn selected_cells(args: &ReproduceArgs, experiment: Experiment) -> Vec<Cell> {
    let mut cells = plan::cells(experiment, args.scale, args.seeds);
    cells.retain(|cell| args.data.is_empty() || args.data.contains(&cell.scenario.simulator));
    for cell in &mut cells {
        cell.methods.retain(|method| args.methods.is_empty() || args.methods.contains(method));
    }
    cells.retain(|cell| !cell.methods.is_empty());
    cells
}

fn count_runs(folder: &Path) -> Result<usize> {
    let files = std::fs::read_dir(folder).map_err(|error| Failure::io(folder, error))?;
    Ok(files.flatten().filter(|file| !file.file_name().to_string_lossy().starts_with(FILE_PREFIX)).count())
}
