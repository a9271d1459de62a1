//! The content of a report on a model and some units, as numbers. Layout is left to the caller.
//!
//! A report compares a low and a high treatment, by default both values of a treatment that takes two, the two most
//! frequent levels, or the 10th and the 90th percentile of the treatments.

mod by_treatment;
mod classes;
mod data_summary;
mod description;
mod evidence;
mod histogram;
mod observed;
mod read;
mod responses;
mod units;

use std::cmp::Ordering;

use serde::Serialize;

pub use by_treatment::{MeanInterval, ObservedPoint, OutcomeByTreatment, TreatmentGroup};
pub use classes::{ClassResponse, ClassSummary, CovariateMeans};
pub use data_summary::{DataSummary, OutcomeDistribution, TreatmentDistribution};
pub use description::{ModelDescription, OutcomeDescription, TreatmentDescription};
pub use evidence::{Evidence, LevelCoverage};
pub use histogram::{Histogram, ValueRange};
pub use observed::ObservedOutcome;
pub use read::ReportUnits;
pub use responses::{Curve, Curves, Effects, OutcomeCurves, OutcomeEffects};
use units::SelectedUnits;
pub use units::{UnitCurve, UnitSummary};

use crate::ask::{AskOptions, StreamBatch, Tabulation, UsedRho, Verdict, treatment_quantiles};
use crate::config::{Base, FitConfig};
use crate::data::table::{Layout, TreatmentColumn, TreatmentValue, UnitBatch, relative_name};
use crate::data::{Dataset, Units};
use crate::math::argmin;
use crate::model::{FitReport, Model};
use crate::plain::treatment_levels;
use crate::runtime::Monitor;
use crate::{Error, Result};

/// The approximate number of outcome elements that a report is based on: the more elements a unit has, the fewer units.
const MAX_REPORT_ELEMENTS: usize = 100_000;
/// The number of units that a report uses even if they have many elements.
const MIN_REPORT_UNITS: usize = 200;
/// The largest number of units that a report uses.
const MAX_REPORT_UNITS: usize = 2500;
/// The number of treatments on a dose-response curve.
const CURVE_POINTS: usize = 13;
/// The quantiles of the treatments between which dose-response curves are computed.
const CURVE_START_QUANTILE: f64 = 0.02;
const CURVE_END_QUANTILE: f64 = 0.98;
/// The quantiles of the treatments that are compared by default.
const LOW_QUANTILE: f64 = 0.1;
const HIGH_QUANTILE: f64 = 0.9;

/// The treatments that a report compares, and the options of its questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSpec {
    /// The low treatment; `None` is the lower of two values, a frequent level, or the 10th percentile.
    pub from: Option<Vec<f32>>,
    /// The high treatment; `None` is the higher of two values, another frequent level, or the 90th percentile.
    pub to: Option<Vec<f32>>,
    /// The correlation of the noise and the level of the intervals.
    pub ask: AskOptions,
}

/// A report on a model and some units.
///
/// ```
/// use cfqp::data::table::{Ids, UnitBatch};
/// use cfqp::report::{Report, ReportSpec};
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig};
///
/// # fn main() -> cfqp::Result<()> {
/// let data = Oscillator::default().simulate(200, 1)?.data;
/// let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&data)?;
///
/// let units = UnitBatch::from(data);
/// let report = Report::new(&model, &units, None, &ReportSpec::default())?;
/// assert_eq!((report.data.units, report.classes.len()), (200, 3));
/// for response in &report.classes[0].responses {
///     println!("{}: {} -> {}", response.name, response.low, response.high);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The treatments that are compared, and the options.
    pub question: ReportQuestion,
    /// A summary of the data.
    pub data: DataSummary,
    /// The verdict on each assumption.
    pub verdicts: Vec<Verdict>,
    /// The figures behind the verdicts.
    pub evidence: Evidence,
    /// The hidden classes.
    pub classes: Vec<ClassSummary>,
    /// The dose-response curves of the classes.
    pub curves: Curves,
    /// With treatments of both kinds, the curves over the first that is a number, at the most frequent level. None if
    /// that treatment does not vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dose_curves: Option<Curves>,
    /// The effects of the high treatment against the low one.
    pub effects: Effects,
    /// Single units: the chosen ones, or typical and flagged ones.
    pub units: Vec<UnitSummary>,
    /// The model.
    pub model: ModelSummary,
}

