//! The samples of a long table, one per row.
//!
//! The samples of a unit up to its treatment form x, later ones form y. Both are placed on a grid of equidistant
//! points, counted from the unit's own treatment. Points without a sample are missing; samples at the same point are
//! averaged.

use std::collections::HashMap;
use std::path::Path;

use super::cells::{Cells, MissingWords};
use super::columns::{NumberColumn, precise_number, scalar_cells};
use super::labels::Labels;
use super::layout::{Feature, Layout, SampleLayout};
use super::problem::Problem;
use super::read_summary::{DropReason, ReadSummary};
use super::role::ColumnRole;
use super::source::{Chunk, Place, Source};
use super::spec::TreatedAt;
use crate::error::Result;

/// Rows that are read at a time.
pub(crate) const CHUNK_ROWS: usize = 4096;

/// Samples of a table, grouped by unit.
#[derive(Default)]
pub(crate) struct Samples {
    pub ids: Vec<String>,
    /// The ids, if their column is stored as integers.
    pub integers: Vec<Option<i64>>,
    index: HashMap<String, u32>,
    /// Per unit: treatments, time of treatment, fixed covariates.
    pub t: Vec<Vec<Recorded<f32>>>,
    pub treated_at: Vec<Recorded<f64>>,
    pub fixed: Vec<Vec<Recorded<String>>>,
    /// Per unit: the subject, in a table with subjects.
    pub subject: Vec<Recorded<String>>,
    /// Per row: the unit, the time and the place in the file.
    pub unit: Vec<u32>,
    pub time: Vec<f64>,
    place: Vec<Place>,
    /// `[rows, series]`, NaN where missing.
    pub values: Vec<f32>,
    /// The rows sorted by unit and time.
    pub order: Vec<u32>,
}

/// A property of a unit and the place where it was first found; `None` while it is missing.
pub(crate) type Recorded<T> = Option<(T, Place)>;

/// The columns that samples are collected from.
pub(crate) struct SampleColumns<'a> {
    id: &'a str,
    group: Option<&'a str>,
    t: &'a [String],
    time: &'a str,
    series: &'a [String],
    fixed: &'a [Feature],
    treated_at: &'a TreatedAt,
}

impl<'a> SampleColumns<'a> {
    pub(super) fn new(layout: &'a Layout, samples: &'a SampleLayout) -> Self {
        Self {
            id: layout.id.as_deref().unwrap_or(""),
            group: layout.group.as_deref(),
            t: &layout.t,
            time: &samples.time,
            series: &samples.series,
            fixed: &samples.fixed,
            treated_at: &samples.treated_at,
        }
    }
}

/// The cells of some rows.
struct SampleCells<'a> {
    ids: Labels<'a>,
    subjects: Option<(&'a str, Labels<'a>)>,
    time: Cells<'a>,
    series: Vec<(&'a str, Cells<'a>)>,
    t: Vec<(&'a str, Cells<'a>)>,
    fixed: Vec<(&'a str, Cells<'a>)>,
    treated_at: Option<(&'a str, Cells<'a>)>,
    missing_words: &'a MissingWords,
}

impl<'a> SampleCells<'a> {
    fn new(
        columns: &SampleColumns<'a>,
        chunk: &'a Chunk,
        missing_words: &'a MissingWords,
    ) -> Result<Self, Problem> {
        let named = |name: &'a str| Ok((name, scalar_cells(chunk, name)?));
        let all = |names: &'a [String]| names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>();
        let fixed = columns.fixed.iter().map(|feature| named(&feature.name));
        Ok(Self {
            ids: Labels::new(chunk, columns.id)?,
            subjects: columns.group.map(|name| Ok((name, Labels::new(chunk, name)?))).transpose()?,
            time: scalar_cells(chunk, columns.time)?,
            series: all(columns.series)?,
            t: all(columns.t)?,
            fixed: fixed.collect::<Result<Vec<_>, _>>()?,
            treated_at: match columns.treated_at {
                TreatedAt::Number(_) => None,
                TreatedAt::Column(name) => Some(named(name)?),
            },
            missing_words,
        })
    }
}

impl Samples {
    /// Reads all rows of `source`.
    pub(super) fn collect(
        columns: &SampleColumns<'_>,
        path: &Path,
        mut source: Source,
        missing_words: &MissingWords,
        summary: &mut ReadSummary,
    ) -> Result<Self> {
        let mut samples = Self::default();
        while let Some(chunk) = source.next(CHUNK_ROWS)? {
            summary.rows += chunk.rows();
            samples.add(columns, &chunk, missing_words, summary).map_err(|problem| problem.at(path))?;
        }
        samples.sort(columns).map_err(|problem| problem.at(path))?;
        Ok(samples)
    }

    /// Adds the rows of `chunk`.
    pub(super) fn add(
        &mut self,
        columns: &SampleColumns<'_>,
        chunk: &Chunk,
        missing_words: &MissingWords,
        summary: &mut ReadSummary,
    ) -> Result<(), Problem> {
        let cells = SampleCells::new(columns, chunk, missing_words)?;
        for i in 0..chunk.rows() {
            let place = chunk.place(i);
            let Some(id) = cells.ids.text(i) else {
                let reason = DropReason::SampleWithoutId { column: columns.id.to_owned() };
                summary.count_dropped(reason, || place.to_string());
                continue;
            };
            let unit = match self.index.get(&id) {
                Some(&unit) => unit,
                None => self.add_unit(columns, id, cells.ids.integer(i)),
            };
            self.record_unit(&cells, unit as usize, i, place)?;
            let Some(time) = precise_number(cells.time.cell(i, missing_words), columns.time, place)? else {
                let reason = DropReason::SampleWithoutTime { column: columns.time.to_owned() };
                summary.count_dropped(reason, || place.to_string());
                continue;
            };
            for (name, cells) in &cells.series {
                let column = NumberColumn { cells, name, role: ColumnRole::Series, missing_words };
                self.values.push(column.number(i, || place)?);
            }
            self.unit.push(unit);
            self.time.push(time);
            self.place.push(place);
        }
        Ok(())
    }

