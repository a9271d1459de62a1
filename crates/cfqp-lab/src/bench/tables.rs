//! From a table on disk to a table of answers: `cfqp fit` and `cfqp query` as separate processes.

use std::path::Path;

use serde_json::Value;

use cfqp::Dataset;
use cfqp::data::table::{OutputBatch, OutputColumn};
use cfqp::measure::table;

use super::{Bench, Row, Topic, cfqp_command, disk_failure};
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::format_count;

/// Rows generated at a time.
const CHUNK: usize = 50_000;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir().map_err(disk_failure)?;
    let folder = folder.path();
    let (few, many) = if bench.quick { (200, 2_000) } else { (2_000, 1_000_000) };
    write_table(folder, "few.csv", few)?;
    let mut rows = Vec::new();
    for ending in ["csv", "parquet"] {
        write_table(folder, &format!("many.{ending}"), many)?;
    }
    let columns = "--x x0..x9 --t t --y y --classes 2 --init kmeans --epochs 20 --members 1";
    for base in ["linear", "mlp"] {
        run_cfqp(folder, bench, &format!("fit few.csv {columns} --base {base} --out {base}.cfqp"))?;
        for ending in ["csv", "parquet"] {
            let line =
                format!("query {base}.cfqp many.{ending} --treatment 0.5 --out {base}-answers.{ending}");
            let report = run_cfqp(folder, bench, &line)?;
            let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
            let name = format!("table of {} rows, {base}, {ending}", format_count(many));
            let row =
                Row::new(Topic::Tables, name, (many as f64 / number("query_seconds")).round(), "rows/s");
            rows.push(row.with_note(format!("{:.0} MB", number("peak_rss_mb"))));
        }
    }
    Ok(rows)
}

/// Runs `cfqp` with the arguments of `line` and returns what it prints.
fn run_cfqp(folder: &Path, bench: &Bench, line: &str) -> Result<Value> {
    let failed = |problem: String| {
        Failure::new(format!("cfqp {line}: {problem}"), "run this command alone to see why")
    };
    let threads = bench.threads.to_string();
    let mut command = cfqp_command()?;
    command.args(line.split_whitespace()).args(["--json", "-q", "--threads", &threads]).current_dir(folder);
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn write_table(folder: &Path, name: &str, rows: usize) -> Result<()> {
    let chunks = (0..rows.div_ceil(CHUNK)).map(|i| Ok(sheet(&table(CHUNK.min(rows - i * CHUNK), i as u64)?)));
    cfqp::data::table::write_table(&folder.join(name), chunks)?;
    Ok(())
}

fn sheet(data: &Dataset) -> OutputBatch {
    let mut sheet = OutputBatch::default();
    for j in 0..data.x().elements() {
        let column = (0..data.len()).map(|i| data.x().row(i)[j]).collect();
        sheet.push(format!("x{j}"), OutputColumn::Numbers(column));
    }
    sheet.push("t", OutputColumn::Numbers(data.t().values().to_vec()));
    sheet.push("y", OutputColumn::Numbers(data.y().values().to_vec()));
    sheet
}
