//! `cfqp compare`: compares methods on units with known counterfactuals, or on pairs of measurements.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use serde::Serialize;

use cfqp::eval::{
    Comparison, ComparisonData, MethodRun, PairedUnits, Pairs, Summary, read_classes, read_truth, summarise,
};
use cfqp::rivals::{Method, MethodConfig, SyntheticControlConfig};
use cfqp::{Base, Classes, Dataset, FitConfig, Rho, TableSpec};

use super::ask::parse_rho;
use super::fit::{BASES, parse_classes};
use crate::args::{OutputArgs, parse_choice, parse_count, parse_finite};
use crate::columns::TableArgs;
use crate::comparison_table::ComparisonTable;
use crate::error::{Failure, Result};
use crate::files::{create_folder, write_text};
use crate::format::{format_short, pluralise, shell_quote};
use crate::interrupt;
use crate::load::{print_dropped, resolve_input};
use crate::output::{Output, optional_path_text, path_text, to_pretty_json};
use crate::resources::ResourceArgs;
use crate::run_progress::{RunProgress, RunTally};

const MAX_SEEDS: usize = 1000;
const MAX_EPOCHS: usize = 1_000_000;
/// The number of seeds with known counterfactuals.
const DEFAULT_SEEDS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  cfqp compare train.npz --eval test.npz --classes 3 --out comparison
  cfqp compare train.npz --eval test.npz --methods deep-ite,sc,cfqp --seeds 1
  cfqp compare digits.npz --eval more.npz --classes 6 --window 1 --out digits --json
  cfqp compare plants.csv --x 'x_*' --t co2 --y uptake --id plant --pairs repeats.csv

Methods: deep-ite (one model for all units), sc (synthetic control), deep-scm (normalising flow), \
diff-scm (diffusion), cfqp-kmeans and cfqp-gmm (the published algorithm), cfqp (the default of \
`cfqp fit`), oracle (the same with the true classes given; needs z in both files), regression \
(boosted trees on covariates and treatment, cross-fitted), residual (plus the unit's residual), \
shrunk-residual (plus half of it, or what repeats of a subject have in common), conformal (the regression \
with intervals by weighted cross-conformal prediction), process (a Gaussian process on covariates and treatment, \
plus the unit's residual).
All methods are fitted to FILE; the truth in --eval (t_new, y_new and, if present, z) is used only to \
evaluate them.
With --pairs, units of FILE were really measured under a second treatment: the table has the columns id (a \
unit of FILE), t_new and y_new, with several treatments or outcomes NAME_new for each. All methods are fitted \
to all of FILE and asked about every pair; the table shows the root mean squared error in units of y, \
relative to the standard deviation of y_new, and the coverage of 90% intervals where the method has them. A \
second measurement has noise of its own, so no method reaches 0.
With --out, DIR contains results.json, table.md, table.tex and, in runs, every finished \
run: the same command continues where it stopped.";

/// Compare methods on units with known counterfactuals
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Training data: an .npz file with x, t and y; with --pairs also a table or a study file
    file: PathBuf,
    /// Test units and their truth: an .npz file with x, t, y, t_new, y_new and optionally z
    #[arg(long, value_name = "FILE", required_unless_present = "pairs", conflicts_with = "pairs")]
    eval: Option<PathBuf>,
    /// Real measurements of units of the training data under a second treatment: a table with id, t_new and y_new
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// The methods, comma-separated [default: those of the paper that the files allow; with --pairs regression, residual, shrunk-residual, conformal and cfqp]
    #[arg(long, value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// Number of hidden classes; auto: cfqp chooses, and the published algorithm uses its choice
    #[arg(long, value_name = "K|auto", default_value = "auto", value_parser = parse_classes)]
    classes: Classes,
    /// Run each method with the seeds 1 to N [default: 5; with --pairs 1]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_SEEDS))]
    seeds: Option<usize>,
    /// Base model; auto: for deep-ite, cfqp and oracle the best on held-out units, for the published algorithm a
    /// U-Net (series and images)
    #[arg(long, default_value = "auto", value_parser = parse_choice::<Base>(&BASES))]
    base: Base,
    /// Epochs of each network's final training [default: depends on method, base model and units]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_EPOCHS))]
    epochs: Option<usize>,
    /// Learning rate of Adam for every method [default: depends on method and base model]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// How much of a unit's noise cfqp and oracle assume to be the same under the new treatment, from 0 to 1 [default: auto with --pairs, else 1]
    #[arg(long, value_name = "R|auto", value_parser = parse_rho, allow_negative_numbers = true)]
    rho: Option<Rho>,
    /// sc: the maximum distance between the treatment of a donor and the new treatment, in units of t
    #[arg(long, value_name = "W", default_value_t = 0.1, value_parser = parse_finite, allow_negative_numbers = true)]
    window: f32,
    /// The folder for results, tables and finished runs
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Parses the name of a method.
pub fn method_parser() -> impl clap::builder::TypedValueParser<Value = Method> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Method::ALL.map(Method::name)).try_map(|name| {
        let method = Method::ALL.into_iter().find(|method| method.name() == name);
        method.ok_or_else(|| format!("there is no method {name}"))
    })
}

