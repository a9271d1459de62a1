//! `cfqp query`: outcomes of units under other treatments.

use std::path::Path;
use std::time::Instant;

use clap::Args;

use cfqp::ask::{AnswerCounts, RhoBound, StreamBatch, UnitsQuestion};
use cfqp::data::table::{FileFormat, Ids};
use cfqp::{AskOptions, Model, Units};

use super::answered::{Answered, write_answers};
use super::arrays::{write_answer_arrays, write_curve_arrays};
use super::ask::{AskArgs, BoundArgs, OutArgs, SourceArgs, parse_treatment};
use super::grid::Grid;
use crate::args::OutputArgs;
use crate::error::{Failure, Result};
use crate::load::read_all;
use crate::output::Output;
use crate::resources::peak_rss_mb;

/// The maximum of numbers in the arrays of an .npz file.
const MAX_ARRAY_NUMBERS: usize = 1 << 30;

const EXAMPLES: &str = "\
Examples:
  cfqp query model.cfqp patients.csv --treatment 0.8 --out answers.parquet
  cfqp query model.cfqp patients.csv --treatment-from planned_dose --out answers.csv
  cfqp query model.cfqp trial.csv --treatment B --out answers.csv
  cfqp query model.cfqp trial.csv --treatment drug=B,dose=0.8 --out answers.csv
  cfqp query model.cfqp data.npz --treatment-from t_new --rho 0 --out answers.npz
  cfqp query model.cfqp data.npz --grid 0.2:1:9 --level 0.95 --out curves.npz
  cfqp query model.cfqp new.csv --treatment 0.8 --out answers.csv    # no dose, no outcome yet

FILE has the columns that the model was fitted to; no flags are needed for them. Tables are streamed, so \
they can be larger than memory, but the rows of a unit must be adjacent. If the model was fitted with --group, \
the table is read whole.
Units without an outcome (empty cells, or no such column) are answered by their covariates alone, with fresh \
noise, and flagged no_outcome. They need no treatment.
A .parquet, .csv, .arrow or .jsonl output has one row per unit (and time): id, t, t_new, every outcome Y \
with lower_Y and upper_Y (of a category Y: the probability Y=L of every level L, the most probable level Y and \
set_Y, the smallest set of levels with the probability of an interval), class, posterior_K, flag: ok, or the \
warnings no_outcome, extreme_value, ambiguous_class, off_support, starts_disagree, not_identified, \
extreme_answer, single_member; rho (empty if unknown) and rho_source: given, learned or unknown.
An .npz output has answer, lower and upper [n, ...], posterior [n, classes], class, entropy, t_new, the \
flags, rho, rho_source, and id if ids are integers; with --grid: answer, lower, upper [n, N, ...], \
the flags [n, N], and grid.";

const OUT_HELP: &str = "The file to write: .parquet, .csv, .arrow, .jsonl or .npz";

/// Predict the outcome of each unit under another treatment
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("out", |arg| arg.help(OUT_HELP)))]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    treatments: TreatmentArgs,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    bounds: BoundArgs,
    /// Add the probability of every value of counts and ordered levels: columns Y=0, Y=1, ..., Y>=20 of a count Y
    #[arg(long)]
    distribution: bool,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct TreatmentArgs {
    /// The new treatment of all units: a number or a level; of several treatments 0.5,A or dose=0.5,drug=A
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    treatment: Option<String>,
    /// A column (in an .npz file: an array) of FILE with the new treatment of each unit
    #[arg(long, value_name = "COL")]
    treatment_from: Option<String>,
    /// N treatments from LO to HI for every unit: a dose-response curve
    #[arg(long, value_name = "LO:HI:N", allow_hyphen_values = true)]
    grid: Option<Grid>,
}

