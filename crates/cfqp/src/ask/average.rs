//! The average effect over units, with its interval.
//!
//! Where units have outcomes and enough of them received these treatments or similar ones, averages are doubly robust
//! ([`robust`](super::robust)): means of terms of single units, with the standard error of such a mean. Of many units, the terms of a
//! sample correct the mean effect of all:
//!
//! ```text
//! mean over all units of their effects + mean over the sample of (term - effect)
//! ```
//!
//! Averages over a class weigh units by their posterior. Elsewhere the interval has two parts: the error of the model, and the
//! sampling of the units. Units share the model's errors, which therefore do not average out. An ensemble of densities shows
//! them by the averages of its members; t is Student's t for the number of members:
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
use super::robust::{EffectSample, RobustAverage};
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
    /// Its standard error.
    pub standard_error: f64,
    /// How it was estimated.
    pub method: AverageMethod,
}

/// How an average effect was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AverageMethod {
    /// The model's effects, corrected by the residuals of units that received the treatments.
    DoublyRobust,
    /// The model's effects.
    Model,
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
    /// Units with an outcome, by their probability of this class.
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
    /// The number of classes that have averages, and that of the model.
    classes: usize,
    model_classes: usize,
    /// The number of groups after those and the classes.
    subgroups: usize,
    /// Doubly robust corrections, by group, then by outcome.
    corrections: Vec<Vec<Option<Correction>>>,
}

/// What the terms of a sample say of an average.
#[derive(Clone, Copy, Debug)]
struct Correction {
    /// The number of units of the sample.
    units: f64,
    /// The average of the terms, and of what they add to the effects.
    average: RobustAverage,
    gap: RobustAverage,
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
        Self::with_subgroups(model, level, 0)
    }

    /// The same, with averages over so many subgroups.
    pub(super) fn with_subgroups(model: &Model, level: f64, subgroups: usize) -> Self {
        let tabulation = Tabulation::new(model);
        let outcomes: Vec<_> = tabulation.outcomes().map(|(name, range)| (name.to_owned(), range)).collect();
        let groups = GROUPS + model.classes() + subgroups;
        let sums = vec![vec![EffectSums::default(); outcomes.len()]; groups];
        let corrections = vec![vec![None; outcomes.len()]; groups];
        Self {
            outcomes,
            sums,
            z: normal_half_width(level),
            error_ratios: model.member_error_ratios(),
            classes: if model.has_class_effects() { model.classes() } else { 0 },
            model_classes: model.classes(),
            subgroups,
            corrections,
        }
    }

    /// Corrects averages by the terms of a sample of the units that were added.
    pub(crate) fn correct(&mut self, sample: &EffectSample) {
        self.correct_with(sample, |_| Vec::new());
    }

    /// The same, where the units of the sample are in the subgroups `of_unit`.
    pub(super) fn correct_with(&mut self, sample: &EffectSample, of_unit: impl Fn(usize) -> Vec<usize>) {
        let (effects, Some(terms)) = (&sample.effects, &sample.terms) else { return };
        let n = effects.diagnoses.len();
        let subgroups: Vec<Vec<usize>> = (0..n).map(of_unit).collect();
        for (o, (_, range)) in self.outcomes.iter().enumerate() {
            let values: Vec<f64> = (0..n).map(|i| unit_mean(&effects.point, i, range)).collect();
            let correction = |has: &dyn Fn(usize) -> bool| {
                let units = (0..n).filter(|&i| has(i)).count() as f64;
                let (average, gap) = (terms.average(o, has), terms.average_gap(o, &values, has));
                average.zip(gap).map(|(average, gap)| Correction { units, average, gap })
            };
            for group in 0..GROUPS {
                self.corrections[group][o] = correction(&|i| groups(&effects.diagnoses[i])[group]);
            }
            for g in 0..self.subgroups {
                self.corrections[GROUPS + self.model_classes + g][o] =
                    correction(&|i| subgroups[i].contains(&g));
            }
            for k in 0..self.classes {
                let average = terms.class_average(k, o);
                let units = terms.class_size(k);
                self.corrections[GROUPS + k][o] =
                    average.map(|average| Correction { units, average, gap: average });
            }
        }
    }

    /// Adds the effects of some units.
    ///
    /// # Panics
    /// If `effects` are not answers of the model.
    pub fn add(&mut self, effects: &Answers) {
        self.add_with(effects, |_| Vec::new());
    }

    /// The same, where the units are in the subgroups `of_unit`.
    pub(super) fn add_with(&mut self, effects: &Answers, of_unit: impl Fn(usize) -> Vec<usize>) {
        for (i, diagnosis) in effects.diagnoses.iter().enumerate() {
            let subgroups = of_unit(i);
            for (o, (_, range)) in self.outcomes.iter().enumerate() {
                let mean = |units: &Units| unit_mean(units, i, range);
                let of_members: Vec<f64> = effects.members.iter().map(mean).collect();
                let (effect, low, high) = (mean(&effects.point), mean(&effects.lower), mean(&effects.upper));
                let group = |(group, has): (usize, bool)| (group, f64::from(u8::from(has)));
                // without an outcome the class of a unit is not inferred
                let classes = if diagnosis.no_outcome { 0 } else { self.classes };
                let posterior = effects.posterior[i * self.model_classes..].iter().take(classes);
                let classes = posterior.enumerate().map(|(k, &p)| (GROUPS + k, f64::from(p)));
                let subgroups = subgroups.iter().map(|g| (GROUPS + self.model_classes + g, 1.0));
                let shares =
                    groups(diagnosis).into_iter().enumerate().map(group).chain(classes).chain(subgroups);
                for (group, share) in shares.filter(|(_, share)| *share > 0.0) {
                    let sums = &mut self.sums[group][o];
                    sums.n += share;
                    sums.effect += share * effect;
                    sums.squares += share * effect * effect;
                    sums.below += share * (effect - low);
                    sums.above += share * (high - effect);
                    sums.members.resize(of_members.len(), 0.0);
                    sums.members.iter_mut().zip(&of_members).for_each(|(sum, effect)| *sum += share * effect);
                }
            }
        }
    }

    /// The averages for every outcome and every group that has units: first over those on support, then over all units,
    /// those without a flag, and each class.
    pub fn finish(&self) -> Vec<AverageEffect> {
        let mut averages = Vec::new();
        for (o, (name, _)) in self.outcomes.iter().enumerate() {
            let all = self.sums.iter().take(GROUPS + self.model_classes).enumerate();
            for (g, sums) in all.filter(|(_, sums)| sums[o].n > 0.0) {
                let group = match g {
                    0 => EffectGroup::Supported,
                    1 => EffectGroup::All,
                    2 => EffectGroup::Ok,
                    g => EffectGroup::Class(g - GROUPS),
                };
                let own = sums[o].average(name, group, self.z, self.error_ratios);
                averages.push(self.corrected(g, o, own));
            }
        }
        averages
    }

    /// The number of units of subgroup `g`, and its average for outcome `o` as one over all units; none without units.
    pub(super) fn of_subgroup(&self, g: usize, o: usize) -> (usize, Option<AverageEffect>) {
        let g = GROUPS + self.model_classes + g;
        let sums = &self.sums[g][o];
        if sums.n == 0.0 {
            return (0, None);
        }
        let own = sums.average(&self.outcomes[o].0, EffectGroup::All, self.z, self.error_ratios);
        (own.units, Some(self.corrected(g, o, own)))
    }

    /// The names of the outcomes.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = &str> {
        self.outcomes.iter().map(|(name, _)| &name[..])
    }

    fn corrected(&self, g: usize, o: usize, own: AverageEffect) -> AverageEffect {
        match &self.corrections[g][o] {
            Some(correction) => correction.apply(&self.sums[g][o], own, self.z),
            None => own,
        }
    }
}

