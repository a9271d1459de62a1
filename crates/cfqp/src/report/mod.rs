//! The content of a report on a model and some units, as numbers. Layout is left to the caller.
//!
//! A report compares a low and a high treatment, by default both values of a treatment that takes two, the two most
//! frequent levels, or the 10th and the 90th percentile of the treatments.

mod balance;
mod by_treatment;
mod classes;
mod context;
mod covariates;
mod curves;
mod data_summary;
mod description;
mod evidence;
mod histogram;
mod observed;
mod read;
mod responses;
mod subgroups;
mod units;

use serde::Serialize;

pub use balance::{Balance, BalanceMeasure, CovariateBalance};
pub use by_treatment::{MeanInterval, ObservedPoint, OutcomeByTreatment, TreatmentGroup};
pub use classes::{ClassResponse, ClassSummary, CovariateMeans, ProfileBasis};
pub use context::CurveKind;
use context::{Outcome, ReportContext, Sampled};
pub use curves::{Curve, Curves, OutcomeCurves};
pub use data_summary::{DataSummary, OutcomeDistribution, TreatmentDistribution};
pub use description::{ModelDescription, OutcomeDescription, TreatmentDescription};
pub use evidence::{Evidence, LevelCoverage};
pub use histogram::{Histogram, ValueRange, WeightedHistogram};
pub use observed::ObservedOutcome;
pub use read::ReportUnits;
pub use responses::{Effects, OutcomeEffects};
pub use subgroups::{CovariateSplit, SplitGroup};
use units::SelectedUnits;
pub use units::{UnitCurve, UnitSummary};

use crate::ask::{AskOptions, StreamBatch, UsedRho, Verdict};
use crate::config::{Base, FitConfig};
use crate::data::table::{Layout, TreatmentValue, UnitBatch};
use crate::model::{FitReport, Model};
use crate::runtime::Monitor;
use crate::{Error, Result};

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
    /// Whether units with different treatments are alike in their covariates. None if there are no covariates, if too few units
    /// received the treatments that are compared, or if several amounts vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<Balance>,
    /// The hidden classes.
    pub classes: Vec<ClassSummary>,
    /// What the profiles of the classes compare.
    pub profiles: ProfileBasis,
    /// The mean outcomes by treatment.
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
        let Sampled { all, drawn: rows } = Sampled::new(model, units)?;
        let sample = all.pick(&rows)?;
        let context = ReportContext::new(model, &all.data, &sample.data, spec)?;
        let verdicts = context.verdicts(&units.data)?;
        check()?;
        let all_effects = model.effects(context.all, &context.from, &context.to, spec.ask)?;
        let effects = all_effects.pick(&rows);
        let drawn = context.outcomes_to_draw(&effects);
        check()?;
        let (curves, overlap) = context.curves(&context.grid, &effects, &drawn)?;
        check()?;
        let dose_curves = match context.dose_grid()? {
            Some(grid) => Some(context.curves(&grid, &effects, &drawn)?.0),
            None => None,
        };
        let selected = match chosen {
            Some(chosen) => SelectedUnits::asked_for(chosen),
            None => context.select_units(&effects, &sample)?,
        };
        let unit_summaries = context.summarise_units(&selected, &drawn)?;
        check()?;
        let summary = context.summarise_effects(&all_effects, &drawn)?;
        let profiles = context.profile_basis(&summary.plain);
        Ok(Self {
            data: context.summarise_data(),
            verdicts,
            evidence: context.collect_evidence(overlap)?,
            balance: context.balance()?,
            classes: context.summarise_classes(&effects, &drawn, profiles)?,
            profiles,
            curves,
            dose_curves,
            effects: summary,
            units: unit_summaries,
            model: summarise_model(model),
            question: context.question(),
        })
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
