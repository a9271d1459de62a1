//! `cfqp model`: shows the contents of a model file.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::data::table::{TableForm, TreatmentColumn};
use cfqp::{Base, FitConfig, FitReport, Layout, Model, Resources};

use crate::error::Result;
use crate::fit_summary::{sharing_name, summarise_fit};
use crate::format::{align_facts, shell_quote};
use crate::output::{Output, path_text};

/// Inspect a model file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model show model.cfqp
  cfqp model show model.cfqp --json")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    Show(ShowArgs),
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

/// The JSON of the command.
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

pub(super) fn run(args: &ModelArgs) -> Result<Output> {
    let ModelCommand::Show(args) = &args.command;
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
