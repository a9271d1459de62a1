//! From a CSV file to answers in another file: fit, check the assumptions, ask about every row.
//!
//!     cargo run --release -p cfqp --example table_to_answers

use std::fmt::Write as _;

use cfqp::ask::Averages;
use cfqp::{AskOptions, Base, Fit, FitConfig, Table, TableSpec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (patients, answers) = (folder.path().join("patients.csv"), folder.path().join("answers.csv"));
    std::fs::write(&patients, example_table())?;

    let spec = TableSpec {
        id: Some("patient".into()),
        x: vec!["age".into(), "ward".into()],
        t: vec!["dose".into()],
        y: vec!["pressure".into(), "pulse".into()],
        ..TableSpec::default()
    };
    let table = Table::read(&patients, &spec)?;
    let config = FitConfig { base: Base::Linear, max_classes: 3, ..FitConfig::default() };
    let model = Fit::new(config).run(&table)?;
    println!("{} units, {} classes", table.data.len(), model.classes());

    for verdict in model.verdicts(&table.data, AskOptions::default())? {
        println!("{:?}: {}", verdict.grade, verdict.sentence);
    }

    // in memory
    let effects = model.ask(&table).effect(0.2, 0.8).level(0.9).answers()?;
    let mut averages = Averages::new(&model, 0.9);
    averages.add(&effects);
    for average in averages.finish() {
        println!(
            "{} ({}): {:.2} [{:.2}, {:.2}]",
            average.outcome, average.group, average.effect, average.lower, average.upper
        );
    }

    // from file to file, for tables larger than memory
    let read = model.ask_units(&patients).under(0.8).write(&answers)?;
    println!("{} rows answered", read.units);
    println!("{}", std::fs::read_to_string(&answers)?.lines().take(3).collect::<Vec<_>>().join("\n"));
    Ok(())
}

/// Patients of two hidden classes: the dose raises the pressure of one and the pulse of the other.
fn example_table() -> String {
    let mut text = String::from("patient,age,ward,dose,pressure,pulse\n");
    for i in 0..400 {
        let (age, dose) = (20 + i * 37 % 60, f64::from(i * 53 % 100) / 100.0);
        let ward = ["north", "south"][i as usize % 2];
        let noise = f64::from(i * 71 % 13 - 6) / 30.0;
        let (pressure, pulse) = if i % 5 < 2 { (30.0 * dose, 0.0) } else { (0.0, 20.0 * dose) };
        let base = 100.0 + 0.3 * f64::from(age);
        writeln!(text, "p{i},{age},{ward},{dose},{},{}", base + pressure + noise, 70.0 + pulse - noise)
            .expect("writing to a string does not fail");
    }
    text
}
