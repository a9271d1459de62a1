//! From a file and its description to units.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::cells::Absent;
use super::counts::Counts;
use super::layout::{Block, Feature, Form, Grid, Layout, Long, NEEDED, TableSpec, TreatedAt};
use super::long::{Plan, Samples, long};
use super::names::{listed, one, resolve};
use super::part::{Ids, Part, Tally};
use super::problem::Problem;
use super::scan::{Role, Seen, scan};
use super::source::{Source, check_present};
use super::wide::Wide;
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

fn nothing_left(tally: &Tally) -> Problem {
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

/// Columns by what they are there for.
struct Roles {
    id: Option<String>,
    x: Vec<String>,
    t: Vec<String>,
    y: Vec<String>,
    series: Vec<String>,
    time: Option<String>,
    moment: Option<String>,
}

fn roles(spec: &TableSpec, columns: &[String]) -> Result<Roles, Problem> {
    let named =
        |role: &str, name: &Option<String>| name.as_ref().map(|name| one(role, name, columns)).transpose();
    let (id, time) = (named("id", &spec.id)?, named("time", &spec.time)?);
    let moment = match &spec.treated_at {
        Some(TreatedAt::Column(name)) => Some(one("treated-at", name, columns)?),
        _ => None,
    };
    let mut taken: Vec<String> = [&id, &time, &moment].into_iter().flatten().cloned().collect();
    let mut next = |role: &str, patterns: &[String]| -> Result<Vec<String>, Problem> {
        let found = resolve(role, patterns, columns, &taken)?;
        if let Some(twice) = found.iter().find(|name| taken.contains(name)) {
            let hint = "give a column one role";
            return Err(Problem::new(format!("{role}: column `{twice}` has another role already"), hint));
        }
        taken.extend(found.iter().cloned());
        Ok(found)
    };
    let t = next("t", &spec.t)?;
    // in a table of samples, y names some of the series
    let (series, y) = match time {
        Some(_) => {
            let series = next("series", &spec.series)?;
            let y = resolve("y", &spec.y, &series, &[])?;
            (series.clone(), if y.is_empty() { series } else { y })
        }
        None => (Vec::new(), next("y", &spec.y)?),
    };
    let x = next("x", &spec.x)?;
    Ok(Roles { id, x, t, y, series, time, moment })
}

impl Roles {
    fn columns(&self) -> Vec<(String, Role)> {
        let with =
            |names: &[String], role: Role| names.iter().map(|name| (name.clone(), role)).collect::<Vec<_>>();
        let single = |name: &Option<String>, role| with(name.as_slice(), role);
        let y = if self.time.is_some() { Vec::new() } else { with(&self.y, Role::Y) };
        [
            with(&self.x, Role::X),
            with(&self.series, Role::Series),
            single(&self.time, Role::Time),
            single(&self.moment, Role::Moment),
            with(&self.t, Role::T),
            y,
        ]
        .concat()
    }

    fn wide(&self, spec: &TableSpec, seen: &[Seen], categorical: &[String]) -> Result<Layout, Problem> {
        let x = block("x", &self.x, seen, &spec.x_shape, categorical)?;
        let y = block("y", &self.y, seen, &spec.y_shape, categorical)?;
        Ok(self.layout(spec, Form::Wide { x, y }))
    }

    fn layout(&self, spec: &TableSpec, form: Form) -> Layout {
        let (id, t, missing) = (self.id.clone(), self.t.clone(), spec.missing.clone());
        Layout { id, t, form, missing, delimiter: spec.delimiter }
    }

    fn long(
        &self,
        spec: &TableSpec,
        time: &str,
        fixed: Vec<Feature>,
        path: &Path,
        absent: &Absent,
        tally: &mut Tally,
    ) -> Result<(Layout, Option<Part>)> {
        let at = |problem: Problem| problem.at(path);
        let treated_at = spec.treated_at.clone().unwrap_or(TreatedAt::Number(0.0));
        let grid = Grid { step: 1.0, x: (0, 0), y: (1, 1) };
        let (series, outcomes) = (self.series.clone(), self.y.clone());
        let long = Long { time: time.to_owned(), series, outcomes, fixed, treated_at, grid };
        let mut layout = self.layout(spec, Form::Long(long.clone()));
        let source = Source::open(path, spec.delimiter, Some(&layout.columns()))?;
        let samples = Samples::collect(&Plan::of(&layout, &long), path, source, absent, tally)?;
        let step = spec.step.map_or_else(|| samples.usual_step(), Ok).map_err(at)?;
        let grid = samples.grid(step, spec.before, spec.after).map_err(at)?;
        let long = Long { grid, ..long };
        layout.form = Form::Long(long.clone());
        let part = samples.part(&layout, &long, true, tally)?;
        Ok((layout, part))
    }
}

/// Columns with a value per row, with their categories.
fn features(seen: &[Seen], names: &[String], categorical: &[String]) -> Vec<Feature> {
    let feature = |name: &String| {
        let seen = seen.iter().find(|seen| seen.name == *name)?;
        let category = seen.is_category(categorical.contains(name));
        let categories = category.then(|| seen.categories.iter().cloned().collect());
        Some(Feature { name: name.clone(), categories })
    };
    names.iter().filter_map(feature).collect()
}

/// What array the columns `names` make.
fn block(
    role: &str,
    names: &[String],
    seen: &[Seen],
    asked: &[usize],
    categorical: &[String],
) -> Result<Block, Problem> {
    let own: Vec<&Seen> =
        names.iter().filter_map(|name| seen.iter().find(|seen| seen.name == *name)).collect();
    let lists: Vec<&Vec<usize>> = own.iter().filter_map(|seen| seen.list.as_ref()).collect();
    if lists.is_empty() {
        if !asked.is_empty() {
            let problem = format!("{role}-shape: the columns of {role} hold no lists");
            return Err(Problem::new(problem, "leave it out, or name columns of lists"));
        }
        return Ok(Block::Features(features(seen, names, categorical)));
    }
    if lists.len() < own.len() {
        let single = own.iter().find(|seen| seen.list.is_none()).map_or("", |seen| &seen.name[..]);
        let problem = format!("{role}: column `{single}` holds single values, others hold lists");
        return Err(Problem::new(problem, "give lists only, or single values only"));
    }
    let each: Vec<usize> = (0..lists[0].len())
        .map(|axis| lists.iter().map(|shape| shape.get(axis).copied().unwrap_or(0)).max().unwrap_or(0))
        .collect();
    if lists.iter().any(|shape| shape.len() != each.len()) {
        let problem = format!("{role}: lists of lists beside lists: {}", listed(names));
        return Err(Problem::new(problem, "give columns of the same kind"));
    }
    let shape = shape_of(role, &each, names.len(), asked)?;
    Ok(Block::Lists { columns: names.to_vec(), each, shape })
}

/// One column: its own axes, a flat list being a series of one channel. Several: a channel each.
fn shape_of(role: &str, each: &[usize], columns: usize, asked: &[usize]) -> Result<Vec<usize>, Problem> {
    let whole = each.iter().product::<usize>() * columns;
    if !asked.is_empty() {
        if asked.iter().product::<usize>() == whole && asked.len() <= 3 {
            return Ok(asked.to_vec());
        }
        let problem = format!("{role}-shape: {asked:?} is not an array of {whole} elements");
        return Err(Problem::new(problem, "give [channels, steps] or [channels, height, width]"));
    }
    let shape = if columns == 1 && each.len() > 1 { each.to_vec() } else { [&[columns], each].concat() };
    if shape.len() > 3 {
        let problem = format!("{role}: arrays of shape {shape:?} have too many axes");
        return Err(Problem::new(problem, format!("give --{role}-shape CHANNELS,HEIGHT,WIDTH")));
    }
    Ok(shape)
}

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
    /// All units, and how many were given out.
    Long(Option<Box<Part>>, usize),
}

