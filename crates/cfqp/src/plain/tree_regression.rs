//! Cross-fitted boosted trees of the outcome on covariates and treatment.

use super::folds::regression_folds;
use super::regression::Outcomes;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::math::argmin;
use crate::runtime::Pool;
use crate::trees::{BinnedRows, BoostConfig, Boosted, CrossFitTask, CrossFittedTrees, cross_fit};

/// Small trees do better on fewer units than this.
const SMALL_UNITS: usize = 500;
/// Of more outcomes than this, one size of trees is fitted.
const MAX_COMPARED_OUTPUTS: usize = 8;

/// Trees for every outcome, size and fold. Of two sizes, the better one is kept, or both if their mean is better.
#[derive(Clone, Debug)]
pub(crate) struct TreeRegression {
    folds: Vec<usize>,
    count: usize,
    /// By outcome, then by size, then by fold.
    models: Vec<Vec<Vec<Boosted>>>,
    mse: f64,
}

impl TreeRegression {
    /// The numbers of leaves that are worth comparing.
    pub(crate) fn sizes(units: usize, outputs: usize) -> &'static [usize] {
        match (units < SMALL_UNITS, outputs > MAX_COMPARED_OUTPUTS) {
            (true, false) => &[8, 4],
            (false, false) => &[31, 8],
            (_, true) => &[8],
        }
    }

    /// Fits trees with each of `leaves` leaves to `y`; missing outcomes are NaN.
    ///
    /// # Errors
    /// If there are fewer than two units or subjects.
    pub(crate) fn fit(
        data: &Dataset,
        y: Outcomes<'_>,
        leaves: &[usize],
        seed: u64,
        pool: &Pool,
    ) -> Result<Self> {
        let folds = regression_folds(data, seed)?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let values = table_rows(data.x(), data.t(), &rows);
        let columns = data.x().elements() + data.t().elements();
        let binned = BinnedRows::new(&values, columns);
        let config = BoostConfig::for_table(data.len(), columns);
        let configs: Vec<BoostConfig> = leaves.iter().map(|&leaves| config.with_leaves(leaves)).collect();
        let (mut models, mut squares, mut observed) = (Vec::new(), 0.0, 0.0);
        for j in 0..y.outputs {
            let target: Vec<f64> = rows.iter().map(|&i| y.values[i * y.outputs + j].into()).collect();
            let task = CrossFitTask {
                values: &values,
                binned: &binned,
                folds: &folds,
                target: &target,
                weights: None,
                seed,
            };
            let (kept, error) = best_mean(cross_fit(&task, &configs, pool), &target);
            models.push(kept);
            squares += error.squares;
            observed += error.units;
        }
        let count = folds.iter().max().map_or(0, |max| max + 1);
        Ok(Self { folds, count, models, mse: squares / f64::max(observed, 1.0) })
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
        let outputs = self.models.len();
        let own: Vec<Option<usize>> = (0..x.len()).map(fold).collect();
        let mut out = vec![0.0; x.len() * outputs];
        for fold in 0..self.count {
            let units: Vec<usize> = (0..x.len()).filter(|&i| own[i].is_none_or(|own| own == fold)).collect();
            let values = table_rows(x, t, &units);
            let mut predicted = vec![0.0; units.len()];
            for (j, sizes) in self.models.iter().enumerate() {
                for models in sizes {
                    models[fold].predict_into(&values, &mut predicted);
                    for (&i, value) in units.iter().zip(&predicted) {
                        let parts = sizes.len() * own[i].map_or(self.count, |_| 1);
                        out[i * outputs + j] += value / parts as f64;
                    }
                }
            }
        }
        out.into_iter().map(|value| value as f32).collect()
    }
}

/// The squared errors of some units.
struct SquaredError {
    squares: f64,
    units: f64,
}

impl SquaredError {
    /// Those of the mean of `fits`.
    fn of_mean(fits: &[&CrossFittedTrees], target: &[f64]) -> Self {
        let mut error = Self { squares: 0.0, units: 0.0 };
        for (i, target) in target.iter().enumerate().filter(|(_, target)| target.is_finite()) {
            let predicted = fits.iter().map(|fit| fit.out_of_fold[i]).sum::<f64>() / fits.len() as f64;
            error.squares += (target - predicted).powi(2);
            error.units += 1.0;
        }
        error
    }
}

