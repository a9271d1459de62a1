//! The result of a command on stdout.

use std::borrow::Cow;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::{Serialize, Serializer};

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

/// The text with control characters other than line breaks and tabs as escapes: names from files must not control the
/// terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// A path in JSON, which is text: what is not becomes a replacement character.
pub fn path_text<S: Serializer>(path: &Path, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// [`path_text`] of a path that may not be there.
#[allow(clippy::ref_option, reason = "serde passes the field by reference")]
pub fn optional_path_text<S: Serializer>(
    path: &Option<&Path>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    path.map(|path| path.to_string_lossy()).serialize(serializer)
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
            OutputArgs { json: true, .. } => Cow::Borrowed(&*self.json),
            OutputArgs { quiet: true, .. } => return Ok(()),
            OutputArgs { .. } => printable(&self.text),
        };
        match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::io(Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_printed_as_escapes() {
        assert!(matches!(printable("a\tb\nä"), Cow::Borrowed(_)));
        assert_eq!(printable("a\x1b[31m\u{9b}b\r"), "a\\u{1b}[31m\\u{9b}b\\u{d}");
    }
}