impl Parts {
    /// Open the table `path` of the columns that `layout` knows. Parts have at most `rows` units. Without
    /// `missing_x`, units that lack a covariate are dropped.
    pub fn open(layout: &Layout, path: &Path, missing_x: bool, rows: usize) -> Result<Self> {
        let columns = Source::open(path, layout.delimiter, None)?.columns().to_vec();
        check_present(&layout.columns(), &columns).map_err(|problem| problem.at(path))?;
        let source = Source::open(path, layout.delimiter, Some(&layout.columns()))?;
        let absent = Absent::new(&layout.missing);
        let mut tally = Tally::default();
        let state = match long(layout) {
            None => State::Wide(Box::new(source)),
            Some(long) => {
                let samples = Samples::collect(&Plan::of(layout, long), path, source, &absent, &mut tally)?;
                State::Long(samples.part(layout, long, missing_x, &mut tally)?.map(Box::new), 0)
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
    fn whole(mut self, tally: &mut Tally) -> Result<Option<Part>> {
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
            State::Long(None, _) => Ok(None),
            State::Long(Some(all), done) => {
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

/// The names of the columns of the table `path`.
pub fn columns_of(path: &Path, delimiter: Option<char>) -> Result<Vec<String>> {
    Ok(Source::open(path, delimiter, None)?.columns().to_vec())
}

impl Layout {
    /// All units of another table with these columns.
    pub fn read(&self, path: &Path, missing_x: bool) -> Result<Part> {
        let mut tally = Tally::default();
        let part = Parts::open(self, path, missing_x, WHOLE)?.whole(&mut tally)?;
        part.ok_or_else(|| nothing_left(&tally).at(path))
    }
}
