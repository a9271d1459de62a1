//! Simulated units as tables, in the layouts that users have.

use std::path::{Path, PathBuf};

use cfqp::data::table::{FileFormat, OutputBatch, OutputColumn};
use cfqp::{Dataset, Units};

use crate::error::{Failure, Result};

/// Units that are converted at once.
const UNITS_PER_SHEET: usize = 1024;

/// The layout of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileShape {
    /// Arrays.
    Npz,
    /// One row per sample.
    CsvLong,
    /// One row per unit, one column per sample.
    Csv,
    /// One row per unit, series as lists.
    Lists,
}

impl FileShape {
    pub(super) const NAMES: [&str; 5] = ["npz", "csv-long", "csv", "parquet", "arrow"];

    pub(super) fn from_name(name: &str) -> Result<Self, String> {
        match name {
            "npz" => Ok(Self::Npz),
            "csv-long" => Ok(Self::CsvLong),
            "csv" => Ok(Self::Csv),
            "parquet" | "arrow" => Ok(Self::Lists),
            _ => Err(format!("unknown format {name}")),
        }
    }

    /// The requested layout, or the default for the extension of `out`.
    pub(super) fn resolve(requested: Option<Self>, form: Option<&TableForm>, out: &Path) -> Result<Self> {
        let format = FileFormat::for_output(out)?;
        let is_numbers = matches!(form, Some(TableForm::Numbers));
        if is_numbers && requested == Some(Self::CsvLong) {
            let message = format!("{}: these units have no series to write row by row", out.display());
            return Err(Failure::new(message, "use --format csv"));
        }
        let default = match format {
            FileFormat::Npz => Self::Npz,
            FileFormat::Csv if is_numbers => Self::Csv,
            FileFormat::Csv => Self::CsvLong,
            _ => Self::Lists,
        };
        match requested {
            None => Ok(default),
            // CSV files cannot hold lists
            Some(shape) if (shape == Self::Npz) == (format == FileFormat::Npz) => match (shape, format) {
                (Self::Lists, FileFormat::Csv) => Err(mismatch(out)),
                _ => Ok(shape),
            },
            Some(_) => Err(mismatch(out)),
        }
    }
}

fn mismatch(out: &Path) -> Failure {
    let message = format!("{}: the extension does not match --format", out.display());
    Failure::new(message, "remove --format, or use its extension: .npz, .csv, .parquet or .arrow")
}

/// What the units of a table consist of.
#[derive(Clone, Copy, Debug)]
pub(super) enum TableForm {
    /// Two series per unit.
    Series(SeriesColumns),
    /// Numbers: the columns id, subject (if subjects have several units), x0, x1, ..., t or t1, t2, ..., y or y0, y1, ...
    Numbers,
}

impl TableForm {
    /// The flags that describe the table.
    pub(super) fn flags(&self, shape: FileShape, data: &Dataset) -> String {
        match self {
            Self::Series(columns) => columns.flags(shape, data),
            Self::Numbers => {
                let group = if data.groups().is_some() { " --group subject" } else { "" };
                let t = treatment_names(data.t().elements()).join(",");
                let y = match data.y().elements() {
                    1 => "y".to_owned(),
                    levels => format!("y0..y{}", levels - 1),
                };
                format!("--id id{group} --x x0..x{} --t {t} --y {y}", data.x().elements() - 1)
            }
        }
    }
}

fn treatment_names(treatments: usize) -> Vec<String> {
    match treatments {
        1 => vec!["t".to_owned()],
        _ => (1..=treatments).map(|i| format!("t{i}")).collect(),
    }
}

fn outcome_names(elements: usize) -> Vec<String> {
    match elements {
        1 => vec!["y".to_owned()],
        _ => (0..elements).map(|i| format!("y{i}")).collect(),
    }
}

/// The names of the columns of series.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesColumns {
    pub id: &'static str,
    pub time: &'static str,
    pub series: [&'static str; 2],
    pub t: &'static str,
}

impl SeriesColumns {
    fn flags(&self, shape: FileShape, data: &Dataset) -> String {
        let Self { id, time, series: [a, b], t } = self;
        let (before, after) = (data.x().shape()[1], data.y().shape()[1]);
        let all = before + after;
        match shape {
            FileShape::Npz => String::new(),
            FileShape::CsvLong => {
                format!("--id {id} --time {time} --series {a},{b} --t {t} --treated-at {before}")
            }
            FileShape::Csv => {
                let (first, last) = (before + 1, all);
                let x = format!("{a}_1..{a}_{before},{b}_1..{b}_{before}");
                format!("--id {id} --x {x} --t {t} --y {a}_{first}..{a}_{last},{b}_{first}..{b}_{last}")
            }
            FileShape::Lists => {
                format!("--id {id} --x {a}_before,{b}_before --t {t} --y {a}_after,{b}_after")
            }
        }
    }
}

/// The file for the truth of `out`.
pub(super) fn truth_path(out: &Path) -> PathBuf {
    out.with_extension("truth.npz")
}

