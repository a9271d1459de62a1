//! Errors of the library as exceptions of the package, which `cfqp._errors` defines.

use std::error::Error as _;

use cfqp::Error;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// What was read when an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Data,
    Model,
}

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: &Error, reading: Reading) -> PyErr {
    let (message, hint) = (with_causes(error), error.hint());
    let raised = match error {
        Error::Io { path, source } => {
            let path = path.to_string_lossy().into_owned();
            raise(py, "FileError", (source.raw_os_error(), source.to_string(), path, hint))
        }
        Error::File { .. } if reading == Reading::Model => raise(py, "ModelFileError", (message, hint)),
        Error::File { .. } | Error::Data { .. } => raise(py, "DataError", (message, hint)),
        Error::Config { .. } => raise(py, "ConfigError", (message, hint)),
        Error::Fit { .. } => raise(py, "FitError", (message, hint)),
        Error::Interrupted => return PyKeyboardInterrupt::new_err(()),
        _ => raise(py, "CfqpError", (message, hint)),
    };
    raised.unwrap_or_else(|failed| failed)
}

/// An exception about an argument.
pub(crate) fn config_error(py: Python<'_>, field: &'static str, problem: &str, hint: &str) -> PyErr {
    exception(py, &Error::config(field, problem, hint), Reading::Data)
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> PyResult<PyErr> {
    let class = py.import("cfqp._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call1(arguments)?))
}

/// The message of an error with those of its causes.
fn with_causes(error: &Error) -> String {
    let mut message = error.to_string();
    let mut cause = match error {
        // the message has it already
        Error::Io { .. } => None,
        error => error.source(),
    };
    while let Some(source) = cause {
        message += &format!(": {source}");
        cause = source.source();
    }
    message
}
