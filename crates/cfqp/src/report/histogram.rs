//! Ranges of values, and histograms of values in groups.

use serde::Serialize;

/// The number of bins of a histogram over the range of its values.
const HISTOGRAM_BINS: usize = 20;
/// Whole numbers have a bin each if there are at most this many.
const MAX_WHOLE_BINS: usize = 30;
/// The quantiles outside of which a tail may be cut off.
const TAIL_QUANTILE: f64 = 0.01;

/// The smallest value, the mean and the largest value of a sample; all zero if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ValueRange {
    /// The smallest value.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
}

impl ValueRange {
    pub(super) fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let (mut n, mut min, mut sum, mut max) = (0_usize, f64::INFINITY, 0.0, f64::NEG_INFINITY);
        for value in values {
            (n, min, sum, max) = (n + 1, min.min(value), sum + value, max.max(value));
        }
        if n == 0 { Self::default() } else { Self { min, mean: sum / n as f64, max } }
    }
}

/// The number of units of each group in bins of equal width.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// The lower end of the first bin.
    pub low: f64,
    /// The upper end of the last bin.
    pub high: f64,
    /// The number of units per group and bin.
    pub counts: Vec<Vec<usize>>,
}

impl Histogram {
    /// A histogram of `(group, value)` pairs in `bins` bins from `low` to `high`. Values outside are counted in the first
    /// or the last bin.
    pub(super) fn between(
        low: f64,
        high: f64,
        bins: usize,
        groups: usize,
        values: impl Iterator<Item = (usize, f64)>,
    ) -> Self {
        let mut counts = vec![vec![0; bins]; groups];
        for (group, value) in values {
            let bin = ((value - low) / (high - low) * bins as f64).floor();
            counts[group][(bin.max(0.0) as usize).min(bins - 1)] += 1;
        }
        Self { low, high, counts }
    }

    /// A histogram of `(group, value)` pairs over the range of the values.
    pub(super) fn from_values(groups: usize, values: &[(usize, f64)]) -> Self {
        let ValueRange { min, max, .. } = ValueRange::from_values(values.iter().map(|(_, value)| *value));
        // bins need a width even if all values are equal
        let margin = if max > min { 0.0 } else { 0.5 * min.abs().max(1.0) };
        Self::between(min - margin, max + margin, HISTOGRAM_BINS, groups, values.iter().copied())
    }

    /// A histogram of positions 0, 1, ... with a bin each, as a single group.
    pub(super) fn of_positions(count: usize, positions: impl Iterator<Item = f64>) -> Self {
        Self::between(-0.5, count as f64 - 0.5, count, 1, positions.map(|position| (0, position)))
    }

    /// The distinct values in rising order, and a histogram with a bin for each of them.
    pub(super) fn of_single_values(values: &[f64]) -> (Vec<String>, Self) {
        let mut distinct = values.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let position = |value: &f64| distinct.partition_point(|own| own < value) as f64;
        let histogram = Self::of_positions(distinct.len(), values.iter().map(position));
        (distinct.iter().map(|value| (*value as f32).to_string()).collect(), histogram)
    }

    /// A histogram of numbers as a single group, without long tails. Whole numbers have a bin each, with its name, or bins of
    /// equally many if there are many.
    pub(super) fn of_numbers(values: &[f64]) -> (Option<Vec<String>>, Self) {
        let values_in_group = || values.iter().map(|value| (0, *value));
        let (low, high) = range_without_tails(values);
        let span = high - low + 1.0;
        match values.iter().all(|value| value.fract() == 0.0) {
            true if span <= MAX_WHOLE_BINS as f64 => {
                let name = |k: usize| (low + k as f64).to_string();
                let positions = values.iter().map(|value| value - low);
                let bins = span as usize;
                (Some((0..bins).map(name).collect()), Self::of_positions(bins, positions))
            }
            true => {
                let width = (span / HISTOGRAM_BINS as f64).ceil();
                let bins = (span / width).ceil();
                (None, Self::between(low, low + bins * width, bins as usize, 1, values_in_group()))
            }
            // bins need a width even if all values are equal
            false if low == high => (None, Self::from_values(1, &values_in_group().collect::<Vec<_>>())),
            false => (None, Self::between(low, high, HISTOGRAM_BINS, 1, values_in_group())),
        }
    }
}

/// The range of values; a tail outside of the central 98% that is longer than the range of these is cut off.
fn range_without_tails(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return (0.0, 0.0) };
    let quantile = |share: f64| sorted[(share * last as f64).round() as usize];
    let (min, low, high, max) =
        (sorted[0], quantile(TAIL_QUANTILE), quantile(1.0 - TAIL_QUANTILE), sorted[last]);
    if low == high {
        return (min, max);
    }
    let is_long = |tail: f64| tail > high - low;
    (if is_long(low - min) { low } else { min }, if is_long(max - high) { high } else { max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_no_values_is_zero() {
        assert_eq!(ValueRange::from_values(std::iter::empty()), ValueRange::default());
        let range = ValueRange::from_values([2.0, -1.0, 5.0].into_iter());
        assert_eq!(range, ValueRange { min: -1.0, mean: 2.0, max: 5.0 });
    }

    #[test]
    fn every_value_is_counted_in_its_group() {
        let histogram = Histogram::from_values(2, &[(0, 0.0), (1, 1.0), (1, 0.51)]);
        assert_eq!((histogram.low, histogram.high), (0.0, 1.0));
        assert_eq!((histogram.counts[0][0], histogram.counts[1][10], histogram.counts[1][19]), (1, 1, 1));
        let outside = Histogram::between(0.0, 1.0, 2, 1, [(0, -3.0), (0, 7.0)].into_iter());
        assert_eq!(outside.counts, [[1, 1]]);
    }

    #[test]
    fn equal_values_get_bins_of_positive_width() {
        let histogram = Histogram::from_values(1, &[(0, 4.0), (0, 4.0)]);
        assert_eq!((histogram.low, histogram.high), (2.0, 6.0));
        assert_eq!(histogram.counts[0].iter().sum::<usize>(), 2);
        let (names, histogram) = Histogram::of_numbers(&[0.5, 0.5]);
        assert!(names.is_none() && histogram.high > histogram.low);
    }

    #[test]
    fn whole_numbers_have_a_bin_each_or_equally_many_per_bin() {
        let (names, histogram) = Histogram::of_numbers(&[3.0, 0.0, 3.0, 1.0]);
        assert_eq!(
            (names.unwrap().join(" "), &histogram.counts[0][..]),
            ("0 1 2 3".to_owned(), &[1, 1, 0, 2][..])
        );
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        let (names, histogram) = Histogram::of_numbers(&many);
        assert_eq!((names, histogram.counts), (None, vec![vec![5; 20]]));
        let (names, histogram) = Histogram::of_numbers(&[]);
        assert_eq!((names.unwrap().len(), histogram.counts), (1, vec![vec![0]]));
    }

    #[test]
    fn long_tails_are_in_the_last_bin() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        values[0] = 50.0;
        let (_, histogram) = Histogram::of_numbers(&values);
        assert!((histogram.low, histogram.high < 1.0) == (0.001, true), "{histogram:?}");
        assert_eq!(histogram.counts[0].iter().sum::<usize>(), 1000);
    }
}
