//! `cfqp fit`: fits a model to data.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::data::table::TableSummary;
use cfqp::models::YScale;
use cfqp::{
    Base, Classes, Dataset, Fit, FitConfig, FitReport, Model, Monitor, Recipe, Resources, Sharing, Start,
};

use crate::args::{OutputArgs, parse_choice, parse_count};
use crate::columns::TableArgs;
use crate::error::{Failure, Result};
use crate::files::{check_out, checkpoint, remove_checkpoint};
use crate::fit_summary::{sharing_name, summarise_fit};
use crate::format::shell_quote;
use crate::interrupt;
use crate::load::{FitData, Input, resolve_input};
use crate::memory::given_budget;
use crate::output::{Output, path_text};
use crate::progress::Progress;
use crate::resources::{MemorySaver, ResourceArgs, peak_rss_mb};

const MAX_MEMBERS: usize = 1000;
const MAX_EPOCHS: usize = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  cfqp fit patients.csv --x age,sex,'bp_*' --t dose --y outcome --id patient --out model.cfqp
  cfqp fit samples.csv --id patient --time min --series pa,pv --t dose --treated-at 20 --out m.cfqp
  cfqp fit patients.csv --x age,sex --t dose --y cost --y-scale log --out model.cfqp
  cfqp fit study.toml                         settings in a file; flags override the file
  cfqp fit data.npz --out model.cfqp
  cfqp fit train.npz --valid valid.npz --classes 3 --base mlp --out model.cfqp
  cfqp fit data.npz --recipe paper --base unet --classes 3 --out paper.cfqp
  cfqp fit data.npz --out model.cfqp --resume     continues an interrupted fit

An outcome of at most 8 elements is fitted by mixture density networks, unless --base is unet or transformer. --init, \
--sharing, --epochs and --learning-rate then have no effect. Every unit is held out in \
turn, so units of --valid are only joined to those of FILE: cross-validation takes the place of the split.
--classes auto takes, for outcomes of at most 8 elements, the smallest number of classes that no larger one beats by \
more than 2 standard errors of the held-out log-likelihood, without a penalty; for larger outcomes, the smallest \
number that no larger one beats by more than two standard errors and a penalty per class (cfqp select --help).
A table to which a fit would need more than --max-memory (4GB unless given) is explored on a sample of 50,000 rows, and the \
members of the ensemble are then trained on parts of all rows, which are in a temporary file in TMPDIR. This needs \
outcomes of at most 8 elements, one row per unit and no --valid.
A table has one row per unit or, with --time, one row per sample. `cfqp check` shows what is read. The model \
stores the columns: later commands need no flags for them.
An .npz file has x [n, ...], t [n] or [n, d], y [n, ...] and, if values are missing, x_mask and y_mask (true \
for observed values). z, t_new and y_new are allowed and ignored.
A study file has data = \"samples.csv\", out = \"model.cfqp\", then [table] with x, t, y, id, time, series, \
treated_at, ... and [fit] with classes, base, seed, ... like the flags. Its paths are relative to its folder.";

