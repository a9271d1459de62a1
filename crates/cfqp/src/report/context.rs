//! The model, the units and the treatments that all sections of a report are computed from.

use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;

use super::{ReportQuestion, ReportSpec, array_treatment_names};
use crate::Result;
use crate::ask::{AskOptions, Tabulation, Verdict, treatment_quantiles};
use crate::data::table::{Layout, TreatmentColumn, TreatmentValue, UnitBatch, relative_name};
use crate::data::{Dataset, Units};
use crate::math::argmin;
use crate::model::Model;
use crate::plain::treatment_levels;

/// The approximate number of outcome elements that a report is based on: the more elements a unit has, the fewer units.
const MAX_REPORT_ELEMENTS: usize = 100_000;
/// The number of units that a report uses even if they have many elements.
const MIN_REPORT_UNITS: usize = 200;
/// The largest number of units that a report draws ...
const MAX_DRAWN_UNITS: usize = 2500;
/// ... and of units that it averages over, if they have few elements.
const MAX_AVERAGED_UNITS: usize = 10_000;
/// Outcomes of at most so many elements are few.
const FEW_ELEMENTS: usize = 8;
/// The number of treatments on a dose-response curve.
pub(super) const CURVE_POINTS: usize = 13;
/// A treatment of at most so many values is asked about each of them.
const MAX_VALUES: usize = 12;
/// The quantiles of the treatments between which dose-response curves are computed.
const CURVE_START_QUANTILE: f64 = 0.02;
const CURVE_END_QUANTILE: f64 = 0.98;
/// The quantiles of the treatments that are compared by default.
const LOW_QUANTILE: f64 = 0.1;
const HIGH_QUANTILE: f64 = 0.9;

/// What the treatments of curves are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveKind {
    /// Evenly spaced amounts.
    Amounts,
    /// The values, or combinations of values, of treatments that take few.
    Values,
    /// Levels.
    Levels,
}

/// The model, the units and the treatments that all sections of a report are computed from.
pub(super) struct ReportContext<'a> {
    pub model: &'a Model,
    /// The units of averages.
    pub all: &'a Dataset,
    /// The units of charts: an even sample of `all`.
    pub data: &'a Dataset,
    pub outcomes: Vec<Outcome>,
    pub from: Units,
    pub median: Units,
    pub to: Units,
    /// The treatments of the curves.
    pub grid: Vec<Units>,
    pub kind: CurveKind,
    pub ask: AskOptions,
}

/// An outcome and its elements in y.
pub(super) struct Outcome {
    pub name: String,
    pub range: Range<usize>,
}

impl Outcome {
    /// The mean over the elements of the outcome of unit `i`.
    pub(super) fn mean(&self, units: &Units, i: usize) -> f64 {
        let elements = &units.row(i)[self.range.clone()];
        elements.iter().map(|value| f64::from(*value)).sum::<f64>() / elements.len() as f64
    }
}

/// The units of a report.
pub(super) struct Sampled {
    /// The units of averages.
    pub all: UnitBatch,
    /// The positions of those that charts are drawn of.
    pub drawn: Vec<usize>,
}

impl Sampled {
    /// Even samples of the units, of sizes that depend on the number of outcome elements.
    pub(super) fn new(model: &Model, units: &UnitBatch) -> Result<Self> {
        let elements = model.scaler().y.elements();
        let max_drawn = (MAX_REPORT_ELEMENTS / elements).clamp(MIN_REPORT_UNITS, MAX_DRAWN_UNITS);
        let max_all = if elements <= FEW_ELEMENTS { MAX_AVERAGED_UNITS } else { max_drawn };
        let all = units.pick(&units.data.even_sample(units.data.len().div_ceil(max_all)))?;
        let drawn = all.data.even_sample(all.data.len().div_ceil(max_drawn));
        Ok(Self { all, drawn })
    }
}

