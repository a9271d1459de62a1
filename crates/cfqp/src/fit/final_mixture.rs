//! The mixture of given labels: ensemble, scales and class weights, all from held-out residuals.

use super::ensemble::{EnsembleTrainer, Member, fold_count, folds, halves, member_count};
use super::predictive_power::HeldOutPredictions;
use crate::config::Sharing;
use crate::math::{mean, mean_observed};
use crate::model::{FitReport, HeldOutR2, Mixture, Prior, Residuals, Scales, class_residuals};
use crate::models::BaseConfig;
use crate::train::{Context, sample};
use crate::{Result, stream};

/// Largest number of residuals that scales and intervals are estimated from; all are in memory at once ...
pub(super) const MAX_RESIDUALS: usize = 1 << 23;
/// ... but never fewer units than this.
pub(super) const MIN_RESIDUAL_UNITS: usize = 1_000;

/// With fewer units than this, perceptrons are trained on halves of them.
const FEW_UNITS: usize = 1_500;

/// Classes to fit a mixture to.
pub(super) struct LabelledClasses<'a> {
    pub base: &'a BaseConfig,
    pub classes: usize,
    /// How the classes shared networks when they were found.
    pub sharing: Sharing,
    /// The class of every row of the data set.
    pub labels: Vec<usize>,
    /// Whether the labels are known, rather than estimates that a better network may improve.
    pub known: bool,
}

/// Trains the ensemble on given classes, then estimates scales and weights. Returns the mixture, and a report with the
/// scores filled in.
pub(super) fn fit_mixture(
    context: &Context<'_>,
    labelled: LabelledClasses<'_>,
) -> Result<(Mixture, FitReport)> {
    let LabelledClasses { base, classes, sharing, labels, known } = labelled;
    let batcher = context.batcher();
    let rows = context.split.learning();
    let count = member_count(context, base);
    let folds = match base {
        BaseConfig::Mlp(_) if rows.len() < FEW_UNITS => {
            let mut rng = stream(context.config.seed, &["halves"]);
            halves(context.data, &rows, count.div_ceil(2), &mut rng)
        }
        _ => folds(context.data, &rows, fold_count(count)),
    };
    let (count, trainer) = (count.min(folds.len()), EnsembleTrainer { context, base, classes, folds });
    let (settings, first) = trainer.choose(sharing, &labels)?;
    let labels = match first {
        Some(first) if !known => {
            let mixture =
                Mixture::with_shared_scale(first.components, &batcher, &first.held_out, context.device);
            most_probable_classes(context, &mixture, &rows)
        }
        _ => labels,
    };
    let members = trainer.train(settings, &labels, count)?;

    let residuals = held_out_residuals(context, &members, &labels, classes);
    let scales = Scales::fit(&residuals, batcher.scaler.y.elements(), batcher.scaler.t.elements(), true);
    let labelled = |rows: &[usize]| rows.iter().map(|&row| (row, labels[row])).collect::<Vec<_>>();
    let (train, valid) = (labelled(&context.split.train), labelled(&context.split.valid));
    let prior = Prior::fit(&batcher, &train, &valid, classes);
    let mut class_sizes = vec![0; classes];
    rows.iter().for_each(|&row| class_sizes[labels[row]] += 1);
    let report = FitReport {
        class_sizes,
        agreement: 1.0,
        val_nll: held_out_nll(context, &members, &scales, &prior),
        r2: held_out_r2(context, &members, &scales, &prior),
        val_mse: mean_observed(residuals.iter().flat_map(|class| &class.squares).copied()),
        epochs: members.iter().map(|member| member.epochs).max().unwrap_or(0),
        training_length: settings.length,
        ..FitReport::default()
    };
    let members = members.into_iter().map(|member| member.components).collect();
    Ok((Mixture { members, scales, prior }, report))
}

/// The most probable class of `rows`, indexed by row of the data set; 0 for all other rows.
pub(super) fn most_probable_classes(context: &Context<'_>, mixture: &Mixture, rows: &[usize]) -> Vec<usize> {
    let found = mixture.joint_in(&context.batcher(), rows, context.device, context.pool).labels();
    let mut labels = vec![0; context.data.len()];
    rows.iter().zip(found).for_each(|(&row, label)| labels[row] = label);
    labels
}

/// Residuals of units from members that were not trained on them, by class.
fn held_out_residuals(
    context: &Context<'_>,
    members: &[Member],
    labels: &[usize],
    classes: usize,
) -> Vec<Residuals> {
    let max_units =
        (MAX_RESIDUALS / context.scaler.y.elements() / members.len().max(1)).max(MIN_RESIDUAL_UNITS);
    let by_member = context.pool.map(members.iter().collect(), |member| {
        let rows = sample(&member.held_out, max_units);
        let own: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
        class_residuals(&member.components, &context.batcher(), &rows, &own, context.device)
    });
    let mut all = vec![Residuals::default(); classes];
    for member in by_member {
        all.iter_mut().zip(member).for_each(|(all, own)| all.append(own));
    }
    all
}

/// R2 of units under members that were not trained on them.
fn held_out_r2(
    context: &Context<'_>,
    members: &[Member],
    scales: &Scales,
    prior: &Prior,
) -> Option<HeldOutR2> {
    let max_units =
        (MAX_RESIDUALS / context.scaler.y.elements() / members.len().max(1)).max(MIN_RESIDUAL_UNITS);
    let by_member = context.pool.map(members.iter().collect(), |member| {
        let rows = sample(&member.held_out, max_units);
        let members = vec![member.components.clone()];
        let mixture = Mixture { members, scales: scales.clone(), prior: prior.clone() };
        let predicted = mixture.predictive_mean(&context.batcher(), &rows, context.device);
        HeldOutPredictions { y: context.batcher().outcomes(&rows), predicted, rows }
    });
    let mut all = HeldOutPredictions::default();
    by_member.into_iter().for_each(|member| all.append(member));
    all.r2(context.data.y(), context.data.groups())
}

/// Mean negative log-likelihood of units under members that were not trained on them.
fn held_out_nll(context: &Context<'_>, members: &[Member], scales: &Scales, prior: &Prior) -> f64 {
    let nll: Vec<f64> = context
        .pool
        .map(members.iter().collect(), |member| {
            let members = vec![member.components.clone()];
            let mixture = Mixture { members, scales: scales.clone(), prior: prior.clone() };
            mixture.joint(&context.batcher(), &member.held_out, context.device).marginal()
        })
        .concat();
    mean(&nll)
}
