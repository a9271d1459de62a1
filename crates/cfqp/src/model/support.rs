//! The support: the treatments that units similar to a given one received.
//!
//! A treatment is on support if it lies within the range of what similar units received. Of several treatments, the
//! combination must also be near one that a similar unit received: nobody may have got B = 1 and C = 1 together, although
//! both are within range. Treatments of two values, such as the elements of levels, must be equal: a dose of drug B is not
//! near the same dose of drug C.

use std::cmp::Ordering;
use std::collections::HashSet;

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

/// A treatment with at most this number of distinct values is discrete.
const MAX_DISCRETE_VALUES: usize = 10;
/// The largest number of combinations of discrete treatments that are compared exactly.
const MAX_COMBINATIONS: usize = 100;
/// The number of neighbours per combination: a combination as frequent as the average is expected this often among them.
const NEIGHBOURS_PER_COMBINATION: usize = 10;
/// The share of training units whose own combination is on support without them.
const REACH_QUANTILE: f64 = 0.99;

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
    /// For several treatments; a model file of an earlier version has none.
    combinations: Option<Combinations>,
    /// `[regions, units, d_t]`: the treatments of the training units nearest to the centre of each region; a model file of
    /// an earlier version has none.
    received: Option<Vec<f32>>,
}

/// The combinations of several treatments that were received in each region. A combination is on support if its distance
/// to one of them, in units of `reach`, is at most 1.
#[derive(Clone, Debug, PartialEq)]
struct Combinations {
    /// The combinations of each region, `[n, d_t]`, flat.
    received: Vec<Vec<f32>>,
    /// The length of one unit of distance in every treatment.
    reach: Vec<f32>,
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
        let combinations = (d_t > 1).then(|| Combinations::new(&t, &overall, &all, &centres));
        let neighbours: Vec<Vec<usize>> =
            centres.chunks_exact(width).map(|centre| nearest(&all, centre, NEIGHBOURS)).collect();
        let received = neighbours.iter().flatten().flat_map(|&i| &t[i * d_t..][..d_t]).copied().collect();
        let ranges = neighbours.into_iter().flat_map(|neighbours| {
            let mut range = TreatmentRange::from_rows(&t, d_t, neighbours.into_iter());
            for j in 0..d_t {
                let margin = RANGE_MARGIN * (overall.high[j] - overall.low[j]);
                range.low[j] -= margin;
                range.high[j] += margin;
            }
            [range.low, range.high].concat()
        });
        Ok(Self { width, d_t, ranges: ranges.collect(), combinations, centres, received: Some(received) })
    }

    /// The region whose centre is nearest to the covariates of unit `row`.
    pub(crate) fn nearest_region(&self, batcher: &Batcher<'_>, row: usize) -> usize {
        nearest(&self.centres, &block_means(batcher, row), 1)[0]
    }

    /// Whether standardised `t` lies within the range of treatments of `region`, and near a combination received there.
    pub(crate) fn contains(&self, region: usize, t: &[f32]) -> bool {
        let (low, high) = self.ranges[region * 2 * self.d_t..][..2 * self.d_t].split_at(self.d_t);
        t.iter().zip(low.iter().zip(high)).all(|(t, (low, high))| (low..=high).contains(&t))
            && self.combinations.as_ref().is_none_or(|combinations| combinations.contain(region, t))
    }

    /// The treatments, standardised, `[n, d_t]`, that training units similar to those of `region` received; of a model file
    /// of an earlier version, treatments that are evenly spaced over their range.
    pub(crate) fn received(&self, region: usize) -> Vec<f32> {
        if let Some(received) = &self.received {
            let size = received.len() / (self.centres.len() / self.width);
            return received[region * size..][..size].to_vec();
        }
        let (low, high) = self.ranges[region * 2 * self.d_t..][..2 * self.d_t].split_at(self.d_t);
        let at = |i: usize| {
            let share = (i as f32 + 0.5) / NEIGHBOURS as f32;
            low.iter().zip(high).map(move |(low, high)| low + share * (high - low))
        };
        (0..NEIGHBOURS).flat_map(at).collect()
    }

    /// The arrays that a model file stores.
    pub(crate) fn to_weights(&self) -> Vec<NamedArray> {
        let array = |name: &str, width: usize, values: &[f32]| NamedArray {
            name: name.to_owned(),
            shape: vec![values.len() / width, width],
            values: values.to_vec(),
        };
        let mut arrays = vec![
            array("support.x", self.width, &self.centres),
            array("support.range", 2 * self.d_t, &self.ranges),
        ];
        if let Some(combinations) = &self.combinations {
            arrays.push(array("support.reach", self.d_t, &combinations.reach));
            arrays.push(array("support.received", 1 + self.d_t, &combinations.to_rows()));
        }
        if let Some(received) = &self.received {
            arrays.push(array("support.t", received.len() * self.width / self.centres.len(), received));
        }
        arrays
    }

    /// Reads the first arrays of a model file, and returns the remaining ones. `None` if they cannot be used.
    pub(crate) fn from_weights(weights: &[NamedArray], d_t: usize) -> Option<(Self, &[NamedArray])> {
        let [x, range, rest @ ..] = weights else { return None };
        let (&[n, width], &[m, ends]) = (x.shape.as_slice(), range.shape.as_slice()) else { return None };
        let has_names = x.name == "support.x" && range.name == "support.range";
        let is_sound = has_names && n == m && n > 0 && width > 0 && d_t > 0 && ends == 2 * d_t;
        if !is_sound {
            return None;
        }
        let (combinations, rest) = match rest {
            [reach, received, rest @ ..] if reach.name == "support.reach" => {
                (Some(Combinations::from_arrays(reach, received, n, d_t)?), rest)
            }
            _ => (None, rest),
        };
        let (received, rest) = match rest {
            [t, rest @ ..] if t.name == "support.t" => {
                let is_sound =
                    t.shape.len() == 2 && t.shape[0] == n && t.shape[1] > 0 && t.shape[1] % d_t == 0;
                (Some(is_sound.then(|| t.values.clone())?), rest)
            }
            _ => (None, rest),
        };
        let (centres, ranges) = (x.values.clone(), range.values.clone());
        Some((Self { width, d_t, centres, ranges, combinations, received }, rest))
    }
}

