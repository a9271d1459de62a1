//! Record batches of one file: Parquet and Arrow IPC (file and stream).

use std::convert::Infallible;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{FieldRef, Fields};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::arrow_limits::{Refusal, check_file, check_stream};
use super::guard::{Caught, catch_panics};
use super::parquet_limits::check_pages;
use crate::data::{Retrying, open_file};
use crate::error::{Error, Result};

const PARQUET_HINT: &str = "the file is damaged or is not a Parquet file: write it again";
const ARROW_HINT: &str = "the file is damaged or is not an Arrow file: write it again";
/// Part of the message of both crates about a codec that they were built without.
const DISABLED_CODEC: &str = "Disabled feature";
const CODEC_HINT: &str = "its compression is not supported: write it with snappy, zstd, gzip or lz4";
/// Rows that are decoded at a time.
const CHUNK_ROWS: usize = 4096;

/// The record batches of a file.
pub(super) struct RecordReader {
    path: PathBuf,
    decoder: Decoder,
    /// The number of rows returned so far.
    rows: usize,
}

enum Decoder {
    Parquet(ParquetRecordBatchReader),
    ArrowFile(FileReader<BufReader<Retrying<File>>>),
    ArrowStream(StreamReader<BufReader<Retrying<File>>>),
}

impl RecordReader {
    fn new(path: &Path, decoder: Decoder) -> Self {
        Self { path: path.to_owned(), decoder, rows: 0 }
    }

    /// Opens a Parquet file; gives its columns and the number of its rows. If `wanted` columns are given, others are not
    /// decoded.
    pub(super) fn open_parquet(path: &Path, wanted: Option<&[String]>) -> Result<(Self, Vec<String>, usize)> {
        let (file, pages) = (open_file(path)?, open_file(path)?);
        let damaged =
            |cause: Caught| Error::file(path, "not a readable Parquet file", PARQUET_HINT).with_source(cause);
        let builder = catch_panics(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(damaged)?;
        let columns: Vec<String> =
            builder.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mask = match wanted {
            None => ProjectionMask::all(),
            Some(wanted) => {
                let roots = (0..columns.len()).filter(|&i| wanted.contains(&columns[i]));
                ProjectionMask::roots(builder.parquet_schema(), roots)
            }
        };
        let rows = catch_panics(|| {
            let (metadata, fields) = (builder.metadata(), wanted_fields(&builder, wanted));
            Ok::<_, Infallible>(check_pages(&pages, metadata, &fields, &mask, CHUNK_ROWS))
        });
        let rows = rows.map_err(damaged)?.map_err(|refusal| match refusal {
            Refusal::TooLarge(large) => large.of(path, "the columns"),
            Refusal::Damaged(cause) => damaged(cause),
        })?;
        let groups = builder.metadata().row_groups().iter();
        let claimed = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        let claimed = claimed.fold(0, usize::saturating_add);
        let builder = builder.with_projection(mask).with_batch_size(rows);
        let reader = catch_panics(|| builder.build()).map_err(damaged)?;
        Ok((Self::new(path, Decoder::Parquet(reader)), columns, claimed))
    }

    /// Opens an Arrow file or stream; gives its columns.
    pub(super) fn open_arrow(path: &Path) -> Result<(Self, Vec<String>)> {
        let mut file = open_file(path)?;
        let mut magic = [0; 6];
        let is_file = file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1";
        file.rewind().map_err(Error::io(path))?;
        let damaged =
            |cause: Caught| Error::file(path, "not a readable Arrow file", ARROW_HINT).with_source(cause);
        let mut file = BufReader::new(Retrying(file));
        let check = if is_file { check_file } else { check_stream };
        let checked = catch_panics(|| Ok::<_, Infallible>(check(&mut file))).map_err(damaged)?;
        checked.map_err(|refusal| match refusal {
            Refusal::TooLarge(large) => large.of(path, "the rows"),
            Refusal::Damaged(cause) => damaged(cause),
        })?;
        file.rewind().map_err(Error::io(path))?;
        let (decoder, schema) = if is_file {
            let reader = catch_panics(|| FileReader::try_new(file, None)).map_err(damaged)?;
            let schema = reader.schema();
            (Decoder::ArrowFile(reader), schema)
        } else {
            let reader = catch_panics(|| StreamReader::try_new(file, None)).map_err(damaged)?;
            let schema = reader.schema();
            (Decoder::ArrowStream(reader), schema)
        };
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok((Self::new(path, decoder), columns))
    }

    /// The next rows; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (next, hint) = match &mut self.decoder {
            Decoder::Parquet(reader) => (catch_panics(|| reader.next().transpose()), PARQUET_HINT),
            Decoder::ArrowFile(reader) => (catch_panics(|| reader.next().transpose()), ARROW_HINT),
            Decoder::ArrowStream(reader) => (catch_panics(|| reader.next().transpose()), ARROW_HINT),
        };
        let next = next.map_err(|cause| self.decode_error(cause, hint))?;
        self.rows += next.as_ref().map_or(0, RecordBatch::num_rows);
        Ok(next)
    }

    fn decode_error(&self, cause: Caught, hint: &str) -> Error {
        let problem = match self.rows {
            0 => "the first rows cannot be read".to_owned(),
            rows => format!("the rows after row {rows} cannot be read"),
        };
        let hint = if cause.to_string().contains(DISABLED_CODEC) { CODEC_HINT } else { hint };
        Error::file(&self.path, problem, hint).with_source(cause)
    }
}

/// The columns of a Parquet file that are `wanted`.
fn wanted_fields(builder: &ParquetRecordBatchReaderBuilder<File>, wanted: Option<&[String]>) -> Fields {
    let is_wanted = |field: &&FieldRef| wanted.is_none_or(|wanted| wanted.contains(field.name()));
    builder.schema().fields().iter().filter(is_wanted).cloned().collect()
}
