//! How a failure is told: what is wrong, why, and the way out.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Something that ends the program.
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
    /// An error with a way out.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: Some(hint.into()), code: 2 }
    }

    /// Something that cannot happen did.
    pub fn defect(error: &dyn std::fmt::Display) -> Self {
        Self::new(error.to_string(), "this is a defect of cfqp: please report it")
    }

    /// The user stopped it.
    pub fn interrupted(hint: impl Into<String>) -> Self {
        Self { code: 130, ..Self::new("interrupted", hint) }
    }

    /// The system refused something.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        cfqp::Error::Io { path: path.to_owned(), source }.into()
    }

    /// Tell it on stderr.
    pub fn report(&self) -> ExitCode {
        // nothing is left to do where stderr is gone
        let _ = std::io::stderr().write_all(self.text().as_bytes());
        ExitCode::from(self.code)
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
        let message = error.to_string();
        let chain = std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string);
        // many a message ends with its cause
        let causes = chain.filter(|cause| !message.contains(cause)).collect();
        if matches!(error, cfqp::Error::Interrupted) {
            return Self::interrupted("nothing was written: run the command again");
        }
        let (hint, code) = (error.hint().map(str::to_owned), 2);
        Self { message, causes, hint, code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_cause_once_and_the_way_out() {
        let gone = Failure::io(Path::new("a.npz"), std::io::ErrorKind::NotFound.into());
        let told = "error: a.npz: entity not found\nhint: check the path: there is no such file or folder\n";
        assert_eq!(gone.text(), told);
        assert_eq!(Failure::interrupted("again").code, 130);
    }
}