/// The treatments that a report compares, with names and options.
#[derive(Clone, Debug, Serialize)]
pub struct ReportQuestion {
    /// The names of the treatments.
    pub treatments: Vec<String>,
    /// The names of the outcomes.
    pub outcomes: Vec<String>,
    /// The low treatment, or the first of the levels that are compared.
    pub from: Vec<TreatmentValue>,
    /// The median treatment; with levels, that of a typical unit.
    pub median: Vec<TreatmentValue>,
    /// The high treatment, or the second level.
    pub to: Vec<TreatmentValue>,
    /// The correlation of the noise in both worlds.
    #[serde(flatten)]
    pub rho: UsedRho,
    /// The level of the intervals.
    pub level: f64,
}

/// A summary of the model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// The version of the library that fitted the model.
    pub version: String,
    /// The name of the base model.
    pub base: Base,
    /// The number of classes.
    pub classes: usize,
    /// The number of members of the ensemble.
    pub members: usize,
    /// The settings of the fit.
    pub config: FitConfig,
    /// The columns of the table that the model was fitted to, if it was a table.
    pub layout: Option<Layout>,
    /// The report of the fit.
    pub fit: FitReport,
}

/// The model, the units and the treatments that all sections of a report are computed from.
struct ReportContext<'a> {
    model: &'a Model,
    data: &'a Dataset,
    outcomes: Vec<Outcome>,
    from: Units,
    median: Units,
    to: Units,
    /// The treatments of the dose-response curves.
    grid: Vec<Units>,
    ask: AskOptions,
}

/// An outcome and its elements in y.
struct Outcome {
    name: String,
    range: std::ops::Range<usize>,
}

impl Outcome {
    /// The mean over the elements of the outcome of unit `i`.
    fn mean(&self, units: &Units, i: usize) -> f64 {
        let elements = &units.row(i)[self.range.clone()];
        elements.iter().map(|value| f64::from(*value)).sum::<f64>() / elements.len() as f64
    }
}

impl Report {
    /// Computes a report on `units`, or on an even sample if there are many. The units that `chosen` asks about are shown
    /// one by one; without them, some typical and some flagged units are.
    ///
    /// # Errors
    /// [`Error::Config`] if an option of `spec` cannot be used, [`Error::Data`]
    /// if the units or the treatments do not fit the model.
    pub fn new(
        model: &Model,
        units: &UnitBatch,
        chosen: Option<&StreamBatch>,
        spec: &ReportSpec,
    ) -> Result<Self> {
        Self::compute(model, units, chosen, spec, &())
    }

    /// A report on units that were read from a file; `monitor` may stop it.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Interrupted`] if `monitor` stops the work.
    pub fn from_units(
        model: &Model,
        units: &ReportUnits,
        spec: &ReportSpec,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        Self::compute(model, &units.sample, units.chosen.as_ref(), spec, monitor)
    }

    fn compute(
        model: &Model,
        units: &UnitBatch,
        chosen: Option<&StreamBatch>,
        spec: &ReportSpec,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let check = || if monitor.stopped() { Err(Error::Interrupted) } else { Ok(()) };
        spec.ask.validate()?;
        check()?;
        let verdicts = model.verdicts(&units.data, spec.ask)?;
        check()?;
        let sample = sample_units(model, units)?;
        let context = ReportContext::new(model, &sample.data, spec)?;
        let effects = model.effects(context.data, &context.from, &context.to, spec.ask)?;
        let drawn = context.outcomes_to_draw(&effects);
        check()?;
        let (curves, overlap) = context.class_curves(&context.grid, &effects, &drawn)?;
        check()?;
        let dose_curves = match context.dose_grid()? {
            Some(grid) => Some(context.class_curves(&grid, &effects, &drawn)?.0),
            None => None,
        };
        let selected = match chosen {
            Some(chosen) => SelectedUnits::asked_for(chosen),
            None => context.select_units(&effects, &sample)?,
        };
        let unit_summaries = context.summarise_units(&selected, &drawn)?;
        check()?;
        Ok(Self {
            data: context.summarise_data(),
            verdicts,
            evidence: context.collect_evidence(overlap)?,
            classes: context.summarise_classes(&effects, &drawn)?,
            curves,
            dose_curves,
            effects: context.summarise_effects(&effects, &drawn)?,
            units: unit_summaries,
            model: summarise_model(model),
            question: context.question(),
        })
    }
}

