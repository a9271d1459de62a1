//! Single units: their factual outcomes and their answers.

use std::collections::HashSet;

use serde::{Serialize, Serializer};

use super::ReportContext;
use crate::Result;
use crate::ask::{Answers, Flag, GridUnits, StreamBatch};
use crate::data::Units;
use crate::data::table::{TreatmentValue, UnitBatch};

/// The largest number of units selected for one flag.
const MAX_UNITS_PER_FLAG: usize = 2;
/// The number of typical units selected for each class ...
const TYPICAL_UNITS_PER_CLASS: usize = 2;
/// ... unless there are more classes than this; then it is one.
const MAX_CLASSES_WITH_SEVERAL_UNITS: usize = 4;

/// One unit, with its answer under the low or the high treatment, whichever is farther from the treatment it received.
#[derive(Clone, Debug, Serialize)]
pub struct UnitSummary {
    /// The id of the unit.
    pub id: String,
    /// The reason why it was selected.
    pub why: String,
    /// The most probable class.
    pub class: usize,
    /// The posterior over classes.
    pub posterior: Vec<f32>,
    /// The flags of the answer; serialised as the text of a `flag` column.
    #[serde(rename = "flag", serialize_with = "serialise_flags")]
    pub flags: Vec<Flag>,
    /// The treatment that the unit received.
    pub t: Vec<TreatmentValue>,
    /// The treatment of the answer.
    pub to: Vec<TreatmentValue>,
    /// The covariates if they are a series or an image, with `None` where missing; otherwise empty.
    pub before: Vec<Option<f32>>,
    /// The factual outcome, with `None` where missing.
    pub factual: Vec<Option<f32>>,
    /// The answer.
    pub answer: Vec<f32>,
    /// The lower ends of the intervals.
    pub lower: Vec<f32>,
    /// The upper ends of the intervals.
    pub upper: Vec<f32>,
    /// The answers under every treatment, for the outcomes that are drawn.
    pub curves: Vec<UnitCurve>,
}

/// The answers for one unit and outcome under every treatment; for an outcome with several elements, for their mean.
#[derive(Clone, Debug, Serialize)]
pub struct UnitCurve {
    /// The name of the outcome.
    pub name: String,
    /// The answer at every treatment of [`Curves::grid`](super::Curves::grid).
    pub mean: Vec<f64>,
    /// The lower ends of the intervals.
    pub lower: Vec<f64>,
    /// The upper ends of the intervals.
    pub upper: Vec<f64>,
}

/// Units selected for a report.
pub(super) struct SelectedUnits {
    /// The units, and other units of their subjects.
    batch: UnitBatch,
    /// The positions of the selected units, each with its reason.
    selected: Vec<(usize, String)>,
}

impl SelectedUnits {
    /// The units that a user asked for.
    pub(super) fn asked_for(chosen: &StreamBatch) -> Self {
        let all = || (0..chosen.units.data.len()).collect();
        let rows: Vec<usize> = chosen.asked.clone().unwrap_or_else(all);
        let selected = rows.into_iter().map(|row| (row, "asked for".to_owned())).collect();
        Self { batch: chosen.units.clone(), selected }
    }

    /// The units at the rows of `sample`, with other units of their subjects.
    fn from_sample(sample: &UnitBatch, selected: Vec<(usize, String)>) -> Result<Self> {
        let mut rows: Vec<usize> = selected.iter().map(|(row, _)| *row).collect();
        if let Some(groups) = sample.data.groups() {
            let subjects: HashSet<u32> = rows.iter().map(|&row| groups[row]).collect();
            let is_other = |row: &usize| subjects.contains(&groups[*row]) && !rows.contains(row);
            let others: Vec<usize> = (0..groups.len()).filter(is_other).collect();
            rows.extend(others);
        }
        let selected = selected.into_iter().enumerate().map(|(i, (_, reason))| (i, reason)).collect();
        Ok(Self { batch: sample.pick(&rows)?, selected })
    }
}

