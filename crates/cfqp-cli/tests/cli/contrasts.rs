//! Verdicts on a contrast, averages over subgroups, and warnings about roles and rows, as users see them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::tables::json;
use crate::{cfqp, succeed, text};

const FIT: &str = "--classes 1 --base linear --members 2 -q";

/// Units of two sites; the effect of the dose is 2 at one and 4 at the other. The site is no covariate.
fn sites(units: usize) -> String {
    let mut csv = "age,dose,site,copy,outcome\n".to_owned();
    for i in 0..units {
        let share = |step: usize| ((i * step) % 997) as f64 / 997.0;
        let (age, dose, noise) = (share(331), share(613), share(457) - 0.5);
        let slope = if i % 2 == 0 { 2.0 } else { 4.0 };
        let outcome = age + slope * dose + 0.3 * noise;
        let site = ["north", "south"][i % 2];
        writeln!(csv, "{age:.4},{dose:.4},{site},{:.4},{outcome:.4}", 1.0 - 3.0 * dose).unwrap();
    }
    csv
}

#[test]
fn effect_and_diagnose_judge_the_contrast_that_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.csv"), sites(400)).unwrap();
    succeed(folder, &format!("fit a.csv --x age --t dose --y outcome {FIT} --out m.cfqp"));
    let near = succeed(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8");
    assert!(
        near.starts_with("ok: overlap, calibration, agreement with plain estimates\neffect of 0.8"),
        "{near}"
    );
    let far = cfqp(folder, &["effect", "m.cfqp", "a.csv", "--from", "0.2", "--to", "9"]);
    let far_text = text(&far.stdout);
    let first =
        "failed: overlap: for 0.0% of units, similar units received both treatments: all answers extrapolate";
    assert!(far.status.success() && far_text.starts_with(first), "{far_text}");
    let verdicts = json(folder, "effect m.cfqp a.csv --from 0.2 --to 9")["verdicts"].clone();
    assert_eq!((&verdicts[0]["name"], &verdicts[0]["grade"]), (&"overlap".into(), &"failed".into()));

    let diagnosed = cfqp(folder, &["diagnose", "m.cfqp", "a.csv", "--from", "0.2", "--to", "9"]);
    let shown = text(&diagnosed.stdout);
    assert_eq!(diagnosed.status.code(), Some(1), "{shown}");
    assert!(shown.contains("\neffect of 9 against 0.2\nrho: "), "{shown}");
    assert!(shown.contains("  failed      overlap "), "{shown}");
    let printed: Value =
        serde_json::from_slice(&cfqp(folder, &["diagnose", "m.cfqp", "a.csv", "--json"]).stdout).unwrap();
    assert!(printed.get("contrast").is_none() && printed["ok"] == true, "{printed}");
    let half = cfqp(folder, &["diagnose", "m.cfqp", "a.csv", "--from", "0.2"]);
    assert_eq!(half.status.code(), Some(2));
    assert!(text(&half.stderr).contains("--to"), "{}", text(&half.stderr));
}

#[test]
fn averages_over_subgroups_are_printed_with_a_test_of_difference() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.csv"), sites(400)).unwrap();
    succeed(folder, &format!("fit a.csv --x age --t dose --y outcome {FIT} --out m.cfqp"));
    let shown = succeed(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8 --by site,age");
    let line = |start: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        shown.lines().map(words).find(|words| words.join(" ").starts_with(start)).unwrap()
    };
    for (site, effect) in [("north", 1.2), ("south", 2.4)] {
        let row = line(&format!("outcome site {site}"));
        assert_eq!(row[3], "200", "{shown}");
        assert!((row[4].parse::<f64>().unwrap() - effect).abs() < 0.15, "{shown}");
    }
    assert!(shown.contains(
        "the effect on outcome differs between the groups of `site` (p < 0.001, corrected for 2 tests)"
    ));
    assert!(
        shown.contains(
            "no difference of the effect on outcome between the groups of `age` could be shown (p = "
        )
    );
    let printed = json(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8 --by site");
    let of = &printed["subgroups"][0];
    assert_eq!((&of["column"], &of["groups"][0]["group"]), (&"site".into(), &"north".into()), "{printed}");
    assert_eq!(of["groups"][0]["method"], "doubly_robust");
    assert!(json(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8").get("subgroups").is_none());
    let wrong = cfqp(folder, &["effect", "m.cfqp", "a.csv", "--from", "0.2", "--to", "0.8", "--by", "sites"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("there is no column `sites`"), "{}", text(&wrong.stderr));
}

#[test]
fn columns_that_tell_the_treatment_or_the_outcome_repeated_rows_and_swapped_names_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let once = sites(300);
    std::fs::write(folder.join("a.csv"), &once).unwrap();
    let kinds = |line: &str| -> Vec<String> {
        let warnings = json(folder, line)["warnings"].clone();
        let kind = |warning: &Value| warning["kind"].as_str().unwrap().to_owned();
        warnings.as_array().unwrap().iter().map(kind).collect()
    };
    assert_eq!(kinds("check a.csv --x age,site --t dose --y outcome"), [""; 0]);
    assert_eq!(kinds("check a.csv --x age,copy --t dose --y outcome"), ["copied_column"]);
    assert_eq!(kinds("check a.csv --x age --t outcome --y dose"), ["swapped_names"]);
    let rows: Vec<&str> = once.lines().skip(1).collect();
    let all = [once.trim_end(), &rows.join("\n"), &rows.join("\n")].join("\n");
    std::fs::write(folder.join("b.csv"), all).unwrap();
    assert_eq!(kinds("check b.csv --x age --t dose --y outcome"), ["repeated_units"]);
    let line = "fit b.csv --x age --t dose --y outcome --classes 1 --base linear --members 2 --out m.cfqp";
    let fitted = cfqp(folder, &line.split(' ').collect::<Vec<_>>());
    let stderr = text(&fitted.stderr);
    assert!(stderr.contains("warning: 600 of 900 units repeat the covariates"), "{stderr}");
    let diagnosed = text(&cfqp(folder, &["diagnose", "m.cfqp", "b.csv"]).stdout);
    assert!(diagnosed.contains("warning: 600 of 900 units repeat"), "{diagnosed}");

    let few: String = once.lines().take(41).map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.join("c.csv"), few).unwrap();
    let shown = succeed(
        folder,
        "fit c.csv --x age --t dose --y outcome --classes 3 --base linear --members 2 --out c.cfqp",
    );
    assert!(shown.contains("note: 40 units are few for 3 classes"), "{shown}");
    let diagnosed = text(&cfqp(folder, &["diagnose", "c.cfqp", "c.csv"]).stdout);
    assert!(diagnosed.contains("40 units are few for 3 classes: fit fewer"), "{diagnosed}");
}