/// The number of groups that are not classes.
const GROUPS: usize = 3;

/// Whether a unit is on support, any unit, and without a flag.
fn groups(diagnosis: &super::answer::Diagnosis) -> [bool; GROUPS] {
    [!diagnosis.off_support, true, diagnosis.ok()]
}

/// The mean over some elements of unit `i`.
fn unit_mean(units: &Units, i: usize, range: &std::ops::Range<usize>) -> f64 {
    let elements = &units.row(i)[range.clone()];
    elements.iter().map(|v| f64::from(*v)).sum::<f64>() / elements.len() as f64
}

impl Correction {
    /// The average over the units of `sums`: that of the terms if the sample has all of them, or is of a class.
    fn apply(&self, sums: &EffectSums, own: AverageEffect, z: f64) -> AverageEffect {
        let is_all = self.units + 0.5 > sums.n || matches!(own.group, EffectGroup::Class(_));
        let (effect, standard_error) = match is_all {
            true => (self.average.effect, self.average.standard_error),
            false => {
                let mean = sums.effect / sums.n;
                let variance = (sums.squares / sums.n - mean * mean).max(0.0) / sums.n;
                (mean + self.gap.effect, self.gap.standard_error.hypot(variance.sqrt()))
            }
        };
        let half_width = z * standard_error;
        let (lower, upper) = (effect - half_width, effect + half_width);
        AverageEffect { effect, lower, upper, standard_error, method: AverageMethod::DoublyRobust, ..own }
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
        let (lower, upper) = (effect - half_width(self.below), effect + half_width(self.above));
        AverageEffect {
            outcome: outcome.to_owned(),
            group,
            units: self.n.round() as usize,
            effect,
            lower,
            upper,
            standard_error: 0.5 * (upper - lower) / z,
            method: AverageMethod::Model,
        }
    }
}
