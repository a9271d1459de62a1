//! Files as they come in practice, from `check` to `report`.

use std::fmt::Write as _;
use std::path::Path;

use crate::tables::json;
use crate::{cfqp, succeed, text};

const FIT: &str = "--classes 1 --base linear --members 2 --seed 3";

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), content).unwrap();
}

/// The messages of a command that must be refused.
fn refused(folder: &Path, line: &str) -> String {
    let output = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
    stderr
}

/// A table of numbers that a line describes.
fn customers(units: usize, row: impl Fn(usize, f64, f64, f64) -> String) -> String {
    let unit = |i: usize| {
        let (age, t) = (20.0 + (i * 7 % 40) as f64 + 0.5, (i * 13 % 31) as f64 / 31.0);
        row(i, age, t, 0.1 * age + 3.0 * t + (i * 17 % 11) as f64 / 50.0)
    };
    (0..units).map(unit).collect()
}

#[test]
fn semicolons_decimal_commas_and_a_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plain = customers(120, |i, age, t, y| format!("k{i},{age},{t:.4},{:.3}\n", 1000.0 * y));
    let german = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let (whole, fraction) = cells[3].split_once('.').unwrap();
        let (thousands, rest) = whole.split_at(whole.len() - 3);
        let amount = format!("{thousands}.{rest},{fraction} €");
        format!("{};{};{};{amount}\r\n", cells[0], cells[1].replace('.', ","), cells[2].replace('.', ","))
    };
    write(folder, "plain.csv", format!("id,age,t,y\n{plain}"));
    let rows: String = plain.lines().map(german).collect();
    write(folder, "kunden.csv", format!("\u{feff}id;age;t;y\r\n{rows}"));

    let columns = "--id id --x age --t t --y y";
    let hint = refused(folder, &format!("check kunden.csv {columns}"));
    assert!(hint.ends_with("hint: set --delimiter to ';' and --decimal to ','\n"), "{hint}");
    let hint = refused(folder, &format!("check kunden.csv {columns} --delimiter ;"));
    assert!(hint.contains("column `age`: 120 cells have a decimal comma: `20,5` in line 2"), "{hint}");
    assert!(hint.ends_with("hint: set --decimal to ','\n"), "{hint}");
    let shown = succeed(folder, &format!("check kunden.csv {columns} --delimiter ; --decimal ,"));
    assert!(
        shown.contains(
            "y: read as a number, currency and thousands separators removed, decimal comma in 120 of 120"
        ),
        "{shown}"
    );
    assert!(shown.contains("--decimal ,") && shown.contains("--delimiter ';'"), "{shown}");

    succeed(folder, &format!("fit plain.csv {columns} {FIT} --out plain.cfqp -q"));
    succeed(
        folder,
        &format!("fit kunden.csv {columns} --delimiter ; --decimal , {FIT} --out kunden.cfqp -q"),
    );
    let effect =
        |model: &str, file: &str| json(folder, &format!("effect {model} {file} --from 0.2 --to 0.8"));
    let (one, other) = (effect("plain.cfqp", "plain.csv"), effect("kunden.cfqp", "kunden.csv"));
    assert_eq!(one["averages"], other["averages"]);
    let average = one["averages"][0]["effect"].as_f64().unwrap();
    assert!((average - 1800.0).abs() < 60.0, "{one}");
    succeed(folder, "report kunden.cfqp kunden.csv --out report.html -q");
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("--decimal ,"), "the report says how to fit the model again");
}

