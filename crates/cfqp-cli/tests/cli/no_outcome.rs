//! Units without an outcome: asked about from tables and arrays, flagged in every output.

use std::path::Path;

use cfqp::data::read_array;
use cfqp::{Dataset, Units};
use serde_json::Value;

use crate::tables::{json, wide_csv};
use crate::{refusals, succeed};

const COLUMNS: &str = "--id id --x age,ward --t dose --y outcome";
const UNITS: usize = 120;

/// A model of the units of `a.csv`.
fn fit(folder: &Path) {
    std::fs::write(folder.join("a.csv"), wide_csv(UNITS)).unwrap();
    let settings = "--classes 2 --base linear --init kmeans --seed 3";
    succeed(folder, &format!("fit a.csv {COLUMNS} {settings} --out m.cfqp -q"));
}

/// Writes the units of `a.csv` with the given columns only; `keep` says which cells are kept.
fn write_part(folder: &Path, name: &str, columns: &[&str], keep: impl Fn(usize, &str) -> bool) {
    let text = std::fs::read_to_string(folder.join("a.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let mut part = columns.join(",") + "\n";
    for (i, row) in lines.enumerate() {
        let cell = |column: &&str| {
            let j = names.iter().position(|name| name == column).unwrap();
            if keep(i, column) { row[j] } else { "" }
        };
        part += &(columns.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
    }
    std::fs::write(folder.join(name), part).unwrap();
}

/// One object per row of a file of JSON lines.
fn rows(folder: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The column `name` of a CSV file.
fn column(folder: &Path, file: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let j = lines.next().unwrap().iter().position(|column| *column == name).unwrap();
    lines.map(|row| row[j].to_owned()).collect()
}

#[test]
fn a_file_without_the_columns_of_outcome_and_treatment() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    write_part(folder, "new.csv", &["id", "age", "ward", "planned"], |_, _| true);
    let asked = json(folder, "query m.cfqp new.csv --treatment 0.8 --out q.csv");
    assert_eq!(
        (&asked["units"], &asked["no_outcome"], &asked["ok"]),
        (&UNITS.into(), &UNITS.into(), &0.into())
    );
    assert!(column(folder, "q.csv", "flag").iter().all(|flag| flag.starts_with("no_outcome")));
    assert!(column(folder, "q.csv", "t").iter().all(String::is_empty));
    let shown = succeed(folder, "query m.cfqp new.csv --treatment-from planned --out p.csv");
    assert!(shown.contains("120 no_outcome: no outcome was observed"), "{shown}");

    // the two classes respond in opposite directions: intervals hold both
    let number = |name: &str| -> Vec<f64> {
        column(folder, "q.csv", name).iter().map(|cell| cell.parse().unwrap()).collect()
    };
    let width: Vec<f64> = number("upper_outcome")
        .iter()
        .zip(number("lower_outcome"))
        .map(|(upper, lower)| upper - lower)
        .collect();
    assert!(width.iter().all(|width| *width > 6.0), "{width:?}");

    let effect = json(folder, "effect m.cfqp new.csv --from 0.2 --to 0.8 --out e.jsonl");
    assert_eq!((&effect["no_outcome"], &effect["plain"]), (&UNITS.into(), &Value::Array(Vec::new())));
    let groups: Vec<&Value> =
        effect["averages"].as_array().unwrap().iter().map(|average| &average["group"]).collect();
    assert_eq!(groups, ["supported", "all"]);
    let first = &rows(folder, "e.jsonl")[0];
    assert!(first["flag"].as_str().unwrap().starts_with("no_outcome") && first["t"].is_null(), "{first}");
    let curve = json(folder, "curve m.cfqp new.csv --grid 0:1:3 --units u3,u4 --out c.csv");
    assert_eq!((&curve["answers"], &curve["no_outcome"]), (&6.into(), &6.into()));
}

#[test]
fn a_file_in_which_half_of_the_rows_have_an_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    let all = ["id", "age", "ward", "dose", "outcome"];
    write_part(folder, "half.csv", &all, |i, column| i % 2 == 0 || !["dose", "outcome"].contains(&column));
    write_part(folder, "treated.csv", &all, |i, column| i % 2 == 0 || column != "outcome");
    for file in ["half.csv", "treated.csv"] {
        let asked = json(folder, &format!("query m.cfqp {file} --treatment 0.8 --out half.jsonl --force"));
        assert_eq!((&asked["units"], &asked["no_outcome"]), (&UNITS.into(), &(UNITS / 2).into()), "{file}");
        succeed(folder, "query m.cfqp a.csv --treatment 0.8 --out all.jsonl --force");
        for (i, (half, all)) in rows(folder, "half.jsonl").iter().zip(rows(folder, "all.jsonl")).enumerate() {
            let is_flagged = half["flag"].as_str().unwrap().contains("no_outcome");
            assert_eq!(is_flagged, i % 2 == 1, "{file}: {half}");
            assert!(is_flagged || *half == all, "{file}: {half} {all}");
        }
    }
    // a report and verdicts are on the units with outcomes
    let effect = json(folder, "effect m.cfqp half.csv --from 0.2 --to 0.8");
    assert_eq!(effect["plain"][0]["units"], UNITS / 2);
    assert_eq!(json(folder, "diagnose m.cfqp half.csv")["units"], UNITS / 2);
    succeed(folder, "report m.cfqp half.csv --out r.html -q");
}

#[test]
fn arrays_without_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let simulate = "simulate table --world binary-treatment --n 80";
    succeed(folder, &format!("{simulate} --seed 1 --out a.npz"));
    let settings = "--classes 2 --base linear --members 2 --seed 3";
    succeed(folder, &format!("fit a.npz {settings} --out m.cfqp -q"));
    let data = Dataset::read_npz(&folder.join("a.npz")).unwrap();
    cfqp::data::write_npz(&folder.join("x.npz"), &[("x", cfqp::data::NpzArray::units(data.x()))]).unwrap();
    let asked = json(folder, "query m.cfqp x.npz --treatment 1 --out q.npz");
    assert_eq!(asked["no_outcome"], 80);
    let flags = read_array(&folder.join("q.npz"), "no_outcome").unwrap().unwrap();
    assert_eq!(flags.values(), [1.0; 80]);
    succeed(folder, "query m.cfqp x.npz --grid 0:1:2 --out c.npz");
    assert_eq!(read_array(&folder.join("c.npz"), "no_outcome").unwrap().unwrap().len(), 80);

    let mask = |units: &Units| Some((0..units.len()).map(|i| i >= 10).collect());
    let masked = |name: &str, units: &Units| {
        Units::with_mask(name, vec![1], units.values().to_vec(), mask(units)).unwrap()
    };
    let few = Dataset::new(data.x().clone(), masked("t", data.t()), masked("y", data.y())).unwrap();
    few.write_npz(&folder.join("few.npz"), &[]).unwrap();
    assert_eq!(json(folder, "query m.cfqp few.npz --treatment 1 --out f.csv")["no_outcome"], 10);
    assert_eq!(json(folder, "diagnose m.cfqp few.npz")["units"], 70);
}

#[test]
fn what_needs_an_outcome_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit(folder);
    write_part(folder, "new.csv", &["id", "age", "ward"], |_, _| true);
    write_part(folder, "no_dose.csv", &["id", "age", "ward", "outcome"], |_, _| true);
    let messages = refusals(
        folder,
        &[
            "diagnose m.cfqp new.csv",
            "report m.cfqp new.csv --out r.html",
            "query m.cfqp no_dose.csv --treatment 0.5 --out q.csv",
        ],
    );
    insta::assert_snapshot!(messages);
}
