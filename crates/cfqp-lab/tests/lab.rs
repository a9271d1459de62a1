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
fn simulated_tables_are_evaluated_and_finished_fits_reused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "tables --worlds single,binary-treatment --n 60 --seeds 1 --out t";
    let first = lab(folder, line);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let lines = text(&first.stderr);
    assert!(lines.contains("single, seed 1: error ") && lines.contains(" s; calibration "), "{lines}");
    let printed = text(&first.stdout);
    assert!(
        printed.contains("| single | ") && printed.contains("60 training units, 2,000 test units"),
        "{printed}"
    );
    let results = std::fs::read(folder.join("t/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let fits = results["fits"].as_array().unwrap();
    let worlds: Vec<&str> = fits.iter().map(|fit| fit["world"].as_str().unwrap()).collect();
    assert_eq!(worlds, ["binary-treatment", "single"], "the order of the simulator");
    for fit in fits {
        let number = |name: &str| fit[name].as_f64().unwrap();
        assert!((number("error") - number("limit") - number("excess")).abs() < 1e-9, "{fit}");
        assert!(number("error") > number("limit") && (0.0..=1.0).contains(&number("coverage")), "{fit}");
        assert_eq!(number("test_units"), 2000.0);
    }
    let again = lab(folder, line);
    assert_eq!(text(&again.stdout), printed, "finished fits are not fitted again");
    assert_eq!(text(&again.stderr).matches("(finished before)").count(), 2);
    std::fs::write(folder.join("t/runs/single-n60-seed1.json"), "{}").unwrap();
    let third = lab(folder, line);
    assert_eq!(text(&third.stderr).matches("(finished before)").count(), 1, "a damaged file is replaced");
}

/// Six rows of each of ten plants: a level of the plant plus a slope.
fn write_plants(folder: &Path) {
    let (mut rows, mut pairs) = ("id,x_a,t,y\n".to_owned(), "id,t_new,y_new,subject,cls\n".to_owned());
    for plant in 0..10 {
        let y = |t: usize| {
            let noise = ((plant * 7 + t * 5) % 11) as f64 / 50.0;
            (plant * 3 % 7) as f64 + 0.5 * t as f64 + noise
        };
        for t in 0..6 {
            let id = plant * 6 + t;
            rows += &format!("{id},{},{t},{}\n", plant % 3, y(t));
            let other = (t + 1) % 6;
            pairs += &format!("{id},{other},{},plant {plant},a\n", y(other));
        }
    }
    std::fs::create_dir(folder.join("plants")).unwrap();
    std::fs::write(folder.join("plants/data.csv"), rows).unwrap();
    std::fs::write(folder.join("plants/pairs.csv"), pairs).unwrap();
}

#[test]
fn methods_are_scored_on_pairs_and_on_held_out_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_plants(folder);
    let line = "real . --seeds 1 --out r --json";
    let printed = succeed(folder, line);
    let report: Value = serde_json::from_str(&printed).unwrap();
    let pairs = &report["pairs"][0];
    assert_eq!((pairs["set"].as_str(), pairs["pairs"].as_u64()), (Some("plants"), Some(60)));
    let rho: Vec<&Value> =
        pairs["runs"].as_array().unwrap().iter().map(|run| &run["config"]["rho"]).collect();
    assert_eq!(rho.len(), 6);
    assert_eq!((rho[4].as_str(), rho[5].as_f64()), (Some("auto"), Some(1.0)));
    let held_out = &report["held_out"][0];
    assert_eq!((held_out["rows"].as_u64(), held_out["held_out"].as_u64()), (Some(50), Some(10)));
    let scores = |method: usize| &held_out["runs"][method]["scores"];
    let rmse = |method: usize| scores(method)["rmse"].as_f64().unwrap();
    assert_eq!(held_out["runs"][4]["method"], "cfqp");
    assert!(rmse(4) < rmse(0), "other rows of a plant tell its level: {} {}", rmse(4), rmse(0));
    assert!((0.0..=1.0).contains(&scores(4)["rho"].as_f64().unwrap()), "learned from repeats");
    assert!(scores(0)["rho"].is_null() && pairs["runs"][4]["scores"]["rho"].is_null(), "not known");
    let table = std::fs::read_to_string(folder.join("r/table.md")).unwrap();
    assert!(table.contains("| plants | 60 | 60 | cfqp | auto (unknown) |"), "{table}");
    assert!(table.contains("### one row of each subject held out"), "{table}");
    assert_eq!(succeed(folder, line), printed, "finished runs are not run again");
}

#[test]
fn a_folder_without_measurements_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(folder.path(), "real .");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("pairs*.csv") && text(&output.stderr).contains("hint: "));
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
    for command in ["", "reproduce", "tables", "real", "bench"] {
        let help = succeed(folder.path(), &format!("{command} --help"));
        assert!(help.contains("Examples:\n  cfqp-lab "), "{help}");
    }
}
