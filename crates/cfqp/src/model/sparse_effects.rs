//! Which elements of an image respond to the treatment.
//!
//! Most pixels of an image are the same under every treatment. The effect that a network predicts there is small but not
//! zero, and over many pixels it dominates the error. So the effects e of all elements are modelled as draws from a
//! mixture of three Gaussians with mean zero,
//!
//! ```text
//! sum_i w_i N(e; 0, v_i),   v_1 < v_2 < v_3
//! ```
//!
//! Elements of the two narrow components do not respond, and their effects are the model's error (two components, since
//! it has heavy tails); elements of the wide one respond. An answer keeps P(responds | e) of its effect. The mixture is
//! fitted to calibration units under other units' treatments, so no counterfactual is needed. Effects are treated as
//! sparse only if most elements do not respond and the others are clearly apart.

use serde::{Deserialize, Serialize};

/// EM rounds.
const EM_ROUNDS: usize = 100;
/// Largest number of elements used.
const MAX_ELEMENTS: usize = 100_000;
/// Effects are sparse if more than this share of elements do not respond ...
const MIN_UNRESPONSIVE: f64 = 0.5;
/// ... and those that do have more than this many times the variance of the others.
const MIN_VARIANCE_RATIO: f64 = 100.0;

/// The distribution of effects over elements that respond and elements that do not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SparseEffects {
    /// From narrow to wide; the last belongs to elements that respond.
    #[serde(alias = "laws")]
    components: [Component; 3],
}

/// A Gaussian with mean zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Component {
    share: f64,
    variance: f64,
}

impl SparseEffects {
    /// Fits the effects of many elements; `None` if they are not sparse.
    pub(crate) fn fit(effects: &[f32]) -> Option<Self> {
        let every = effects.len().div_ceil(MAX_ELEMENTS).max(1);
        let squares: Vec<f64> = effects.iter().step_by(every).map(|&e| f64::from(e).powi(2)).collect();
        let (n, all) = (squares.len() as f64, squares.iter().sum::<f64>());
        if all <= 0.0 {
            return None;
        }
        let start = |times: f64| Component { share: 1.0 / 3.0, variance: times * all / n };
        let mut found = Self { components: [start(1e-3), start(1e-1), start(1e1)] };
        for _ in 0..EM_ROUNDS {
            let mut sums = [(0.0, 0.0); 3];
            for &square in &squares {
                for (sum, part) in sums.iter_mut().zip(found.posterior(square)) {
                    *sum = (sum.0 + part, sum.1 + part * square);
                }
            }
            for (component, (weight, squares)) in found.components.iter_mut().zip(sums) {
                let least = 1e-9 * all / n;
                *component = Component {
                    share: (weight / n).max(1e-9),
                    variance: (squares / weight.max(1e-9)).max(least),
                };
            }
        }
        found.components.sort_by(|a, b| a.variance.total_cmp(&b.variance));
        let [_, wider, widest] = found.components;
        let apart = widest.variance > MIN_VARIANCE_RATIO * wider.variance;
        (apart && found.unresponsive_share() > MIN_UNRESPONSIVE).then_some(found)
    }

    /// The share of elements that do not respond.
    pub(crate) fn unresponsive_share(&self) -> f64 {
        1.0 - self.components[2].share
    }

    /// P(responds | e)
    pub(crate) fn responds(&self, effect: f32) -> f32 {
        self.posterior(f64::from(effect).powi(2))[2] as f32
    }

    /// The posterior over components of an effect with this square.
    fn posterior(&self, square: f64) -> [f64; 3] {
        let log = self
            .components
            .map(|Component { share, variance }| share.ln() - 0.5 * (variance.ln() + square / variance));
        let top = log.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let parts = log.map(|log| (log - top).exp());
        let total: f64 = parts.iter().sum();
        parts.map(|part| part / total)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let sound = |component: &Component| {
            (0.0..=1.0).contains(&component.share)
                && component.variance.is_finite()
                && component.variance > 0.0
        };
        self.components.iter().all(sound) && self.components.iter().any(|component| component.share > 0.0)
    }

    /// A distribution in which `share` of the elements do not respond.
    #[cfg(test)]
    pub(crate) fn example(share: f64, unresponsive: f64, responding: f64) -> Self {
        let narrow = Component { share: 0.5 * share, variance: unresponsive };
        Self { components: [narrow, narrow, Component { share: 1.0 - share, variance: responding }] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;
    use rand_distr::{Distribution, StandardNormal};

    /// Effects of which `share` are errors of deviation 0.01 or, one in three, 0.05; the others of `reach`.
    fn effects(share: f64, reach: f32) -> Vec<f32> {
        let mut rng = stream(4, &["effects"]);
        let mut effect = |_| {
            let deviation = match (rng.random_bool(share), rng.random_bool(1.0 / 3.0)) {
                (true, false) => 0.01,
                (true, true) => 0.05,
                (false, _) => reach,
            };
            let z: f32 = StandardNormal.sample(&mut rng);
            z * deviation
        };
        (0..30_000).map(&mut effect).collect()
    }

    #[test]
    fn elements_that_respond_are_separated_from_the_others() {
        let sparse = SparseEffects::fit(&effects(0.8, 2.0)).expect("most do not respond");
        let [narrow, wider, widest] = sparse.components;
        assert!((widest.share - 0.2).abs() < 0.02 && (widest.variance - 4.0).abs() < 0.3, "{sparse:?}");
        assert!((narrow.variance.sqrt() - 0.01).abs() < 0.002, "{sparse:?}");
        assert!((wider.variance.sqrt() - 0.05).abs() < 0.01, "{sparse:?}");
        assert!(sparse.is_sound());
        assert!(sparse.responds(0.0) < 0.01 && sparse.responds(0.05) < 0.05 && sparse.responds(0.5) > 0.999);
    }

    #[test]
    fn dense_effects_are_not_sparse() {
        assert_eq!(SparseEffects::fit(&effects(0.3, 2.0)), None, "most respond");
        assert_eq!(
            SparseEffects::fit(&effects(0.8, 0.2)),
            None,
            "those that respond are not far from the others"
        );
        assert_eq!(SparseEffects::fit(&[]), None);
        assert_eq!(SparseEffects::fit(&[0.0; 50]), None, "a treatment without any effect");
    }
}
