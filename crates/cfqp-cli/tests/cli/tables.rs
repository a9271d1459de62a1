//! Tables as input and output.

use std::fmt::Write as _;
use std::path::Path;

use cfqp::data::read_array;
use cfqp::data::table::{Ids, TreatedAt, UnitShapes};
use cfqp::{Layout, Table, TableSpec};
use serde_json::Value;

use crate::{cfqp, listing, succeed, text};

const LONG: &str = "--id patient --time second --series pa,pv --t dose --treated-at 20";
const FIT: &str = "--classes 2 --base linear --init kmeans --members 2 --seed 3";

pub(crate) fn json(folder: &Path, line: &str) -> Value {
    let out = succeed(folder, &format!("{line} --json"));
    assert_eq!(out.lines().count(), 1, "{line} prints one object");
    serde_json::from_str(&out).unwrap()
}

/// Units of two hidden classes with opposite responses to the dose.
pub(crate) fn wide_csv(units: usize) -> String {
    let mut csv = "id,age,ward,dose,outcome,planned\n".to_owned();
    for i in 0..units {
        let (age, dose) = (20.0 + (i * 7 % 40) as f64, (i * 13 % 31) as f64 / 31.0);
        let ward = ["north", "south", "east"][i * 5 % 3];
        let sign = if i * 3 % 7 < 3 { 4.0 } else { -4.0 };
        let y = 0.1 * age + sign * (0.5 + dose) + (i * 17 % 11) as f64 / 50.0;
        let _ = writeln!(csv, "u{i},{age},{ward},{dose:.4},{y:.4},{:.2}", 0.3 + (i % 5) as f64 / 10.0);
    }
    csv
}

#[test]
fn samples_in_a_csv_file_give_the_same_answers_as_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate cardio --n 120 --seed 2 --format csv-long --out a.csv");
    succeed(folder, "simulate cardio --n 120 --seed 2 --out a.npz");
    let checked = json(folder, &format!("check a.csv {LONG}"));
    assert_eq!(
        (&checked["rows"], &checked["units"], &checked["ok"]),
        (&4800.into(), &120.into(), &true.into())
    );
    succeed(folder, &format!("fit a.csv {LONG} {FIT} --out table.cfqp -q"));
    succeed(folder, &format!("fit a.npz {FIT} --out arrays.cfqp -q"));
    let (table, arrays) = (
        json(folder, "evaluate table.cfqp a.csv --truth a.truth.npz"),
        json(folder, "evaluate arrays.cfqp a.npz"),
    );
    assert_eq!((&table["cf_mse"], &table["class_accuracy"]), (&arrays["cf_mse"], &arrays["class_accuracy"]));

    // the model stores the columns; the answers equal those for arrays, bit for bit
    succeed(folder, "query table.cfqp a.csv --treatment 0.8 --out answers.csv");
    succeed(folder, "query arrays.cfqp a.npz --treatment 0.8 --out answers.npz");
    let answers = read_array(&folder.join("answers.npz"), "answer").unwrap().unwrap();
    let lines = std::fs::read_to_string(folder.join("answers.csv")).unwrap();
    let mut lines = lines.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(header[..7], ["patient", "second", "t", "t_new", "pa", "lower_pa", "upper_pa"]);
    assert_eq!(header[10..], ["class", "posterior_0", "posterior_1", "flag", "rho", "rho_source"]);
    for (row, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let (unit, step) = (row / 20, row % 20);
        assert_eq!(cells[..2], [unit.to_string(), (21 + step).to_string()]);
        assert_eq!(cells[4].parse::<f32>().unwrap(), answers.row(unit)[step]);
        assert_eq!(cells[7].parse::<f32>().unwrap(), answers.row(unit)[20 + step]);
    }
    succeed(folder, "query table.cfqp a.csv --treatment 0.8 --out ids.npz");
    let ids = read_array(&folder.join("ids.npz"), "id").unwrap().unwrap();
    assert_eq!((ids.len(), &*ids.row(7)), (120, &[7.0][..]));
    assert_eq!(read_array(&folder.join("ids.npz"), "answer").unwrap().unwrap(), answers);
    assert_eq!(read_array(&folder.join("answers.npz"), "id").unwrap(), None);
    let diagnosed = cfqp(folder, &["diagnose", "table.cfqp", "a.csv", "--json"]);
    let verdicts: Value = serde_json::from_str(&text(&diagnosed.stdout)).unwrap();
    assert_eq!(verdicts["verdicts"].as_array().unwrap().len(), 7);
    assert_eq!(diagnosed.status.code(), Some(i32::from(verdicts["ok"] == false)));
}

