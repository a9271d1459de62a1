//! Questions about all units of a table or of arrays, answered in batches.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;

use super::answer::Answers;
use super::distribution::{ValueProbabilities, effects_have_none};
use super::grid::GridUnits;
use super::input::UnitsInput;
use super::options::{AskOptions, option_setters};
use super::question::Treatments;
use super::rho::RhoBound;
use super::stream::{StreamBatch, UnitStream};
use super::tabulate::{AskedTreatments, Tabulation};
use crate::data::table::{OutputBatch, ReadSummary, UnitBatch, write_table};
use crate::data::{Dataset, Units};
use crate::model::Model;
use crate::runtime::Monitor;
use crate::{Error, Result};

/// Answers that are computed at once for dose-response curves.
const CURVE_BATCH: usize = 4096;

impl Model {
    /// Asks about all units of a table, which may be larger than memory, of an `.npz` file or of arrays. Units may have no outcome, and then no treatment; see
    /// [`read_units`](Self::read_units).
    ///
    /// ```
    /// # use std::fmt::Write as _;
    /// use cfqp::{Base, Classes, Fit, FitConfig, Table, TableSpec};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let patients = folder.path().join("patients.csv");
    /// # let (answers, effects) = (folder.path().join("answers.parquet"), folder.path().join("effects.csv"));
    /// # let mut text = String::from("age,dose,outcome\n");
    /// # (0..40).for_each(|i| writeln!(text, "{},{},{}", 20 + i, i % 7, i % 3).unwrap());
    /// # std::fs::write(&patients, text)?;
    /// let spec = TableSpec {
    ///     x: vec!["age".into()],
    ///     t: vec!["dose".into()],
    ///     y: vec!["outcome".into()],
    ///     ..TableSpec::default()
    /// };
    /// let config = FitConfig { classes: Classes::Given(1), base: Base::Linear, ..FitConfig::default() };
    /// let model = Fit::new(config).run(&Table::read(&patients, &spec)?)?;
    ///
    /// let read = model.ask_units(&patients).under(3.0).level(0.9).write(&answers)?;
    /// model.ask_units(&patients).effect(2.0, 5.0).write(&effects)?;
    /// assert_eq!(read.units, 40);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_units(&self, input: impl Into<UnitsInput>) -> AskUnits<'_> {
        AskUnits { model: self, input: input.into() }
    }
}

/// Units about which a model is asked, batch by batch.
#[derive(Clone, Debug)]
pub struct AskUnits<'a> {
    model: &'a Model,
    input: UnitsInput,
}

