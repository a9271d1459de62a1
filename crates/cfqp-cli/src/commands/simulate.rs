//! `cfqp simulate`: data sets with known counterfactuals.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::data::{Mnist, MnistSplit, NpzArray, write_npz_with};
use cfqp::sim::{
    Cardio, DigitSource, Digits, Ihdp, Noise, Oscillator, Scenario, ScenarioDescription, Simulated, Table,
};
use cfqp::{FitConfig, TableSpec};

use super::ask::OutArgs;
use super::simulated::{FileShape, SeriesColumns, TableForm, truth_path, write_parts, write_table};
use super::table_worlds::{WorldChoice, world_parser};
use crate::args::{parse_choice, parse_count};
use crate::error::{Failure, Result};
use crate::fit_command::fit_command;
use crate::format::{pluralise, shell_quote};
use crate::output::{Output, optional_path_text, path_text};

const MAX_UNITS: usize = 10_000_000;
/// Of tables, which may be written in parts.
const MAX_ROWS: usize = 1_000_000_000;
const MAX_NOISE_COLUMNS: usize = 1000;
/// Subjects that are simulated at a time where memory must not grow with their number.
const SUBJECTS_AT_ONCE: usize = 10_000;
const MAX_REPEATS: usize = 1000;
/// The number of subjects of a table whose world is not random.
const DEFAULT_SUBJECTS: usize = 2000;

const EXAMPLES: &str = "\
Examples:
  cfqp simulate oscillator --n 2100 --seed 1 --out train.npz
  cfqp simulate cardio --noise non-additive --hidden-compliance --out cardio.npz
  cfqp simulate cardio --format csv-long --out patients.csv
  cfqp simulate digits --mnist ~/mnist --n 6000 --out digits.npz
  cfqp simulate ihdp --out control.npz                        no hidden classes
  cfqp simulate table --world crossing --out table.csv        one outcome column

An .npz file has x, t, y and, for evaluation only, the truth: z (class), t_new, y_new and, for tables, y_bayes \
(the best answer that the observed values allow; for counts, also p_bayes, the best probability of y_new). For a .csv, .parquet or .arrow file, the truth is written \
to a separate file, FILE.truth.npz, which fits never read.";

/// Simulate a data set with known counterfactuals
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateArgs {
    #[command(subcommand)]
    simulator: Simulator,
}

#[derive(Debug, Subcommand)]
enum Simulator {
    Oscillator(OscillatorArgs),
    Cardio(CardioArgs),
    Digits(DigitsArgs),
    Ihdp(IhdpArgs),
    Table(TableArgs),
}

/// Two coupled sine waves; the treatment shifts one channel, the other, or both (3 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate oscillator --out train.npz
  cfqp simulate oscillator --n 1000 --seed 1000 --out test.npz
  cfqp simulate oscillator --single-class --out one-class.npz")]
struct OscillatorArgs {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 2100, value_parser = parse_count(MAX_UNITS))]
    n: usize,
    #[command(flatten)]
    classes: ClassArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// Arterial and venous pressure after a fluid dose; the venous response is hidden (2 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate cardio --out cardio.npz
  cfqp simulate cardio --hidden-compliance --sigma 0.02 --out hard.npz")]
struct CardioArgs {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 3500, value_parser = parse_count(MAX_UNITS))]
    n: usize,
    /// Draw the venous compliance per unit, and do not record it
    #[arg(long)]
    hidden_compliance: bool,
    #[command(flatten)]
    classes: ClassArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// Digits, coloured by class and rotated by the treatment (6 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate digits --n 2000 --out digits.npz
  cfqp simulate digits --mnist ~/mnist --class-correlation 0.5 --out mnist.npz")]
struct DigitsArgs {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 6000, value_parser = parse_count(MAX_UNITS))]
    n: usize,
    /// A folder with the MNIST files, plain or .gz [default: digits are drawn by the program]
    #[arg(long, value_name = "DIR")]
    mnist: Option<PathBuf>,
    /// How strongly the digit determines the class, from 0 to 1
    #[arg(long, value_name = "R", default_value_t = 0.0, allow_negative_numbers = true)]
    class_correlation: f32,
    #[command(flatten)]
    classes: ClassArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// A table with 25 columns similar to IHDP, without hidden classes (1 class)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate ihdp --out control.npz
  cfqp simulate ihdp --n 1000 --seed 1000 --out test.npz

