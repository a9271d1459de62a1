//! `cfqp simulate`: units whose counterfactuals are known.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use serde::Serialize;

use cfqp::sim::{Cardio, DigitSource, Digits, Ihdp, Noise, Oscillator, Simulated};
use cfqp::{Mnist, MnistPart, NpzArray, write_npz};

use super::simulated::{Columns, Shape, truth_path, write_table};
use crate::args::{choice, up_to};
use crate::error::{Failure, Result};
use crate::files::check_out;
use crate::output::Output;
use crate::table::{counted, shell};

const MOST_UNITS: usize = 10_000_000;

const EXAMPLES: &str = "\
Examples:
  cfqp simulate oscillator --n 2100 --seed 1 --out train.npz
  cfqp simulate cardio --noise non-additive --hidden-compliance --out cardio.npz
  cfqp simulate cardio --format csv-long --out patients.csv
  cfqp simulate digits --mnist ~/mnist --n 6000 --out digits.npz
  cfqp simulate ihdp --out control.npz                           nothing hidden: a negative control

An .npz file holds x, t, y and, for evaluation alone, the truth: z (class), t_new, y_new. A table has \
no truth in it: that stands in a file of its own, FILE.truth.npz, which no fit reads.";

/// Make a data set whose counterfactuals are known
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArgs {
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

/// Two coupled sines, shifted by the treatment in one channel, the other, or both (3 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate oscillator --out train.npz
  cfqp simulate oscillator --n 1000 --seed 1000 --out test.npz
  cfqp simulate oscillator --single-class --out nothing-hidden.npz")]
struct OscillatorArgs {
    /// How many units
    #[arg(long, value_name = "N", default_value_t = 2100, value_parser = up_to(MOST_UNITS))]
    n: usize,
    #[command(flatten)]
    hidden: Hidden,
    #[command(flatten)]
    common: Common,
}

/// Arterial and venous pressure after a fluid dose, the veins' response hidden (2 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate cardio --out cardio.npz
  cfqp simulate cardio --hidden-compliance --sigma 0.02 --out hard.npz")]
struct CardioArgs {
    /// How many units
    #[arg(long, value_name = "N", default_value_t = 3500, value_parser = up_to(MOST_UNITS))]
    n: usize,
    /// Draw the venous compliance per unit, and hide it
    #[arg(long)]
    hidden_compliance: bool,
    #[command(flatten)]
    hidden: Hidden,
    #[command(flatten)]
    common: Common,
}

/// Digits, coloured by their class and turned by the treatment (6 classes)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate digits --n 2000 --out digits.npz
  cfqp simulate digits --mnist ~/mnist --class-correlation 0.5 --out mnist.npz")]
struct DigitsArgs {
    /// How many units
    #[arg(long, value_name = "N", default_value_t = 6000, value_parser = up_to(MOST_UNITS))]
    n: usize,
    /// A folder with the files of MNIST, plain or .gz; without it, digits are drawn
    #[arg(long, value_name = "DIR")]
    mnist: Option<PathBuf>,
    /// How far the digit decides the class, from 0 to 1
    #[arg(long, value_name = "R", default_value_t = 0.0, allow_negative_numbers = true)]
    class_correlation: f32,
    #[command(flatten)]
    hidden: Hidden,
    #[command(flatten)]
    common: Common,
}

/// A table of 25 columns in the manner of IHDP, with nothing hidden in it (1 class)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp simulate ihdp --out control.npz
  cfqp simulate ihdp --n 1000 --seed 1000 --out test.npz

The noise of the two worlds is drawn apart, so nobody can know it: evaluate with --rho 0.")]
struct IhdpArgs {
    /// How many units
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = up_to(MOST_UNITS))]
    n: usize,
    #[command(flatten)]
    common: Common,
}

/// What simulators with hidden classes share.
#[derive(Clone, Copy, Debug, Args)]
struct Hidden {
    /// How the noise enters the outcome
    #[arg(long, default_value = "additive", value_parser = choice::<Noise>(&["additive", "non-additive"]))]
    noise: Noise,
    /// Put all units into one class: there is nothing hidden to find
    #[arg(long)]
    single_class: bool,
}

