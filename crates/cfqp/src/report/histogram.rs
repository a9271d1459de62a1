//! Ranges of values, and histograms of values in groups.

use serde::Serialize;

/// The number of bins of a histogram over the range of its values.
const HISTOGRAM_BINS: usize = 20;

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
    }
}
