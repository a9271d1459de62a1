//! The commands, one file each.

mod answered;
mod arrays;
mod ask;
mod check;
pub(crate) mod compare;
mod curve;
mod demo;
mod diagnose;
mod effect;
mod evaluate;
mod fit;
mod grid;
mod markdown;
mod model;
mod query;
mod report;
mod select;
mod shell;
mod simulate;
mod simulated;
mod table_worlds;

use clap::Subcommand;

use crate::args::Cli;
use crate::error::Result;
use crate::output::Output;

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    Model(model::ModelArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Result<Output> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, &cli.output),
        Command::Simulate(args) => simulate::run(args),
        Command::Check(args) => check::run(args),
        Command::Select(args) => select::run(args, &cli.output),
        Command::Fit(args) => fit::run(args, &cli.output),
        Command::Diagnose(args) => diagnose::run(args, &cli.output),
        Command::Query(args) => query::run(args, &cli.output),
        Command::Effect(args) => effect::run(args, &cli.output),
        Command::Curve(args) => curve::run(args, &cli.output),
        Command::Report(args) => report::run(args, &cli.output),
        Command::Evaluate(args) => evaluate::run(args, &cli.output),
        Command::Compare(args) => compare::run(args, &cli.output),
        Command::Model(args) => model::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}
