//! `cfqp fit`: from data to a model that can be asked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{
    Base, Classes, Counts, FitConfig, FitReport, Fitted, Monitor, Recipe, Resources, Sharing, Start, Tried,
};

use crate::args::{Show, choice, up_to};
use crate::columns::TableArgs;
use crate::error::{Failure, Result};
use crate::files::{check_out, checkpoint, remove_checkpoint};
use crate::interrupt;
use crate::load::{Input, input};
use crate::output::Output;
use crate::progress::Progress;
use crate::resources::{ResourceArgs, Sparing, peak_rss_mb};
use crate::table::{count, counted, shell, small, table};

const EXAMPLES: &str = "\
Examples:
  cfqp fit patients.csv --x age,sex,'bp_*' --t dose --y outcome --id patient --out model.cfqp
  cfqp fit samples.csv --id patient --time min --series pa,pv --t dose --treated-at 20 --out m.cfqp
  cfqp fit study.toml                         all of this in a file; flags go before it
  cfqp fit data.npz --out model.cfqp
  cfqp fit train.npz --valid valid.npz --classes 3 --base mlp --out model.cfqp
  cfqp fit data.npz --recipe paper --base unet --classes 3 --out paper.cfqp
  cfqp fit data.npz --out model.cfqp --resume after an interruption

A table has a row per unit, or, with --time, a row per sample. `cfqp check` shows what would be read. \
The model remembers the columns: later commands need no flags for them.
An .npz file holds x [n, ...], t [n] or [n, d], y [n, ...] and, where values are missing, x_mask and y_mask \
(true where a value was observed). z, t_new and y_new may be there and are never read.
A study: data = \"samples.csv\", out = \"model.cfqp\", then [table] with x, t, y, id, time, series, \
treated_at, ... and [fit] with classes, base, seed, ... as the flags; paths are relative to its own folder.";

/// Fit a model: find the hidden classes and how each responds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FitArgs {
    /// The data: .csv, .parquet, .arrow or .npz; or a study, .toml
    file: PathBuf,
    /// The model file to write
    #[arg(long, value_name = "MODEL.cfqp")]
    out: Option<PathBuf>,
    /// Data to choose and calibrate on [default: taken out of FILE]
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
    /// How many hidden classes; auto: as many as held-out units support [default: auto]
    #[arg(long, value_name = "K|auto", value_parser = parse_classes)]
    classes: Option<Classes>,
    /// The most classes that auto tries [default: 9]
    #[arg(long, value_name = "K")]
    max_classes: Option<usize>,
    /// default: several starts, an ensemble, calibrated intervals; paper: the published algorithm
    #[arg(long, value_parser = choice::<Recipe>(&["default", "paper"]))]
    recipe: Option<Recipe>,
    /// Members of the ensemble [default: by base model]
    #[arg(long, value_name = "N", value_parser = up_to(1000))]
    members: Option<usize>,
    /// Go on from where an interrupted fit to the same --out stopped
    #[arg(long)]
    resume: bool,
    /// Replace the model file, or the rest of an interrupted fit, if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Settings of every fit.
