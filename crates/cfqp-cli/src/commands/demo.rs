//! `cfqp demo`: a complete example on simulated units, compared with the truth.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::eval::{Evaluation, Reference, evaluate, mse};
use cfqp::sim::{Oscillator, Simulated};
use cfqp::{Answers, AskOptions, Base, Classes, Fit, FitConfig, Model, Resources, Rho, Units};
use cfqp_html::chart::{Example, draw_counterfactuals};

use super::{arrays, simulate};
use crate::args::OutputArgs;
use crate::error::{Failure, Result};
use crate::files::{create_folder, write_text};
use crate::format::{align_facts, align_rows, format_count, format_percent, format_short, shell_quote};
use crate::interrupt;
use crate::output::{Output, path_text};
use crate::progress::Progress;
use crate::resources::{ResourceArgs, peak_rss_mb};

const TRAIN_UNITS: usize = 2100;
const TEST_UNITS: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  cfqp demo
  cfqp demo --seed 3 --out /tmp/demo --json

Simulates oscillators of three hidden classes that respond differently to a treatment, fits a model \
without giving it the number of classes, predicts the outcomes of other units under another treatment, \
and compares them with the truth. DIR then contains train.npz, test.npz, model.cfqp, answers.npz and \
the picture demo.svg.";

/// Run a complete example: simulate, fit, query, compare with the truth, draw
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Random seed of the simulation and the fit
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The folder for data, model and picture; files of an earlier demo are replaced
    #[arg(long, value_name = "DIR", default_value = "cfqp-demo")]
    out: PathBuf,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    seed: u64,
    train_units: usize,
    classes: usize,
    base: Base,
    #[serde(flatten)]
    evaluation: Evaluation,
    ite_cf_mse: f64,
    fit_seconds: f64,
    seconds: f64,
    peak_rss_mb: Option<f64>,
    #[serde(serialize_with = "path_text")]
    picture: &'a Path,
    #[serde(serialize_with = "path_text")]
    model: &'a Path,
}

pub(super) fn run(args: &DemoArgs, output: &OutputArgs) -> Result<Output> {
    let start = Instant::now();
    let resources = args.resources.resolve()?;
    create_folder(&args.out)?;
    interrupt::stop_between_steps();
    let path = |name: &str| args.out.join(name);
    let (train, test) = simulate_both(args.seed)?;
    simulate::write_arrays(&train, &path("train.npz"))?;
    simulate::write_arrays(&test, &path("test.npz"))?;

    let fitting = Instant::now();
    let config = FitConfig { seed: args.seed, ..FitConfig::default() };
    let fitted = fit(&train, &config, &resources, output, "fit")?;
    let fit_seconds = fitting.elapsed().as_secs_f64();
    fitted.save(&path("model.cfqp"))?;

    let ask = AskOptions { rho: Rho::Given(1.0), ..AskOptions::default() };
    let evaluation = evaluate(&fitted, &test.data, &Reference::from(test.truth.clone()), ask)?;
    let answers = fitted.ask(&test.data).under(&test.truth.t_new).options(ask).answers()?;
    arrays::write_answer_arrays(&path("answers.npz"), &answers, &[], &test.truth.t_new, None)?;
    let ite = ite_answers(&fitted, &train, &test, &resources, output)?;
    write_picture(&path("demo.svg"), &test, &answers, &ite)?;

    let report = Report {
        seed: args.seed,
        train_units: TRAIN_UNITS,
        classes: fitted.classes(),
        base: fitted.base(),
        evaluation,
        ite_cf_mse: mse(&test.truth.y_new, &ite.point)? / fitted.scaler().x_variance,
        fit_seconds,
        seconds: start.elapsed().as_secs_f64(),
        peak_rss_mb: peak_rss_mb(),
        picture: &path("demo.svg"),
        model: &path("model.cfqp"),
    };
    Output::new(text(&report, &args.out), &report)
}

fn simulate_both(seed: u64) -> cfqp::Result<(Simulated, Simulated)> {
    let simulator = Oscillator::default();
    let other = seed.wrapping_add(1000);
    Ok((simulator.simulate(TRAIN_UNITS, seed)?, simulator.simulate(TEST_UNITS, other)?))
}

