//! Subjects with several rows, combinations of treatments, and data that the program warns about.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::tables::json;
use crate::{cfqp, refusals, succeed, text};

const FIT: &str = "--classes 2 --base linear --init kmeans --seed 3";
const COLUMNS: &str = "--id row --x age --t dose --y outcome";

/// Three rows each of `plants` plants of two hidden classes, the first rows of all plants first.
fn plants_csv(plants: usize) -> String {
    let mut csv = "row,plant,age,dose,outcome,planned\n".to_owned();
    for i in 0..3 * plants {
        let plant = i % plants;
        let (age, dose) = (20.0 + (plant * 7 % 40) as f64, (i * 13 % 31) as f64 / 31.0);
        let sign = if plant * 3 % 7 < 3 { 4.0 } else { -4.0 };
        let y = 0.1 * age + sign * (0.5 + dose) + (i * 17 % 11) as f64 / 50.0;
        let _ = writeln!(csv, "r{i},p{plant},{age},{dose:.4},{y:.4},{:.2}", 0.2 + (i % 7) as f64 / 10.0);
    }
    csv
}

/// The rows of a CSV file, without the header.
fn rows(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_model_remembers_the_column_of_subjects() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.csv"), plants_csv(60)).unwrap();
    let checked = json(folder, &format!("check a.csv {COLUMNS} --group plant"));
    assert_eq!((&checked["units"], &checked["subjects"]), (&180.into(), &60.into()));
    let shown = succeed(folder, &format!("check a.csv {COLUMNS} --group plant"));
    assert!(shown.contains("180 units of 60 subjects kept"), "{shown}");
    assert!(shown.contains("cfqp fit a.csv --id row --group plant --x age"), "{shown}");
    succeed(folder, &format!("fit a.csv {COLUMNS} --group plant {FIT} --out m.cfqp -q"));

    // the file is cut between subjects only, and all rows are answered in their order
    let asked = json(folder, "query m.cfqp a.csv --treatment-from planned --out q.csv");
    assert_eq!((&asked["units"], &asked["answers"]), (&180.into(), &180.into()));
    let answers = rows(&folder.join("q.csv"));
    assert!(answers[0].starts_with("r0,") && answers[179].starts_with("r179,"), "{}", answers[179]);
    let t_new = |row: usize| answers[row].split(',').nth(2).unwrap().parse::<f64>().unwrap();
    assert_eq!((t_new(0), t_new(8)), (0.2, 0.3));

    // a question about single rows has the other rows of their plants in view, but does not answer them
    let curve = json(folder, "curve m.cfqp a.csv --grid 0:1:4 --units r65,r7 --out c.csv");
    assert_eq!((&curve["units"], &curve["answers"]), (&2.into(), &8.into()));
    let ids: Vec<String> =
        rows(&folder.join("c.csv")).iter().map(|row| row.split(',').next().unwrap().to_owned()).collect();
    assert_eq!(ids, ["r7", "r7", "r7", "r7", "r65", "r65", "r65", "r65"]);
    let effect = json(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8");
    assert_eq!(effect["averages"][1]["units"], 180);
    let report = json(folder, "report m.cfqp a.csv --units r65,r7 --out r.html");
    let shown: Vec<&Value> = report["units"].as_array().unwrap().iter().map(|unit| &unit["id"]).collect();
    assert_eq!(shown, ["r65", "r7"]);
    assert_eq!(json(folder, "diagnose m.cfqp a.csv")["units"], 180);
}

#[test]
fn a_file_without_the_subjects_of_the_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let csv = plants_csv(30);
    std::fs::write(folder.join("a.csv"), &csv).unwrap();
    succeed(folder, &format!("fit a.csv {COLUMNS} --group plant {FIT} --out m.cfqp -q"));
    std::fs::write(folder.join("b.csv"), csv.replacen("plant", "pot", 1)).unwrap();
    std::fs::write(folder.join("few.csv"), plants_csv(7)).unwrap();
    let messages = refusals(
        folder,
        &[
            "query m.cfqp b.csv --treatment 0.5 --out q.csv",
            &format!("fit a.csv {COLUMNS} --group pot --out n.cfqp -q"),
            &format!("fit few.csv {COLUMNS} --group plant --out n.cfqp -q"),
        ],
    );
    assert!(messages.contains("b.csv: there is no column `plant`"), "{messages}");
    assert!(messages.contains("--group: there is no column `pot`"), "{messages}");
    assert!(messages.contains("7 subjects are too few"), "{messages}");
}

