//! A cross-fitted ridge regression of the outcome on covariates and treatment.
//!
//! Units are divided into folds, subject by subject. For every fold a regression is fitted to the others; the functions
//! of (x, t) and the penalty are those with the smallest error on the folds left out. A unit's own outcome thus takes no
//! part in its prediction.

use super::design::{Basis, Design};
use super::folds::regression_folds;
use crate::data::{Dataset, Units};
use crate::math::argmin;
use crate::models::ridge::{PENALTIES, RidgeProblem, Solution};
use crate::{Error, Result};

/// The basis is chosen on at most this many units.
const MAX_CHOICE_UNITS: usize = 10_000;

/// Outcomes as a matrix, with missing values filled in.
///
/// # Shapes
/// `[n, outputs]`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes<'a> {
    pub values: &'a [f32],
    pub outputs: usize,
}

/// A regression for every fold, fitted without it.
#[derive(Clone, Debug)]
pub(crate) struct CrossFitted {
    design: Design,
    penalty: f64,
    folds: Vec<usize>,
    solutions: Vec<Solution>,
    outputs: usize,
    mse: f64,
}

/// The design of some units, and the errors of every penalty on the folds left out.
struct Choice {
    basis: Basis,
    penalty: f64,
    error: f64,
}

impl CrossFitted {
    /// Fits a regression of `y` on the covariates and treatments of `data`.
    ///
    /// # Errors
    /// If there are fewer than two units or subjects, or values are too large to be squared.
    pub(crate) fn fit(data: &Dataset, y: Outcomes<'_>, seed: u64) -> Result<Self> {
        let folds = regression_folds(data, seed)?;
        let Choice { basis, penalty, .. } = choose(data, y, &folds, seed)?;
        let design = Design::fit(data.x(), data.t(), basis, seed);
        let rows: Vec<usize> = (0..data.len()).collect();
        let z = design.matrix(data.x(), data.t(), &rows);
        let solutions = by_fold(&z, design.len(), y, &folds, &[penalty])?;
        let solutions: Vec<Solution> = solutions.into_iter().flatten().collect();
        let mse = fold_errors(&z, design.len(), y, &folds, |fold| std::slice::from_ref(&solutions[fold]))[0];
        Ok(Self { design, penalty, folds, solutions, outputs: y.outputs, mse })
    }

    /// Mean squared error on the folds left out.
    pub(crate) fn mse(&self) -> f64 {
        self.mse
    }

    /// The fold of every unit that was fitted.
    pub(crate) fn folds(&self) -> &[usize] {
        &self.folds
    }

    /// The covariate columns of unit `i` of `x`.
    pub(super) fn covariate_row(&self, x: &Units, i: usize) -> Vec<f32> {
        self.design.x.row(x, i)
    }

    /// Predictions for units with treatments `t`, one each or one for all. `fold` gives the fold of a unit that was fitted;
    /// for other units the mean over folds is taken.
    ///
    /// # Shapes
    /// `[n, outputs]`
    pub(crate) fn predict(&self, x: &Units, t: &Units, fold: impl Fn(usize) -> Option<usize>) -> Vec<f32> {
        let mut out = vec![0.0; x.len() * self.outputs];
        for (i, out) in out.chunks_exact_mut(self.outputs).enumerate() {
            let z = self.design.matrix(x, t, &[i]);
            match fold(i) {
                Some(fold) => add_prediction(&self.solutions[fold], &z, 1.0, out),
                None => {
                    let share = 1.0 / self.solutions.len() as f32;
                    self.solutions.iter().for_each(|solution| add_prediction(solution, &z, share, out));
                }
            }
        }
        out
    }

    /// Predictions for the units that were fitted, each without its own fold.
    pub(super) fn held_out(&self, x: &Units, t: &Units) -> Vec<f32> {
        self.predict(x, t, |i| Some(self.folds[i]))
    }

    /// How much the outcome of every unit adds to the mean difference of predictions under `to` and `from`, over all units
    /// that were fitted: sum_f n_f / n a_f' (Z'Z + penalty n)^-1 z_i over the folds f that unit i helped to predict, where
    /// a_f is the mean difference of the columns.
    pub(super) fn contrast_weights(&self, data: &Dataset, from: &Units, to: &Units) -> Result<Vec<f64>> {
        let (n, p) = (data.len(), self.design.len());
        let mut weights = vec![0.0; n];
        for fold in 0..self.solutions.len() {
            let (own, others): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| self.folds[i] == fold);
            let mut contrast = vec![0.0; p];
            for (units, sign) in [(to, 1.0), (from, -1.0)] {
                let z = self.design.matrix(data.x(), units, &own);
                z.chunks_exact(p).for_each(|z| {
                    contrast.iter_mut().zip(z).for_each(|(sum, z)| *sum += sign * f64::from(*z) / n as f64);
                });
            }
            let z = self.design.matrix(data.x(), data.t(), &others);
            let found = RidgeProblem { z: &z, features: p, penalised: p, y: &[], outputs: 1 }
                .contrast_weights(&contrast, self.penalty)
                .map_err(not_finite)?;
            others.iter().zip(found).for_each(|(&i, weight)| weights[i] += weight);
        }
        Ok(weights)
    }
}

fn not_finite(error: crate::math::NotPositiveDefinite) -> Error {
    Error::data("x", "the covariates cannot be used in a regression", "give values that can be squared")
        .with_source(error)
}

fn add_prediction(solution: &Solution, z: &[f32], share: f32, out: &mut [f32]) {
    out.iter_mut().zip(&solution.bias).for_each(|(out, bias)| *out += share * bias);
    for (z, weights) in z.iter().zip(solution.weight.chunks_exact(out.len())) {
        out.iter_mut().zip(weights).for_each(|(out, weight)| *out += share * z * weight);
    }
}

