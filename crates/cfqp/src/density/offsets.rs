//! Predictions of boosted trees, which are a part of the means of some networks.

use std::sync::Arc;

use super::rows::Rows;
use super::selection::{FOLDS, fold_order};
use crate::runtime::Pool;
use crate::trees::{BinnedRows, BoostConfig, Boosted, CrossFitTask, CrossFittedTrees, cross_fit};

/// The numbers of leaves of the trees: large trees for products of many columns, small ones for sums.
const LEAVES: [usize; 2] = [31, 6];

/// The fold of every row.
pub(crate) fn row_folds(rows: &Rows, seed: u64) -> Vec<usize> {
    let mut folds = vec![0; rows.len()];
    for (i, subject) in fold_order(rows.subjects.len(), seed).into_iter().enumerate() {
        rows.subjects[subject].iter().for_each(|&row| folds[row] = i % FOLDS);
    }
    folds
}

/// Fits trees without every fold in turn, for every outcome and each number of leaves, and gives `rows` their predictions. Returns
/// the trees of every fold, and how much the splits of every input column lowered the sum of squares.
pub(crate) fn fit_offsets(rows: &mut Rows, seed: u64, pool: &Pool) -> (Vec<Arc<[Boosted]>>, Vec<f64>) {
    let folds = row_folds(rows, seed);
    let binned = BinnedRows::new(&rows.inputs, rows.width);
    let config = BoostConfig::for_table(rows.len(), rows.width);
    let configs = LEAVES.map(|leaves| config.with_leaves(leaves));
    let mut fitted: Vec<CrossFittedTrees> = Vec::new();
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
        fitted.extend(cross_fit(&task, &configs, pool));
    }
    let mut gains = vec![0.0; rows.width];
    for trees in &fitted {
        gains.iter_mut().zip(&trees.gains).for_each(|(sum, gain)| *sum += gain);
    }
    let prediction = |row: usize| fitted.iter().map(move |trees| trees.out_of_fold[row] as f32);
    let offsets = (0..rows.len()).flat_map(prediction).collect();
    rows.offsets = offsets;
    let of_fold = |fold: usize| fitted.iter().map(|trees| trees.models[fold].clone()).collect();
    ((0..FOLDS).map(of_fold).collect(), gains)
}
