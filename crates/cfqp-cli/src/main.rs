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

/// The system's allocator gives large buffers back after every training step and asks for them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let done = commands::run(&cli).and_then(|output| output.print(&cli.show));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