impl ReportContext<'_> {
    /// Selects typical units of each class and some units with each flag from `sample`.
    pub(super) fn select_units(&self, effects: &Answers, sample: &UnitBatch) -> Result<SelectedUnits> {
        let classes = self.model.classes();
        let per_class = if classes > MAX_CLASSES_WITH_SEVERAL_UNITS { 1 } else { TYPICAL_UNITS_PER_CLASS };
        let mut selected: Vec<(usize, String)> = Vec::new();
        for k in 0..classes {
            for row in self.rank_by_typicality(effects, k).into_iter().take(per_class) {
                let reason = match classes {
                    1 => "typical".to_owned(),
                    _ => format!("typical of class {k}"),
                };
                selected.push((row, reason));
            }
        }
        for flag in Flag::ALL {
            let is_new =
                |i: &usize| effects.diagnoses[*i].has(flag) && selected.iter().all(|(known, _)| known != i);
            let flagged: Vec<usize> = (0..self.data.len()).filter(is_new).take(MAX_UNITS_PER_FLAG).collect();
            selected.extend(flagged.into_iter().map(|i| (i, format!("flagged {flag}"))));
        }
        SelectedUnits::from_sample(sample, selected)
    }

    /// The units of class `k`, those without a flag first, ordered by the distance of their effect from the median effect
    /// of the class.
    fn rank_by_typicality(&self, effects: &Answers, k: usize) -> Vec<usize> {
        let units: Vec<usize> = (0..self.data.len()).filter(|&i| effects.diagnoses[i].class == k).collect();
        let effect = |i: usize| self.outcomes[0].mean(&effects.point, i);
        let mut sorted: Vec<f64> = units.iter().map(|&i| effect(i)).collect();
        sorted.sort_by(f64::total_cmp);
        let Some(&median) = sorted.get(sorted.len() / 2) else { return Vec::new() };
        let rank = |i: usize| (!effects.diagnoses[i].ok(), (effect(i) - median).abs());
        let mut order: Vec<(usize, (bool, f64))> = units.into_iter().map(|i| (i, rank(i))).collect();
        order.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        order.into_iter().map(|(i, _)| i).collect()
    }

    /// A summary of every selected unit, with its reason and the curves of the outcomes `drawn`.
    pub(super) fn summarise_units(&self, units: &SelectedUnits, drawn: &[usize]) -> Result<Vec<UnitSummary>> {
        let SelectedUnits { batch, selected } = units;
        let to = self.farther_treatments(batch.data.t())?;
        let answers = self.model.outcomes(&batch.data, &to, self.ask)?;
        let curves = self.unit_curves(batch, drawn)?;
        let classes = self.model.classes();
        let is_structured = batch.data.x().shape().len() > 1;
        let summarise = |&(i, ref why): &(usize, String)| UnitSummary {
            id: batch.ids.text(i),
            why: why.clone(),
            class: answers.diagnoses[i].class,
            posterior: answers.posterior[i * classes..][..classes].to_vec(),
            flags: answers.diagnoses[i].flags().collect(),
            t: self.treatment_values(&batch.data.t().row(i)),
            to: self.treatment_values(&to.row(i)),
            before: if is_structured { masked_values(batch.data.x(), i) } else { Vec::new() },
            factual: masked_values(batch.data.y(), i),
            answer: answers.point.row(i).to_vec(),
            lower: answers.lower.row(i).to_vec(),
            upper: answers.upper.row(i).to_vec(),
            curves: curves[i].clone(),
        };
        Ok(selected.iter().map(summarise).collect())
    }

    /// For every treatment of `t`, the low or the high treatment, whichever is farther from it.
    fn farther_treatments(&self, t: &Units) -> Result<Units> {
        let deviation = |j: usize| self.model.scaler().t.deviation(j);
        let distance = |a: &[f32], b: &[f32]| -> f32 {
            a.iter().zip(b).enumerate().map(|(j, (a, b))| ((a - b) / deviation(j)).powi(2)).sum()
        };
        let (from, to) = (self.from.row(0), self.to.row(0));
        let farther = |i: usize| {
            if distance(&t.row(i), &from) > distance(&t.row(i), &to) { &from[..] } else { &to[..] }
        };
        Units::new("treatment", t.shape().to_vec(), (0..t.len()).flat_map(farther).copied().collect())
    }

    /// The answers under every treatment for every unit of `batch` for the outcomes `drawn`.
    fn unit_curves(&self, batch: &UnitBatch, drawn: &[usize]) -> Result<Vec<Vec<UnitCurve>>> {
        let values = self.grid.iter().flat_map(|t| t.row(0).to_vec()).collect();
        let grid = Units::new("grid", self.grid[0].shape().to_vec(), values)?;
        let GridUnits { units, treatments } = GridUnits::new(batch, &grid)?;
        let answers = self.model.outcomes(&units.data, &treatments, self.ask)?;
        let points = self.grid.len();
        let curve = |unit: usize, o: usize| {
            let means = |units: &Units| -> Vec<f64> {
                (0..points).map(|g| self.outcomes[o].mean(units, unit * points + g)).collect()
            };
            UnitCurve {
                name: self.outcomes[o].name.clone(),
                mean: means(&answers.point),
                lower: means(&answers.lower),
                upper: means(&answers.upper),
            }
        };
        Ok((0..batch.data.len()).map(|i| drawn.iter().map(|&o| curve(i, o)).collect()).collect())
    }
}

fn serialise_flags<S: Serializer>(flags: &[Flag], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&Flag::join(flags.iter().copied()))
}

/// The values of unit `i`, with `None` where missing.
fn masked_values(units: &Units, i: usize) -> Vec<Option<f32>> {
    let mask = units.mask_row(i);
    let value = |(j, &value): (usize, &f32)| mask.is_none_or(|mask| mask[j]).then_some(value);
    units.row(i).iter().enumerate().map(value).collect()
}
