//! `cfqp compare`: compares methods on units with known counterfactuals.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use serde::Serialize;

use cfqp::eval::{Comparison, ComparisonData, MethodRun, Summary, read_classes, read_truth, summarise};
use cfqp::rivals::{Method, MethodConfig, SyntheticControlConfig};
use cfqp::{Base, Classes, Dataset, FitConfig};

use super::fit::{BASES, parse_classes};
use crate::args::{OutputArgs, parse_choice, parse_count, parse_finite};
use crate::comparison_table::ComparisonTable;
use crate::error::{Failure, Result};
use crate::files::{create_folder, write_text};
use crate::format::{format_short, pluralise, shell_quote};
use crate::interrupt;
use crate::output::{Output, to_pretty_json};
use crate::resources::ResourceArgs;
use crate::run_progress::{RunProgress, RunTally};

const MAX_SEEDS: usize = 1000;
const MAX_EPOCHS: usize = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  cfqp compare train.npz --eval test.npz --classes 3 --out comparison
  cfqp compare train.npz --eval test.npz --methods deep-ite,sc,cfqp --seeds 1
  cfqp compare digits.npz --eval more.npz --classes 6 --window 1 --out digits --json

Methods: deep-ite (one model for all units), sc (synthetic control), deep-scm (normalising flow), \
diff-scm (diffusion), cfqp-kmeans and cfqp-gmm (the published algorithm), cfqp (the default of \
`cfqp fit`), oracle (the same with the true classes given; needs z in both files).
All methods are fitted to FILE; the truth in --eval (t_new, y_new and, if present, z) is used only to \
evaluate them. With --out, DIR contains results.json, table.md, table.tex and, in runs, every finished \
run: the same command continues where it stopped.";

/// Compare methods on units with known counterfactuals
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Training data: an .npz file with x, t and y
    file: PathBuf,
    /// Test units and their truth: an .npz file with x, t, y, t_new, y_new and optionally z
    #[arg(long, value_name = "FILE")]
    eval: PathBuf,
    /// The methods, comma-separated [default: all that the files allow]
    #[arg(long, value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// Number of hidden classes; auto: cfqp chooses, and the published algorithm uses its choice
    #[arg(long, value_name = "K|auto", default_value = "auto", value_parser = parse_classes)]
    classes: Classes,
    /// Run each method with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count(MAX_SEEDS))]
    seeds: usize,
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
    /// How much of a unit's noise cfqp and oracle assume to be the same under the new treatment, from 0 to 1
    #[arg(long, value_name = "R", default_value_t = 1.0, value_parser = parse_finite, allow_negative_numbers = true)]
    rho: f32,
    /// sc: the maximum distance between the treatment of a donor and the new treatment, in units of t
    #[arg(long, value_name = "W", default_value_t = 0.1, value_parser = parse_finite, allow_negative_numbers = true)]
    window: f32,
    /// The folder for results, tables and finished runs
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
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
    fn comparison(&self, has_classes: bool) -> Comparison {
        let mut methods = self.methods.clone();
        if methods.is_empty() {
            methods.extend(Method::ALL.iter().filter(|method| has_classes || **method != Method::Oracle));
        }
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
        let config = MethodConfig { fit, sc, rho: self.rho, ..MethodConfig::default() };
        Comparison { methods: unique, seeds: (1..=self.seeds as u64).collect(), config }
    }
}

/// The JSON of the command and the content of `results.json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    file: &'a Path,
    eval: &'a Path,
    /// The Bayes limit in units of y, where the truth has it.
    limit_raw: Option<f64>,
    comparison: &'a Comparison,
    summaries: &'a [Summary],
    runs: &'a [MethodRun],
}

pub(crate) fn run(args: &CompareArgs, output: &OutputArgs) -> Result<Output> {
    let resources = args.resources.resolve()?;
    let (train, test) = (Dataset::read_npz(&args.file)?, Dataset::read_npz(&args.eval)?);
    let (train_z, truth) = (read_classes(&args.file)?, read_truth(&args.eval)?);
    let limit_raw = truth.limit()?;
    let trial = ComparisonData {
        train: &train,
        train_z: train_z.as_deref(),
        test: &test,
        truth: &truth,
        effects: None,
        examples: None,
    };
    let comparison = args.comparison(train_z.is_some() && truth.z.is_some());
    comparison.check(&trial)?;
    let folder = args.out.as_deref().map(create_runs_folder).transpose()?;
    interrupt::listen();
    let planned = comparison.seeds.iter().flat_map(|_| comparison.methods.clone());
    let tally = Mutex::new(RunTally::new(planned.map(|method| (String::new(), method))));
    let watching = RunProgress::new(*output, "", &tally);
    let runs = comparison.run(&trial, &resources, folder.as_deref(), &watching);
    drop(watching);
    let runs = runs.map_err(|error| explain(error, args.out.as_deref()))?;
    let (summaries, version) = (summarise(&runs), env!("CARGO_PKG_VERSION"));
    let report = Report {
        version,
        file: &args.file,
        eval: &args.eval,
        limit_raw,
        comparison: &comparison,
        summaries: &summaries,
        runs: &runs,
    };
    let cells = ComparisonTable::new(&summaries);
    let limit = limit_raw.map(|limit| format!(", Bayes limit {} in units of y", format_short(limit)));
    let (units, seeds) = (pluralise(test.len(), "unit"), pluralise(args.seeds, "seed"));
    let head = format!("{units}, {seeds}{}\n", limit.unwrap_or_default());
    let mut text = head + &cells.text() + &failed_runs(&runs);
    if let Some(out) = &args.out {
        write_results(out, &report, &cells)?;
        text += &format!("wrote results.json, table.md and table.tex to {}\n", shell_quote(out));
    }
    Output::new(text, &report)
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
