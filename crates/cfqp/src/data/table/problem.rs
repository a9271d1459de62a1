//! Problems with a table, before the file is known.

use std::path::Path;

use crate::error::Error;

/// A problem and a hint how to fix it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub problem: String,
    pub hint: String,
}

impl Problem {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// The error of the file `path` with this problem.
    pub(crate) fn at(self, path: &Path) -> Error {
        Error::file(path, self.problem, self.hint)
    }
}

/// A name or text of the table, quoted for a hint. Backticks mark settings there, so the text must not contain any.
pub(crate) fn quote_in_hint(text: &str) -> String {
    format!("'{}'", text.replace('`', "'"))
}

/// The start of a text, for a message.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    text.chars().take(MAX_CHARS).collect()
}
