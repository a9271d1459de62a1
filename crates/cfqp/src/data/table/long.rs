//! Tables with a row per sample: what was seen of a unit up to its treatment is x, what came after it is y.
//!
//! Samples are put on a grid of equal distances, counted from the unit's own treatment. Points without a sample, and
//! those beyond a unit's first or last, are missing; of several samples at one point the mean is taken.

use std::collections::HashMap;
use std::path::Path;

use super::cells::Absent;
use super::layout::{Feature, Form, Grid, Layout, Long, TreatedAt};
use super::part::{Ids, Part, Tally, units};
use super::problem::Problem;
use super::scan::{ROWS, Role};
use super::source::{Chunk, Place, Source};
use super::wide::{Column, single, unseen};
use crate::{Dataset, Result};

/// More points than this on one side of the treatment are a mistake.
const MOST_POINTS: i64 = 20_000;

/// All samples of a table.
pub(crate) struct Samples {
    ids: Vec<String>,
    integers: Option<Vec<i64>>,
    /// Per unit: treatments, moment, fixed covariates; with the place where each was first seen.
    t: Vec<Vec<Known<f32>>>,
    moments: Vec<Known<f64>>,
    fixed: Vec<Vec<Known<String>>>,
    /// Per row.
    unit: Vec<u32>,
    time: Vec<f64>,
    place: Vec<Place>,
    /// `[rows, series]`, NaN where missing.
    values: Vec<f32>,
    /// Rows by unit and time.
    order: Vec<u32>,
}

type Known<T> = Option<(T, Place)>;

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

impl Samples {
    /// Read all rows of `source`.
    pub fn collect(
        plan: &Plan<'_>,
        path: &Path,
        mut source: Source,
        absent: &Absent,
        tally: &mut Tally,
    ) -> Result<Self> {
        let mut samples = Self {
            ids: Vec::new(),
            integers: Some(Vec::new()),
            t: Vec::new(),
            moments: Vec::new(),
            fixed: Vec::new(),
            unit: Vec::new(),
            time: Vec::new(),
            place: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
        };
        let mut index = HashMap::new();
        while let Some(chunk) = source.next(ROWS)? {
            tally.rows += chunk.rows();
            samples.add(plan, &chunk, absent, &mut index, tally).map_err(|problem| problem.at(path))?;
        }
        samples.sort(plan).map_err(|problem| problem.at(path))?;
        Ok(samples)
    }

    fn add(
        &mut self,
        plan: &Plan<'_>,
        chunk: &Chunk,
        absent: &Absent,
        index: &mut HashMap<String, u32>,
        tally: &mut Tally,
    ) -> Result<(), Problem> {
        let ids = single(chunk, plan.id)?;
        let integers = chunk.integers(plan.id);
        let cells = |name: &str| single(chunk, name);
        let time = cells(plan.time)?;
        let series = plan.series.iter().map(|name| cells(name)).collect::<Result<Vec<_>, _>>()?;
        let t = plan.t.iter().map(|name| cells(name)).collect::<Result<Vec<_>, _>>()?;
        let fixed = plan.fixed.iter().map(|feature| cells(&feature.name)).collect::<Result<Vec<_>, _>>()?;
        let moment = match plan.treated_at {
            TreatedAt::Number(_) => None,
            TreatedAt::Column(name) => Some((name.as_str(), cells(name)?)),
        };
        for i in 0..chunk.rows() {
            let place = chunk.place(i);
            let Some(id) = ids.label(i, &Absent::default()) else {
                tally.drop(format!("samples whose id `{}` is missing", plan.id), || place.to_string());
                continue;
            };
            let unit = match index.get(&id) {
                Some(&unit) => unit,
                None => self.open(plan, id, integers.as_ref().and_then(|ids| ids[i]), index),
            };
            let u = unit as usize;
            for (j, (name, cells)) in plan.t.iter().zip(&t).enumerate() {
                let value = Column { cells, name, role: Role::T, absent }.number(i, || place)?;
                let known = (!value.is_nan()).then_some(value);
                agree(&mut self.t[u][j], known, place, name, &self.ids[u], VARIES)?;
            }
            if let Some((name, cells)) = &moment {
                let value = finite(cells.cell(i, absent), name, place)?;
                agree(&mut self.moments[u], value, place, name, &self.ids[u], MOVES)?;
            }
            for (j, (feature, cells)) in plan.fixed.iter().zip(&fixed).enumerate() {
                let label = cells.label(i, absent);
                agree(&mut self.fixed[u][j], label, place, &feature.name, &self.ids[u], CHANGES)?;
            }
            let Some(time) = finite(time.cell(i, absent), plan.time, place)? else {
                tally.drop(format!("samples whose time `{}` is missing", plan.time), || place.to_string());
                continue;
            };
            for (name, cells) in plan.series.iter().zip(&series) {
                let column = Column { cells, name, role: Role::Series, absent };
                self.values.push(column.number(i, || place)?);
            }
            self.unit.push(unit);
            self.time.push(time);
            self.place.push(place);
        }
        Ok(())
    }

