//! Units of interest, one by one: what they showed, and what they would have shown.

use serde::Serialize;

use super::Scene;
use crate::data::Part;
use crate::query::answer::Answers;
use crate::query::tabulate::repeat_over;
use crate::{Result, Units};

/// Units that are shown for one flag, at most.
const FLAGGED: usize = 2;

/// One unit, as it was and as it would have been under the low or the high treatment: the one farther from its own.
#[derive(Clone, Debug, Serialize)]
pub struct UnitSummary {
    /// What it is called.
    pub id: String,
    /// Why it is shown.
    pub why: String,
    /// Its most probable class.
    pub class: usize,
    /// How probable each class is.
    pub posterior: Vec<f32>,
    /// `ok`, or what speaks against the answer.
    pub flag: String,
    /// The treatment it got.
    pub t: Vec<f32>,
    /// The treatment asked about.
    pub to: Vec<f32>,
    /// Its covariates, where they are a series or an image; none where an element is missing.
    pub before: Vec<Option<f32>>,
    /// What it showed.
    pub factual: Vec<Option<f32>>,
    /// What it would have shown.
    pub answer: Vec<f32>,
    /// Lower ends of the intervals.
    pub lower: Vec<f32>,
    /// Upper ends of the intervals.
    pub upper: Vec<f32>,
    /// Its dose curves, for the outcomes drawn.
    pub curves: Vec<UnitCurve>,
}

/// The dose curve of one unit and outcome; of an outcome with several elements, the mean over them.
#[derive(Clone, Debug, Serialize)]
pub struct UnitCurve {
    /// The outcome.
    pub name: String,
    /// The answer at every treatment of the dose curves.
    pub mean: Vec<f64>,
    /// Lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
}

impl Scene<'_> {
    /// Some typical units of each class and some flagged ones, with the reason for each.
    pub(super) fn typical(&self, effects: &Answers, looked_at: &Part) -> Result<(Part, Vec<String>)> {
        let classes = self.fitted.classes();
        let each = if classes > 4 { 1 } else { 2 };
        let mut rows: Vec<usize> = Vec::new();
        let mut why: Vec<String> = Vec::new();
        for k in 0..classes {
            for row in self.middle_of(effects, k).into_iter().take(each) {
                rows.push(row);
                why.push(if classes == 1 { "typical".to_owned() } else { format!("typical of class {k}") });
            }
        }
        for flag in ["off_support", "ambiguous_class", "starts_disagree"] {
            let raised = |i: &usize| effects.diagnoses[*i].flag().split('|').any(|own| own == flag);
            let others: Vec<usize> =
                (0..self.data.len()).filter(|i| raised(i) && !rows.contains(i)).take(FLAGGED).collect();
            why.extend(others.iter().map(|_| format!("flagged {flag}")));
            rows.extend(others);
        }
        Ok((looked_at.pick(&rows)?, why))
    }

    /// The units of class k by how near their effects are to the class's median, those without a flag first.
    fn middle_of(&self, effects: &Answers, k: usize) -> Vec<usize> {
        let own: Vec<usize> = (0..self.data.len()).filter(|&i| effects.diagnoses[i].class == k).collect();
        let value = |i: usize| self.outcomes[0].mean(&effects.point, i);
        let mut sorted: Vec<f64> = own.iter().map(|&i| value(i)).collect();
        sorted.sort_by(f64::total_cmp);
        let Some(&median) = sorted.get(sorted.len() / 2) else { return Vec::new() };
        let rank = |i: usize| (!effects.diagnoses[i].ok(), (value(i) - median).abs());
        let mut order: Vec<(usize, (bool, f64))> = own.into_iter().map(|i| (i, rank(i))).collect();
        order.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        order.into_iter().map(|(i, _)| i).collect()
    }

    /// The units of `part`, each with its reason.
    pub(super) fn units(&self, part: &Part, why: &[String], shown: &[usize]) -> Result<Vec<UnitSummary>> {
        let to = self.farther(part.data.t())?;
        let answers = self.fitted.query(&part.data, &to, &self.ask)?;
        let curves = self.unit_curves(part, shown)?;
        let classes = self.fitted.classes();
        let structured = part.data.x().shape().len() > 1;
        let unit = |(i, curves): (usize, Vec<UnitCurve>)| UnitSummary {
            id: part.ids.text(i),
            why: why[i].clone(),
            class: answers.diagnoses[i].class,
            posterior: answers.posterior[i * classes..][..classes].to_vec(),
            flag: answers.diagnoses[i].flag(),
            t: part.data.t().row(i).to_vec(),
            to: to.row(i).to_vec(),
            before: if structured { masked(part.data.x(), i) } else { Vec::new() },
            factual: masked(part.data.y(), i),
            answer: answers.point.row(i).to_vec(),
            lower: answers.lower.row(i).to_vec(),
            upper: answers.upper.row(i).to_vec(),
            curves,
        };
        Ok(curves.into_iter().enumerate().map(unit).collect())
    }

    /// For every unit the low or the high treatment, whichever is farther from its own.
    fn farther(&self, t: &Units) -> Result<Units> {
        let deviation = |j: usize| self.fitted.scaler().t.deviation(j);
        let gap = |own: &[f32], other: &[f32]| -> f32 {
            own.iter().zip(other).enumerate().map(|(j, (a, b))| ((a - b) / deviation(j)).powi(2)).sum()
        };
        let (from, to) = (self.from.row(0), self.to.row(0));
        let pick = |i: usize| if gap(t.row(i), from) > gap(t.row(i), to) { from } else { to };
        Units::new("treatment", t.shape().to_vec(), (0..t.len()).flat_map(pick).copied().collect())
    }

    fn unit_curves(&self, part: &Part, shown: &[usize]) -> Result<Vec<Vec<UnitCurve>>> {
        let values = self.grid.iter().flat_map(|t| t.row(0)).copied().collect();
        let grid = Units::new("grid", self.grid[0].shape().to_vec(), values)?;
        let (repeated, to) = repeat_over(part, &grid)?;
        let answers = self.fitted.query(&repeated.data, &to, &self.ask)?;
        let steps = self.grid.len();
        let curve = |unit: usize, o: usize| {
            let own = |units: &Units| -> Vec<f64> {
                (0..steps).map(|g| self.outcomes[o].mean(units, unit * steps + g)).collect()
            };
            UnitCurve {
                name: self.outcomes[o].name.clone(),
                mean: own(&answers.point),
                lower: own(&answers.lower),
                upper: own(&answers.upper),
            }
        };
        Ok((0..part.data.len()).map(|i| shown.iter().map(|&o| curve(i, o)).collect()).collect())
    }
}

/// The values of unit `i`, none where they are missing.
fn masked(units: &Units, i: usize) -> Vec<Option<f32>> {
    let mask = units.mask_row(i);
    let value = |(j, &value): (usize, &f32)| mask.is_none_or(|mask| mask[j]).then_some(value);
    units.row(i).iter().enumerate().map(value).collect()
}
