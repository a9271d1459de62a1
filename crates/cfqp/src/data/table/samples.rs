//! The samples of a long table, one per row.
//!
//! The samples of a unit up to its treatment form x, later ones form y. Both are placed on a grid of equidistant
//! points, counted from the unit's own treatment. Points without a sample are missing; samples at the same point are
//! averaged.

use std::collections::HashMap;
use std::path::Path;

use super::cells::{Cell, Reading};
use super::columns::{ScalarColumn, scalar_cells};
use super::dates::DateEncoding;
use super::labels::Labels;
use super::layout::{Feature, Layout, SampleLayout};
use super::place::Place;
use super::problem::Problem;
use super::problems::{CellFault, Problems};
use super::read_summary::{DropReason, ReadSummary};
use super::source::{Chunk, Source};
use super::spec::TreatedAt;
use super::treatment::{TreatmentColumn, TreatmentValue};
use crate::error::Result;
use crate::runtime::check_memory;

/// Rows that are read at a time.
pub(crate) const CHUNK_ROWS: usize = 4096;

/// The memory of a sample beside its values: its unit, its time and its place.
const SAMPLE_BYTES: usize = size_of::<f64>() + 2 * size_of::<u32>();

/// Samples of a table, grouped by unit.
#[derive(Default)]
pub(crate) struct Samples {
    pub ids: Vec<String>,
    /// The ids, if their column is stored as integers.
    pub integers: Vec<Option<i64>>,
    index: HashMap<String, u32>,
    /// Per unit: treatments, time of treatment, fixed covariates.
    pub t: Vec<Vec<Recorded<TreatmentValue>>>,
    pub treated_at: Vec<Recorded<f64>>,
    pub fixed: Vec<Vec<Recorded<String>>>,
    /// Per unit: the subject, in a table with subjects.
    pub subject: Vec<Recorded<String>>,
    /// Per row: the unit and the time.
    pub unit: Vec<u32>,
    pub time: Vec<f64>,
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
    t: &'a [TreatmentColumn],
    time: &'a str,
    series: &'a [String],
    fixed: &'a [Feature],
    treated_at: &'a TreatedAt,
    dates: Option<&'a DateEncoding>,
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
            dates: samples.dates.as_ref(),
        }
    }

    /// The number of series.
    pub(super) fn series_count(&self) -> usize {
        self.series.len()
    }
}

/// The cells of some rows.
struct SampleCells<'a> {
    ids: Labels<'a>,
    subjects: Option<(&'a str, Labels<'a>)>,
    time: ScalarColumn<'a>,
    series: Vec<ScalarColumn<'a>>,
    t: Vec<(&'a TreatmentColumn, ScalarColumn<'a>)>,
    fixed: Vec<ScalarColumn<'a>>,
    treated_at: Option<ScalarColumn<'a>>,
    dates: Option<&'a DateEncoding>,
}

impl<'a> SampleCells<'a> {
    fn new(columns: &SampleColumns<'a>, chunk: &'a Chunk, reading: &'a Reading) -> Result<Self, Problem> {
        let named = |name: &'a str| {
            Ok(ScalarColumn { cells: scalar_cells(chunk, name)?, name, reading, origin: 0.0 })
        };
        let all = |names: &'a [String]| names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>();
        let fixed = columns.fixed.iter().map(|feature| named(&feature.name));
        let t = columns.t.iter().map(|treatment| Ok((treatment, named(&treatment.name)?)));
        Ok(Self {
            ids: Labels::new(chunk, columns.id)?,
            subjects: columns.group.map(|name| Ok((name, Labels::new(chunk, name)?))).transpose()?,
            time: named(columns.time)?,
            series: all(columns.series)?,
            t: t.collect::<Result<Vec<_>, _>>()?,
            fixed: fixed.collect::<Result<Vec<_>, _>>()?,
            treated_at: match columns.treated_at {
                TreatedAt::Number(_) => None,
                TreatedAt::Column(name) => Some(named(name)?),
            },
            dates: columns.dates,
        })
    }
}

impl Samples {
    /// Reads all rows of `source`.
    pub(super) fn collect(
        columns: &SampleColumns<'_>,
        path: &Path,
        mut source: Source,
        reading: &Reading,
        summary: &mut ReadSummary,
    ) -> Result<Self> {
        let mut samples = Self::default();
        while let Some(chunk) = source.next(CHUNK_ROWS)? {
            summary.rows += chunk.rows();
            check_memory(
                path,
                "the samples",
                summary.rows,
                SAMPLE_BYTES + size_of::<f32>() * columns.series_count(),
            )?;
            samples.add(columns, &chunk, reading, summary, &mut source.problems);
        }
        source.problems.check(path)?;
        samples.sort();
        Ok(samples)
    }