/// The treatments that are compared by default: both values of a treatment that takes two, the two most frequent
/// combinations of several treatments of few values, else quantiles.
pub(super) fn default_contrast(t: &Units) -> Result<[Units; 2]> {
    let few = treatment_levels(t)
        .filter(|levels| levels.len() == 2 || (t.elements() > 1 && (2..=MAX_VALUES).contains(&levels.len())));
    let Some(mut levels) = few else {
        return Ok([treatment_quantiles(t, LOW_QUANTILE)?, treatment_quantiles(t, HIGH_QUANTILE)?]);
    };
    levels.truncate(2);
    levels.sort_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(Ordering::Equal));
    Ok([one_treatment(&levels[0].t)?, one_treatment(&levels[1].t)?])
}

/// A treatment that is the same for all units.
pub(super) fn one_treatment(t: &[f32]) -> Result<Units> {
    Units::new("treatment", vec![t.len()], t.to_vec())
}

/// The two most frequent of the treatments `levels`, in their order.
fn level_contrast(levels: &[Vec<f32>], t: &Units) -> Result<[Units; 2]> {
    let mut order: Vec<usize> = (0..levels.len()).collect();
    let members = level_members(levels, t);
    order.sort_by_key(|&k| std::cmp::Reverse(members[k].len()));
    order.truncate(2);
    order.sort_unstable();
    Ok([one_treatment(&levels[order[0]])?, one_treatment(&levels[order[1]])?])
}

/// The units of each of the treatments `levels`: those whose treatment is nearest to it.
fn level_members(levels: &[Vec<f32>], t: &Units) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); levels.len()];
    for i in 0..t.len() {
        let row = t.row(i);
        let distance = |level: &Vec<f32>| -> f64 {
            level.iter().zip(row.iter()).map(|(a, b)| f64::from(a - b).powi(2)).sum()
        };
        members[argmin(levels.iter().map(distance)).unwrap_or(0)].push(i);
    }
    members
}

/// The name of the outcome whose first element is `j`. Values with an origin are shown relative to it.
fn name_in_report(model: &Model, name: &str, j: usize) -> String {
    let features = model.layout().map(Layout::outcome_features).unwrap_or_default();
    let own = features.iter().find(|(elements, _)| elements.contains(&j));
    relative_name(name, own.and_then(|(_, feature)| feature.origin))
}

/// Evenly spaced treatments between two quantiles.
fn curve_grid(t: &Units) -> Result<Vec<Units>> {
    let start = treatment_quantiles(t, CURVE_START_QUANTILE)?;
    let end = treatment_quantiles(t, CURVE_END_QUANTILE)?;
    let between = |i: usize| {
        let share = i as f32 / (CURVE_POINTS - 1) as f32;
        let at = start.values().iter().zip(end.values()).map(|(start, end)| start + share * (end - start));
        Units::new("grid", start.shape().to_vec(), at.collect())
    };
    (0..CURVE_POINTS).map(between).collect()
}

/// The values of treatments that take few, in rising order; none if they take many, or one.
fn single_values(t: &Units) -> Result<Option<Vec<Units>>> {
    let few = treatment_levels(t).filter(|values| (2..=MAX_VALUES).contains(&values.len()));
    let Some(mut values) = few else { return Ok(None) };
    values.sort_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(Ordering::Equal));
    values.iter().map(|value| one_treatment(&value.t)).collect::<Result<Vec<_>>>().map(Some)
}

