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

/// Members are trained again, at most this often, on the classes that they have found ...
const MAX_RELABELLINGS: usize = 2;
/// ... if the classes of more than this share of the units have changed, and as long as units held out are explained better.
const MIN_CHANGED: f64 = 0.002;

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
    let mut fitted = Fitted::new(context, trainer.train(settings, 0, &labels, count)?, labels, classes);
    for round in 1..=MAX_RELABELLINGS {
        let labels = fitted.labels_of_others(context, &rows);
        let changed = rows.iter().filter(|&&row| labels[row] != fitted.labels[row]).count();
        if known || changed as f64 <= MIN_CHANGED * rows.len() as f64 {
            break;
        }
        let again = Fitted::new(context, trainer.train(settings, round, &labels, count)?, labels, classes);
        if again.nll >= fitted.nll {
            break;
        }
        fitted = again;
    }
    let Fitted { members, labels, residuals, scales, prior, nll } = fitted;
    let mut class_sizes = vec![0; classes];
    rows.iter().for_each(|&row| class_sizes[labels[row]] += 1);
    let report = FitReport {
        class_sizes,
        agreement: 1.0,
        val_nll: nll,
        r2: held_out_r2(context, &members, &scales, &prior),
        val_mse: mean_observed(residuals.iter().flat_map(|class| &class.squares).copied()),
        epochs: members.iter().map(|member| member.epochs).max().unwrap_or(0),
        training_length: settings.length,
        ..FitReport::default()
    };
    let members = members.into_iter().map(|member| member.components).collect();
    Ok((Mixture { members, scales, prior }, report))
}

/// An ensemble fitted to given labels, with scales and class weights from held-out residuals.
struct Fitted {
    members: Vec<Member>,
    labels: Vec<usize>,
    residuals: Vec<Residuals>,
    scales: Scales,
    prior: Prior,
    /// The mean negative log-likelihood of units held out.
    nll: f64,
}

impl Fitted {
    fn new(context: &Context<'_>, members: Vec<Member>, labels: Vec<usize>, classes: usize) -> Self {
        let batcher = context.batcher();
        let residuals = held_out_residuals(context, &members, &labels, classes);
        let scales = Scales::fit(&residuals, batcher.scaler.y.elements(), batcher.scaler.t.elements(), true);
        let labelled = |rows: &[usize]| rows.iter().map(|&row| (row, labels[row])).collect::<Vec<_>>();
        let (train, valid) = (labelled(&context.split.train), labelled(&context.split.valid));
        let prior = Prior::fit(&batcher, &train, &valid, classes);
        let nll = held_out_nll(context, &members, &scales, &prior);
        Self { members, labels, residuals, scales, prior, nll }
    }

    fn mixture(&self, members: &[Member]) -> Mixture {
        let members = members.iter().map(|member| member.components.clone()).collect();
        Mixture { members, scales: self.scales.clone(), prior: self.prior.clone() }
    }

    /// The most probable class of `rows` under the member that was not trained on them, or under all if there is none.
    fn labels_of_others(&self, context: &Context<'_>, rows: &[usize]) -> Vec<usize> {
        let mut labels = most_probable_classes(context, &self.mixture(&self.members), rows);
        for member in &self.members {
            let own =
                most_probable_classes(context, &self.mixture(std::slice::from_ref(member)), &member.held_out);
            member.held_out.iter().for_each(|&row| labels[row] = own[row]);
        }
        labels
    }
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