impl Combinations {
    /// The combinations among `t`, `[n, d_t]`, of the units with covariates `x` that are nearest to each of `centres`.
    fn new(t: &[f32], overall: &TreatmentRange, x: &[f32], centres: &[f32]) -> Self {
        let d_t = overall.low.len();
        let width = x.len() / (t.len() / d_t).max(1);
        let margin = |j: usize| (RANGE_MARGIN * (overall.high[j] - overall.low[j])).max(f32::MIN_POSITIVE);
        let margins: Vec<f32> = (0..d_t).map(margin).collect();
        let distinct = distinct_combinations(t, d_t).filter(|distinct| distinct.len() <= MAX_COMBINATIONS);
        let exact: Vec<usize> = (0..d_t).filter(|&j| distinct_values(t, d_t, j).len() == 2).collect();
        let neighbours = match &distinct {
            Some(distinct) => NEIGHBOURS.max(NEIGHBOURS_PER_COMBINATION * distinct.len()),
            None => NEIGHBOURS.max(NEIGHBOURS_PER_COMBINATION * exact_combinations(t, d_t, &exact)),
        };
        let regions: Vec<Vec<usize>> =
            centres.chunks_exact(width).map(|centre| nearest(x, centre, neighbours)).collect();
        let combination = |i: usize| &t[i * d_t..][..d_t];
        let received = |units: &Vec<usize>| {
            let mut received: Vec<Vec<f32>> = units.iter().map(|&i| combination(i).to_vec()).collect();
            received.sort_by(|a, b| {
                a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            });
            received.dedup();
            received.concat()
        };
        let reach = match distinct {
            Some(_) => margins,
            None => {
                let reach = leave_one_out_reach(&regions, combination, &exact);
                let of_column = |(j, margin): (usize, f32)| {
                    if exact.contains(&j) { margin } else { margin.max(reach) }
                };
                margins.into_iter().enumerate().map(of_column).collect()
            }
        };
        Self { received: regions.iter().map(received).collect(), reach }
    }

    fn contain(&self, region: usize, t: &[f32]) -> bool {
        let distance = |received: &[f32]| -> f32 {
            let scaled = received.iter().zip(t).zip(&self.reach).map(|((a, b), reach)| (a - b) / reach);
            scaled.map(|distance| distance * distance).sum()
        };
        self.received[region].chunks_exact(t.len()).any(|received| distance(received) <= 1.0)
    }

