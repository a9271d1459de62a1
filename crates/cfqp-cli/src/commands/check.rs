//! `cfqp check`: checks data before a fit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::data::table::{
    ColumnRole, ColumnSummary, LevelCount, TableSummary, TimeGrid, TreatmentKind, TreatmentSummary, Warning,
};

use crate::columns::TableArgs;
use crate::error::Result;
use crate::format::{
    align_rows, count_dropped, count_units, format_count, format_number, format_percent, format_short,
    pluralise,
};
use crate::load::{Input, resolve_input};
use crate::output::{Output, path_text};

const EXAMPLES: &str = "\
Examples:
  cfqp check patients.csv --x age,sex,'bp_*' --t dose --y outcome --id patient
  cfqp check patients.csv --x '*' --except name,notes --t dose --y outcome --id patient
  cfqp check kunden.csv --delimiter ';' --decimal , --x alter,umsatz --t rabatt --y kauf
  cfqp check trial.csv --x age,sex --t drug,dose --y outcome
  cfqp check trial.csv --x age,sex --t arm --t-kind category --y outcome
  cfqp check samples.csv --id patient --time minute --series pa,pv --t dose --treated-at 20
  cfqp check sensors.xlsx --sheet 2024 --id pump --time at --series rpm --t load --treated-at 2024-03-01
  cfqp check study.toml --json

The exit code is 1 if a check failed: a fit would be refused or useless.";

/// Check data: rows, units kept and dropped, missing values, constant columns, treatments
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// The data: .csv, .parquet, .arrow, .xlsx or .npz; or a study file, .toml
    file: PathBuf,
    #[command(flatten)]
    table: TableArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "path_text")]
    file: &'a Path,
    ok: bool,
    #[serde(flatten)]
    counts: &'a TableSummary,
}

pub(super) fn run(args: &CheckArgs) -> Result<Output> {
    let input = resolve_input(&args.file, &args.table)?;
    let counts = input.load()?.counts;
    let ok = counts.problems.is_empty();
    let report = Report { file: &input.data, ok, counts: &counts };
    Ok(Output::new(text(&input, &counts), &report)?.with_failure(!ok))
}

fn text(input: &Input, counts: &TableSummary) -> String {
    let (rows, units) = (pluralise(counts.rows, "row"), count_units(counts));
    let mut text = format!(
        "{}: {rows} read, {units} kept, {} dropped\n",
        input.data.display(),
        format_count(counts.dropped_units())
    );
    for dropped in &counts.dropped {
        let units = count_dropped(dropped);
        let _ = writeln!(text, "  dropped {units}: {} (first: {})", dropped.reason, dropped.first);
    }
    let missing =
        |share: f64| if share > 0.0 { format!(", {} missing", format_percent(share)) } else { String::new() };
    if counts.warnings.contains(&Warning::NoCovariates) {
        text += "x: no covariates\n";
    } else {
        let _ = writeln!(text, "x {:?}{}", counts.x_shape, missing(counts.x_missing));
    }
    let _ = writeln!(text, "y {:?}{}", counts.y_shape, missing(counts.y_missing));
    text += &counts.grid.map_or(String::new(), |grid| grid_text(&grid, counts));
    for t in &counts.treatments {
        let [low, tenth, median, ninetieth, high] =
            [t.min, t.p10, t.median, t.p90, t.max].map(|value| format_short(value.into()));
        let distinct = format_count(t.distinct);
        let _ = writeln!(
            text,
            "treatment {}: {low} to {high}, {distinct} distinct values; percentiles 10/50/90: {tenth}, {median}, {ninetieth}",
            t.name
        );
    }
    text += &levels_text(input, counts);
    text += &columns_table(counts);
    text += &column_notes(counts);
    counts.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    counts.problems.iter().for_each(|problem| text += &format!("failed: {problem}\n"));
    if counts.problems.is_empty() {
        let _ = writeln!(text, "no problems found\nnext: {}", input.fit_command(&input.config));
    }
    text
}