#[test]
fn marketing_with_dates_percentages_currency_and_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let campaign = |i: usize, age: f64, t: f64, y: f64| {
        let revenue = if i.is_multiple_of(4) { 0.0 } else { 400.0 * y };
        let (whole, cents) = (revenue as u64, (revenue * 100.0) as u64 % 100);
        let (thousands, rest) = (whole / 1000, whole % 1000);
        let revenue = if thousands > 0 {
            format!("{thousands},{rest:03}.{cents:02}")
        } else {
            format!("{rest}.{cents:02}")
        };
        let member = ["yes", "Yes", "no", "NO"][i % 4];
        let day = format!("2024-{:02}-{:02}", 1 + i % 12, 1 + i % 28);
        format!("{i},Customer {i},{day},{member},{age},{}%,\"${revenue}\"\n", (100.0 * t).round())
    };
    let header = "customer,name,signup,member,age,discount,revenue\n";
    write(folder, "a.csv", header.to_owned() + &customers(160, campaign));
    let columns = "--id customer --x * --except name --t discount --y revenue";
    let checked = json(folder, &format!("check a.csv {columns}"));
    let column = |name: &str| {
        let all = checked["columns"].as_array().unwrap();
        all.iter()
            .find(|column| column["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {checked}"))
            .clone()
    };
    assert_eq!(column("revenue")["kind"], "amount");
    assert_eq!(column("signup")["note"], "read as days since 2024-01-01");
    assert_eq!(column("discount")["note"], "read as a number, % removed in 160 of 160 cells");
    assert_eq!(column("member")["categories"], serde_json::json!(["no", "yes"]));
    assert_eq!(column("member")["category_counts"], serde_json::json!([80, 80]));
    let shown = succeed(folder, &format!("check a.csv {columns}"));
    assert!(shown.contains("levels of member: no 80, yes 80\n"), "{shown}");
    assert!(
        shown.contains("revenue: read as a number, currency and thousands separators removed"),
        "{shown}"
    );
    // all columns without exception: the name has too many categories, and the hint says what to do
    let hint = refused(folder, "check a.csv --id customer --x * --t discount --y revenue");
    assert!(hint.contains("`name` has more than 64 categories") && hint.contains("by --except"), "{hint}");

    succeed(folder, &format!("fit a.csv {columns} --date-parts {FIT} --out m.cfqp -q"));
    // later customers are counted from the same first day, in another format of dates
    write(folder, "b.csv", header.to_owned() + "1001,New,15.02.2025,TRUE,30,10%,\"$1,250.00\"\n");
    let asked = json(folder, "query m.cfqp b.csv --treatment 20 --out answers.csv");
    assert_eq!((&asked["units"], &asked["answers"]), (&1.into(), &1.into()));
    let answers = std::fs::read_to_string(folder.join("answers.csv")).unwrap();
    assert!(answers.lines().nth(1).unwrap().starts_with("1001,10,20,"), "{answers}");
    succeed(folder, "report m.cfqp a.csv --out report.html -q");
}

#[test]
fn irregular_sensors_with_duplicate_times() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut csv = "pump,at,rpm,load,start\n".to_owned();
    for i in 0..40 {
        let load = f64::from(i * 13 % 31) / 31.0;
        for hour in 0..8 {
            let minute = (i * 7 + hour * 11) % 20;
            let rpm = f64::from(i % 9) + if hour >= 4 { 5.0 * load } else { 0.0 };
            let line = format!("{i},2024-03-0{} {:02}:{minute:02}", 1 + i % 9, 6 + hour);
            let start = format!("2024-03-0{}T09:25:00", 1 + i % 9);
            let _ = writeln!(csv, "{line},{},{load:.3},{start}", rpm - 0.25);
            if (i + hour) % 3 == 0 {
                let _ = writeln!(csv, "{line}:00,{},{load:.3},{start}", rpm + 0.25);
            }
        }
    }
    write(folder, "a.csv", csv);
    let columns = "--id pump --time at --series rpm --t load --treated-at start --step 0.0416666667";
    let checked = json(folder, &format!("check a.csv {columns}"));
    assert_eq!((&checked["units"], &checked["ok"]), (&40.into(), &true.into()), "{checked}");
    assert_eq!(checked["averaged"], 107, "two samples at one time are averaged");
    assert_eq!(checked["columns"][1]["note"], "read as days since 2024-03-01");
    succeed(folder, &format!("fit a.csv {columns} {FIT} --out m.cfqp -q"));
    succeed(folder, "query m.cfqp a.csv --treatment 0.5 --out q.csv");
    let answers = std::fs::read_to_string(folder.join("q.csv")).unwrap();
    let cells: Vec<&str> = answers.lines().nth(1).unwrap().split(',').collect();
    assert!(cells[1].starts_with("2024-03-01T10:25:00"), "{answers}");
    succeed(folder, "report m.cfqp a.csv --out report.html -q");
}

