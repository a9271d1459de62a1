//! A table whose columns are known, read part by part.

use std::path::{Path, PathBuf};

use super::cells::Absent;
use super::layout::Layout;
use super::long::{Plan, Samples, long};
use super::part::{Part, Tally};
use super::read::nothing_left;
use super::sorted::{Reading, Sorted, rows_stand_together};
use super::source::{Source, check_present};
use super::wide::Wide;
use crate::{Dataset, Result};

/// The units of a table whose columns are known, part by part.
pub struct Parts {
    path: PathBuf,
    layout: Layout,
    absent: Absent,
    missing_x: bool,
    rows: usize,
    state: State,
    /// Whether it was told that nothing can be used.
    told: bool,
    /// What was read so far.
    pub tally: Tally,
}

enum State {
    Wide(Box<Source>),
    /// Samples whose units stand one behind the other.
    Sorted(Box<Sorted>),
    /// All units, and how many were given out.
    Gathered(Option<Box<Part>>, usize),
}

/// Files of samples up to this size are held in memory; larger ones are not, if rows of a unit stand together.
const GATHERED: u64 = 1 << 26;

impl Parts {
    /// Open the table `path` of the columns that `layout` knows. Parts have about `rows` units at most. Without
    /// `missing_x`, units that lack a covariate are dropped.
    pub fn open(layout: &Layout, path: &Path, missing_x: bool, rows: usize) -> Result<Self> {
        Self::open_by_size(layout, path, missing_x, rows, GATHERED)
    }

    /// As [`open`](Self::open); files of samples above `gathered` bytes are not held in memory, if they need not be.
    pub(crate) fn open_by_size(
        layout: &Layout,
        path: &Path,
        missing_x: bool,
        rows: usize,
        gathered: u64,
    ) -> Result<Self> {
        let columns = Source::open(path, layout.delimiter, None)?.columns().to_vec();
        check_present(&layout.columns(), &columns).map_err(|problem| problem.at(path))?;
        let source = Source::open(path, layout.delimiter, Some(&layout.columns()))?;
        let absent = Absent::new(&layout.missing);
        let mut tally = Tally::default();
        let large = std::fs::metadata(path).is_ok_and(|file| file.len() > gathered);
        let state = match (long(layout), &layout.id) {
            (None, _) => State::Wide(Box::new(source)),
            (Some(_), Some(id)) if large && rows_stand_together(path, layout, id)? => {
                State::Sorted(Box::new(Sorted::new(source)))
            }
            (Some(long), _) => {
                let samples = Samples::collect(&Plan::of(layout, long), path, source, &absent, &mut tally)?;
                State::Gathered(samples.part(layout, long, missing_x, &mut tally)?.map(Box::new), 0)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            layout: layout.clone(),
            absent,
            missing_x,
            rows: rows.max(1),
            state,
            told: false,
            tally,
        })
    }

    /// All units at once.
    pub(crate) fn whole(mut self, tally: &mut Tally) -> Result<Option<Part>> {
        let mut parts = Vec::new();
        while let Some(part) = self.advance()? {
            parts.push(part);
        }
        *tally = self.tally;
        if parts.len() < 2 {
            return Ok(parts.pop());
        }
        let data = Dataset::concat(&parts.iter().map(|part| &part.data).collect::<Vec<_>>())?;
        let mut rest = parts.into_iter();
        let whole = rest.next().map(|mut whole| {
            for part in rest {
                whole.ids.extend(part.ids);
                if let (Some(moments), Some(more)) = (&mut whole.moments, part.moments) {
                    moments.extend(more);
                }
            }
            Part { data, ..whole }
        });
        Ok(whole)
    }

    fn advance(&mut self) -> Result<Option<Part>> {
        match &mut self.state {
            State::Wide(source) => {
                let (absent, missing_x) = (self.absent.clone(), self.missing_x);
                let wide = Wide { path: &self.path, layout: &self.layout, absent, missing_x };
                wide.next(source, self.rows, &mut self.tally)
            }
            State::Sorted(sorted) => {
                let Some(long) = long(&self.layout) else { return Ok(None) };
                let (path, layout, absent, missing_x) =
                    (&self.path, &self.layout, &self.absent, self.missing_x);
                let reading = Reading { path, layout, long, absent, missing_x };
                sorted.next(&reading, self.rows, &mut self.tally)
            }
            State::Gathered(None, _) => Ok(None),
            State::Gathered(Some(all), done) => {
                let next: Vec<usize> = (*done..all.data.len()).take(self.rows).collect();
                *done += next.len();
                if next.is_empty() { Ok(None) } else { all.pick(&next).map(Some) }
            }
        }
    }
}

impl Iterator for Parts {
    type Item = Result<Part>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        // a table of which nothing can be used is an error, once
        if next.is_none() && self.tally.units == 0 && !std::mem::replace(&mut self.told, true) {
            return Some(Err(nothing_left(&self.tally).at(&self.path)));
        }
        next
    }
}
