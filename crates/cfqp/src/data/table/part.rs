//! Units that were read, with their names, and those that were not, with the reason.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Dataset, Result, Units};

/// What units are called.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// By their place in the file, counted from 0.
    Rows(Vec<usize>),
    /// By a column of whole numbers.
    Numbers(Vec<i64>),
    /// By a column of texts.
    Text(Vec<String>),
}

impl Ids {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(ids) => ids.len(),
            Self::Numbers(ids) => ids.len(),
            Self::Text(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of unit `i` as a text.
    pub fn text(&self, i: usize) -> String {
        match self {
            Self::Rows(ids) => ids[i].to_string(),
            Self::Numbers(ids) => ids[i].to_string(),
            Self::Text(ids) => ids[i].clone(),
        }
    }

    /// Those at `positions`.
    pub fn pick(&self, positions: &[usize]) -> Self {
        match self {
            Self::Rows(ids) => Self::Rows(positions.iter().map(|&i| ids[i]).collect()),
            Self::Numbers(ids) => Self::Numbers(positions.iter().map(|&i| ids[i]).collect()),
            Self::Text(ids) => Self::Text(positions.iter().map(|&i| ids[i].clone()).collect()),
        }
    }

    pub(crate) fn extend(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Rows(ids), Self::Rows(more)) => ids.extend(more),
            (Self::Numbers(ids), Self::Numbers(more)) => ids.extend(more),
            (Self::Text(ids), Self::Text(more)) => ids.extend(more),
            (_, more) => {
                let text = |ids: &Self| (0..ids.len()).map(|i| ids.text(i)).collect::<Vec<_>>();
                let all = [text(self), text(&more)].concat();
                *self = Self::Text(all);
            }
        }
    }
}

/// Some units of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What was seen of them.
    pub data: Dataset,
    /// What they are called.
    pub ids: Ids,
    /// When each was treated, in a table of samples.
    pub moments: Option<Vec<f64>>,
}

impl Part {
    /// The units of all `parts`, at least one, which must have the same shapes.
    pub fn concat(parts: Vec<Self>) -> Result<Self> {
        let data = Dataset::concat(&parts.iter().map(|part| &part.data).collect::<Vec<_>>())?;
        let moments = parts.iter().map(|part| part.moments.clone()).collect::<Option<Vec<_>>>();
        let mut ids: Option<Ids> = None;
        for part in parts {
            match &mut ids {
                Some(ids) => ids.extend(part.ids),
                None => ids = Some(part.ids),
            }
        }
        Ok(Self { data, ids: ids.unwrap_or(Ids::Rows(Vec::new())), moments: moments.map(|m| m.concat()) })
    }

    /// The units at `positions`, at least one.
    pub fn pick(&self, positions: &[usize]) -> Result<Self> {
        let moments = self.moments.as_ref().map(|moments| positions.iter().map(|&i| moments[i]).collect());
        Ok(Self { data: self.data.pick(positions)?, ids: self.ids.pick(positions), moments })
    }
}

/// Units that cannot be used, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Why.
    pub why: String,
    /// How many.
    pub units: usize,
    /// Where the first one stands, or what it is called.
    pub first: String,
}

/// Counts while a table is read.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Rows read.
    pub rows: usize,
    /// Units kept.
    pub units: usize,
    /// Samples beyond the grid's ends.
    pub outside: usize,
    /// Samples that fell on a point of the grid that had one already; the mean is taken.
    pub averaged: usize,
    dropped: BTreeMap<String, (usize, String)>,
}

impl Tally {
    pub(crate) fn drop(&mut self, why: impl Into<String>, first: impl FnOnce() -> String) {
        let entry = self.dropped.entry(why.into()).or_insert_with(|| (0, first()));
        entry.0 += 1;
    }

    /// Units that were dropped, by reason.
    pub fn dropped(&self) -> Vec<Dropped> {
        let each = |(why, (units, first)): (&String, &(usize, String))| Dropped {
            why: why.clone(),
            units: *units,
            first: first.clone(),
        };
        self.dropped.iter().map(each).collect()
    }
}

/// Units of `shape` in which NaN stands for a missing value.
pub(crate) fn units(name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<Units> {
    let mask = values.iter().map(|value| !value.is_nan()).collect();
    Units::with_mask(name, shape, values, Some(mask))
}
