//! The commands in docs/TUTORIAL.md print what the tutorial shows.
//!
//! Blocks fenced as `console` are run in order in one folder: lines that start with `$ ` are commands, the lines after
//! a command are its expected standard output. Numbers are compared by position, not by value, and runs of spaces count
//! as one. Blocks with another tag, such as `console,ignore`, are not run.
//!
//! `CFQP_UPDATE_DOCS=1 cargo test --release -p cfqp-cli tutorial` replaces the expected output by the actual one.

use std::env;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::text;

const TUTORIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/TUTORIAL.md");

/// A command and the lines of the document that hold its expected output.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    output: Range<usize>,
}

#[test]
fn the_tutorial_shows_what_its_commands_print() {
    let document = std::fs::read_to_string(TUTORIAL).unwrap();
    let steps = parse(&document);
    assert!(steps.iter().any(|step| step.command.starts_with("cfqp fit ")), "no fit in {TUTORIAL}");
    let folder = tempfile::tempdir().unwrap();
    let outputs: Vec<String> = steps.iter().map(|step| run(folder.path(), &step.command)).collect();
    if env::var_os("CFQP_UPDATE_DOCS").is_some() {
        std::fs::write(TUTORIAL, with_outputs(&document, &steps, &outputs)).unwrap();
        return;
    }
    let differences = differences(&document, &steps, &outputs);
    assert!(
        differences.is_empty(),
        "{}\nrun this test with CFQP_UPDATE_DOCS=1 to update {TUTORIAL}",
        differences.join("\n")
    );
}

/// The commands in the `console` blocks of a Markdown document.
fn parse(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut in_fence, mut in_console) = (false, false);
    for (number, line) in document.lines().enumerate() {
        if let Some(tag) = line.strip_prefix("```") {
            in_console = !in_fence && tag == "console";
            in_fence = !in_fence;
        } else if in_console {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { command: command.to_owned(), output: number + 1..number + 1 });
                }
                (None, Some(step)) if step.output.end == number => step.output.end = number + 1,
                (None, _) => panic!("line {}: output without a command", number + 1),
            }
        }
    }
    steps
}

/// The standard output of a shell command that must succeed, with the program under test first in `PATH`.
fn run(folder: &Path, command: &str) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_cfqp"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [program.parent().unwrap().to_owned()].into_iter().chain(env::split_paths(&path));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", env::join_paths(folders).unwrap())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A message for every step whose expected and actual output have different shapes.
fn differences(document: &str, steps: &[Step], outputs: &[String]) -> Vec<String> {
    let lines: Vec<&str> = document.lines().collect();
    let message = |(step, actual): (&Step, &String)| {
        let expected = lines[step.output.clone()].join("\n");
        (shape(&expected) != shape(actual))
            .then(|| format!("$ {}\nexpected:\n{expected}\nactual:\n{actual}", step.command))
    };
    steps.iter().zip(outputs).filter_map(message).collect()
}

/// The document with the output of every step replaced.
fn with_outputs(document: &str, steps: &[Step], outputs: &[String]) -> String {
    let mut lines: Vec<&str> = document.lines().collect();
    for (step, output) in steps.iter().zip(outputs).rev() {
        lines.splice(step.output.clone(), output.lines());
    }
    lines.join("\n") + "\n"
}

/// The words of every line, with `#` for every number.
fn shape(output: &str) -> Vec<String> {
    let words = |line: &str| mask_numbers(line).split_whitespace().collect::<Vec<_>>().join(" ");
    output.lines().map(words).filter(|line| !line.is_empty()).collect()
}

/// Replaces every number, such as `-0.5`, `2,000` or `6.5e-7`, by `#`.
fn mask_numbers(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..start];
        let is_signed =
            before.ends_with('-') && !before.trim_end_matches('-').ends_with(char::is_alphanumeric);
        masked.push_str(if is_signed { &before[..start - 1] } else { before });
        masked.push('#');
        rest = &rest[start + number_length(&rest[start..])..];
    }
    masked + rest
}

/// The length of the number that `text` starts with; a point or comma counts only before a digit.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    loop {
        let exponent = if bytes.get(end + 1) == Some(&b'-') { 2 } else { 1 };
        end += match bytes.get(end) {
            Some(b'0'..=b'9') => 1,
            Some(b'.' | b',') if is_digit(end + 1) => 1,
            Some(b'e') if is_digit(end + exponent) => exponent,
            _ => return end,
        };
    }
}

const DOCUMENT: &str = "\
Text.
```console
$ cfqp one
1 unit
wrote a.csv
$ cfqp two
```
```console,ignore
$ cfqp three
```
```text
$ cfqp four
```
";

#[test]
fn console_blocks_hold_commands_and_their_output() {
    let step = |command: &str, output| Step { command: command.to_owned(), output };
    assert_eq!(parse(DOCUMENT), [step("cfqp one", 3..5), step("cfqp two", 6..6)]);
}

#[test]
#[should_panic(expected = "line 2: output without a command")]
fn output_before_the_first_command_is_rejected() {
    parse("```console\n1 unit\n```\n");
}

#[test]
fn only_differences_of_shape_are_reported() {
    let steps = parse(DOCUMENT);
    let found = |one: &str, two: &str| differences(DOCUMENT, &steps, &[one.to_owned(), two.to_owned()]).len();
    assert_eq!(found("2,000 unit\nwrote   a.csv\n", ""), 0);
    assert_eq!(found("1 units\nwrote a.csv\n", ""), 1);
    assert_eq!(found("1 unit\n", ""), 1);
    assert_eq!(found("1 unit\nwrote a.csv\n", "more\n"), 1);
}

#[test]
fn updating_replaces_the_output_and_nothing_else() {
    let outputs = ["3 units\n".to_owned(), "done\nnext\n".to_owned()];
    let updated = with_outputs(DOCUMENT, &parse(DOCUMENT), &outputs);
    let expected = DOCUMENT.replace("1 unit\nwrote a.csv\n", "3 units\n");
    assert_eq!(updated, expected.replace("$ cfqp two\n", "$ cfqp two\ndone\nnext\n"));
    assert!(differences(&updated, &parse(&updated), &outputs).is_empty());
}

#[test]
fn numbers_are_masked_with_their_signs_separators_and_exponents() {
    assert_eq!(mask_numbers("mse -0.5, 2,000 units in 1.5 s."), "mse #, # units in # s.");
    assert_eq!(mask_numbers("6.51e-7 1e5 x [2, 20] 99.6%"), "# # x [#, #] #%");
    assert_eq!(mask_numbers("top-5 class 0: 0.4:1:7"), "top-# class #: #:#:#");
}