impl CompareArgs {
    /// The comparison, by default of `methods` with `seeds` seeds.
    fn comparison(&self, methods: &[Method], seeds: usize) -> Comparison {
        let methods = if self.methods.is_empty() { methods.to_vec() } else { self.methods.clone() };
        let mut unique: Vec<Method> = Vec::new();
        for method in methods {
            if !unique.contains(&method) {
                unique.push(method);
            }
        }
        let (classes, base, epochs, learning_rate) =
            (self.classes, self.base, self.epochs, self.learning_rate);
        let fit = FitConfig { classes, base, epochs, learning_rate, ..FitConfig::default() };
        let sc = SyntheticControlConfig { window: self.window };
        let config = MethodConfig {
            fit,
            sc,
            rho: self.rho.unwrap_or(if self.pairs.is_some() { Rho::Auto } else { Rho::Given(1.0) }),
            ..MethodConfig::default()
        };
        let seeds = (1..=self.seeds.unwrap_or(seeds) as u64).collect();
        Comparison { methods: unique, seeds, config }
    }
}

/// The JSON of the command and the content of `results.json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "optional_path_text")]
    eval: Option<&'a Path>,
    /// The Bayes limit in units of y, where the truth has it.
    limit_raw: Option<f64>,
    #[serde(flatten)]
    pairs: Option<PairCounts<'a>>,
    comparison: &'a Comparison,
    summaries: &'a [Summary],
    runs: &'a [MethodRun],
}

/// What the pairs are.
#[derive(Clone, Copy, Serialize)]
struct PairCounts<'a> {
    #[serde(rename = "pairs")]
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    /// The number of pairs.
    #[serde(rename = "n_pairs")]
    pairs: usize,
    /// The number of units in pairs.
    units: usize,
}

pub(crate) fn run(args: &CompareArgs, output: &OutputArgs) -> Result<Output> {
    match (&args.pairs, &args.eval) {
        (Some(pairs), _) => run_pairs(args, pairs, output),
        (None, Some(eval)) => run_arrays(args, eval, output),
        (None, None) => Err(Failure::new("there is nothing to compare with", "give --eval or --pairs")),
    }
}

/// Compares methods on arrays with known counterfactuals.
fn run_arrays(args: &CompareArgs, eval: &Path, output: &OutputArgs) -> Result<Output> {
    if !args.table.override_spec(TableSpec::default()).is_empty() {
        return Err(Failure::new(
            "flags for columns do not apply to --eval",
            "give --pairs, or remove the flags",
        ));
    }
    let (train, test) = (Dataset::read_npz(&args.file)?, Dataset::read_npz(eval)?);
    let (train_z, truth) = (read_classes(&args.file)?, read_truth(eval)?);
    let limit_raw = truth.limit()?;
    let trial = ComparisonData {
        train: &train,
        train_z: train_z.as_deref(),
        test: &test,
        truth: &truth,
        pairs: None,
        effects: None,
        examples: None,
    };
    let has_classes = train_z.is_some() && truth.z.is_some();
    let comparison = args.comparison(&Method::defaults(false, has_classes), DEFAULT_SEEDS);
    let runs = run_comparison(args, &comparison, &trial, output)?;
    let summaries = summarise(&runs);
    let cells = ComparisonTable::new(&summaries);
    let limit = limit_raw.map(|limit| format!(", Bayes limit {} in units of y", format_short(limit)));
    let (units, seeds) = (pluralise(test.len(), "unit"), pluralise(comparison.seeds.len(), "seed"));
    let head = format!("{units}, {seeds}{}\n", limit.unwrap_or_default());
    let version = env!("CARGO_PKG_VERSION");
    let (file, comparison) = (&*args.file, &comparison);
    let report = Report {
        version,
        file,
        eval: Some(eval),
        limit_raw,
        pairs: None,
        comparison,
        summaries: &summaries,
        runs: &runs,
    };
    finish(args, &report, &cells, head)
}

