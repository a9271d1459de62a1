//! Tables on disk: CSV, Parquet and Arrow files whose columns a user describes, as units.
//!
//! A [`TableSpec`] says what the columns are. [`Table::read`] looks at every column first (`scan`), then turns rows
//! (`wide`) or samples over time (`long`) into units, and tells what it found ([`Counts`]). The [`Layout`] it comes to
//! has no patterns left: a model keeps it, and [`Parts`] reads another table by it, part by part.

mod arrow_cells;
mod cells;
mod counts;
mod csv_file;
mod format;
mod gridded;
mod layout;
mod lists;
mod long;
mod names;
mod part;
mod parts;
mod problem;
mod read;
mod roles;
mod scan;
mod sheet;
mod sorted;
mod source;
mod study;
#[cfg(test)]
mod tests;
mod wide;

pub use counts::{ColumnCount, Counts, Treatment};
pub use format::Format;
pub use layout::{Block, Feature, Form, Grid, Layout, Long, TableSpec, TreatedAt};
pub use part::{Dropped, Ids, Part, Tally};
pub use parts::Parts;
pub use read::{Table, columns_of};
pub use sheet::{Cells as SheetCells, Sheet, write_sheets};
pub use source::panics_are_errors;
pub use study::Study;
