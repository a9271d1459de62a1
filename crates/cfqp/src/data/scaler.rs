//! Standardisation, learned from the training units only and stored with the model.

use serde::{Deserialize, Serialize};

use super::{Units, View};

/// The largest distance from the mean of a standardised value, in standard deviations.
const MAX_DEVIATIONS: f32 = 1e6;
/// Values farther than this from the mean, in standard deviations, are probably mistakes.
const EXTREME_DEVIATIONS: f32 = 100.0;

/// Mean and standard deviation per channel of one array per unit.
///
/// The first axis of a unit's shape counts the channels: the features of a table, the channels of a series or an
/// image. A channel that never varies gets deviation 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelScaler {
    shape: Vec<usize>,
    mean: Vec<f32>,
    deviation: Vec<f32>,
}

/// Sums over the observed values of one channel, relative to the first of them for precision.
#[derive(Clone, Copy, Default)]
struct ChannelSums {
    origin: Option<f32>,
    count: f64,
    sum: f64,
    squares: f64,
}

impl ChannelSums {
    fn add(&mut self, value: f32) {
        let difference = f64::from(value - *self.origin.get_or_insert(value));
        self.count += 1.0;
        self.sum += difference;
        self.squares += difference * difference;
    }

    /// Mean and standard deviation; the latter is 1 if the values do not vary.
    fn moments(self) -> (f32, f32) {
        let count = f64::max(self.count, 1.0);
        let variance = (self.squares / count - (self.sum / count).powi(2)).max(0.0);
        let mean = f64::from(self.origin.unwrap_or(0.0)) + self.sum / count;
        let deviation = variance.sqrt();
        // at most the rounding of the last digit
        let varies = deviation > 1e-7 * mean.abs() && deviation > f64::from(f32::MIN_POSITIVE);
        (mean as f32, if varies { deviation as f32 } else { 1.0 })
    }
}

impl ChannelScaler {
    fn fit(units: &Units, rows: &[usize]) -> Self {
        let channels = units.shape()[0];
        let sites = units.elements() / channels;
        let mut sums = vec![ChannelSums::default(); channels];
        for &row in rows {
            let (values, mask) = (units.row(row), units.mask_row(row));
            for (i, &value) in values.iter().enumerate() {
                if mask.is_none_or(|mask| mask[i]) {
                    sums[i / sites].add(value);
                }
            }
        }
        let (mean, deviation) = sums.into_iter().map(ChannelSums::moments).unzip();
        Self { shape: units.shape().to_vec(), mean, deviation }
    }

