//! Outcomes against treatments: observed means by level or range of a treatment, and single units.

use serde::Serialize;

use super::histogram::ValueRange;
use crate::data::OutcomeKind;
use crate::math::{mean, normal_half_width, standard_deviation, student_half_width};

/// The number of groups of a treatment that takes many values.
const MAX_RANGES: usize = 8;
/// The smallest number of units per such group.
const MIN_RANGE_UNITS: usize = 5;
/// A treatment of at most this many values has one group per value.
const MAX_SINGLE_VALUES: usize = 6;
/// The largest number of units that are drawn as points.
const MAX_POINTS: usize = 300;

/// The means of an outcome at one treatment, as observed. They are not adjusted for covariates or hidden classes, so their
/// differences are not effects.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeByTreatment {
    /// The name of the treatment.
    pub treatment: String,
    /// The groups of units: one per level, or per value if there are few, or else ranges of about equally many units.
    pub groups: Vec<TreatmentGroup>,
    /// An even sample of at most 300 units; empty for outcomes that are not numbers, counts or amounts, and for treatments with levels or
    /// few values.
    pub points: Vec<ObservedPoint>,
}

/// The units whose treatment has one level or value, or is in one range.
#[derive(Clone, Debug, Serialize)]
pub struct TreatmentGroup {
    /// The level or the value; none for a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The range of the treatment; of a level, its position.
    pub range: ValueRange,
    /// The number of units with an observed outcome.
    pub units: usize,
    /// The mean outcome; of yes or no the share of yes, of a category the share of each level.
    pub means: Vec<MeanInterval>,
}

/// A mean or a share with its interval, whose level is that of the report. Units count as independent. NaN (null in JSON) where
/// there are too few units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanInterval {
    /// The mean, or the share.
    pub mean: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// The treatment and the outcome of one unit; of an outcome with several elements, their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObservedPoint {
    /// The treatment.
    pub t: f64,
    /// The outcome.
    pub y: f64,
}

/// A treatment as a number per unit; a level is its position.
pub(super) struct TreatmentPlaces {
    pub name: String,
    pub levels: Option<Vec<String>>,
    pub places: Vec<f64>,
}

/// The outcome of each unit as a number; none if it was not observed. A category is the position of its level.
pub(super) struct UnitOutcomes {
    pub kind: OutcomeKind,
    /// The number of levels of a category.
    pub levels: usize,
    pub values: Vec<Option<f64>>,
}

impl OutcomeByTreatment {
    pub(super) fn new(treatment: &TreatmentPlaces, outcome: &UnitOutcomes, level: f64) -> Self {
        let pairs = treatment.places.iter().zip(&outcome.values);
        let points: Vec<ObservedPoint> =
            pairs.filter_map(|(&t, y)| y.map(|y| ObservedPoint { t, y })).collect();
        let (names, bounds) = match &treatment.levels {
            Some(levels) => (Some(levels.clone()), (1..levels.len()).map(|k| k as f64 - 0.5).collect()),
            None => group_bounds(&points),
        };
        let mut members = vec![Vec::new(); bounds.len() + 1];
        for point in &points {
            members[bounds.partition_point(|bound| *bound <= point.t)].push(*point);
        }
        let group = |(k, members): (usize, &Vec<ObservedPoint>)| {
            let values: Vec<f64> = members.iter().map(|point| point.y).collect();
            TreatmentGroup {
                level: names.as_ref().map(|names| names[k].clone()),
                range: ValueRange::from_values(members.iter().map(|point| point.t)),
                units: members.len(),
                means: means_of(outcome, &values, level),
            }
        };
        let groups = members.iter().enumerate().map(group).collect();
        let is_drawn = matches!(outcome.kind, OutcomeKind::Number | OutcomeKind::Count | OutcomeKind::Amount);
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        let points = match is_drawn && names.is_none() {
            true => points.into_iter().step_by(step).collect(),
            false => Vec::new(),
        };
        Self { treatment: treatment.name.clone(), groups, points }
    }
}

/// The names of the values of a treatment that takes few, and the lower bounds of all groups but the first.
fn group_bounds(points: &[ObservedPoint]) -> (Option<Vec<String>>, Vec<f64>) {
    let mut sorted: Vec<f64> = points.iter().map(|point| point.t).collect();
    sorted.sort_by(f64::total_cmp);
    let mut values = sorted.clone();
    values.dedup();
    if (1..=MAX_SINGLE_VALUES).contains(&values.len()) {
        let names = values.iter().map(|value| (*value as f32).to_string()).collect();
        return (Some(names), values[1..].to_vec());
    }
    // equal treatments stay in one group, so that there may be fewer groups
    let groups = (sorted.len() / MIN_RANGE_UNITS).clamp(1, MAX_RANGES);
    let mut bounds: Vec<f64> = (1..groups).map(|k| sorted[k * sorted.len() / groups]).collect();
    bounds.dedup();
    bounds.retain(|bound| *bound > sorted[0]);
    (None, bounds)
}

fn means_of(outcome: &UnitOutcomes, values: &[f64], level: f64) -> Vec<MeanInterval> {
    let share = |of: f64| {
        let count = values.iter().filter(|value| **value == of).count();
        MeanInterval::of_share(count, values.len(), level)
    };
    match outcome.kind {
        OutcomeKind::Level(_) => (0..outcome.levels).map(|k| share(k as f64)).collect(),
        OutcomeKind::YesNo => vec![share(1.0)],
        _ => vec![MeanInterval::of_values(values, level)],
    }
}

