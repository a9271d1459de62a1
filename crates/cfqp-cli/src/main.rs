//! The command `cfqp`.

mod args;
mod commands;
mod error;
mod files;
mod interrupt;
mod output;
mod picture;
mod progress;
mod report;
mod resources;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let done = commands::run(&cli).and_then(|output| output.print(&cli.show));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