#[test]
fn series_as_lists_and_as_columns_are_the_same_units() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let spec = |made: &str| {
        let line = made.lines().last().unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |flag: &str| -> Vec<String> {
            let at = words.iter().position(|word| *word == flag);
            at.map_or(Vec::new(), |at| words[at + 1].split(',').map(str::to_owned).collect())
        };
        let treated_at = after("--treated-at").first().map(|at| TreatedAt::Number(at.parse().unwrap()));
        let (id, time) = (after("--id").pop(), after("--time").pop());
        let (x, t, y, series) = (after("--x"), after("--t"), after("--y"), after("--series"));
        TableSpec { x, t, y, id, time, series, treated_at, ..TableSpec::default() }
    };
    let make = |name: &str, format: &str| -> (Vec<u32>, Layout) {
        let made = succeed(folder, &format!("simulate oscillator --n 30 --format {format} --out {name}"));
        let table = Table::read(folder.join(name), &spec(&made)).unwrap();
        assert_eq!(table.ids.text(29), "29");
        let bits = |units: &cfqp::Units| units.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        ([bits(table.data.x()), bits(table.data.t()), bits(table.data.y())].concat(), table.layout)
    };
    let (long, wide) = (make("a.csv", "csv-long"), make("b.csv", "csv"));
    let (parquet, arrow) = (make("c.parquet", "parquet"), make("d.arrow", "arrow"));
    assert!(long.0 == wide.0 && long.0 == parquet.0 && long.0 == arrow.0);
    assert_eq!(parquet.1.shapes(), UnitShapes { x: vec![2, 20], y: vec![2, 20] });
    assert_eq!(wide.1.shapes(), UnitShapes { x: vec![40], y: vec![40] });
}

