//! The native part of the Python package `cfqp`.

use pyo3::prelude::*;

#[pymodule]
mod _cfqp {}