#[test]
fn nullable_parquet_as_data_frames_write_it() {
    use arrow_array::{
        ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, TimestampNanosecondArray,
    };
    use std::sync::Arc;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let n = 120_usize;
    let every = |k: usize, i: usize| i % k == k - 1;
    let ids: Vec<i64> = (0..n as i64).map(|i| (1 << 60) + i).collect();
    let visits: Vec<Option<i64>> = (0..n).map(|i| (!every(10, i)).then_some((i * 7 % 12) as i64)).collect();
    let smoker: Vec<Option<bool>> = (0..n).map(|i| (!every(15, i)).then_some(i % 3 == 0)).collect();
    let seen: Vec<i64> = (0..n).map(|i| (19_700 + i as i64 * 5 % 90) * 86_400_000_000_000).collect();
    let t: Vec<Option<i64>> = (0..n).map(|i| (i != 7).then_some((i * 13 % 31) as i64)).collect();
    let y: Vec<Option<f64>> =
        (0..n).map(|i| (i != 9).then(|| 0.5 * (i * 13 % 31) as f64 + (i * 7 % 12) as f64)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(ids))),
        ("visits", Arc::new(Int64Array::from(visits.clone()))),
        ("smoker", Arc::new(BooleanArray::from(smoker.clone()))),
        ("seen", Arc::new(TimestampNanosecondArray::from(seen.clone()))),
        ("t", Arc::new(Int64Array::from(t.clone()))),
        ("y", Arc::new(Float64Array::from(y.clone()))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(folder.join("a.parquet")).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    // as a data frame writes the same table to CSV: integers with gaps become floats
    let mut csv = "id,visits,smoker,seen,t,y\n".to_owned();
    for i in 0..n {
        let visits = visits[i].map_or(String::new(), |visits| format!("{visits}.0"));
        let smoker = smoker[i].map_or("", |smoker| if smoker { "True" } else { "False" });
        let day = seen[i] / 86_400_000_000_000 - 19_700;
        let seen = format!("2023-12-{:02}", 9 + day);
        let seen = if 9 + day > 31 { String::new() } else { seen };
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let (t, y) = (number(t[i].map(|t| t as f64)), number(y[i]));
        let _ = writeln!(csv, "{},{visits},{smoker},{seen},{t},{y}", (1_i64 << 60) + i as i64);
    }
    write(folder, "a.csv", csv);
    let columns = "--id id --x visits,smoker,seen --t t --y y";
    let checked = json(folder, &format!("check a.parquet {columns}"));
    assert_eq!((&checked["units"], &checked["rows"]), (&118.into(), &120.into()), "{checked}");
    assert_eq!(checked["columns"][1]["kind"], "2 categories");
    assert_eq!(checked["columns"][2]["note"], "read as days since 2023-12-09");
    succeed(folder, &format!("fit a.parquet {columns} {FIT} --out m.cfqp -q"));
    for (file, out) in [("a.parquet", "p.csv"), ("a.csv", "c.csv")] {
        succeed(folder, &format!("query m.cfqp {file} --treatment 10 --out {out}"));
    }
    let rows = |name: &str| {
        let all = std::fs::read_to_string(folder.join(name)).unwrap();
        all.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (parquet, csv) = (rows("p.csv"), rows("c.csv"));
    assert_eq!(parquet.len(), csv.len());
    // where the CSV file has the date, the answers are the same, with exact ids
    assert!(parquet[1].starts_with("1152921504606846976,"), "{}", parquet[1]);
    let equal = parquet.iter().zip(&csv).filter(|(a, b)| a == b).count();
    assert!(equal > 25, "{equal}");
    // a yes/no outcome with gaps: units without it are dropped from the fit and answered with a flag
    let columns = "--id id --x visits --t t --y smoker";
    let checked = json(folder, &format!("check a.parquet {columns}"));
    assert_eq!((&checked["units"], &checked["rows"]), (&111.into(), &120.into()), "{checked}");
    assert_eq!(checked["columns"][2]["kind"], "yes-no");
    succeed(folder, &format!("fit a.parquet {columns} {FIT} --out s.cfqp -q"));
    for (file, out) in [("a.parquet", "sp.csv"), ("a.csv", "sc.csv")] {
        succeed(folder, &format!("query s.cfqp {file} --treatment 10 --out {out}"));
    }
    assert_eq!(rows("sp.csv"), rows("sc.csv"), "True and False of the CSV file are the same levels");
    assert_eq!(
        rows("sp.csv").iter().filter(|row| row.contains("no_outcome")).count(),
        8,
        "{:?}",
        rows("sp.csv")
    );
    succeed(folder, "report m.cfqp a.parquet --out report.html -q");
}

#[test]
fn lines_that_end_as_on_windows_are_counted_right() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = customers(40, |i, age, t, y| {
        format!("{age},{t:.3},{}\r\n", if i == 5 { "n.d.".to_owned() } else { y.to_string() })
    });
    write(folder, "a.csv", format!("age,t,y\r\n{rows}"));
    let message = refused(folder, "check a.csv --x age --t t --y y");
    assert!(message.starts_with("error: a.csv: line 7, column `y`: `n.d.` is not a number\n"), "{message}");
    let many = rows.replacen("20.5,0.000", "20.5,none given", 1).replacen("27.5,", "27.5,1,", 1);
    write(folder, "b.csv", format!("age,t,y\r\n{many}"));
    let message = refused(folder, "check b.csv --x age --t t --y y");
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "error: b.csv: 3 problems",
            "  line 3: 4 cells, but the header has 3",
            "  line 2, column `t`: `none given` is not a number",
            "  line 7, column `y`: `n.d.` is not a number",
        ]
    );
}

