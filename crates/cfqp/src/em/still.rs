//! Which elements of an image respond to the treatment at all.
//!
//! An image has a background: most pixels are the same under every treatment. A network's effect there is small but
//! never zero, and over so many pixels that is most of what is seen of its error. So the effects e of all elements are
//! looked at as draws from a mixture of three Gaussians about zero,
//!
//! ```text
//! sum_i w_i N(e; 0, v_i),   v_1 < v_2 < v_3
//! ```
//!
//! Elements of the two narrow ones are still, and what they show is the model's error (two, for it has heavy tails);
//! those of the wide one respond. An answer keeps P(responds | e) of its effect. The mixture comes from calibration
//! units under other units' treatments, so that no counterfactual is needed. Unless most elements are still and the
//! others stand well apart from them, effects are dense, and nothing is done.

use serde::{Deserialize, Serialize};

/// Rounds of EM.
const ROUNDS: usize = 100;
/// Elements looked at, at most.
const ELEMENTS: usize = 100_000;
/// Fewer still elements than this share, and effects are dense ...
const MOST: f64 = 0.5;
/// ... or where those that respond do not have so many times the variance of the others.
const APART: f64 = 100.0;

/// How the effects of elements that are still, and of those that are not, are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stillness {
    /// From narrow to wide; the last is of elements that respond.
    laws: [Law; 3],
}

/// A Gaussian about zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    share: f64,
    variance: f64,
}

impl Stillness {
    /// Learn from the effects of many elements; none where they are dense.
    pub(crate) fn fit(effects: &[f32]) -> Option<Self> {
        let every = effects.len().div_ceil(ELEMENTS).max(1);
        let squares: Vec<f64> = effects.iter().step_by(every).map(|&e| f64::from(e).powi(2)).collect();
        let (n, all) = (squares.len() as f64, squares.iter().sum::<f64>());
        if all <= 0.0 {
            return None;
        }
        let start = |times: f64| Law { share: 1.0 / 3.0, variance: times * all / n };
        let mut found = Self { laws: [start(1e-3), start(1e-1), start(1e1)] };
        for _ in 0..ROUNDS {
            let mut sums = [(0.0, 0.0); 3];
            for &square in &squares {
                for (sum, part) in sums.iter_mut().zip(found.parts(square)) {
                    *sum = (sum.0 + part, sum.1 + part * square);
                }
            }
            for (law, (weight, squares)) in found.laws.iter_mut().zip(sums) {
                let least = 1e-9 * all / n;
                *law =
                    Law { share: (weight / n).max(1e-9), variance: (squares / weight.max(1e-9)).max(least) };
            }
        }
        found.laws.sort_by(|a, b| a.variance.total_cmp(&b.variance));
        let [_, wider, widest] = found.laws;
        let apart = widest.variance > APART * wider.variance;
        (apart && found.share() > MOST).then_some(found)
    }

    /// The share of elements that do not respond.
    pub fn share(&self) -> f64 {
        1.0 - self.laws[2].share
    }

    /// P(responds | e)
    pub(crate) fn responds(&self, effect: f32) -> f32 {
        self.parts(f64::from(effect).powi(2))[2] as f32
    }

    /// How probably an effect of this square is of each law.
    fn parts(&self, square: f64) -> [f64; 3] {
        let log =
            self.laws.map(|Law { share, variance }| share.ln() - 0.5 * (variance.ln() + square / variance));
        let top = log.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let parts = log.map(|log| (log - top).exp());
        let total: f64 = parts.iter().sum();
        parts.map(|part| part / total)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let sound =
            |law: &Law| (0.0..=1.0).contains(&law.share) && law.variance.is_finite() && law.variance > 0.0;
        self.laws.iter().all(sound) && self.laws.iter().any(|law| law.share > 0.0)
    }

    /// Of which `share` of all elements do not respond, to try answers with.
    #[cfg(test)]
    pub(crate) fn example(share: f64, still: f64, responding: f64) -> Self {
        let narrow = Law { share: 0.5 * share, variance: still };
        Self { laws: [narrow, narrow, Law { share: 1.0 - share, variance: responding }] }
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
        let mut rng = stream(4, &["still"]);
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
    fn still_elements_are_told_from_those_that_respond() {
        let still = Stillness::fit(&effects(0.8, 2.0)).expect("most are still");
        let [narrow, wider, widest] = still.laws;
        assert!((widest.share - 0.2).abs() < 0.02 && (widest.variance - 4.0).abs() < 0.3, "{still:?}");
        assert!((narrow.variance.sqrt() - 0.01).abs() < 0.002, "{still:?}");
        assert!((wider.variance.sqrt() - 0.05).abs() < 0.01, "{still:?}");
        assert!(still.is_sound());
        assert!(still.responds(0.0) < 0.01 && still.responds(0.05) < 0.05 && still.responds(0.5) > 0.999);
    }

    #[test]
    fn dense_effects_are_left_alone() {
        assert_eq!(Stillness::fit(&effects(0.3, 2.0)), None, "most respond");
        assert_eq!(
            Stillness::fit(&effects(0.8, 0.2)),
            None,
            "those that respond are not far from the others"
        );
        assert_eq!(Stillness::fit(&[]), None);
        assert_eq!(Stillness::fit(&[0.0; 50]), None, "a treatment without any effect");
    }
}
