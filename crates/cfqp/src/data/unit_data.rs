//! Units as a caller has them: a data set, or a table whose columns are known.

use super::Dataset;
use super::table::{Layout, Table};

/// Borrowed units, with the columns they were read from if they come from a table.
///
/// Functions take `impl Into<UnitData>`, so that `&Dataset` and `&Table` can be passed alike.
#[derive(Clone, Copy, Debug)]
pub struct UnitData<'a> {
    /// The units.
    pub units: &'a Dataset,
    /// The columns of their table.
    pub layout: Option<&'a Layout>,
}

impl<'a> From<&'a Dataset> for UnitData<'a> {
    fn from(units: &'a Dataset) -> Self {
        Self { units, layout: None }
    }
}

impl<'a> From<&'a Table> for UnitData<'a> {
    fn from(table: &'a Table) -> Self {
        Self { units: &table.data, layout: Some(&table.layout) }
    }
}