The factual and the counterfactual outcome have independent noise: evaluate with --rho 0.")]
struct IhdpArgs {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = parse_count(MAX_UNITS))]
    n: usize,
    #[command(flatten)]
    common: CommonArgs,
}

/// A table, in one of 19 worlds or a random scenario, with the Bayes limit (1 to 5 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate table --world prior --n 2000 --seed 1 --out train.npz
  cfqp simulate table --world heavy --out heavy.csv
  cfqp simulate table --world crossing --n 500 --repeats 4 --out repeats.csv
  cfqp simulate table --world yes-no --n 4000 --out recovery.csv
  cfqp simulate table --world random --world-seed 7 --out scenario.csv
  cfqp simulate table --n 10000000 --noise-columns 12 --no-truth --out large.parquet

`cfqp evaluate` prints the Bayes limit of these data: the error of the best answers that the observed values \
allow, with the true curves, weights and noise known. The new treatment is drawn as the first one was.

With --repeats, --rho is the correlation of the noise of any two rows of a subject, and of a row and its \
counterfactual; the limit is that of answers which use all rows of the subject.

Where the outcome is yes/no (0 or 1), a count, an amount with zeros or a category, --rho is the probability that the \
noise is the same under the new treatment, and there are no repeats. The category has three columns of 0 or 1 (y0, y1, y2 in \
tables), of which every unit has one 1; the treatment of `arms` has two (t1, t2). Kinds of outcomes are not in the files: they are \
recognised from the values.

The world `random` is a scenario of which everything is drawn from --world-seed: classes, covariates, treatment, outcomes, noise, \
repeats and the default N. --seed draws the units. The truth of positive outcomes is that of the best answers on the log scale.")]
struct TableArgs {
    /// Number of subjects; the file has N times R units [default: 2000; random: that of the scenario]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_ROWS))]
    n: Option<usize>,
    /// The world
    #[arg(long, value_name = "W", default_value = "crossing", value_parser = world_parser())]
    world: WorldChoice,
    /// The seed of the random scenario [default: 0]
    #[arg(long, value_name = "N")]
    world_seed: Option<u64>,
    /// Number of units of every subject, each under its own treatment
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = parse_count(MAX_REPEATS))]
    repeats: usize,
    /// Number of covariates that play no part, after the others
    #[arg(long, value_name = "C", value_parser = parse_count(MAX_NOISE_COLUMNS))]
    noise_columns: Option<usize>,
    /// Write no truth, and the table in parts: memory does not grow with N
    #[arg(long)]
    no_truth: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// The simulator of a table.
enum TableSource {
    Table(Table),
    Scenario(Box<Scenario>),
}

impl TableArgs {
    fn source(&self) -> TableSource {
        let &CommonArgs { sigma, rho, .. } = &self.common;
        let &Self { world, repeats, noise_columns, .. } = self;
        match world {
            WorldChoice::Random => {
                TableSource::Scenario(Box::new(Scenario::new(self.world_seed.unwrap_or(0))))
            }
            WorldChoice::Fixed(world) => TableSource::Table(Table {
                world,
                sigma,
                rho,
                repeats,
                noise_columns: noise_columns.unwrap_or(0),
            }),
        }
    }

    /// Refuses flags that the world does not have.
    fn check(&self) -> Result<()> {
        let CommonArgs { sigma, rho, .. } = &self.common;
        let flags = [
            ("--sigma", sigma.is_some()),
            ("--rho", rho.is_some()),
            ("--repeats", self.repeats > 1),
            ("--noise-columns", self.noise_columns.is_some()),
            ("--no-truth", self.no_truth),
        ];
        let given = flags.into_iter().find(|(_, is_given)| *is_given);
        match (self.world, given) {
            (WorldChoice::Random, Some((flag, _))) => {
                let message =
                    format!("{flag}: everything about a random scenario is drawn from --world-seed");
                Err(Failure::new(message, format!("leave {flag} out")))
            }
            (WorldChoice::Fixed(world), _) if self.world_seed.is_some() => {
                let message = format!("--world-seed: the world {} is not random", world.name());
                Err(Failure::new(message, "add --world random, or leave --world-seed out"))
            }
            _ => Ok(()),
        }
    }

    fn simulate(&self, seed: u64) -> cfqp::Result<Simulated> {
        match self.source() {
            TableSource::Table(table) => table.simulate(self.n.unwrap_or(DEFAULT_SUBJECTS), seed),
            TableSource::Scenario(scenario) => scenario.simulate(self.n.unwrap_or(scenario.subjects()), seed),
        }
    }
}

