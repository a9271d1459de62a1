//! JSON texts.

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::config_error;

/// The JSON of a value.
pub(crate) fn to_text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// The value of a JSON text, which sets the parameters `what`.
pub(crate) fn from_text<T: DeserializeOwned>(py: Python<'_>, what: &'static str, text: &str) -> PyResult<T> {
    let hint = "see the documentation of the parameters";
    serde_json::from_str(text).map_err(|error| {
        // users wrote no JSON: its lines and columns mean nothing to them
        let message = error.to_string();
        let problem = message.split(" at line ").next().unwrap_or(&message);
        config_error(py, what, problem, hint)
    })
}
