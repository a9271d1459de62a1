//! The help of every command.

use std::fmt::Write as _;

use crate::{cfqp, text};

const COMMANDS: [&str; 23] = [
    "",
    "demo",
    "simulate",
    "simulate oscillator",
    "simulate cardio",
    "simulate digits",
    "simulate ihdp",
    "simulate table",
    "check",
    "select",
    "fit",
    "diagnose",
    "query",
    "effect",
    "curve",
    "report",
    "evaluate",
    "compare",
    "model",
    "model show",
    "model export",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for command in COMMANDS {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = cfqp(folder.path(), &args);
        assert!(output.status.success() && output.stderr.is_empty());
        let help = text(&output.stdout);
        assert!(help.contains("Examples:\n  cfqp "), "{command}");
        let _ = writeln!(all, "$ cfqp {}\n{}", args.join(" "), help);
    }
    insta::assert_snapshot!("help", all);
}

#[test]
fn a_missing_command_prints_help_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let output = cfqp(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("Usage: cfqp"));
    assert_eq!(
        text(&cfqp(folder.path(), &["--version"]).stdout),
        format!("cfqp {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn the_markdown_pages_are_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    assert!(cfqp(folder.path(), &["man", "--format", "markdown", "--out", "."]).status.success());
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    let how = "run: cfqp man --format markdown --out docs/commands";
    let names = |folder: &std::path::Path| {
        crate::listing(folder).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(folder.path()), names(&kept), "{how}");
    for name in names(&kept) {
        let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join(&name)).unwrap();
        assert!(read(folder.path()) == read(&kept), "docs/commands/{name} is out of date; {how}");
    }
}
