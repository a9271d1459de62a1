//! Reads a long table in which the rows of each unit are contiguous, without holding all of it in memory.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::Path;

use super::cells::MissingWords;
use super::labels::Labels;
use super::layout::{Layout, SampleLayout};
use super::read_summary::ReadSummary;
use super::samples::{CHUNK_ROWS, SampleColumns, Samples};
use super::source::Source;
use super::unit_batch::UnitBatch;
use crate::error::Result;

/// Reads units one after the other.
pub(crate) struct ContiguousReader {
    source: Source,
    /// Complete units, and the last one, which may continue.
    samples: Samples,
    is_finished: bool,
}

/// The settings of a reader.
pub(crate) struct ContiguousSettings<'a> {
    pub path: &'a Path,
    pub layout: &'a Layout,
    pub samples: &'a SampleLayout,
    pub missing_words: &'a MissingWords,
    pub allow_missing_x: bool,
}

impl ContiguousReader {
    pub(super) fn new(source: Source) -> Self {
        Self { source, samples: Samples::default(), is_finished: false }
    }

    /// The next units, about `min_units` or more except at the end; `None` at the end.
    pub(super) fn next(
        &mut self,
        settings: &ContiguousSettings<'_>,
        min_units: usize,
        summary: &mut ReadSummary,
    ) -> Result<Option<UnitBatch>> {
        let ContiguousSettings { path, layout, samples, missing_words, allow_missing_x } = *settings;
        let columns = SampleColumns::new(layout, samples);
        while !self.is_finished {
            match self.source.next(CHUNK_ROWS)? {
                Some(chunk) => {
                    summary.rows += chunk.rows();
                    let added = self.samples.add(&columns, &chunk, missing_words, summary);
                    added.map_err(|problem| problem.at(path))?;
                }
                None => self.is_finished = true,
            }
            if !self.is_finished && self.samples.units() <= min_units {
                continue;
            }
            let mut complete = self.take_complete(samples.series.len());
            complete.sort(&columns).map_err(|problem| problem.at(path))?;
            if let Some(batch) = complete.to_batch(layout, samples, allow_missing_x, summary)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Takes the units whose samples are complete: the last one may continue, except at the end.
    fn take_complete(&mut self, series: usize) -> Samples {
        let rest = if self.is_finished { Samples::default() } else { self.samples.split_last(series) };
        std::mem::replace(&mut self.samples, rest)
    }
}

/// Whether the rows of every unit are contiguous. Ids are compared by their hashes: a collision makes a table look
/// scattered, which costs memory but is correct.
pub(crate) fn is_contiguous(path: &Path, layout: &Layout, id: &str) -> Result<bool> {
    let mut source = Source::open(path, layout.delimiter, Some(&[id.to_owned()]))?;
    let state = RandomState::new();
    let (mut known, mut previous) = (HashSet::new(), None);
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        let labels = Labels::new(&chunk, id).map_err(|problem| problem.at(path))?;
        for i in 0..chunk.rows() {
            let Some(label) = labels.text(i) else { continue };
            let hash = state.hash_one(label);
            if previous != Some(hash) && !known.insert(hash) {
                return Ok(false);
            }
            previous = Some(hash);
        }
    }
    Ok(true)
}