/// The models of all fits if their mean has the smallest error out of fold, else those of the best fit.
fn best_mean(fits: Vec<CrossFittedTrees>, target: &[f64]) -> (Vec<Vec<Boosted>>, SquaredError) {
    let all: Vec<usize> = (0..fits.len()).collect();
    let sets: Vec<Vec<usize>> = std::iter::once(all.clone()).chain(all.iter().map(|&i| vec![i])).collect();
    let error =
        |set: &Vec<usize>| SquaredError::of_mean(&set.iter().map(|&i| &fits[i]).collect::<Vec<_>>(), target);
    let mut errors: Vec<SquaredError> = sets.iter().map(error).collect();
    let best = argmin(errors.iter().map(|error| error.squares)).unwrap_or(0);
    let kept = sets[best].iter().map(|&i| fits[i].models.clone()).collect();
    (kept, errors.swap_remove(best))
}

/// Covariates and treatment of some units, NaN where they are missing.
pub(super) fn table_rows(x: &Units, t: &Units, rows: &[usize]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * (x.elements() + t.elements()));
    for &i in rows {
        for (units, i) in [(x, i), (t, if t.len() == 1 { 0 } else { i })] {
            let (values, mask) = (units.row(i), units.mask_row(i));
            let is_observed = |j: usize| mask.is_none_or(|mask| mask[j]);
            out.extend(values.iter().enumerate().map(|(j, v)| if is_observed(j) { *v } else { f32::NAN }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;

    fn data(n: usize, outcome: impl Fn(f32, f32) -> f32, noise: f32) -> Dataset {
        let rng = &mut stream(3, &["regression"]);
        let mut draw = || (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f32>>();
        let (x, t, e) = (draw(), draw(), draw());
        let y = (0..n).map(|i| outcome(x[i], t[i]) + noise * e[i]).collect();
        let units = |values| Units::new("a", vec![1], values).unwrap();
        Dataset::new(units(x), units(t), units(y)).unwrap()
    }

    fn fit(data: &Dataset, y: &[f32]) -> TreeRegression {
        let pool = Pool::new(2).unwrap();
        let sizes = TreeRegression::sizes(data.len(), 1);
        TreeRegression::fit(data, Outcomes { values: y, outputs: 1 }, sizes, 1, &pool).unwrap()
    }

    #[test]
    fn steps_and_products_are_predicted_nearly_up_to_the_noise() {
        let steps = data(1000, |x, t| if x > 0.2 { 3.0 * t } else { 1.0 }, 0.3);
        let steps = fit(&steps, steps.y().values());
        // the noise has a variance of 0.03
        assert!(steps.mse() < 0.065, "{}", steps.mse());
        let nothing = data(400, |_, _| 0.0, 1.0);
        let nothing = fit(&nothing, nothing.y().values());
        assert!((0.30..0.37).contains(&nothing.mse()), "{}", nothing.mse());
    }

    #[test]
    fn missing_outcomes_are_not_fitted_and_new_units_get_the_mean_over_folds() {
        let data = data(300, |x, t| x + t, 0.1);
        let mut y = data.y().values().to_vec();
        y[9] = f32::NAN;
        let fitted = fit(&data, &y);
        let held_out = fitted.predict(data.x(), data.t(), |i| Some(fitted.folds()[i]));
        assert!((held_out[9] - data.y().values()[9]).abs() < 0.5, "{}", held_out[9]);
        let by_fold: Vec<Vec<f32>> =
            (0..fitted.count).map(|fold| fitted.predict(data.x(), data.t(), |_| Some(fold))).collect();
        let mean = by_fold.iter().map(|answers| answers[9]).sum::<f32>() / fitted.count as f32;
        assert!((fitted.predict(data.x(), data.t(), |_| None)[9] - mean).abs() < 1e-5);
    }
}
