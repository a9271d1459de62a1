//! Ranges of values, and histograms of values in groups.

use serde::Serialize;

/// The number of bins of a histogram over the range of its values.
const HISTOGRAM_BINS: usize = 20;
/// Values that are whole numbers of one step apart have a bin each if there are at most this many.
const MAX_SINGLE_BINS: usize = 30;
/// Numbers that take at most so many values have a bin per value, whatever lies between them.
const MAX_VALUES: usize = 6;
/// Differences of values are whole numbers of a step if they are that near to them, in steps.
const STEP_TOLERANCE: f64 = 0.01;
/// The largest distance between two values, in steps.
const MAX_STEPS: f64 = 1e5;
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
    /// The distance between neighbouring values, if all values are whole numbers of it apart: a bin holds the values half a step
    /// inside its ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The number of units per group and bin.
    pub counts: Vec<Vec<usize>>,
}

/// The sum of weights of each group in bins of equal width.
#[derive(Clone, Debug, Serialize)]
pub struct WeightedHistogram {
    /// The lower end of the first bin.
    pub low: f64,
    /// The upper end of the last bin.
    pub high: f64,
    /// The weight per group and bin.
    pub weights: Vec<Vec<f64>>,
}

impl WeightedHistogram {
    /// A histogram of values, each of which counts in `groups` groups with the weights that it has in them. Long tails are in the first and
    /// the last bin.
    pub(super) fn new(groups: usize, values: &[f64], weights: impl Fn(usize) -> Vec<f64>) -> Self {
        let (low, high) = range_without_tails(values);
        let margin = if high > low { 0.0 } else { 0.5 * low.abs().max(1.0) };
        let (low, high) = (low - margin, high + margin);
        let mut sums = vec![vec![0.0; HISTOGRAM_BINS]; groups];
        for (i, value) in values.iter().enumerate() {
            let bin = bin_of(*value, (low, high), HISTOGRAM_BINS);
            sums.iter_mut().zip(weights(i)).for_each(|(group, weight)| group[bin] += weight);
        }
        Self { low, high, weights: sums }
    }
}

/// The bin of a value; those outside are in the first or the last one.
fn bin_of(value: f64, (low, high): (f64, f64), bins: usize) -> usize {
    let bin = ((value - low) / (high - low) * bins as f64).floor();
    (bin.max(0.0) as usize).min(bins - 1)
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
            counts[group][bin_of(value, (low, high), bins)] += 1;
        }
        Self { low, high, step: None, counts }
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
        let distinct = distinct_values(values);
        let position = |value: &f64| distinct.partition_point(|own| own < value) as f64;
        let histogram = Self::of_positions(distinct.len(), values.iter().map(position));
        (distinct.iter().map(|value| (*value as f32).to_string()).collect(), histogram)
    }

    /// A histogram of numbers as a single group, without long tails. Values that are whole numbers of one step apart have a bin each,
    /// with its name, or bins of equally many if there are many; so have very few values.
    pub(super) fn of_numbers(values: &[f64]) -> (Option<Vec<String>>, Self) {
        let values_in_group = || values.iter().map(|value| (0, *value));
        let distinct = distinct_values(values);
        if let Some(step) = common_step(&distinct) {
            return Self::of_steps(values, step);
        }
        if (2..=MAX_VALUES).contains(&distinct.len()) {
            let (names, histogram) = Self::of_single_values(values);
            return (Some(names), histogram);
        }
        let (low, high) = range_without_tails(values);
        // bins need a width even if all values are equal
        if low == high {
            return (None, Self::from_values(1, &values_in_group().collect::<Vec<_>>()));
        }
        (None, Self::between(low, high, HISTOGRAM_BINS, 1, values_in_group()))
    }

    /// A histogram of values that are whole numbers of `step` apart.
    fn of_steps(values: &[f64], step: f64) -> (Option<Vec<String>>, Self) {
        let (low, high) = range_without_tails(values);
        let count = ((high - low) / step).round() + 1.0;
        let in_steps = |value: f64| ((value - low) / step).round();
        if count <= MAX_SINGLE_BINS as f64 {
            let name = |k: usize| ((low + k as f64 * step) as f32).to_string();
            let bins = count as usize;
            let positions = values.iter().map(|value| in_steps(*value));
            return (Some((0..bins).map(name).collect()), Self::of_positions(bins, positions));
        }
        let width = (count / HISTOGRAM_BINS as f64).ceil();
        let bins = (count / width).ceil();
        let counted = Self::between(
            -0.5,
            bins * width - 0.5,
            bins as usize,
            1,
            values.iter().map(|v| (0, in_steps(*v))),
        );
        let at = |steps: f64| low + steps * step;
        (None, Self { low: at(-0.5), high: at(bins * width - 0.5), step: Some(step), ..counted })
    }
}