impl MeanInterval {
    const UNKNOWN: Self = Self { mean: f64::NAN, lower: f64::NAN, upper: f64::NAN };

    /// The mean with the interval by Student's t.
    fn of_values(values: &[f64], level: f64) -> Self {
        match values.len() {
            0 => Self::UNKNOWN,
            1 => Self { mean: values[0], ..Self::UNKNOWN },
            n => {
                let (mean, error) = (mean(values), standard_deviation(values) / (n as f64).sqrt());
                let half = student_half_width(normal_half_width(level), n - 1) * error;
                Self { mean, lower: mean - half, upper: mean + half }
            }
        }
    }

    /// A share with the interval of Wilson, (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).
    fn of_share(count: usize, n: usize, level: f64) -> Self {
        if n == 0 {
            return Self::UNKNOWN;
        }
        let (p, n, z) = (count as f64 / n as f64, n as f64, normal_half_width(level));
        let scale = 1.0 + z * z / n;
        let centre = (p + z * z / (2.0 * n)) / scale;
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / scale;
        Self { mean: p, lower: (centre - half).max(0.0), upper: (centre + half).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn against(
        places: Vec<f64>,
        levels: Option<&[&str]>,
        kind: OutcomeKind,
        values: Vec<Option<f64>>,
    ) -> OutcomeByTreatment {
        let levels = levels.map(|levels| levels.iter().map(|&level| level.to_owned()).collect());
        let treatment = TreatmentPlaces { name: "t".to_owned(), levels, places };
        OutcomeByTreatment::new(&treatment, &UnitOutcomes { kind, levels: 3, values }, 0.9)
    }

    #[test]
    fn ranges_hold_all_units_with_an_outcome() {
        let places: Vec<f64> = (0..1000).map(|i| f64::from(i * 37 % 1000)).collect();
        let values = places.iter().map(|t| (*t >= 10.0).then_some(2.0 * t)).collect();
        let own = against(places, None, OutcomeKind::Number, values);
        assert_eq!((own.groups.len(), own.points.len()), (8, 248));
        assert_eq!(own.groups.iter().map(|group| group.units).sum::<usize>(), 990);
        for group in &own.groups {
            assert!((123..=124).contains(&group.units) && group.level.is_none());
            let MeanInterval { mean, lower, upper } = group.means[0];
            assert!((mean - 2.0 * group.range.mean).abs() < 1e-9 && lower < mean && mean < upper);
        }
        assert!(own.groups.windows(2).all(|pair| pair[0].range.max < pair[1].range.min));
    }

    #[test]
    fn equal_treatments_stay_in_one_group() {
        // half of the units received nothing
        let places: Vec<f64> = (0..200).map(|i| if i % 2 == 0 { 0.0 } else { f64::from(i) }).collect();
        let own = against(places, None, OutcomeKind::Count, vec![Some(1.0); 200]);
        assert_eq!((own.groups[0].units, own.groups[0].range.max), (100, 0.0));
        assert!(own.groups.len() > 3 && own.groups.iter().all(|group| group.units > 0));
    }

    #[test]
    fn few_values_and_levels_have_a_group_each() {
        let doses = (0..90).map(|i| 0.5 * f64::from(i % 3)).collect();
        let recovered = (0..90).map(|i| Some(f64::from(i % 3 == 2))).collect();
        let own = against(doses, None, OutcomeKind::YesNo, recovered);
        let names: Vec<&str> = own.groups.iter().filter_map(|group| group.level.as_deref()).collect();
        assert_eq!((names, own.points.len()), (vec!["0", "0.5", "1"], 0));
        assert_eq!((own.groups[0].means[0].mean, own.groups[2].means[0].mean), (0.0, 1.0));

        let drugs = (0..40).map(|i| f64::from(i % 2)).collect();
        let choices = (0..40).map(|i| Some(f64::from(i % 4))).map(|value| value.filter(|k| *k < 3.0));
        let own = against(drugs, Some(&["A", "B", "C"]), OutcomeKind::Level(0), choices.collect());
        assert_eq!(own.groups.iter().map(|group| group.units).collect::<Vec<_>>(), [20, 10, 0]);
        let shares = own.groups[0].means.iter().map(|share| share.mean).collect::<Vec<_>>();
        assert_eq!(shares, [0.5, 0.0, 0.5]);
        assert!(own.groups[2].means.iter().all(|share| share.mean.is_nan()), "nobody received C");
    }

    #[test]
    fn shares_have_the_interval_of_wilson() {
        let MeanInterval { mean, lower, upper } = MeanInterval::of_share(8, 10, 0.95);
        assert!((mean, (lower - 0.4902).abs() < 1e-3, (upper - 0.9433).abs() < 1e-3) == (0.8, true, true));
        let none = MeanInterval::of_share(0, 10, 0.95);
        assert!(none.lower < 1e-12 && (none.upper - 0.2775).abs() < 1e-3, "{none:?}");
    }

    #[test]
    fn means_of_no_units_and_of_one_have_no_interval() {
        assert!(MeanInterval::of_values(&[], 0.9).mean.is_nan());
        let one = MeanInterval::of_values(&[4.0], 0.9);
        assert!(one.mean == 4.0 && one.lower.is_nan());
        let own = against(Vec::new(), None, OutcomeKind::Number, Vec::new());
        assert_eq!((own.groups.len(), own.groups[0].units), (1, 0));
        let many = MeanInterval::of_values(&[0.0, 2.0].repeat(50), 0.9);
        assert!((many.upper - 1.0 - 1.6604 * 1.005_038 / 10.0).abs() < 1e-4, "{many:?}");
    }
}