/// Arguments of simulators with hidden classes.
#[derive(Clone, Copy, Debug, Args)]
struct ClassArgs {
    /// How the noise enters the outcome
    #[arg(long, default_value = "additive", value_parser = parse_choice::<Noise>(&["additive", "non-additive"]))]
    noise: Noise,
    /// Assign all units to one class, so that there are no hidden classes
    #[arg(long)]
    single_class: bool,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Standard deviation of the noise [default: depends on the simulator]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    sigma: Option<f32>,
    /// Correlation of factual and counterfactual noise, from 0 (fresh) to 1 (the same) [default: 1; ihdp: 0; table with
    /// --repeats: 0.6]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rho: Option<f32>,
    /// Random seed; unit i (table: subject i) depends only on it and on i
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    out: OutArgs,
    /// npz: arrays; csv-long: one row per sample; csv: one row per unit; parquet, arrow: one row per unit, series as
    /// lists [default: by the extension of FILE; for .csv: csv-long for series, csv for tables]
    #[arg(long, value_parser = PossibleValuesParser::new(FileShape::NAMES).try_map(|name| FileShape::from_name(&name)))]
    format: Option<FileShape>,
}

impl Simulator {
    fn common(&self) -> &CommonArgs {
        match self {
            Self::Oscillator(args) => &args.common,
            Self::Cardio(args) => &args.common,
            Self::Digits(args) => &args.common,
            Self::Ihdp(args) => &args.common,
            Self::Table(args) => &args.common,
        }
    }

    fn simulate(&self) -> cfqp::Result<Simulated> {
        let &CommonArgs { sigma, rho, seed, .. } = self.common();
        match self {
            Self::Oscillator(args) => {
                let ClassArgs { noise, single_class } = args.classes;
                Oscillator { noise, sigma, rho, single_class }.simulate(args.n, seed)
            }
            Self::Cardio(args) => {
                let (ClassArgs { noise, single_class }, hidden_compliance) =
                    (args.classes, args.hidden_compliance);
                Cardio { noise, sigma, rho, hidden_compliance, single_class }.simulate(args.n, seed)
            }
            Self::Digits(args) => {
                let (ClassArgs { noise, single_class }, class_correlation) =
                    (args.classes, args.class_correlation);
                let digits =
                    Digits { noise, sigma, rho, class_correlation, single_class, ..Digits::default() };
                digits.validate()?;
                let mnist = args.mnist.as_ref().map(|dir| Mnist::load(dir, MnistSplit::Train)).transpose()?;
                let source = mnist.as_ref().map_or(DigitSource::Drawn, DigitSource::Mnist);
                digits.simulate(source, args.n, seed)
            }
            Self::Ihdp(args) => Ihdp { sigma, rho }.simulate(args.n, seed),
            Self::Table(args) => args.simulate(seed),
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "path_text")]
    out: &'a Path,
    #[serde(serialize_with = "optional_path_text")]
    truth: Option<&'a Path>,
    units: usize,
    classes: usize,
    x_shape: &'a [usize],
    y_shape: &'a [usize],
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<ScenarioDescription>,
    seconds: f64,
}

impl Simulator {
    /// The form of the units in a table, if they can be written as one.
    fn form(&self) -> Option<TableForm> {
        let series = |columns| Some(TableForm::Series(columns));
        match self {
            Self::Oscillator(_) => {
                series(SeriesColumns { id: "unit", time: "step", series: ["a", "b"], t: "treatment" })
            }
            Self::Cardio(_) => {
                series(SeriesColumns { id: "patient", time: "second", series: ["pa", "pv"], t: "dose" })
            }
            Self::Ihdp(_) | Self::Table(_) => Some(TableForm::Numbers),
            Self::Digits(_) => None,
        }
    }

    /// What the random scenario is made of, if it is one.
    fn scenario(&self) -> Option<ScenarioDescription> {
        let Self::Table(args) = self else { return None };
        match args.source() {
            TableSource::Scenario(scenario) => Some(*scenario.description()),
            TableSource::Table(_) => None,
        }
    }
}

