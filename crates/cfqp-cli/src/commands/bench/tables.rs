//! From a table on disk to a table of answers: `cfqp fit` and `cfqp query` as a user runs them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use cfqp::measure::table;
use cfqp::{Dataset, Sheet, SheetCells, write_sheets};

use super::{Bench, Part, Row};
use crate::error::{Failure, Result};
use crate::table::count;

/// Rows that are made at a time.
const PIECE: usize = 50_000;

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let failed =
        |error: std::io::Error| Failure::new(error.to_string(), "free some disk space and try again");
    let folder = tempfile::tempdir().map_err(failed)?;
    let folder = folder.path();
    let (few, many) = if bench.quick { (200, 2_000) } else { (2_000, 1_000_000) };
    write(folder, "few.csv", few)?;
    let mut rows = Vec::new();
    for ending in ["csv", "parquet"] {
        write(folder, &format!("many.{ending}"), many)?;
    }
    let columns = "--x x0..x9 --t t --y y --classes 2 --init kmeans --epochs 20 --members 1";
    for base in ["linear", "mlp"] {
        cfqp(folder, bench, &format!("fit few.csv {columns} --base {base} --out {base}.cfqp"))?;
        for ending in ["csv", "parquet"] {
            let line =
                format!("query {base}.cfqp many.{ending} --treatment 0.5 --out {base}-answers.{ending}");
            let report = cfqp(folder, bench, &line)?;
            let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
            let what = format!("table of {} rows, {base}, {ending}", count(many));
            let row = Row::new(Part::Tables, what, (many as f64 / number("query_seconds")).round(), "rows/s");
            rows.push(row.note(format!("{:.0} MB", number("peak_rss_mb"))));
        }
    }
    Ok(rows)
}

/// Run this program; what it prints.
fn cfqp(folder: &Path, bench: &Bench, line: &str) -> Result<Value> {
    let failed = |problem: String| Failure::new(format!("cfqp {line}: {problem}"), "run it by itself");
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let threads = bench.threads.to_string();
    let mut command = Command::new(program);
    command.args(line.split_whitespace()).args(["--json", "-q", "--threads", &threads]).current_dir(folder);
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn write(folder: &Path, name: &str, rows: usize) -> Result<()> {
    let pieces = (0..rows.div_ceil(PIECE)).map(|i| Ok(sheet(&table(PIECE.min(rows - i * PIECE), i as u64)?)));
    write_sheets(&folder.join(name), pieces)?;
    Ok(())
}

fn sheet(data: &Dataset) -> Sheet {
    let mut sheet = Sheet::default();
    for j in 0..data.x().each() {
        let column = (0..data.len()).map(|i| data.x().row(i)[j]).collect();
        sheet.push(format!("x{j}"), SheetCells::Numbers(column));
    }
    sheet.push("t", SheetCells::Numbers(data.t().values().to_vec()));
    sheet.push("y", SheetCells::Numbers(data.y().values().to_vec()));
    sheet
}
