//! `--rho`: the default, what files and output say about it, and the answers under its bounds.

use std::collections::HashMap;
use std::path::Path;

use cfqp::data::read_array;
use serde_json::Value;

use crate::tables::{json, wide_csv};
use crate::{cfqp, succeed, text};

const COLUMNS: &str = "--id id --x age,ward --t dose --y outcome";

fn fit(folder: &Path) {
    std::fs::write(folder.join("a.csv"), wide_csv(120)).unwrap();
    let settings = "--classes 2 --base linear --init kmeans --members 2 --seed 3";
    succeed(folder, &format!("fit a.csv {COLUMNS} {settings} --out m.cfqp -q"));
}

/// The columns of a CSV file.
fn columns(folder: &Path, name: &str) -> HashMap<String, Vec<String>> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows: Vec<Vec<String>> = lines.collect();
    let column = |(j, name): (usize, String)| (name, rows.iter().map(|row| row[j].clone()).collect());
    names.into_iter().enumerate().map(column).collect()
}

#[test]
fn files_and_output_say_which_rho_was_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    let questions = [
        "query m.cfqp a.csv --treatment 0.8",
        "effect m.cfqp a.csv --from 0.2 --to 0.8",
        "curve m.cfqp a.csv --grid 0:1:3",
    ];
    for question in questions {
        let unknown = succeed(folder, &format!("{question} --out auto.csv --force"));
        assert!(unknown.contains("\nrho: unknown (uniform on 0 to 1)\n"), "{unknown}");
        let found = columns(folder, "auto.csv");
        assert!(found["rho"].iter().all(String::is_empty), "{question}");
        assert!(found["rho_source"].iter().all(|source| source == "unknown"), "{question}");
        let given = succeed(folder, &format!("{question} --rho 0.1 --out given.csv --force"));
        assert!(given.contains("\nrho: 0.1 (given)\n"), "{given}");
        let found = columns(folder, "given.csv");
        assert!(
            found["rho"]
                .iter()
                .zip(&found["rho_source"])
                .all(|(rho, source)| rho == "0.1" && source == "given")
        );
        let given = json(folder, &format!("{question} --rho 0.1 --out given.parquet --force"));
        assert_eq!((&given["rho"], &given["rho_source"]), (&0.1.into(), &"given".into()));
    }
    for (line, number) in [("--rho auto", None), ("--rho 1", Some(1.0))] {
        succeed(folder, &format!("query m.cfqp a.csv --treatment 0.8 {line} --out lines.jsonl --force"));
        let lines = std::fs::read_to_string(folder.join("lines.jsonl")).unwrap();
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(first["rho"].as_f64(), number, "{line}");
    }
    let diagnosed = text(&cfqp(folder, &["diagnose", "m.cfqp", "a.csv", "--rho", "0"]).stdout);
    assert!(diagnosed.contains("rho: 0 (given)\n"), "{diagnosed}");
}

#[test]
fn answers_under_the_bounds_are_those_of_rho_0_and_1() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    for (question, point) in [
        ("query m.cfqp a.csv --treatment 0.8", "outcome"),
        ("effect m.cfqp a.csv --from 0.2 --to 0.8", "effect_outcome"),
    ] {
        succeed(folder, &format!("{question} --rho-bounds --out both.csv --force"));
        let both = columns(folder, "both.csv");
        for rho in ["0", "1"] {
            succeed(folder, &format!("{question} --rho {rho} --out one.csv --force"));
            let one = columns(folder, "one.csv");
            for name in [point, "lower_outcome", "upper_outcome"] {
                assert_eq!(both[&format!("{name}_rho{rho}")], one[name], "{question}: {name}, rho {rho}");
                assert_ne!(both[name], one[name], "{question}: {name}, rho {rho}");
            }
            let number = |name: &str| one[name][7].parse::<f32>().unwrap();
            let width = both[&format!("width_outcome_rho{rho}")][7].parse::<f32>().unwrap();
            assert_eq!(width, number("upper_outcome") - number("lower_outcome"));
        }
    }
    succeed(folder, "query m.cfqp a.csv --treatment 0.8 --rho-bounds --out both.npz");
    succeed(folder, "query m.cfqp a.csv --treatment 0.8 --rho 1 --out one.npz");
    succeed(folder, "query m.cfqp a.csv --grid 0:1:3 --rho-bounds --out curves.npz");
    let read = |file: &str, key: &str| read_array(&folder.join(file), key).unwrap().unwrap();
    assert_eq!(read("both.npz", "answer_rho1"), read("one.npz", "answer"));
    assert_eq!(read("one.npz", "rho").values(), [1.0; 120]);
    assert_eq!(read("curves.npz", "width_rho0").shape(), [3]);
    let refused = cfqp(folder, &["effect", "m.cfqp", "a.csv", "--from", "0", "--to", "1", "--rho-bounds"]);
    assert_eq!(refused.status.code(), Some(2), "there is no file for the columns");
}

#[test]
fn a_report_says_everything_else_being_equal_only_at_rho_1() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    let page = |rho: &str| {
        succeed(folder, &format!("report m.cfqp a.csv {rho} --out r.html --force"));
        std::fs::read_to_string(folder.join("r.html")).unwrap()
    };
    let (unknown, same) = (page(""), page("--rho 1"));
    // the verdict on calibration names it too
    assert!((2..=3).contains(&unknown.matches("unknown (uniform on 0 to 1)").count()));
    assert!(!unknown.contains("else being equal"));
    assert!((2..=3).contains(&same.matches("1 (given)").count()));
    assert_eq!(same.matches("else being equal").count(), 1);
    assert!(same.contains("--rho 1 --out"), "the command that makes the report again");
}
