//! `cfqp effect`: the effect of one treatment against another, per unit and on average.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::Model;
use cfqp::ask::{
    AnswerCounts, Causation, Contrast, ContrastSummary, EffectGroup, Grade, PlainComparison, SubgroupEffects,
    UsedRho, Verdict,
};

use super::answered::{counts_text, write_answers_with};
use super::ask::{AskArgs, BoundArgs, OutArgs, SourceArgs, parse_treatment};
use crate::args::OutputArgs;
use crate::error::Result;
use crate::files::check_table;
use crate::format::{align_rows, format_count, format_number, format_short, pluralise, shell_quote};
use crate::output::{Output, optional_path_text};
use crate::resources::peak_rss_mb;

const EXAMPLES: &str = "\
Examples:
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8 --out effects.parquet
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8 --by sex,age
  cfqp effect model.cfqp trial.csv --from A --to C
  cfqp effect model.cfqp trial.csv --from drug=A,dose=1 --to drug=C,dose=1
  cfqp effect model.cfqp new.csv --from 0 --to 0.8 --out effects.csv    # no dose, no outcome yet

FILE has the columns that the model was fitted to. The output has one row per unit (and time): id, t, \
from, to, effect_Y, lower_Y, upper_Y for every outcome Y, class, posterior_K, flag, rho, rho_source.
Units without an outcome (empty cells, or no such column) have the mean effect of the classes, by their weights, and are \
flagged no_outcome. They need no treatment, and belong to no class and to no plain estimate.
Averages are doubly robust where units have outcomes and at least 20 units received each of both treatments, \
or amounts near them: the model's predictions by members that were not fitted to a unit, corrected by the weighted \
residuals of units that received the treatments, with the standard error of a mean (clustered by subject). \
Averages over a class weigh units by their posterior; a treatment of few values does not show them. Elsewhere, as for \
series, averages are those of the model's effects, and their intervals treat the model's error as shared by all units. \
Series are averaged over time. The first average is over the units on support: similar units received both treatments.
The first lines are the verdicts on this contrast: whether similar units received both treatments (overlap), intervals cover \
(calibration), the data show which class under one treatment is which under the other (identification, of several classes), and \
the mean of the units' effects is within 2 standard errors of the doubly robust average (agreement with plain estimates). \
cfqp diagnose has those on all assumptions.
--by COLUMN[,COLUMN] adds averages over subgroups: the levels of a category, the values of a number with at most 10 of them, else \
its quartiles (thirds below 400 rows); of a table with one row per sample, by the first value of a unit. Units without a \
value are a group of their own. A test says whether the effect differs between the groups of a column; p-values are \
corrected for the number of columns and outcomes (Holm). Subgroups need 20 units, and about 8 that received each treatment, or an amount near it.
The average is printed beside plain estimates of the same contrast from the same units (at most 5,000): the \
difference of means of units that received these treatments, a regression on covariates and treatment, \
and a doubly robust estimate with boosted trees, all cross-fitted.";

const UNIDENTIFIED_CLASSES: &str = "effects by class are not identified: of a treatment with few values, data do not show which \
                                    class under one value is which under another\n";

const OUT_HELP: &str =
    "The file for the units' effects: .parquet, .csv, .arrow or .jsonl [default: none, averages only]";

/// The effect of one treatment against another: per unit, and the average with its interval
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("out", |arg| arg.help(OUT_HELP).required(false)))]
#[command(mut_arg("rho_bounds", |arg| arg.requires("out")))]
pub(crate) struct EffectArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The reference treatment: a number or a level; of several treatments 0.5,A or dose=0.5,drug=A
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    from: String,
    /// The treatment to compare with it
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    to: String,
    /// Average over the subgroups of these columns of FILE too (comma-separated): any that were known before the treatment, not only covariates
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<String>,
    #[command(flatten)]
    out: Option<OutArgs>,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    bounds: BoundArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "optional_path_text")]
    out: Option<&'a Path>,
    /// Whether there are classes, but their effects are not shown by data.
    #[serde(skip)]
    has_unidentified_classes: bool,
    #[serde(flatten)]
    contrast: &'a ContrastSummary,
    #[serde(flatten)]
    counts: &'a AnswerCounts,
    #[serde(flatten)]
    rho: UsedRho,
    level: f64,
    seconds: f64,
    peak_rss_mb: Option<f64>,
}

pub(super) fn run(args: &EffectArgs, output: &OutputArgs) -> Result<Output> {
    let settings = args.ask.resolve()?;
    let out = args.out.as_ref().map(|out| out.resolve(&args.source.files())).transpose()?;
    out.map(check_table).transpose()?;
    let model = Model::load(&args.source.model, &settings.resources)?;
    let from = parse_treatment("--from", &args.from, &model)?;
    let to = parse_treatment("--to", &args.to, &model)?;
    let start = Instant::now();
    let question = model.ask_units(&args.source.file).effect(&from[..], &to[..]);
    let question = question.rho_bounds(args.bounds.rho_bounds);
    let mut contrast = Contrast::new(&model, &from, &to, settings.ask);
    if !args.by.is_empty() {
        contrast = contrast.by(model.subgroups(&args.source.file, &args.by)?);
    }
    let counts =
        write_answers_with(question.options(settings.ask), out, "effect", output, |units, answers| {
            contrast.add(units, answers)
        })?;
    let contrast = contrast.finish()?;
    let report = Report {
        out,
        has_unidentified_classes: model.classes() > 1 && !model.has_class_effects(),
        contrast: &contrast,
        counts: &counts,
        rho: model.used_rho(settings.ask.rho),
        level: settings.ask.level,
        seconds: start.elapsed().as_secs_f64(),
        peak_rss_mb: peak_rss_mb(),
    };
    let ends = [&to, &from].map(|t| model.treatment_text(t, |value| value.to_string()));
    Output::new(text(&report, &ends), &report)
}

