//! The smallest and the largest number of a column, how often they occur, where, and their neighbours: values that stand
//! for a missing one, such as -999, and wrong entries are among them.

/// Distinct values are counted up to this number.
const MAX_DISTINCT: usize = 16;
/// An extreme value must be repeated this often to be suspicious.
const MIN_REPEATS: usize = 3;

/// A value whose distance from the others is this many times the range of the others is an outlier.
const OUTLIER_GAP: f64 = 1000.0;
/// Values whose range is a smaller share of their size have fewer than about 200 steps in single precision.
const MIN_RANGE: f64 = 2e-5;
/// Values whose range is a smaller share of their size are stored relative to an origin where this is possible.
const MIN_ORIGIN_RANGE: f64 = 1e-3;
/// Whole numbers up to this size are exact in single precision.
const MAX_EXACT: f64 = 16_777_216.0;

/// The extremes of a column, whose values have places `P`.
#[derive(Clone, Debug)]
pub(crate) struct Extremes<P> {
    pub min: f64,
    pub max: f64,
    lowest: End<P>,
    highest: End<P>,
    /// At most [`MAX_DISTINCT`].
    distinct: Vec<f64>,
    /// Whether every value is a whole number, and whether each is above the one before.
    is_whole: bool,
    is_rising: bool,
    last: f64,
}

/// One end of the values.
#[derive(Clone, Copy, Debug)]
struct End<P> {
    count: usize,
    /// Of the first one.
    place: Option<P>,
    /// The value next to the extreme one.
    next: f64,
}

/// A value that may stand for a missing one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Suspect {
    pub value: f64,
    pub count: usize,
}

/// A value far from all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlier<P> {
    pub value: f64,
    pub place: P,
    /// The range of all others.
    pub others: [f64; 2],
}

impl<P> Default for Extremes<P> {
    fn default() -> Self {
        Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            lowest: End { count: 0, place: None, next: f64::INFINITY },
            highest: End { count: 0, place: None, next: f64::NEG_INFINITY },
            distinct: Vec::new(),
            is_whole: true,
            is_rising: true,
            last: f64::NEG_INFINITY,
        }
    }
}

impl<P: Copy> Extremes<P> {
    pub(crate) fn add(&mut self, value: f64, place: P) {
        if value < self.min {
            self.lowest = End { count: 1, place: Some(place), next: self.min };
            self.min = value;
        } else if value == self.min {
            self.lowest.count += 1;
        } else {
            self.lowest.next = self.lowest.next.min(value);
        }
        if value > self.max {
            self.highest = End { count: 1, place: Some(place), next: self.max };
            self.max = value;
        } else if value == self.max {
            self.highest.count += 1;
        } else {
            self.highest.next = self.highest.next.max(value);
        }
        if self.distinct.len() < MAX_DISTINCT && !self.distinct.contains(&value) {
            self.distinct.push(value);
        }
        self.is_whole &= value.fract() == 0.0;
        self.is_rising &= value > self.last;
        self.last = value;
    }

    /// Whether the numbers only count the rows.
    pub(crate) fn counts_rows(&self) -> bool {
        self.is_whole && self.is_rising && self.distinct.len() == MAX_DISTINCT
    }

    /// Extreme values, far from all others, that are repeated.
    pub(crate) fn suspects(&self) -> Vec<Suspect> {
        let ends = [(self.min, self.lowest, self.max), (self.max, self.highest, self.min)];
        let suspect = |(value, end, other): (f64, End<P>, f64)| {
            let (gap, spread) = ((value - end.next).abs(), (end.next - other).abs());
            let is_far = match (is_nines(value), self.distinct.len()) {
                (true, distinct) => distinct > 2 && gap > spread,
                (false, distinct) => distinct == MAX_DISTINCT && gap > 3.0 * spread,
            };
            (end.count >= MIN_REPEATS && is_far && spread.is_finite() && gap.is_finite())
                .then_some(Suspect { value, count: end.count })
        };
        ends.into_iter().filter_map(suspect).collect()
    }

    /// A single value, so far from all others that these are hardly different beside it.
    pub(crate) fn outlier(&self) -> Option<Outlier<P>> {
        let ends = [(self.min, self.lowest, self.max), (self.max, self.highest, self.min)];
        ends.into_iter().find_map(|(value, end, other)| {
            let (gap, range) = ((value - end.next).abs(), (end.next - other).abs());
            let is_far = range > 0.0 && gap.is_finite() && gap > OUTLIER_GAP * range;
            let is_single = end.count == 1 && self.distinct.len() == MAX_DISTINCT;
            let others = [end.next.min(other), end.next.max(other)];
            (is_far && is_single).then_some(Outlier { value, place: end.place?, others })
        })
    }

    /// A round number near all values, if their range is so small compared with their size that single precision stores
    /// their distances from it better than themselves.
    pub(crate) fn origin(&self) -> Option<f64> {
        let (range, size) = (self.max - self.min, self.min.abs().max(self.max.abs()));
        let is_exact = self.is_whole && size <= MAX_EXACT;
        if is_exact || range.is_nan() || range <= 0.0 || range >= MIN_ORIGIN_RANGE * size {
            return None;
        }
        let unit = 10_f64.powf(range.log10().ceil());
        let origin = (0.5 * (self.min + self.max) / unit).round() * unit;
        Some(if origin.is_finite() { origin } else { self.min })
    }

    /// Whether the range of the values is so small compared with their size that single precision loses their differences,
    /// with what to do about it.
    pub(crate) fn lost_digits(&self) -> Option<LostDigits> {
        LostDigits::of(self.min, self.max)
    }
}