    /// One row per combination: its region, then the treatments.
    fn to_rows(&self) -> Vec<f32> {
        let d_t = self.reach.len();
        let rows = self.received.iter().enumerate().flat_map(|(region, received)| {
            received
                .chunks_exact(d_t)
                .flat_map(move |t| std::iter::once(region as f32).chain(t.iter().copied()))
        });
        rows.collect()
    }

    fn from_arrays(reach: &NamedArray, received: &NamedArray, regions: usize, d_t: usize) -> Option<Self> {
        let is_reach_sound = reach.shape == [1, d_t] && reach.values.iter().all(|reach| *reach > 0.0);
        let is_sound = is_reach_sound && received.name == "support.received" && received.shape.len() == 2;
        if !is_sound || received.shape[1] != 1 + d_t {
            return None;
        }
        let mut by_region = vec![Vec::new(); regions];
        for row in received.values.chunks_exact(1 + d_t) {
            by_region.get_mut(row[0] as usize)?.extend_from_slice(&row[1..]);
        }
        Some(Self { received: by_region, reach: reach.values.clone() })
    }
}

/// The distinct combinations of treatments, if every treatment is discrete.
fn distinct_combinations(t: &[f32], d_t: usize) -> Option<HashSet<Vec<u32>>> {
    for j in 0..d_t {
        if distinct_values(t, d_t, j).len() > MAX_DISCRETE_VALUES {
            return None;
        }
    }
    Some(t.chunks_exact(d_t).map(|t| t.iter().map(|t| t.to_bits()).collect()).collect())
}

/// The distinct values of treatment `j`.
fn distinct_values(t: &[f32], d_t: usize, j: usize) -> HashSet<u32> {
    t.iter().skip(j).step_by(d_t).map(|t| t.to_bits()).collect()
}

/// The number of distinct combinations of the treatments `exact`.
fn exact_combinations(t: &[f32], d_t: usize, exact: &[usize]) -> usize {
    let of_row = |row: &[f32]| exact.iter().map(|&j| row[j].to_bits()).collect::<Vec<_>>();
    t.chunks_exact(d_t).map(of_row).collect::<HashSet<_>>().len()
}

