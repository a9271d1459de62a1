//! Simulated units with known counterfactuals.

use cfqp::sim::{Cardio, DigitSource, Digits, Ihdp, Oscillator, Simulated};
use cfqp::{Error, Result, Units};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arrow::ArrowValues;
use crate::error::Reading;
use crate::json;
use crate::work;

/// The names of the columns of a table; none for series and images.
#[derive(Serialize)]
struct Names {
    x: Option<Vec<String>>,
    t: Vec<String>,
    y: Option<Vec<String>>,
}

#[pyfunction]
#[pyo3(signature = (world, n, seed, options = "{}"))]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    world: &str,
    n: usize,
    seed: u64,
    options: &str,
) -> PyResult<(Bound<'py, PyDict>, String)> {
    let options: Map<String, Value> = json::from_text(py, "options", options)?;
    let simulated = work::run(py, None, Reading::Data, |_| draw(world, n, seed, options))?;
    let arrays = PyDict::new(py);
    let (data, truth) = (&simulated.data, &simulated.truth);
    let named = [
        ("x", Some(data.x())),
        ("t", Some(data.t())),
        ("y", Some(data.y())),
        ("t_new", Some(&truth.t_new)),
        ("y_new", Some(&truth.y_new)),
        ("y_bayes", truth.y_bayes.as_ref()),
    ];
    for (name, units) in named {
        if let Some(units) = units {
            arrays.set_item(name, array(units))?;
        }
    }
    let numbers = |values: Vec<f32>| (vec![values.len()], ArrowValues::from(values));
    arrays.set_item("z", numbers(truth.z.iter().map(|&z| z as f32).collect()))?;
    if let Some(groups) = data.groups() {
        arrays.set_item("group", numbers(groups.iter().map(|&group| group as f32).collect()))?;
    }
    let names = json::to_text(&names(data.x(), data.t(), data.y()))?;
    Ok((arrays, names))
}

/// Units of the simulator `world`: `oscillator`, `cardio`, `digits`, `ihdp`, or a world of tables.
fn draw(world: &str, n: usize, seed: u64, mut options: Map<String, Value>) -> Result<Simulated> {
    match world {
        "oscillator" => settings::<Oscillator>(options)?.simulate(n, seed),
        "cardio" => settings::<Cardio>(options)?.simulate(n, seed),
        "digits" => settings::<Digits>(options)?.simulate(DigitSource::Drawn, n, seed),
        "ihdp" => settings::<Ihdp>(options)?.simulate(n, seed),
        world => {
            options.insert("world".to_owned(), Value::from(world));
            settings::<cfqp::sim::Table>(options)?.simulate(n, seed)
        }
    }
}

fn settings<T: DeserializeOwned>(options: Map<String, Value>) -> Result<T> {
    let hint = "see `cfqp simulate --help` for the simulators and their options";
    serde_json::from_value(Value::Object(options))
        .map_err(|error| Error::config("world", error.to_string(), hint))
}

/// The shape and the values of an array.
fn array(units: &Units) -> (Vec<usize>, ArrowValues) {
    let shape = [&[units.len()][..], units.shape()].concat();
    let values: Vec<f32> = (0..units.len()).flat_map(|i| units.row(i).to_vec()).collect();
    (shape, ArrowValues::from(values))
}

fn names(x: &Units, t: &Units, y: &Units) -> Names {
    let columns = |units: &Units, one: &str, first: usize| match units.shape() {
        [1] if !one.ends_with('0') => Some(vec![one.to_owned()]),
        [count] => {
            let stem = one.trim_end_matches('0');
            Some((first..first + count).map(|i| format!("{stem}{i}")).collect())
        }
        _ => None,
    };
    Names { x: columns(x, "x0", 0), t: columns(t, "t", 1).unwrap_or_default(), y: columns(y, "y", 0) }
}
