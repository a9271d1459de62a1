//! The regression of an outcome on covariates and treatment that fits the data best.

use super::process_regression::ProcessRegression;
use super::regression::{CrossFitted, Outcomes};
use super::tree_regression::TreeRegression;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::runtime::Pool;

/// Trees are fitted to at most this many outcomes, one by one ...
const MAX_TREE_OUTPUTS: usize = 64;
/// ... on at most this many columns.
const MAX_TREE_COLUMNS: usize = 512;

/// Cross-fitted boosted trees, a ridge regression, the mean of both, or Gaussian processes.
#[derive(Clone, Debug)]
pub(crate) struct OutcomeRegression {
    trees: Option<TreeRegression>,
    ridge: Option<CrossFitted>,
    process: Option<ProcessRegression>,
    folds: Vec<usize>,
    mse: f64,
}

impl OutcomeRegression {
    /// Fits boosted trees; where there are too many outcomes or covariates for them, as in images, a ridge regression.
    /// Missing outcomes are NaN.
    ///
    /// # Errors
    /// As [`CrossFitted::fit`].
    pub(crate) fn fit(data: &Dataset, y: Outcomes<'_>, seed: u64, pool: &Pool) -> Result<Self> {
        let columns = data.x().elements() + data.t().elements();
        if y.outputs <= MAX_TREE_OUTPUTS && columns <= MAX_TREE_COLUMNS {
            let sizes = TreeRegression::sizes(data.len(), y.outputs);
            let trees = TreeRegression::fit(data, y, sizes, seed, pool)?;
            let (folds, mse) = (trees.folds().to_vec(), trees.mse());
            return Ok(Self { trees: Some(trees), ridge: None, process: None, folds, mse });
        }
        let filled: Vec<f32> = y.values.iter().map(|y| if y.is_nan() { 0.0 } else { *y }).collect();
        let ridge = CrossFitted::fit(data, Outcomes { values: &filled, outputs: y.outputs }, seed)?;
        let (folds, mse) = (ridge.folds().to_vec(), ridge.mse());
        Ok(Self { trees: None, ridge: Some(ridge), process: None, folds, mse })
    }

    /// Fits Gaussian processes; where they cannot be fitted, as [`fit`](Self::fit).
    ///
    /// # Errors
    /// As [`CrossFitted::fit`].
    pub(crate) fn process(data: &Dataset, y: Outcomes<'_>, seed: u64, pool: &Pool) -> Result<Self> {
        let columns = data.x().elements() + data.t().elements();
        let fits = y.outputs <= MAX_TREE_OUTPUTS && columns <= MAX_TREE_COLUMNS;
        let process = if fits { ProcessRegression::fit(data, y, seed, pool)? } else { None };
        let Some(process) = process else { return Self::fit(data, y, seed, pool) };
        let folds = process.folds().to_vec();
        let mut regression = Self { trees: None, ridge: None, process: Some(process), folds, mse: 0.0 };
        regression.mse = regression.held_out_error(data, y);
        Ok(regression)
    }

    /// The mean squared error of observed outcomes on the folds left out.
    fn held_out_error(&self, data: &Dataset, y: Outcomes<'_>) -> f64 {
        let predicted = self.held_out(data.x(), data.t());
        let gaps = predicted.iter().zip(y.values).map(|(a, b)| f64::from(a - b)).filter(|gap| !gap.is_nan());
        let (count, squares) = gaps.fold((0.0, 0.0), |(n, sum), gap| (n + 1.0, sum + gap * gap));
        squares / f64::max(count, 1.0)
    }

    /// The best of boosted trees, `ridge` and their mean on the folds left out.
    ///
    /// # Errors
    /// As [`CrossFitted::fit`].
    pub(super) fn best(
        data: &Dataset,
        y: Outcomes<'_>,
        ridge: &CrossFitted,
        seed: u64,
        pool: &Pool,
    ) -> Result<Self> {
        let sizes = TreeRegression::sizes(data.len(), y.outputs);
        let trees = TreeRegression::fit(data, y, &sizes[sizes.len() - 1..], seed, pool)?;
        let folds = ridge.folds().to_vec();
        let both = [(true, true), (false, true), (true, false)].map(|(has_trees, has_ridge)| {
            let mut regression = Self {
                trees: has_trees.then(|| trees.clone()),
                ridge: has_ridge.then(|| ridge.clone()),
                process: None,
                folds: folds.clone(),
                mse: 0.0,
            };
            regression.mse = regression.held_out_error(data, y);
            regression
        });
        Ok(both.into_iter().min_by(|a, b| a.mse.total_cmp(&b.mse)).expect("there are three"))
    }

    /// Mean squared error on the folds left out.
    pub(crate) fn mse(&self) -> f64 {
        self.mse
    }

    /// The fold of every unit that was fitted.
    pub(crate) fn folds(&self) -> &[usize] {
        &self.folds
    }

    /// Predictions for units with treatments `t`, one each or one for all. `fold` gives the fold of a unit that was fitted;
    /// for other units the mean over folds is taken.
    ///
    /// # Shapes
    /// `[n, outputs]`
    pub(crate) fn predict(&self, x: &Units, t: &Units, fold: impl Fn(usize) -> Option<usize>) -> Vec<f32> {
        if let Some(process) = &self.process {
            return process.predict(x, t, fold);
        }
        let trees = self.trees.as_ref().map(|trees| trees.predict(x, t, &fold));
        let ridge = self.ridge.as_ref().map(|ridge| ridge.predict(x, t, &fold));
        match (trees, ridge) {
            (Some(trees), Some(ridge)) => trees.iter().zip(&ridge).map(|(a, b)| 0.5 * (a + b)).collect(),
            (trees, ridge) => trees.or(ridge).unwrap_or_default(),
        }
    }

    /// Predictions for the units that were fitted, each without its own fold.
    pub(crate) fn held_out(&self, x: &Units, t: &Units) -> Vec<f32> {
        self.predict(x, t, |i| Some(self.folds[i]))
    }
}
