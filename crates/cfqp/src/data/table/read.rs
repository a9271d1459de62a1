//! From a file and its description to units.

use std::collections::HashMap;
use std::path::Path;

use super::cells::Absent;
use super::counts::Counts;
use super::layout::{Layout, NEEDED, TableSpec};
use super::names::{listed, resolve};
use super::part::{Ids, Part, Tally};
use super::parts::Parts;
use super::problem::Problem;
use super::roles::{features, roles};
use super::scan::scan;
use super::source::Source;
use crate::{Dataset, Result};

/// Rows that are turned into units together where all are wanted.
const WHOLE: usize = 1 << 14;

/// A table as units, with everything that was found on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What was seen of the units.
    pub data: Dataset,
    /// What they are called.
    pub ids: Ids,
    /// What the columns are.
    pub layout: Layout,
    /// What was read, kept and dropped.
    pub counts: Counts,
}

impl Table {
    /// Read the table `path`, whose columns are what `spec` says.
    pub fn read(path: &Path, spec: &TableSpec) -> Result<Self> {
        let columns = Source::open(path, spec.delimiter, None)?.columns().to_vec();
        let at = |problem: Problem| problem.at(path);
        if spec.is_empty() {
            let problem = format!("what are its columns {}?", listed(&columns));
            return Err(at(Problem::new(problem, NEEDED)));
        }
        spec.check().map_err(at)?;
        let roles = roles(spec, &columns).map_err(at)?;
        let absent = Absent::new(&spec.missing);
        let (seen, _) = scan(path, spec.delimiter, &roles.columns(), &absent)?;
        let categorical = resolve("categorical", &spec.categorical, &columns, &[]).map_err(at)?;
        seen.iter().try_for_each(|seen| seen.check(categorical.contains(&seen.name))).map_err(at)?;
        let mut tally = Tally::default();
        let (layout, part) = match &spec.time {
            None => {
                let layout = roles.wide(spec, &seen, &categorical).map_err(at)?;
                let parts = Parts::open(&layout, path, true, WHOLE)?;
                let part = parts.whole(&mut tally)?;
                (layout, part)
            }
            Some(time) => {
                let fixed = features(&seen, &roles.x, &categorical);
                roles.long(spec, time, fixed, path, &absent, &mut tally)?
            }
        };
        let part = part.ok_or_else(|| at(nothing_left(&tally)))?;
        unique(&part.ids).map_err(at)?;
        let counts = Counts::new(&seen, &layout, &part.data, &tally);
        Ok(Self { data: part.data, ids: part.ids, layout, counts })
    }
}

/// A table of which nothing can be used.
pub(crate) fn nothing_left(tally: &Tally) -> Problem {
    let why: Vec<String> = tally
        .dropped()
        .iter()
        .map(|d| format!("{} because {} (first: {})", d.units, d.why, d.first))
        .collect();
    Problem::new(format!("no unit can be used: {}", why.join("; ")), "mend the table, or name other columns")
}

/// No two rows are of the same unit.
fn unique(ids: &Ids) -> Result<(), Problem> {
    if let Ids::Rows(_) = ids {
        return Ok(());
    }
    let mut seen = HashMap::new();
    for i in 0..ids.len() {
        if let Some(first) = seen.insert(ids.text(i), i) {
            let problem = format!("units {} and {} are both called {}", first + 1, i + 1, ids.text(i));
            let hint = "give every unit a name of its own; for a row per sample, give --time and --series";
            return Err(Problem::new(problem, hint));
        }
    }
    Ok(())
}

/// The names of the columns of the table `path`.
pub fn columns_of(path: &Path, delimiter: Option<char>) -> Result<Vec<String>> {
    Ok(Source::open(path, delimiter, None)?.columns().to_vec())
}

impl Layout {
    /// All units of another table with these columns, and what was read and dropped.
    pub fn read(&self, path: &Path, missing_x: bool) -> Result<(Part, Tally)> {
        let mut tally = Tally::default();
        let part = Parts::open(self, path, missing_x, WHOLE)?.whole(&mut tally)?;
        match part {
            Some(part) => Ok((part, tally)),
            None => Err(nothing_left(&tally).at(path)),
        }
    }
}
