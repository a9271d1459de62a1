//! Tests of the program `cfqp` as users run it.

mod bad_input;
mod bad_tables;
mod contrasts;
mod faults;
mod groups;
mod hardening;
mod help;
mod interrupted;
mod isa;
mod killed;
mod kinds;
mod large;
mod no_outcome;
mod practice;
mod report;
mod rho;
mod signals;
mod tables;
mod tutorial;
mod whole;
mod writers;

use std::path::Path;
use std::process::{Command, Output};

/// `cfqp` in `folder`, without a terminal.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cfqp"));
    command.current_dir(folder).args(args).env_remove("COLUMNS").env("NO_COLOR", "1");
    command
}

fn cfqp(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The stdout of a command that must succeed; arguments are separated by spaces.
fn succeed(folder: &Path, line: &str) -> String {
    let output = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "cfqp {line}: {stderr}");
    stdout
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The names and sizes of all files in `folder`.
fn listing(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> = entries.map(|e| (name(&e), e.metadata().unwrap().len())).collect();
    names.sort();
    names
}

/// Runs commands that must fail with exit code 2 and leave `folder` as it is; returns them with their messages.
fn refusals(folder: &Path, lines: &[&str]) -> String {
    let before = listing(folder);
    let mut all = String::new();
    for line in lines {
        let output = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert_eq!(text(&output.stdout), "", "{line}");
        assert_eq!(listing(folder), before, "{line}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        all += &format!("$ cfqp {line}\n{stderr}\n");
    }
    all
}