#[test]
fn a_model_without_covariates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(
        folder,
        "a.csv",
        "id,t,y\n".to_owned() + &customers(150, |i, _, t, y| format!("u{i},{t:.4},{y:.4}\n")),
    );
    let shown = succeed(folder, "check a.csv --id id --t t --y y");
    assert!(
        shown.contains("x: no covariates\n") && shown.contains("warning: there are no covariates"),
        "{shown}"
    );
    succeed(folder, "fit a.csv --id id --t t --y y --max-classes 2 --members 2 --seed 3 --out m.cfqp -q");
    let found = json(folder, "effect m.cfqp a.csv --from 0.2 --to 0.8");
    let average = found["averages"][0]["effect"].as_f64().unwrap();
    assert!((average - 1.8).abs() < 0.6, "{found}");
    succeed(folder, "query m.cfqp a.csv --treatment 0.5 --out q.csv");
    succeed(folder, "curve m.cfqp a.csv --grid 0:1:3 --units u3 --out c.csv");
    cfqp(folder, &["diagnose", "m.cfqp", "a.csv"]);
    succeed(folder, "report m.cfqp a.csv --out report.html -q");
    succeed(folder, "model show m.cfqp");
}

/// Three drugs, 600 rows: C raises the outcome by 0.6 against A, and B lowers it. The noise, of scale 1, is made of a fixed
/// set of numbers.
fn drugs(units: usize) -> String {
    let mut state = 12345_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut text = "id,age,drug,arm,dose,y\n".to_owned();
    for i in 0..units {
        let (age, drug, dose) = (random(), (3.0 * random()) as usize, random());
        let noise = (0..12).map(|_| random()).sum::<f64>() - 6.0;
        let y = age + [0.0, -0.7, 0.6][drug] + noise;
        writeln!(text, "p{i},{age:.4},{},{drug},{dose:.3},{y:.4}", ["A", "B", "C"][drug]).unwrap();
    }
    text
}

#[test]
fn drugs_are_asked_about_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "drugs.csv", drugs(600));
    let columns = "--id id --x age --t drug --y y";
    let checked = succeed(folder, &format!("check drugs.csv {columns}"));
    assert!(checked.contains("treatment drug: 3 levels, with units: A "), "{checked}");
    assert!(checked.contains("; reference A\n") && !checked.contains("question:"), "{checked}");
    let numbers = succeed(folder, "check drugs.csv --id id --x age --t arm --y y");
    let question =
        "question: if 0, 1, 2 are names of treatments (arm) rather than amounts, add --t-kind category";
    assert!(numbers.contains(question), "{numbers}");

    succeed(folder, &format!("fit drugs.csv {columns} --seed 3 --out drugs.cfqp --quiet"));
    let effect = json(folder, "effect drugs.cfqp drugs.csv --from A --to C");
    assert_eq!((&effect["from"], &effect["to"]), (&serde_json::json!(["A"]), &serde_json::json!(["C"])));
    let all = effect["averages"].as_array().unwrap().iter().find(|average| average["group"] == "all");
    let size = all.unwrap()["effect"].as_f64().unwrap();
    assert!((size - 0.6).abs() < 0.2, "two standard errors of a difference of means: {size}");
    assert_eq!(effect["plain"][0]["disagrees"], false, "{effect}");

    succeed(folder, "query drugs.cfqp drugs.csv --treatment B --out b.csv");
    let answers = std::fs::read_to_string(folder.join("b.csv")).unwrap();
    assert!(answers.lines().skip(1).all(|line| line.split(',').nth(2) == Some("B")), "{answers}");
    succeed(folder, "curve drugs.cfqp drugs.csv --units p7 --out levels.csv");
    let curve = std::fs::read_to_string(folder.join("levels.csv")).unwrap();
    let asked: Vec<&str> = curve.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert_eq!(asked, ["A", "B", "C"]);
    let unknown = refused(folder, "query drugs.cfqp drugs.csv --treatment D --out d.csv");
    assert!(unknown.contains("--treatment: `D` is not a level of the treatment `drug`"), "{unknown}");
    assert!(unknown.contains("the levels are A, B, C"), "{unknown}");
    let grid = refused(folder, "curve drugs.cfqp drugs.csv --grid 0:1:3 --out g.csv");
    assert!(grid.contains("the treatment has levels"), "{grid}");

    let report = json(folder, "report drugs.cfqp drugs.csv --from A --to C --out report.html");
    assert_eq!(report["question"]["to"], serde_json::json!(["C"]));
    assert_eq!(report["curves"]["grid"], serde_json::json!([["A"], ["B"], ["C"]]));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(
        page.contains(">Outcome by treatment</h2>")
            && !page.contains("Dose-response")
            && !page.contains("high treatment")
    );
    assert!(page.contains("drug C") && page.contains("class=\"bar pale"));
}