    /// Records the properties of a unit in row `i`: treatments, time of treatment, subject, fixed covariates.
    fn record_unit(
        &mut self,
        cells: &SampleCells<'_>,
        unit: usize,
        i: usize,
        place: Place,
    ) -> Result<(), Problem> {
        let (id, missing_words) = (&self.ids[unit], cells.missing_words);
        for ((name, cells), recorded) in cells.t.iter().zip(&mut self.t[unit]) {
            let column = NumberColumn { cells, name, role: ColumnRole::Treatment, missing_words };
            let value = column.number(i, || place)?;
            record(recorded, (!value.is_nan()).then_some(value), place, name, id, ONE_TREATMENT)?;
        }
        if let Some((name, cells)) = &cells.treated_at {
            let value = precise_number(cells.cell(i, missing_words), name, place)?;
            record(&mut self.treated_at[unit], value, place, name, id, ONE_TREATMENT_TIME)?;
        }
        if let Some((name, labels)) = &cells.subjects {
            record(&mut self.subject[unit], labels.text(i), place, name, id, ONE_SUBJECT)?;
        }
        for ((name, cells), recorded) in cells.fixed.iter().zip(&mut self.fixed[unit]) {
            record(recorded, cells.label(i, missing_words), place, name, id, FIXED_COVARIATE)?;
        }
        Ok(())
    }

    fn add_unit(&mut self, columns: &SampleColumns<'_>, id: String, integer: Option<i64>) -> u32 {
        let unit = self.ids.len() as u32;
        self.index.insert(id.clone(), unit);
        self.ids.push(id);
        self.integers.push(integer);
        self.t.push(vec![None; columns.t.len()]);
        self.treated_at.push(match columns.treated_at {
            TreatedAt::Number(time) => Some((*time, Place::Row(0))),
            TreatedAt::Column(_) => None,
        });
        self.fixed.push(vec![None; columns.fixed.len()]);
        self.subject.push(None);
        unit
    }

    /// The number of units.
    pub(super) fn units(&self) -> usize {
        self.ids.len()
    }

    /// Removes and returns the last unit, whose rows must be the last ones.
    pub(super) fn split_last(&mut self, series: usize) -> Self {
        let Some(last) = self.ids.len().checked_sub(1) else { return Self::default() };
        let first = self.unit.iter().position(|&unit| unit as usize == last).unwrap_or(self.unit.len());
        let ids = self.ids.split_off(last);
        self.index.clear();
        Self {
            index: ids.iter().map(|id| (id.clone(), 0)).collect(),
            ids,
            integers: self.integers.split_off(last),
            t: self.t.split_off(last),
            treated_at: self.treated_at.split_off(last),
            fixed: self.fixed.split_off(last),
            subject: self.subject.split_off(last),
            unit: vec![0; self.unit.split_off(first).len()],
            time: self.time.split_off(first),
            place: self.place.split_off(first),
            values: self.values.split_off(first * series),
            order: Vec::new(),
        }
    }

    /// Sorts the rows by unit and time. Two samples of a unit at the same time are a problem.
    pub(super) fn sort(&mut self, columns: &SampleColumns<'_>) -> Result<(), Problem> {
        self.order = (0..self.unit.len() as u32).collect();
        let key = |row: &u32| (self.unit[*row as usize], self.time[*row as usize]);
        self.order.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        for pair in self.order.windows(2) {
            if key(&pair[0]) == key(&pair[1]) {
                let (first, second) = (self.place[pair[0] as usize], self.place[pair[1] as usize]);
                let (unit, time) = key(&pair[0]);
                let problem = format!(
                    "{second}: unit {} (`{}`) already has a sample at `{}` {time}, in {first}",
                    self.ids[unit as usize], columns.id, columns.time
                );
                return Err(Problem::new(problem, "remove one of the two samples, or merge them"));
            }
        }
        Ok(())
    }

    /// The time of a sample since its unit's treatment; `None` if the time of treatment is missing.
    pub(super) fn time_since_treatment(&self, row: u32) -> Option<f64> {
        let row = row as usize;
        self.treated_at[self.unit[row] as usize].map(|(treated_at, _)| self.time[row] - treated_at)
    }
}

const ONE_TREATMENT: &str = "a unit has one treatment: give it in every row, or leave the other cells empty";
const ONE_TREATMENT_TIME: &str =
    "a unit has one time of treatment: give it in every row, or leave the other cells empty";
const ONE_SUBJECT: &str =
    "a unit belongs to one subject: give it in every row, or leave the other cells empty";
const FIXED_COVARIATE: &str = "covariates that change with time belong to `series`";

/// Records a property of a unit. Rows that contradict each other are a problem.
fn record<T: PartialEq + std::fmt::Display>(
    recorded: &mut Recorded<T>,
    value: Option<T>,
    place: Place,
    column: &str,
    id: &str,
    hint: &str,
) -> Result<(), Problem> {
    match (&recorded, value) {
        (_, None) => Ok(()),
        (None, Some(value)) => {
            *recorded = Some((value, place));
            Ok(())
        }
        (Some((first, _)), Some(value)) if *first == value => Ok(()),
        (Some((first, first_place)), Some(value)) => {
            let problem =
                format!("{place}, column `{column}`: {value}, but unit {id} has {first} in {first_place}");
            Err(Problem::new(problem, hint))
        }
    }
}
