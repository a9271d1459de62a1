//! The data at a glance: sizes, ranges and how values are spread.

use serde::Serialize;

use super::Scene;
use crate::Units;

/// Bars of a histogram.
const BARS: usize = 20;

/// What the units looked at are.
#[derive(Clone, Debug, Serialize)]
pub struct Glance {
    /// How many units were looked at.
    pub units: usize,
    /// The shape of a unit's covariates.
    pub x_shape: Vec<usize>,
    /// The shape of a unit's outcome.
    pub y_shape: Vec<usize>,
    /// The share of covariates that are missing.
    pub x_missing: f64,
    /// The share of outcomes that are missing.
    pub y_missing: f64,
    /// Every treatment.
    pub treatments: Vec<TreatmentGlance>,
    /// Every outcome.
    pub outcomes: Vec<OutcomeGlance>,
}

/// How one treatment is spread over units.
#[derive(Clone, Debug, Serialize)]
pub struct TreatmentGlance {
    /// The treatment.
    pub name: String,
    /// The least, the mean and the greatest.
    pub range: [f64; 3],
    /// How many units lie where.
    pub histogram: Histogram,
}

/// How one outcome is spread over units and elements.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeGlance {
    /// The outcome.
    pub name: String,
    /// How many elements it has: points in time, pixels.
    pub elements: usize,
    /// The least, the mean and the greatest of all elements that were seen.
    pub range: [f64; 3],
}

/// How many units of each of several groups lie in bins of equal width.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// Where the first bin begins.
    pub low: f64,
    /// Where the last bin ends.
    pub high: f64,
    /// Units per group and bin.
    pub counts: Vec<Vec<usize>>,
}

impl Histogram {
    /// Of values with their group, between `low` and `high`.
    pub(super) fn between(
        (low, high): (f64, f64),
        bars: usize,
        groups: usize,
        values: impl Iterator<Item = (usize, f64)>,
    ) -> Self {
        let mut counts = vec![vec![0; bars]; groups];
        for (group, value) in values {
            let bin = ((value - low) / (high - low) * bars as f64).floor();
            counts[group][(bin.max(0.0) as usize).min(bars - 1)] += 1;
        }
        Self { low, high, counts }
    }

    /// Of values with their group, over the range that they have.
    pub(super) fn of(groups: usize, values: &[(usize, f64)]) -> Self {
        let [low, _, high] = range(values.iter().map(|(_, value)| *value));
        // values that are all alike still need a bin of some width
        let margin = if high > low { 0.0 } else { 0.5 * low.abs().max(1.0) };
        Self::between((low - margin, high + margin), BARS, groups, values.iter().copied())
    }
}

impl Scene<'_> {
    pub(super) fn glance(&self) -> Glance {
        let missing = |units: &Units| match units.mask() {
            None => 0.0,
            Some(mask) => mask.iter().filter(|seen| !**seen).count() as f64 / mask.len() as f64,
        };
        let (x, t, y) = (self.data.x(), self.data.t(), self.data.y());
        let treatment = |(j, name): (usize, String)| {
            let values: Vec<(usize, f64)> = (0..t.len()).map(|i| (0, f64::from(t.row(i)[j]))).collect();
            let range = range(values.iter().map(|(_, value)| *value));
            TreatmentGlance { name, range, histogram: Histogram::of(1, &values) }
        };
        let outcome = |outcome: &super::Outcome| OutcomeGlance {
            name: outcome.name.clone(),
            elements: outcome.range.len(),
            range: range((0..y.len()).flat_map(|i| seen(y, i, outcome.range.clone()))),
        };
        Glance {
            units: self.data.len(),
            x_shape: x.shape().to_vec(),
            y_shape: y.shape().to_vec(),
            x_missing: missing(x),
            y_missing: missing(y),
            treatments: self.treatments().into_iter().enumerate().map(treatment).collect(),
            outcomes: self.outcomes.iter().map(outcome).collect(),
        }
    }
}

/// The elements of unit `i` within `own` that were observed.
pub(super) fn seen(units: &Units, i: usize, own: std::ops::Range<usize>) -> impl Iterator<Item = f64> {
    let mask = units.mask_row(i);
    let kept = own.filter(move |&j| mask.is_none_or(|mask| mask[j]));
    kept.map(move |j| f64::from(units.row(i)[j]))
}

/// The least, the mean and the greatest; zeros where there is nothing.
fn range(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let (mut n, mut low, mut sum, mut high) = (0_usize, f64::INFINITY, 0.0, f64::NEG_INFINITY);
    for value in values {
        (n, low, sum, high) = (n + 1, low.min(value), sum + value, high.max(value));
    }
    if n == 0 { [0.0; 3] } else { [low, sum / n as f64, high] }
}