/// An even sample of the units, of a size that depends on the number of outcome elements.
fn sample_units(model: &Model, units: &UnitBatch) -> Result<UnitBatch> {
    let max_units =
        (MAX_REPORT_ELEMENTS / model.scaler().y.elements()).clamp(MIN_REPORT_UNITS, MAX_REPORT_UNITS);
    units.pick(&units.data.even_sample(units.data.len().div_ceil(max_units)))
}

/// The treatments that are compared by default: both values of a treatment that takes two, else quantiles.
fn default_contrast(t: &Units) -> Result<[Units; 2]> {
    let two_levels = treatment_levels(t).filter(|levels| levels.len() == 2);
    let Some(mut levels) = two_levels else {
        return Ok([treatment_quantiles(t, LOW_QUANTILE)?, treatment_quantiles(t, HIGH_QUANTILE)?]);
    };
    levels.sort_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(Ordering::Equal));
    let treatment = |i: usize| Units::new("treatment", vec![t.elements()], levels[i].t.clone());
    Ok([treatment(0)?, treatment(1)?])
}

/// A treatment that is the same for all units.
fn one_treatment(t: &[f32]) -> Result<Units> {
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

impl<'a> ReportContext<'a> {
    fn new(model: &'a Model, data: &'a Dataset, spec: &ReportSpec) -> Result<Self> {
        let typical = treatment_quantiles(data.t(), 0.5)?;
        let levels = model.level_grid(&typical.row(0));
        let [low, high] = match &levels {
            Some(levels) => level_contrast(levels, data.t())?,
            None => default_contrast(data.t())?,
        };
        let treatment = |given: &Option<Vec<f32>>, default: Units| match given {
            Some(given) => Units::new("treatment", vec![given.len()], given.clone()),
            None => Ok(default),
        };
        let outcomes = Tabulation::new(model)
            .outcomes()
            .map(|(name, range)| Outcome { name: name_in_report(model, name, range.start), range })
            .collect();
        let grid = match &levels {
            Some(levels) => levels.iter().map(|t| one_treatment(t)).collect::<Result<_>>()?,
            None => curve_grid(data.t())?,
        };
        Ok(Self {
            model,
            data,
            outcomes,
            from: treatment(&spec.from, low)?,
            median: typical,
            to: treatment(&spec.to, high)?,
            grid,
            ask: spec.ask,
        })
    }

    /// Evenly spaced amounts of the first treatment that is a number, with the most frequent level of the first that has
    /// levels; none if there are not both, or if the amounts do not vary.
    fn dose_grid(&self) -> Result<Option<Vec<Units>>> {
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

    fn question(&self) -> ReportQuestion {
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

    /// The values of a treatment; amounts with an origin are shown relative to it.
    fn treatment_values(&self, t: &[f32]) -> Vec<TreatmentValue> {
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
    fn treatment_names(&self) -> Vec<String> {
        match self.model.layout() {
            Some(layout) => {
                layout.t.iter().map(|column| relative_name(&column.name, column.origin)).collect()
            }
            None => array_treatment_names(self.data.t().elements()),
        }
    }
}

/// The names of treatments that are elements of an array.
fn array_treatment_names(elements: usize) -> Vec<String> {
    match elements {
        1 => vec!["t".to_owned()],
        _ => (0..elements).map(|j| format!("t{j}")).collect(),
    }
}

fn summarise_model(model: &Model) -> ModelSummary {
    ModelSummary {
        version: model.version().to_owned(),
        base: model.base(),
        classes: model.classes(),
        members: model.members(),
        config: model.config().clone(),
        layout: model.layout().cloned(),
        fit: model.fit_report().clone(),
    }
}

#[cfg(test)]
mod tests;