pub(super) fn run(args: &QueryArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let out = args.out.resolve(&args.source.files())?;
    let format = FileFormat::for_output(out)?;
    let TreatmentArgs { treatment, treatment_from, grid } = &args.treatments;
    let model = Model::load(&args.source.model, &settings.resources)?;
    let parse = |text: &String| parse_treatment("--treatment", text, &model);
    let treatment = treatment.as_ref().map(parse).transpose()?.unwrap_or_default();
    let grid = grid.map(|grid| grid.resolve(&model)).transpose()?;
    if args.distribution && format == FileFormat::Npz {
        let message = "--distribution: an .npz file has no columns for probabilities of values";
        return Err(Failure::new(message, "write a .parquet or .csv file"));
    }
    let start = Instant::now();
    let (options, file, rho_bounds) = (settings.ask, &args.source.file, args.bounds.rho_bounds);
    let query = ArrayQuery { model: &model, options, file, out, rho_bounds };
    let ask = model.ask_units(file);
    let write = |question: UnitsQuestion<'_>, name: &str| {
        let question = question.options(options).rho_bounds(rho_bounds).distributions(args.distribution);
        write_answers(question, Some(out), name, output)
    };
    let counts = match (format, &grid, treatment_from) {
        (FileFormat::Npz, Some(grid), _) => query.write_curves(grid)?,
        (FileFormat::Npz, None, from) => query.write_answers(&treatment, from.as_deref())?,
        (_, Some(grid), _) => write(ask.curve(grid), "curve")?,
        (_, None, Some(columns)) => write(ask.under_columns(columns), "query")?,
        (_, None, None) => write(ask.under(&treatment[..]), "query")?,
    };
    let (query_seconds, peak_rss_mb) = (start.elapsed().as_secs_f64(), peak_rss_mb());
    let (rho, level) = (model.used_rho(options.rho), options.level);
    let report = Answered { out, counts: &counts, rho, level, query_seconds, peak_rss_mb };
    Output::new(report.text(), &report)
}

/// A query whose answers are written as arrays, which are held in memory.
struct ArrayQuery<'a> {
    model: &'a Model,
    options: AskOptions,
    file: &'a Path,
    out: &'a Path,
    rho_bounds: bool,
}

impl ArrayQuery<'_> {
    /// Writes the answers under `treatment`, or under the treatments that the file has.
    fn write_answers(&self, treatment: &[f32], from: Option<&str>) -> Result<AnswerCounts> {
        let mut stream = self.model.read_units(self.file, from)?;
        let StreamBatch { units, treatments, .. } = read_all(&mut stream, self.file)?;
        let data = &units.data;
        let to = match treatments {
            Some(treatments) => treatments,
            None => Units::new("treatment", vec![treatment.len()], treatment.to_vec())?,
        };
        let question = self.model.ask(data).under(&to).options(self.options);
        let answers = question.answers()?;
        let bounds = self.bounds(|bound| question.clone().rho(bound.rho()).answers())?;
        let ids = integer_ids(&units.ids);
        let t_new = repeat_treatment(&to, data.len())?;
        write_answer_arrays(self.out, &answers, &bounds, &t_new, ids.as_deref())?;
        let mut counts = AnswerCounts::default();
        counts.add(&answers);
        counts.set_read(&stream.summary());
        Ok(counts)
    }

    /// What `ask` answers under the bounds of rho, if they are wanted.
    fn bounds<T>(&self, ask: impl Fn(RhoBound) -> cfqp::Result<T>) -> cfqp::Result<Vec<(RhoBound, T)>> {
        let wanted = RhoBound::ALL.into_iter().filter(|_| self.rho_bounds);
        wanted.map(|bound| Ok((bound, ask(bound)?))).collect()
    }

    fn write_curves(&self, grid: &Units) -> Result<AnswerCounts> {
        let mut stream = self.model.read_units(self.file, None)?;
        let data = read_all(&mut stream, self.file)?.units.data;
        check_size(grid.len(), data.len(), self.model.shapes().y.iter().product())?;
        let question = self.model.ask(&data).curve(grid).options(self.options);
        let answers = question.answers()?;
        let bounds = self.bounds(|bound| question.rho(bound.rho()).answers())?;
        write_curve_arrays(self.out, &answers, &bounds, grid)?;
        let mut counts = AnswerCounts::default();
        answers.iter().for_each(|answers| counts.add_repeated(answers, 0));
        counts.units = data.len();
        counts.set_read(&stream.summary());
        Ok(counts)
    }
}

/// The ids, if all are integers; units of arrays have row numbers only.
fn integer_ids(ids: &Ids) -> Option<Vec<i64>> {
    match ids {
        Ids::Rows(_) => None,
        ids => (0..ids.len()).map(|i| ids.text(i).parse().ok()).collect(),
    }
}

/// Checks that the curves of all units, which are held in memory at once, are not too many.
fn check_size(steps: usize, units: usize, elements: usize) -> Result<()> {
    let numbers = steps.saturating_mul(units).saturating_mul(elements);
    if numbers <= MAX_ARRAY_NUMBERS {
        return Ok(());
    }
    let message = format!("--grid: {steps} outcomes of {units} units are {numbers} numbers");
    let hint =
        format!("write a .parquet file or use fewer steps: the maximum for arrays is {MAX_ARRAY_NUMBERS}");
    Err(Failure::new(message, hint))
}

/// One treatment per unit.
fn repeat_treatment(to: &Units, n: usize) -> cfqp::Result<Units> {
    if to.len() == n {
        return Ok(to.clone());
    }
    Units::new("t_new", to.shape().to_vec(), to.values().repeat(n))
}