/// The levels of treatments, and a question where numbers may be levels.
fn levels_text(input: &Input, counts: &TableSummary) -> String {
    let mut text = String::new();
    for treatment in &counts.treatment_levels {
        let level = |level: &LevelCount| format!("{} {}", level.level, format_count(level.units));
        let levels: Vec<String> = treatment.levels.iter().map(level).collect();
        let _ = writeln!(
            text,
            "treatment {}: {} levels, with units: {}; reference {}",
            treatment.name,
            levels.len(),
            levels.join(", "),
            treatment.levels[0].level
        );
    }
    let is_declared = input.spec.t_kind.contains(&TreatmentKind::Number);
    let may_be_levels =
        |t: &&TreatmentSummary| t.values.len() > 1 && !counts.columns.is_empty() && !is_declared;
    for t in counts.treatments.iter().filter(may_be_levels) {
        let values: Vec<String> = t.values.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "question: if {} are names of treatments ({}) rather than amounts, add --t-kind {}",
            values.join(", "),
            t.name,
            kinds_with(input, counts, &t.name)
        );
    }
    text
}

/// The kinds of all treatments, as given, if the one called `name` is a category.
fn kinds_with(input: &Input, counts: &TableSummary, name: &str) -> String {
    let given = &input.spec.t_kind;
    let treatments = counts.columns.iter().filter(|column| column.role == ColumnRole::Treatment);
    let kind = |(j, column): (usize, &ColumnSummary)| match given.get(if given.len() == 1 { 0 } else { j }) {
        _ if column.name == name => TreatmentKind::Category.name(),
        given => given.copied().unwrap_or_default().name(),
    };
    treatments.enumerate().map(kind).collect::<Vec<_>>().join(",")
}

fn grid_text(grid: &TimeGrid, counts: &TableSummary) -> String {
    let at = |point: i64| format_number(point as f64 * grid.step);
    let averaged = match counts.averaged {
        0 => String::new(),
        n => format!("; {} at the same grid point averaged", pluralise(n, "sample")),
    };
    format!(
        "time grid with step {}, relative to the treatment: x from {} to {}, y from {} to {}{averaged}\n",
        format_number(grid.step),
        at(grid.x.first),
        at(grid.x.last),
        at(grid.y.first),
        at(grid.y.last)
    )
}

/// How columns were read that are not plain numbers, and the levels of covariates.
fn column_notes(counts: &TableSummary) -> String {
    const MAX_LEVELS: usize = 12;
    let mut text = String::new();
    for column in &counts.columns {
        if let Some(note) = &column.note {
            let _ = writeln!(text, "{}: {note}", column.name);
        }
        let is_covariate = column.role != ColumnRole::Treatment;
        if let (true, Some(levels), Some(level_counts)) =
            (is_covariate, &column.categories, &column.category_counts)
        {
            let level = |(name, count): (&String, &usize)| format!("{name} {}", format_count(*count));
            let shown: Vec<String> = levels.iter().zip(level_counts).take(MAX_LEVELS).map(level).collect();
            let rest = levels.len().saturating_sub(MAX_LEVELS);
            let more = if rest > 0 { format!(", ... and {rest} more") } else { String::new() };
            let _ = writeln!(text, "levels of {}: {}{more}", column.name, shown.join(", "));
        }
    }
    text
}

fn columns_table(counts: &TableSummary) -> String {
    const MAX_COLUMNS: usize = 60;
    if counts.columns.is_empty() {
        return String::new();
    }
    let mut rows =
        vec![["column", "role", "type", "missing", "min", "mean", "max"].map(String::from).to_vec()];
    let number = |value: Option<f64>| value.map_or(String::new(), format_short);
    for column in counts.columns.iter().take(MAX_COLUMNS) {
        rows.push(vec![
            column.name.clone(),
            column.role.to_string(),
            column.kind.clone(),
            format_count(column.missing),
            number(column.min),
            number(column.mean),
            number(column.max),
        ]);
    }
    let rest = counts.columns.len().saturating_sub(MAX_COLUMNS);
    let more =
        if rest > 0 { format!("  ... and {rest} more; use --json to see all\n") } else { String::new() };
    align_rows(&rows) + &more
}