#[test]
fn a_combination_of_treatments_that_nobody_got_is_off_support() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut csv = "age,b,c,outcome\n".to_owned();
    for i in 0..240 {
        let (age, arm) = ((i * 7 % 40) as f64, i * 5 % 3);
        let (b, c) = (u8::from(arm == 1), u8::from(arm == 2));
        let y = 0.1 * age + 2.0 * f64::from(b) - 3.0 * f64::from(c) + (i * 17 % 11) as f64 / 50.0;
        let _ = writeln!(csv, "{age},{b},{c},{y:.4}");
    }
    std::fs::write(folder.join("a.csv"), csv).unwrap();
    let fit = "--classes 1 --base linear --members 2";
    let fitted = cfqp(
        folder,
        &format!("fit a.csv --x age --t b,c --y outcome {fit} --out m.cfqp").split(' ').collect::<Vec<_>>(),
    );
    let stderr = text(&fitted.stderr);
    assert!(stderr.contains("warning: the treatment `b` has only 2 distinct values"), "{stderr}");
    let off = |treatment: &str| {
        let line = format!("query m.cfqp a.csv --treatment {treatment} --out q.csv --force");
        json(folder, &line)["off_support"].as_u64().unwrap()
    };
    assert_eq!((off("0,0"), off("1,0"), off("0,1"), off("1,1")), (0, 0, 0, 240));
    let effect = succeed(folder, "effect m.cfqp a.csv --from 0,0 --to 1,1");
    assert!(effect.contains("no unit is on support"), "{effect}");
    let diagnosed = json(folder, "diagnose m.cfqp a.csv");
    let overlap = diagnosed["verdicts"].as_array().unwrap().iter().find(|v| v["name"] == "overlap");
    assert_eq!(overlap.unwrap()["grade"], "ok", "{diagnosed}");
}

#[test]
fn unsuitable_data_give_warnings_in_check_fit_and_diagnose() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut csv = "age,rare,dose,died\n".to_owned();
    for i in 0..150 {
        let _ =
            writeln!(csv, "{},{},{},{}", i * 7 % 40, u8::from(i == 3), i % 4, 1 + u8::from(i * 11 % 7 < 3));
    }
    std::fs::write(folder.join("a.csv"), csv).unwrap();
    let columns = "--x age,rare --t dose --y died";
    let kinds = |value: &Value| -> Vec<String> {
        let warnings = value["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["kind"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["nearly_constant_columns", "two_valued_outcome", "few_treatment_values"];
    assert_eq!(kinds(&json(folder, &format!("check a.csv {columns}"))), expected);
    let fitted =
        json(folder, &format!("fit a.csv {columns} --classes 1 --base linear --members 2 --out m.cfqp -q"));
    assert_eq!(kinds(&fitted["data"]), expected);
    let diagnosed = cfqp(folder, &["diagnose", "m.cfqp", "a.csv"]);
    let stdout = text(&diagnosed.stdout);
    assert!(stdout.contains("warning: the outcome `died` has two values, 1 and 2"), "{stdout}");
    let diagnosed = cfqp(folder, &["diagnose", "m.cfqp", "a.csv", "--json"]);
    assert_eq!(kinds(&serde_json::from_slice(&diagnosed.stdout).unwrap()), expected);
}