#[derive(Debug, Args)]
pub struct SettingArgs {
    /// Where EM starts from, one or more, comma-separated [default: several; kmeans for the paper's recipe]
    #[arg(long, value_delimiter = ',', value_parser = choice::<Start>(&STARTS))]
    init: Vec<Start>,
    /// The base model; auto: the one that predicts held-out units best [default: auto]
    #[arg(long, value_parser = choice::<Base>(&BASES))]
    base: Option<Base>,
    /// A network per class, or one that is told the class; auto: the better on held-out units [default: auto]
    #[arg(long, value_parser = choice::<Sharing>(&["auto", "separate", "conditional"]))]
    sharing: Option<Sharing>,
    /// Epochs of each network's last training [default: by base model and units]
    #[arg(long, value_name = "N", value_parser = up_to(1_000_000))]
    epochs: Option<usize>,
    /// Adam's step size [default: by base model]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// Seed; equal data, settings and seed give an equal model [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SettingArgs {
    /// `config` with what the command line says instead.
    pub fn over(&self, config: FitConfig) -> FitConfig {
        FitConfig {
            starts: if self.init.is_empty() { config.starts } else { self.init.clone() },
            base: self.base.unwrap_or(config.base),
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
/// The base models by name.
pub const BASES: [&str; 5] = ["auto", "linear", "mlp", "unet", "transformer"];

/// A number of classes, or auto.
pub fn parse_classes(text: &str) -> Result<Classes, String> {
    match text {
        "auto" => Ok(Classes::Auto),
        _ => text.parse().map(Classes::Given).map_err(|_| "give a number, or auto".to_owned()),
    }
}

impl FitArgs {
    /// What is asked for, by the study and, before it, the command line.
    fn input(&self) -> Result<Input> {
        let mut input = input(&self.file, &self.table)?;
        input.valid = self.valid.clone().or(input.valid);
        input.out = self.out.clone().or(input.out);
        let config = self.settings.over(input.config);
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
        input.config.check()?;
        Ok(input)
    }

    fn resources(&self, out: &Path) -> Result<Resources> {
        let resources = self.resources.resolve()?;
        check_out(out, self.force)?;
        let part = checkpoint(out);
        if part.exists() && !self.resume && !self.force {
            let message = format!("{}: an interrupted fit left it", part.display());
            return Err(Failure::new(message, "give --resume to go on from it, or --force to start over"));
        }
        Ok(Resources { checkpoint: Some(part), resume: self.resume, ..resources })
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    model: &'a Path,
    classes: usize,
    base: &'a str,
    sharing: &'a str,
    members: usize,
    seconds: f64,
    peak_rss_mb: Option<f64>,
    data: &'a Counts,
    #[serde(flatten)]
    fit: &'a FitReport,
}

pub fn run(args: &FitArgs, show: &Show) -> Result<Output> {
    let input = args.input()?;
    let out = input.out.as_deref().ok_or_else(|| {
        Failure::new("there is no --out", "name the model file to write, such as --out model.cfqp")
    })?;
    let resources = args.resources(out)?;
    let loaded = input.load()?;
    loaded.check(&input, show)?;
    let valid = input.load_valid(loaded.layout.as_ref(), show)?;
    interrupt::listen();
    let start = Instant::now();
    let progress = Progress::new(show, "fit");
    let images = loaded.data.y().shape().len() == 3;
    let sparing = images.then(|| Sparing::new(&progress));
    let monitor = sparing.as_ref().map_or(&progress as &dyn Monitor, |sparing| sparing);
    let fitted = cfqp::fit(&loaded.data, valid.as_ref(), &input.config, &resources, monitor);
    drop(progress);
    let fitted = fitted.map_err(|error| explain(error, &checkpoint(out), args.resume))?;
    let fitted = match loaded.layout {
        Some(layout) => fitted.with_layout(layout)?,
        None => fitted,
    };
    let seconds = start.elapsed().as_secs_f64();
    fitted.save(out)?;
    remove_checkpoint(&checkpoint(out))?;
    let report = Report {
        model: out,
        classes: fitted.classes(),
        base: fitted.base(),
        sharing: sharing(&fitted),
        members: fitted.members(),
        seconds,
        peak_rss_mb: peak_rss_mb(),
        data: &loaded.counts,
        fit: fitted.report(),
    };
    let (model, file) = (shell(out), shell(&input.data));
    let next = match fitted.layout() {
        None => format!("next: cfqp query {model} {file} --treatment T --out answers.npz\n"),
        Some(_) => format!(
            "next: cfqp diagnose {model} {file}\n      cfqp query {model} {file} --treatment T --out answers.csv\n      cfqp report {model} {file} --out report.html\n"
        ),
    };
    let text = format!("{}wrote {model} in {seconds:.1} s\n{next}", summary(&fitted));
    Output::new(text, &report)
}

/// Tell how to go on, and leave nothing behind that cannot help.
fn explain(error: cfqp::Error, part: &Path, resumed: bool) -> Failure {
    match error {
        cfqp::Error::Interrupted if part.exists() => Failure::interrupted(format!(
            "what was finished is in {}: give the same command and --resume to go on",
            part.display()
        )),
        cfqp::Error::Interrupted => Failure::interrupted("nothing was finished yet: run the command again"),
        // the disk was full, say: what was finished can still be used
        error @ cfqp::Error::Io { .. } => error.into(),
        error => {
            if !resumed {
                // the same settings would fail again; that it cannot be removed matters less than why they failed
                let _ = std::fs::remove_file(part);
            }
            error.into()
        }
    }
}

/// How the classes share networks.
pub fn sharing(fitted: &Fitted) -> &'static str {
    if fitted.shares() { "conditional" } else { "separate" }
}

/// How a fit went, for people.
pub fn summary(fitted: &Fitted) -> String {
    let report = fitted.report();
    let [train, valid, calibration] = report.units.map(count);
    let mut text = tried(report) + &starts(report);
    let classes = if fitted.classes() == 1 { "class" } else { "classes" };
    let networks = if fitted.shares() { "one network, told the class" } else { "a network per class" };
    let sizes: Vec<String> = report.class_sizes.iter().map(|&size| count(size)).collect();
    let _ = writeln!(
        text,
        "fitted {} {classes} (of {} units) with {}, {networks}, {}",
        fitted.classes(),
        sizes.join(", "),
        fitted.base(),
        counted(fitted.members(), "member"),
    );
    let _ = writeln!(text, "{train} units trained, {valid} selected, {calibration} calibrated the intervals");
    let _ = writeln!(
        text,
        "held-out units: mse {}, -log likelihood {:.2}; delta_hat {}",
        small(report.val_mse),
        report.val_nll,
        small(report.delta_hat)
    );
    report.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}

fn tried(report: &FitReport) -> String {
    if report.tried.is_empty() {
        return String::new();
    }
    format!("tried, on {} held-out units:\n{}", count(report.units[1]), tried_table(&report.tried))
}

/// Base models and numbers of classes, and what held-out units say of them.
pub fn tried_table(tried: &[Tried]) -> String {
    let mut rows = vec![
        ["base", "classes", "-log likelihood", "full law", "to judge K", "mse", ""]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(tried.iter().map(|tried| {
        let mark = if tried.chosen { "<- chosen" } else { "" };
        let [nll, evidence, priced] =
            [tried.nll, tried.evidence, tried.priced()].map(|value| format!("{value:.2}"));
        let (base, classes) = (tried.base.clone(), tried.classes.to_string());
        vec![base, classes, nll, evidence, priced, small(tried.mse), mark.to_owned()]
    }));
    table(&rows)
}

fn starts(report: &FitReport) -> String {
    if report.starts.is_empty() {
        return String::new();
    }
    // a start that was tried with both kinds of sharing counts by its better try
    let mut each: Vec<(&str, f64)> = Vec::new();
    for start in &report.starts {
        if each.iter().all(|(name, _)| *name != start.start.name()) {
            each.push((start.start.name(), start.agreement));
        }
    }
    let each: Vec<String> = each.iter().map(|(name, agreement)| format!("{name} {agreement:.2}")).collect();
    format!("starts, best first, and how far their classes agree with the best: {}\n", each.join(", "))
}