/// A problem with the precision of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LostDigits {
    pub problem: String,
    pub hint: String,
}

impl LostDigits {
    /// The problem of values between `min` and `max`, if there is one.
    pub(crate) fn of(min: f64, max: f64) -> Option<Self> {
        let is_lost = max > min && max - min < MIN_RANGE * min.abs().max(max.abs());
        is_lost.then(|| Self {
            problem: format!("the values lie between {min} and {max}, but are stored with 7 digits"),
            hint: format!("subtract a number such as {:.0} from all of them", 0.5 * (min + max)),
        })
    }
}

impl<P> std::fmt::Display for Outlier<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [low, high] = self.others;
        write!(f, "{} is far from all other values, which lie between {low} and {high}", self.value)
    }
}

/// Whether a number is written with nines only, two or more, or with eights only, three or more.
fn is_nines(value: f64) -> bool {
    let size = value.abs();
    if size.fract() != 0.0 || size > 1e9 {
        return false;
    }
    let digits = (size as u64).to_string();
    let all = |digit: char, least: usize| digits.len() >= least && digits.chars().all(|c| c == digit);
    all('9', 2) || all('8', 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut extremes = Extremes::default();
        values.into_iter().for_each(|value| extremes.add(value, ()));
        extremes.suspects().iter().map(|suspect| suspect.value).collect()
    }

    #[test]
    fn repeated_values_far_from_the_others_are_suspicious() {
        let ages = || (0..50).map(|i| 20.0 + f64::from(i));
        let with = |value: f64, count: usize| ages().chain(std::iter::repeat_n(value, count));
        assert_eq!(suspects(with(-999.0, 4)), [-999.0]);
        assert_eq!(suspects(with(9999.0, 3)), [9999.0]);
        assert_eq!(suspects(with(-99.0, 5)), [-99.0]);
        assert_eq!(suspects(with(-1e6, 5)), [-1e6]);
        assert_eq!(suspects(with(-999.0, 5).chain([999.0; 3])), [-999.0]);
        for (value, count) in [(-999.0, 2), (99.0, 9), (0.0, 20), (80.0, 9)] {
            assert_eq!(suspects(with(value, count)), [0.0; 0], "{value}");
        }
        // doses and two values are not
        assert_eq!(suspects((0..90).map(|i| [0.0, 1.0, 100.0][i % 3])), [0.0; 0]);
        assert_eq!(suspects((0..90).map(|i| [0.0, 99.0][i % 2])), [0.0; 0]);
        assert_eq!(suspects([]), [0.0; 0]);
    }

    #[test]
    fn a_single_value_far_from_all_others_is_an_outlier() {
        let outlier = |values: &[f64]| {
            let mut extremes = Extremes::default();
            values.iter().enumerate().for_each(|(i, &value)| extremes.add(value, i));
            extremes.outlier()
        };
        let mut values: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0).collect();
        assert_eq!(outlier(&values), None);
        values[7] = 3000.0;
        assert_eq!(outlier(&values), None, "skewed");
        values[7] = -1e10;
        assert_eq!(outlier(&values), Some(Outlier { value: -1e10, place: 7, others: [0.0, 3.9] }));
        values[8] = -1e10;
        assert_eq!(outlier(&values), None, "two are a group");
        let mut rare = vec![0.0; 1000];
        rare[3] = 1.0;
        assert_eq!(outlier(&rare), None, "a rare indicator");
    }

    #[test]
    fn values_with_a_small_range_have_a_round_origin() {
        let origin = |values: &[f64]| {
            let mut extremes = Extremes::default();
            values.iter().for_each(|&value| extremes.add(value, ()));
            extremes.origin()
        };
        assert_eq!(origin(&[1e7 + 0.25, 1e7 + 1.5]), Some(1e7));
        assert_eq!(origin(&[1e8 + 0.1, 1e8 + 0.9]), Some(1e8 + 1.0), "to the nearest whole number");
        assert_eq!(origin(&[-5000.75, -5000.25]), Some(-5001.0));
        assert_eq!(origin(&[1e9, 1e9 + 3.0]), Some(1e9));
        // whole numbers that single precision stores exactly, a large range, a constant, nothing
        for fine in [&[202_401.0, 202_412.0][..], &[1.6e9, 1.7e9], &[1e8 + 0.5; 2], &[]] {
            assert_eq!(origin(fine), None, "{fine:?}");
        }
    }

    #[test]
    fn values_that_differ_in_late_digits_only_are_recognised() {
        let lost = |values: &[f64]| {
            let mut extremes = Extremes::default();
            values.iter().for_each(|&value| extremes.add(value, ()));
            extremes.lost_digits()
        };
        assert!(lost(&[1e7, 1e7 + 2.0]).is_some_and(|lost| lost.hint.contains("such as 10000001 from")));
        assert!(lost(&[-1e-7, -1e-7 - 1e-14]).is_some());
        // seconds since 1970, months written as numbers, patient numbers, a constant
        for fine in [[1.6e9, 1.7e9], [202_401.0, 202_412.0], [1_000_001.0, 1_000_060.0], [5.0, 5.0]] {
            assert_eq!(lost(&fine), None, "{fine:?}");
        }
    }

    #[test]
    fn row_numbers_are_recognised() {
        let counts = |values: Vec<f64>| {
            let mut extremes = Extremes::default();
            values.into_iter().for_each(|value| extremes.add(value, ()));
            extremes.counts_rows()
        };
        assert!(counts((0..30).map(f64::from).collect()));
        assert!(!counts((0..30).map(|i| f64::from(i % 20)).collect()));
        assert!(!counts((0..30).map(|i| f64::from(i) / 2.0).collect()));
    }
}