impl<'a> ReportContext<'a> {
    /// The context of a report on the units `all`, of which `data` are drawn.
    pub(super) fn new(
        model: &'a Model,
        all: &'a Dataset,
        data: &'a Dataset,
        spec: &ReportSpec,
    ) -> Result<Self> {
        let typical = treatment_quantiles(all.t(), 0.5)?;
        let levels = model.level_grid(&typical.row(0));
        let [low, high] = match &levels {
            Some(levels) => level_contrast(levels, all.t())?,
            None => default_contrast(all.t())?,
        };
        let treatment = |given: &Option<Vec<f32>>, default: Units| match given {
            Some(given) => Units::new("treatment", vec![given.len()], given.clone()),
            None => Ok(default),
        };
        let outcomes = Tabulation::new(model)
            .outcomes()
            .map(|(name, range)| Outcome { name: name_in_report(model, name, range.start), range })
            .collect();
        let (kind, grid) = match (&levels, single_values(all.t())?) {
            (Some(levels), _) => {
                (CurveKind::Levels, levels.iter().map(|t| one_treatment(t)).collect::<Result<_>>()?)
            }
            (None, Some(values)) => (CurveKind::Values, values),
            (None, None) => (CurveKind::Amounts, curve_grid(all.t())?),
        };
        Ok(Self {
            model,
            all,
            data,
            outcomes,
            from: treatment(&spec.from, low)?,
            median: typical,
            to: treatment(&spec.to, high)?,
            grid,
            kind,
            ask: spec.ask,
        })
    }

    /// Evenly spaced amounts of the first treatment that is a number, with the most frequent level of the first that has
    /// levels; none if there are not both, or if the amounts do not vary.
    pub(super) fn dose_grid(&self) -> Result<Option<Vec<Units>>> {
        let columns = self.model.treatment_columns();
        let number = columns.iter().position(|column| column.levels.is_none());
        let (Some(number), Some(levels)) = (number, self.model.level_grid(&self.median.row(0))) else {
            return Ok(None);
        };
        let dose: usize = columns[..number].iter().map(|column| column.elements()).sum();
        let members = level_members(&levels, self.data.t());
        let Some((level, members)) = levels.iter().zip(&members).max_by_key(|(_, members)| members.len())
        else {
            return Ok(None);
        };
        let doses = members.iter().map(|&i| self.data.t().row(i)[dose]).collect();
        let grid = curve_grid(&Units::new("treatment", vec![1], doses)?)?;
        let with_dose = |own: &Units| {
            let mut t = level.clone();
            t[dose] = own.values()[0];
            one_treatment(&t)
        };
        let varies = grid[0].values() != grid[grid.len() - 1].values();
        varies.then(|| grid.iter().map(with_dose).collect()).transpose()
    }

    pub(super) fn question(&self) -> ReportQuestion {
        ReportQuestion {
            treatments: self.treatment_names(),
            outcomes: self.outcomes.iter().map(|outcome| outcome.name.clone()).collect(),
            from: self.treatment_values(&self.from.row(0)),
            median: self.treatment_values(&self.median.row(0)),
            to: self.treatment_values(&self.to.row(0)),
            rho: self.model.used_rho(self.ask.rho),
            level: self.ask.level,
        }
    }

    /// The verdict on every assumption; what depends on the treatments is judged for those that the report compares.
    pub(super) fn verdicts(&self, data: &Dataset) -> Result<Vec<Verdict>> {
        match self.compares_equal() {
            true => self.model.verdicts(data, self.ask),
            false => self.model.verdicts_for(data, &self.from.row(0), &self.to.row(0), self.ask),
        }
    }

    /// Whether the treatments that are compared are equal.
    pub(super) fn compares_equal(&self) -> bool {
        self.from.row(0)[..] == self.to.row(0)[..]
    }

    /// The values of a treatment; amounts with an origin are shown relative to it.
    pub(super) fn treatment_values(&self, t: &[f32]) -> Vec<TreatmentValue> {
        let relative = |column: TreatmentColumn| TreatmentColumn { origin: None, ..column };
        let mut start = 0;
        let mut value = |column: TreatmentColumn| {
            let elements = &t[start..start + column.elements()];
            start += column.elements();
            column.value(elements)
        };
        self.model.treatment_columns().into_iter().map(|column| value(relative(column))).collect()
    }

    /// The names of the treatments; those of amounts with an origin say that they are relative to it.
    pub(super) fn treatment_names(&self) -> Vec<String> {
        match self.model.layout() {
            Some(layout) => {
                layout.t.iter().map(|column| relative_name(&column.name, column.origin)).collect()
            }
            None => array_treatment_names(self.data.t().elements()),
        }
    }
}
