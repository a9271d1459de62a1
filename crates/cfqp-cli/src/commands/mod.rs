//! The commands, one file each.

mod bench;
mod compare;
mod demo;
mod evaluate;
mod fit;
mod model;
mod query;
mod simulate;

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
    Fit(fit::FitArgs),
    Query(query::QueryArgs),
    Evaluate(evaluate::EvaluateArgs),
    Compare(compare::CompareArgs),
    Model(model::ModelArgs),
    Bench(bench::BenchArgs),
}

/// Do what the command line says.
pub fn run(cli: &Cli) -> Result<Output> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, &cli.show),
        Command::Simulate(args) => simulate::run(args),
        Command::Fit(args) => fit::run(args, &cli.show),
        Command::Query(args) => query::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Compare(args) => compare::run(args, &cli.show),
        Command::Model(args) => model::run(args),
        Command::Bench(args) => bench::run(args, &cli.show),
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
