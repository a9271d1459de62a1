//! Which treatments were seen near a unit's covariates.

use super::prior::block_means;
use crate::data::Batcher;
use crate::nn::Weight;

/// Units that are remembered, at most.
const REMEMBERED: usize = 2000;
/// Neighbours that are asked.
const NEIGHBOURS: usize = 40;
/// How far beyond the neighbours' treatments a treatment may lie, against the range of all.
const MARGIN: f32 = 0.05;

/// Covariates (as block means) and treatments of some training units, standardised.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    width: usize,
    d_t: usize,
    x: Vec<f32>,
    t: Vec<f32>,
}

impl Support {
    pub(crate) fn new(batcher: &Batcher<'_>, rows: &[usize]) -> Self {
        let step = rows.len().div_ceil(REMEMBERED).max(1);
        let rows: Vec<usize> = rows.iter().copied().step_by(step).collect();
        let x: Vec<f32> = rows.iter().flat_map(|&row| block_means(batcher, row)).collect();
        let width = x.len() / rows.len().max(1);
        Self { width, d_t: batcher.scaler.t.each(), x, t: batcher.treatments(&rows) }
    }

    /// The units whose covariates are nearest to those of unit `row`.
    pub(crate) fn neighbours(&self, batcher: &Batcher<'_>, row: usize) -> Vec<usize> {
        let x = block_means(batcher, row);
        let distance = |other: &[f32]| x.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
        let mut near: Vec<(f32, usize)> =
            self.x.chunks_exact(self.width).enumerate().map(|(i, other)| (distance(other), i)).collect();
        let count = NEIGHBOURS.min(near.len());
        if count < near.len() {
            near.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0));
        }
        near.truncate(count);
        near.into_iter().map(|(_, i)| i).collect()
    }

    /// Whether standardised `t` lies within the treatments of `neighbours`, or barely beyond.
    pub(crate) fn holds(&self, neighbours: &[usize], t: &[f32]) -> bool {
        (0..self.d_t).all(|j| {
            let at = |i: usize| self.t[i * self.d_t + j];
            let span = |values: &mut dyn Iterator<Item = f32>| {
                values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), t| (low.min(t), high.max(t)))
            };
            let (low, high) = span(&mut (0..self.t.len() / self.d_t).map(at));
            let margin = MARGIN * (high - low);
            let (low, high) = span(&mut neighbours.iter().map(|&i| at(i)));
            t[j] >= low - margin && t[j] <= high + margin
        })
    }

    /// As two arrays of a model file.
    pub(crate) fn to_weights(&self) -> Vec<Weight> {
        let array = |name: &str, width: usize, values: &[f32]| Weight {
            name: name.to_owned(),
            shape: vec![values.len() / width, width],
            values: values.to_vec(),
        };
        vec![array("support.x", self.width, &self.x), array("support.t", self.d_t, &self.t)]
    }

    /// From the first two arrays of a model file; with the others.
    pub(crate) fn from_weights(weights: &[Weight], d_t: usize) -> Option<(Self, &[Weight])> {
        let [x, t, rest @ ..] = weights else { return None };
        let (&[n, width], &[m, treatments]) = (x.shape.as_slice(), t.shape.as_slice()) else { return None };
        let named = x.name == "support.x" && t.name == "support.t";
        let sound = named && n == m && n > 0 && width > 0 && treatments == d_t;
        sound.then(|| (Self { width, d_t, x: x.values.clone(), t: t.values.clone() }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Scaler;
    use crate::{Dataset, Units};

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
        let support = Support::new(&batcher, &(0..n).collect::<Vec<_>>());
        let near = support.neighbours(&batcher, 0);
        let inside = |t: f32| {
            let mut standardised = Vec::new();
            scaler.t.standardise_into(&[t], &mut standardised);
            support.holds(&near, &standardised)
        };
        assert!(inside(0.5) && !inside(10.5) && !inside(5.0));
        let weights = support.to_weights();
        assert_eq!(Support::from_weights(&weights, 1).map(|(support, _)| support), Some(support));
        assert!(Support::from_weights(&weights, 2).is_none() && Support::from_weights(&[], 1).is_none());
    }
}