#[derive(Debug, Args)]
struct Common {
    /// Standard deviation of the noise [default: the simulator's own]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    sigma: Option<f32>,
    /// Correlation of the noise in the two worlds, from 0 (drawn apart) to 1 (the same) [default: 1; ihdp: 0]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rho: Option<f32>,
    /// Seed; unit i depends on it and on i alone
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// npz: arrays; csv-long: a row per sample; csv: a row per unit; parquet, arrow: a row per unit, series as lists
    /// [default: by the ending of FILE; csv-long for .csv]
    #[arg(long, value_parser = PossibleValuesParser::new(Shape::NAMES).try_map(|name| Shape::named(&name)))]
    format: Option<Shape>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

impl Simulator {
    fn common(&self) -> &Common {
        match self {
            Self::Oscillator(args) => &args.common,
            Self::Cardio(args) => &args.common,
            Self::Digits(args) => &args.common,
            Self::Ihdp(args) => &args.common,
        }
    }

    fn simulate(&self) -> cfqp::Result<Simulated> {
        let &Common { sigma, rho, seed, .. } = self.common();
        match self {
            Self::Oscillator(args) => {
                let Hidden { noise, single_class } = args.hidden;
                Oscillator { noise, sigma, rho, single_class }.simulate(args.n, seed)
            }
            Self::Cardio(args) => {
                let (Hidden { noise, single_class }, hidden_compliance) =
                    (args.hidden, args.hidden_compliance);
                Cardio { noise, sigma, rho, hidden_compliance, single_class }.simulate(args.n, seed)
            }
            Self::Digits(args) => {
                let (Hidden { noise, single_class }, class_correlation) =
                    (args.hidden, args.class_correlation);
                let digits =
                    Digits { noise, sigma, rho, class_correlation, single_class, ..Digits::default() };
                digits.check()?;
                let mnist = args.mnist.as_ref().map(|dir| Mnist::load(dir, MnistPart::Train)).transpose()?;
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
    /// What columns are called, where units can be written as a table.
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

pub fn run(args: &SimulateArgs) -> Result<Output> {
    let start = Instant::now();
    let common = args.simulator.common();
    check_out(&common.out, common.force)?;
    let shape = Shape::resolve(common.format, &common.out)?;
    let truth_path = (shape != Shape::Npz).then(|| truth_path(&common.out));
    if let Some(path) = &truth_path {
        check_out(path, common.force)?;
    }
    let columns = args.simulator.columns();
    if shape != Shape::Npz && columns.is_none() {
        let message = format!("{}: these units are written as arrays only", common.out.display());
        return Err(Failure::new(message, "give --out a name that ends in .npz"));
    }
    let simulated = args.simulator.simulate()?;
    let next = match (&truth_path, &columns) {
        (Some(path), Some(columns)) => {
            write_truth(&simulated, path)?;
            write_table(&simulated.data, columns, shape, &common.out)?;
            let flags = columns.flags(shape, &simulated.data);
            format!("cfqp check {} {flags}", shell(&common.out))
        }
        _ => {
            write(&simulated, &common.out)?;
            format!("cfqp fit {} --out model.cfqp", shell(&common.out))
        }
    };
    let (data, truth) = (&simulated.data, &simulated.truth);
    let report = Report {
        out: &common.out,
        truth: truth_path.as_deref(),
        units: data.len(),
        classes: truth.z.iter().max().map_or(0, |most| most + 1),
        x_shape: data.x().shape(),
        y_shape: data.y().shape(),
        seconds: start.elapsed().as_secs_f64(),
    };
    let (path, units) = (shell(&common.out), counted(report.units, "unit"));
    let truth = report
        .truth
        .map_or("with their truth".to_owned(), |truth| format!("their truth in {}", shell(truth)));
    let text = format!(
        "wrote {path}: {units}, x {:?}, y {:?}, {truth}\nnext: {next}\n",
        report.x_shape, report.y_shape
    );
    Output::new(text, &report)
}

/// Write what was seen and what is true.
pub fn write(simulated: &Simulated, path: &Path) -> cfqp::Result<()> {
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
