//! The command `cfqp`.

mod args;
mod columns;
mod commands;
mod error;
mod files;
mod html;
mod interrupt;
mod load;
mod output;
mod picture;
mod plot;
mod png;
mod progress;
mod report;
mod resources;
mod stream;
mod table;
mod text;
mod watching;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // a damaged file is told as an error, without a stack trace before it
        if !cfqp::panics_are_errors() {
            usual(panic);
        }
    }));
    resources::keep_memory();
    let cli = args::Cli::parse();
    let done = commands::run(&cli).and_then(|output| output.print(&cli.show).map(|()| output.failed));
    match done {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(1),
        Err(failure) => failure.report(),
    }
}
