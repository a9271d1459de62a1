//! Standardisation, learned from the training units alone and kept with the model.

use serde::{Deserialize, Serialize};

use super::{Units, View};

/// Mean and deviation of each channel (or feature) of an array per unit.
///
/// The first axis of a unit's shape is standardised part by part: a table by feature, a series or an image by
/// channel. Parts that never vary keep their deviation at 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    shape: Vec<usize>,
    mean: Vec<f32>,
    deviation: Vec<f32>,
}

impl Moments {
    fn fit(units: &Units, rows: &[usize]) -> Self {
        let parts = units.shape()[0];
        let inner = units.each() / parts;
        // (count, sum, sum of squares) about the first value seen, for precision
        let mut sums = vec![(0.0_f64, 0.0_f64, 0.0_f64); parts];
        let mut origin = vec![None; parts];
        for &row in rows {
            let (values, mask) = (units.unit(row), units.mask_row(row));
            for (i, &value) in values.iter().enumerate() {
                if mask.is_none_or(|mask| mask[i]) {
                    let part = i / inner;
                    let d = f64::from(value - *origin[part].get_or_insert(value));
                    let sum = &mut sums[part];
                    *sum = (sum.0 + 1.0, sum.1 + d, sum.2 + d * d);
                }
            }
        }
        let mut moments = Self { shape: units.shape().to_vec(), mean: Vec::new(), deviation: Vec::new() };
        for ((count, sum, squares), origin) in sums.into_iter().zip(origin) {
            let count = f64::max(count, 1.0);
            let variance = (squares / count - (sum / count).powi(2)).max(0.0);
            let mean = f64::from(origin.unwrap_or(0.0)) + sum / count;
            let deviation = variance.sqrt();
            let varies = deviation > 1e-6 * mean.abs().max(1e-6);
            moments.mean.push(mean as f32);
            moments.deviation.push(if varies { deviation as f32 } else { 1.0 });
        }
        moments
    }

    /// Leaves values as they are.
    fn identity(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), mean: vec![0.0; shape[0]], deviation: vec![1.0; shape[0]] }
    }

    /// The shape of a unit.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many elements a unit has.
    pub fn each(&self) -> usize {
        self.shape.iter().product()
    }

    /// The deviation that element `i` of a unit was divided by.
    pub fn deviation(&self, i: usize) -> f32 {
        self.deviation[self.part(i)]
    }

    /// The steps of a channel of a series, or the pixels of one of an image; 1 in a table.
    pub(crate) fn sites(&self) -> usize {
        self.shape[1..].iter().product()
    }

    fn part(&self, i: usize) -> usize {
        i / self.sites()
    }

    /// (values - mean) / deviation, appended to `out`.
    pub(crate) fn standardise_into(&self, values: &[f32], out: &mut Vec<f32>) {
        for (part, values) in values.chunks_exact(self.sites()).enumerate() {
            let (mean, scale) = (self.mean[part], 1.0 / self.deviation[part]);
            out.extend(values.iter().map(|value| (value - mean) * scale));
        }
    }

    /// mean + deviation * value, for one unit's standardised values.
    pub(crate) fn restore(&self, values: &mut [f32]) {
        for (part, values) in values.chunks_exact_mut(self.sites()).enumerate() {
            values.iter_mut().for_each(|value| *value = self.mean[part] + self.deviation[part] * *value);
        }
    }

    /// Whether the fields fit each other and hold usable numbers.
    pub(crate) fn is_sound(&self) -> bool {
        let parts = self.shape.first().copied().unwrap_or(0);
        let finite = self.mean.iter().all(|mean| mean.is_finite());
        let positive = self.deviation.iter().all(|d| d.is_finite() && *d > 0.0);
        let counts = parts > 0 && self.mean.len() == parts && self.deviation.len() == parts;
        counts && finite && positive && self.shape.iter().all(|&side| side > 0)
    }
}

/// How x, t and y are standardised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaler {
    /// Of the covariates.
    pub x: Moments,
    /// Of the treatments.
    pub t: Moments,
    /// Of the outcomes.
    pub y: Moments,
    /// Variance of all elements of x in the training units, the unit of published errors.
    pub x_variance: f64,
}

impl Scaler {
    /// Learn from `train`. With `raw_treatment`, t is left as it is.
    pub fn fit(train: &View<'_>, raw_treatment: bool) -> Self {
        let (data, rows) = (train.data(), train.rows());
        let t = data.t();
        Self {
            x: Moments::fit(data.x(), rows),
            t: if raw_treatment { Moments::identity(t.shape()) } else { Moments::fit(t, rows) },
            y: Moments::fit(data.y(), rows),
            x_variance: variance(data.x(), rows),
        }
    }
}

fn variance(units: &Units, rows: &[usize]) -> f64 {
    let observed = |row: &usize| {
        let (unit, mask) = (units.unit(*row), units.mask_row(*row));
        (0..unit.len()).filter(move |&i| mask.is_none_or(|mask| mask[i])).map(move |i| f64::from(unit[i]))
    };
    let values = || rows.iter().flat_map(observed);
    let (count, sum) = values().fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    let mean = sum / f64::max(count, 1.0);
    let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::max(count, 1.0);
    if variance > 0.0 { variance } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;

    #[test]
    fn channels_are_standardised_apart_from_observed_values_alone() {
        let mask = vec![true, true, true, true, true, false, true, true];
        let values = vec![1.0, 3.0, 10.0, 10.0, 5.0, 900.0, 10.0, 10.0];
        let x = Units::with_mask("x", vec![2, 2], values, Some(mask)).unwrap();
        let t = Units::new("t", vec![1], vec![0.0, 2.0]).unwrap();
        let data = Dataset::new(x.clone(), t, x).unwrap();
        let scaler = Scaler::fit(&data.all(), false);
        assert_eq!(scaler.x.mean, [3.0, 10.0]);
        assert_eq!(scaler.x.deviation, [(8.0_f32 / 3.0).sqrt(), 1.0]);
        let mut out = Vec::new();
        scaler.t.standardise_into(&[2.0], &mut out);
        assert_eq!(out, [1.0]);
        scaler.t.restore(&mut out);
        assert_eq!(out, [2.0]);
        assert!(scaler.x.is_sound());
    }
}
