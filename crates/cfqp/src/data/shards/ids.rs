//! Ids that repeat, among more ids than fit in memory.

use std::path::Path;

use super::piles::Piles;
use crate::error::Result;
use crate::rng::{fnv1a, fnv1a_on};

/// The start of a second hash: equal hashes of both kinds are equal ids.
const OTHER_START: u64 = 0x9ae1_6a3b_2f90_404f;
/// Two hashes and the number of the unit.
const WORDS: usize = 6;

/// Ids on disk, in piles by their hash.
pub(crate) struct SeenIds {
    piles: Piles,
    units: u64,
}

/// Two units with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedId {
    /// Counted from 0.
    pub first: u64,
    pub second: u64,
    /// All units whose id another unit before them has.
    pub count: usize,
}

impl SeenIds {
    /// No ids, in `piles` piles of a temporary file in `folder`.
    pub(crate) fn new(folder: &Path, piles: usize) -> Result<Self> {
        Ok(Self { piles: Piles::create(folder, piles)?, units: 0 })
    }

    /// Adds the id of the next unit.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(crate) fn add(&mut self, id: &str) -> Result<()> {
        let words = |number: u64| [(number >> 32) as u32, number as u32];
        let (hash, other) = (spread_hash(id), fnv1a_on(OTHER_START, id.bytes()));
        let [a, b] = words(hash);
        let [c, d] = words(other);
        let [e, f] = words(self.units);
        self.units += 1;
        let pile = (u128::from(hash) * self.piles.len() as u128) >> 64;
        self.piles.push(pile as usize, &[a, b, c, d, e, f])
    }

    /// The first unit whose id another unit before it has; none if all ids differ.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(crate) fn repeated(mut self) -> Result<Option<RepeatedId>> {
        let mut found: Option<RepeatedId> = None;
        let mut count = 0;
        for pile in 0..self.piles.len() {
            let mut records: Vec<[u32; WORDS]> = Vec::new();
            self.piles.read(pile, |words| {
                records.extend_from_slice(words.as_chunks().0);
                Ok(())
            })?;
            records.sort_unstable();
            for pair in records.windows(2).filter(|pair| pair[0][..4] == pair[1][..4]) {
                count += 1;
                let [first, second] = [&pair[0], &pair[1]].map(|r| u64::from(r[4]) << 32 | u64::from(r[5]));
                if found.is_none_or(|known| second < known.second) {
                    found = Some(RepeatedId { first, second, count: 0 });
                }
            }
        }
        Ok(found.map(|found| RepeatedId { count, ..found }))
    }
}

/// A hash of a name. Names that differ in their last letters have hashes far apart.
pub(crate) fn spread_hash(name: &str) -> u64 {
    let hash = fnv1a(name.bytes());
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(ids: impl Iterator<Item = String>) -> Option<RepeatedId> {
        let folder = tempfile::tempdir().unwrap();
        let mut seen = SeenIds::new(folder.path(), 5).unwrap();
        ids.for_each(|id| seen.add(&id).unwrap());
        seen.repeated().unwrap()
    }

    #[test]
    fn the_first_repeated_id_is_found_on_disk() {
        let ids = || (0..40_000).map(|i| i.to_string());
        assert_eq!(repeated(ids()), None);
        let some = ["39999", "7", "7"].map(str::to_owned);
        let expected = RepeatedId { first: 39_999, second: 40_000, count: 3 };
        assert_eq!(repeated(ids().chain(some)), Some(expected));
        assert_eq!(repeated(std::iter::empty()), None);
    }
}
