//! Where a table is read from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::folder::parquet_files;

/// A table to read: a file, a folder of Parquet files, or record batches in memory. It can be read several times.
///
/// In a folder, files whose names begin with `_` or `.` are ignored, and folders named `region=north` add a column `region`.
///
/// ```
/// use cfqp::data::table::TableInput;
///
/// let file = TableInput::from("patients.csv");
/// assert_eq!(file.name().to_str(), Some("patients.csv"));
/// ```
#[derive(Clone, Debug)]
pub enum TableInput {
    /// A file or folder.
    Path(PathBuf),
    /// Record batches.
    Batches(RecordBatches),
}

/// A table in memory. Copies share its content.
#[derive(Clone, Debug)]
pub struct RecordBatches {
    name: Arc<Path>,
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl RecordBatches {
    /// The rows of `batches`, which all have the columns of `schema`; errors call the table `name`.
    pub fn new(name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { name: Path::new(name).into(), schema, batches: batches.into() }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The batch `i`; `None` past the last one.
    pub(super) fn get(&self, i: usize) -> Option<RecordBatch> {
        self.batches.get(i).cloned()
    }
}

impl TableInput {
    /// The path of the file or folder, or what errors call a table in memory.
    pub fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Batches(batches) => &batches.name,
        }
    }

    /// The size in bytes; 0 if it cannot be known.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        match self {
            Self::Path(path) if path.is_dir() => {
                parquet_files(path).map_or(0, |files| files.iter().map(|file| size(&file.path)).sum())
            }
            Self::Path(path) => size(path),
            Self::Batches(batches) => {
                batches.batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum()
            }
        }
    }
}

impl From<&Path> for TableInput {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<&PathBuf> for TableInput {
    fn from(path: &PathBuf) -> Self {
        Self::Path(path.clone())
    }
}

impl From<PathBuf> for TableInput {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&str> for TableInput {
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

impl From<&Self> for TableInput {
    fn from(input: &Self) -> Self {
        input.clone()
    }
}

impl From<RecordBatches> for TableInput {
    fn from(batches: RecordBatches) -> Self {
        Self::Batches(batches)
    }
}
