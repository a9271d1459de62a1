//! What a user of `cfqp` sees.

mod bad_input;
mod bad_tables;
mod help;
mod interrupted;
mod killed;
mod report;
mod tables;
mod whole;

use std::path::Path;
use std::process::{Command, Output};

/// `cfqp` in `folder`, as a user without a terminal has it.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cfqp"));
    command.current_dir(folder).args(args).env_remove("COLUMNS").env("NO_COLOR", "1");
    command
}

fn cfqp(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// What a command that must succeed has on stdout; words are separated by spaces.
fn succeed(folder: &Path, line: &str) -> String {
    let output = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "cfqp {line}: {stderr}");
    stdout
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Names and sizes of all files in `folder`.
fn listing(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> = entries.map(|e| (name(&e), e.metadata().unwrap().len())).collect();
    names.sort();
    names
}
