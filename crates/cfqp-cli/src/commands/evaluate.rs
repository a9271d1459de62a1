//! `cfqp evaluate`: a model's answers against the truth.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use cfqp::{Evaluation, Fitted, evaluate, read_truth};

use super::AskArgs;
use crate::args::Show;
use crate::error::Result;
use crate::load::read_for;
use crate::output::Output;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{counted, facts, percent, small};

const EXAMPLES: &str = "\
Examples:
  cfqp evaluate model.cfqp test.npz
  cfqp evaluate model.cfqp test.npz --rho 0 --json     the noise of both worlds was drawn apart
  cfqp evaluate model.cfqp test.csv --truth test.truth.npz

An .npz FILE holds x, t, y and the truth: t_new, y_new and, for the classes' accuracy, z. With a \
table, the truth of its units, in their order, stands in a file of its own.";

/// Compare a model's answers with the truth, where it is known
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EvaluateArgs {
    /// The model
    model: PathBuf,
    /// Units and their truth: a .npz file with x, t, y, t_new, y_new and optionally z; or a table
    file: PathBuf,
    /// The truth of the units: a .npz file with t_new, y_new and optionally z [default: FILE]
    #[arg(long, value_name = "FILE.npz")]
    truth: Option<PathBuf>,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    evaluation: Evaluation,
    classes: usize,
    peak_rss_mb: Option<f64>,
}

pub fn run(args: &EvaluateArgs, show: &Show) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    let fitted = Fitted::load(&args.model, &resources)?;
    let data = read_for(&args.file, &fitted, show)?;
    let truth = read_truth(args.truth.as_ref().unwrap_or(&args.file))?;
    let evaluation = evaluate(&fitted, &data, &truth, &ask)?;
    let report = Report { evaluation, classes: fitted.classes(), peak_rss_mb: peak_rss_mb() };
    Output::new(summary(&report), &report)
}

fn summary(report: &Report) -> String {
    let found = &report.evaluation;
    let mut rows = vec![
        (
            "counterfactual mse",
            format!("{} ({} in units of y)", small(found.cf_mse), small(found.cf_mse_raw)),
        ),
        ("without the unit's own noise", format!("{} (rho 0)", small(found.cf_mse_rho0))),
    ];
    rows.extend(found.ssim.map(|ssim| ("structural similarity", format!("{ssim:.3}"))));
    if let (Some(accuracy), Some(ari)) = (found.class_accuracy, found.ari) {
        rows.push(("class accuracy", format!("{} (adjusted Rand index {ari:.3})", percent(accuracy))));
    }
    let level = format!("{} at level {}", percent(found.coverage), found.ask.level);
    rows.extend([
        ("interval coverage", format!("{level}, mean width {}", small(found.width))),
        ("answers without a flag", percent(found.ok)),
        ("seconds", format!("{:.2}", found.query_seconds)),
    ]);
    format!("{}, rho {}\n{}", counted(found.units, "unit"), found.ask.rho, facts(&rows))
}
