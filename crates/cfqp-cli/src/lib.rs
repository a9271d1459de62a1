//! The program `cfqp`.
//!
//! Everything but `main`, so that the project's other programs share its progress bars, errors, tables and arguments.
//! It is not an interface for users: that is the crate `cfqp`.

#![allow(missing_docs, reason = "shared by the project's own programs only")]

pub mod args;
mod columns;
mod commands;
pub mod comparison_table;
pub mod error;
pub mod files;
mod fit_command;
mod fit_summary;
pub mod format;
pub mod interrupt;
mod load;
mod memory;
pub mod output;
pub mod progress;
pub mod resources;
pub mod run_progress;
mod settings;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

pub use commands::compare::{create_runs_folder, explain, method_parser};

#[global_allocator]
static ALLOCATOR: memory::Budgeted = memory::Budgeted;

/// Parses the command line `args`, which begins with the program's name, runs its command and prints the result.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    prepare();
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = args::Cli::parse_from(&args);
    let is_input = |pair: &&[OsString]| pair[0] != "--out" && Path::new(&pair[1]).is_file();
    cli.memory.apply(args.windows(2).filter(is_input).map(|pair| Path::new(&pair[1])));
    let checked = cfqp::DeviceKind::Cpu.validate().map_err(error::Failure::from);
    finish(checked.and_then(|()| commands::run(&cli)), &cli.output)
}

/// Sets up the process: damaged files are reported as errors, the allocator keeps its buffers, and signals are handled.
pub fn prepare() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // reading a damaged file panics inside a dependency; the library turns that into an error
        if !cfqp::data::table::is_catching_panics() {
            default_hook(panic);
        }
    }));
    resources::keep_memory();
    interrupt::listen();
}

/// Prints what a command returned. The exit code is 0, 1 where a check failed, 2 on an error, 130 on an interrupt.
pub fn finish(result: error::Result<output::Output>, output: &args::OutputArgs) -> ExitCode {
    match result.and_then(|result| result.print(output).map(|()| result.failed)) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(1),
        Err(failure) => failure.report(),
    }
}
