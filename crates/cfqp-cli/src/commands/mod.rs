//! The commands, one file each.

mod arrays;
mod bench;
mod check;
mod compare;
mod curve;
mod demo;
mod diagnose;
mod effect;
mod evaluate;
mod fit;
mod flags;
mod grid;
mod markdown;
mod model;
mod query;
mod report;
mod reproduce;
mod select;
mod shell;
mod simulate;
mod simulated;

use clap::{Args, Subcommand};

use cfqp::Ask;

use crate::args::Cli;
use crate::error::Result;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::DemoArgs),
    Simulate(simulate::SimulateArgs),
    Check(check::CheckArgs),
    Select(select::SelectArgs),
    Fit(fit::FitArgs),
    Diagnose(diagnose::DiagnoseArgs),
    Query(query::QueryArgs),
    Effect(effect::EffectArgs),
    Curve(curve::CurveArgs),
    Report(report::ReportArgs),
    Evaluate(evaluate::EvaluateArgs),
    Compare(compare::CompareArgs),
    Reproduce(reproduce::ReproduceArgs),
    Model(model::ModelArgs),
    Bench(bench::BenchArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// Do what the command line says.
pub fn run(cli: &Cli) -> Result<Output> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, &cli.show),
        Command::Simulate(args) => simulate::run(args),
        Command::Check(args) => check::run(args),
        Command::Select(args) => select::run(args, &cli.show),
        Command::Fit(args) => fit::run(args, &cli.show),
        Command::Diagnose(args) => diagnose::run(args, &cli.show),
        Command::Query(args) => query::run(args, &cli.show),
        Command::Effect(args) => effect::run(args, &cli.show),
        Command::Curve(args) => curve::run(args, &cli.show),
        Command::Report(args) => report::run(args, &cli.show),
        Command::Evaluate(args) => evaluate::run(args, &cli.show),
        Command::Compare(args) => compare::run(args, &cli.show),
        Command::Reproduce(args) => reproduce::run(args, &cli.show),
        Command::Model(args) => model::run(args),
        Command::Bench(args) => bench::run(args, &cli.show),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// How a model is asked.
#[derive(Args, Clone, Copy, Debug)]
pub struct AskArgs {
    /// How much of a unit's noise is the same in both worlds: 1 all of it ("everything else being equal"),
    /// 0 none (the noise is drawn anew)
    #[arg(long, default_value_t = 1.0, value_name = "R", allow_negative_numbers = true)]
    rho: f32,
    /// The share of true outcomes that intervals should hold
    #[arg(long, default_value_t = 0.9, value_name = "L", allow_negative_numbers = true)]
    level: f64,
}

impl AskArgs {
    fn resolve(&self) -> Result<Ask> {
        let ask = Ask { rho: self.rho, level: self.level };
        ask.check()?;
        Ok(ask)
    }
}
