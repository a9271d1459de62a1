//! A fit that is told the class of every unit: what the default recipe would reach, were its classes right.

use super::explore::{Context, explored, short_schedule};
use super::fit::{Labelled, finish, learn};
use super::fitted::{FitReport, Fitted};
use super::mixture::Mixture;
use super::pool::Pool;
use super::prepared::Prepared;
use super::select::candidates;
use super::store::Store;
use super::trainer::{Task, train};
use super::{Monitor, Resources};
use crate::config::{FitConfig, Sharing};
use crate::data::{Dataset, Told};
use crate::models::BaseConfig;
use crate::{Result, stream};

/// Fit the ensemble of the default recipe to `data`, whose units are of the classes `labels`.
pub(crate) fn fit_told(
    data: &Dataset,
    labels: &[usize],
    config: &FitConfig,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Fitted> {
    config.check()?;
    assert_eq!(labels.len(), data.len(), "every unit has a class");
    let prepared = Prepared::new(data, config.seed, false)?;
    let (pool, store) = (Pool::new(resources.threads)?, Store::open(resources, config, data)?);
    let explored = explored(&prepared.split, prepared.scaler.y.each());
    let context = Context {
        config,
        data,
        scaler: &prepared.scaler,
        shapes: &prepared.shapes,
        split: &prepared.split,
        explored: &explored,
        device: &resources.device,
        pool: &pool,
        monitor,
        store: &store,
    };
    let classes = labels.iter().max().map_or(1, |most| most + 1);
    let base = choose_base(&context, labels, classes)?;
    let labelled = Labelled {
        base: &base,
        classes,
        sharing: Sharing::Conditional,
        labels: labels.to_vec(),
        settled: true,
    };
    let learned = learn(&context, labelled)?;
    let report = FitReport {
        class_sizes: learned.sizes,
        agreement: 1.0,
        val_nll: learned.val_nll,
        val_mse: learned.val_mse,
        epochs: learned.epochs,
        effort: learned.effort.to_owned(),
        ..FitReport::default()
    };
    let mixture = Mixture { prior: learned.prior, scales: learned.scales, members: learned.members };
    finish(&context, base, mixture, Vec::new(), report)
}

/// The base model that, told the class, predicts validation units best.
fn choose_base(context: &Context<'_>, labels: &[usize], classes: usize) -> Result<BaseConfig> {
    let mut candidates = candidates(context);
    if candidates.len() == 1 {
        return Ok(candidates.remove(0));
    }
    let told = Told::Each(labels, classes);
    let losses = context.pool.try_map(candidates.iter().collect(), |base| {
        let net = context.init(base, classes, &["told", base.name()])?;
        let schedule = short_schedule(base, context.config, context.split.train.len());
        context.monitor.stage("base model, told the classes", schedule.epochs);
        let mut rng = stream(context.config.seed, &["told", base.name(), "train"]);
        let trained = train(net, &Task { told, ..context.task() }, &schedule, &mut rng, context.monitor)?;
        Ok(trained.loss)
    })?;
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0);
    Ok(candidates.swap_remove(best))
}
