//! Boosted trees for every fold, fitted without it.

use super::bins::BinnedRows;
use super::boosted::{BoostTask, BoostTrace, Boosted};
use super::config::BoostConfig;
use crate::math::argmin;
use crate::runtime::Pool;
use crate::stream;

/// What cross-fitted trees are fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossFitTask<'a> {
    /// The table, `[rows, columns]`; NaN is missing.
    pub values: &'a [f32],
    /// The same in bins.
    pub binned: &'a BinnedRows,
    /// The fold of every row, from 0 without gaps.
    pub folds: &'a [usize],
    /// The target of every row. Rows where it is not finite are predicted, but not fitted.
    pub target: &'a [f64],
    /// The weight of every row, 1 if none are given.
    pub weights: Option<&'a [f64]>,
    /// The seed of the columns that are drawn.
    pub seed: u64,
}

/// One model per fold, fitted to the others. All have the same number of trees, that with the smallest error over all folds
/// left out, or fewer if fitting stopped before.
#[derive(Clone, Debug)]
pub(crate) struct CrossFittedTrees {
    /// The models, by fold.
    pub models: Vec<Boosted>,
    /// The prediction of every row by the model of its fold.
    pub out_of_fold: Vec<f64>,
    /// How much the splits of every column lowered the sum of squares, over all folds.
    pub gains: Vec<f64>,
}

/// Fits trees with each of `configs` for every fold. The result does not depend on the threads of `pool`.
pub(crate) fn cross_fit(
    task: &CrossFitTask<'_>,
    configs: &[BoostConfig],
    pool: &Pool,
) -> Vec<CrossFittedTrees> {
    let folds = task.folds.iter().max().map_or(0, |max| max + 1);
    let jobs = (0..configs.len()).flat_map(|config| (0..folds).map(move |fold| (config, fold))).collect();
    let fitted = pool.map(jobs, |(config, fold): (usize, usize)| fit_fold(task, &configs[config], fold));
    let mut fitted = fitted.into_iter();
    configs.iter().map(|_| pool_folds(task, fitted.by_ref().take(folds).collect())).collect()
}

fn fit_fold(task: &CrossFitTask<'_>, config: &BoostConfig, fold: usize) -> (Boosted, BoostTrace) {
    let known = (0..task.folds.len()).filter(|&row| task.target[row].is_finite());
    let (held_out, train): (Vec<usize>, Vec<usize>) = known.partition(|&row| task.folds[row] == fold);
    let CrossFitTask { binned, target, weights, .. } = *task;
    let inner = BoostTask { binned, train: &train, target, weights, held_out: &held_out };
    let rng = &mut stream(task.seed, &["trees", "fold", &fold.to_string()]);
    Boosted::fit_all(&inner, config, rng)
}

/// Cuts all models to the number of trees that is best over all folds, and predicts.
fn pool_folds(task: &CrossFitTask<'_>, mut fitted: Vec<(Boosted, BoostTrace)>) -> CrossFittedTrees {
    let weight = |row: usize| task.weights.map_or(1.0, |weights| weights[row]);
    let known = |row: &usize| task.target[*row].is_finite();
    let mut shares = vec![0.0; fitted.len()];
    (0..task.folds.len()).filter(known).for_each(|row| shares[task.folds[row]] += weight(row));
    let longest = fitted.iter().map(|(_, trace)| trace.held_out_errors.len()).max().unwrap_or(0);
    let pooled = (0..longest).map(|trees| {
        let error = |(fold, (_, trace)): (usize, &(Boosted, BoostTrace))| {
            let errors = &trace.held_out_errors;
            errors.get(trees).or(errors.last()).map_or(0.0, |error| shares[fold] * error)
        };
        fitted.iter().enumerate().map(error).sum::<f64>()
    });
    if let Some(best) = argmin(pooled) {
        fitted.iter_mut().for_each(|(model, _)| model.truncate(best));
    }
    let mut gains = vec![0.0; task.binned.columns()];
    for (_, trace) in &fitted {
        gains.iter_mut().zip(&trace.gains).for_each(|(sum, gain)| *sum += gain);
    }
    let models: Vec<Boosted> = fitted.into_iter().map(|(model, _)| model).collect();
    let out_of_fold = predict_folds(&models, task);
    CrossFittedTrees { models, out_of_fold, gains }
}

fn predict_folds(models: &[Boosted], task: &CrossFitTask<'_>) -> Vec<f64> {
    let columns = task.binned.columns();
    let mut out = vec![0.0; task.folds.len()];
    for (fold, model) in models.iter().enumerate() {
        let rows: Vec<usize> = (0..out.len()).filter(|&row| task.folds[row] == fold).collect();
        let values: Vec<f32> =
            rows.iter().flat_map(|&row| &task.values[row * columns..][..columns]).copied().collect();
        let mut predicted = vec![0.0; rows.len()];
        model.predict_into(&values, &mut predicted);
        rows.iter().zip(predicted).for_each(|(&row, value)| out[row] = value);
    }
    out
}
