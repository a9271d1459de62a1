//! Reads a long table in which the rows of each unit are contiguous, without holding all of it in memory.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::Path;

use super::cells::Reading;
use super::file_options::FileOptions;
use super::input::TableInput;
use super::labels::Labels;
use super::layout::{Layout, SampleLayout};
use super::read_summary::ReadSummary;
use super::rules::UnitRules;
use super::samples::{CHUNK_ROWS, SampleColumns, Samples};
use super::source::Source;
use super::unit_batch::UnitBatch;
use crate::error::{Error, Result};

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
    pub reading: &'a Reading,
    pub rules: UnitRules,
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
        let ContiguousSettings { path, layout, samples, reading, rules } = *settings;
        let columns = SampleColumns::new(layout, samples);
        while !self.is_finished {
            match self.source.next(CHUNK_ROWS)? {
                Some(chunk) => {
                    summary.rows += chunk.rows();
                    self.samples.add(&columns, &chunk, reading, summary, &mut self.source.problems);
                }
                None => self.is_finished = true,
            }
            if !self.source.problems.is_empty() {
                return Err(self.all_problems(&columns, path, reading));
            }
            if !self.is_finished && self.samples.units() <= min_units {
                continue;
            }
            let mut complete = self.take_complete(samples.series.len());
            complete.sort();
            if let Some(batch) = complete.to_batch(path, layout, samples, rules, summary)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The error with the problems found so far and those in the rest of the table.
    fn all_problems(&mut self, columns: &SampleColumns<'_>, path: &Path, reading: &Reading) -> Error {
        let mut ignored = ReadSummary::default();
        loop {
            match self.source.next(CHUNK_ROWS) {
                Ok(Some(chunk)) => {
                    let problems = &mut self.source.problems;
                    self.samples.add(columns, &chunk, reading, &mut ignored, problems);
                    // only the last unit may continue
                    self.samples = self.samples.split_last(columns.series_count());
                }
                Ok(None) => break,
                Err(error) => return error,
            }
        }
        std::mem::take(&mut self.source.problems).error(path)
    }

    /// Takes the units whose samples are complete: the last one may continue, except at the end.
    fn take_complete(&mut self, series: usize) -> Samples {
        let rest = if self.is_finished { Samples::default() } else { self.samples.split_last(series) };
        std::mem::replace(&mut self.samples, rest)
    }
}

/// Whether the rows of every unit are contiguous. Ids are compared by their hashes: a collision makes a table look
/// scattered, which costs memory but is correct.
pub(crate) fn is_contiguous(input: &TableInput, options: &FileOptions, id: &str) -> Result<bool> {
    let mut source = Source::open(input, options, Some(&[id.to_owned()]))?;
    let state = RandomState::new();
    let (mut known, mut previous) = (HashSet::new(), None);
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        let labels = Labels::new(&chunk, id).map_err(|problem| problem.at(input.name()))?;
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
