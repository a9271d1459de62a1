//! `cfqp compare`: methods side by side, on units whose counterfactuals are known.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use serde::Serialize;

use cfqp::{
    Base, Classes, Comparison, Dataset, FitConfig, Method, MethodConfig, Run, Summary,
    SyntheticControlConfig, Trial, read_classes, read_truth, summarise,
};

use super::fit::{BASES, parse_classes};
use crate::args::{Show, choice, finite, up_to};
use crate::error::{Failure, Result};
use crate::files::write_text;
use crate::interrupt;
use crate::output::{Output, pretty};
use crate::report::Cells;
use crate::resources::ResourceArgs;
use crate::table::{counted, shell};
use crate::watching::{Tally, Watching};

const EXAMPLES: &str = "\
Examples:
  cfqp compare train.npz --eval test.npz --classes 3 --out comparison
  cfqp compare train.npz --eval test.npz --methods deep-ite,sc,cfqp --seeds 1
  cfqp compare digits.npz --eval more.npz --classes 6 --window 1 --out digits --json

Methods: deep-ite (one model for all), sc (synthetic control), deep-scm (normalising flow),
diff-scm (diffusion), cfqp-kmeans and cfqp-gmm (the published algorithm), cfqp (this program's
own), oracle (the same, told the true classes; needs z in both files).
All learn from FILE alone; the truth in --eval (t_new, y_new, if it is there z) only judges them.
With --out, DIR gets results.json, table.md, table.tex and, in runs, every finished run: the same
command again goes on where it stopped.";

/// Compare methods on units whose counterfactuals are known
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// What the methods learn from: a .npz file with x, t and y
    file: PathBuf,
    /// Units and their truth: a .npz file with x, t, y, t_new, y_new and optionally z
    #[arg(long, value_name = "FILE")]
    eval: PathBuf,
    /// Which methods, comma-separated [default: all that the files allow]
    #[arg(long, value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// How many hidden classes; auto: cfqp chooses, and the published algorithm takes its choice over
    #[arg(long, value_name = "K|auto", default_value = "auto", value_parser = parse_classes)]
    classes: Classes,
    /// Each method runs with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = up_to(1000))]
    seeds: usize,
    /// The base model of deep-ite, cfqp and oracle [auto: the best on held-out units] and of the published
    /// algorithm [auto: a U-Net for series and images]
    #[arg(long, default_value = "auto", value_parser = choice::<Base>(&BASES))]
    base: Base,
    /// Epochs of each network's last training [default: by method, base model and units]
    #[arg(long, value_name = "N", value_parser = up_to(1_000_000))]
    epochs: Option<usize>,
    /// Adam's step size, for every method [default: by method and base model]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// How much of a unit's noise cfqp and oracle take to be the same in both worlds, from 0 to 1
    #[arg(long, value_name = "R", default_value_t = 1.0, value_parser = finite, allow_negative_numbers = true)]
    rho: f32,
    /// How far the treatment of a donor of sc may be from the one asked about, in units of t
    #[arg(long, value_name = "W", default_value_t = 0.1, value_parser = finite, allow_negative_numbers = true)]
    window: f32,
    /// The folder for results, tables and finished runs
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
}

pub(super) fn method_parser() -> impl clap::builder::TypedValueParser<Value = Method> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Method::ALL.map(Method::name))
        .map(|name| Method::ALL.into_iter().find(|method| method.name() == name).expect("it is one of them"))
}

impl CompareArgs {
    fn comparison(&self, told: bool) -> Comparison {
        let mut methods = self.methods.clone();
        if methods.is_empty() {
            methods.extend(Method::ALL.iter().filter(|method| told || **method != Method::Oracle));
        }
        let mut seen = Vec::new();
        methods.retain(|method| {
            !seen.contains(method) && {
                seen.push(*method);
                true
            }
        });
        let (classes, base, epochs, learning_rate) =
            (self.classes, self.base, self.epochs, self.learning_rate);
        let fit = FitConfig { classes, base, epochs, learning_rate, ..FitConfig::default() };
        let sc = SyntheticControlConfig { window: self.window };
        let config = MethodConfig { fit, sc, rho: self.rho, ..MethodConfig::default() };
        Comparison { methods, seeds: (1..=self.seeds as u64).collect(), config }
    }
}

/// What `--json` prints and `results.json` holds.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    file: &'a Path,
    eval: &'a Path,
    comparison: &'a Comparison,
    summaries: &'a [Summary],
    runs: &'a [Run],
}

pub fn run(args: &CompareArgs, show: &Show) -> Result<Output> {
    let resources = args.resources.resolve()?;
    let (train, test) = (Dataset::read_npz(&args.file)?, Dataset::read_npz(&args.eval)?);
    let (train_z, truth) = (read_classes(&args.file)?, read_truth(&args.eval)?);
    let trial = Trial {
        train: &train,
        train_z: train_z.as_deref(),
        test: &test,
        truth: &truth,
        effects: None,
        showcase: None,
    };
    let comparison = args.comparison(train_z.is_some() && truth.z.is_some());
    comparison.check(&trial)?;
    let folder = args.out.as_deref().map(make_folder).transpose()?;
    interrupt::listen();
    let planned = comparison.seeds.iter().flat_map(|_| comparison.methods.clone());
    let tally = Mutex::new(Tally::new(planned.map(|method| (String::new(), method))));
    let watching = Watching::new(*show, "", &tally);
    let runs = comparison.run(&trial, &resources, folder.as_deref(), &watching);
    drop(watching);
    let runs = runs.map_err(|error| explain(error, args.out.as_deref()))?;
    let (summaries, version) = (summarise(&runs), env!("CARGO_PKG_VERSION"));
    let report = Report {
        version,
        file: &args.file,
        eval: &args.eval,
        comparison: &comparison,
        summaries: &summaries,
        runs: &runs,
    };
    let cells = Cells::new(&summaries);
    let mut text =
        format!("{}, {}\n", counted(test.len(), "unit"), counted(args.seeds, "seed")) + &cells.text();
    for run in runs.iter().filter(|run| run.scores.is_none()) {
        let problem = run.error.as_deref().unwrap_or("no reason given");
        text += &format!("note: {} failed with seed {}: {problem}\n", run.method.name(), run.seed);
    }
    if let Some(out) = &args.out {
        write_results(out, &report, &cells)?;
        text += &format!("wrote results.json, table.md and table.tex to {}\n", shell(out));
    }
    Output::new(text, &report)
}

/// The folder for finished runs in `out`.
pub fn make_folder(out: &Path) -> Result<PathBuf> {
    let runs = out.join("runs");
    std::fs::create_dir_all(&runs).map_err(|error| Failure::io(out, error))?;
    Ok(runs)
}

/// How to go on after an interruption.
pub fn explain(error: cfqp::Error, out: Option<&Path>) -> Failure {
    match (error, out) {
        (cfqp::Error::Interrupted, Some(out)) => Failure::interrupted(format!(
            "finished runs are in {}: give the same command again to go on",
            out.join("runs").display()
        )),
        (cfqp::Error::Interrupted, None) => {
            Failure::interrupted("nothing was kept: give --out DIR to keep finished runs")
        }
        (error, _) => error.into(),
    }
}

fn write_results(out: &Path, report: &Report<'_>, cells: &Cells) -> Result<()> {
    write_text(&out.join("results.json"), &pretty(report)?)?;
    write_text(&out.join("table.md"), &cells.markdown())?;
    write_text(&out.join("table.tex"), &cells.latex())
}