/// The text of a report on the effect of the first treatment against the second.
fn text(report: &Report<'_>, [to, from]: &[String; 2]) -> String {
    let units = pluralise(report.counts.units, "unit");
    let mut text = String::new();
    if to == from {
        text += "warning: --from and --to are the same treatment: all effects are 0\n";
    }
    text += &verdict_lines(&report.contrast.verdicts);
    text += &format!(
        "effect of {to} against {from} on {units}, with {}% intervals:\n",
        format_number(100.0 * report.level)
    );
    let mut rows = vec![["outcome", "group", "units", "effect", "lower", "upper"].map(String::from).to_vec()];
    for average in &report.contrast.averages {
        // groups that are the same as all units are not shown
        let may_be_all = matches!(average.group, EffectGroup::Supported | EffectGroup::Ok);
        if may_be_all && average.units == report.counts.units {
            continue;
        }
        rows.push(vec![
            average.outcome.clone(),
            average.group.to_string(),
            format_count(average.units),
            format_short(average.effect),
            format_short(average.lower),
            format_short(average.upper),
        ]);
    }
    text += &align_rows(&rows);
    if report.contrast.averages.iter().all(|average| average.group != EffectGroup::Supported) {
        text += "no unit is on support: similar units did not receive these treatments\n";
    }
    if report.has_unidentified_classes {
        text += UNIDENTIFIED_CLASSES;
    }
    text += &subgroup_table(&report.contrast.subgroups);
    text += &plain_table(&report.contrast.plain);
    text += &causation_table(&report.contrast.causation, from, to);
    text += &format!("rho: {}\n", report.rho);
    text += &counts_text(report.counts);
    text + &report.out.map_or(String::new(), |out| format!("wrote {}\n", shell_quote(out)))
}

/// A line for every verdict that is not ok, and one for all that are.
fn verdict_lines(verdicts: &[Verdict]) -> String {
    let (ok, others): (Vec<&Verdict>, Vec<&Verdict>) =
        verdicts.iter().partition(|verdict| verdict.grade == Grade::Ok);
    let line =
        |own: &&Verdict| format!("{}: {}: {}\n", own.grade.name(), own.assumption.name(), own.sentence);
    let mut text: String = others.iter().map(line).collect();
    if !ok.is_empty() {
        let names: Vec<&str> = ok.iter().map(|verdict| verdict.assumption.name()).collect();
        text += &format!("ok: {}\n", names.join(", "));
    }
    text
}

/// The averages over subgroups, and whether they differ; nothing if there are none.
fn subgroup_table(subgroups: &[SubgroupEffects]) -> String {
    if subgroups.is_empty() {
        return String::new();
    }
    let headings = ["outcome", "column", "group", "units", "effect", "lower", "upper"];
    let mut rows = vec![headings.map(String::from).to_vec()];
    for of in subgroups {
        rows.extend(of.groups.iter().map(|own| {
            let [effect, lower, upper] =
                [own.effect, own.lower, own.upper].map(|value| value.map_or(String::new(), format_short));
            let effect = own.note.map_or(effect, str::to_owned);
            let names = [&of.outcome, &of.column, &own.group].map(String::clone);
            [&names[..], &[format_count(own.units), effect, lower, upper]].concat()
        }));
    }
    let sentences = subgroups.iter().map(|of| format!("{}\n", of.sentence));
    align_rows(&rows) + &sentences.collect::<String>()
}

/// Necessity and sufficiency of yes/no outcomes; nothing if there are none.
fn causation_table(causation: &[Causation], from: &str, to: &str) -> String {
    let mut rows = Vec::new();
    for own in causation {
        let necessity = format!("necessity: yes under {to}, would be no under {from}");
        let sufficiency = format!("sufficiency: no under {from}, would be yes under {to}");
        for (name, share) in [(necessity, own.necessity), (sufficiency, own.sufficiency)] {
            rows.extend(share.map(|share| {
                let [probability, lower, upper] =
                    [share.probability, share.lower, share.upper].map(format_short);
                vec![own.outcome.clone(), name, format_count(share.units), probability, lower, upper]
            }));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let headings = ["outcome", "of units treated alike", "units", "probability", "lower", "upper"];
    rows.insert(0, headings.map(String::from).to_vec());
    align_rows(&rows)
}

/// The plain estimates of the average effects; nothing if there are none.
fn plain_table(compared: &[PlainComparison]) -> String {
    if compared.iter().all(|own| own.estimates.is_empty()) {
        return String::new();
    }
    let headings = ["outcome", "plain estimate", "units", "effect", "lower", "upper", "standard error"];
    let mut rows = vec![headings.map(String::from).to_vec()];
    for own in compared {
        rows.extend(own.estimates.iter().map(|estimate| {
            vec![
                own.outcome.clone(),
                estimate.method.name().to_owned(),
                format_count(estimate.units),
                format_short(estimate.effect),
                format_short(estimate.lower),
                format_short(estimate.upper),
                format_short(estimate.standard_error),
            ]
        }));
    }
    align_rows(&rows)
}
