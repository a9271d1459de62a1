//! Simulated series as tables, in the shapes that users have.

use std::path::{Path, PathBuf};

use cfqp::{Dataset, Format, Sheet, SheetCells, Units, write_sheets};

use crate::error::{Failure, Result};

/// How units are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Arrays.
    Npz,
    /// A row per sample.
    CsvLong,
    /// A row per unit, a column per sample.
    Csv,
    /// A row per unit, series as lists.
    Lists,
}

impl Shape {
    pub const NAMES: [&str; 5] = ["npz", "csv-long", "csv", "parquet", "arrow"];

    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "npz" => Ok(Self::Npz),
            "csv-long" => Ok(Self::CsvLong),
            "csv" => Ok(Self::Csv),
            "parquet" | "arrow" => Ok(Self::Lists),
            _ => Err(format!("no format {name}")),
        }
    }

    /// The shape asked for, or that of the ending of `out`.
    pub fn resolve(asked: Option<Self>, out: &Path) -> Result<Self> {
        let format = Format::of_output(out)?;
        let usual = match format {
            Format::Npz => Self::Npz,
            Format::Csv => Self::CsvLong,
            _ => Self::Lists,
        };
        match asked {
            None => Ok(usual),
            // rows of samples or of columns can stand in any table, lists not in a CSV file
            Some(shape) if (shape == Self::Npz) == (format == Format::Npz) => match (shape, format) {
                (Self::Lists, Format::Csv) => Err(mismatch(out)),
                _ => Ok(shape),
            },
            Some(_) => Err(mismatch(out)),
        }
    }
}

fn mismatch(out: &Path) -> Failure {
    let message = format!("{}: the ending of its name is not that of --format", out.display());
    Failure::new(message, "leave out --format, or end the name in .npz, .csv, .parquet or .arrow as it says")
}

/// What columns are called.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    pub id: &'static str,
    pub time: &'static str,
    pub series: [&'static str; 2],
    pub t: &'static str,
}

impl Columns {
    /// The flags that describe the table.
    pub fn flags(&self, shape: Shape, data: &Dataset) -> String {
        let Self { id, time, series: [a, b], t } = self;
        let (before, after) = (data.x().shape()[1], data.y().shape()[1]);
        let all = before + after;
        match shape {
            Shape::Npz => String::new(),
            Shape::CsvLong => {
                format!("--id {id} --time {time} --series {a},{b} --t {t} --treated-at {before}")
            }
            Shape::Csv => {
                let (first, last) = (before + 1, all);
                let x = format!("{a}_1..{a}_{before},{b}_1..{b}_{before}");
                format!("--id {id} --x {x} --t {t} --y {a}_{first}..{a}_{last},{b}_{first}..{b}_{last}")
            }
            Shape::Lists => format!("--id {id} --x {a}_before,{b}_before --t {t} --y {a}_after,{b}_after"),
        }
    }
}

/// Where the truth of `out` is written.
pub fn truth_path(out: &Path) -> PathBuf {
    out.with_extension("truth.npz")
}

/// Write units of series `[2, steps]` as a table.
pub fn write_table(data: &Dataset, columns: &Columns, shape: Shape, out: &Path) -> cfqp::Result<()> {
    // so many units at a time
    const PIECE: usize = 1024;
    let rows: Vec<usize> = (0..data.len()).collect();
    let sheets = rows.chunks(PIECE).map(|rows| {
        let piece = data.pick(rows)?;
        Ok(match shape {
            Shape::CsvLong => long(&piece, columns, rows[0]),
            Shape::Csv => wide(&piece, columns, rows[0]),
            Shape::Lists | Shape::Npz => lists(&piece, columns, rows[0]),
        })
    });
    write_sheets(out, sheets).map(drop)
}

fn ids(n: usize, first: usize) -> SheetCells {
    SheetCells::Integers((first..first + n).map(|i| i as i64).collect())
}

/// Channel `c` of all units.
fn channel(units: &Units, c: usize) -> Vec<f32> {
    let steps = units.shape()[1];
    (0..units.len()).flat_map(|i| units.row(i)[c * steps..(c + 1) * steps].to_vec()).collect()
}

fn long(data: &Dataset, columns: &Columns, first: usize) -> Sheet {
    let (n, before, after) = (data.len(), data.x().shape()[1], data.y().shape()[1]);
    let steps = before + after;
    let mut sheet = Sheet::default();
    let id = (0..n * steps).map(|row| (first + row / steps) as i64).collect();
    sheet.push(columns.id, SheetCells::Integers(id));
    sheet.push(
        columns.time,
        SheetCells::Integers((0..n * steps).map(|row| (row % steps) as i64 + 1).collect()),
    );
    for (c, name) in columns.series.iter().enumerate() {
        let (x, y) = (channel(data.x(), c), channel(data.y(), c));
        let own = |i: usize| [&x[i * before..(i + 1) * before], &y[i * after..(i + 1) * after]].concat();
        sheet.push(*name, SheetCells::Numbers((0..n).flat_map(own).collect()));
    }
    let dose = (0..n).flat_map(|i| std::iter::repeat_n(data.t().row(i)[0], steps)).collect();
    sheet.push(columns.t, SheetCells::Numbers(dose));
    sheet
}

fn wide(data: &Dataset, columns: &Columns, first: usize) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.push(columns.id, ids(data.len(), first));
    let put = |sheet: &mut Sheet, units: &Units, from: usize| {
        let steps = units.shape()[1];
        for (c, name) in columns.series.iter().enumerate() {
            for s in 0..steps {
                let values = (0..units.len()).map(|i| units.row(i)[c * steps + s]).collect();
                sheet.push(format!("{name}_{}", from + s + 1), SheetCells::Numbers(values));
            }
        }
    };
    put(&mut sheet, data.x(), 0);
    sheet.push(columns.t, SheetCells::Numbers(data.t().values().to_vec()));
    put(&mut sheet, data.y(), data.x().shape()[1]);
    sheet
}

fn lists(data: &Dataset, columns: &Columns, first: usize) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.push(columns.id, ids(data.len(), first));
    let put = |sheet: &mut Sheet, units: &Units, when: &str| {
        for (c, name) in columns.series.iter().enumerate() {
            sheet.push(format!("{name}_{when}"), SheetCells::Lists(units.shape()[1], channel(units, c)));
        }
    };
    put(&mut sheet, data.x(), "before");
    sheet.push(columns.t, SheetCells::Numbers(data.t().values().to_vec()));
    put(&mut sheet, data.y(), "after");
    sheet
}