/// What is asked about every unit.
enum Asking<'a> {
    Outcome(Treatments<'a>),
    /// The outcome under the treatment in these columns of the table or this array of the file.
    OutcomeFrom(&'a str),
    Effect {
        from: Treatments<'a>,
        to: Treatments<'a>,
    },
    /// The same, between the treatments in columns of the table, or arrays of the file: the reference first.
    EffectFrom(String),
    Curve(&'a Units),
}

impl<'a> AskUnits<'a> {
    /// Asks for the outcome under `treatment`: one for all units, or, if the units are arrays, one per unit.
    pub fn under(self, treatment: impl Into<Treatments<'a>>) -> UnitsQuestion<'a> {
        self.question(Asking::Outcome(treatment.into()))
    }

    /// Asks for the outcome under the treatment that the input has for each unit, in `columns` (comma-separated) of a table
    /// or in an array of an `.npz` file.
    pub fn under_columns(self, columns: &'a str) -> UnitsQuestion<'a> {
        self.question(Asking::OutcomeFrom(columns))
    }

    /// Asks for the difference between the outcome under `to` and under `from`: each one for all units, or, if the units
    /// are arrays, one per unit.
    pub fn effect(self, from: impl Into<Treatments<'a>>, to: impl Into<Treatments<'a>>) -> UnitsQuestion<'a> {
        self.question(Asking::Effect { from: from.into(), to: to.into() })
    }

    /// Asks for the difference between the outcomes under the treatments that the input has for each unit, in the columns
    /// `to` and `from`, named as in [`under_columns`](Self::under_columns).
    pub fn effect_columns(self, from: &str, to: &str) -> UnitsQuestion<'a> {
        self.question(Asking::EffectFrom(format!("{from},{to}")))
    }

    /// Asks for the outcome under every treatment of `grid`; see [`Ask::curve`](crate::ask::Ask::curve).
    pub fn curve(self, grid: &'a Units) -> UnitsQuestion<'a> {
        self.question(Asking::Curve(grid))
    }

    fn question(self, asking: Asking<'a>) -> UnitsQuestion<'a> {
        let options = AskOptions::default();
        let inspect = Box::new(|_: &UnitBatch, _: &Answers| ());
        UnitsQuestion {
            ask: self,
            asking,
            ids: &[],
            options,
            rho_bounds: false,
            distributions: false,
            allow_empty: false,
            monitor: &(),
            inspect,
        }
    }
}

/// Called with every batch of units and its answers.
type Inspect<'a> = Box<dyn FnMut(&UnitBatch, &Answers) + 'a>;

/// A question about units in batches.
#[must_use = "a question does nothing until `write`, `for_each` or `run` is called"]
pub struct UnitsQuestion<'a> {
    ask: AskUnits<'a>,
    asking: Asking<'a>,
    ids: &'a [String],
    options: AskOptions,
    rho_bounds: bool,
    distributions: bool,
    allow_empty: bool,
    monitor: &'a dyn Monitor,
    inspect: Inspect<'a>,
}

impl<'a> UnitsQuestion<'a> {
    /// Restricts the question to the units with these ids; without ids, all units are asked about.
    pub fn only(mut self, ids: &'a [String]) -> Self {
        self.ids = ids;
        self
    }

    option_setters!();

    /// Writes the answers under rho = 0 and rho = 1 beside the others, in columns whose names end in `_rho0` and `_rho1`.
    pub fn rho_bounds(mut self, wanted: bool) -> Self {
        self.rho_bounds = wanted;
        self
    }

    /// Writes the probability of every value of counts and ordered levels; see [`Tabulation::add_distributions`].
    pub fn distributions(mut self, wanted: bool) -> Self {
        self.distributions = wanted;
        self
    }

    /// Whether a table without usable units gives answers without rows; by default it is an error.
    pub fn allow_empty(mut self, wanted: bool) -> Self {
        self.allow_empty = wanted;
        self
    }

    /// Lets `monitor` count the units that are done, and stop the work between batches.
    pub fn monitor(mut self, monitor: &'a dyn Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// Calls `inspect` with every batch of units and its answers. For curves, every unit has one answer per treatment.
    pub fn inspect(mut self, inspect: impl FnMut(&UnitBatch, &Answers) + 'a) -> Self {
        self.inspect = Box::new(inspect);
        self
    }

    /// Writes the answers as a table (`.parquet`, `.csv`, `.arrow` or `.jsonl`) with the columns of [`Tabulation`],
    /// completely or not at all. Returns what was read and dropped.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read as the model's units, [`Error::Interrupted`] if the monitor stops.
    pub fn write(self, out: &Path) -> Result<ReadSummary> {
        self.for_batches(|batches| write_table(out, batches).map(drop))
    }

    /// Passes the answers to `consume` in record batches with the columns of [`Tabulation`]. Returns what was read and
    /// dropped.
    ///
    /// # Errors
    /// As [`write`](Self::write), or the error of `consume`.
    pub fn for_each(self, mut consume: impl FnMut(RecordBatch) -> Result<()>) -> Result<ReadSummary> {
        self.for_batches(|mut batches| {
            (&mut batches).try_for_each(|batch| consume(batch?.to_record_batch().map_err(tabulation_error)?))
        })
    }

    /// Answers without writing; for use with [`inspect`](Self::inspect).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn run(self) -> Result<ReadSummary> {
        self.for_batches(|mut batches| (&mut batches).try_for_each(|batch| batch.map(drop)))
    }

    fn for_batches(
        mut self,
        consume: impl FnOnce(&mut dyn Iterator<Item = Result<OutputBatch>>) -> Result<()>,
    ) -> Result<ReadSummary> {
        self.options.validate_for(self.ask.model)?;
        let model = self.ask.model;
        let columns = match &self.asking {
            Asking::OutcomeFrom(columns) => Some(*columns),
            Asking::EffectFrom(columns) => Some(columns.as_str()),
            _ => None,
        };
        let mut stream = model.read_units(&self.ask.input, columns)?.only(self.ids);
        let per_unit = match &self.asking {
            Asking::Outcome(to) => to.units(model)?.into_owned(),
            Asking::Effect { from, to } => Units::side_by_side(&[&*from.units(model)?, &*to.units(model)?])?,
            _ => Units::new("treatment", vec![1], vec![0.0])?,
        };
        if per_unit.len() > 1 {
            stream = stream.with_treatments(per_unit)?;
        }
        let tabulation = Tabulation::new(model);
        let steps = if let Asking::Curve(grid) = self.asking { grid.len() } else { 1 };
        if self.allow_empty {
            stream = stream.allow_empty();
        }
        let mut batches = smaller_batches(&mut stream, (CURVE_BATCH / steps).max(1), steps > 1);
        let mut is_first = true;
        consume(&mut std::iter::from_fn(|| {
            let next = match batches.next() {
                Some(_) if self.monitor.stopped() => Err(Error::Interrupted),
                Some(batch) => batch.and_then(|batch| self.answer(batch, &tabulation)),
                None if is_first && self.allow_empty => self.no_answers(&tabulation),
                None => return None,
            };
            is_first = false;
            Some(next)
        }))?;
        drop(batches);
        Ok(stream.summary())
    }

    /// Answers without rows: those for a unit of which hardly anything is known, without their rows.
    fn no_answers(&self, tabulation: &Tabulation) -> Result<OutputBatch> {
        let shapes = self.ask.model.shapes();
        let zeros =
            |name: &str, shape: &[usize]| Units::new(name, shape.to_vec(), vec![0.0; shape.iter().product()]);
        let t = zeros("t", &[shapes.t])?;
        let treatments = match self.asking {
            Asking::OutcomeFrom(_) => Some(t.clone()),
            Asking::EffectFrom(_) => Some(Units::side_by_side(&[&t, &t])?),
            _ => None,
        };
        let data = Dataset::new(zeros("x", &shapes.x)?, t, Units::all_missing(shapes.y.clone(), 1))?;
        let batch = StreamBatch { units: UnitBatch::from(data), treatments, asked: None };
        let (answered, _) = self.answer_all(batch)?;
        Ok(answered.output(tabulation).without_rows())
    }

    fn answer(&mut self, batch: StreamBatch, tabulation: &Tabulation) -> Result<OutputBatch> {
        let asked = batch.asked.clone();
        let (answered, repeats) = self.answer_all(batch)?;
        let answered = match asked {
            None => answered,
            Some(positions) => {
                let rows: Vec<usize> =
                    positions.iter().flat_map(|&i| i * repeats..(i + 1) * repeats).collect();
                answered.pick(&rows)?
            }
        };
        let (units, answers) = (&answered.units, &answered.answers);
        let output = answered.output(tabulation);
        if repeats > 1 {
            let first: Vec<usize> = (0..units.data.len()).step_by(repeats).collect();
            (self.inspect)(&units.pick(&first)?, answers);
        } else {
            (self.inspect)(units, answers);
        }
        self.monitor.units(units.data.len() / repeats);
        Ok(output)
    }

    /// The answers for all units of a batch, and how often every unit is repeated in them.
    fn answer_all(&self, batch: StreamBatch) -> Result<(Answered, usize)> {
        let StreamBatch { units, treatments, .. } = batch;
        Ok(match &self.asking {
            Asking::Outcome(_) | Asking::OutcomeFrom(_) => {
                let to = match (&self.asking, treatments) {
                    (_, Some(treatments)) => treatments,
                    (Asking::Outcome(to), None) => to.units(self.ask.model)?.into_owned(),
                    _ => unreachable!("the stream reads the treatments asked for"),
                };
                (self.ask_batch(units, None, to)?, 1)
            }
            Asking::Effect { .. } | Asking::EffectFrom(_) => {
                let model = self.ask.model;
                let (from, to) = match (&self.asking, treatments) {
                    (_, Some(both)) => {
                        let middle = both.elements() / 2;
                        (both.part(0..middle), both.part(middle..both.elements()))
                    }
                    (Asking::Effect { from, to }, None) => {
                        (from.units(model)?.into_owned(), to.units(model)?.into_owned())
                    }
                    _ => unreachable!("the stream reads the treatments asked for"),
                };
                (self.ask_batch(units, Some(from), to)?, 1)
            }
            Asking::Curve(grid) => {
                let GridUnits { units, treatments } = GridUnits::new(&units, grid)?;
                (self.ask_batch(units, None, treatments)?, grid.len())
            }
        })
    }

    /// The answers for `units` under `to`, or its difference from `from`.
    fn ask_batch(&self, units: UnitBatch, from: Option<Units>, to: Units) -> Result<Answered> {
        let (model, options) = (self.ask.model, self.options);
        let ask = |options: AskOptions| match &from {
            Some(from) => model.effects(&units.data, from, &to, options),
            None => model.outcomes(&units.data, &to, options),
        };
        let answers = ask(options)?;
        let wanted = RhoBound::ALL.into_iter().filter(|_| self.rho_bounds);
        let bounds = wanted.map(|bound| Ok((bound, ask(AskOptions { rho: bound.rho(), ..options })?)));
        let bounds = bounds.collect::<Result<_>>()?;
        let distributions = match (self.distributions, &from) {
            (false, _) => Vec::new(),
            (true, None) => model.distributions(&units.data, &to, options)?,
            (true, Some(_)) => return Err(effects_have_none()),
        };
        Ok(Answered { units, from, to, answers, bounds, distributions })
    }
}

/// The error of answers that do not form a table.
fn tabulation_error(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::fit("the answers cannot be written as a table", "report this as a bug").with_source(cause)
}

/// Units, the treatments they were asked about (one per unit, or one for all) and their answers.
struct Answered {
    units: UnitBatch,
    from: Option<Units>,
    to: Units,
    answers: Answers,
    /// The answers under the bounds of rho, if they are wanted.
    bounds: Vec<(RhoBound, Answers)>,
    /// The distributions of counts and ordered levels, if they are wanted.
    distributions: Vec<ValueProbabilities>,
}

impl Answered {
    fn treatments(&self) -> AskedTreatments<'_> {
        match &self.from {
            Some(from) => AskedTreatments::Effect { from, to: &self.to },
            None => AskedTreatments::Outcome(&self.to),
        }
    }

    /// The rows of the table of answers.
    fn output(&self, tabulation: &Tabulation) -> OutputBatch {
        let treatments = self.treatments();
        let mut output = tabulation.output(&self.units, &treatments, &self.answers);
        for (bound, answers) in &self.bounds {
            tabulation.add_bound(&mut output, &treatments, *bound, answers);
        }
        tabulation.add_distributions(&mut output, &self.distributions);
        output
    }

    /// Those of the units at `rows`.
    fn pick(&self, rows: &[usize]) -> Result<Self> {
        let treatments = |all: &Units| if all.len() == 1 { all.clone() } else { all.pick(rows) };
        Ok(Self {
            units: self.units.pick(rows)?,
            from: self.from.as_ref().map(treatments),
            to: treatments(&self.to),
            answers: self.answers.pick(rows),
            bounds: self.bounds.iter().map(|(bound, answers)| (*bound, answers.pick(rows))).collect(),
            distributions: self.distributions.iter().map(|of_element| of_element.pick(rows)).collect(),
        })
    }
}

/// The batches of `stream`, cut into batches of about `size` units if `cut` or if units share subjects. Units of one
/// subject stay together.
fn smaller_batches(
    stream: &mut UnitStream,
    size: usize,
    cut: bool,
) -> impl Iterator<Item = Result<StreamBatch>> + '_ {
    stream.flat_map(move |batch| match batch {
        Ok(batch) if cut || batch.units.data.groups().is_some() => {
            let parts = subject_ranges(&batch.units.data, size).into_iter();
            parts.map(|rows| part(&batch, rows)).filter_map(Result::transpose).collect()
        }
        batch => vec![batch],
    })
}

/// The units of `batch` in `rows`; `None` if none of them is asked about.
fn part(batch: &StreamBatch, rows: Range<usize>) -> Result<Option<StreamBatch>> {
    let asked: Option<Vec<usize>> = batch.asked.as_ref().map(|asked| {
        asked
            .iter()
            .filter(|position| rows.contains(position))
            .map(|position| position - rows.start)
            .collect()
    });
    if asked.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let rows: Vec<usize> = rows.collect();
    let treatments = batch.treatments.as_ref().map(|treatments| treatments.pick(&rows));
    Ok(Some(StreamBatch { units: batch.units.pick(&rows)?, treatments, asked }))
}

/// All rows of `data` in ranges of at least `size` (the last may be shorter) that no subject crosses: of exactly `size`
/// without subjects.
fn subject_ranges(data: &Dataset, size: usize) -> Vec<Range<usize>> {
    let groups = data.groups().unwrap_or_default();
    let last: HashMap<u32, usize> = groups.iter().enumerate().map(|(row, &group)| (group, row)).collect();
    let (mut ranges, mut start, mut open_until) = (Vec::new(), 0, 0);
    for row in 0..data.len() {
        open_until = groups.get(row).map_or(row, |group| last[group].max(open_until));
        let is_end = row + 1 - start >= size && row >= open_until;
        if is_end || row + 1 == data.len() {
            ranges.push(start..row + 1);
            start = row + 1;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_subject_crosses_two_parts() {
        let units = || Units::new("a", vec![1], vec![0.0; 7]).unwrap();
        let data = Dataset::new(units(), units(), units()).unwrap();
        assert_eq!(subject_ranges(&data, 3), [0..3, 3..6, 6..7]);
        let adjacent = data.clone().with_groups(vec![0, 0, 1, 1, 1, 2, 3]).unwrap();
        assert_eq!(subject_ranges(&adjacent, 1), [0..2, 2..5, 5..6, 6..7]);
        assert_eq!(subject_ranges(&adjacent, 3), [0..5, 5..7]);
        let scattered = data.with_groups(vec![0, 1, 0, 2, 3, 2, 1]).unwrap();
        assert_eq!(subject_ranges(&scattered, 1), std::slice::from_ref(&(0..7)));
    }
}
