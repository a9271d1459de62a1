//! `cfqp model`: what is in a model file.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::{FitConfig, FitReport, Fitted, Form, Layout, Resources};

use super::fit::{sharing, summary};
use crate::error::Result;
use crate::output::Output;
use crate::table::{facts, shell};

/// Look into a model file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model show model.cfqp
  cfqp model show model.cfqp --json")]
pub struct ModelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Show(ShowArgs),
}

/// Show what a model file holds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp model show model.cfqp
  cfqp model show model.cfqp --json | jq .config")]
struct ShowArgs {
    /// The model
    model: PathBuf,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    model: &'a Path,
    classes: usize,
    base: &'a str,
    sharing: &'a str,
    members: usize,
    x_shape: &'a [usize],
    treatments: usize,
    y_shape: &'a [usize],
    missing_values: bool,
    scales_depend_on_treatment: bool,
    weights_depend_on_x: bool,
    layout: Option<&'a Layout>,
    config: &'a FitConfig,
    fit: &'a FitReport,
}

pub fn run(args: &ModelArgs) -> Result<Output> {
    let What::Show(args) = &args.what;
    let fitted = Fitted::load(&args.model, &Resources::default())?;
    let shapes = fitted.shapes();
    let (scales, weights) = fitted.varies();
    let report = Report {
        model: &args.model,
        classes: fitted.classes(),
        base: fitted.base(),
        sharing: sharing(&fitted),
        members: fitted.members(),
        x_shape: &shapes.x,
        treatments: shapes.t,
        y_shape: &shapes.y,
        missing_values: shapes.missing,
        scales_depend_on_treatment: scales,
        weights_depend_on_x: weights,
        layout: fitted.layout(),
        config: fitted.config(),
        fit: fitted.report(),
    };
    let varies = |yes, what: &str| if yes { format!("depend on {what}") } else { "constant".to_owned() };
    let mut rows = vec![
        ("x", format!("{:?}{}", shapes.x, if shapes.missing { ", values may be missing" } else { "" })),
        ("t", format!("[{}]", shapes.t)),
        ("y", format!("{:?}", shapes.y)),
        ("noise scales", varies(scales, "the treatment")),
        ("class weights", varies(weights, "x")),
        ("seed", fitted.config().seed.to_string()),
    ];
    rows.extend(fitted.layout().map(|layout| ("columns", columns(layout))));
    Output::new(format!("{}\n{}{}", shell(&args.model), facts(&rows), summary(&fitted)), &report)
}

/// The columns of the table that a model was fitted on.
fn columns(layout: &Layout) -> String {
    let id = layout.id.as_ref().map_or(String::new(), |id| format!("id {id}; "));
    let t = layout.t.join(", ");
    match &layout.form {
        Form::Wide { x, y } => {
            format!("{id}x {}; t {t}; y {}", x.columns().join(", "), y.columns().join(", "))
        }
        Form::Long(long) => format!("{id}time {}; series {}; t {t}", long.time, long.series.join(", ")),
    }
}