fn fit(
    train: &Simulated,
    config: &FitConfig,
    resources: &Resources,
    output: &OutputArgs,
    name: &str,
) -> Result<Model> {
    let progress = Progress::new(output, name);
    let fit = Fit::new(config.clone()).resources(resources.clone()).monitor(&progress);
    let fitted = fit.run(&train.data);
    fitted.map_err(|error| match error {
        cfqp::Error::Interrupted => Failure::interrupted("run the demo again"),
        error => error.into(),
    })
}

/// The answers of a model of individual treatment effects: the same base model of x and t without classes, which does
/// not use the unit's outcome.
fn ite_answers(
    fitted: &Model,
    train: &Simulated,
    test: &Simulated,
    resources: &Resources,
    output: &OutputArgs,
) -> Result<Answers> {
    let config = FitConfig { classes: Classes::Given(1), base: fitted.base(), ..fitted.config().clone() };
    let ite = fit(train, &config, resources, output, "fit of an ITE model")?;
    Ok(ite.ask(&test.data).under(&test.truth.t_new).rho(0.0).answers()?)
}

fn write_picture(path: &Path, test: &Simulated, answers: &Answers, ite: &Answers) -> Result<()> {
    let units: Vec<usize> = (0..).map_while(|class| most_raised_unit(test, class)).collect();
    let examples: Vec<Example<'_>> = units.iter().map(|&unit| example(unit, test, answers, ite)).collect();
    write_text(path, &draw_counterfactuals(&examples))
}

/// The unit of a class with the largest increase of its treatment.
fn most_raised_unit(test: &Simulated, class: usize) -> Option<usize> {
    let change = |unit: usize| test.truth.t_new.row(unit)[0] - test.data.t().row(unit)[0];
    let units = (0..test.data.len()).filter(|&unit| test.truth.z[unit] == class);
    units.max_by(|&a, &b| change(a).total_cmp(&change(b)))
}

fn example<'a>(unit: usize, test: &'a Simulated, answers: &'a Answers, ite: &'a Answers) -> Example<'a> {
    let row = |units: &'a Units| &units.values()[unit * units.elements()..][..units.elements()];
    Example {
        unit,
        class: test.truth.z[unit],
        factual_t: test.data.t().row(unit)[0],
        new_t: test.truth.t_new.row(unit)[0],
        covariates: row(test.data.x()),
        factual: row(test.data.y()),
        truth: row(&test.truth.y_new),
        answer: row(&answers.point),
        lower: row(&answers.lower),
        upper: row(&answers.upper),
        ite_answer: row(&ite.point),
    }
}

fn text(report: &Report<'_>, out: &Path) -> String {
    let found = &report.evaluation;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let errors = align_rows(&[
        row("cfqp, same noise (rho = 1)", format_short(found.cf_mse)),
        row("cfqp, fresh noise (rho = 0)", format_short(found.cf_mse_rho0)),
        row("ITE model: x and treatment only, no classes", format_short(report.ite_cf_mse)),
    ]);
    let rest = align_facts(&[
        ("hidden classes found", report.classes.to_string()),
        ("class accuracy", format_percent(found.class_accuracy.unwrap_or(f64::NAN))),
        ("coverage of 90% intervals", format_percent(found.coverage.unwrap_or(f64::NAN))),
        (
            "fit, queries, total",
            format!("{:.1} s, {:.2} s, {:.1} s", report.fit_seconds, found.query_seconds, report.seconds),
        ),
        ("peak memory", report.peak_rss_mb.map_or("unknown".to_owned(), |mb| format!("{mb:.0} MB"))),
    ]);
    let (train, test) = (format_count(report.train_units), format_count(found.units));
    let picture = shell_quote(report.picture);
    format!(
        "oscillator: {train} units for training, {test} for testing (base model: {base})\n\
         mean squared error of the counterfactual:\n{errors}{rest}\
         picture: {picture}\n\
         next: cfqp model show {model}\n      cfqp query {model} {data} --grid 0.2:1:9 --out curves.npz\n",
        base = report.base,
        model = shell_quote(report.model),
        data = shell_quote(&out.join("test.npz")),
    )
}
