//! Units that a model is asked about, part by part, so that a file of any length fits into memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cfqp::{Dataset, Fitted, Format, Ids, Layout, Part, Parts, Tally, Units, columns_of, read_array};

use crate::error::{Failure, Result};
use crate::interrupt;
use crate::load::known_layout;

/// Numbers in one part, at most about.
const NUMBERS: usize = 1 << 19;

/// Some units, and the treatment asked about for each, where the file holds it.
pub struct Batch {
    pub part: Part,
    pub to: Option<Units>,
}

/// Units of a file.
pub struct Stream {
    path: PathBuf,
    source: Source,
    /// How many columns behind the treatments hold other treatments.
    extra: usize,
    /// The only units wanted, those not found yet among them.
    wanted: Option<(HashSet<String>, HashSet<String>)>,
    ended: bool,
}

enum Source {
    Arrays(Box<Arrays>),
    Table(Box<Parts>),
}

/// Units in memory, of which some were given out.
struct Arrays {
    data: Dataset,
    to: Option<Units>,
    done: usize,
    rows: usize,
}

impl Stream {
    /// The units of `path`, which are such as `fitted` was fitted on; with the treatments in `from`, an array or
    /// columns of the file.
    pub fn open(path: &Path, fitted: &Fitted, from: Option<&str>) -> Result<Self> {
        let shapes = fitted.shapes();
        let each = shapes.x.iter().chain([&1]).product::<usize>() + shapes.y.iter().product::<usize>();
        // whole batches of the library
        let rows = (NUMBERS / each.max(1)).clamp(256, 4096) / 256 * 256;
        let (source, extra) = if Format::of(path) == Some(Format::Npz) {
            let data = Dataset::read_npz(path)?;
            let to = from.map(|key| array(path, key, data.len())).transpose()?;
            (Source::Arrays(Box::new(Arrays { data, to, done: 0, rows })), 0)
        } else {
            let layout = known_layout(path, fitted)?;
            let extra: Vec<String> =
                from.map_or(Vec::new(), |from| from.split(',').map(str::to_owned).collect());
            let columns = columns_of(path, layout.delimiter)?;
            if let Some(name) = extra.iter().find(|name| !columns.contains(name)) {
                let message = format!("{}: there is no column `{name}`", path.display());
                return Err(Failure::new(message, format!("the columns are {}", columns.join(", "))));
            }
            let layout = Layout { t: [&layout.t[..], &extra].concat(), ..layout.clone() };
            (Source::Table(Box::new(Parts::open(&layout, path, shapes.missing, rows)?)), extra.len())
        };
        Ok(Self { path: path.to_owned(), source, extra, wanted: None, ended: false })
    }

    /// Only the units called `ids`, all of which must be there.
    pub fn only(mut self, ids: &[String]) -> Self {
        if !ids.is_empty() {
            let ids: HashSet<String> = ids.iter().map(|id| id.trim().to_owned()).collect();
            self.wanted = Some((ids.clone(), ids));
        }
        self
    }

    /// What was read so far.
    pub fn tally(&self) -> Tally {
        match &self.source {
            Source::Arrays(arrays) => {
                let mut tally = Tally::default();
                (tally.rows, tally.units) = (arrays.data.len(), arrays.data.len());
                tally
            }
            Source::Table(parts) => parts.tally.clone(),
        }
    }

    fn advance(&mut self) -> cfqp::Result<Option<Batch>> {
        match &mut self.source {
            Source::Arrays(arrays) => arrays.next(),
            Source::Table(parts) => match parts.next().transpose()? {
                None => Ok(None),
                Some(part) => split(part, self.extra).map(Some),
            },
        }
    }

    /// The units of a batch that are wanted.
    fn filter(&mut self, batch: Batch) -> cfqp::Result<Option<Batch>> {
        let Some((wanted, missing)) = &mut self.wanted else { return Ok(Some(batch)) };
        let ids = &batch.part.ids;
        let found: Vec<usize> = (0..ids.len()).filter(|&i| wanted.contains(&ids.text(i))).collect();
        if found.is_empty() {
            return Ok(None);
        }
        found.iter().for_each(|&i| {
            missing.remove(&ids.text(i));
        });
        let to = batch.to.map(|to| pick(&to, &found)).transpose()?;
        Ok(Some(Batch { part: batch.part.pick(&found)?, to }))
    }

    fn end(&mut self) -> Option<cfqp::Result<Batch>> {
        self.ended = true;
        let (_, missing) = self.wanted.as_ref()?;
        let first = missing.iter().min()?;
        Some(Err(cfqp::Error::File {
            path: self.path.clone(),
            problem: format!("there is no unit `{first}`, or it cannot be used"),
            hint: "give --units the ids of units as the file has them; without an id column, rows from 0"
                .to_owned(),
        }))
    }
}

impl Iterator for Stream {
    type Item = cfqp::Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            if interrupt::stopped() {
                self.ended = true;
                return Some(Err(cfqp::Error::Interrupted));
            }
            match self.advance() {
                Ok(None) => return self.end(),
                Ok(Some(batch)) => match self.filter(batch).transpose() {
                    None => {}
                    next => return next,
                },
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Arrays {
    fn next(&mut self) -> cfqp::Result<Option<Batch>> {
        let next: Vec<usize> = (self.done..self.data.len()).take(self.rows).collect();
        self.done += next.len();
        if next.is_empty() {
            return Ok(None);
        }
        let to = self.to.as_ref().map(|to| pick(to, &next)).transpose()?;
        let part = Part { data: self.data.pick(&next)?, ids: Ids::Rows(next), moments: None };
        Ok(Some(Batch { part, to }))
    }
}

fn pick(to: &Units, rows: &[usize]) -> cfqp::Result<Units> {
    let values = rows.iter().flat_map(|&i| to.row(i)).copied().collect();
    Units::new("treatment", to.shape().to_vec(), values)
}

/// A treatment per unit out of an .npz file.
pub fn array(path: &Path, key: &str, units: usize) -> Result<Units> {
    let hint = "give the name of an array with one treatment per unit, such as t_new";
    let missing = || Failure::new(format!("{}: there is no array `{key}`", path.display()), hint);
    let array = read_array(path, key)?.ok_or_else(missing)?;
    if array.len() == units {
        return Ok(array);
    }
    let message = format!("{}: `{key}` has {} units, x has {units}", path.display(), array.len());
    Err(Failure::new(message, hint))
}

/// Take the last `extra` treatments for those that are asked about.
fn split(part: Part, extra: usize) -> cfqp::Result<Batch> {
    if extra == 0 {
        return Ok(Batch { part, to: None });
    }
    let t = part.data.t();
    let own = t.each() - extra;
    let side = |name: &str, range: std::ops::Range<usize>| {
        let width = range.len();
        let values = (0..t.len()).flat_map(|i| t.row(i)[range.clone()].to_vec()).collect();
        Units::new(name, vec![width], values)
    };
    let (seen, to) = (side("t", 0..own)?, side("treatment", own..own + extra)?);
    let data = Dataset::new(part.data.x().clone(), seen, part.data.y().clone())?;
    Ok(Batch { part: Part { data, ..part }, to: Some(to) })
}
