//! `cfqp simulate`: data sets with known counterfactuals.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::data::{Mnist, MnistSplit, NpzArray, write_npz};
use cfqp::sim::{Cardio, DigitSource, Digits, Ihdp, Noise, Oscillator, Simulated};
use cfqp::{FitConfig, TableSpec};

use super::ask::OutArgs;
use super::simulated::{Columns, FileShape, truth_path, write_table};
use crate::args::{parse_choice, parse_count};
use crate::error::{Failure, Result};
use crate::fit_command::fit_command;
use crate::format::{pluralise, shell_quote};
use crate::output::Output;

const MAX_UNITS: usize = 10_000_000;

const EXAMPLES: &str = "\
Examples:
  cfqp simulate oscillator --n 2100 --seed 1 --out train.npz
  cfqp simulate cardio --noise non-additive --hidden-compliance --out cardio.npz
  cfqp simulate cardio --format csv-long --out patients.csv
  cfqp simulate digits --mnist ~/mnist --n 6000 --out digits.npz
  cfqp simulate ihdp --out control.npz                        no hidden classes

An .npz file has x, t, y and, for evaluation only, the truth: z (class), t_new, y_new. For a table, the \
truth is written to a separate file, FILE.truth.npz, which fits never read.";

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
    /// Correlation of factual and counterfactual noise, from 0 (fresh) to 1 (the same) [default: 1; ihdp: 0]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rho: Option<f32>,
    /// Random seed; unit i depends only on it and on i
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    out: OutArgs,
    /// npz: arrays; csv-long: one row per sample; csv: one row per unit; parquet, arrow: one row per unit, series as
    /// lists [default: by the extension of FILE; csv-long for .csv]
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
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    out: &'a Path,
    truth: Option<&'a Path>,
    units: usize,
    classes: usize,
    x_shape: &'a [usize],
    y_shape: &'a [usize],
    seconds: f64,
}

impl Simulator {
    /// The names of the columns, if the units can be written as a table.
    fn columns(&self) -> Option<Columns> {
        match self {
            Self::Oscillator(_) => {
                Some(Columns { id: "unit", time: "step", series: ["a", "b"], t: "treatment" })
            }
            Self::Cardio(_) => {
                Some(Columns { id: "patient", time: "second", series: ["pa", "pv"], t: "dose" })
            }
            Self::Digits(_) | Self::Ihdp(_) => None,
        }
    }
}

pub(super) fn run(args: &SimulateArgs) -> Result<Output> {
    let start = Instant::now();
    let common = args.simulator.common();
    let out = common.out.resolve()?;
    let shape = FileShape::resolve(common.format, out)?;
    let truth_path = (shape != FileShape::Npz).then(|| truth_path(out));
    if let Some(path) = &truth_path {
        common.out.check(path)?;
    }
    let columns = args.simulator.columns();
    if shape != FileShape::Npz && columns.is_none() {
        let message = format!("{}: these units can only be written as arrays", out.display());
        return Err(Failure::new(message, "use the extension .npz"));
    }
    let simulated = args.simulator.simulate()?;
    let next = match (&truth_path, &columns) {
        (Some(path), Some(columns)) => {
            write_truth(&simulated, path)?;
            write_table(&simulated.data, columns, shape, out)?;
            format!("cfqp check {} {}", shell_quote(out), columns.flags(shape, &simulated.data))
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
        seconds: start.elapsed().as_secs_f64(),
    };
    Output::new(text(&report, &next), &report)
}

fn text(report: &Report<'_>, next: &str) -> String {
    let (path, units) = (shell_quote(report.out), pluralise(report.units, "unit"));
    let truth = match report.truth {
        None => "with the truth".to_owned(),
        Some(truth) => format!("the truth in {}", shell_quote(truth)),
    };
    format!("wrote {path}: {units}, x {:?}, y {:?}, {truth}\nnext: {next}\n", report.x_shape, report.y_shape)
}

/// Writes the data and the truth.
pub(super) fn write_arrays(simulated: &Simulated, path: &Path) -> cfqp::Result<()> {
    let z: Vec<i64> = simulated.truth.z.iter().map(|&z| z as i64).collect();
    simulated.data.write_npz(path, &truth(simulated, &z))
}

fn write_truth(simulated: &Simulated, path: &Path) -> cfqp::Result<()> {
    let z: Vec<i64> = simulated.truth.z.iter().map(|&z| z as i64).collect();
    write_npz(path, &truth(simulated, &z))
}

fn truth<'a>(simulated: &'a Simulated, z: &'a [i64]) -> [(&'static str, NpzArray<'a>); 3] {
    let truth = &simulated.truth;
    [
        ("z", NpzArray::integers(z)),
        ("t_new", NpzArray::units(&truth.t_new)),
        ("y_new", NpzArray::units(&truth.y_new)),
    ]
}
