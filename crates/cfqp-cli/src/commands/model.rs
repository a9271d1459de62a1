//! `cfqp model`: shows the contents of a model file, and exports its networks.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::data::table::{TableForm, TreatmentColumn};
use cfqp::{Base, FitConfig, FitReport, Layout, Model, Resources};

use crate::error::Result;
use crate::fit_summary::{sharing_name, summarise_fit};
use crate::format::{align_facts, pluralise, shell_quote};
use crate::output::{Output, path_text};

/// Inspect or export a model file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model show model.cfqp
  cfqp model show model.cfqp --json
  cfqp model export model.cfqp --onnx networks")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    Show(ShowArgs),
    Export(ExportArgs),
}

/// Show the contents of a model file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model show model.cfqp
  cfqp model show model.cfqp --json | jq .config")]
struct ShowArgs {
    /// The model file
    model: PathBuf,
}

/// Write the networks of a model for other programs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model export model.cfqp --onnx networks
  cfqp model export model.cfqp --onnx networks --json | jq .files

DIR gets one file member-I.onnx (opset 17) for every member and model.json. A file has the inputs x [n, ...] and t [n, d], in the \
units of the data, and for every class the outputs mean and scale [n, K, ...] and log_weight [n, K]; docs/ONNX.md describes them and \
has the Python for abduction and prediction. Intervals and warnings are not exported.
DIR must be new or empty. Models of outcomes that are not numbers cannot be exported.")]
struct ExportArgs {
    /// The model file
    model: PathBuf,
    /// Write ONNX files to this new folder
    #[arg(long, value_name = "DIR")]
    onnx: PathBuf,
}

/// The JSON of `show`.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "path_text")]
    model: &'a Path,
    classes: usize,
    base: Base,
    sharing: &'a str,
    members: usize,
    x_shape: &'a [usize],
    treatments: usize,
    y_shape: &'a [usize],
    missing_values: bool,
    scales_depend_on_treatment: bool,
    weights_depend_on_x: bool,
    data_hash: Option<&'a str>,
    layout: Option<&'a Layout>,
    config: &'a FitConfig,
    fit: &'a FitReport,
}

/// The JSON of `export`.
#[derive(Serialize)]
struct Export<'a> {
    #[serde(serialize_with = "path_text")]
    model: &'a Path,
    #[serde(serialize_with = "path_text")]
    onnx: &'a Path,
    members: usize,
    files: Vec<String>,
    bytes: u64,
}

pub(super) fn run(args: &ModelArgs) -> Result<Output> {
    match &args.command {
        ModelCommand::Show(args) => show(args),
        ModelCommand::Export(args) => export(args),
    }
}

fn export(args: &ExportArgs) -> Result<Output> {
    let fitted = Model::load(&args.model, &Resources::default())?;
    let files = fitted.export_onnx(&args.onnx)?;
    let size = |file: &PathBuf| file.metadata().map_or(0, |file| file.len());
    let report = Export {
        model: &args.model,
        onnx: &args.onnx,
        members: fitted.members(),
        bytes: files.iter().map(size).sum(),
        files: files.iter().map(|file| file.display().to_string()).collect(),
    };
    let (members, kilobytes) = (pluralise(report.members, "network file"), report.bytes.div_ceil(1000));
    let text = format!("wrote {members} and model.json to {} ({kilobytes} kB)\n", shell_quote(&args.onnx));
    Output::new(text, &report)
}

fn show(args: &ShowArgs) -> Result<Output> {
    let fitted = Model::load(&args.model, &Resources::default())?;
    let shapes = fitted.shapes();
    let (scales, weights) = (fitted.scale_depends_on_treatment(), fitted.weights_depend_on_covariates());
    let report = Report {
        model: &args.model,
        classes: fitted.classes(),
        base: fitted.base(),
        sharing: sharing_name(&fitted),
        members: fitted.members(),
        x_shape: &shapes.x,
        treatments: shapes.t,
        y_shape: &shapes.y,
        missing_values: shapes.missing,
        scales_depend_on_treatment: scales,
        weights_depend_on_x: weights,
        data_hash: fitted.data_hash(),
        layout: fitted.layout(),
        config: fitted.config(),
        fit: fitted.fit_report(),
    };
    let dependence =
        |varies, what: &str| if varies { format!("depend on {what}") } else { "constant".to_owned() };
    let mut rows = vec![
        ("x", format!("{:?}{}", shapes.x, if shapes.missing { ", with missing values" } else { "" })),
        ("t", format!("[{}]", shapes.t)),
        ("y", format!("{:?}", shapes.y)),
        ("noise scales", dependence(scales, "the treatment")),
        ("class weights", dependence(weights, "x")),
        ("seed", fitted.config().seed.to_string()),
    ];
    rows.extend(fitted.data_hash().map(|hash| ("hash of its data", hash.to_owned())));
    rows.extend(fitted.layout().map(|layout| ("columns", describe_columns(layout))));
    Output::new(
        format!("{}\n{}{}", shell_quote(&args.model), align_facts(&rows), summarise_fit(&fitted)),
        &report,
    )
}

/// The columns of the table that a model was fitted to.
fn describe_columns(layout: &Layout) -> String {
    let id = layout.id.as_ref().map_or(String::new(), |id| format!("id {id}; "));
    let treatment = |column: &TreatmentColumn| match &column.levels {
        None => column.name.clone(),
        Some(levels) => format!("{} (levels {})", column.name, levels.join(", ")),
    };
    let t = layout.t.iter().map(treatment).collect::<Vec<_>>().join(", ");
    match &layout.form {
        TableForm::Wide { x, y } => {
            let x = if layout.has_covariates() { x.columns().join(", ") } else { "none".to_owned() };
            format!("{id}x {x}; t {t}; y {}", y.columns().join(", "))
        }
        TableForm::Long(long) => format!("{id}time {}; series {}; t {t}", long.time, long.series.join(", ")),
    }
}
