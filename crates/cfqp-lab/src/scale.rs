//! `cfqp-lab scale`: fits to tables that do not fit in memory; time, memory and accuracy by their number of rows.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use cfqp_cli::args::{OutputArgs, parse_count};
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::{align_rows, format_count};
use cfqp_cli::output::Output;

use crate::bench::cfqp_command;

/// Rows of the table on which all models are evaluated.
const TEST_ROWS: usize = 20_000;
/// The seed of that table; tables that are fitted have seed 1.
const TEST_SEED: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  cfqp-lab scale --rows 100000 --limits 400MB --out few       a minute
  cfqp-lab scale --out scale                                  1, 3 and 10 million rows, with 4GB and 512MB

Tables have the covariates of the world and columns of noise, t and y. They stay in the folder: a second run uses them \
again. Every fit and evaluation is a process of its own. The error is the mean squared error of counterfactuals over the \
Bayes limit, that of the best answers that the observed values allow.";

/// Fit tables that do not fit in memory, and measure time, memory and accuracy
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScaleArgs {
    /// Numbers of rows, comma-separated
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000_000, 3_000_000, 10_000_000],
          value_parser = parse_count(1_000_000_000))]
    rows: Vec<usize>,
    /// Limits on memory, comma-separated
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_values_t = ["4GB".to_owned(), "512MB".to_owned()])]
    limits: Vec<String>,
    /// The world, as in cfqp simulate table
    #[arg(long, value_name = "W", default_value = "crossing")]
    world: String,
    /// Columns that play no part
    #[arg(long, value_name = "C", default_value_t = 12)]
    noise_columns: usize,
    /// Further flags of cfqp fit, in one word
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    fit: String,
    /// The folder for tables and models
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// One fit.
#[derive(Debug, Serialize)]
struct Run {
    rows: usize,
    limit: String,
    /// Until the rows were read, until all was chosen and members were trained on the sample, and in all.
    read_seconds: f64,
    explored_seconds: f64,
    seconds: f64,
    peak_rss_mb: f64,
    classes: u64,
    /// The error over the Bayes limit.
    ratio: f64,
    coverage: f64,
}

pub(crate) fn run(args: &ScaleArgs, show: &OutputArgs) -> Result<Output> {
    std::fs::create_dir_all(&args.out).map_err(|error| Failure::io(&args.out, error))?;
    let table = |name: &str, rows: usize, seed: usize, flags: &str| {
        if !args.out.join(name).exists() {
            let (world, columns) = (&args.world, args.noise_columns);
            let line = format!(
                "simulate table --world {world} --n {rows} --noise-columns {columns} --seed {seed} --out {name} {flags}"
            );
            run_cfqp(&args.out, &line)?;
        }
        Ok::<(), Failure>(())
    };
    table("test.parquet", TEST_ROWS, TEST_SEED, "")?;
    let mut runs = Vec::new();
    for &rows in &args.rows {
        let name = format!("{rows}.parquet");
        table(&name, rows, 1, "--no-truth")?;
        for limit in &args.limits {
            if !show.quiet {
                eprintln!("{} rows, {limit}", format_count(rows));
            }
            runs.push(measure(args, rows, &name, limit)?);
        }
    }
    Output::new(summary(&runs), &runs)
}

/// Fits and evaluates a model.
fn measure(args: &ScaleArgs, rows: usize, name: &str, limit: &str) -> Result<Run> {
    let model = format!("{rows}-{limit}.cfqp");
    let fit = format!(
        "fit {name} --x x* --t t --y y --max-memory {limit} --force --out {model} --verbose {}",
        args.fit
    );
    let timed = run_cfqp(&args.out, &fit)?;
    let evaluate = format!("evaluate {model} test.parquet --truth test.truth.npz");
    let found = run_cfqp(&args.out, &evaluate)?.report;
    let number = |report: &Value, name: &str| report[name].as_f64().unwrap_or(f64::NAN);
    Ok(Run {
        rows,
        limit: limit.to_owned(),
        read_seconds: timed.time_of("too large to be fitted in memory"),
        explored_seconds: timed.time_of("members on all rows"),
        seconds: timed.seconds,
        peak_rss_mb: number(&timed.report, "peak_rss_mb"),
        classes: timed.report["classes"].as_u64().unwrap_or(0),
        ratio: number(&found, "ratio"),
        coverage: number(&found, "coverage"),
    })
}

/// What a command printed, and when.
struct Timed {
    report: Value,
    lines: Vec<(f64, String)>,
    seconds: f64,
}

impl Timed {
    /// When a line with this text came; NaN if none did.
    fn time_of(&self, text: &str) -> f64 {
        self.lines.iter().find(|(_, line)| line.contains(text)).map_or(f64::NAN, |(time, _)| *time)
    }
}

/// Runs `cfqp` with the arguments of `line`.
fn run_cfqp(folder: &Path, line: &str) -> Result<Timed> {
    let failed = |problem: String| {
        Failure::new(format!("cfqp {line}: {problem}"), "run this command alone to see why")
    };
    let start = Instant::now();
    let mut command = cfqp_command()?;
    command.args(line.split_whitespace()).arg("--json").current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let errors = child.stderr.take().map(BufReader::new);
    let lines: Vec<(f64, String)> = errors
        .into_iter()
        .flat_map(|errors| errors.lines().map_while(std::result::Result::ok))
        .map(|line| (start.elapsed().as_secs_f64(), line))
        .collect();
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        return Err(failed(text.join("\n")));
    }
    let report = serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    Ok(Timed { report, lines, seconds: start.elapsed().as_secs_f64() })
}

fn summary(runs: &[Run]) -> String {
    let header = [
        "rows",
        "limit",
        "read (s)",
        "explored (s)",
        "all (s)",
        "peak (MB)",
        "K",
        "error / limit",
        "coverage",
    ];
    let row = |run: &Run| {
        vec![
            format_count(run.rows),
            run.limit.clone(),
            format!("{:.0}", run.read_seconds),
            format!("{:.0}", run.explored_seconds),
            format!("{:.0}", run.seconds),
            format!("{:.0}", run.peak_rss_mb),
            run.classes.to_string(),
            format!("{:.3}", run.ratio),
            format!("{:.3}", run.coverage),
        ]
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(header.map(str::to_owned).to_vec()).chain(runs.iter().map(row)).collect();
    align_rows(&rows)
}
