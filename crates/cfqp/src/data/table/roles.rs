//! Which column is what: a description resolved against the columns that are there.

use std::path::Path;

use super::cells::Absent;
use super::layout::{Block, Feature, Form, Grid, Layout, Long, TableSpec, TreatedAt};
use super::long::{Plan, Samples};
use super::names::{listed, one, resolve};
use super::part::{Part, Tally};
use super::problem::Problem;
use super::scan::{Role, Seen};
use super::source::Source;
use crate::Result;

/// Columns by what they are there for.
pub(crate) struct Roles {
    id: Option<String>,
    pub x: Vec<String>,
    t: Vec<String>,
    y: Vec<String>,
    series: Vec<String>,
    time: Option<String>,
    moment: Option<String>,
}

/// Resolve all of `spec`; no column has two roles.
pub(crate) fn roles(spec: &TableSpec, columns: &[String]) -> Result<Roles, Problem> {
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
    /// Every column that is read, ids apart.
    pub fn columns(&self) -> Vec<(String, Role)> {
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

    /// The layout of a table with a row per unit.
    pub fn wide(&self, spec: &TableSpec, seen: &[Seen], categorical: &[String]) -> Result<Layout, Problem> {
        let x = block("x", &self.x, seen, &spec.x_shape, categorical)?;
        let y = block("y", &self.y, seen, &spec.y_shape, categorical)?;
        Ok(self.layout(spec, Form::Wide { x, y }))
    }

    fn layout(&self, spec: &TableSpec, form: Form) -> Layout {
        let (id, t, missing) = (self.id.clone(), self.t.clone(), spec.missing.clone());
        Layout { id, t, form, missing, delimiter: spec.delimiter }
    }

    /// The layout and the units of a table with a row per sample: its grid comes from the samples.
    pub fn long(
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
pub(crate) fn features(seen: &[Seen], names: &[String], categorical: &[String]) -> Vec<Feature> {
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