#[test]
fn simulated_tables_are_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let world = "simulate table --world several-treatments --n 60 --seed 3";
    let made = succeed(folder, &format!("{world} --out a.csv"));
    let flags = "--id id --x x0..x5 --t t1,t2 --y y";
    assert!(made.ends_with(&format!("next: cfqp check a.csv {flags}\n")), "{made}");
    succeed(folder, &format!("{world} --out a.npz"));
    succeed(folder, &format!("{world} --out a.parquet --force"));
    let arrays = cfqp::Dataset::read_npz(&folder.join("a.npz")).unwrap();
    let columns = |names: &str| names.split(',').map(str::to_owned).collect::<Vec<_>>();
    let spec = TableSpec {
        id: Some("id".into()),
        x: columns("x0..x5"),
        t: columns("t1,t2"),
        y: columns("y"),
        ..TableSpec::default()
    };
    for name in ["a.csv", "a.parquet"] {
        let table = Table::read(folder.join(name), &spec).unwrap();
        let (read, written) = (&table.data, &arrays);
        assert_eq!((read.x(), read.t(), read.y()), (written.x(), written.t(), written.y()), "{name}");
        for key in ["z", "t_new", "y_new", "y_bayes"] {
            let truth = |file: &str| read_array(&folder.join(file), key).unwrap().unwrap();
            assert_eq!(truth("a.truth.npz"), truth("a.npz"), "{key}");
        }
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let repeated = succeed(folder, "simulate table --n 20 --repeats 3 --out b.csv");
    assert!(repeated.contains("60 units") && repeated.contains("--group subject"), "{repeated}");
    let next = repeated.lines().last().unwrap().strip_prefix("next: cfqp ").unwrap();
    assert_eq!(json(folder, next)["units"], 60);
    let csv = std::fs::read_to_string(folder.join("b.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some("id,subject,x0,x1,x2,x3,x4,x5,t,y"));
    assert!(csv.lines().nth(5).unwrap().starts_with("4,1,"), "{csv}");
    succeed(folder, "simulate table --n 20 --repeats 3 --out b.npz");
    let groups = cfqp::Dataset::read_npz(&folder.join("b.npz")).unwrap();
    assert_eq!(groups.groups().unwrap()[..4], [0, 0, 0, 1]);
}

#[test]
fn outcomes_of_all_kinds_are_simulated_fitted_and_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = succeed(folder, "simulate table --world category --n 60 --out a.csv");
    assert!(made.ends_with("next: cfqp check a.csv --id id --x x0..x5 --t t --y y0..y2\n"), "{made}");
    let csv = std::fs::read_to_string(folder.join("a.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some("id,x0,x1,x2,x3,x4,x5,t,y0,y1,y2"));
    let next = made.lines().last().unwrap().strip_prefix("next: cfqp ").unwrap();
    assert_eq!(json(folder, next)["units"], 60);
    let arms = succeed(folder, "simulate table --world arms --n 60 --out b.csv");
    assert!(arms.ends_with("--t t1,t2 --y y\n"), "{arms}");
    succeed(folder, "simulate table --world count --n 60 --out c.csv");
    assert!(read_array(&folder.join("c.truth.npz"), "p_bayes").unwrap().is_some());
    for world in ["yes-no", "category"] {
        for (seed, out) in [(1, "train.npz"), (2, "test.npz")] {
            succeed(
                folder,
                &format!("simulate table --world {world} --n 200 --seed {seed} --out {out} --force"),
            );
        }
        succeed(folder, "fit train.npz --classes 1 --members 2 --out model.cfqp --force -q");
        let found = json(folder, "evaluate model.cfqp test.npz");
        let figure = |key: &str| found[key].as_f64().unwrap();
        let ratio = figure("log_loss") / figure("log_loss_limit");
        assert!((figure("log_loss_ratio") - ratio).abs() < 1e-9 && ratio > 0.9, "{found}");
        assert!((0.0..=1.0).contains(&figure("coverage")), "{found}");
        let text = succeed(folder, "evaluate model.cfqp test.npz");
        assert!(text.contains("times the limit") && text.contains("of the best probabilities"), "{text}");
    }
    let arguments = "simulate table --world yes-no --repeats 2 --out d.csv";
    let refused = text(&cfqp(folder, &arguments.split(' ').collect::<Vec<_>>()).stderr);
    assert!(refused.contains("--repeats: the subjects of the world yes-no have one row each"), "{refused}");
}

#[test]
fn flags_override_a_study_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("wide.csv"), wide_csv(90)).unwrap();
    let study = "data = 'wide.csv'\nout = 'model.cfqp'\n[table]\nid = 'id'\nx = ['age', 'ward']\nt = ['dose']\n\
                 y = ['outcome']\n[fit]\nclasses = 2\nbase = 'linear'\nstarts = ['kmeans']\nmembers = 2\nseed = 4\n";
    std::fs::write(folder.join("study.toml"), study).unwrap();
    let fit = json(folder, "fit study.toml --seed 9");
    assert_eq!((&fit["classes"], &fit["data"]["units"]), (&2.into(), &90.into()));
    let shown = json(folder, "model show model.cfqp");
    assert_eq!((&shown["config"]["seed"], &shown["layout"]["id"]), (&9.into(), &"id".into()));
    let x = &shown["layout"]["form"]["wide"]["x"]["features"][1];
    assert_eq!(x["categories"], serde_json::json!(["east", "north", "south"]));
    assert!(succeed(folder, "check study.toml").contains("no problems found"));
    let selected = json(folder, "select study.toml --classes 1..3 --plot k.svg");
    let tried: Vec<u64> =
        selected["candidates"].as_array().unwrap().iter().map(|t| t["classes"].as_u64().unwrap()).collect();
    assert_eq!(tried, [1, 2, 3]);
    assert!(std::fs::read_to_string(folder.join("k.svg")).unwrap().contains("<svg"));
}

#[test]
fn units_keep_their_ids_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut csv = wide_csv(300);
    // units that cannot be used are counted, not answered
    csv += "late,30,north,,1,0.5\nfar,30,moon,0.5,1,0.5\n";
    std::fs::write(folder.join("more.csv"), &csv).unwrap();
    std::fs::write(folder.join("wide.csv"), wide_csv(90)).unwrap();
    succeed(
        folder,
        &format!("fit wide.csv --id id --x age,ward --t dose --y outcome {FIT} --out model.cfqp -q"),
    );
    let spec = |x: &str| TableSpec {
        id: Some("id".into()),
        x: vec![x.into()],
        t: vec!["t_new".into()],
        y: vec!["lower_outcome".into()],
        ..TableSpec::default()
    };
    for out in ["a.csv", "a.parquet", "a.arrow"] {
        let asked = json(folder, &format!("query model.cfqp more.csv --treatment-from planned --out {out}"));
        assert_eq!((&asked["rows"], &asked["units"]), (&302.into(), &300.into()));
        assert_eq!(asked["dropped"].as_array().unwrap().len(), 2);
        let answers = Table::read(folder.join(out), &spec("outcome")).unwrap();
        assert!(matches!(&answers.ids, Ids::Text(ids) if ids.len() == 300 && ids[7] == "u7"));
        assert_eq!(*answers.data.t().row(7), [0.5]);
    }
    let asked = succeed(folder, "query model.cfqp more.csv --treatment 0.5 --out a.jsonl");
    assert!(asked.contains(
        "1 unit not used: `ward` is `moon`, a category that the training data do not have (first: line 303)"
    ));
    let line = std::fs::read_to_string(folder.join("a.jsonl")).unwrap();
    let first: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["t_new"]), (&"u0".into(), &0.5.into()));
    assert!(first["flag"].is_string() && first["posterior_1"].is_number());
    succeed(folder, "query model.cfqp more.csv --treatment 0.5 --out a.npz");
    assert_eq!(read_array(&folder.join("a.npz"), "answer").unwrap().unwrap().len(), 300);

    let effect = json(folder, "effect model.cfqp more.csv --from 0.2 --to 0.8 --out e.parquet");
    assert_eq!(effect["averages"][0]["group"], "supported");
    let all = &effect["averages"][1];
    assert_eq!((&all["group"], &all["units"]), (&"all".into(), &300.into()));
    let number = |field: &str| all[field].as_f64().unwrap();
    assert!(number("lower") < number("effect") && number("effect") < number("upper"));
    let averages = json(folder, "effect model.cfqp more.csv --from 0.2 --to 0.8");
    assert_eq!((&averages["averages"], &averages["out"]), (&effect["averages"], &Value::Null));
    let groups = effect["averages"].as_array().unwrap();
    let class =
        |k: usize| groups.iter().find(|g| g["group"] == format!("class {k}")).unwrap()["effect"].as_f64();
    assert!(class(0).unwrap() * class(1).unwrap() < 0.0, "the classes respond in opposite ways: {effect}");
    let curve = json(folder, "curve model.cfqp more.csv --grid 0:1:5 --units u3,u250 --out c.csv");
    assert_eq!((&curve["units"], &curve["answers"]), (&2.into(), &10.into()));
    let rows = std::fs::read_to_string(folder.join("c.csv")).unwrap();
    assert_eq!(rows.lines().filter(|line| line.starts_with("u250,")).count(), 5);
}

