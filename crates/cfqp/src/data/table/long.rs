//! Tables with a row per sample: what was seen of a unit up to its treatment is x, what came after it is y.
//!
//! Samples are put on a grid of equal distances, counted from the unit's own treatment. Points without a sample, and
//! those beyond a unit's first or last, are missing; of several samples at one point the mean is taken.

use std::collections::HashMap;
use std::path::Path;

use super::cells::{Absent, Cells};
use super::layout::{Feature, Form, Layout, Long, TreatedAt};
use super::part::Tally;
use super::problem::Problem;
use super::scan::{ROWS, Role};
use super::source::{Chunk, Place, Source};
use super::wide::{Column, single};
use crate::Result;

/// Samples of a table.
#[derive(Default)]
pub(crate) struct Samples {
    pub ids: Vec<String>,
    /// Ids that their file says to be whole numbers.
    pub integers: Vec<Option<i64>>,
    index: HashMap<String, u32>,
    /// Per unit: treatments, moment, fixed covariates; with the place where each was first seen.
    pub t: Vec<Vec<Known<f32>>>,
    pub moments: Vec<Known<f64>>,
    pub fixed: Vec<Vec<Known<String>>>,
    /// Per row.
    pub unit: Vec<u32>,
    pub time: Vec<f64>,
    place: Vec<Place>,
    /// `[rows, series]`, NaN where missing.
    pub values: Vec<f32>,
    /// Rows by unit and time.
    pub order: Vec<u32>,
}

pub(crate) type Known<T> = Option<(T, Place)>;

/// What of a layout must be known to collect samples.
pub(crate) struct Plan<'a> {
    pub id: &'a str,
    pub t: &'a [String],
    pub time: &'a str,
    pub series: &'a [String],
    pub fixed: &'a [Feature],
    pub treated_at: &'a TreatedAt,
}

impl<'a> Plan<'a> {
    pub fn of(layout: &'a Layout, long: &'a Long) -> Self {
        Self {
            id: layout.id.as_deref().unwrap_or(""),
            t: &layout.t,
            time: &long.time,
            series: &long.series,
            fixed: &long.fixed,
            treated_at: &long.treated_at,
        }
    }
}

/// The columns of some rows.
struct Columns<'a> {
    ids: Cells<'a>,
    integers: Option<Vec<Option<i64>>>,
    time: Cells<'a>,
    series: Vec<(&'a str, Cells<'a>)>,
    t: Vec<(&'a str, Cells<'a>)>,
    fixed: Vec<(&'a str, Cells<'a>)>,
    moment: Option<(&'a str, Cells<'a>)>,
    absent: &'a Absent,
}

impl<'a> Columns<'a> {
    fn of(plan: &Plan<'a>, chunk: &'a Chunk, absent: &'a Absent) -> Result<Self, Problem> {
        let named = |name: &'a str| Ok((name, single(chunk, name)?));
        let all = |names: &'a [String]| names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>();
        let fixed = plan.fixed.iter().map(|feature| named(&feature.name));
        Ok(Self {
            ids: single(chunk, plan.id)?,
            integers: chunk.integers(plan.id),
            time: single(chunk, plan.time)?,
            series: all(plan.series)?,
            t: all(plan.t)?,
            fixed: fixed.collect::<Result<Vec<_>, _>>()?,
            moment: match plan.treated_at {
                TreatedAt::Number(_) => None,
                TreatedAt::Column(name) => Some(named(name)?),
            },
            absent,
        })
    }
}

impl Samples {
    /// Read all rows of `source`.
    pub fn collect(
        plan: &Plan<'_>,
        path: &Path,
        mut source: Source,
        absent: &Absent,
        tally: &mut Tally,
    ) -> Result<Self> {
        let mut samples = Self::default();
        while let Some(chunk) = source.next(ROWS)? {
            tally.rows += chunk.rows();
            samples.add(plan, &chunk, absent, tally).map_err(|problem| problem.at(path))?;
        }
        samples.sort(plan).map_err(|problem| problem.at(path))?;
        Ok(samples)
    }

    /// Add the rows of `chunk`.
    pub fn add(
        &mut self,
        plan: &Plan<'_>,
        chunk: &Chunk,
        absent: &Absent,
        tally: &mut Tally,
    ) -> Result<(), Problem> {
        let columns = Columns::of(plan, chunk, absent)?;
        for i in 0..chunk.rows() {
            let place = chunk.place(i);
            let Some(id) = columns.ids.label(i, &Absent::default()) else {
                tally.drop(format!("samples whose id `{}` is missing", plan.id), || place.to_string());
                continue;
            };
            let unit = match self.index.get(&id) {
                Some(&unit) => unit,
                None => self.open(plan, id, columns.integers.as_ref().and_then(|ids| ids[i])),
            };
            self.note(&columns, unit as usize, i, place)?;
            let Some(time) = finite(columns.time.cell(i, absent), plan.time, place)? else {
                tally.drop(format!("samples whose time `{}` is missing", plan.time), || place.to_string());
                continue;
            };
            for (name, cells) in &columns.series {
                let column = Column { cells, name, role: Role::Series, absent };
                self.values.push(column.number(i, || place)?);
            }
            self.unit.push(unit);
            self.time.push(time);
            self.place.push(place);
        }
        Ok(())
    }