/// Fit a model: find the hidden classes and how each of them responds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FitArgs {
    /// The data: .csv, .parquet, .arrow or .npz; or a study file, .toml
    file: PathBuf,
    /// The model file to write
    #[arg(long, value_name = "MODEL.cfqp")]
    out: Option<PathBuf>,
    /// Data for selection and calibration [default: a part of FILE, or every unit in turn]; for outcomes of at most 8
    /// elements they are joined to the units of FILE
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    #[command(flatten)]
    settings: FitSettingArgs,
    /// Number of hidden classes; auto: the smallest number that no larger one beats on held-out units, by the rule below
    /// [default: auto]
    #[arg(long, value_name = "K|auto", value_parser = parse_classes)]
    classes: Option<Classes>,
    /// The maximum number of classes that auto tries [default: 9]
    #[arg(long, value_name = "K")]
    max_classes: Option<usize>,
    /// default: several starts, an ensemble, calibrated intervals; paper: the published algorithm
    #[arg(long, value_parser = parse_choice::<Recipe>(&["default", "paper"]))]
    recipe: Option<Recipe>,
    /// Number of ensemble members; for outcomes of at most 8 elements of each form that is averaged, up to 5 [default: 5 there,
    /// else depends on the base model]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_MEMBERS))]
    members: Option<usize>,
    /// Continue an interrupted fit to the same --out from its checkpoint, if it has one
    #[arg(long)]
    resume: bool,
    /// Replace an existing model file or the checkpoint of an interrupted fit
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Settings of a fit that `select` shares.
#[derive(Debug, Args)]
pub(super) struct FitSettingArgs {
    /// Starts of EM, comma-separated [default: several; kmeans for --recipe paper]
    #[arg(long, value_delimiter = ',', value_parser = parse_choice::<Start>(&STARTS))]
    init: Vec<Start>,
    /// Base model; auto: the one that predicts held-out units best [default: auto]
    #[arg(long, value_parser = parse_choice::<Base>(&BASES))]
    base: Option<Base>,
    /// Scale on which outcomes are modelled; auto: for positive outcomes of at most 8 elements the better of both on
    /// held-out units, else linear; log: for such outcomes only [default: auto]
    #[arg(long, value_parser = parse_choice::<YScale>(&["auto", "linear", "log"]))]
    y_scale: Option<YScale>,
    /// separate: one network per class; conditional: one shared network with the class as input; auto: the better one
    /// on held-out units [default: auto]
    #[arg(long, value_parser = parse_choice::<Sharing>(&["auto", "separate", "conditional"]))]
    sharing: Option<Sharing>,
    /// Epochs of each network's final training [default: depends on base model and units]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_EPOCHS))]
    epochs: Option<usize>,
    /// Learning rate of Adam [default: depends on the base model]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// Random seed; equal data, settings and seed give an equal model [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl FitSettingArgs {
    /// `config`, overridden by the flags that are given.
    pub(super) fn override_config(&self, config: FitConfig) -> FitConfig {
        FitConfig {
            starts: if self.init.is_empty() { config.starts } else { self.init.clone() },
            base: self.base.unwrap_or(config.base),
            y_scale: self.y_scale.unwrap_or(config.y_scale),
            sharing: self.sharing.unwrap_or(config.sharing),
            epochs: self.epochs.or(config.epochs),
            learning_rate: self.learning_rate.or(config.learning_rate),
            seed: self.seed.unwrap_or(config.seed),
            ..config
        }
    }
}

const STARTS: [&str; 7] =
    ["kmeans", "gmm", "kmeans-scaled", "kmeans-unit", "kmeans-outcome", "annealed", "scratch"];
/// The names of the base models.
pub(super) const BASES: [&str; 5] = ["auto", "linear", "mlp", "unet", "transformer"];

/// Parses a number of classes or `auto`.
pub(super) fn parse_classes(text: &str) -> Result<Classes, String> {
    match text {
        "auto" => Ok(Classes::Auto),
        _ => text.parse().map(Classes::Given).map_err(|_| "expected a number or auto".to_owned()),
    }
}

impl FitArgs {
    /// The data and settings: the study, overridden by the flags.
    pub(crate) fn resolve(&self) -> Result<Input> {
        let mut input = resolve_input(&self.file, &self.table)?;
        input.valid = self.valid.clone().or(input.valid);
        input.out = self.out.clone().or(input.out);
        let config = self.settings.override_config(input.config);
        input.config = FitConfig {
            recipe: self.recipe.unwrap_or(config.recipe),
            classes: self.classes.unwrap_or(config.classes),
            max_classes: self.max_classes.unwrap_or(config.max_classes),
            members: self.members.or(config.members),
            ..config
        };
        if input.config.recipe == Recipe::Paper && input.config.starts.is_empty() {
            input.config.starts = vec![Start::Kmeans];
        }
        input.config.validate()?;
        Ok(input)
    }

