//! From simulated data to answers and their scores.

use cfqp::read_array;
use serde_json::Value;

use crate::{cfqp, succeed, text};

const FIT: &str = "fit train.npz --base linear --classes 3 --init kmeans,kmeans-unit --members 3 --seed 5";

fn json(folder: &std::path::Path, line: &str) -> Value {
    let out = succeed(folder, &format!("{line} --json"));
    assert_eq!(out.lines().count(), 1, "{line} prints one object");
    serde_json::from_str(&out).unwrap()
}

/// Every field is there; the last ones may be null.
fn assert_fields(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} in {value}");
    }
}

#[test]
fn units_are_simulated_fitted_asked_and_scored() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = json(folder, "simulate oscillator --n 240 --seed 1 --out train.npz");
    assert_eq!((&made["units"], &made["classes"]), (&240.into(), &3.into()));
    succeed(folder, "simulate oscillator --n 50 --seed 1001 --out test.npz");

    let fit = json(folder, &format!("{FIT} --threads 1 --out a.cfqp"));
    assert_eq!((&fit["classes"], &fit["base"], &fit["members"]), (&3.into(), &"linear".into(), &3.into()));
    let fields =
        ["val_nll", "val_mse", "seconds", "epochs", "sharing", "class_sizes", "delta_hat", "agreement"];
    assert_fields(&fit, &fields);
    assert_fields(&fit, &["one_class_suffices", "tried", "starts", "notes", "units", "model", "peak_rss_mb"]);
    let printed = succeed(folder, &format!("{FIT} --threads 3 --out b.cfqp"));
    assert!(
        printed.contains("<- chosen") && printed.contains("next: cfqp query b.cfqp train.npz"),
        "{printed}"
    );
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(bytes("a.cfqp") == bytes("b.cfqp"), "the same bits on any number of threads");

    let asked = json(folder, "query a.cfqp test.npz --treatment-from t_new --out answers.npz");
    assert_eq!((&asked["units"], &asked["answers"]), (&50.into(), &50.into()));
    let shape =
        |file: &str, key: &str| read_array(&folder.join(file), key).unwrap().unwrap().shape().to_vec();
    assert_eq!(shape("answers.npz", "answer"), [2, 20]);
    assert_eq!(shape("answers.npz", "posterior"), [3]);
    for key in ["class", "entropy", "ambiguous_class", "off_support", "starts_disagree", "t_new"] {
        assert_eq!(shape("answers.npz", key), [1], "{key}");
    }
    let curves = json(folder, "query a.cfqp test.npz --grid 0.2:1:4 --out curves.npz");
    assert_eq!((&curves["units"], &curves["answers"]), (&50.into(), &200.into()));
    assert_eq!(shape("curves.npz", "lower"), [4, 2, 20]);
    assert_eq!(shape("curves.npz", "off_support"), [4]);

    let score = json(folder, "evaluate a.cfqp test.npz");
    let number = |field: &str| score[field].as_f64().unwrap();
    assert!(number("cf_mse") < 0.01 && number("cf_mse") < number("cf_mse_rho0"), "{score}");
    assert!(number("class_accuracy") > 0.9 && number("ari") > 0.7, "{score}");
    assert_fields(&score, &["coverage", "width", "ok", "query_seconds", "peak_rss_mb", "cf_mse_raw", "ssim"]);
    assert!(succeed(folder, "evaluate a.cfqp test.npz --rho 0").contains("50 units, rho 0"));

    let shown = json(folder, "model show a.cfqp");
    assert_eq!((&shown["classes"], &shown["config"]["seed"]), (&3.into(), &5.into()));
    assert!(succeed(folder, "model show a.cfqp").contains("fitted 3 classes"));
}

#[test]
fn methods_are_compared_and_finished_runs_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate oscillator --n 100 --seed 1 --out train.npz");
    succeed(folder, "simulate oscillator --n 20 --seed 1001 --out test.npz");
    let line = "compare train.npz --eval test.npz --methods deep-ite,sc,cfqp,oracle --base linear --classes 3 \
                --seeds 2 --window 0.2 --out tables";
    let found = json(folder, line);
    assert_eq!(found["runs"].as_array().unwrap().len(), 8);
    assert_eq!(
        (&found["summaries"][2]["method"], &found["summaries"][2]["failed"]),
        (&"cfqp".into(), &0.into())
    );
    let again = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    assert!(again.status.success());
    assert_eq!(text(&again.stderr).matches("(finished before)").count(), 8);
    assert!(text(&again.stdout).contains("20 units, 2 seeds") && text(&again.stdout).contains("oracle"));
    let read = |name: &str| std::fs::read_to_string(folder.join("tables").join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("results.json")).unwrap(), found);
    assert!(read("table.md").starts_with("| method | cf mse |") && read("table.tex").contains("oracle & "));
}