#[test]
fn numbers_declared_as_levels_and_a_drug_with_a_dose() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "drugs.csv", drugs(240));
    let asked = succeed(folder, "check drugs.csv --id id --x age --t arm,dose --y y");
    assert!(asked.contains("rather than amounts, add --t-kind category,auto\n"), "{asked}");
    let columns = "--id id --x age --t arm,dose --t-kind category,number --y y";
    let checked = succeed(folder, &format!("check drugs.csv {columns}"));
    assert!(checked.contains("treatment arm: 3 levels") && checked.contains("treatment dose: "), "{checked}");
    assert!(checked.contains("--t-kind category,number"), "the next command declares them too: {checked}");
    succeed(folder, &format!("fit drugs.csv {columns} {FIT} --out arms.cfqp --quiet"));
    succeed(folder, "effect arms.cfqp drugs.csv --from arm=0,dose=0.5 --to arm=2,dose=0.5 --out e.csv");
    let effects = std::fs::read_to_string(folder.join("e.csv")).unwrap();
    assert!(effects.starts_with("id,t_arm,t_dose,from_arm,from_dose,to_arm,to_dose,effect_y"), "{effects}");
    let nobody = json(folder, "query arms.cfqp drugs.csv --treatment 1,9 --out n.csv");
    assert_eq!(nobody["off_support"], 240);
    let few = refused(folder, "query arms.cfqp drugs.csv --treatment 1 --out f.csv");
    assert!(few.contains("1 value for 2 treatments") && few.contains("arm=2,dose=1"), "{few}");
    let held = "curve arms.cfqp drugs.csv --over dose --hold arm=2 --grid 0.2:0.8:3 --units p7 --out c.csv";
    succeed(folder, held);
    let curve = std::fs::read_to_string(folder.join("c.csv")).unwrap();
    let asked: Vec<String> = curve
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(3).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(asked, ["2 0.2", "2 0.5", "2 0.8"], "{curve}");
    succeed(folder, "curve arms.cfqp drugs.csv --units p7 --out own_dose.csv");
    let doses = std::fs::read_to_string(folder.join("own_dose.csv")).unwrap();
    let is_own = |line: &str| line.split(',').nth(2) == line.split(',').nth(4);
    assert!(doses.lines().count() == 4 && doses.lines().skip(1).all(is_own), "{doses}");
    let unknown = refused(folder, "curve arms.cfqp drugs.csv --hold arm=7 --grid 0:1:3 --out d.csv");
    assert!(unknown.contains("--hold: `7` is not a level of the treatment `arm`"), "{unknown}");
    write(folder, "new.csv", "id,age\nn1,0.5\n");
    let kept = refused(folder, "curve arms.cfqp new.csv --grid 0:1:3 --out d.csv");
    assert!(kept.contains("unit n1: its treatment is unknown") && kept.contains("--hold"), "{kept}");
    succeed(folder, "curve arms.cfqp new.csv --hold arm=1 --grid 0:1:3 --out d.csv");
    succeed(folder, "report arms.cfqp drugs.csv --out report.html");
    succeed(folder, "diagnose arms.cfqp drugs.csv");
    let shown = succeed(folder, "model show arms.cfqp");
    assert!(shown.contains("arm (levels 0, 1, 2), dose"), "{shown}");
}
