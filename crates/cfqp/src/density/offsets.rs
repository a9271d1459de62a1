//! Predictions of other regressors, which are a part of the means of some networks: boosted trees and Gaussian processes.

use std::sync::Arc;

use super::regressor::Regressor;
use super::rows::Rows;
use super::selection::{FOLDS, fold_order};
use crate::process::{Process, ProcessTask, fit_process};
use crate::runtime::Pool;
use crate::stream;
use crate::trees::{BinnedRows, BoostConfig, CrossFitTask, CrossFittedTrees, cross_fit};

/// The numbers of leaves of the trees: large trees for products of many columns, small ones for sums.
const LEAVES: [usize; 2] = [31, 6];
/// The most covariates of a Gaussian process: those that matter most to trees.
const MAX_PROCESS_COVARIATES: usize = 32;

/// The fold of every row.
pub(crate) fn row_folds(rows: &Rows, seed: u64) -> Vec<usize> {
    let mut folds = vec![0; rows.len()];
    for (i, subject) in fold_order(rows.subjects.len(), seed).into_iter().enumerate() {
        rows.subjects[subject].iter().for_each(|&row| folds[row] = i % FOLDS);
    }
    folds
}

/// What other regressors say of the outcomes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offsets {
    /// The regressors of every fold, fitted without it.
    pub regressors: Vec<Arc<[Regressor]>>,
    /// How much the splits of trees by every input column lowered the sum of squares.
    pub gains: Vec<f64>,
}

/// Fits regressors without every fold in turn, for every outcome: trees with each number of leaves, and a Gaussian process. Gives
/// `rows` their predictions.
pub(crate) fn fit_offsets(rows: &mut Rows, covariates: usize, seed: u64, pool: &Pool) -> Offsets {
    let folds = row_folds(rows, seed);
    let binned = BinnedRows::new(&rows.inputs, rows.width);
    let config = BoostConfig::for_table(rows.len(), rows.width);
    let configs = LEAVES.map(|leaves| config.with_leaves(leaves));
    let mut gains = vec![0.0; rows.width];
    // of every fold, and of every row
    let mut regressors: Vec<Vec<Regressor>> = vec![Vec::new(); FOLDS];
    let mut out_of_fold: Vec<Vec<f64>> = Vec::new();
    for j in 0..rows.d {
        let value = |row: usize| match rows.is_observed(row, j) {
            true => f64::from(rows.numeric_outcome(row)[j]),
            false => f64::NAN,
        };
        let target: Vec<f64> = (0..rows.len()).map(value).collect();
        let task = CrossFitTask {
            values: &rows.inputs,
            binned: &binned,
            folds: &folds,
            target: &target,
            weights: None,
            seed,
        };
        let fitted = cross_fit(&task, &configs, pool);
        let mut own_gains = vec![0.0; rows.width];
        for trees in &fitted {
            own_gains.iter_mut().zip(&trees.gains).for_each(|(sum, gain)| *sum += gain);
        }
        gains.iter_mut().zip(&own_gains).for_each(|(sum, gain)| *sum += gain);
        for CrossFittedTrees { models, out_of_fold: predictions, .. } in fitted {
            regressors.iter_mut().zip(models).for_each(|(own, trees)| own.push(Regressor::Trees(trees)));
            out_of_fold.push(predictions);
        }
        if let Some(processes) = cross_fit_processes(&task, &process_columns(&own_gains, covariates), j, pool)
        {
            let predict = |(row, inputs): (usize, &[f32])| processes[folds[row]].predict(inputs);
            out_of_fold.push(rows.inputs.chunks_exact(rows.width).enumerate().map(predict).collect());
            let own = processes.into_iter().map(Regressor::Process);
            regressors.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
        }
    }
    let prediction = |row: usize| out_of_fold.iter().map(move |predictions| predictions[row] as f32);
    let offsets = (0..rows.len()).flat_map(prediction).collect();
    rows.offsets = offsets;
    Offsets { regressors: regressors.into_iter().map(Arc::from).collect(), gains }
}

/// A Gaussian process without every fold in turn; none if one of them cannot be fitted.
fn cross_fit_processes(
    task: &CrossFitTask<'_>,
    columns: &[usize],
    outcome: usize,
    pool: &Pool,
) -> Option<Vec<Process>> {
    let CrossFitTask { values, binned, folds, target, seed, .. } = *task;
    let fitted = pool.map((0..FOLDS).collect(), |fold: usize| {
        let is_own = |row: &usize| folds[*row] != fold && target[*row].is_finite();
        let train: Vec<usize> = (0..folds.len()).filter(is_own).collect();
        let task = ProcessTask { values, columns: binned.columns(), target, train: &train };
        let name = ["process", &outcome.to_string(), "fold", &fold.to_string()];
        fit_process(&task, columns, &mut stream(seed, &name))
    });
    fitted.into_iter().collect()
}

/// The covariates that matter most to trees, and all treatments.
fn process_columns(gains: &[f64], covariates: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..covariates).collect();
    columns.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    columns.truncate(MAX_PROCESS_COVARIATES);
    columns.sort_unstable();
    columns.extend(covariates..gains.len());
    columns
}
