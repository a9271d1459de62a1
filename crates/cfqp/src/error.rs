//! The error type of the library.
//!
//! Every error names the place of the problem and what was found there. [`Error::hint`] suggests a fix, and
//! [`std::error::Error::source`] gives the underlying cause.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A result whose error is an [`Error`] unless stated otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The underlying cause of an [`Error`], usually an error of another crate.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong, with the place, the facts and a hint.
///
/// Messages and hints name settings as the library does (`treated_at`, `classes`); a program that has its own
/// names for them, such as command-line flags, can add those by matching on the variant. In hints, names of settings
/// are in backticks, and names and cells of a table are not.
///
/// # Examples
/// ```
/// use cfqp::{Error, data::Units};
///
/// let error = Units::new("x", vec![1], vec![0.5, f32::NAN]).unwrap_err();
/// match &error {
///     Error::Data { place, problem, .. } => {
///         assert_eq!(place, "x, unit 1, element 0");
///         assert_eq!(problem, "the value is NaN");
///     }
///     Error::Io { path, source } => panic!("cannot access {}: {source}", path.display()),
///     other => panic!("unexpected: {other}"),
/// }
/// assert!(error.hint().is_some());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system could not read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error reported by the operating system.
        source: std::io::Error,
    },
    /// A file could be read, but its content is invalid.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where in the file.
        problem: String,
        /// How to fix it.
        hint: String,
        /// The underlying cause, if any.
        #[source]
        source: Option<Cause>,
    },
    /// Values in memory are invalid.
    #[error("{place}: {problem}")]
    Data {
        /// The array, unit or element.
        place: String,
        /// What is wrong there.
        problem: String,
        /// How to fix it.
        hint: String,
    },
    /// A setting is invalid.
    #[error("{field}: {problem}")]
    Config {
        /// The name of the setting.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// How to fix it.
        hint: String,
        /// The underlying cause, if any.
        #[source]
        source: Option<Cause>,
    },
    /// Training could not continue.
    #[error("{problem}")]
    Fit {
        /// What happened, and when.
        problem: String,
        /// How to fix it.
        hint: String,
        /// The underlying cause, if any.
        #[source]
        source: Option<Cause>,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// A suggestion how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File { hint, .. }
            | Self::Data { hint, .. }
            | Self::Config { hint, .. }
            | Self::Fit { hint, .. } => Some(hint),
            Self::Io { source, .. } => io_hint(source.kind()),
            Self::Interrupted => None,
        }
    }

    /// Wraps the operating system's error for `path`; made for `map_err(Error::io(path))`.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// An [`Error::File`] without a cause.
    pub fn file(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into(), hint: hint.into(), source: None }
    }

    /// An [`Error::Data`].
    pub fn data(place: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Data { place: place.into(), problem: problem.into(), hint: hint.into() }
    }

    /// An [`Error::Config`] without a cause.
    pub fn config(field: &'static str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Config { field, problem: problem.into(), hint: hint.into(), source: None }
    }

    /// An [`Error::Fit`] without a cause.
    pub fn fit(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Fit { problem: problem.into(), hint: hint.into(), source: None }
    }

    /// Sets the cause of a [`File`](Self::File), [`Config`](Self::Config) or [`Fit`](Self::Fit) error; other
    /// errors stay as they are.
    #[must_use]
    pub fn with_source(mut self, cause: impl Into<Cause>) -> Self {
        if let Self::File { source, .. } | Self::Config { source, .. } | Self::Fit { source, .. } = &mut self
        {
            *source = Some(cause.into());
        }
        self
    }

    /// Turns an [`Error::Data`] about values read from `path` into an [`Error::File`]; other errors stay as they are.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Data { place, problem, hint } => Self::file(path, format!("{place}: {problem}"), hint),
            other => other,
        }
    }
}

fn io_hint(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NotFound => Some("check the path: there is no such file or folder"),
        ErrorKind::IsADirectory => Some("the path is a folder: give a file"),
        ErrorKind::PermissionDenied => Some("check the permissions of the file and of its folder"),
        ErrorKind::ReadOnlyFilesystem => Some("choose a folder on a disk that can be written"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Some("free space on the disk, or choose a folder on another one")
        }
        ErrorKind::WouldBlock => Some("wait until the other program has ended, or choose another file"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn a_cause_is_kept_as_the_source_and_not_repeated_in_the_message() {
        let error =
            Error::file(Path::new("a.csv"), "unreadable", "copy it again").with_source("bad checksum");
        assert_eq!(error.to_string(), "a.csv: unreadable");
        assert_eq!(error.source().unwrap().to_string(), "bad checksum");
        let fit = Error::fit("class 2 is empty", "try fewer classes");
        assert!(fit.source().is_none());
        assert!(fit.with_source("underflow").source().is_some());
    }

    #[test]
    fn values_from_a_file_name_the_file() {
        let error = Error::data("x, unit 1", "the value is NaN", "fix it").in_file(Path::new("a.npz"));
        assert_eq!(error.to_string(), "a.npz: x, unit 1: the value is NaN");
        assert_eq!(error.hint(), Some("fix it"));
    }
}