    fn open(
        &mut self,
        plan: &Plan<'_>,
        id: String,
        integer: Option<i64>,
        index: &mut HashMap<String, u32>,
    ) -> u32 {
        let unit = self.ids.len() as u32;
        index.insert(id.clone(), unit);
        self.ids.push(id);
        match (&mut self.integers, integer) {
            (Some(integers), Some(integer)) => integers.push(integer),
            (integers, _) => *integers = None,
        }
        self.t.push(vec![None; plan.t.len()]);
        self.moments.push(match plan.treated_at {
            TreatedAt::Number(moment) => Some((*moment, Place::Row(0))),
            TreatedAt::Column(_) => None,
        });
        self.fixed.push(vec![None; plan.fixed.len()]);
        unit
    }

    /// Order rows by unit and time; no two samples of a unit are of the same time.
    fn sort(&mut self, plan: &Plan<'_>) -> Result<(), Problem> {
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

    /// The time after its unit's treatment of every sample whose unit's treatment is known.
    fn after(&self, row: u32) -> Option<f64> {
        let row = row as usize;
        self.moments[self.unit[row] as usize].map(|(moment, _)| self.time[row] - moment)
    }

    /// The usual distance of two samples.
    pub fn usual_step(&self) -> Result<f64, Problem> {
        let gap = |pair: &[u32]| {
            let same = self.unit[pair[0] as usize] == self.unit[pair[1] as usize];
            same.then(|| self.time[pair[1] as usize] - self.time[pair[0] as usize])
        };
        let mut gaps: Vec<f64> = self.order.windows(2).filter_map(gap).collect();
        if gaps.is_empty() {
            let problem = "no unit has two samples";
            return Err(Problem::new(problem, "give --x, --t and --y for a table with a row per unit"));
        }
        let middle = gaps.len() / 2;
        Ok(*gaps.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// The grid that holds all samples, or those within `before` and `after`.
    pub fn grid(&self, step: f64, before: Option<f64>, after: Option<f64>) -> Result<Grid, Problem> {
        let (mut x, mut y) = ((i64::MAX, i64::MIN), (i64::MAX, i64::MIN));
        // a sample on the very edge is inside, whatever rounding says
        let slack = 1e-9 * step;
        let first = before.map_or(f64::NEG_INFINITY, |time| -time - slack);
        let last = after.map_or(f64::INFINITY, |time| time + slack);
        let times = self.order.iter().filter_map(|&row| self.after(row));
        for time in times.filter(|time| (first..=last).contains(time)) {
            let point = Grid::point(step, time);
            let side = if point > 0 { &mut y } else { &mut x };
            *side = (side.0.min(point), side.1.max(point));
        }
        let hint =
            "check --treated-at against the times: samples at that time or earlier are x, later ones y";
        for (name, side, place) in [("x", x, "up to"), ("y", y, "after")] {
            if side.0 > side.1 {
                let problem = format!("{name}: no sample was taken {place} the treatment");
                return Err(Problem::new(problem, hint));
            }
            if side.1 - side.0 >= MOST_POINTS {
                let problem = format!("{name}: {} points at distance {step}", side.1 - side.0 + 1);
                let hint = "give --before and --after to cut, or a larger --step; is a time far off?";
                return Err(Problem::new(problem, hint));
            }
        }
        Ok(Grid { step, x, y })
    }

    /// The units on the grid, those that can be used.
    pub fn part(
        &self,
        layout: &Layout,
        long: &Long,
        missing_x: bool,
        tally: &mut Tally,
    ) -> Result<Option<Part>> {
        let (x_shape, y_shape) = layout.shapes();
        let sizes = [x_shape.iter().product::<usize>(), y_shape.iter().product()];
        let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kept, mut moments) = (Vec::new(), Vec::new());
        let mut rows = self.order.as_slice();
        for unit in 0..self.ids.len() {
            let own = rows.iter().take_while(|&&row| self.unit[row as usize] as usize == unit).count();
            let (mine, rest) = rows.split_at(own);
            rows = rest;
            let mut drawn = [vec![f32::NAN; sizes[0]], vec![f32::NAN; sizes[1]]];
            self.draw(long, mine, &mut drawn, tally);
            let [own_x, own_y] = &mut drawn;
            let why =
                self.unusable(unit, own_x, own_y).or_else(|| self.fix(long, unit, own_x)).or_else(|| {
                    let lacks = !missing_x && own_x.iter().any(|value| value.is_nan());
                    lacks.then(|| "a covariate is missing, and none was when the model was fitted".to_owned())
                });
            match why {
                Some(why) => tally.drop(why, || self.ids[unit].clone()),
                None => {
                    x.append(own_x);
                    y.append(own_y);
                    t.extend(self.t[unit].iter().flatten().map(|(value, _)| *value));
                    moments.extend(self.moments[unit].map(|(moment, _)| moment));
                    kept.push(unit);
                }
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        tally.units += kept.len();
        let ids = match &self.integers {
            Some(integers) => Ids::Numbers(kept.iter().map(|&unit| integers[unit]).collect()),
            None => Ids::Text(kept.iter().map(|&unit| self.ids[unit].clone()).collect()),
        };
        let data = Dataset::new(
            units("x", x_shape, x)?,
            units("t", vec![layout.t.len()], t)?,
            units("y", y_shape, y)?,
        )?;
        Ok(Some(Part { data, ids, moments: Some(moments) }))
    }

    /// Put a unit's samples on the grid.
    fn draw(&self, long: &Long, rows: &[u32], drawn: &mut [Vec<f32>; 2], tally: &mut Tally) {
        let (grid, series) = (&long.grid, long.series.len());
        let outcomes: Vec<usize> =
            long.outcomes.iter().filter_map(|name| long.series.iter().position(|s| s == name)).collect();
        let (before, after) = grid.points();
        let mut counts = [vec![0_u32; series * before], vec![0_u32; outcomes.len() * after]];
        for &row in rows {
            let Some(time) = self.after(row) else { continue };
            let point = Grid::point(grid.step, time);
            let (side, (first, last), points) =
                if point > 0 { (1, grid.y, after) } else { (0, grid.x, before) };
            if !(first..=last).contains(&point) {
                tally.outside += 1;
                continue;
            }
            let at = (point - first) as usize;
            let values = &self.values[row as usize * series..][..series];
            let mut again = false;
            let mut put = |channel: usize, value: f32| {
                if value.is_nan() {
                    return;
                }
                let place = channel * points + at;
                let (cell, count) = (&mut drawn[side][place], &mut counts[side][place]);
                again |= *count > 0;
                *count += 1;
                *cell = if *count == 1 { value } else { *cell + (value - *cell) / *count as f32 };
            };
            match side {
                0 => values.iter().enumerate().for_each(|(channel, &value)| put(channel, value)),
                _ => outcomes.iter().enumerate().for_each(|(channel, &c)| put(channel, values[c])),
            }
            tally.averaged += usize::from(again);
        }
    }

    fn unusable(&self, unit: usize, x: &[f32], y: &[f32]) -> Option<String> {
        let nothing = |values: &[f32]| values.iter().all(|value| value.is_nan());
        let why = if self.moments[unit].is_none() {
            "the time of the treatment is missing"
        } else if self.t[unit].iter().any(Option::is_none) {
            "the treatment is missing"
        } else if nothing(x) {
            "nothing was seen up to the treatment"
        } else if nothing(y) {
            "nothing was seen after the treatment"
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    /// Fill in the channels of covariates that do not change; the reason where a category was never seen.
    fn fix(&self, long: &Long, unit: usize, x: &mut [f32]) -> Option<String> {
        let points = long.grid.points().0;
        let mut channel = long.series.len();
        for (feature, known) in long.fixed.iter().zip(&self.fixed[unit]) {
            let elements = feature.elements();
            let own = &mut x[channel * points..(channel + elements) * points];
            channel += elements;
            let Some((label, _)) = known else { continue };
            match &feature.categories {
                None => own.fill(super::cells::number(label).unwrap_or(f64::NAN) as f32),
                Some(categories) => match categories.iter().position(|category| category == label) {
                    None => return Some(unseen(&feature.name, label)),
                    Some(k) => {
                        own.fill(0.0);
                        own[k * points..(k + 1) * points].fill(1.0);
                    }
                },
            }
        }
        None
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
