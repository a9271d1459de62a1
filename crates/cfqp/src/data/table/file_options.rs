//! What has to be known about a file to find its cells.

use super::layout::Layout;
use super::spec::TableSpec;

/// How the cells of a file are found; files of other formats ignore it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// The delimiter of a CSV file; `None` for the usual one.
    pub delimiter: Option<char>,
    /// The sheet of a spreadsheet; `None` for the first.
    pub sheet: Option<String>,
}

impl From<&TableSpec> for FileOptions {
    fn from(spec: &TableSpec) -> Self {
        Self { delimiter: spec.delimiter, sheet: spec.sheet.clone() }
    }
}

impl From<&Layout> for FileOptions {
    fn from(layout: &Layout) -> Self {
        Self { delimiter: layout.delimiter, sheet: layout.sheet.clone() }
    }
}