    /// Adds the rows of `chunk`.
    pub(super) fn add(
        &mut self,
        columns: &SampleColumns<'_>,
        chunk: &Chunk,
        reading: &Reading,
        summary: &mut ReadSummary,
        problems: &mut Problems,
    ) {
        let cells = match SampleCells::new(columns, chunk, reading) {
            Ok(cells) => cells,
            Err(problem) => return problems.add(problem),
        };
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
            self.record_unit(&cells, unit as usize, i, place, problems);
            let is_missing = cells.time.cells.cell(i, reading) == Cell::Missing;
            let Some(time) = read_time(&cells.time, i, columns.dates, place, problems) else {
                // other cells are problems
                if !is_missing {
                    continue;
                }
                let reason = DropReason::SampleWithoutTime { column: columns.time.to_owned() };
                summary.count_dropped(reason, || place.to_string());
                continue;
            };
            let values = cells.series.iter().map(|column| column.number(i, || place, problems));
            self.values.extend(values);
            self.unit.push(unit);
            self.time.push(time);
        }
    }

    /// Records the properties of a unit in row `i`: treatments, time of treatment, subject, fixed covariates.
    fn record_unit(
        &mut self,
        cells: &SampleCells<'_>,
        unit: usize,
        i: usize,
        place: Place,
        problems: &mut Problems,
    ) {
        let id = &self.ids[unit];
        for ((treatment, column), recorded) in cells.t.iter().zip(&mut self.t[unit]) {
            let value = match treatment.levels {
                None => {
                    let value = column.number(i, || place, problems);
                    (!value.is_nan()).then_some(TreatmentValue::Number(value))
                }
                Some(_) => column.cells.label(i, column.reading).map(TreatmentValue::Level),
            };
            let source = Recording { place, column: column.name, id, hint: ONE_TREATMENT };
            source.record(recorded, value, problems);
        }
        if let Some(column) = &cells.treated_at {
            let value = read_time(column, i, cells.dates, place, problems);
            let source = Recording { place, column: column.name, id, hint: ONE_TREATMENT_TIME };
            source.record(&mut self.treated_at[unit], value, problems);
        }
        if let Some((name, labels)) = &cells.subjects {
            let source = Recording { place, column: name, id, hint: ONE_SUBJECT };
            source.record(&mut self.subject[unit], labels.text(i), problems);
        }
        for (column, recorded) in cells.fixed.iter().zip(&mut self.fixed[unit]) {
            let source = Recording { place, column: column.name, id, hint: FIXED_COVARIATE };
            source.record(recorded, column.cells.label(i, column.reading), problems);
        }
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
            values: self.values.split_off(first * series),
            order: Vec::new(),
        }
    }

    /// Sorts the rows by unit and time; rows of a unit at the same time stay in the order of the file.
    pub(super) fn sort(&mut self) {
        self.order = (0..self.unit.len() as u32).collect();
        let key = |row: &u32| (self.unit[*row as usize], self.time[*row as usize]);
        self.order.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
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

/// The time in row `i`: a number, or the days of a date; `None` where it is missing or a problem.
fn read_time(
    column: &ScalarColumn<'_>,
    i: usize,
    dates: Option<&DateEncoding>,
    place: Place,
    problems: &mut Problems,
) -> Option<f64> {
    match dates {
        None => column.precise(i, place, problems),
        Some(encoding) => column.date(i, encoding, || place, problems).map(|date| encoding.days(date)),
    }
}

/// Where a property of a unit stands.
struct Recording<'a> {
    place: Place,
    column: &'a str,
    id: &'a str,
    hint: &'a str,
}

impl Recording<'_> {
    /// Records a property. Rows that contradict each other are a problem.
    fn record<T: PartialEq + std::fmt::Display>(
        &self,
        recorded: &mut Recorded<T>,
        value: Option<T>,
        problems: &mut Problems,
    ) {
        match (&recorded, value) {
            (_, None) => {}
            (None, Some(value)) => *recorded = Some((value, self.place)),
            (Some((first, _)), Some(value)) if *first == value => {}
            (Some((first, first_place)), Some(value)) => {
                let text = format!("{value}, but unit {} has {first} in {first_place}", self.id);
                problems.add_cell(CellFault::Contradiction, self.column, self.place, &text, || {
                    self.hint.to_owned()
                });
            }
        }
    }
}
