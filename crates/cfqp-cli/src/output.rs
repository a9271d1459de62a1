//! What a command has to say on stdout.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::args::Show;
use crate::error::{Failure, Result};

/// The same result for people and for programs.
#[derive(Debug)]
pub struct Output {
    text: String,
    json: String,
    /// Whether a check failed.
    pub failed: bool,
}

/// As a file holds it.
pub fn pretty(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::defect(&error))?;
    Ok(json + "\n")
}

impl Output {
    /// `text` has its line ends; `json` becomes one line.
    pub fn new(text: String, json: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_string(json).map_err(|error| Failure::defect(&error))?;
        Ok(Self { text, json: json + "\n", failed: false })
    }

    /// The same, of a check that may have failed.
    pub fn with_failure(self, failed: bool) -> Self {
        Self { failed, ..self }
    }

    /// A text that is the same for people and for programs.
    pub fn plain(text: String) -> Self {
        Self { json: text.clone(), text, failed: false }
    }

    /// Print what was asked for. A reader that went away is no error.
    pub fn print(&self, show: &Show) -> Result<()> {
        let text = match show {
            Show { json: true, .. } => &self.json,
            Show { quiet: true, .. } => return Ok(()),
            Show { .. } => &self.text,
        };
        match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::io(Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }
}