    /// A scaler that leaves values unchanged.
    fn identity(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), mean: vec![0.0; shape[0]], deviation: vec![1.0; shape[0]] }
    }

    /// Leaves the values of channel `i` unchanged.
    pub(crate) fn keep_channel(&mut self, i: usize) {
        (self.mean[i], self.deviation[i]) = (0.0, 1.0);
    }

    /// Divides the values of channel `i` by their deviation, without a shift, so that small ones keep their digits.
    pub(crate) fn keep_origin(&mut self, i: usize) {
        self.mean[i] = 0.0;
    }

    /// Whether the values of channel `i` are left unchanged; then nothing is known of their spread.
    fn is_kept(&self, i: usize) -> bool {
        (self.mean[i], self.deviation[i]) == (0.0, 1.0)
    }

    /// The shape of one unit.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements of one unit.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The standard deviation of the channel that element `i` of a unit belongs to.
    ///
    /// # Panics
    /// If a unit has no element `i`.
    pub fn deviation(&self, i: usize) -> f32 {
        self.deviation[i / self.sites()]
    }

    /// The mean of the channel that element `i` of a unit belongs to.
    pub(crate) fn mean(&self, i: usize) -> f32 {
        self.mean[i / self.sites()]
    }

    /// The largest standardised value of element `i`, and its smallest one negated.
    pub(crate) fn bound(&self, i: usize) -> f32 {
        self.channel_bound(i / self.sites())
    }

    fn channel_bound(&self, channel: usize) -> f32 {
        if self.is_kept(channel) { f32::MAX } else { MAX_DEVIATIONS }
    }

    /// The number of elements per channel: steps of a series, pixels of an image, 1 in a table.
    pub(crate) fn sites(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// Appends `(value - mean) / deviation` for one unit's values to `out`. Values farther than [`MAX_DEVIATIONS`] from the
    /// mean are moved there, so that what is computed from them is finite.
    pub(crate) fn standardise_into(&self, values: &[f32], out: &mut Vec<f32>) {
        for (channel, values) in values.chunks_exact(self.sites()).enumerate() {
            let (mean, scale) = (self.mean[channel], 1.0 / self.deviation[channel]);
            let most = self.channel_bound(channel);
            out.extend(values.iter().map(|value| ((value - mean) * scale).clamp(-most, most)));
        }
    }

    /// Whether an observed value of one unit is extremely far from the mean.
    pub(crate) fn has_extreme(&self, values: &[f32], mask: Option<&[bool]>) -> bool {
        let sites = self.sites();
        let is_extreme = |(i, value): (usize, &f32)| {
            let (channel, observed) = (i / sites, mask.is_none_or(|mask| mask[i]));
            let distance = ((value - self.mean[channel]) / self.deviation[channel]).abs();
            observed && distance > EXTREME_DEVIATIONS && !self.is_kept(channel)
        };
        values.iter().enumerate().any(is_extreme)
    }

    /// Replaces one unit's standardised values by `mean + deviation * value`.
    pub(crate) fn restore(&self, values: &mut [f32]) {
        for (channel, values) in values.chunks_exact_mut(self.sites()).enumerate() {
            let (mean, deviation) = (self.mean[channel], self.deviation[channel]);
            values.iter_mut().for_each(|value| *value = mean + deviation * *value);
        }
    }

    /// Whether the fields are consistent: one finite mean and one positive deviation per channel.
    pub(crate) fn is_sound(&self) -> bool {
        let channels = self.shape.first().copied().unwrap_or(0);
        let finite = self.mean.iter().all(|mean| mean.is_finite());
        let positive = self.deviation.iter().all(|d| d.is_finite() && *d > 0.0);
        let counts = channels > 0 && self.mean.len() == channels && self.deviation.len() == channels;
        counts && finite && positive && self.shape.iter().all(|&side| side > 0)
    }
}

/// How covariates, treatments and outcomes are standardised.
///
/// # Examples
/// ```
/// use cfqp::data::{Dataset, Scaler, Units};
///
/// let x = Units::new("x", vec![2], vec![1.0, 10.0, 3.0, 10.0])?;
/// let t = Units::new("t", vec![1], vec![0.0, 2.0])?;
/// let data = Dataset::new(x.clone(), t, x)?;
/// let scaler = Scaler::fit(&data.all(), false);
/// assert_eq!(scaler.x.deviation(0), 1.0);
/// assert_eq!(scaler.x.deviation(1), 1.0, "the second feature never varies");
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaler {
    /// For the covariates.
    pub x: ChannelScaler,
    /// For the treatments.
    pub t: ChannelScaler,
    /// For the outcomes.
    pub y: ChannelScaler,
    /// Variance of all elements of x over the training units, the unit of the published errors.
    pub x_variance: f64,
}

impl Scaler {
    /// Learns the scaler from the units of `train`. With `raw_treatment`, t is left unchanged.
    pub fn fit(train: &View<'_>, raw_treatment: bool) -> Self {
        let (data, rows) = (train.data(), train.rows());
        let t = data.t();
        Self {
            x: ChannelScaler::fit(data.x(), rows),
            t: if raw_treatment { ChannelScaler::identity(t.shape()) } else { ChannelScaler::fit(t, rows) },
            y: ChannelScaler::fit(data.y(), rows),
            x_variance: variance(data.x(), rows),
        }
    }
}

/// Variance of all observed elements; 1 if they do not vary.
fn variance(units: &Units, rows: &[usize]) -> f64 {
    let observed = |row: &usize| {
        let (unit, mask) = (units.row(*row), units.mask_row(*row));
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
    use crate::data::Dataset;

    #[test]
    fn every_channel_is_standardised_by_its_own_observed_values() {
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
