//! `cfqp demo`: the whole way on simulated units, compared with the truth.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::sim::{Oscillator, Simulated};
use cfqp::{Answers, Ask, Base, Classes, Evaluation, FitConfig, Fitted, Reference, Resources, evaluate, mse};

use super::{arrays, simulate};
use crate::args::Show;
use crate::error::{Failure, Result};
use crate::files::write_text;
use crate::interrupt;
use crate::output::Output;
use crate::picture::{Example, draw};
use crate::progress::Progress;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{count, facts, percent, shell, small, table};

const TRAIN_UNITS: usize = 2100;
const TEST_UNITS: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  cfqp demo
  cfqp demo --seed 3 --out /tmp/demo --json

Simulates oscillators that respond to a treatment in one of three hidden ways, fits a model that \
is not told how many, asks what other units would have shown under another treatment, and compares \
with the truth. DIR then holds train.npz, test.npz, model.cfqp, answers.npz and the picture demo.svg.";

/// See it at work: simulate, fit, ask, compare with the truth, draw
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArgs {
    /// Seed of the simulation and the fit
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The folder for data, model and picture; the demo's own files there are replaced
    #[arg(long, value_name = "DIR", default_value = "cfqp-demo")]
    out: PathBuf,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    seed: u64,
    train_units: usize,
    classes: usize,
    base: &'a str,
    #[serde(flatten)]
    evaluation: Evaluation,
    ite_cf_mse: f64,
    fit_seconds: f64,
    seconds: f64,
    peak_rss_mb: Option<f64>,
    picture: &'a Path,
    model: &'a Path,
}

pub fn run(args: &DemoArgs, show: &Show) -> Result<Output> {
    let start = Instant::now();
    let resources = args.resources.resolve()?;
    make_folder(&args.out)?;
    interrupt::listen();
    let path = |name: &str| args.out.join(name);
    let (train, test) = simulate_both(args.seed)?;
    simulate::write(&train, &path("train.npz"))?;
    simulate::write(&test, &path("test.npz"))?;

    let fitting = Instant::now();
    let config = FitConfig { seed: args.seed, ..FitConfig::default() };
    let fitted = fit(&train, &config, &resources, show, "fit")?;
    let fit_seconds = fitting.elapsed().as_secs_f64();
    fitted.save(&path("model.cfqp"))?;

    let ask = Ask::default();
    let evaluation = evaluate(&fitted, &test.data, &Reference::from(test.truth.clone()), &ask)?;
    let answers = fitted.query(&test.data, &test.truth.t_new, &ask)?;
    arrays::write_answers(&path("answers.npz"), &answers, &test.truth.t_new, None)?;
    let ite = ite_answers(&fitted, &train, &test, &resources, show)?;
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
    Output::new(summary(&report, &args.out), &report)
}

fn make_folder(path: &Path) -> Result<()> {
    if path.is_file() {
        return Err(Failure::new(format!("{}: it is a file", path.display()), "give --out a folder"));
    }
    std::fs::create_dir_all(path).map_err(|error| Failure::io(path, error))
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
    show: &Show,
    doing: &str,
) -> Result<Fitted> {
    let progress = Progress::new(show, doing);
    let fitted = cfqp::fit(&train.data, None, config, resources, &progress);
    fitted.map_err(|error| match error {
        cfqp::Error::Interrupted => Failure::interrupted("run the demo again: it starts over"),
        error => error.into(),
    })
}

/// What a model of x and t alone answers: the same base model, told nothing of classes or of the unit's outcome.
fn ite_answers(
    fitted: &Fitted,
    train: &Simulated,
    test: &Simulated,
    resources: &Resources,
    show: &Show,
) -> Result<Answers> {
    let base = if fitted.base() == "linear" { Base::Linear } else { Base::Mlp };
    let config = FitConfig { classes: Classes::Given(1), base, ..fitted.config().clone() };
    let ite = fit(train, &config, resources, show, "fit of an ITE model")?;
    Ok(ite.query(&test.data, &test.truth.t_new, &Ask { rho: 0.0, ..Ask::default() })?)
}

fn write_picture(path: &Path, test: &Simulated, answers: &Answers, ite: &Answers) -> Result<()> {
    let units: Vec<usize> = (0..).map_while(|class| strongest(test, class)).collect();
    let examples: Vec<Example<'_>> = units.iter().map(|&unit| example(unit, test, answers, ite)).collect();
    let svg = draw(&examples)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display()), "please report this"))?;
    write_text(path, &svg)
}

/// The unit of a class whose treatment would be raised most.
fn strongest(test: &Simulated, class: usize) -> Option<usize> {
    let change = |unit: usize| test.truth.t_new.row(unit)[0] - test.data.t().row(unit)[0];
    let own = (0..test.data.len()).filter(|&unit| test.truth.z[unit] == class);
    own.max_by(|&a, &b| change(a).total_cmp(&change(b)))
}

fn example<'a>(unit: usize, test: &'a Simulated, answers: &'a Answers, ite: &'a Answers) -> Example<'a> {
    Example {
        unit,
        class: test.truth.z[unit],
        treatments: [test.data.t().row(unit)[0], test.truth.t_new.row(unit)[0]],
        before: test.data.x().row(unit),
        seen: test.data.y().row(unit),
        truth: test.truth.y_new.row(unit),
        answer: answers.point.row(unit),
        lower: answers.lower.row(unit),
        upper: answers.upper.row(unit),
        rival: ite.point.row(unit),
    }
}

fn summary(report: &Report<'_>, out: &Path) -> String {
    let found = &report.evaluation;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let errors = table(&[
        row("cfqp: with the unit's class and its own noise", small(found.cf_mse)),
        row("cfqp: with the unit's class alone (rho 0)", small(found.cf_mse_rho0)),
        row("an ITE model: from x and the treatment alone", small(report.ite_cf_mse)),
    ]);
    let rest = facts(&[
        ("hidden classes found", report.classes.to_string()),
        ("units whose class is right", percent(found.class_accuracy.unwrap_or(f64::NAN))),
        ("truth inside 90% intervals", percent(found.coverage)),
        (
            "fit, queries, all",
            format!("{:.1} s, {:.2} s, {:.1} s", report.fit_seconds, found.query_seconds, report.seconds),
        ),
        ("peak memory", report.peak_rss_mb.map_or("unknown".to_owned(), |mb| format!("{mb:.0} MB"))),
    ]);
    let (train, test) = (count(report.train_units), count(found.units));
    let picture = shell(report.picture);
    format!(
        "oscillator, {train} units to learn from, {test} others to ask about (base model: {base})\n\
         mean squared error of the counterfactual:\n{errors}{rest}\
         picture: {picture}\n\
         next: cfqp model show {model}\n      cfqp query {model} {data} --grid 0.2:1:9 --out curves.npz\n",
        base = report.base,
        model = shell(report.model),
        data = shell(&out.join("test.npz")),
    )
}