#[test]
fn a_failed_check_has_its_own_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let constant = wide_csv(40).lines().map(|line| format!("{line},1\n")).collect::<String>();
    std::fs::write(folder.path().join("a.csv"), constant.replacen(",1\n", ",same\n", 1)).unwrap();
    let check = |args: &[&str]| cfqp(folder.path(), &[&["check", "a.csv"], args].concat());
    let bad = check(&["--x", "age", "--t", "same", "--y", "outcome"]);
    assert_eq!((bad.status.code(), text(&bad.stderr)), (Some(1), String::new()));
    assert!(text(&bad.stdout).contains("failed: the treatment `same` is 1 for every unit"));
    let good = check(&["--x", "age,ward,same", "--t", "dose", "--y", "outcome", "--id", "id"]);
    assert_eq!(good.status.code(), Some(0));
    insta::assert_snapshot!("check", text(&good.stdout));
}

#[test]
fn a_model_with_too_many_classes_fails_the_diagnosis() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate oscillator --single-class --n 200 --out a.npz");
    succeed(folder.path(), "fit a.npz --classes 2 --base linear --out m.cfqp -q");
    let diagnosed = cfqp(folder.path(), &["diagnose", "m.cfqp", "a.npz"]);
    let stdout = text(&diagnosed.stdout);
    assert_eq!(diagnosed.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains("one class explains held-out units as well as 2"), "{stdout}");
    assert!(stdout.ends_with("do not rely on the answers\n"), "{stdout}");
    // answers about arrays can be written as a table
    let effect = json(folder.path(), "effect m.cfqp a.npz --from 0.3 --to 0.6 --out e.csv");
    assert_eq!(effect["units"], 200);
    let header = std::fs::read_to_string(folder.path().join("e.csv")).unwrap();
    assert!(header.starts_with("row,t,from,to,effect_y0_0,effect_y0_1,"));
}