/// The basis and the penalty with the smallest error on the folds left out.
fn choose(data: &Dataset, y: Outcomes<'_>, folds: &[usize], seed: u64) -> Result<Choice> {
    let step = data.len().div_ceil(MAX_CHOICE_UNITS);
    let rows: Vec<usize> = (0..data.len()).step_by(step).collect();
    let own: Vec<usize> = rows.iter().map(|&row| folds[row]).collect();
    let values = rows.iter().flat_map(|&row| &y.values[row * y.outputs..][..y.outputs]);
    let values: Vec<f32> = values.copied().collect();
    let y = Outcomes { values: &values, outputs: y.outputs };
    let mut choices = Vec::new();
    for basis in Basis::ALL {
        let design = Design::fit(data.x(), data.t(), basis, seed);
        let z = design.matrix(data.x(), data.t(), &rows);
        let solutions = by_fold(&z, design.len(), y, &own, &PENALTIES)?;
        let errors = fold_errors(&z, design.len(), y, &own, |fold| &solutions[fold]);
        let best = argmin(errors.iter().copied()).expect("there are penalties");
        choices.push(Choice { basis, penalty: PENALTIES[best], error: errors[best] });
    }
    let best = argmin(choices.iter().map(|choice| choice.error)).expect("there are bases");
    Ok(choices.swap_remove(best))
}

/// The solutions for every fold, fitted to the other folds, one for each of `penalties`.
fn by_fold(
    z: &[f32],
    features: usize,
    y: Outcomes<'_>,
    folds: &[usize],
    penalties: &[f64],
) -> Result<Vec<Vec<Solution>>> {
    let count = folds.iter().max().map_or(0, |max| max + 1);
    let solve = |fold: usize| {
        let rows: Vec<usize> = (0..folds.len()).filter(|&i| folds[i] != fold).collect();
        let pick = |values: &[f32], size: usize| {
            rows.iter().flat_map(|&i| values[i * size..][..size].to_vec()).collect::<Vec<f32>>()
        };
        let (z, y_rows) = (pick(z, features), pick(y.values, y.outputs));
        let problem = RidgeProblem { z: &z, features, penalised: features, y: &y_rows, outputs: y.outputs };
        problem.solve(penalties).map_err(not_finite)
    };
    (0..count).map(solve).collect()
}

/// Mean squared errors on the folds left out, one for each of the solutions of a fold.
fn fold_errors<'a>(
    z: &[f32],
    features: usize,
    y: Outcomes<'_>,
    folds: &[usize],
    solutions: impl Fn(usize) -> &'a [Solution],
) -> Vec<f64> {
    let mut errors = vec![0.0; solutions(0).len()];
    let mut predicted = vec![0.0; y.outputs];
    for (i, z) in z.chunks_exact(features).enumerate() {
        for (error, solution) in errors.iter_mut().zip(solutions(folds[i])) {
            predicted.fill(0.0);
            add_prediction(solution, z, 1.0, &mut predicted);
            let gaps =
                predicted.iter().zip(&y.values[i * y.outputs..]).map(|(a, b)| f64::from(a - b).powi(2));
            *error += gaps.sum::<f64>() / y.values.len() as f64;
        }
    }
    errors
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

    fn fit(data: &Dataset) -> CrossFitted {
        CrossFitted::fit(data, Outcomes { values: data.y().values(), outputs: 1 }, 1).unwrap()
    }

    #[test]
    fn linear_and_curved_outcomes_are_predicted_up_to_the_noise() {
        let linear = fit(&data(400, |x, t| 2.0 * x - t + x * t, 0.1));
        assert!(linear.mse() < 0.0037, "{}", linear.mse());
        let curved = fit(&data(800, |x, t| (3.0 * t).sin() + x * t + 2.0 * x * x, 0.1));
        assert!(curved.mse() < 0.0055, "{}", curved.mse());
        let nothing = fit(&data(400, |_, _| 0.0, 1.0));
        assert!((0.30..0.37).contains(&nothing.mse()), "{}", nothing.mse());
    }

    #[test]
    fn a_unit_is_predicted_without_its_own_outcome() {
        let data = data(60, |x, t| x + t, 0.1);
        let mut y = data.y().values().to_vec();
        let before = fit(&data);
        y[7] += 1e-3;
        let moved =
            Dataset::new(data.x().clone(), data.t().clone(), Units::new("y", vec![1], y).unwrap()).unwrap();
        let after = fit(&moved);
        assert_eq!((after.folds(), after.penalty), (before.folds(), before.penalty), "the same choice");
        for fold in 0..before.solutions.len() {
            let same = before.solutions[fold] == after.solutions[fold];
            assert_eq!(same, fold == before.folds()[7], "fold {fold}");
        }
    }

    #[test]
    fn contrast_weights_are_the_derivative_of_the_mean_difference() {
        let data = data(80, |x, t| x + t * t, 0.5);
        let unit = |t: f32| Units::new("t", vec![1], vec![t]).unwrap();
        let (from, to) = (unit(-0.5), unit(0.5));
        let fitted = fit(&data);
        let weights = fitted.contrast_weights(&data, &from, &to).unwrap();
        let difference = |fitted: &CrossFitted| {
            let [a, b] = [&to, &from].map(|t| fitted.held_out(data.x(), t));
            a.iter().zip(&b).map(|(a, b)| f64::from(a - b)).sum::<f64>() / 80.0
        };
        let direct: f64 = weights.iter().zip(data.y().values()).map(|(w, y)| w * f64::from(*y)).sum();
        assert!((direct - difference(&fitted)).abs() < 1e-4, "{direct} {}", difference(&fitted));
    }
}