/// Writes units as a table; those with series have the shape `[2, steps]`.
pub(super) fn write_table(
    data: &Dataset,
    form: &TableForm,
    shape: FileShape,
    out: &Path,
) -> cfqp::Result<()> {
    let rows: Vec<usize> = (0..data.len()).collect();
    let sheets = rows.chunks(UNITS_PER_SHEET).map(|rows| {
        let units = data.pick(rows)?;
        Ok(match (form, shape) {
            (TableForm::Numbers, _) => {
                let of_row = |groups: &[u32]| rows.iter().map(|&row| i64::from(groups[row])).collect();
                number_sheet(&units, data.groups().map(of_row), rows[0])
            }
            (TableForm::Series(columns), FileShape::CsvLong) => long_sheet(&units, columns, rows[0]),
            (TableForm::Series(columns), FileShape::Csv) => wide_sheet(&units, columns, rows[0]),
            (TableForm::Series(columns), FileShape::Lists | FileShape::Npz) => {
                list_sheet(&units, columns, rows[0])
            }
        })
    });
    cfqp::data::table::write_table(out, sheets).map(drop)
}

/// Writes a table of numbers in parts: the units of each, and the number of subjects before it.
pub(super) fn write_parts(
    parts: impl Iterator<Item = cfqp::Result<(usize, Dataset)>>,
    out: &Path,
) -> cfqp::Result<()> {
    let mut first = 0;
    let sheets = parts.map(|part| {
        let (subjects, data) = part?;
        let rows: Vec<usize> = (first..first + data.len()).collect();
        first += data.len();
        let groups =
            data.groups().map(|groups| groups.iter().map(|group| subjects as i64 + i64::from(*group)));
        Ok(number_sheet(&data, groups.map(Iterator::collect), rows[0]))
    });
    cfqp::data::table::write_table(out, sheets).map(drop)
}

fn unit_ids(n: usize, first: usize) -> OutputColumn {
    OutputColumn::Integers((first..first + n).map(|i| i as i64).collect())
}

/// Channel `c` of all units.
fn channel(units: &Units, c: usize) -> Vec<f32> {
    let steps = units.shape()[1];
    (0..units.len()).flat_map(|i| units.row(i)[c * steps..(c + 1) * steps].to_vec()).collect()
}

/// One row per unit, one column per number, with the subject of every unit, if there are any, and the number of units before.
fn number_sheet(data: &Dataset, subjects: Option<Vec<i64>>, first: usize) -> OutputBatch {
    let mut sheet = OutputBatch::default();
    sheet.push("id", unit_ids(data.len(), first));
    if let Some(subjects) = subjects {
        sheet.push("subject", OutputColumn::Integers(subjects));
    }
    let x = (0..data.x().elements()).map(|i| format!("x{i}")).collect();
    let (t, y) = (treatment_names(data.t().elements()), outcome_names(data.y().elements()));
    let columns = [(data.x(), x), (data.t(), t), (data.y(), y)];
    for (units, names) in columns {
        for (element, name) in names.into_iter().enumerate() {
            let values = (0..units.len()).map(|i| units.row(i)[element]).collect();
            sheet.push(name, OutputColumn::Numbers(values));
        }
    }
    sheet
}

fn long_sheet(data: &Dataset, columns: &SeriesColumns, first: usize) -> OutputBatch {
    let (n, before, after) = (data.len(), data.x().shape()[1], data.y().shape()[1]);
    let steps = before + after;
    let mut sheet = OutputBatch::default();
    let id = (0..n * steps).map(|row| (first + row / steps) as i64).collect();
    sheet.push(columns.id, OutputColumn::Integers(id));
    sheet.push(
        columns.time,
        OutputColumn::Integers((0..n * steps).map(|row| (row % steps) as i64 + 1).collect()),
    );
    for (c, name) in columns.series.iter().enumerate() {
        let (x, y) = (channel(data.x(), c), channel(data.y(), c));
        let series = |i: usize| [&x[i * before..(i + 1) * before], &y[i * after..(i + 1) * after]].concat();
        sheet.push(*name, OutputColumn::Numbers((0..n).flat_map(series).collect()));
    }
    let dose = (0..n).flat_map(|i| std::iter::repeat_n(data.t().row(i)[0], steps)).collect();
    sheet.push(columns.t, OutputColumn::Numbers(dose));
    sheet
}

fn wide_sheet(data: &Dataset, columns: &SeriesColumns, first: usize) -> OutputBatch {
    let mut sheet = OutputBatch::default();
    sheet.push(columns.id, unit_ids(data.len(), first));
    let put = |sheet: &mut OutputBatch, units: &Units, from: usize| {
        let steps = units.shape()[1];
        for (c, name) in columns.series.iter().enumerate() {
            for s in 0..steps {
                let values = (0..units.len()).map(|i| units.row(i)[c * steps + s]).collect();
                sheet.push(format!("{name}_{}", from + s + 1), OutputColumn::Numbers(values));
            }
        }
    };
    put(&mut sheet, data.x(), 0);
    sheet.push(columns.t, OutputColumn::Numbers(data.t().values().to_vec()));
    put(&mut sheet, data.y(), data.x().shape()[1]);
    sheet
}

fn list_sheet(data: &Dataset, columns: &SeriesColumns, first: usize) -> OutputBatch {
    let mut sheet = OutputBatch::default();
    sheet.push(columns.id, unit_ids(data.len(), first));
    let put = |sheet: &mut OutputBatch, units: &Units, when: &str| {
        for (c, name) in columns.series.iter().enumerate() {
            sheet.push(
                format!("{name}_{when}"),
                OutputColumn::Lists { length: units.shape()[1], values: channel(units, c) },
            );
        }
    };
    put(&mut sheet, data.x(), "before");
    sheet.push(columns.t, OutputColumn::Numbers(data.t().values().to_vec()));
    put(&mut sheet, data.y(), "after");
    sheet
}
