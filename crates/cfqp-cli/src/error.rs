//! Failures of the program: message, causes, hint and exit code.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::output::printable;
use crate::settings::{name_flag_of_problem, name_flags, setting_name};

const ERROR_CODE: u8 = 2;
const INTERRUPTED_CODE: u8 = 130;

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    code: u8,
}

/// The result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// An error with a hint on how to fix it.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: Some(hint.into()), code: ERROR_CODE }
    }

    /// A bug in the program.
    pub fn defect(error: &dyn std::fmt::Display) -> Self {
        Self::new(error.to_string(), "this is a bug in cfqp: please report it")
    }

    /// An interrupt by the user.
    pub fn interrupted(hint: impl Into<String>) -> Self {
        Self { code: INTERRUPTED_CODE, ..Self::new("interrupted", hint) }
    }

    /// A failed operation on a file.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        cfqp::Error::Io { path: path.to_owned(), source }.into()
    }

    /// Prints the failure to stderr and returns the exit code.
    pub fn report(&self) -> ExitCode {
        self.print();
        ExitCode::from(self.code)
    }

    /// Prints the failure to stderr and ends the program.
    pub fn exit(&self) -> ! {
        self.print();
        std::process::exit(self.code.into())
    }

    fn print(&self) {
        // nothing can be reported if stderr is closed
        let _ = std::io::stderr().write_all(printable(&self.text()).as_bytes());
    }

    fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        for cause in &self.causes {
            let _ = writeln!(text, "cause: {cause}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {hint}");
        }
        text
    }
}

impl From<cfqp::Error> for Failure {
    fn from(error: cfqp::Error) -> Self {
        let message = match &error {
            cfqp::Error::Interrupted => {
                return Self::interrupted("nothing was written: run the command again");
            }
            cfqp::Error::Config { field, problem, .. } => format!("{}: {problem}", setting_name(field)),
            cfqp::Error::File { path, problem, .. } => {
                format!("{}: {}", path.display(), name_flag_of_problem(path, problem))
            }
            error => error.to_string(),
        };
        let chain = std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string);
        // some messages already contain their cause
        let causes = chain.filter(|cause| !message.contains(cause)).collect();
        Self { message, causes, hint: error.hint().map(name_flags), code: ERROR_CODE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_prints_its_cause_once_and_its_hint() {
        let gone = Failure::io(Path::new("a.npz"), std::io::ErrorKind::NotFound.into());
        let printed = gone.text();
        assert!(printed.starts_with("error: a.npz: entity not found\nhint: "), "{printed}");
        assert_eq!((printed.lines().count(), gone.code), (2, 2));
        assert_eq!(Failure::interrupted("again").code, 130);
    }

    #[test]
    fn an_invalid_setting_is_reported_by_its_flag() {
        let config = cfqp::FitConfig { learning_rate: Some(-1.0), ..cfqp::FitConfig::default() };
        let printed = Failure::from(config.validate().unwrap_err()).text();
        assert!(printed.starts_with("error: --learning-rate: -1 "), "{printed}");
    }
}
