//! Commands from simulated data to answers and scores.

use cfqp::data::read_array;
use serde_json::Value;

use crate::{cfqp, succeed, text};

const FIT: &str = "fit train.npz --base linear --classes 3 --init kmeans,kmeans-unit --members 3 --seed 5";

fn json(folder: &std::path::Path, line: &str) -> Value {
    let out = succeed(folder, &format!("{line} --json"));
    assert_eq!(out.lines().count(), 1, "{line} prints one object");
    serde_json::from_str(&out).unwrap()
}

/// Checks that every field exists; it may be null.
fn assert_fields(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} in {value}");
    }
}

#[test]
fn simulate_fit_query_and_evaluate_work_together() {
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
    assert_fields(
        &fit,
        &["one_class_suffices", "candidates", "starts", "notes", "units", "model", "peak_rss_mb"],
    );
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
    assert_eq!((&asked["rho"], &asked["rho_source"]), (&Value::Null, &"unknown".into()));
    let curves = json(folder, "query a.cfqp test.npz --grid 0.2:1:4 --out curves.npz");
    assert_eq!((&curves["units"], &curves["answers"]), (&50.into(), &200.into()));
    assert_eq!(shape("curves.npz", "lower"), [4, 2, 20]);
    assert_eq!(shape("curves.npz", "off_support"), [4]);

    let score = json(folder, "evaluate a.cfqp test.npz");
    let number = |field: &str| score[field].as_f64().unwrap();
    assert!(number("cf_mse") < 0.01 && number("cf_mse") < number("cf_mse_rho0"), "{score}");
    assert!(number("class_accuracy") > 0.9 && number("ari") > 0.7, "{score}");
    assert_eq!((&score["rho"], &score["rho_source"]), (&1.0.into(), &"given".into()));
    assert_fields(&score, &["coverage", "width", "ok", "query_seconds", "peak_rss_mb", "cf_mse_raw", "ssim"]);
    assert!(succeed(folder, "evaluate a.cfqp test.npz --rho 0").contains("50 units, rho = 0"));

    let shown = json(folder, "model show a.cfqp");
    assert_eq!((&shown["classes"], &shown["config"]["seed"]), (&3.into(), &5.into()));
    assert!(succeed(folder, "model show a.cfqp").contains("fitted 3 classes"));

    let exported = json(folder, "model export a.cfqp --onnx networks");
    assert_eq!((&exported["members"], exported["files"].as_array().unwrap().len()), (&3.into(), 4));
    let description: Value = serde_json::from_slice(&bytes("networks/model.json")).unwrap();
    assert_eq!((&description["classes"], &description["y_shape"]), (&3.into(), &serde_json::json!([2, 20])));
    assert!(bytes("networks/member-2.onnx").len() > 1000);
    let again = cfqp(folder, &["model", "export", "a.cfqp", "--onnx", "networks"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("networks: is a folder with files in it"),
        "{}",
        text(&again.stderr)
    );
    assert!(
        succeed(folder, "model export b.cfqp --onnx other")
            .starts_with("wrote 3 network files and model.json to other (")
    );
    assert!(bytes("networks/member-1.onnx") == bytes("other/member-1.onnx"), "equal models give equal files");
}

#[test]
fn errors_on_simulated_tables_are_shown_beside_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate table --world binary-treatment --n 200 --seed 1 --out train.npz");
    succeed(folder, "simulate table --world binary-treatment --n 100 --seed 1001 --out test.npz");
    succeed(folder, "fit train.npz --base linear --classes 1 --members 2 --out model.cfqp --quiet");
    let score = json(folder, "evaluate model.cfqp test.npz");
    let number = |field: &str| score[field].as_f64().unwrap();
    assert!(number("limit") > 0.0 && number("ratio") > 1.0, "{score}");
    assert!((number("cf_mse_y") / number("limit") - number("ratio")).abs() < 1e-9, "{score}");
    let text = succeed(folder, "evaluate model.cfqp test.npz");
    assert!(
        text.contains("in variances of x (") && text.contains(" in variances of y; the error is "),
        "{text}"
    );
    let compared = json(folder, "compare train.npz --eval test.npz --methods sc --seeds 1 --window 0.5");
    let limit = compared["limit_raw"].as_f64().unwrap();
    assert!((limit * number("cf_mse_y") / number("limit") - number("cf_mse_raw")).abs() < 1e-9, "{compared}");
    // one class and the same noise: the limit is 0
    succeed(folder, "simulate table --world single --n 50 --out single.npz");
    let single = json(folder, "evaluate model.cfqp single.npz");
    assert!(single["limit"].as_f64().unwrap() < 1e-9 && single["ratio"].is_null(), "{single}");
}

#[test]
fn compare_keeps_finished_runs() {
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
fn the_answer_at_the_factual_treatment_is_the_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate cardio --n 60 --out data.npz");
    succeed(folder, "fit data.npz --base linear --classes 1 --out model.cfqp --quiet");
    succeed(folder, "query model.cfqp data.npz --treatment-from t --rho 1 --out answers.npz");
    let read = |file: &str, key: &str| read_array(&folder.join(file), key).unwrap().unwrap();
    let (y, answer) = (read("data.npz", "y"), read("answers.npz", "answer"));
    assert!(y.values().iter().zip(answer.values()).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
#[ignore = "takes half a minute"]
fn the_demo_finds_the_classes_and_beats_an_ite_model() {
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
fn quiet_prints_nothing_and_force_replaces_files() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["simulate", "oscillator", "--n", "5", "--out", "a.npz", "-q"];
    let output = cfqp(folder.path(), &line);
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    assert_eq!(cfqp(folder.path(), &line).status.code(), Some(2));
    assert!(cfqp(folder.path(), &[&line[..], &["--force"]].concat()).status.success());
}
