//! The result of a command on stdout.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::args::OutputArgs;
use crate::error::{Failure, Result};

/// A result as text and as JSON.
#[derive(Debug)]
pub struct Output {
    text: String,
    json: String,
    /// Whether a check failed; the exit code is then 1.
    pub failed: bool,
}

/// Indented JSON with a final line break.
pub fn to_pretty_json(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::defect(&error))?;
    Ok(json + "\n")
}

impl Output {
    /// A result; `text` ends with a line break, `json` is printed as one line.
    pub fn new(text: String, json: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_string(json).map_err(|error| Failure::defect(&error))?;
        Ok(Self { text, json: json + "\n", failed: false })
    }

    /// Sets whether a check failed.
    pub fn with_failure(self, failed: bool) -> Self {
        Self { failed, ..self }
    }

    /// A text that is printed with and without `--json`.
    pub fn plain(text: String) -> Self {
        Self { json: text.clone(), text, failed: false }
    }

    /// Prints the result in the chosen form. A closed pipe is not an error.
    pub fn print(&self, args: &OutputArgs) -> Result<()> {
        let text = match args {
            OutputArgs { json: true, .. } => &self.json,
            OutputArgs { quiet: true, .. } => return Ok(()),
            OutputArgs { .. } => &self.text,
        };
        match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::io(Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }
}