    /// The resources of the fit, after checking that its files can be written.
    fn resolve_resources(&self, input: &Input, out: &Path) -> Result<Resources> {
        let resources = self.resources.resolve()?;
        check_out(out, self.force, &input.files(&self.file))?;
        let part = checkpoint(out);
        if part.exists() && !self.resume && !self.force {
            let message = format!("{}: left by an interrupted fit", part.display());
            return Err(Failure::new(message, "use --resume to continue it, or --force to start over"));
        }
        let memory = given_budget();
        Ok(Resources { checkpoint: Some(part), resume: self.resume, memory, ..resources })
    }
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
    seconds: f64,
    peak_rss_mb: Option<f64>,
    data: &'a TableSummary,
    #[serde(flatten)]
    fit: &'a FitReport,
}

pub(super) fn run(args: &FitArgs, output: &OutputArgs) -> Result<Output> {
    let input = args.resolve()?;
    let out = input.out.as_deref().ok_or_else(|| {
        Failure::new("--out is missing", "name the model file to write, for example --out model.cfqp")
    })?;
    let resources = args.resolve_resources(&input, out)?;
    let start = Instant::now();
    let data = load(&input, &resources, output)?;
    data.check(&input, output)?;
    let valid = input.load_valid(data.layout(), output)?;
    interrupt::stop_between_steps();
    let fitted = fit(&data, valid.as_ref(), &input.config, &resources, output);
    let fitted = fitted.map_err(|error| explain(error, &checkpoint(out), args.resume))?;
    let seconds = start.elapsed().as_secs_f64();
    fitted.save(out)?;
    remove_checkpoint(&checkpoint(out))?;
    let report = Report {
        model: out,
        classes: fitted.classes(),
        base: fitted.base(),
        sharing: sharing_name(&fitted),
        members: fitted.members(),
        seconds,
        peak_rss_mb: peak_rss_mb(),
        data: data.counts(),
        fit: fitted.fit_report(),
    };
    let next = next_commands(&fitted, out, &input.data);
    let text = format!("{}wrote {} in {seconds:.1} s\n{next}", summarise_fit(&fitted), shell_quote(out));
    Output::new(text, &report)
}

/// Reads the data. It does not ask whether to stop: it leaves nothing behind if the program ends at once.
fn load(input: &Input, resources: &Resources, output: &OutputArgs) -> Result<FitData> {
    let progress = Progress::new(output, "read");
    input.load_for(&Fit::new(input.config.clone()).resources(resources.clone()).monitor(&progress))
}

fn fit(
    data: &FitData,
    valid: Option<&Dataset>,
    config: &FitConfig,
    resources: &Resources,
    output: &OutputArgs,
) -> cfqp::Result<Model> {
    let progress = Progress::new(output, "fit");
    let is_image = data.counts().y_shape.len() == 3;
    let saver = is_image.then(|| MemorySaver::new(&progress));
    let monitor = saver.as_ref().map_or(&progress as &dyn Monitor, |saver| saver);
    let fit = Fit::new(config.clone()).resources(resources.clone()).monitor(monitor);
    match valid {
        Some(valid) => data.fit(&fit.validate_on(valid)),
        None => data.fit(&fit),
    }
}

fn next_commands(fitted: &Model, model: &Path, data: &Path) -> String {
    let (model, data) = (shell_quote(model), shell_quote(data));
    match fitted.layout() {
        None => format!("next: cfqp query {model} {data} --treatment T --out answers.npz\n"),
        Some(_) => format!(
            "next: cfqp diagnose {model} {data}\n      \
             cfqp query {model} {data} --treatment T --out answers.csv\n      \
             cfqp report {model} {data} --out report.html\n"
        ),
    }
}

/// Adds a hint on how to continue. A checkpoint that cannot help is removed.
fn explain(error: cfqp::Error, checkpoint: &Path, resumed: bool) -> Failure {
    match error {
        cfqp::Error::Interrupted if checkpoint.exists() => Failure::interrupted(format!(
            "finished work is in {}: run the same command with --resume to continue",
            checkpoint.display()
        )),
        cfqp::Error::Interrupted => {
            Failure::interrupted("there is no checkpoint to continue from: run the command again")
        }
        // for example a full disk: the finished work can still be used
        error @ cfqp::Error::Io { .. } => error.into(),
        error => {
            if !resumed {
                // the same settings would fail again; the error matters more than a file that cannot be removed
                let _ = std::fs::remove_file(checkpoint);
            }
            error.into()
        }
    }
}
