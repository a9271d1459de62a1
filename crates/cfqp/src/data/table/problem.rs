//! What is wrong with a table, before the file is named.

use std::path::Path;

use crate::Error;

/// A problem and the way out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub problem: String,
    pub hint: String,
}

impl Problem {
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// As an error of the file `path`.
    pub fn at(self, path: &Path) -> Error {
        Error::file(path, self.problem, self.hint)
    }
}