/// The values in rising order, each once.
fn distinct_values(values: &[f64]) -> Vec<f64> {
    let mut distinct = values.to_vec();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    distinct
}

/// The smallest distance between rising values if all are whole numbers of it apart: 1 for whole numbers, also where they are far
/// apart.
fn common_step(distinct: &[f64]) -> Option<f64> {
    if distinct.iter().all(|value| value.fract() == 0.0) {
        return Some(1.0);
    }
    let gaps = || distinct.windows(2).map(|pair| pair[1] - pair[0]);
    let step = gaps().fold(f64::INFINITY, f64::min);
    let is_whole = |gap: f64| {
        let steps = gap / step;
        steps < MAX_STEPS && (steps - steps.round()).abs() < STEP_TOLERANCE * steps.round().clamp(1.0, 10.0)
    };
    (distinct.len() > 2 && gaps().all(is_whole)).then_some(step)
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
        assert_eq!((names, histogram.step, &histogram.counts), (None, Some(1.0), &vec![vec![5; 20]]));
        // 41 values have 14 bins of three each: no bin holds fewer values than its neighbours, so there is no comb
        let hours: Vec<f64> = (0..41 * 7).map(|i| f64::from(i % 41)).collect();
        let (_, histogram) = Histogram::of_numbers(&hours);
        assert_eq!((histogram.low, histogram.high), (-0.5, 41.5));
        assert_eq!(histogram.counts[0], [vec![21; 13], vec![14]].concat());
        let (names, histogram) = Histogram::of_numbers(&[]);
        assert_eq!((names.unwrap().len(), histogram.counts), (1, vec![vec![0]]));
    }

    #[test]
    fn steps_and_few_values_have_bins_of_their_own() {
        let halves: Vec<f64> = (0..40).map(|i| 0.5 * f64::from(i % 5)).collect();
        let (names, histogram) = Histogram::of_numbers(&halves);
        assert_eq!(
            (names.unwrap().join(" "), histogram.counts),
            ("0 0.5 1 1.5 2".to_owned(), vec![vec![8; 5]])
        );
        let tenths: Vec<f64> = (0..400).map(|i| f64::from(0.1_f32 * (i % 200) as f32)).collect();
        let (names, histogram) = Histogram::of_numbers(&tenths);
        assert!(names.is_none() && histogram.counts == [[20; 20]], "{histogram:?}");
        let (names, _) = Histogram::of_numbers(&[0.0, 0.3, 1.0, 0.3]);
        assert_eq!(names.unwrap(), ["0", "0.3", "1"]);
        let many: Vec<f64> = (0..50).map(|i| f64::from(i).sqrt()).collect();
        assert!(common_step(&many).is_none() && Histogram::of_numbers(&many).0.is_none());
    }

    #[test]
    fn weights_are_added_up_by_group() {
        let own = WeightedHistogram::new(2, &[0.0, 1.0, 1.0], |i| vec![0.25, 0.75 + i as f64]);
        assert_eq!((own.low, own.high), (0.0, 1.0));
        assert_eq!((own.weights[0][0], own.weights[0][19], own.weights[1][19]), (0.25, 0.5, 4.5));
    }

    #[test]
    fn long_tails_are_in_the_last_bin() {
        let mut values: Vec<f64> = (0..1000).map(|i| (f64::from(i) / 1000.0).sqrt()).collect();
        values[0] = 50.0;
        let (_, histogram) = Histogram::of_numbers(&values);
        assert!((histogram.low, histogram.high < 1.0) == (values[1], true), "{histogram:?}");
        assert_eq!(histogram.counts[0].iter().sum::<usize>(), 1000);
    }
}
