//! The last step of every recipe: calibration, support, and the model as a whole.

use super::ensemble::{fold_count, member_count};
use super::final_mixture::{MAX_RESIDUALS, MIN_RESIDUAL_UNITS};
use crate::config::FitConfig;
use crate::math::mean_observed;
use crate::model::abduction::{BatchQuestion, MIN_POSTERIOR, most_probable_effects};
use crate::model::{
    Calibration, CalibrationElement, CalibrationUnit, ClassNetworks, FitReport, Header, MemberFactor,
    Mixture, Model, Predictor, SparseEffects, SplitSizes, Support, class_residuals,
};
use crate::models::BaseConfig;
use crate::train::{Context, sample};
use crate::{Result, stream};

/// Units that show whether effects in images are sparse.
const SPARSE_EFFECT_UNITS: usize = 256;

/// Calibrates `mixture` and assembles the model.
pub(super) fn finish(
    context: &Context<'_>,
    base: BaseConfig,
    mixture: Mixture,
    alternatives: Vec<Mixture>,
    mut report: FitReport,
) -> Result<Model> {
    let units = calibration_units(context, &mixture);
    let factor = member_factor(&base, fold_count(member_count(context, &base)));
    let mut calibration = Calibration::fit(&units, context.scaler.y.elements(), factor);
    calibration.sparse_effects = sparse_effects(context, &mixture, &calibration);
    report.notes.extend(calibration.sparse_effects.map(|sparse| {
        format!(
            "{:.0}% of the elements of an outcome do not respond to the treatment: with shared noise, they keep \
             their factual values",
            100.0 * sparse.unresponsive_share()
        )
    }));
    let split = context.split;
    report.units = SplitSizes {
        train: split.train.len(),
        validation: split.valid.len(),
        calibration: split.calibration.len(),
    };
    report.delta_hat = delta_hat(context, &mixture);
    let classes = mixture.classes();
    let predictor = Predictor::ClassNetworks(ClassNetworks { mixture, alternatives, calibration });
    let data_hash = Some(context.data.content_hash());
    assemble(context, ModelParts { base, classes, predictor, report, data_hash }, &split.train)
}

/// What a recipe has found.
pub(super) struct ModelParts {
    pub base: BaseConfig,
    pub classes: usize,
    pub predictor: Predictor,
    pub report: FitReport,
    /// The hash of all units that the model was fitted to, if it is known.
    pub data_hash: Option<String>,
}

/// The model of a predictor, with the treatments of `rows` as its support.
pub(super) fn assemble(context: &Context<'_>, parts: ModelParts, rows: &[usize]) -> Result<Model> {
    let ModelParts { base, classes, predictor, report, data_hash } = parts;
    let header = Header {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: FitConfig::clone(context.config),
        shapes: context.shapes.clone(),
        base,
        classes,
        scaler: context.scaler.clone(),
        calibration: None,
        members: None,
        alternatives: Vec::new(),
        density: None,
        report,
        data_hash,
        layout: None,
    };
    let mut rng = stream(context.config.seed, &["support"]);
    let batcher = context.batcher();
    let support = context.pool.run_alone(|| Support::new(&batcher, rows, &mut rng))?;
    Ok(Model::new(header, predictor, support, context.device.clone(), context.pool.clone()))
}

/// The expected factor between the members' variance and that of their mean. Closed forms differ by their fold alone, as
/// in a jackknife, whose factor is known; networks differ by their initial weights too.
fn member_factor(base: &BaseConfig, folds: usize) -> MemberFactor {
    let folds = folds as f64;
    match base {
        BaseConfig::Linear(_) => MemberFactor { expected: (folds - 1.0).powi(2) / folds, uncertainty: 0.25 },
        _ => MemberFactor { expected: 1.0, uncertainty: 0.75 },
    }
}

/// Squared residuals of the calibration units under their most probable class, with scales and members' variances.
fn calibration_units(context: &Context<'_>, mixture: &Mixture) -> Vec<CalibrationUnit> {
    let batcher = context.batcher();
    let max_units = (MAX_RESIDUALS / batcher.scaler.y.elements() / 4).max(MIN_RESIDUAL_UNITS);
    let rows = sample(&context.split.calibration, max_units);
    let batches = context.pool.map(rows.chunks(batcher.at_once()).collect(), |rows| {
        let labels = mixture.joint(&batcher, rows, context.device).labels();
        let mut units = vec![CalibrationUnit::default(); rows.len()];
        for k in 0..mixture.classes() {
            let own: Vec<usize> = (0..rows.len()).filter(|&i| labels[i] == k).collect();
            add_elements(&mut units, context, mixture, k, rows, &own);
        }
        units
    });
    batches.into_iter().flatten().collect()
}

/// Adds the observed elements of the units at `own`, which belong to class `k`.
fn add_elements(
    units: &mut [CalibrationUnit],
    context: &Context<'_>,
    mixture: &Mixture,
    k: usize,
    rows: &[usize],
    own: &[usize],
) {
    let batcher = context.batcher();
    let (y, t) = (batcher.outcomes(rows), batcher.treatments(rows));
    let (d, d_t) = (batcher.scaler.y.elements(), batcher.scaler.t.elements());
    let moments = mixture.member_moments(k, &batcher, rows, context.device);
    for &i in own {
        let log_variance = mixture.scales.log_variance(k, &t[i * d_t..(i + 1) * d_t]);
        let mask = batcher.data.y().mask_row(rows[i]);
        for j in (0..d).filter(|&j| mask.is_none_or(|mask| mask[j])) {
            units[i].elements.push(CalibrationElement {
                index: j as u32,
                squared_residual: (y[i * d + j] - moments.mean[i * d + j]).powi(2),
                noise_variance: log_variance[j].exp(),
                member_variance: moments.variance[i * d + j],
            });
        }
    }
}

/// Whether effects in images are sparse, from calibration units under each other's treatments. Not with a single member,
/// as in the paper's recipe.
fn sparse_effects(
    context: &Context<'_>,
    mixture: &Mixture,
    calibration: &Calibration,
) -> Option<SparseEffects> {
    if context.shapes.y.len() < 3 || mixture.members.len() < 2 {
        return None;
    }
    let batcher = context.batcher();
    let rows = sample(&context.split.calibration, SPARSE_EFFECT_UNITS);
    let others: Vec<usize> = (0..rows.len()).map(|i| rows[(i + rows.len() / 2) % rows.len()]).collect();
    let at_once = batcher.at_once();
    let batches = rows.chunks(at_once).zip(others.chunks(at_once)).collect();
    let effects = context.pool.map(batches, |(rows, others)| {
        let to = batcher.treatments(others);
        let min_posterior = MIN_POSTERIOR;
        let question = BatchQuestion { batcher, rows, to: &to, from: None, calibration, min_posterior };
        most_probable_effects(mixture, &question, context.device)
    });
    SparseEffects::fit(&effects.concat())
}

/// The largest class mean of |y - m_k| per element, on calibration units.
fn delta_hat(context: &Context<'_>, mixture: &Mixture) -> f64 {
    let rows = &context.split.calibration;
    let batcher = context.batcher();
    let labels = mixture.joint_in(&batcher, rows, context.device, context.pool).labels();
    let classes = class_residuals(&mixture.members[0], &batcher, rows, &labels, context.device);
    let means = classes.iter().map(|class| mean_observed(class.squares.iter().map(|square| square.sqrt())));
    means.fold(0.0, f64::max)
}
