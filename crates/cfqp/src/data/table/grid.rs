//! Places samples on a grid around the treatment.

use std::path::Path;

use super::cells::Reading;
use super::dates::parse_date;
use super::ids::Ids;
use super::layout::{Feature, GridRange, Layout, SampleLayout, TimeGrid};
use super::levels::LevelIndex;
use super::numbers::Decimal;
use super::problem::Problem;
use super::read_summary::{DropReason, ReadSummary};
use super::rules::UnitRules;
use super::samples::Samples;
use super::treatment::TreatmentValue;
use super::unit_batch::{UnitBatch, VALUE_BYTES, units_with_gaps};
use crate::data::Dataset;
use crate::error::Result;
use crate::runtime::check_memory;

/// More points on one side of the treatment indicate a mistake.
const MAX_POINTS: i64 = 20_000;

/// The arrays of one unit, NaN where missing.
struct UnitArrays {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Samples {
    /// The median time between two samples of a unit.
    pub(super) fn median_step(&self) -> Result<f64, Problem> {
        let gap = |pair: &[u32]| {
            let is_same_unit = self.unit[pair[0] as usize] == self.unit[pair[1] as usize];
            let gap = self.time[pair[1] as usize] - self.time[pair[0] as usize];
            (is_same_unit && gap > 0.0).then_some(gap)
        };
        let mut gaps: Vec<f64> = self.order.windows(2).filter_map(gap).collect();
        if gaps.is_empty() {
            let hint = "for a table with one row per unit, give `x`, `t` and `y`";
            return Err(Problem::new("no unit has samples at two times", hint));
        }
        let middle = gaps.len() / 2;
        Ok(*gaps.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// The grid that covers all samples, or those within `before` and `after` the treatment.
    pub(super) fn grid(
        &self,
        step: f64,
        before: Option<f64>,
        after: Option<f64>,
    ) -> Result<TimeGrid, Problem> {
        let empty = GridRange { first: i64::MAX, last: i64::MIN };
        let (mut x, mut y) = (empty, empty);
        // a sample exactly on the limit is inside, whatever the rounding
        let slack = 1e-9 * step;
        let first = before.map_or(f64::NEG_INFINITY, |time| -time - slack);
        let last = after.map_or(f64::INFINITY, |time| time + slack);
        let times = self.order.iter().filter_map(|&row| self.time_since_treatment(row));
        for time in times.filter(|time| (first..=last).contains(time)) {
            let point = TimeGrid::nearest_point(step, time);
            let side = if point > 0 { &mut y } else { &mut x };
            *side = GridRange { first: side.first.min(point), last: side.last.max(point) };
        }
        check_range("x", x, step, "up to")?;
        check_range("y", y, step, "after")?;
        Ok(TimeGrid { step, x, y })
    }

    /// The usable units on the grid; `None` if there are none.
    pub(super) fn to_batch(
        &self,
        path: &Path,
        layout: &Layout,
        samples: &SampleLayout,
        rules: UnitRules,
        summary: &mut ReadSummary,
    ) -> Result<Option<UnitBatch>> {
        let values = self.units().saturating_mul(layout.unit_elements());
        check_memory(path, "the units", values, VALUE_BYTES)?;
        let shapes = layout.shapes();
        let (x_size, y_size) = (shapes.x.iter().product(), shapes.y.iter().product());
        let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kept, mut treated_at) = (Vec::new(), Vec::new());
        let mut rest = self.order.as_slice();
        for unit in 0..self.ids.len() {
            let count = rest.iter().take_while(|&&row| self.unit[row as usize] as usize == unit).count();
            let rows;
            (rows, rest) = rest.split_at(count);
            let mut arrays = UnitArrays { x: vec![f32::NAN; x_size], y: vec![f32::NAN; y_size] };
            self.place_samples(samples, rows, &mut arrays, summary);
            match self.complete(layout, samples, unit, &mut arrays, rules) {
                Err(reason) => summary.count_dropped(reason, || self.ids[unit].clone()),
                Ok(mut elements) => {
                    x.append(&mut arrays.x);
                    y.append(&mut arrays.y);
                    t.append(&mut elements);
                    treated_at.extend(self.treated_at[unit].map(|(time, _)| time));
                    kept.push(unit);
                }
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        summary.units += kept.len();
        let data = Dataset::new(
            units_with_gaps("x", shapes.x, x)?,
            units_with_gaps("t", vec![layout.treatment_elements()], t)?,
            units_with_gaps("y", shapes.y, y)?,
        )?;
        let subjects = layout.group.is_some().then(|| self.pick_subjects(&kept));
        UnitBatch::new(data, self.pick_ids(&kept), Some(treated_at), subjects).map(Some)
    }

    fn pick_ids(&self, units: &[usize]) -> Ids {
        let integers: Option<Vec<i64>> = units.iter().map(|&unit| self.integers[unit]).collect();
        let texts = || Ids::Text(units.iter().map(|&unit| self.ids[unit].clone()).collect());
        integers.map_or_else(texts, Ids::Numbers)
    }

    fn pick_subjects(&self, units: &[usize]) -> Ids {
        Ids::Text(units.iter().filter_map(|&unit| Some(self.subject[unit].as_ref()?.0.clone())).collect())
    }

    /// Places a unit's samples on the grid; samples at the same point are averaged.
    fn place_samples(
        &self,
        layout: &SampleLayout,
        rows: &[u32],
        arrays: &mut UnitArrays,
        summary: &mut ReadSummary,
    ) {
        let (grid, series) = (&layout.grid, layout.series.len());
        let outcomes: Vec<usize> =
            layout.outcomes.iter().filter_map(|name| layout.series.iter().position(|s| s == name)).collect();
        let all: Vec<usize> = (0..series).collect();
        let mut x_counts = vec![0_u32; series * grid.x.points()];
        let mut y_counts = vec![0_u32; outcomes.len() * grid.y.points()];
        for &row in rows {
            let Some(time) = self.time_since_treatment(row) else { continue };
            let point = TimeGrid::nearest_point(grid.step, time);
            let (range, channels, cells, counts) = if point > 0 {
                (grid.y, &outcomes, &mut arrays.y, &mut y_counts)
            } else {
                (grid.x, &all, &mut arrays.x, &mut x_counts)
            };
            if !range.contains(point) {
                summary.outside += 1;
                continue;
            }
            let column = (point - range.first) as usize;
            let values = &self.values[row as usize * series..][..series];
            let mut is_averaged = false;
            for (channel, &source) in channels.iter().enumerate() {
                let index = channel * range.points() + column;
                is_averaged |= add_to_mean(&mut cells[index], &mut counts[index], values[source]);
            }
            summary.averaged += usize::from(is_averaged);
        }
    }

    /// Fills in the fixed covariates and returns the elements of the treatment; an error is the reason why the unit has to
    /// be dropped.
    fn complete(
        &self,
        layout: &Layout,
        samples: &SampleLayout,
        unit: usize,
        arrays: &mut UnitArrays,
        rules: UnitRules,
    ) -> Result<Vec<f32>, DropReason> {
        let is_empty = |values: &[f32]| values.iter().all(|value| value.is_nan());
        if let Some(column) = layout.group.as_ref().filter(|_| self.subject[unit].is_none()) {
            return Err(DropReason::MissingSubject { column: column.clone() });
        }
        if self.treated_at[unit].is_none() {
            return Err(DropReason::MissingTreatmentTime);
        }
        let missing_t: Vec<bool> = self.t[unit].iter().map(Option::is_none).collect();
        if !rules.accept_treatment(&missing_t, !is_empty(&arrays.y)) {
            return Err(DropReason::MissingTreatment);
        }
        let t = self.treatment(layout, unit)?;
        if is_empty(&arrays.x) {
            return Err(DropReason::NoSamplesBefore);
        }
        if is_empty(&arrays.y) && !rules.missing_outcome {
            return Err(DropReason::NoSamplesAfter);
        }
        let reading = Reading::new(&[], Decimal::new(layout.decimal));
        self.fill_fixed(samples, unit, &reading, &mut arrays.x)?;
        if !rules.missing_x && arrays.x.iter().any(|value| value.is_nan()) {
            return Err(DropReason::MissingCovariate);
        }
        Ok(t)
    }

    /// The elements of a unit's treatment, NaN where it is missing.
    fn treatment(&self, layout: &Layout, unit: usize) -> Result<Vec<f32>, DropReason> {
        let mut elements = Vec::new();
        for (column, recorded) in layout.t.iter().zip(&self.t[unit]) {
            match recorded {
                None => elements.extend(std::iter::repeat_n(f32::NAN, column.elements())),
                Some((TreatmentValue::Number(value), _)) => elements.push(*value),
                Some((TreatmentValue::Precise(value), _)) => elements.push(column.element(*value)),
                Some((TreatmentValue::Level(level), _)) => {
                    let unknown = || DropReason::UnknownCategory {
                        column: column.name.clone(),
                        category: level.clone(),
                    };
                    elements.extend(column.find_level(level).ok_or_else(unknown)?);
                }
            }
        }
        Ok(elements)
    }

    /// Fills the channels of covariates that do not change with time.
    fn fill_fixed(
        &self,
        samples: &SampleLayout,
        unit: usize,
        reading: &Reading,
        x: &mut [f32],
    ) -> Result<(), DropReason> {
        let points = samples.grid.x.points();
        let mut channel = samples.series.len();
        for (feature, recorded) in samples.fixed.iter().zip(&self.fixed[unit]) {
            let elements = feature.elements();
            let channels = &mut x[channel * points..(channel + elements) * points];
            channel += elements;
            let Some((label, _)) = recorded else { continue };
            let elements = encode_label(feature, label, reading)?;
            channels.chunks_mut(points).zip(elements).for_each(|(channel, element)| channel.fill(element));
        }
        Ok(())
    }
}

/// The elements of a covariate that does not change with time.
fn encode_label(feature: &Feature, label: &str, reading: &Reading) -> Result<Vec<f32>, DropReason> {
    let (column, text) = (feature.name.clone(), label.to_owned());
    let mut elements = vec![0.0; feature.elements()];
    match (&feature.categories, &feature.date) {
        (Some(categories), _) => {
            let k = LevelIndex::new(categories).find(label);
            elements[k.ok_or(DropReason::UnknownCategory { column, category: text })?] = 1.0;
        }
        (None, Some(date)) => {
            let days = parse_date(label, date.order).ok_or(DropReason::NotADate { column, text })?;
            date.write(days, &mut elements);
        }
        (None, None) => {
            let value = reading.cell(label).value().ok_or(DropReason::NotANumber { column, text })?;
            elements[0] = value as f32;
        }
    }
    Ok(elements)
}

/// Adds `value`, unless it is missing, to a running mean; returns whether the mean had a value before.
fn add_to_mean(mean: &mut f32, count: &mut u32, value: f32) -> bool {
    if value.is_nan() {
        return false;
    }
    *count += 1;
    *mean = if *count == 1 { value } else { *mean + (value - *mean) / *count as f32 };
    *count > 1
}

fn check_range(name: &str, range: GridRange, step: f64, side: &str) -> Result<(), Problem> {
    let GridRange { first, last } = range;
    if first > last {
        let problem = format!("no sample was taken {side} the treatment: {name} is empty");
        let hint = "compare `treated_at` with the times: samples up to that time are x, later ones are y";
        return Err(Problem::new(problem, hint));
    }
    if last - first >= MAX_POINTS {
        let problem = format!("the grid of {name} has {} points with step {step}", last - first + 1);
        let hint = "limit the time by `before` and `after`, or set a larger `step`; check for outlying times";
        return Err(Problem::new(problem, hint));
    }
    Ok(())
}