/// The distance from a unit's combination to the nearest one of another unit in its region with the same values of the
/// treatments `exact`, which [`REACH_QUANTILE`] of units do not exceed.
fn leave_one_out_reach<'a>(
    regions: &[Vec<usize>],
    combination: impl Fn(usize) -> &'a [f32],
    exact: &[usize],
) -> f32 {
    let is_same = |a: usize, b: usize| exact.iter().all(|&j| combination(a)[j] == combination(b)[j]);
    let squared = |a: usize, b: usize| -> f32 {
        combination(a).iter().zip(combination(b)).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let mut distances: Vec<f32> = Vec::new();
    for units in regions.iter().filter(|units| units.len() > 1) {
        distances.extend(units.iter().map(|&i| {
            let others = units.iter().filter(|&&other| other != i && is_same(other, i));
            others.map(|&other| squared(i, other)).fold(f32::INFINITY, f32::min).sqrt()
        }));
    }
    // units without another of their combination tell nothing of distances
    distances.retain(|distance| distance.is_finite());
    distances.sort_by(f32::total_cmp);
    let last = distances.len().saturating_sub(1);
    distances.get((last as f64 * REACH_QUANTILE).round() as usize).copied().unwrap_or(f32::INFINITY)
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
        let received = support.received(region);
        assert_eq!(received.len(), NEIGHBOURS);
        assert!(received.iter().all(|t| support.contains(region, &[*t])), "similar units received them");
        let weights = support.to_weights();
        assert_eq!(Support::from_weights(&weights, 1).map(|(support, _)| support), Some(support));
        assert!(Support::from_weights(&weights, 2).is_none() && Support::from_weights(&[], 1).is_none());
    }

    /// The support of 400 units with these two treatments, and whether it contains a combination for the first unit.
    fn joint_support(t: impl Fn(usize) -> [f32; 2]) -> impl Fn([f32; 2]) -> bool {
        let n = 400;
        let x: Vec<f32> = (0..n).map(|i| (i % 37) as f32 / 37.0).collect();
        let units = |width, values: Vec<f32>| Units::new("x", vec![width], values).unwrap();
        let data =
            Dataset::new(units(1, x.clone()), units(2, (0..n).flat_map(t).collect()), units(1, x)).unwrap();
        move |asked: [f32; 2]| {
            let scaler = Scaler::fit(&data.all(), false);
            let batcher = Batcher { data: &data, scaler: &scaler, missing: false };
            let rows: Vec<usize> = (0..n).collect();
            let support = Support::new(&batcher, &rows, &mut stream(1, &["support"])).unwrap();
            let weights = support.to_weights();
            let read = Support::from_weights(&weights, 2).map(|(support, rest)| (support, rest.len()));
            assert_eq!(read, Some((support.clone(), 0)), "a model file keeps the support");
            let mut standardised = Vec::new();
            scaler.t.standardise_into(&asked, &mut standardised);
            support.contains(support.nearest_region(&batcher, 0), &standardised)
        }
    }

    #[test]
    fn a_combination_of_discrete_treatments_that_nobody_got_is_off_support() {
        // placebo, B or C, never both
        let is_supported = joint_support(|i| [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]][i % 3]);
        assert!(is_supported([0.0, 0.0]) && is_supported([1.0, 0.0]) && is_supported([0.0, 1.0]));
        assert!(is_supported([1.02, 0.01]), "within the margin");
        assert!(!is_supported([1.0, 1.0]) && !is_supported([0.5, 0.0]) && !is_supported([2.0, 0.0]));
    }

    #[test]
    fn a_combination_of_continuous_treatments_far_from_all_received_is_off_support() {
        // two doses that rise together
        let dose = |i: usize| (i * 7 % 400) as f32 / 400.0;
        let is_supported = joint_support(move |i| [dose(i), dose(i) + 0.1 * dose(i * 11 + 3)]);
        assert!(is_supported([0.5, 0.55]) && is_supported([0.2, 0.25]) && is_supported([0.8, 0.85]));
        assert!(!is_supported([0.1, 0.9]) && !is_supported([0.9, 0.1]) && !is_supported([0.5, 3.0]));
    }

    #[test]
    fn a_discrete_and_a_continuous_treatment_are_compared_together() {
        // only those without B got a dose
        let is_supported =
            joint_support(|i| if i % 2 == 0 { [1.0, 0.0] } else { [0.0, (i * 7 % 400) as f32 / 400.0] });
        assert!(is_supported([1.0, 0.0]) && is_supported([0.0, 0.6]));
        assert!(!is_supported([1.0, 0.6]));
    }

    #[test]
    fn a_dose_of_one_drug_is_not_near_the_same_dose_of_another() {
        // low doses of the first drug, high doses of the second
        let is_supported = joint_support(|i| {
            let dose = (i * 7 % 400) as f32 / 800.0;
            if i % 2 == 0 { [0.0, dose] } else { [1.0, 0.5 + dose] }
        });
        assert!(is_supported([0.0, 0.2]) && is_supported([1.0, 0.8]));
        assert!(!is_supported([1.0, 0.2]) && !is_supported([0.0, 0.8]) && !is_supported([0.5, 0.2]));
    }

    #[test]
    fn model_files_of_earlier_versions_have_ranges_only() {
        let array = |name: &str, values: &[f32], width: usize| NamedArray {
            name: name.to_owned(),
            shape: vec![values.len() / width, width],
            values: values.to_vec(),
        };
        let old = [
            array("support.x", &[0.0, 1.0], 1),
            array("support.range", &[-1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0], 4),
            array("mixture", &[1.0], 1),
        ];
        let (support, rest) = Support::from_weights(&old, 2).unwrap();
        assert!(support.contains(1, &[0.9, -0.9]) && !support.contains(1, &[0.9, -1.1]));
        assert_eq!((rest.len(), support.to_weights().len()), (1, 2));
        assert!(support.received(1).chunks(2).all(|t| support.contains(1, t)));
        let damaged = [
            &old[..2],
            &[array("support.reach", &[0.1, 0.1], 2), array("support.received", &[7.0, 0.0, 0.0], 3)],
        ]
        .concat();
        assert!(Support::from_weights(&damaged, 2).is_none(), "there is no region 7");
    }
}