    /// Note what row `i` says of its unit as a whole: treatments, moment, fixed covariates.
    fn note(&mut self, columns: &Columns<'_>, unit: usize, i: usize, place: Place) -> Result<(), Problem> {
        let (id, absent) = (&self.ids[unit], columns.absent);
        for ((name, cells), known) in columns.t.iter().zip(&mut self.t[unit]) {
            let value = Column { cells, name, role: Role::T, absent }.number(i, || place)?;
            agree(known, (!value.is_nan()).then_some(value), place, name, id, VARIES)?;
        }
        if let Some((name, cells)) = &columns.moment {
            let value = finite(cells.cell(i, absent), name, place)?;
            agree(&mut self.moments[unit], value, place, name, id, MOVES)?;
        }
        for ((name, cells), known) in columns.fixed.iter().zip(&mut self.fixed[unit]) {
            agree(known, cells.label(i, absent), place, name, id, CHANGES)?;
        }
        Ok(())
    }

    fn open(&mut self, plan: &Plan<'_>, id: String, integer: Option<i64>) -> u32 {
        let unit = self.ids.len() as u32;
        self.index.insert(id.clone(), unit);
        self.ids.push(id);
        self.integers.push(integer);
        self.t.push(vec![None; plan.t.len()]);
        self.moments.push(match plan.treated_at {
            TreatedAt::Number(moment) => Some((*moment, Place::Row(0))),
            TreatedAt::Column(_) => None,
        });
        self.fixed.push(vec![None; plan.fixed.len()]);
        unit
    }

    /// How many units.
    pub fn units(&self) -> usize {
        self.ids.len()
    }

    /// Take out the last unit, whose rows are the last ones.
    pub fn split_last(&mut self, series: usize) -> Self {
        let Some(last) = self.ids.len().checked_sub(1) else { return Self::default() };
        let first = self.unit.iter().position(|&unit| unit as usize == last).unwrap_or(self.unit.len());
        let ids = self.ids.split_off(last);
        self.index.clear();
        Self {
            index: ids.iter().map(|id| (id.clone(), 0)).collect(),
            ids,
            integers: self.integers.split_off(last),
            t: self.t.split_off(last),
            moments: self.moments.split_off(last),
            fixed: self.fixed.split_off(last),
            unit: vec![0; self.unit.split_off(first).len()],
            time: self.time.split_off(first),
            place: self.place.split_off(first),
            values: self.values.split_off(first * series),
            order: Vec::new(),
        }
    }

    /// Order rows by unit and time; no two samples of a unit are of the same time.
    pub fn sort(&mut self, plan: &Plan<'_>) -> Result<(), Problem> {
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
                    "{second}: `{}` {} has a sample at `{}` {time} already, in {first}",
                    plan.id, self.ids[unit as usize], plan.time
                );
                return Err(Problem::new(problem, "remove one of the two, or join them"));
            }
        }
        Ok(())
    }

    /// How long after its unit's treatment a sample was taken, where that is known.
    pub fn after(&self, row: u32) -> Option<f64> {
        let row = row as usize;
        self.moments[self.unit[row] as usize].map(|(moment, _)| self.time[row] - moment)
    }
}

const VARIES: &str = "a unit has one treatment: give it in every row, or leave all other cells empty";
const MOVES: &str = "a unit is treated at one time: give it in every row, or leave all other cells empty";
const CHANGES: &str = "covariates that change with time belong to --series";

/// Note what a cell says of its unit; all cells must say the same.
fn agree<T: PartialEq + std::fmt::Display>(
    known: &mut Known<T>,
    value: Option<T>,
    place: Place,
    column: &str,
    id: &str,
    hint: &str,
) -> Result<(), Problem> {
    match (&known, value) {
        (_, None) => Ok(()),
        (None, Some(value)) => {
            *known = Some((value, place));
            Ok(())
        }
        (Some((first, _)), Some(value)) if *first == value => Ok(()),
        (Some((first, there)), Some(value)) => {
            let problem =
                format!("{place}, column `{column}`: {value}, but unit {id} has {first} in {there}");
            Err(Problem::new(problem, hint))
        }
    }
}

/// A cell that must be a number where it is not missing, at full precision.
fn finite(cell: super::cells::Cell<'_>, column: &str, place: Place) -> Result<Option<f64>, Problem> {
    use super::cells::Cell;
    match cell {
        Cell::Missing => Ok(None),
        Cell::Number(value) if value.is_finite() => Ok(Some(value)),
        Cell::Number(value) => Err(super::scan::no_number(place, column, &value.to_string())),
        Cell::Text(text) if super::cells::is_date(text) => {
            let problem = format!("{place}, column `{column}`: `{text}` is a date");
            Err(Problem::new(problem, super::cells::DATES))
        }
        Cell::Text(text) => Err(super::scan::no_number(place, column, text)),
    }
}

/// The long part of a layout, if it is one.
pub(crate) fn long(layout: &Layout) -> Option<&Long> {
    match &layout.form {
        Form::Long(long) => Some(long),
        Form::Wide { .. } => None,
    }
}
