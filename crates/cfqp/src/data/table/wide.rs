//! Tables with a row per unit.

use std::collections::HashMap;
use std::path::Path;

use super::cells::{Absent, Cell, Cells};
use super::layout::{Block, Feature, Form, Layout};
use super::part::{Ids, Part, Tally, units};
use super::problem::Problem;
use super::scan::{Role, no_number};
use super::source::{Chunk, Place, Source};
use crate::{Dataset, Result};

/// Turns rows into units.
pub(crate) struct Wide<'a> {
    pub path: &'a Path,
    pub layout: &'a Layout,
    pub absent: Absent,
    /// Whether units may lack covariates.
    pub missing_x: bool,
}

/// Values of some rows, NaN where missing.
struct Values {
    each: usize,
    values: Vec<f32>,
}

/// Rows that cannot be used, each with the reason.
type Unusable = Vec<Option<String>>;

impl Wide<'_> {
    /// The next units of `source`, of at most `rows` rows; none at its end.
    pub fn next(&self, source: &mut Source, rows: usize, tally: &mut Tally) -> Result<Option<Part>> {
        while let Some(chunk) = source.next(rows)? {
            tally.rows += chunk.rows();
            if let Some(part) = self.convert(&chunk, tally)? {
                tally.units += part.data.len();
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    fn convert(&self, chunk: &Chunk, tally: &mut Tally) -> Result<Option<Part>> {
        let Form::Wide { x, y } = &self.layout.form else { return Ok(None) };
        let mut unusable = vec![None; chunk.rows()];
        let ids = self.ids(chunk, &mut unusable);
        let named = |problem: Problem| problem.at(self.path);
        let t: Vec<Feature> =
            self.layout.t.iter().map(|name| Feature { name: name.clone(), categories: None }).collect();
        let t = self.features(chunk, &t, Role::T, &mut unusable).map_err(named)?;
        let x = self.block(chunk, x, Role::X, &mut unusable).map_err(named)?;
        let y = self.block(chunk, y, Role::Y, &mut unusable).map_err(named)?;
        for (i, unusable) in unusable.iter_mut().enumerate().filter(|(_, why)| why.is_none()) {
            *unusable = self.lacking(t.row(i), x.row(i), y.row(i)).map(str::to_owned);
        }
        let mut kept = Vec::new();
        for (i, why) in unusable.into_iter().enumerate() {
            match why {
                None => kept.push(i),
                Some(why) => tally.drop(why, || chunk.place(i).to_string()),
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let (x_shape, y_shape) = self.layout.shapes();
        let data = Dataset::new(
            units("x", x_shape, x.pick(&kept))?,
            units("t", vec![t.each], t.pick(&kept))?,
            units("y", y_shape, y.pick(&kept))?,
        )?;
        Ok(Some(Part { data, ids: ids.pick(&kept), moments: None }))
    }

    /// What a unit lacks that it must have; NaN stands for a missing value.
    fn lacking(&self, t: &[f32], x: &[f32], y: &[f32]) -> Option<&'static str> {
        let missing = |value: &f32| value.is_nan();
        if t.iter().any(missing) {
            Some("the treatment is missing")
        } else if y.iter().all(missing) {
            Some("no outcome was seen")
        } else if !self.missing_x && x.iter().any(missing) {
            Some("a covariate is missing, and none was when the model was fitted")
        } else {
            None
        }
    }

    fn ids(&self, chunk: &Chunk, unusable: &mut Unusable) -> Ids {
        let Some(name) = &self.layout.id else {
            return Ids::Rows((chunk.first..chunk.first + chunk.rows()).collect());
        };
        let mut lacks = |i: usize| unusable[i] = Some(format!("the id `{name}` is missing"));
        if let Some(ids) = chunk.integers(name) {
            (0..ids.len()).filter(|&i| ids[i].is_none()).for_each(lacks);
            return Ids::Numbers(ids.into_iter().map(Option::unwrap_or_default).collect());
        }
        let cells = chunk.cells(name);
        let label = |i: usize| {
            let label = cells.label(i, &Absent::default());
            if label.is_none() {
                lacks(i);
            }
            label.unwrap_or_default()
        };
        Ids::Text((0..chunk.rows()).map(label).collect())
    }

    fn block(
        &self,
        chunk: &Chunk,
        block: &Block,
        role: Role,
        unusable: &mut Unusable,
    ) -> Result<Values, Problem> {
        match block {
            Block::Features(features) => self.features(chunk, features, role, unusable),
            Block::Lists { columns, each, .. } => self.lists(chunk, columns, each, unusable),
        }
    }

    fn features(
        &self,
        chunk: &Chunk,
        features: &[Feature],
        role: Role,
        unusable: &mut Unusable,
    ) -> Result<Values, Problem> {
        let each: usize = features.iter().map(Feature::elements).sum();
        let mut out = Values { each, values: vec![f32::NAN; each * chunk.rows()] };
        let mut start = 0;
        for feature in features {
            let cells = single(chunk, &feature.name)?;
            let column = Column { cells: &cells, name: &feature.name, role, absent: &self.absent };
            match &feature.categories {
                None => {
                    for i in 0..chunk.rows() {
                        out.values[i * each + start] = column.number(i, || chunk.place(i))?;
                    }
                }
                Some(categories) => {
                    let index: HashMap<&str, usize> =
                        categories.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect();
                    for (i, unusable) in unusable.iter_mut().enumerate() {
                        let Some(label) = cells.label(i, &self.absent) else { continue };
                        let own = &mut out.values[i * each + start..][..categories.len()];
                        match index.get(label.as_str()) {
                            Some(&k) => {
                                own.fill(0.0);
                                own[k] = 1.0;
                            }
                            None => *unusable = Some(unseen(&feature.name, &label)),
                        }
                    }
                }
            }
            start += feature.elements();
        }
        Ok(out)
    }

    fn lists(
        &self,
        chunk: &Chunk,
        columns: &[String],
        shape: &[usize],
        unusable: &mut Unusable,
    ) -> Result<Values, Problem> {
        let part: usize = shape.iter().product();
        let each = part * columns.len();
        let mut out = Values { each, values: vec![f32::NAN; each * chunk.rows()] };
        for (c, name) in columns.iter().enumerate() {
            let Cells::Lists(lists) = chunk.cells(name) else {
                let hint = "give lists of numbers, as the model was fitted on, in a Parquet or Arrow file";
                return Err(Problem::new(format!("column `{name}` holds no lists"), hint));
            };
            for (i, unusable) in unusable.iter_mut().enumerate() {
                let Some((own, values)) = lists.row(i) else { continue };
                if values.iter().any(|value| value.is_infinite()) {
                    let problem =
                        format!("{}, column `{name}`: the list holds an infinite number", chunk.place(i));
                    return Err(Problem::new(problem, "give finite numbers"));
                }
                match lists.padded(i, shape) {
                    Some(padded) => {
                        let to = &mut out.values[i * each + c * part..][..part];
                        to.iter_mut().zip(padded).for_each(|(to, value)| *to = value as f32);
                    }
                    None => {
                        *unusable =
                            Some(format!("`{name}` is a list of shape {own:?}, not within {shape:?}"));
                    }
                }
            }
        }
        Ok(out)
    }
}

impl Values {
    fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.each..(i + 1) * self.each]
    }

    fn pick(self, rows: &[usize]) -> Vec<f32> {
        if rows.len() * self.each == self.values.len() {
            return self.values;
        }
        rows.iter().flat_map(|&i| self.row(i)).copied().collect()
    }
}

/// A column that should hold one value per row.
pub(crate) fn single<'a>(chunk: &'a Chunk, name: &str) -> Result<Cells<'a>, Problem> {
    match chunk.cells(name) {
        Cells::Dates => Err(Problem::new(format!("column `{name}` holds dates"), super::cells::DATES)),
        Cells::Lists(_) => {
            let hint = "give one value per row, as the model was fitted on";
            Err(Problem::new(format!("column `{name}` holds lists"), hint))
        }
        Cells::Other(kind) => Err(Problem::new(format!("column `{name}`: {kind}"), "give numbers or texts")),
        cells => Ok(cells),
    }
}

/// Cells that should be numbers.
pub(crate) struct Column<'a> {
    pub cells: &'a Cells<'a>,
    pub name: &'a str,
    pub role: Role,
    pub absent: &'a Absent,
}

impl Column<'_> {
    /// The number in row `i`, NaN where missing.
    pub fn number(&self, i: usize, place: impl FnOnce() -> Place) -> Result<f32, Problem> {
        match self.cells.cell(i, self.absent) {
            Cell::Missing => Ok(f32::NAN),
            Cell::Number(value) if (value as f32).is_finite() => Ok(value as f32),
            Cell::Number(value) => Err(no_number(place(), self.name, &value.to_string())),
            cell @ Cell::Text(text) => match cell.value().filter(|_| self.role != Role::X) {
                Some(value) => Ok(value as f32),
                None => Err(no_number(place(), self.name, text)),
            },
        }
    }
}

pub(crate) fn unseen(column: &str, label: &str) -> String {
    format!("`{column}` is `{label}`, which the model has never seen")
}
