//! The average effect over units, with its interval.
//!
//! The interval has two parts: the error of the model, and the sampling of the units. Units share the model's errors,
//! which therefore do not average out. An ensemble of densities shows them by the averages of its members; t is Student's
//! t for the number of members without that of the splits, because the members of one split differ in opposite directions:
//!
//! ```text
//! half width^2 = t^2 (ratio * var(members' averages) + var(unit effects) / n)
//! ```
//!
//! Of other models, the half widths of the units' intervals are averaged, as if all errors had the same sign:
//!
//! ```text
//! half width^2 = (mean of the units' half widths)^2 + z^2 var(unit effects) / n
//! ```

use serde::{Serialize, Serializer};

use super::answer::Answers;
use super::tabulate::Tabulation;
use crate::data::Units;
use crate::math::{normal_half_width, standard_deviation, student_half_width};
use crate::model::Model;

/// The average effect on one outcome over a group of units; for an outcome with several elements, on their mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AverageEffect {
    /// The name of the outcome.
    pub outcome: String,
    /// The group of units.
    pub group: EffectGroup,
    /// The number of units in the group.
    pub units: usize,
    /// The average effect.
    pub effect: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end of its interval.
    pub upper: f64,
}

/// A group of units over which effects are averaged; written as `supported`, `all`, `ok` or `class 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectGroup {
    /// Units for which both treatments are on support.
    Supported,
    /// All units.
    All,
    /// Units whose answers have no flag.
    Ok,
    /// Units with an outcome whose most probable class is this one.
    Class(usize),
}

impl std::fmt::Display for EffectGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Supported => f.write_str("supported"),
            Self::All => f.write_str("all"),
            Self::Ok => f.write_str("ok"),
            Self::Class(class) => write!(f, "class {class}"),
        }
    }
}

impl Serialize for EffectGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Average effects, accumulated batch by batch.
///
/// ```
/// use cfqp::ask::{Averages, EffectGroup};
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig};
///
/// # fn main() -> cfqp::Result<()> {
/// let data = Oscillator::default().simulate(200, 1)?.data;
/// let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&data)?;
///
/// let mut averages = Averages::new(&model, 0.9);
/// averages.add(&model.ask(&data).effect(0.3, 0.7).level(0.9).answers()?);
/// let averages = averages.finish();
/// assert_eq!((averages[0].group, averages[1].group), (EffectGroup::Supported, EffectGroup::All));
/// let average = &averages[1];
/// assert_eq!((&average.outcome[..], average.units), ("y0", 200));
/// assert!(average.lower < average.effect && average.effect < average.upper);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Averages {
    /// The name and the elements in y of every outcome.
    outcomes: Vec<(String, std::ops::Range<usize>)>,
    /// `[groups][outcomes]`
    sums: Vec<Vec<EffectSums>>,
    z: f64,
    /// See [`Model::member_error_ratios`].
    error_ratios: [f64; 2],
}

/// Sums over the units of a group.
#[derive(Clone, Debug, Default)]
struct EffectSums {
    n: f64,
    effect: f64,
    squares: f64,
    /// Distances from the lower ends of the intervals to the effects.
    below: f64,
    /// Distances from the effects to the upper ends.
    above: f64,
    /// Effects of every member; empty if there are none.
    members: Vec<f64>,
}

impl Averages {
    /// Averages over no units yet, for effects of `model` with intervals at `level`.
    pub fn new(model: &Model, level: f64) -> Self {
        let tabulation = Tabulation::new(model);
        let outcomes: Vec<_> = tabulation.outcomes().map(|(name, range)| (name.to_owned(), range)).collect();
        let groups = 3 + model.classes();
        let sums = vec![vec![EffectSums::default(); outcomes.len()]; groups];
        Self { outcomes, sums, z: normal_half_width(level), error_ratios: model.member_error_ratios() }
    }

    /// Adds the effects of some units.
    ///
    /// # Panics
    /// If `effects` are not answers of the model.
    pub fn add(&mut self, effects: &Answers) {
        for (i, diagnosis) in effects.diagnoses.iter().enumerate() {
            for (o, (_, range)) in self.outcomes.iter().enumerate() {
                let mean = |units: &Units| {
                    let elements = &units.row(i)[range.clone()];
                    elements.iter().map(|v| f64::from(*v)).sum::<f64>() / elements.len() as f64
                };
                let of_members: Vec<f64> = effects.members.iter().map(&mean).collect();
                let (effect, low, high) = (mean(&effects.point), mean(&effects.lower), mean(&effects.upper));
                let supported = (!diagnosis.off_support).then_some(0);
                // without an outcome the class of a unit is not inferred
                let class = (!diagnosis.no_outcome).then_some(3 + diagnosis.class);
                let groups = [supported, Some(1), diagnosis.ok().then_some(2), class];
                for group in groups.into_iter().flatten() {
                    let sums = &mut self.sums[group][o];
                    sums.n += 1.0;
                    sums.effect += effect;
                    sums.squares += effect * effect;
                    sums.below += effect - low;
                    sums.above += high - effect;
                    sums.members.resize(of_members.len(), 0.0);
                    sums.members.iter_mut().zip(&of_members).for_each(|(sum, effect)| *sum += effect);
                }
            }
        }
    }

    /// The averages for every outcome and every group that has units: first over those on support, then over all units,
    /// those without a flag, and each class.
    pub fn finish(&self) -> Vec<AverageEffect> {
        let mut averages = Vec::new();
        for (o, (name, _)) in self.outcomes.iter().enumerate() {
            for (g, sums) in self.sums.iter().enumerate().filter(|(_, sums)| sums[o].n > 0.0) {
                let group = match g {
                    0 => EffectGroup::Supported,
                    1 => EffectGroup::All,
                    2 => EffectGroup::Ok,
                    g => EffectGroup::Class(g - 3),
                };
                averages.push(sums[o].average(name, group, self.z, self.error_ratios));
            }
        }
        averages
    }
}

impl EffectSums {
    fn average(&self, outcome: &str, group: EffectGroup, z: f64, error_ratios: [f64; 2]) -> AverageEffect {
        let effect = self.effect / self.n;
        let variance = (self.squares / self.n - effect * effect).max(0.0);
        let sampling = variance / self.n;
        let between = standard_deviation(&self.members).powi(2) / self.n.powi(2);
        let half_width = |distances: f64| match self.members.len() {
            0 | 1 => ((distances / self.n).powi(2) + z * z * sampling).sqrt(),
            members => {
                let [own, common] = error_ratios;
                // deviations of the members of a split, of which there are about own + 1, add up to about zero
                let freedom = (members as f64 * own / (own + 1.0)).round();
                let error = ((own + common) * between + sampling).sqrt();
                student_half_width(z, (freedom as usize).max(1)) * error
            }
        };
        AverageEffect {
            outcome: outcome.to_owned(),
            group,
            units: self.n as usize,
            effect,
            lower: effect - half_width(self.below),
            upper: effect + half_width(self.above),
        }
    }
}
