//! The support: the treatments that units similar to a given one received.

use super::prior::block_means;
use crate::data::NamedArray;
use crate::math::cluster::{KMeans, Rows};
use crate::models::Batcher;
use crate::{Result, Rng};

/// The largest number of regions into which the covariates are divided.
const MAX_REGIONS: usize = 64;
/// The smallest average number of training units per region.
const MIN_UNITS_PER_REGION: usize = 20;
/// The number of training units nearest to a region's centre whose treatments define its range.
const NEIGHBOURS: usize = 40;
/// The largest number of training units that regions are found from.
const MAX_SUPPORT_UNITS: usize = 4000;
/// The margin added to both ends of a region's range, as a share of the range of all treatments.
const RANGE_MARGIN: f32 = 0.05;

/// Regions of the covariates (as block means) of the training units, and the range of the treatments around the centre of
/// each; all standardised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Support {
    width: usize,
    d_t: usize,
    /// `[regions, width]`
    centres: Vec<f32>,
    /// `[regions, 2 d_t]`: the lowest treatments, then the highest.
    ranges: Vec<f32>,
}

impl Support {
    /// The support of the training units `rows`.
    pub(crate) fn new(batcher: &Batcher<'_>, rows: &[usize], rng: &mut Rng) -> Result<Self> {
        let step = rows.len().div_ceil(MAX_SUPPORT_UNITS).max(1);
        let rows: Vec<usize> = rows.iter().copied().step_by(step).collect();
        let all: Vec<f32> = rows.iter().flat_map(|&row| block_means(batcher, row)).collect();
        let (width, d_t, t) =
            (all.len() / rows.len().max(1), batcher.scaler.t.elements(), batcher.treatments(&rows));
        let regions = (rows.len() / MIN_UNITS_PER_REGION).clamp(1, MAX_REGIONS);
        let k_means = KMeans { restarts: 1, max_iterations: 20, ..KMeans::new(regions) };
        let centres = k_means.fit(&Rows::new(&all, width)?, rng)?.centers;
        let overall = TreatmentRange::from_rows(&t, d_t, 0..rows.len());
        let ranges = centres.chunks_exact(width).flat_map(|centre| {
            let neighbours = nearest(&all, centre, NEIGHBOURS);
            let mut range = TreatmentRange::from_rows(&t, d_t, neighbours.into_iter());
            for j in 0..d_t {
                let margin = RANGE_MARGIN * (overall.high[j] - overall.low[j]);
                range.low[j] -= margin;
                range.high[j] += margin;
            }
            [range.low, range.high].concat()
        });
        Ok(Self { width, d_t, ranges: ranges.collect(), centres })
    }

    /// The region whose centre is nearest to the covariates of unit `row`.
    pub(crate) fn nearest_region(&self, batcher: &Batcher<'_>, row: usize) -> usize {
        nearest(&self.centres, &block_means(batcher, row), 1)[0]
    }

    /// Whether standardised `t` lies within the range of treatments of `region`.
    pub(crate) fn contains(&self, region: usize, t: &[f32]) -> bool {
        let (low, high) = self.ranges[region * 2 * self.d_t..][..2 * self.d_t].split_at(self.d_t);
        t.iter().zip(low.iter().zip(high)).all(|(t, (low, high))| (low..=high).contains(&t))
    }

    /// The two arrays that a model file stores.
    pub(crate) fn to_weights(&self) -> Vec<NamedArray> {
        let array = |name: &str, width: usize, values: &[f32]| NamedArray {
            name: name.to_owned(),
            shape: vec![values.len() / width, width],
            values: values.to_vec(),
        };
        vec![
            array("support.x", self.width, &self.centres),
            array("support.range", 2 * self.d_t, &self.ranges),
        ]
    }

    /// Reads the first two arrays of a model file, and returns the remaining ones. `None` if they cannot be used.
    pub(crate) fn from_weights(weights: &[NamedArray], d_t: usize) -> Option<(Self, &[NamedArray])> {
        let [x, range, rest @ ..] = weights else { return None };
        let (&[n, width], &[m, ends]) = (x.shape.as_slice(), range.shape.as_slice()) else { return None };
        let has_names = x.name == "support.x" && range.name == "support.range";
        let is_sound = has_names && n == m && n > 0 && width > 0 && ends == 2 * d_t;
        is_sound.then(|| (Self { width, d_t, centres: x.values.clone(), ranges: range.values.clone() }, rest))
    }
}

/// The indices of the `count` rows of `all` nearest to `x`, in no particular order; all if there are fewer.
fn nearest(all: &[f32], x: &[f32], count: usize) -> Vec<usize> {
    let distance = |other: &[f32]| x.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
    let mut found: Vec<(f32, usize)> = all.chunks_exact(x.len()).map(distance).zip(0..).collect();
    if count < found.len() {
        found.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        found.truncate(count);
    }
    found.into_iter().map(|(_, i)| i).collect()
}

/// The lowest and the highest value of each treatment.
struct TreatmentRange {
    low: Vec<f32>,
    high: Vec<f32>,
}

impl TreatmentRange {
    /// The range over `rows` of `t`, `[n, d_t]`.
    fn from_rows(t: &[f32], d_t: usize, rows: impl Iterator<Item = usize>) -> Self {
        let mut range = Self { low: vec![f32::INFINITY; d_t], high: vec![f32::NEG_INFINITY; d_t] };
        for row in rows {
            for (j, t) in t[row * d_t..(row + 1) * d_t].iter().enumerate() {
                range.low[j] = range.low[j].min(*t);
                range.high[j] = range.high[j].max(*t);
            }
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Scaler, Units};
    use crate::stream;

    #[test]
    fn a_treatment_is_supported_if_similar_units_got_it() {
        // units with small x received t in [0, 1], those with large x received t in [10, 11]
        let n = 400;
        let x: Vec<f32> =
            (0..n).map(|i| if i % 2 == 0 { 0.0 } else { 5.0 } + (i % 13) as f32 / 50.0).collect();
        let t: Vec<f32> =
            (0..n).map(|i| if i % 2 == 0 { 0.0 } else { 10.0 } + (i % 17) as f32 / 17.0).collect();
        let units = |values: Vec<f32>| Units::new("x", vec![1], values).unwrap();
        let data = Dataset::new(units(x.clone()), units(t), units(x)).unwrap();
        let scaler = Scaler::fit(&data.all(), false);
        let batcher = Batcher { data: &data, scaler: &scaler, missing: false };
        let support =
            Support::new(&batcher, &(0..n).collect::<Vec<_>>(), &mut stream(1, &["support"])).unwrap();
        let region = support.nearest_region(&batcher, 0);
        let is_supported = |t: f32| {
            let mut standardised = Vec::new();
            scaler.t.standardise_into(&[t], &mut standardised);
            support.contains(region, &standardised)
        };
        assert!(is_supported(0.5) && !is_supported(10.5) && !is_supported(5.0));
        let weights = support.to_weights();
        assert_eq!(Support::from_weights(&weights, 1).map(|(support, _)| support), Some(support));
        assert!(Support::from_weights(&weights, 2).is_none() && Support::from_weights(&[], 1).is_none());
    }
}
