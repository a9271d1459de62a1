//! The program `cfqp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cfqp_cli::run(std::env::args_os())
}