#[test]
fn completions_and_manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        assert!(succeed(folder.path(), &format!("completions {shell}")).contains("diagnose"));
    }
    succeed(folder.path(), "man --out pages");
    let pages = listing(&folder.path().join("pages"));
    assert!(pages.iter().any(|(name, size)| name == "cfqp-fit.1" && *size > 1000), "{pages:?}");
}

/// Plants whose uptake is a line in the dose plus what only the plant has; each was measured under two other doses too.
fn plants(units: usize) -> (String, String) {
    let (mut data, mut pairs) = ("plant,size,dose,uptake\n".to_owned(), "id,site,t_new,y_new\n".to_owned());
    for i in 0..units {
        let (size, own) = ((i * 7 % 23) as f64 / 10.0, (i * 5 % 17) as f64 / 4.0 - 2.0);
        let uptake = |dose: f64| size + 2.0 * dose + own;
        let dose = |k: usize| ((i + 11 * k) * 13 % 31) as f64 / 31.0;
        let _ = writeln!(data, "p{i},{size:.2},{:.4},{:.4}", dose(0), uptake(dose(0)));
        for k in 1..=2 {
            let _ = writeln!(pairs, "p{i},here,{:.4},{:.4}", dose(k), uptake(dose(k)));
        }
    }
    (data, pairs)
}

