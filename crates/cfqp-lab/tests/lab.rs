//! What a user of `cfqp-lab` sees.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn lab(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cfqp-lab"));
    command.current_dir(folder).args(line.split_whitespace()).env_remove("COLUMNS").env("NO_COLOR", "1");
    command.output().unwrap()
}

/// The standard output of a command that must succeed.
fn succeed(folder: &Path, line: &str) -> String {
    let output = lab(folder, line);
    assert!(output.status.success(), "cfqp-lab {line}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_repeated_experiment_reuses_its_finished_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "reproduce noise --scale smoke --out r";
    let first = succeed(folder, line);
    assert!(first.contains("counterfactual mean squared error") && first.contains("deep-scm"), "{first}");
    let at = |name: &str| std::fs::read(folder.join("r/noise").join(name)).unwrap();
    let figure = text(&at("oscillator-additive.svg"));
    assert!(
        figure.starts_with("<svg") && figure.contains(">deep-scm</text>") && figure.contains(">0.05</text>")
    );
    assert_eq!(figure.matches("<path class=\"line ").count(), 2 * 8, "every line is connected to its name");
    let results: Value = serde_json::from_slice(&at("results.json")).unwrap();
    assert_eq!(results["outcomes"].as_array().unwrap().len(), 3 * 8);
    let (table, tex) = (at("table.md"), at("table.tex"));
    let runs = || std::fs::read_dir(folder.join("r/runs")).unwrap().count();
    let kept = runs();
    assert_eq!(succeed(folder, line), first, "finished runs are not run again");
    assert_eq!((runs(), at("table.md"), at("table.tex")), (kept, table, tex));
}

#[test]
fn figures_of_units_are_drawn_for_series_and_images() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "reproduce table1 --scale smoke --data oscillator,digits --methods sc,cfqp --out r";
    let first = succeed(folder, line);
    let at = |name: &str| std::fs::read(folder.join("r/table1").join(name)).unwrap();
    for data in ["oscillator-additive", "oscillator-non-additive", "digits-additive", "digits-non-additive"] {
        assert!(at(&format!("{data}-units.svg")).starts_with(b"<svg"), "{data}");
    }
    let (series, images) = (at("oscillator-additive-units.svg"), at("digits-additive-units.svg"));
    let count = |figure: &[u8], mark: &str| text(figure).matches(mark).count();
    assert_eq!(
        count(&series, "class=\"line wide k0\""),
        3 * 3 + 1,
        "a panel per class and treatment, and the legend"
    );
    assert_eq!(
        count(&images, "href=\"data:image/png;base64,iVBORw0KGgo"),
        3 * 2 * 5,
        "rows, units, treatments"
    );
    let results: Value = serde_json::from_slice(&at("results.json")).unwrap();
    assert_eq!(results["outcomes"].as_array().unwrap().len(), 4 * 2);
    assert!(
        results["outcomes"][0]["run"]["shown"].is_null(),
        "answers for figures are not part of the results"
    );
    assert_eq!(succeed(folder, line), first, "finished runs are not run again");
    assert_eq!((at("oscillator-additive-units.svg"), at("digits-additive-units.svg")), (series, images));
}

#[test]
fn every_benchmark_runs() {
    let folder = tempfile::tempdir().unwrap();
    let printed = succeed(folder.path(), "bench --quick --only em,groups,queries,tables --json");
    let report: Value = serde_json::from_str(&printed).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() > 10 && rows.iter().all(|row| row["ours"].as_f64().unwrap() > 0.0), "{report}");
}

#[test]
fn a_missing_python_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(folder.path(), "bench --quick --peers --python no-such-python");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint: ") && text(&output.stderr).contains("--python"));
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["", "reproduce", "bench"] {
        let help = succeed(folder.path(), &format!("{command} --help"));
        assert!(help.contains("Examples:\n  cfqp-lab "), "{help}");
    }
}
