//! `cfqp evaluate`: compares a model's answers with known counterfactuals.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::Model;
use cfqp::ask::RhoSource;
use cfqp::data::table::FileFormat;
use cfqp::eval::{Evaluation, evaluate, read_truth};

use super::ask::{AskArgs, SourceArgs};
use crate::args::OutputArgs;
use crate::error::{Failure, Result};
use crate::format::{align_facts, format_percent, format_short, pluralise};
use crate::load::read_units;
use crate::output::Output;
use crate::resources::peak_rss_mb;

const EXAMPLES: &str = "\
Examples:
  cfqp evaluate model.cfqp test.npz
  cfqp evaluate model.cfqp test.npz --rho 0 --json     for data with fresh noise
  cfqp evaluate model.cfqp test.csv --truth test.truth.npz

An .npz FILE has x, t, y and the truth: t_new, y_new and, for the accuracy of classes, z. For a table, \
--truth names an .npz file with the truth of its units, in the same order. Where the truth has y_bayes, the \
best answers that the observed values allow (simulate table), their error is printed as the Bayes limit. \
The first error is divided by the variance of x in the training units (images: in pixels), the limit by the \
variance of y in FILE.

Answers about yes/no outcomes and categories (elements of 0 or 1 of which every unit has one 1) are probabilities. Their log \
loss is the mean of -log of the probability of what happened, clipped to [0.001, 0.999]; intervals are compared with y_bayes.";

const FILE_HELP: &str =
    "The units and their truth: an .npz file with x, t, y, t_new, y_new and optionally z; or a table";

/// Compare a model's answers with known counterfactuals
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("file", |arg| arg.help(FILE_HELP)))]
#[command(mut_arg("rho", |arg| arg.default_value("1")))]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The truth: an .npz file with t_new, y_new and optionally z [default: FILE]
    #[arg(long, value_name = "FILE.npz")]
    truth: Option<PathBuf>,
    #[command(flatten)]
    ask: AskArgs,
}

impl EvaluateArgs {
    /// The file with the truth: --truth, or FILE if it has arrays.
    fn truth_file(&self) -> Result<&Path> {
        let file = &self.source.file;
        match &self.truth {
            Some(truth) => Ok(truth),
            None if FileFormat::from_path(file) == Some(FileFormat::Npz) => Ok(file),
            None => Err(Failure::new(
                format!("{}: a table needs --truth", file.display()),
                "give --truth FILE.npz with t_new, y_new and optionally z of the units of the table, in the same order",
            )),
        }
    }
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    evaluation: Evaluation,
    classes: usize,
    /// Whether these are the units that the model was fitted to.
    is_training_data: bool,
    #[serde(skip)]
    is_image: bool,
    peak_rss_mb: Option<f64>,
}

pub(super) fn run(args: &EvaluateArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let truth_file = args.truth_file()?;
    let SourceArgs { model, file } = &args.source;
    let fitted = Model::load(model, &settings.resources)?;
    let data = read_units(fitted.read_units(file, None)?, file, output)?;
    let truth = read_truth(truth_file)?;
    let evaluation = evaluate(&fitted, &data, &truth, settings.ask)?;
    let is_image = truth.y_new.shape().len() == 3;
    let report = Report {
        evaluation,
        classes: fitted.classes(),
        is_training_data: fitted.is_fitted_to(&data),
        is_image,
        peak_rss_mb: peak_rss_mb(),
    };
    Output::new(summary(&report), &report)
}

/// The error in all its units.
fn errors(report: &Report) -> String {
    let found = &report.evaluation;
    let unit = if report.is_image { "in pixels" } else { "in variances of x" };
    let mut others = vec![format!("{} in units of y", format_short(found.cf_mse_raw))];
    others.extend(found.cf_mse_y.map(|error| format!("{} in variances of y", format_short(error))));
    format!("{} {unit} ({})", format_short(found.cf_mse), others.join(", "))
}

/// The limit, and the error as a multiple of it.
fn format_limit(limit: f64, ratio: Option<f64>) -> String {
    let limit = format!("{} in variances of y", format_short(limit));
    ratio.map_or(limit.clone(), |ratio| format!("{limit}; the error is {ratio:.2} times the limit"))
}

/// The log loss, its limit, and the former as a multiple of the latter.
fn format_log_loss(log_loss: f64, limit: Option<f64>, ratio: Option<f64>) -> String {
    let mut text = format_short(log_loss);
    text.extend(limit.map(|limit| format!("; Bayes limit {}", format_short(limit))));
    text.extend(ratio.map(|ratio| format!("; the log loss is {ratio:.2} times the limit")));
    text
}

/// The coverage of the intervals and their width.
fn format_coverage(found: &Evaluation) -> String {
    let width = format!("mean width {}", format_short(found.width));
    let Some(coverage) = found.coverage else {
        return format!("not known without the best probabilities (y_bayes), {width}");
    };
    let whose = if found.covers_probabilities { " of the best probabilities" } else { "" };
    format!("{}{whose} at level {}, {width}", format_percent(coverage), found.level)
}

fn summary(report: &Report) -> String {
    let found = &report.evaluation;
    let mut rows = vec![("counterfactual MSE", errors(report))];
    rows.extend(found.limit.map(|limit| ("Bayes limit", format_limit(limit, found.ratio))));
    let log_loss = |loss| format_log_loss(loss, found.log_loss_limit, found.log_loss_ratio);
    rows.extend(found.log_loss.map(|loss| ("log loss", log_loss(loss))));
    rows.push(("with fresh noise (rho = 0)", format_short(found.cf_mse_rho0)));
    rows.extend(found.ssim.map(|ssim| ("structural similarity", format!("{ssim:.3}"))));
    if let (Some(accuracy), Some(ari)) = (found.class_accuracy, found.ari) {
        rows.push(("class accuracy", format!("{} (adjusted Rand index {ari:.3})", format_percent(accuracy))));
    }
    rows.extend([
        ("interval coverage", format_coverage(found)),
        ("answers without warnings", format_percent(found.ok)),
        ("seconds", format!("{:.2}", found.query_seconds)),
    ]);
    if report.is_training_data {
        rows.push((
            "note",
            "the model was fitted to these units: expect larger errors on new ones".to_owned(),
        ));
    }
    let rho = match (found.rho.rho, found.rho.source) {
        (Some(rho), RhoSource::Given) => format!("rho = {rho}"),
        _ => format!("rho: {}", found.rho),
    };
    format!("{}, {rho}\n{}", pluralise(found.units, "unit"), align_facts(&rows))
}
