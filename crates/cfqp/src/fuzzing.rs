//! One function per fuzz target, which reads bytes as a user's file or text. Not part of the public interface.
//!
//! An input may give a result or an error. A panic, an abort, an endless loop, or memory far beyond [`MEMORY_LIMIT`] is a defect.
//! The fuzz targets in `fuzz/` and the test of the saved inputs call the same functions.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::Result;
use crate::ask::{AskOptions, CurveSpec, curve_points};
use crate::data::table::{FileOptions, Layout, Table, TableSpec, TreatedAt, UnitReader, read_column_names};
use crate::data::{Dataset, NamedArray, Units, check_npy, read_idx_from, read_unverified};
use crate::fit::Study;
use crate::model::Model;
use crate::runtime::{Resources, set_memory_limit};
use crate::train::{read_checkpoint, with_checksums};

/// The limit on memory under which targets run, in bytes.
pub const MEMORY_LIMIT: u64 = 64 << 20;

/// A fuzz target: its name, and whether it accepts an input.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// All targets.
pub const TARGETS: [Target; 11] = [
    ("npz", npz),
    ("csv", csv),
    ("arrow", arrow),
    ("parquet", parquet),
    ("xlsx", xlsx),
    ("idx", idx),
    ("study", study),
    ("model", model),
    ("model_header", model_header),
    ("checkpoint", checkpoint),
    ("query", query),
];

/// The name of inputs in errors.
const INPUT: &str = "input";

/// Sets up the process.
pub fn prepare() {
    set_memory_limit(MEMORY_LIMIT);
}

/// An array (`.npy`) or an archive of arrays (`.npz`).
pub fn npz(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\x93NUMPY") {
        check_npy(bytes)
    } else {
        accepted(Dataset::read_npz_bytes(Path::new(INPUT), bytes))
    }
}

/// A CSV file, plain or compressed by gzip.
pub fn csv(bytes: &[u8]) -> bool {
    let is_gzip = bytes.starts_with(&[0x1f, 0x8b]);
    accepted(read_table(if is_gzip { "table.csv.gz" } else { "table.csv" }, bytes))
}

/// An Arrow IPC file or stream.
pub fn arrow(bytes: &[u8]) -> bool {
    accepted(read_table("table.arrow", bytes))
}

/// A Parquet file.
pub fn parquet(bytes: &[u8]) -> bool {
    accepted(read_table("table.parquet", bytes))
}

/// A spreadsheet.
pub fn xlsx(bytes: &[u8]) -> bool {
    accepted(read_table("table.xlsx", bytes))
}

/// An IDX file, plain or compressed by gzip.
pub fn idx(bytes: &[u8]) -> bool {
    accepted(read_idx_from(Path::new(INPUT), bytes))
}

/// A study file.
pub fn study(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    accepted(Study::parse(Path::new("folder/study.toml"), text).and_then(|study| {
        study.table.validate()?;
        study.fit.validate()
    }))
}

/// A model file, whatever its checksum.
pub fn model(bytes: &[u8]) -> bool {
    let path = Path::new(INPUT);
    accepted(read_unverified(path, bytes).and_then(|content| ask_model(content.model, &content.arrays)))
}

/// The header of a model and the shapes of its arrays as JSON: `{"model": {}, "arrays": [["density.0", [37]]]}`.
pub fn model_header(bytes: &[u8]) -> bool {
    /// The largest array.
    const MAX_VALUES: usize = 1 << 16;
    #[derive(Deserialize)]
    struct Input {
        model: Value,
        arrays: Vec<(String, Vec<usize>)>,
    }
    let Ok(input) = serde_json::from_slice::<Input>(bytes) else { return false };
    let mut arrays = Vec::new();
    for (name, shape) in input.arrays {
        let size = shape.iter().try_fold(1_usize, |size, &side| size.checked_mul(side));
        let Some(size) = size.filter(|size| *size <= MAX_VALUES) else { return false };
        let values = (0..size).map(|i| (i % 7) as f32 / 8.0 - 0.25).collect();
        arrays.push(NamedArray { name, shape, values });
    }
    accepted(ask_model(input.model, &arrays))
}

/// A checkpoint, with its checksums repaired.
pub fn checkpoint(bytes: &[u8]) -> bool {
    accepted(read_checkpoint(Path::new(INPUT), &with_checksums(bytes.to_vec())))
}

