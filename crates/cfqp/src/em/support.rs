//! Which treatments were seen near a unit's covariates.

use super::cluster::{KMeans, Rows};
use super::prior::block_means;
use crate::data::Batcher;
use crate::nn::Weight;
use crate::{Result, Rng};

/// Places in the space of covariates that are remembered, at most ...
const PLACES: usize = 64;
/// ... and the fewest training units there are for each.
const UNITS_PER_PLACE: usize = 20;
/// Units that a place looks at.
const NEIGHBOURS: usize = 40;
/// Units that places are sought among, at most.
const SOUGHT_AMONG: usize = 4000;
/// How far beyond its neighbours' treatments a treatment may lie, against the range of all.
const MARGIN: f32 = 0.05;

/// Places among the covariates (as block means) of the training units, and the range of the treatments of the units
/// nearest to each; all standardised.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    width: usize,
    d_t: usize,
    /// `[places, width]`
    x: Vec<f32>,
    /// `[places, 2 d_t]`: the lowest treatments, then the highest.
    range: Vec<f32>,
}

impl Support {
    pub(crate) fn new(batcher: &Batcher<'_>, rows: &[usize], rng: &mut Rng) -> Result<Self> {
        let step = rows.len().div_ceil(SOUGHT_AMONG).max(1);
        let rows: Vec<usize> = rows.iter().copied().step_by(step).collect();
        let all: Vec<f32> = rows.iter().flat_map(|&row| block_means(batcher, row)).collect();
        let (width, d_t, t) =
            (all.len() / rows.len().max(1), batcher.scaler.t.each(), batcher.treatments(&rows));
        let places = (rows.len() / UNITS_PER_PLACE).clamp(1, PLACES);
        let k_means = KMeans { restarts: 1, max_iterations: 20, ..KMeans::new(places) };
        let x = k_means.fit(&Rows::new(&all, width)?, rng)?.centers;
        let (low, high) = span(&t, d_t, 0..rows.len());
        let range = x.chunks_exact(width).flat_map(|place| {
            let near = nearest(&all, place, NEIGHBOURS);
            let (mut from, mut to) = span(&t, d_t, near.into_iter());
            for j in 0..d_t {
                let margin = MARGIN * (high[j] - low[j]);
                from[j] -= margin;
                to[j] += margin;
            }
            [from, to].concat()
        });
        Ok(Self { width, d_t, range: range.collect(), x })
    }

    /// The place nearest to the covariates of unit `row`.
    pub(crate) fn place(&self, batcher: &Batcher<'_>, row: usize) -> usize {
        nearest(&self.x, &block_means(batcher, row), 1)[0]
    }

    /// Whether standardised `t` lies within the treatments that were seen at `place`, or barely beyond.
    pub(crate) fn holds(&self, place: usize, t: &[f32]) -> bool {
        let (low, high) = self.range[place * 2 * self.d_t..][..2 * self.d_t].split_at(self.d_t);
        t.iter().zip(low.iter().zip(high)).all(|(t, (low, high))| (low..=high).contains(&t))
    }

    /// As two arrays of a model file.
    pub(crate) fn to_weights(&self) -> Vec<Weight> {
        let array = |name: &str, width: usize, values: &[f32]| Weight {
            name: name.to_owned(),
            shape: vec![values.len() / width, width],
            values: values.to_vec(),
        };
        vec![array("support.x", self.width, &self.x), array("support.range", 2 * self.d_t, &self.range)]
    }

    /// From the first two arrays of a model file; with the others.
    pub(crate) fn from_weights(weights: &[Weight], d_t: usize) -> Option<(Self, &[Weight])> {
        let [x, range, rest @ ..] = weights else { return None };
        let (&[n, width], &[m, ends]) = (x.shape.as_slice(), range.shape.as_slice()) else { return None };
        let named = x.name == "support.x" && range.name == "support.range";
        let sound = named && n == m && n > 0 && width > 0 && ends == 2 * d_t;
        sound.then(|| (Self { width, d_t, x: x.values.clone(), range: range.values.clone() }, rest))
    }
}

/// The rows of `all` nearest to `x`, at most `count`, in no order.
fn nearest(all: &[f32], x: &[f32], count: usize) -> Vec<usize> {
    let distance = |other: &[f32]| x.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
    let mut near: Vec<(f32, usize)> = all.chunks_exact(x.len()).map(distance).zip(0..).collect();
    if count < near.len() {
        near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        near.truncate(count);
    }
    near.into_iter().map(|(_, i)| i).collect()
}

/// The lowest and the highest of each treatment of `rows`.
fn span(t: &[f32], d_t: usize, rows: impl Iterator<Item = usize>) -> (Vec<f32>, Vec<f32>) {
    let mut ends = (vec![f32::INFINITY; d_t], vec![f32::NEG_INFINITY; d_t]);
    for row in rows {
        for (j, t) in t[row * d_t..(row + 1) * d_t].iter().enumerate() {
            ends.0[j] = ends.0[j].min(*t);
            ends.1[j] = ends.1[j].max(*t);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Scaler;
    use crate::{Dataset, Units, stream};

    #[test]
    fn a_treatment_is_in_support_where_similar_units_had_it() {
        // units with small x got t in [0, 1], units with large x t in [10, 11]
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
        let place = support.place(&batcher, 0);
        let inside = |t: f32| {
            let mut standardised = Vec::new();
            scaler.t.standardise_into(&[t], &mut standardised);
            support.holds(place, &standardised)
        };
        assert!(inside(0.5) && !inside(10.5) && !inside(5.0));
        let weights = support.to_weights();
        assert_eq!(Support::from_weights(&weights, 1).map(|(support, _)| support), Some(support));
        assert!(Support::from_weights(&weights, 2).is_none() && Support::from_weights(&[], 1).is_none());
    }
}