#[test]
fn methods_are_compared_on_pairs_of_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (data, pairs) = plants(120);
    std::fs::write(folder.join("plants.csv"), data).unwrap();
    std::fs::write(folder.join("pairs.csv"), pairs).unwrap();
    let line = "compare plants.csv --id plant --x size --t dose --y uptake --pairs pairs.csv --classes 1 --base linear \
                --rho 1 --out tables";
    let found = json(folder, line);
    assert_eq!(
        (&found["n_pairs"], &found["units"], &found["pairs"]),
        (&240.into(), &120.into(), &"pairs.csv".into())
    );
    let runs = found["runs"].as_array().unwrap();
    let rmse = |i: usize| runs[i]["scores"]["rmse"].as_f64().unwrap();
    let methods: Vec<&str> = runs.iter().map(|run| run["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["regression", "residual", "shrunk-residual", "conformal", "cfqp"]);
    // what only the plant has is uniform from -2 to 2
    assert!((1.0..1.5).contains(&rmse(0)) && rmse(1) < 0.4 && rmse(4) < 0.2, "{runs:?}");
    assert!((rmse(2) - 0.5 * rmse(0)).abs() < 0.2, "half of the residual");
    assert_eq!(rmse(0), rmse(3), "conformal intervals are around the regression");
    let coverage = |i: usize| runs[i]["scores"]["coverage"].as_f64();
    assert!(coverage(3).unwrap() > 0.8 && coverage(4).is_some() && coverage(1).is_none(), "{runs:?}");
    let table = std::fs::read_to_string(folder.join("tables/table.md")).unwrap();
    assert!(
        table.starts_with("| method | RMSE | RMSE/SD | coverage | width | fit s | query s |\n"),
        "{table}"
    );
    let again = succeed(folder, line);
    assert!(again.contains("240 pairs of 120 units, 1 seed\n"), "{again}");
}

#[test]
fn average_effects_are_printed_beside_plain_estimates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("plants.csv"), plants(200).0).unwrap();
    // the same plants with another response
    let other = plants(200).0;
    let flip = |line: &str| {
        let (rest, uptake) = line.rsplit_once(',').unwrap();
        let uptake = uptake.parse::<f64>().map_or(uptake.to_owned(), |value| (-value).to_string());
        format!("{rest},{uptake}\n")
    };
    std::fs::write(folder.join("other.csv"), other.lines().map(flip).collect::<String>()).unwrap();
    succeed(
        folder,
        "fit plants.csv --id plant --x size --t dose --y uptake --classes 1 --base linear --out m.cfqp -q",
    );
    let found = json(folder, "effect m.cfqp plants.csv --from 0.25 --to 0.75");
    let plain = &found["plain"][0];
    assert_eq!((&plain["outcome"], &plain["disagrees"]), (&"uptake".into(), &false.into()), "{found}");
    let methods: Vec<&str> =
        plain["estimates"].as_array().unwrap().iter().map(|e| e["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["regression", "doubly_robust"]);
    let shown = succeed(folder, "effect m.cfqp plants.csv --from 0.25 --to 0.75");
    assert!(shown.contains("\neffect of 0.75 against 0.25") && shown.contains("doubly robust"), "{shown}");
    let warned = succeed(folder, "effect m.cfqp other.csv --from 0.25 --to 0.75");
    let first = "failed: agreement with plain estimates: for 0.750 against 0.250, the mean of the units' effects on uptake, ";
    assert!(warned.starts_with(first), "{warned}");
    let output = cfqp(folder, &["diagnose", "m.cfqp", "other.csv"]);
    assert_eq!(output.status.code(), Some(1));
    let verdicts = text(&output.stdout);
    // below the lines on units and rho
    let first = verdicts.lines().nth(2).unwrap();
    assert!(first.contains("failed      agreement with plain estimates"), "{verdicts}");
    assert!(verdicts.contains("not tested  number of classes"), "{verdicts}");
}

#[test]
fn the_scale_of_outcomes_can_be_given_and_validation_units_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = |range: std::ops::Range<usize>, least: f64| {
        let row = |i: usize| format!("{},{},{}\n", i % 7, i % 5, least + (i % 11) as f64 + (i % 5) as f64);
        "age,dose,cost\n".to_owned() + &range.map(row).collect::<String>()
    };
    std::fs::write(folder.join("a.csv"), rows(0..60, 1.0)).unwrap();
    std::fs::write(folder.join("v.csv"), rows(60..80, 1.0)).unwrap();
    std::fs::write(folder.join("zero.csv"), rows(0..60, 0.0)).unwrap();
    let columns = "--x age --t dose --y cost --classes 1 --base linear --members 2";
    for (scale, name) in [("log", "logarithmic"), ("linear", "linear")] {
        let line = format!("fit a.csv {columns} --y-scale {scale} --out {scale}.cfqp");
        assert!(succeed(folder, &line).contains(&format!("outcome scale: {name}\n")));
    }
    let study = "data = 'a.csv'\nout = 's.cfqp'\n[table]\nx = ['age']\nt = ['dose']\ny = ['cost']\n\
                 [fit]\nclasses = 1\nbase = 'linear'\nmembers = 2\ny_scale = 'log'\n";
    std::fs::write(folder.join("study.toml"), study).unwrap();
    assert!(succeed(folder, "fit study.toml").contains("outcome scale: logarithmic\n"));
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("s.cfqp") == read("log.cfqp") && read("log.cfqp") != read("linear.cfqp"));

    let joined = succeed(folder, &format!("fit a.csv --valid v.csv {columns} --out v.cfqp"));
    let note = "note: the 20 units given for validation were joined to the others, because every unit is held out in turn\n";
    assert!(joined.contains("units: 80, each held out in turn\n") && joined.contains(note), "{joined}");

    let line = format!("fit zero.csv {columns} --y-scale log --out z.cfqp -q");
    let refused = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    let message = "error: --y-scale: 2 of 60 units have an outcome of 0 or less, which has no logarithm (the smallest is 0)\n\
                   hint: set --y-scale to linear or auto, or fit units with positive outcomes only\n";
    assert_eq!((refused.status.code(), text(&refused.stderr)), (Some(2), message.to_owned()));
    assert!(!folder.join("z.cfqp").exists());
}
