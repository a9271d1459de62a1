//! Columns of names: ids and subjects. Integers are exact, whatever their size.

use super::cells::{Cells, Reading};
use super::columns::scalar_cells;
use super::ids::Ids;
use super::problem::Problem;
use super::source::Chunk;

/// The names in one column of some rows.
pub(crate) enum Labels<'a> {
    Integers(Vec<Option<i64>>),
    /// Of columns whose values would lose digits as numbers.
    Exact(Vec<Option<String>>),
    Cells(Cells<'a>),
}

impl<'a> Labels<'a> {
    /// The column `name`, which must have one value per row.
    pub(super) fn new(chunk: &'a Chunk, name: &str) -> Result<Self, Problem> {
        if let Some(integers) = chunk.integers(name) {
            return Ok(Self::Integers(integers));
        }
        match chunk.exact_names(name) {
            Some(names) => Ok(Self::Exact(names)),
            None => scalar_cells(chunk, name).map(Self::Cells),
        }
    }

    /// The name in row `i`; `None` where it is missing.
    pub(super) fn text(&self, i: usize) -> Option<String> {
        match self {
            Self::Integers(values) => values[i].map(|value| value.to_string()),
            Self::Exact(names) => names[i].clone(),
            Self::Cells(cells) => cells.label(i, &Reading::default()),
        }
    }

    /// The integer in row `i`, if the column is stored as such.
    pub(super) fn integer(&self, i: usize) -> Option<i64> {
        match self {
            Self::Integers(values) => values[i],
            Self::Exact(_) | Self::Cells(_) => None,
        }
    }

    /// The names in `rows` rows; `missing` is called with every row that has none.
    pub(super) fn ids(&self, rows: usize, mut missing: impl FnMut(usize)) -> Ids {
        if let Self::Integers(values) = self {
            (0..rows).filter(|&i| values[i].is_none()).for_each(missing);
            return Ids::Numbers(values.iter().map(|value| value.unwrap_or_default()).collect());
        }
        let mut name = |i: usize| {
            let text = self.text(i);
            if text.is_none() {
                missing(i);
            }
            text.unwrap_or_default()
        };
        Ids::Text((0..rows).map(&mut name).collect())
    }
}
