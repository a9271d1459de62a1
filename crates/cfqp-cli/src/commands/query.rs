//! `cfqp query`: what units would have shown under other treatments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::{Answers, Ask, Dataset, Diagnosis, Fitted, NpzArray, NpzValues, Units, read_array, write_npz};

use super::AskArgs;
use crate::args::finite;
use crate::error::{Failure, Result};
use crate::files::check_out;
use crate::output::Output;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{count, counted, shell};

const EXAMPLES: &str = "\
Examples:
  cfqp query model.cfqp data.npz --treatment 0.8 --out answers.npz
  cfqp query model.cfqp data.npz --treatment-from t_new --rho 0 --out answers.npz
  cfqp query model.cfqp data.npz --grid 0.2:1:9 --level 0.95 --out curves.npz

The output holds answer, lower and upper [n, ...], posterior [n, classes], class, entropy, t_new
and flags that speak against an answer: ambiguous_class, off_support, starts_disagree.
With --grid: answer, lower, upper [n, N, ...], off_support, starts_disagree [n, N], and grid.";

/// Answer: what would each unit have shown under another treatment?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryArgs {
    /// The model
    model: PathBuf,
    /// The units: a .npz file with their x, t and y
    file: PathBuf,
    #[command(flatten)]
    what: What,
    /// The file to write
    #[arg(long, value_name = "FILE.npz")]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// The treatment asked about, for all units; comma-separated where it has several dimensions
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    treatment: Vec<f32>,
    /// An array of FILE with a treatment for each unit
    #[arg(long, value_name = "KEY")]
    treatment_from: Option<String>,
    /// N treatments from LO to HI, each for all units: a dose curve
    #[arg(long, value_name = "LO:HI:N", allow_hyphen_values = true)]
    grid: Option<Grid>,
}

/// Treatments at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grid {
    low: f32,
    high: f32,
    steps: usize,
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let &[low, high, steps] = &parts[..] else {
            return Err("give LO:HI:N, such as 0.2:1:9".to_owned());
        };
        let (low, high) = (finite(low)?, finite(high)?);
        match steps.parse() {
            Ok(steps @ 2..=100_000) if low < high => Ok(Self { low, high, steps }),
            Ok(2..=100_000) => Err(format!("LO is not below HI: {low}, {high}")),
            _ => Err(format!("N is not a number from 2 to 100000: {steps}")),
        }
    }
}

impl Grid {
    fn units(&self) -> cfqp::Result<Units> {
        let step = f64::from(self.high - self.low) / (self.steps - 1) as f64;
        let at = |i: usize| (f64::from(self.low) + i as f64 * step) as f32;
        Units::new("grid", vec![1], (0..self.steps).map(at).collect())
    }
}

/// What is asked about, read and checked.
enum Question {
    Treatments(Units),
    Grid(Units),
}

impl What {
    fn resolve(&self, file: &Path, units: usize, fitted: &Fitted) -> Result<Question> {
        if let Some(grid) = &self.grid {
            let dimensions = fitted.shapes().t;
            if dimensions != 1 {
                let message = format!("grid: treatments of this model have {dimensions} dimensions");
                return Err(Failure::new(message, "ask about one at a time, by --treatment T1,T2"));
            }
            check_size(grid.steps, units, fitted.shapes().y.iter().product())?;
            return Ok(Question::Grid(grid.units()?));
        }
        let Some(key) = &self.treatment_from else {
            let (dimensions, values) = (self.treatment.len(), self.treatment.clone());
            return Ok(Question::Treatments(Units::new("treatment", vec![dimensions], values)?));
        };
        let hint = "give the name of an array with one treatment per unit, such as t_new";
        let missing = || Failure::new(format!("{}: there is no array `{key}`", file.display()), hint);
        Ok(Question::Treatments(read_array(file, key)?.ok_or_else(missing)?))
    }
}

/// The curves of all units are held at once.
fn check_size(steps: usize, units: usize, each: usize) -> Result<()> {
    const MOST: usize = 1 << 30;
    let numbers = steps.saturating_mul(units).saturating_mul(each);
    if numbers <= MOST {
        return Ok(());
    }
    let message = format!("grid: {steps} outcomes of {units} units are {numbers} numbers");
    Err(Failure::new(message, format!("ask for fewer steps or about fewer units: {MOST} numbers at most")))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    out: &'a Path,
    units: usize,
    answers: usize,
    ok: usize,
    ambiguous_class: usize,
    off_support: usize,
    starts_disagree: usize,
    #[serde(flatten)]
    ask: Ask,
    query_seconds: f64,
    peak_rss_mb: Option<f64>,
}

pub fn run(args: &QueryArgs) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    check_out(&args.out, args.force)?;
    let fitted = Fitted::load(&args.model, &resources)?;
    let data = Dataset::read_npz(&args.file)?;
    let question = args.what.resolve(&args.file, data.len(), &fitted)?;
    let start = Instant::now();
    let answers = match &question {
        Question::Treatments(to) => vec![fitted.query(&data, to, &ask)?],
        Question::Grid(grid) => fitted.curve(&data, grid, &ask)?,
    };
    let query_seconds = start.elapsed().as_secs_f64();
    match &question {
        Question::Treatments(to) => write_answers(&args.out, &answers[0], &repeat(to, data.len())?)?,
        Question::Grid(grid) => write_curves(&args.out, &answers, grid)?,
    }
    let all = || answers.iter().flat_map(|answers| &answers.diagnoses);
    let number = |flag: fn(&Diagnosis) -> bool| all().filter(|diagnosis| flag(diagnosis)).count();
    let report = Report {
        out: &args.out,
        units: data.len(),
        answers: all().count(),
        ok: number(Diagnosis::ok),
        ambiguous_class: number(|diagnosis| diagnosis.ambiguous_class),
        off_support: number(|diagnosis| diagnosis.off_support),
        starts_disagree: number(|diagnosis| diagnosis.starts_disagree),
        ask,
        query_seconds,
        peak_rss_mb: peak_rss_mb(),
    };
    Output::new(summary(&report), &report)
}

