//! Tables in CSV, Parquet, Arrow and .xlsx files, folders of Parquet files, and record batches in memory: [`TableInput`].
//!
//! A [`TableSpec`] describes the columns. [`Table::read`] scans all columns first, then converts rows (one per unit) or
//! samples over time (one per row) into units, and gives a [`TableSummary`]. The resulting [`Layout`] has no patterns:
//! a model stores it, and a [`UnitReader`] reads another table by it in batches. [`write_table`] writes tables.

mod arrow_cells;
mod arrow_limits;
mod arrow_lists;
mod arrow_numbers;
mod blocks;
mod cells;
mod columns;
mod contiguous;
mod csv_reader;
mod date_scan;
mod dates;
mod file_options;
mod folder;
mod format;
mod grid;
mod guard;
mod ids;
mod input;
mod labels;
mod layout;
mod layout_spec;
mod layout_treatments;
mod levels;
mod lists;
mod names;
mod numbers;
mod origin;
mod outcome;
mod output;
mod parquet_limits;
mod place;
mod problem;
mod problems;
mod read;
mod read_summary;
mod record_reader;
mod resolved;
mod role;
mod rules;
mod samples;
mod scan;
mod scanned;
mod sheet;
mod source;
mod spec;
mod summary;
#[cfg(test)]
mod tests;
mod thrift;
mod treatment;
mod unit_batch;
mod unit_reader;
mod units;
mod warning;
mod wide;
mod write;
mod y_kind;

pub use dates::{DateEncoding, DateOrder};
pub use file_options::FileOptions;
pub use format::FileFormat;
pub use guard::is_catching_panics;
pub use ids::Ids;
pub use input::{RecordBatches, TableInput};
pub use layout::{Block, Feature, GridRange, Layout, SampleLayout, TableForm, TimeGrid, UnitShapes};
pub(crate) use names::list_names;
pub(crate) use origin::{absolute, relative_name};
pub use output::{OutputBatch, OutputColumn};
pub use read::Table;
pub use read_summary::{DropReason, DroppedUnits, ReadSummary};
pub use role::ColumnRole;
pub(crate) use rules::UnitRules;
pub use spec::{TableSpec, TreatedAt};
pub use summary::{ColumnSummary, LevelCount, LevelSummary, TableSummary, TreatmentSummary};
pub(crate) use treatment::parse_numbers;
pub use treatment::{TreatmentColumn, TreatmentKind, TreatmentValue};
pub use unit_batch::UnitBatch;
pub use unit_reader::{ReadUnits, UnitReader, read_column_names};
pub(crate) use units::UnitLimits;
pub use units::{LargeTable, TableUnits};
pub use warning::Warning;
pub use write::write_table;
pub use y_kind::YKind;
