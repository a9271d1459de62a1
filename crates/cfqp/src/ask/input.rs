//! Units to ask about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::Dataset;
use crate::data::table::{FileFormat, RecordBatches, TableInput};

/// Units to ask about: a table, an `.npz` file, or arrays in memory.
#[derive(Clone, Debug)]
pub enum UnitsInput {
    /// A table.
    Table(TableInput),
    /// An `.npz` file.
    Npz(PathBuf),
    /// Units in memory. Copies share them.
    Arrays(Arc<Dataset>),
}

impl UnitsInput {
    /// The path of the file or folder, or what errors call units in memory.
    pub fn name(&self) -> &Path {
        match self {
            Self::Table(table) => table.name(),
            Self::Npz(path) => path,
            Self::Arrays(_) => Path::new("arrays"),
        }
    }
}

impl From<&Path> for UnitsInput {
    fn from(path: &Path) -> Self {
        match FileFormat::from_path(path) {
            Some(FileFormat::Npz) => Self::Npz(path.to_owned()),
            _ => Self::Table(path.into()),
        }
    }
}

impl From<&PathBuf> for UnitsInput {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&Self> for UnitsInput {
    fn from(input: &Self) -> Self {
        input.clone()
    }
}

impl From<TableInput> for UnitsInput {
    fn from(table: TableInput) -> Self {
        match table {
            TableInput::Path(path) => path.as_path().into(),
            batches @ TableInput::Batches(_) => Self::Table(batches),
        }
    }
}

impl From<RecordBatches> for UnitsInput {
    fn from(batches: RecordBatches) -> Self {
        Self::Table(batches.into())
    }
}

impl From<Arc<Dataset>> for UnitsInput {
    fn from(data: Arc<Dataset>) -> Self {
        Self::Arrays(data)
    }
}