fn summary(report: &Report<'_>) -> String {
    let mut text = format!("{}, {}", counted(report.units, "unit"), counted(report.answers, "answer"));
    let _ = writeln!(text, " in {:.2} s; nothing speaks against {}", report.query_seconds, count(report.ok));
    let flags = [
        (report.ambiguous_class, "ambiguous_class: no class is clearly the most probable"),
        (report.off_support, "off_support: no such treatment was seen near this unit's covariates"),
        (report.starts_disagree, "starts_disagree: another solution fits as well and answers otherwise"),
    ];
    for (number, meaning) in flags.into_iter().filter(|(number, _)| *number > 0) {
        let _ = writeln!(text, "  {:>7} flagged {meaning}", count(number));
    }
    let _ = writeln!(text, "wrote {}", shell(report.out));
    text
}

/// One treatment per unit.
fn repeat(to: &Units, n: usize) -> cfqp::Result<Units> {
    if to.len() == n {
        return Ok(to.clone());
    }
    Units::new("t_new", to.shape().to_vec(), to.values().repeat(n))
}

/// What does not depend on the treatment asked about: classes and their probabilities.
struct Classes<'a> {
    posterior: &'a [f32],
    class: Vec<i64>,
    entropy: Vec<f32>,
    ambiguous: Vec<bool>,
}

impl<'a> Classes<'a> {
    fn of(answers: &'a Answers) -> Self {
        let diagnoses = &answers.diagnoses;
        Self {
            posterior: &answers.posterior,
            class: diagnoses.iter().map(|diagnosis| diagnosis.class as i64).collect(),
            entropy: diagnoses.iter().map(|diagnosis| diagnosis.entropy).collect(),
            ambiguous: diagnoses.iter().map(|diagnosis| diagnosis.ambiguous_class).collect(),
        }
    }

    fn arrays(&self) -> [(&'static str, NpzArray<'_>); 4] {
        let n = self.class.len();
        let posterior = vec![n, self.posterior.len() / n.max(1)];
        [
            ("posterior", NpzArray { shape: posterior, values: NpzValues::F32(self.posterior) }),
            ("class", NpzArray::integers(&self.class)),
            ("entropy", NpzArray { shape: vec![n], values: NpzValues::F32(&self.entropy) }),
            ("ambiguous_class", NpzArray { shape: vec![n], values: NpzValues::Bool(&self.ambiguous) }),
        ]
    }
}

/// Write the answers to one question per unit.
pub fn write_answers(path: &Path, answers: &Answers, t_new: &Units) -> cfqp::Result<()> {
    let classes = Classes::of(answers);
    let flag = |flag: fn(&Diagnosis) -> bool| answers.diagnoses.iter().map(flag).collect::<Vec<_>>();
    let (off, disagree) = (flag(|d| d.off_support), flag(|d| d.starts_disagree));
    let bools = |values| NpzArray { shape: vec![off.len()], values: NpzValues::Bool(values) };
    let mut arrays = vec![
        ("answer", NpzArray::units(&answers.point)),
        ("lower", NpzArray::units(&answers.lower)),
        ("upper", NpzArray::units(&answers.upper)),
        ("t_new", NpzArray::units(t_new)),
        ("off_support", bools(&off)),
        ("starts_disagree", bools(&disagree)),
    ];
    arrays.extend(classes.arrays());
    write_npz(path, &arrays)
}

/// Write the answers for every treatment of a grid.
fn write_curves(path: &Path, curve: &[Answers], grid: &Units) -> cfqp::Result<()> {
    let (first, steps) = (&curve[0], curve.len());
    let n = first.point.len();
    let unit = first.point.shape();
    let mut shape = vec![n, steps];
    shape.extend(unit.iter().filter(|_| unit != [1]));
    let join = |part: fn(&Answers) -> &Units| -> Vec<f32> {
        (0..n).flat_map(|i| curve.iter().flat_map(move |answers| part(answers).row(i)).copied()).collect()
    };
    let flag = |flag: fn(&Diagnosis) -> bool| -> Vec<bool> {
        (0..n).flat_map(|i| curve.iter().map(move |answers| flag(&answers.diagnoses[i]))).collect()
    };
    let (answer, lower, upper) = (join(|a| &a.point), join(|a| &a.lower), join(|a| &a.upper));
    let (off, disagree) = (flag(|d| d.off_support), flag(|d| d.starts_disagree));
    let numbers = |values| NpzArray { shape: shape.clone(), values: NpzValues::F32(values) };
    let bools = |values| NpzArray { shape: vec![n, steps], values: NpzValues::Bool(values) };
    let classes = Classes::of(first);
    let mut arrays = vec![
        ("answer", numbers(&answer)),
        ("lower", numbers(&lower)),
        ("upper", numbers(&upper)),
        ("grid", NpzArray::units(grid)),
        ("off_support", bools(&off)),
        ("starts_disagree", bools(&disagree)),
    ];
    arrays.extend(classes.arrays());
    write_npz(path, &arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_both_ends() {
        let grid: Grid = "-1:1:5".parse().unwrap();
        assert_eq!(grid.units().unwrap().values(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        for wrong in
            ["", "1", "1:2", "2:1:5", "0:1:1", "0:1:x", "nan:1:5", "0:inf:5", "0:1:5:6", "0:1:999999"]
        {
            assert!(wrong.parse::<Grid>().is_err(), "{wrong}");
        }
    }
}
