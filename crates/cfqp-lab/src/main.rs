//! The command `cfqp-lab`: reproduces the published experiments, measures accuracy on tables, random scenarios and real
//! measurements, speed, what a process holds in the long run, and fits to tables that do not fit in memory.

mod bench;
mod real;
mod reproduce;
mod scale;
mod scenarios;
mod soak;
mod tables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use cfqp_cli::args::OutputArgs;

const EXAMPLES: &str = "\
Examples:
  cfqp-lab reproduce table1 --scale smoke --out smoke
  cfqp-lab tables --worlds single,crossing --n 300 --seeds 1 --out few
  cfqp-lab scenarios --seeds 0..6 --max-n 400 --out few-scenarios
  cfqp-lab real measurements --out real
  cfqp-lab bench --quick
  cfqp-lab soak
  cfqp-lab scale --rows 100000 --limits 256MB --out few

Exit codes: 0 done, 1 memory or open files grow (soak), 2 error, 130 interrupted.";

/// Reproduce the published experiments; measure the accuracy and the speed of cfqp
#[derive(Debug, Parser)]
#[command(name = "cfqp-lab", version, after_help = EXAMPLES, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    show: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Reproduce(reproduce::ReproduceArgs),
    Tables(tables::TablesArgs),
    Scenarios(scenarios::ScenariosArgs),
    Real(real::RealArgs),
    Bench(bench::BenchArgs),
    Soak(soak::SoakArgs),
    Scale(scale::ScaleArgs),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|arg| arg == bench::CFQP) {
        return cfqp_cli::run(args.into_iter().skip(1));
    }
    cfqp_cli::prepare();
    let cli = Cli::parse_from(args);
    let result = match &cli.command {
        Command::Reproduce(args) => reproduce::run(args, &cli.show),
        Command::Tables(args) => tables::run(args, &cli.show),
        Command::Scenarios(args) => scenarios::run(args, &cli.show),
        Command::Real(args) => real::run(args, &cli.show),
        Command::Bench(args) => bench::run(args, &cli.show),
        Command::Soak(args) => soak::run(args, &cli.show),
        Command::Scale(args) => scale::run(args, &cli.show),
    };
    cfqp_cli::finish(result, &cli.show)
}