/// What a user writes in a question: treatments, held treatments, amounts, and options as JSON, one per line.
pub fn query(bytes: &[u8]) -> bool {
    thread_local! {
        static LAYOUTS: OnceCell<Vec<Layout>> = const { OnceCell::new() };
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (treatment, over, held, amounts, options) = (line(), line(), line(), line(), line());
    let amounts: Option<Vec<f64>> = amounts.split(':').map(|amount| amount.parse().ok()).collect();
    let options: Option<AskOptions> = serde_json::from_str(options).ok();
    let are_valid = options.is_some_and(|options| accepted(options.validate()));
    LAYOUTS.with(|layouts| {
        let layouts = layouts.get_or_init(layouts_of_questions);
        let parsed = layouts.iter().filter(|layout| accepts_treatment(layout, treatment)).count();
        for layout in layouts {
            for (over, held) in
                [(None, None), (None, Some(held)), (Some(over), None), (Some(over), Some(held))]
            {
                accepted(curve_points(&layout.t, &CurveSpec { over, amounts: amounts.as_deref(), held }));
            }
        }
        are_valid && parsed > 0
    })
}

/// Whether `text` is a treatment of a table.
fn accepts_treatment(layout: &Layout, text: &str) -> bool {
    match layout.parse_treatment(text) {
        Ok(elements) if elements.len() == layout.treatment_elements() => {
            layout.treatment_values(&elements).len() == layout.t.len()
        }
        _ => false,
    }
}

/// The layouts of tables with one dose, one drug, and both.
fn layouts_of_questions() -> Vec<Layout> {
    let text = "drug,dose,day,y\nA,0.5,1,1\nB,0.7,2,3\n\"C,1\",0.9,1,2\nA=B,1,2,2\n";
    let path = write_input("questions.csv", text.as_bytes());
    let layout = |t: &[&str]| {
        let t = t.iter().map(|name| (*name).to_owned()).collect();
        let spec = TableSpec { t, x: vec!["day".into()], y: vec!["y".into()], ..TableSpec::default() };
        Table::read(&path, &spec).expect("the table is valid").layout
    };
    vec![layout(&["dose"]), layout(&["drug"]), layout(&["drug", "dose"])]
}

/// Builds the model and asks it about two units.
fn ask_model(header: Value, arrays: &[NamedArray]) -> Result<()> {
    /// Larger units are not asked about: it would take long.
    const MAX_ELEMENTS: usize = 1 << 10;
    let resources = Resources { threads: 1, ..Resources::default() };
    let model = Model::from_content(Path::new(INPUT), header, arrays, &resources)?;
    let shapes = model.shapes();
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    if elements(&shapes.x) > MAX_ELEMENTS || elements(&shapes.y) > MAX_ELEMENTS || shapes.t > MAX_ELEMENTS {
        return Ok(());
    }
    let units = |name: &str, shape: &[usize]| {
        let values = (0..2 * elements(shape)).map(|i| (i % 2) as f32).collect();
        Units::new(name, shape.to_vec(), values)
    };
    let data = Dataset::new(units("x", &shapes.x)?, units("t", &[shapes.t])?, units("y", &shapes.y)?)?;
    model.ask(&data).under(data.t()).answers()?;
    model.ask(&data).under(data.t()).level(0.5).rho(1.0).answers().map(drop)
}

/// Reads a table by a description that fits its columns.
fn read_table(name: &str, bytes: &[u8]) -> Result<()> {
    let path = write_input(name, bytes);
    let columns = read_column_names(&(&path).into(), &FileOptions::default())?;
    let table = Table::read(&path, &describe(&columns))?;
    for batch in UnitReader::open(&table.layout, &path, true, 7)? {
        batch?;
    }
    Ok(())
}

/// The last column is the outcome, the one before it the treatment. Columns with the name of a role have it.
fn describe(columns: &[String]) -> TableSpec {
    let role = |name: &str| columns.iter().find(|column| *column == name).cloned();
    let is_value = |column: &&String| !["id", "group", "time", "at"].contains(&column.as_str());
    let mut values: Vec<String> = columns.iter().filter(is_value).cloned().collect();
    let y = values.pop().into_iter().collect();
    let t = values.pop().into_iter().collect();
    let spec = TableSpec { t, id: role("id"), group: role("group"), ..TableSpec::default() };
    match role("time") {
        None => TableSpec { x: values, y, ..spec },
        Some(time) => {
            let treated_at = role("at").map_or(TreatedAt::Number(1.0), TreatedAt::Column);
            TableSpec { time: Some(time), series: y, x: values, treated_at: Some(treated_at), ..spec }
        }
    }
}

/// Writes an input to a file of this thread's own folder.
fn write_input(name: &str, bytes: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder can be made");
    }
    let path = FOLDER.with(|folder| folder.path().join(name));
    std::fs::write(&path, bytes).expect("an input can be written");
    path
}

/// Whether there was no error. The text of an error must not panic either.
fn accepted<T>(result: Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => error.to_string().is_empty(),
    }
}
