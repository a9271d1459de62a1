//! Samples on a grid about the treatment, as units.

use super::layout::{Grid, Layout, Long};
use super::long::Samples;
use super::part::{Ids, Part, Tally, units};
use super::problem::Problem;
use super::wide::unseen;
use crate::{Dataset, Result};

/// More points than this on one side of the treatment are a mistake.
const MOST_POINTS: i64 = 20_000;

impl Samples {
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
        let integers: Option<Vec<i64>> = kept.iter().map(|&unit| self.integers[unit]).collect();
        let ids = integers.map_or_else(
            || Ids::Text(kept.iter().map(|&unit| self.ids[unit].clone()).collect()),
            Ids::Numbers,
        );
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

    /// Fill in the channels of covariates that do not change; the reason where one cannot be used.
    fn fix(&self, long: &Long, unit: usize, x: &mut [f32]) -> Option<String> {
        let points = long.grid.points().0;
        let mut channel = long.series.len();
        for (feature, known) in long.fixed.iter().zip(&self.fixed[unit]) {
            let elements = feature.elements();
            let own = &mut x[channel * points..(channel + elements) * points];
            channel += elements;
            let Some((label, _)) = known else { continue };
            match &feature.categories {
                None => match super::cells::number(label) {
                    None => return Some(format!("`{}` is `{label}`, which is not a number", feature.name)),
                    Some(value) => own.fill(value as f32),
                },
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
