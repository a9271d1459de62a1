//! Cross-fitted Gaussian processes of the outcome on covariates and treatment.

use super::folds::regression_folds;
use super::regression::Outcomes;
use super::tree_regression::table_rows;
use crate::data::{Dataset, Units};
use crate::process::{Process, ProcessTask, fit_process};
use crate::runtime::Pool;
use crate::{Result, stream};

/// A process for every outcome and fold, fitted without it.
#[derive(Clone, Debug)]
pub(super) struct ProcessRegression {
    folds: Vec<usize>,
    /// The mean and the inverse deviation of every column.
    moments: Vec<(f32, f32)>,
    /// By outcome, then by fold.
    models: Vec<Vec<Process>>,
}

impl ProcessRegression {
    /// Fits processes to `y`; missing outcomes are NaN. None if there are too few units, or if an outcome does not vary.
    ///
    /// # Errors
    /// If there are fewer than two units or subjects.
    pub(super) fn fit(data: &Dataset, y: Outcomes<'_>, seed: u64, pool: &Pool) -> Result<Option<Self>> {
        let folds = regression_folds(data, seed)?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let mut values = table_rows(data.x(), data.t(), &rows);
        let columns = data.x().elements() + data.t().elements();
        let moments: Vec<(f32, f32)> = (0..columns).map(|column| moments(&values, column, columns)).collect();
        standardise(&mut values, &moments);
        let count = folds.iter().max().map_or(0, |max| max + 1);
        let jobs: Vec<(usize, usize)> =
            (0..y.outputs).flat_map(|j| (0..count).map(move |f| (j, f))).collect();
        let fitted = pool.map(jobs, |(j, fold): (usize, usize)| {
            let target: Vec<f64> = rows.iter().map(|&i| y.values[i * y.outputs + j].into()).collect();
            let train: Vec<usize> =
                rows.iter().copied().filter(|&i| folds[i] != fold && target[i].is_finite()).collect();
            let task = ProcessTask { values: &values, columns, target: &target, train: &train };
            let name = ["process regression", &j.to_string(), &fold.to_string()];
            fit_process(&task, &(0..columns).collect::<Vec<_>>(), &mut stream(seed, &name))
        });
        let Some(fitted) = fitted.into_iter().collect::<Option<Vec<Process>>>() else { return Ok(None) };
        let models = fitted.chunks(count.max(1)).map(<[Process]>::to_vec).collect();
        Ok(Some(Self { folds, moments, models }))
    }

    /// The fold of every unit that was fitted.
    pub(super) fn folds(&self) -> &[usize] {
        &self.folds
    }

    /// As [`TreeRegression::predict`](super::tree_regression::TreeRegression::predict).
    pub(super) fn predict(&self, x: &Units, t: &Units, fold: impl Fn(usize) -> Option<usize>) -> Vec<f32> {
        let mut out = Vec::with_capacity(x.len() * self.models.len());
        for i in 0..x.len() {
            let mut row = table_rows(x, t, &[i]);
            standardise(&mut row, &self.moments);
            let own = fold(i);
            for models in &self.models {
                let used = own.map_or(&models[..], |fold| &models[fold..=fold]);
                let sum: f64 = used.iter().map(|process| process.predict(&row)).sum();
                out.push((sum / used.len() as f64) as f32);
            }
        }
        out
    }
}

/// The mean of the observed values of a column and the inverse of their deviation; 0 and 1 if they do not vary.
fn moments(values: &[f32], column: usize, columns: usize) -> (f32, f32) {
    let own = || values.iter().skip(column).step_by(columns).filter(|value| !value.is_nan());
    let count = own().count().max(1) as f64;
    let mean = own().map(|&value| f64::from(value)).sum::<f64>() / count;
    let variance = own().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
    if variance > 0.0 { (mean as f32, (1.0 / variance.sqrt()) as f32) } else { (mean as f32, 1.0) }
}

fn standardise(rows: &mut [f32], moments: &[(f32, f32)]) {
    for row in rows.chunks_exact_mut(moments.len()) {
        row.iter_mut().zip(moments).for_each(|(value, (mean, inverse))| *value = (*value - mean) * inverse);
    }
}
