//! The average effect over units, with its interval.
//!
//! Two things are not known: how far the model errs about these units, and how far these units differ from others that
//! might have come. Errors of the model are shared by all units, so they do not average out: the half widths of the
//! units' intervals are averaged as they are. Units are independent, so what they differ by shrinks with their number:
//!
//! ```text
//! half width^2 = (mean of the units' half widths)^2 + z^2 var(unit effects) / n
//! ```
//!
//! The first part is too wide rather than too narrow: it takes all errors to go the same way.

use serde::Serialize;

use super::answer::Answers;
use super::tabulate::Tabulation;
use crate::em::{Fitted, normal_half_width};

/// The average of an effect over some units; of an outcome with several elements, the mean over them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AverageEffect {
    /// The outcome.
    pub outcome: String,
    /// Which units: `all`, `ok` (those that no flag speaks against) or `class 0`, ...
    pub group: String,
    /// How many.
    pub units: usize,
    /// The average.
    pub effect: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end of its interval.
    pub upper: f64,
}

/// Sums over units, added part by part.
#[derive(Clone, Debug)]
pub struct Averages {
    names: Vec<(String, std::ops::Range<usize>)>,
    /// Per group and outcome.
    sums: Vec<Vec<Sums>>,
    z: f64,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    n: f64,
    effect: f64,
    squares: f64,
    down: f64,
    up: f64,
}

impl Averages {
    /// Nothing yet, for intervals at `level`.
    pub fn new(fitted: &Fitted, level: f64) -> Self {
        let tabulation = Tabulation::new(fitted);
        let names: Vec<_> = tabulation.outcomes().map(|(name, range)| (name.to_owned(), range)).collect();
        let groups = 2 + fitted.classes();
        Self { sums: vec![vec![Sums::default(); names.len()]; groups], names, z: normal_half_width(level) }
    }

    /// Add the effects of some units.
    pub fn add(&mut self, answers: &Answers) {
        for (i, diagnosis) in answers.diagnoses.iter().enumerate() {
            for (o, (_, range)) in self.names.iter().enumerate() {
                let mean = |units: &crate::Units| {
                    let own = &units.row(i)[range.clone()];
                    own.iter().map(|v| f64::from(*v)).sum::<f64>() / own.len() as f64
                };
                let (effect, low, high) = (mean(&answers.point), mean(&answers.lower), mean(&answers.upper));
                let groups = [Some(0), diagnosis.ok().then_some(1), Some(2 + diagnosis.class)];
                for group in groups.into_iter().flatten() {
                    let sums = &mut self.sums[group][o];
                    sums.n += 1.0;
                    sums.effect += effect;
                    sums.squares += effect * effect;
                    sums.down += effect - low;
                    sums.up += high - effect;
                }
            }
        }
    }

    /// The averages over all groups that have units.
    pub fn finish(&self) -> Vec<AverageEffect> {
        let mut out = Vec::new();
        for (o, (name, _)) in self.names.iter().enumerate() {
            for (g, sums) in self.sums.iter().enumerate().filter(|(_, sums)| sums[o].n > 0.0) {
                let group = match g {
                    0 => "all".to_owned(),
                    1 => "ok".to_owned(),
                    g => format!("class {}", g - 2),
                };
                out.push(sums[o].average(name, group, self.z));
            }
        }
        out
    }
}

impl Sums {
    fn average(&self, outcome: &str, group: String, z: f64) -> AverageEffect {
        let effect = self.effect / self.n;
        let variance = (self.squares / self.n - effect * effect).max(0.0);
        let sampling = z * z * variance / self.n;
        let half = |model: f64| ((model / self.n).powi(2) + sampling).sqrt();
        AverageEffect {
            outcome: outcome.to_owned(),
            group,
            units: self.n as usize,
            effect,
            lower: effect - half(self.down),
            upper: effect + half(self.up),
        }
    }
}
