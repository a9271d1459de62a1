//! Samples of a table in which the rows of a unit stand together: units are made as they come.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::Path;

use super::cells::Absent;
use super::layout::{Layout, Long};
use super::long::{Plan, Samples};
use super::part::{Part, Tally};
use super::scan::ROWS;
use super::source::Source;
use super::wide::single;
use crate::Result;

/// Units whose samples were read, and the one whose samples are being read.
pub(crate) struct Sorted {
    source: Source,
    samples: Samples,
    ended: bool,
}

/// What does not change from part to part.
pub(crate) struct Reading<'a> {
    pub path: &'a Path,
    pub layout: &'a Layout,
    pub long: &'a Long,
    pub absent: &'a Absent,
    pub missing_x: bool,
}

impl Sorted {
    pub fn new(source: Source) -> Self {
        Self { source, samples: Samples::default(), ended: false }
    }

    /// The next units, `least` or somewhat more; none at the end.
    pub fn next(&mut self, reading: &Reading<'_>, least: usize, tally: &mut Tally) -> Result<Option<Part>> {
        let Reading { path, layout, long, absent, missing_x } = *reading;
        let plan = Plan::of(layout, long);
        while !self.ended {
            match self.source.next(ROWS)? {
                Some(chunk) => {
                    tally.rows += chunk.rows();
                    self.samples.add(&plan, &chunk, absent, tally).map_err(|problem| problem.at(path))?;
                }
                None => self.ended = true,
            }
            // more samples of the last unit may come
            if !self.ended && self.samples.units() <= least {
                continue;
            }
            let rest =
                if self.ended { Samples::default() } else { self.samples.split_last(long.series.len()) };
            let mut done = std::mem::replace(&mut self.samples, rest);
            done.sort(&plan).map_err(|problem| problem.at(path))?;
            if let Some(part) = done.part(layout, long, missing_x, tally)? {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }
}

/// Whether the rows of every unit stand together. Ids are remembered as hashes: two that share one pass for scattered,
/// which costs memory and no more.
pub(crate) fn rows_stand_together(path: &Path, layout: &Layout, id: &str) -> Result<bool> {
    let mut source = Source::open(path, layout.delimiter, Some(&[id.to_owned()]))?;
    let state = RandomState::new();
    let (mut seen, mut last) = (HashSet::new(), None);
    while let Some(chunk) = source.next(ROWS)? {
        let cells = single(&chunk, id).map_err(|problem| problem.at(path))?;
        for i in 0..chunk.rows() {
            let Some(label) = cells.label(i, &Absent::default()) else { continue };
            let hash = state.hash_one(label);
            if last != Some(hash) && !seen.insert(hash) {
                return Ok(false);
            }
            last = Some(hash);
        }
    }
    Ok(true)
}