pub(super) fn run(args: &SimulateArgs) -> Result<Output> {
    let start = Instant::now();
    let common = args.simulator.common();
    let out = common.out.resolve(&[])?;
    let form = args.simulator.form();
    let shape = FileShape::resolve(common.format, form.as_ref(), out)?;
    let truth_path = (shape != FileShape::Npz).then(|| truth_path(out));
    if let Some(path) = &truth_path {
        common.out.check(path)?;
    }
    if shape != FileShape::Npz && form.is_none() {
        let message = format!("{}: these units can only be written as arrays", out.display());
        return Err(Failure::new(message, "use the extension .npz"));
    }
    if let Simulator::Table(args) = &args.simulator {
        args.check()?;
        if let TableSource::Table(table) = args.source()
            && args.no_truth
        {
            return write_without_truth(args, &table, shape, out, start);
        }
    }
    let simulated = args.simulator.simulate()?;
    let next = match (&truth_path, &form) {
        (Some(path), Some(form)) => {
            let z: Vec<i64> = simulated.truth.z.iter().map(|&z| z as i64).collect();
            let write = || write_table(&simulated.data, form, shape, out);
            write_npz_with(path, &truth(&simulated, &z), write)?;
            format!("cfqp check {} {}", shell_quote(out), form.flags(shape, &simulated.data))
        }
        _ => {
            write_arrays(&simulated, out)?;
            fit_command(out, &TableSpec::default(), &FitConfig::default(), None, Path::new("model.cfqp"))
        }
    };
    let (data, truth) = (&simulated.data, &simulated.truth);
    let report = Report {
        out,
        truth: truth_path.as_deref(),
        units: data.len(),
        classes: truth.z.iter().max().map_or(0, |max| max + 1),
        x_shape: data.x().shape(),
        y_shape: data.y().shape(),
        scenario: args.simulator.scenario(),
        seconds: start.elapsed().as_secs_f64(),
    };
    let truth = match report.truth {
        None => "with the truth".to_owned(),
        Some(truth) => format!("the truth in {}", shell_quote(truth)),
    };
    Output::new(text(&report, &truth, &next), &report)
}

/// Writes a table part by part, without the truth.
fn write_without_truth(
    args: &TableArgs,
    table: &Table,
    shape: FileShape,
    out: &Path,
    start: Instant,
) -> Result<Output> {
    if shape == FileShape::Npz {
        let message = format!("{}: arrays are written with the truth", out.display());
        return Err(Failure::new(
            message,
            "use the extension .parquet, .arrow or .csv, or leave --no-truth out",
        ));
    }
    let (n, seed) = (args.n.unwrap_or(DEFAULT_SUBJECTS), args.common.seed);
    let part = |first: usize| table.simulate_range(first..(first + SUBJECTS_AT_ONCE).min(n), seed);
    let example = table.simulate(1, seed)?.data;
    write_parts((0..n).step_by(SUBJECTS_AT_ONCE).map(|first| Ok((first, part(first)?.data))), out)?;
    let report = Report {
        out,
        truth: None,
        units: n * table.repeats,
        classes: table.world.classes(),
        x_shape: example.x().shape(),
        y_shape: example.y().shape(),
        scenario: None,
        seconds: start.elapsed().as_secs_f64(),
    };
    let next = format!("cfqp check {} {}", shell_quote(out), TableForm::Numbers.flags(shape, &example));
    Output::new(text(&report, "without the truth", &next), &report)
}

fn text(report: &Report<'_>, truth: &str, next: &str) -> String {
    let (path, units) = (shell_quote(report.out), pluralise(report.units, "unit"));
    format!("wrote {path}: {units}, x {:?}, y {:?}, {truth}\nnext: {next}\n", report.x_shape, report.y_shape)
}

/// Writes the data and the truth.
pub(super) fn write_arrays(simulated: &Simulated, path: &Path) -> cfqp::Result<()> {
    let z: Vec<i64> = simulated.truth.z.iter().map(|&z| z as i64).collect();
    simulated.data.write_npz(path, &truth(simulated, &z))
}

fn truth<'a>(simulated: &'a Simulated, z: &'a [i64]) -> Vec<(&'static str, NpzArray<'a>)> {
    let truth = &simulated.truth;
    let mut arrays = vec![
        ("z", NpzArray::integers(z)),
        ("t_new", NpzArray::units(&truth.t_new)),
        ("y_new", NpzArray::units(&truth.y_new)),
    ];
    arrays.extend(truth.y_bayes.iter().map(|best| ("y_bayes", NpzArray::units(best))));
    arrays.extend(truth.p_bayes.iter().map(|best| ("p_bayes", NpzArray::units(best))));
    arrays
}
