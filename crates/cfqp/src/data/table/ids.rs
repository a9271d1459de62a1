//! The ids of units.

use std::collections::HashMap;

/// The ids of units.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// Row numbers, counted from 0.
    Rows(Vec<usize>),
    /// The values of an integer column.
    Numbers(Vec<i64>),
    /// The values of any other column, as text.
    Text(Vec<String>),
}

impl Ids {
    /// The number of ids.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(ids) => ids.len(),
            Self::Numbers(ids) => ids.len(),
            Self::Text(ids) => ids.len(),
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of unit `i` as text.
    ///
    /// # Panics
    /// If there is no unit `i`.
    pub fn text(&self, i: usize) -> String {
        match self {
            Self::Rows(ids) => ids[i].to_string(),
            Self::Numbers(ids) => ids[i].to_string(),
            Self::Text(ids) => ids[i].clone(),
        }
    }

    /// The ids at `positions`.
    ///
    /// # Panics
    /// If a position is out of range.
    pub fn pick(&self, positions: &[usize]) -> Self {
        match self {
            Self::Rows(ids) => Self::Rows(positions.iter().map(|&i| ids[i]).collect()),
            Self::Numbers(ids) => Self::Numbers(positions.iter().map(|&i| ids[i]).collect()),
            Self::Text(ids) => Self::Text(positions.iter().map(|&i| ids[i].clone()).collect()),
        }
    }

    /// All ids, one after the other; `None` if there are none.
    pub(crate) fn concat(parts: Vec<Self>) -> Option<Self> {
        parts.into_iter().reduce(|mut all, part| {
            all.extend(part);
            all
        })
    }

    /// Appends `more`; ids of different kinds become text.
    pub(crate) fn extend(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Rows(ids), Self::Rows(more)) => ids.extend(more),
            (Self::Numbers(ids), Self::Numbers(more)) => ids.extend(more),
            (Self::Text(ids), Self::Text(more)) => ids.extend(more),
            (_, more) => *self = Self::Text([self.to_texts(), more.to_texts()].concat()),
        }
    }

    /// The same ids as indices 0, 1, ... in order of first appearance.
    pub(crate) fn indices(&self) -> Vec<u32> {
        let mut known = HashMap::new();
        let index = |i: usize| {
            let next = known.len() as u32;
            *known.entry(self.text(i)).or_insert(next)
        };
        (0..self.len()).map(index).collect()
    }

    fn to_texts(&self) -> Vec<String> {
        (0..self.len()).map(|i| self.text(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_different_kinds_become_text() {
        let mut ids = Ids::Numbers(vec![7]);
        ids.extend(Ids::Numbers(vec![8]));
        assert_eq!(ids, Ids::Numbers(vec![7, 8]));
        ids.extend(Ids::Text(vec!["a".into()]));
        assert_eq!(ids, Ids::Text(vec!["7".into(), "8".into(), "a".into()]));
        ids.extend(Ids::Numbers(vec![7]));
        assert_eq!(ids.indices(), [0, 1, 2, 0]);
        assert_eq!(ids.pick(&[2, 0]), Ids::Text(vec!["a".into(), "7".into()]));
    }
}