#[test]
fn an_answer_at_the_units_own_treatment_is_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate cardio --n 60 --out data.npz");
    succeed(folder, "fit data.npz --base linear --classes 1 --out model.cfqp --quiet");
    succeed(folder, "query model.cfqp data.npz --treatment-from t --out answers.npz");
    let read = |file: &str, key: &str| read_array(&folder.join(file), key).unwrap().unwrap();
    let (y, answer) = (read("data.npz", "y"), read("answers.npz", "answer"));
    assert!(y.values().iter().zip(answer.values()).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
#[ignore = "takes half a minute"]
fn the_demo_finds_the_classes_and_beats_a_model_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(folder.path(), "demo --seed 1");
    let number = |field: &str| found[field].as_f64().unwrap();
    assert_eq!(number("classes"), 3.0);
    assert!(number("class_accuracy") > 0.99 && number("coverage") > 0.5, "{found}");
    assert!(number("cf_mse") < 0.0002 && number("cf_mse") < number("cf_mse_rho0"), "{found}");
    assert!(number("cf_mse_rho0") < number("ite_cf_mse"), "{found}");
    assert_fields(&found, &["fit_seconds", "query_seconds", "peak_rss_mb", "picture", "model"]);
    for name in ["train.npz", "test.npz", "model.cfqp", "answers.npz", "demo.svg"] {
        assert!(folder.path().join("cfqp-demo").join(name).exists(), "{name}");
    }
}

#[test]
fn quiet_is_quiet_and_force_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["simulate", "oscillator", "--n", "5", "--out", "a.npz", "-q"];
    let output = cfqp(folder.path(), &line);
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    assert_eq!(cfqp(folder.path(), &line).status.code(), Some(2));
    assert!(cfqp(folder.path(), &[&line[..], &["--force"]].concat()).status.success());
}

#[test]
fn an_experiment_is_reproduced_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "reproduce noise --scale smoke --out r";
    let first = succeed(folder, line);
    assert!(first.contains("counterfactual mean squared error") && first.contains("deep-scm"), "{first}");
    let at = |name: &str| std::fs::read(folder.join("r/noise").join(name)).unwrap();
    assert!(
        at("oscillator-additive.png").starts_with(b"\x89PNG")
            && at("oscillator-additive.svg").starts_with(b"<svg")
    );
    let results: Value = serde_json::from_slice(&at("results.json")).unwrap();
    assert_eq!(results["outcomes"].as_array().unwrap().len(), 3 * 8);
    let (table, tex) = (at("table.md"), at("table.tex"));
    let runs = || std::fs::read_dir(folder.join("r/runs")).unwrap().count();
    let kept = runs();
    assert_eq!(succeed(folder, line), first, "finished runs are not run again");
    assert_eq!((runs(), at("table.md"), at("table.tex")), (kept, table, tex));
}

#[test]
fn units_are_shown_as_methods_answer_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "reproduce table1 --scale smoke --data oscillator,digits --methods sc,cfqp --out r";
    let first = succeed(folder, line);
    let at = |name: &str| std::fs::read(folder.join("r/table1").join(name)).unwrap();
    for data in ["oscillator-additive", "oscillator-non-additive", "digits-additive", "digits-non-additive"] {
        assert!(at(&format!("{data}-units.png")).starts_with(b"\x89PNG"), "{data}");
        assert!(at(&format!("{data}-units.svg")).starts_with(b"<svg"), "{data}");
    }
    let (series, images) = (at("oscillator-additive-units.svg"), at("digits-additive-units.png"));
    let results: Value = serde_json::from_slice(&at("results.json")).unwrap();
    assert_eq!(results["outcomes"].as_array().unwrap().len(), 4 * 2);
    assert!(results["outcomes"][0]["run"]["shown"].is_null(), "pictures are no results");
    assert_eq!(succeed(folder, line), first, "finished runs are not run again");
    assert_eq!((at("oscillator-additive-units.svg"), at("digits-additive-units.png")), (series, images));
}

#[test]
fn speed_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(folder.path(), "bench --quick --only em,groups,queries,tables");
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() > 10 && rows.iter().all(|row| row["ours"].as_f64().unwrap() > 0.0), "{report}");
    let told = cfqp(folder.path(), &["bench", "--quick", "--peers", "--python", "no-such-python"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(text(&told.stderr).contains("--python"), "{}", text(&told.stderr));
}
