//! What can go wrong, and what to do about it.
//!
//! Every error says where the trouble is and what was seen there; [`Error::hint`] gives the way out.

use std::path::{Path, PathBuf};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its place, its facts and a way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file was read, but it is not what it should be.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// Values that cannot be used.
    #[error("{place}: {problem}")]
    Data {
        /// The array, unit or element.
        place: String,
        /// What is wrong there.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A setting that cannot be used.
    #[error("{field}: {problem}")]
    Config {
        /// The setting.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// Training could not go on.
    #[error("{problem}")]
    Fit {
        /// What happened, and when.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The way out, where there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File { hint, .. }
            | Self::Data { hint, .. }
            | Self::Config { hint, .. }
            | Self::Fit { hint, .. } => Some(hint),
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("check the path: there is no such file or folder")
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::IsADirectory => {
                Some("it is a folder: give a file")
            }
            Self::Io { .. } | Self::Interrupted => None,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn file(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
    }

    pub(crate) fn data(
        place: impl Into<String>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Data { place: place.into(), problem: problem.into(), hint: hint.into() }
    }

    pub(crate) fn config(field: &'static str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Config { field, problem: problem.into(), hint: hint.into() }
    }

    pub(crate) fn fit(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Fit { problem: problem.into(), hint: hint.into() }
    }

    /// The same error, of values that came from `path`.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Data { place, problem, hint } => {
                Self::File { path: path.to_owned(), problem: format!("{place}: {problem}"), hint }
            }
            other => other,
        }
    }
}