/// Compares methods on pairs of measurements.
fn run_pairs(args: &CompareArgs, path: &Path, output: &OutputArgs) -> Result<Output> {
    let input = resolve_input(&args.file, &args.table)?;
    let loaded = input.load()?;
    loaded.check(&input, output)?;
    let units = PairedUnits { data: &loaded.data, ids: &loaded.ids, layout: loaded.layout.as_ref() };
    let pairs = Pairs::read(path, units)?;
    print_dropped(path, &pairs.summary, output);
    let trial = ComparisonData {
        train: &loaded.data,
        train_z: None,
        test: &loaded.data,
        truth: &pairs.truth,
        pairs: Some(&pairs.rows),
        effects: None,
        examples: None,
    };
    let comparison = args.comparison(&Method::defaults(true, false), 1);
    let runs = run_comparison(args, &comparison, &trial, output)?;
    let summaries = summarise(&runs);
    let cells = ComparisonTable::for_pairs(&summaries);
    let counts = PairCounts { file: path, pairs: pairs.len(), units: pairs.units() };
    let head = pairs_heading(&counts, pairs.seen(&loaded.data), comparison.seeds.len());
    let (version, pairs) = (env!("CARGO_PKG_VERSION"), Some(counts));
    let (file, comparison) = (&*input.data, &comparison);
    let report = Report {
        version,
        file,
        eval: None,
        limit_raw: None,
        pairs,
        comparison,
        summaries: &summaries,
        runs: &runs,
    };
    finish(args, &report, &cells, head)
}

fn pairs_heading(counts: &PairCounts<'_>, seen: usize, seeds: usize) -> String {
    let [pairs, units] = [pluralise(counts.pairs, "pair"), pluralise(counts.units, "unit")];
    let head = format!("{pairs} of {units}, {}\n", pluralise(seeds, "seed"));
    match seen {
        0 => head,
        seen => format!(
            "{head}warning: {} also in the data as other rows of the same subject: a method that uses all rows of a \
             subject has seen these outcomes\n",
            if seen == 1 { "1 pair is".to_owned() } else { format!("{} are", pluralise(seen, "pair")) }
        ),
    }
}

/// Runs all methods with a progress display.
fn run_comparison(
    args: &CompareArgs,
    comparison: &Comparison,
    trial: &ComparisonData<'_>,
    output: &OutputArgs,
) -> Result<Vec<MethodRun>> {
    let resources = args.resources.resolve()?;
    comparison.check(trial)?;
    let folder = args.out.as_deref().map(create_runs_folder).transpose()?;
    interrupt::stop_between_steps();
    let planned = comparison.seeds.iter().flat_map(|_| comparison.methods.clone());
    let tally = Mutex::new(RunTally::new(planned.map(|method| (String::new(), method))));
    let watching = RunProgress::new(*output, "", &tally);
    let runs = comparison.run(trial, &resources, folder.as_deref(), &watching);
    drop(watching);
    runs.map_err(|error| explain(error, args.out.as_deref()))
}

/// The output of the command, after results were written if the user wants them.
fn finish(args: &CompareArgs, report: &Report<'_>, cells: &ComparisonTable, head: String) -> Result<Output> {
    let mut text = head + &cells.text() + &failed_runs(report.runs);
    if let Some(out) = &args.out {
        write_results(out, report, cells)?;
        text += &format!("wrote results.json, table.md and table.tex to {}\n", shell_quote(out));
    }
    Output::new(text, report)
}

/// A line for every failed run.
fn failed_runs(runs: &[MethodRun]) -> String {
    let line = |run: &MethodRun| {
        let problem = run.error.as_deref().unwrap_or("unknown reason");
        format!("note: {} failed with seed {}: {problem}\n", run.method.name(), run.seed)
    };
    runs.iter().filter(|run| run.scores.is_none()).map(line).collect()
}

/// Creates the folder `runs` for finished runs in the folder `out`.
pub fn create_runs_folder(out: &Path) -> Result<PathBuf> {
    let runs = out.join("runs");
    create_folder(out)?;
    create_folder(&runs)?;
    Ok(runs)
}

/// Adds a hint on how to continue after an interrupt.
pub fn explain(error: cfqp::Error, out: Option<&Path>) -> Failure {
    match (error, out) {
        (cfqp::Error::Interrupted, Some(out)) => Failure::interrupted(format!(
            "finished runs are in {}: run the same command again to continue",
            out.join("runs").display()
        )),
        (cfqp::Error::Interrupted, None) => {
            Failure::interrupted("no results were kept: use --out DIR to keep finished runs")
        }
        (error, _) => error.into(),
    }
}

fn write_results(out: &Path, report: &Report<'_>, cells: &ComparisonTable) -> Result<()> {
    write_text(&out.join("results.json"), &to_pretty_json(report)?)?;
    write_text(&out.join("table.md"), &cells.markdown())?;
    write_text(&out.join("table.tex"), &cells.latex())
}
