//! `cfqp fit`: from data to a model that can be asked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{Base, Classes, Dataset, FitConfig, FitReport, Fitted, Recipe, Resources, Sharing, Start};

use crate::args::{Show, choice, up_to};
use crate::error::{Failure, Result};
use crate::files::{check_out, checkpoint, remove_checkpoint};
use crate::interrupt;
use crate::output::Output;
use crate::progress::Progress;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{count, counted, shell, small, table};

const EXAMPLES: &str = "\
Examples:
  cfqp fit data.npz --out model.cfqp
  cfqp fit train.npz --valid valid.npz --classes 3 --base mlp --out model.cfqp
  cfqp fit data.npz --recipe paper --base unet --classes 3 --out paper.cfqp
  cfqp fit data.npz --out model.cfqp --resume          after an interruption

FILE holds x [n, ...], t [n] or [n, d], y [n, ...] and, where values are missing, x_mask and y_mask
(true where a value was observed). z, t_new and y_new may be there and are never read.";

/// Fit a model: find the hidden classes and how each responds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FitArgs {
    /// The data, a .npz file with the arrays x, t and y
    file: PathBuf,
    /// The model file to write
    #[arg(long, value_name = "MODEL.cfqp")]
    out: PathBuf,
    /// Data to choose and calibrate on [default: taken out of FILE]
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    /// How many hidden classes; auto: as many as held-out units support
    #[arg(long, value_name = "K|auto", default_value = "auto", value_parser = parse_classes)]
    classes: Classes,
    /// The most classes that auto tries
    #[arg(long, value_name = "K", default_value_t = 9)]
    max_classes: usize,
    /// default: several starts, an ensemble, calibrated intervals; paper: the published algorithm
    #[arg(long, default_value = "default", value_parser = choice::<Recipe>(&["default", "paper"]))]
    recipe: Recipe,
    /// Where EM starts from, one or more, comma-separated [default: several; kmeans for the paper's recipe]
    #[arg(long, value_delimiter = ',', value_parser = choice::<Start>(&STARTS))]
    init: Vec<Start>,
    /// The base model; auto: the one that predicts held-out units best
    #[arg(long, default_value = "auto", value_parser = choice::<Base>(&BASES))]
    base: Base,
    /// A network per class, or one that is told the class; auto: the better on held-out units
    #[arg(long, default_value = "auto", value_parser = choice::<Sharing>(&["auto", "separate", "conditional"]))]
    sharing: Sharing,
    /// Epochs of each network's last training [default: by base model and units]
    #[arg(long, value_name = "N", value_parser = up_to(1_000_000))]
    epochs: Option<usize>,
    /// Members of the ensemble [default: by base model]
    #[arg(long, value_name = "N", value_parser = up_to(1000))]
    members: Option<usize>,
    /// Adam's step size
    #[arg(long, value_name = "R", default_value_t = 1e-3, allow_negative_numbers = true)]
    learning_rate: f64,
    /// Seed; equal data, settings and seed give an equal model
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Go on from where an interrupted fit to the same --out stopped
    #[arg(long)]
    resume: bool,
    /// Replace the model file, or the rest of an interrupted fit, if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

const STARTS: [&str; 6] = ["kmeans", "gmm", "kmeans-scaled", "kmeans-unit", "annealed", "scratch"];
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
    fn config(&self) -> Result<FitConfig> {
        let starts = match (&self.init[..], self.recipe) {
            ([], Recipe::Paper) => vec![Start::Kmeans],
            ([], Recipe::Default) => Vec::new(),
            (given, _) => given.to_vec(),
        };
        let config = FitConfig {
            recipe: self.recipe,
            classes: self.classes,
            max_classes: self.max_classes,
            base: self.base,
            sharing: self.sharing,
            starts,
            members: self.members,
            epochs: self.epochs,
            learning_rate: self.learning_rate,
            seed: self.seed,
            ..FitConfig::default()
        };
        config.check()?;
        Ok(config)
    }

    fn resources(&self) -> Result<Resources> {
        let resources = self.resources.resolve()?;
        check_out(&self.out, self.force)?;
        let part = checkpoint(&self.out);
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
    #[serde(flatten)]
    fit: &'a FitReport,
}

pub fn run(args: &FitArgs, show: &Show) -> Result<Output> {
    let config = args.config()?;
    let resources = args.resources()?;
    let data = Dataset::read_npz(&args.file)?;
    let valid = args.valid.as_deref().map(Dataset::read_npz).transpose()?;
    interrupt::listen();
    let start = Instant::now();
    let progress = Progress::new(show, "fit");
    let fitted = cfqp::fit(&data, valid.as_ref(), &config, &resources, &progress);
    drop(progress);
    let fitted = fitted.map_err(|error| explain(error, &checkpoint(&args.out), args.resume))?;
    let seconds = start.elapsed().as_secs_f64();
    fitted.save(&args.out)?;
    remove_checkpoint(&checkpoint(&args.out))?;
    let report = Report {
        model: &args.out,
        classes: fitted.classes(),
        base: fitted.base(),
        sharing: sharing(&fitted),
        members: fitted.members(),
        seconds,
        peak_rss_mb: peak_rss_mb(),
        fit: fitted.report(),
    };
    let next = format!(
        "wrote {out} in {seconds:.1} s\nnext: cfqp query {out} {file} --treatment T --out answers.npz\n",
        out = shell(&args.out),
        file = shell(&args.file)
    );
    Output::new(summary(&fitted) + &next, &report)
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
    let mut rows =
        vec![["base", "classes", "-log likelihood", "to judge K", "mse", ""].map(String::from).to_vec()];
    rows.extend(report.tried.iter().map(|tried| {
        let mark = if tried.chosen { "<- chosen" } else { "" };
        let (nll, evidence) = (format!("{:.2}", tried.nll), format!("{:.2}", tried.evidence));
        vec![tried.base.clone(), tried.classes.to_string(), nll, evidence, small(tried.mse), mark.to_owned()]
    }));
    format!("tried, on {} held-out units:\n{}", count(report.units[1]), table(&rows))
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
