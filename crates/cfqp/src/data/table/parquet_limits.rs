//! Checks what the pages of a Parquet file claim before they are decoded: the reader allocates whatever a page says that it
//! expands to, and a row may hold any number of values.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_schema::{DataType, Fields};
use parquet::arrow::ProjectionMask;
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::arrow_limits::{Refusal, damaged};
use super::thrift::{PageHeader, read_page_header};
use crate::runtime::{check_size, memory_limit};

/// The code of the encoding in which a text repeats the start of the one before it.
const DELTA_BYTE_ARRAY: i64 = 7;
/// The memory of a text beside its characters, or of a number with its levels.
const VALUE_BYTES: u64 = 16;
/// A batch may take this part of the limit.
const BATCH_PART: u64 = 4;

/// Checks the pages of the columns in `mask`, and says how many rows, at most `rows`, may be decoded at a time.
pub(crate) fn check_pages(
    file: &File,
    metadata: &ParquetMetaData,
    fields: &Fields,
    mask: &ProjectionMask,
    rows: usize,
) -> Result<usize, Refusal> {
    let size = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let mut text_bytes = 0_u64;
    for group in metadata.row_groups() {
        let mut longest = 0_u64;
        for (_, column) in group.columns().iter().enumerate().filter(|(i, _)| mask.leaf_included(*i)) {
            let claims = read_claims(&mut file, size, column)?;
            check_size(claims.memory(column))?;
            longest = longest.saturating_add(claims.longest_text(column));
        }
        text_bytes = text_bytes.max(longest);
    }
    let fixed = fields.iter().map(|field| element_bytes(field.data_type()));
    let row_bytes = fixed.fold(text_bytes, u64::saturating_add).max(1);
    check_size(row_bytes)?;
    Ok((memory_limit() / BATCH_PART / row_bytes).clamp(1, rows as u64) as usize)
}

/// What the pages of a column chunk claim.
#[derive(Default)]
struct Claims {
    /// The size of the dictionary and the number of its values.
    dictionary: u64,
    dictionary_values: u64,
    /// The size of the largest page.
    page: u64,
    /// The size of the largest page in which a text repeats the start of the one before it.
    shared_page: u64,
    values: u64,
}

impl Claims {
    fn add(&mut self, page: &PageHeader) {
        let bytes = page.compressed.saturating_add(page.expanded);
        if page.is_dictionary {
            self.dictionary = self.dictionary.max(bytes);
            self.dictionary_values = self.dictionary_values.max(page.values);
            return;
        }
        self.page = self.page.max(bytes);
        self.values = self.values.saturating_add(page.values);
        if page.encoding == DELTA_BYTE_ARRAY {
            self.shared_page = self.shared_page.max(bytes);
        }
    }

    /// The memory of the pages of `column` and, where one row may hold them all, of all values.
    fn memory(&self, column: &ColumnChunkMetaData) -> u64 {
        let is_repeated = column.column_descr().max_rep_level() > 0;
        let values = if is_repeated { self.values } else { 0 };
        let values = values.saturating_add(self.dictionary_values).saturating_mul(VALUE_BYTES);
        self.page.saturating_add(self.dictionary).saturating_add(values)
    }

    /// A bound on the length of a text of `column`.
    fn longest_text(&self, column: &ColumnChunkMetaData) -> u64 {
        match column.column_type() {
            Type::BYTE_ARRAY => self.dictionary.max(self.shared_page),
            _ => 0,
        }
    }
}

/// Reads the headers of all pages of a column chunk.
fn read_claims(
    file: &mut BufReader<&File>,
    size: u64,
    column: &ColumnChunkMetaData,
) -> Result<Claims, Refusal> {
    let (start, length) = column.byte_range();
    let end = start.checked_add(length).filter(|end| *end <= size);
    let end = end.ok_or_else(|| damaged("a column is beyond the end of the file"))?;
    file.seek(SeekFrom::Start(start))?;
    let mut claims = Claims::default();
    let mut at = start;
    while at < end {
        let mut rest = file.by_ref().take(end - at);
        let page = read_page_header(&mut rest).ok_or_else(|| damaged("the header of a page is invalid"))?;
        at = end - rest.limit() + page.compressed;
        if at > end {
            return Err(damaged("a page is longer than its column"));
        }
        file.seek_relative(page.compressed as i64)?;
        claims.add(&page);
    }
    Ok(claims)
}

/// The memory of an element of a column whose size does not depend on the file's values.
fn element_bytes(kind: &DataType) -> u64 {
    match kind {
        DataType::FixedSizeList(field, length) => {
            element_bytes(field.data_type()).saturating_mul(u64::try_from(*length).unwrap_or(0)).max(1)
        }
        DataType::FixedSizeBinary(length) => u64::try_from(*length).unwrap_or(0),
        DataType::List(field) | DataType::LargeList(field) => element_bytes(field.data_type()),
        DataType::Struct(fields) => {
            fields.iter().map(|field| element_bytes(field.data_type())).fold(0, u64::saturating_add)
        }
        _ => VALUE_BYTES,
    }
}
