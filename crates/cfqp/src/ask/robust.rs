//! What units add to average effects: doubly robust terms, with the model as the regression of the outcome.
//!
//! ```text
//! m(x, to) - m(x, from) + (w_to - w_from) (y - m(x, t))
//! ```
//!
//! m(x, t) = E[y | x, t] is the model's prediction from covariates and treatment alone, by members that were fitted without the
//! unit, and w are the [weights](ContrastWeights) of units that received the treatments. The mean of these terms is right if either
//! the model or the weights are, and its error is that of a mean of independent units. For class k the term has the unit's
//! posterior p_k as its weight and m_k for m.

use std::ops::Range;

use super::answer::Answers;
use super::options::AskOptions;
use super::tabulate::Tabulation;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::density::{
    Correlation, Ensemble, Expected, Group, JACKKNIFE_RATIO, Member, Question, Rows, class_views,
};
use crate::math::{mean, standard_deviation};
use crate::model::{Model, Predictor, density_rows};
use crate::models::Batcher;
use crate::plain::{ContrastWeights, clustered_error};

/// The largest number of units that terms are computed of.
pub(super) const MAX_SAMPLE_UNITS: usize = 5000;
/// Units that one job answers for.
const UNITS_AT_ONCE: usize = 256;
/// How much class weights may differ between two treatments, as a probability, where the class is said not to drive the treatment.
const MAX_WEIGHT_CHANGE: f64 = 0.1;
/// The share of the variance of the regression's average that is left where weights are local: they correct it near the amounts, not at
/// them. Set on the kind `dose` of scripts/average-effects.
const LOCAL_SHARE: f64 = 0.2;
/// The smallest number of units of an average.
const MIN_UNITS: f64 = 20.0;

/// The average of some terms, each with a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RobustAverage {
    pub effect: f64,
    pub standard_error: f64,
}

/// The terms of some units that have outcomes.
#[derive(Clone, Debug)]
pub(super) struct RobustTerms {
    /// Of all classes together, `[outcomes][units]`.
    all: Vec<Vec<f64>>,
    /// The standard error of the average over all classes that members show and weights do not correct, `[outcomes]`.
    errors: Vec<f64>,
    /// `[classes][outcomes][units]`, and the posteriors, `[classes][units]`.
    classes: Vec<Vec<Vec<f64>>>,
    posteriors: Vec<Vec<f64>>,
    /// The standard error of the average over each class that the members show, `[classes][outcomes]`.
    class_errors: Vec<Vec<f64>>,
    groups: Option<Vec<u32>>,
    weights: ContrastWeights,
}

impl RobustTerms {
    /// The average of outcome `o` over the units of which `has` is true; none if there are too few.
    pub(super) fn average(&self, o: usize, has: impl Fn(usize) -> bool) -> Option<RobustAverage> {
        let weights: Vec<f64> = (0..self.all[o].len()).map(|i| f64::from(u8::from(has(i)))).collect();
        let own = self.weighted(&self.all[o], &weights)?;
        let standard_error = own.standard_error.hypot(self.errors[o]);
        Some(RobustAverage { standard_error, ..own })
    }

    /// The same of the difference between the terms and `effects`, one per unit.
    pub(super) fn average_gap(
        &self,
        o: usize,
        effects: &[f64],
        has: impl Fn(usize) -> bool,
    ) -> Option<RobustAverage> {
        let weights: Vec<f64> = (0..effects.len()).map(|i| f64::from(u8::from(has(i)))).collect();
        let gaps: Vec<f64> = self.all[o].iter().zip(effects).map(|(term, effect)| term - effect).collect();
        self.weighted(&gaps, &weights)
    }

    /// The effective number of units of which `has` is true that received the rarer of both treatments, or one near it.
    pub(super) fn received(&self, has: impl Fn(usize) -> bool) -> f64 {
        let effective = |weights: &[f64]| {
            let own = (0..weights.len()).filter(|&i| has(i)).map(|i| weights[i]);
            let (sum, squares) = own.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
            if squares > 0.0 { sum * sum / squares } else { 0.0 }
        };
        effective(&self.weights.from).min(effective(&self.weights.to))
    }

    /// The average of outcome `o` over a class.
    pub(super) fn class_average(&self, k: usize, o: usize) -> Option<RobustAverage> {
        let own = self.weighted(&self.classes[k][o], &self.posteriors[k])?;
        let standard_error = own.standard_error.hypot(self.class_errors[k][o]);
        Some(RobustAverage { standard_error, ..own })
    }

    /// The size of a class, in units.
    pub(super) fn class_size(&self, k: usize) -> f64 {
        self.posteriors[k].iter().sum()
    }

    /// sum_i w_i v_i / sum_i w_i, with the standard error of a ratio of means, clustered by subject.
    fn weighted(&self, values: &[f64], weights: &[f64]) -> Option<RobustAverage> {
        let total: f64 = weights.iter().sum();
        if total < MIN_UNITS {
            return None;
        }
        let each = || values.iter().zip(weights);
        let effect = each().map(|(value, weight)| weight * value).sum::<f64>() / total;
        let influence: Vec<f64> = each().map(|(value, weight)| weight * (value - effect) / total).collect();
        let standard_error = clustered_error(&influence, self.groups.as_deref());
        (effect.is_finite() && standard_error.is_finite()).then_some(RobustAverage { effect, standard_error })
    }
}

/// Units with outcomes, the model's effects on them, and their terms if there are any.
pub(crate) struct EffectSample {
    pub data: Dataset,
    /// The positions of the units among those that the sample was drawn from.
    pub(super) positions: Vec<usize>,
    pub effects: Answers,
    pub(super) terms: Option<RobustTerms>,
    /// Whether class weights differ between the treatments.
    pub(super) class_drives_treatment: bool,
}

impl EffectSample {
    /// The effective number of units of which `has` is true that received the rarer of both treatments, or one near it; none
    /// without terms.
    pub(crate) fn received(&self, has: impl Fn(usize) -> bool) -> Option<f64> {
        self.terms.as_ref().map(|terms| terms.received(has))
    }

    /// The doubly robust terms of outcome `o`, one per unit; none if there are none.
    pub(crate) fn terms_of(&self, o: usize) -> Option<&[f64]> {
        self.terms.as_ref().map(|terms| &terms.all[o][..])
    }
}

impl Model {
    /// The units of `data` with outcomes, at most 5,000 evenly spaced ones, and what they say of `to` against `from`; none if no unit
    /// has an outcome.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units or treatments do not fit the model.
    pub(crate) fn effect_sample(
        &self,
        data: &Dataset,
        from: &[f32],
        to: &[f32],
        options: AskOptions,
    ) -> Result<Option<EffectSample>> {
        let observed: Vec<usize> = (0..data.len()).filter(|&i| data.has_outcome(i)).collect();
        if observed.is_empty() {
            return Ok(None);
        }
        let data = data.pick(&observed)?;
        let sampled = data.even_sample(data.len().div_ceil(MAX_SAMPLE_UNITS));
        let (data, positions) = (data.pick(&sampled)?, sampled.iter().map(|&i| observed[i]).collect());
        let treatment = |t: &[f32]| Units::new("treatment", vec![t.len()], t.to_vec());
        let (from, to) = (treatment(from)?, treatment(to)?);
        let effects = self.effects(&data, &from, &to, options)?;
        let tabulation = Tabulation::new(self);
        let outcomes: Vec<Range<usize>> = tabulation.outcomes().map(|(_, range)| range).collect();
        let (mut terms, mut class_drives_treatment) = (None, false);
        if let Predictor::Density(ensemble) = &self.predictor {
            let predictions = HeldOutPredictions::new(self, ensemble, &data);
            let ends = [predictions.under(&from)?, predictions.under(&to)?];
            class_drives_treatment = ensemble.weights_depend_on_treatment()
                && ends[0].class_weight_change(&ends[1]) > MAX_WEIGHT_CHANGE;
            if !class_drives_treatment {
                terms = self.robust_terms(&data, [&from, &to], &predictions, &ends, &outcomes)?;
            }
        }
        Ok(Some(EffectSample { data, positions, effects, terms, class_drives_treatment }))
    }

    /// The terms of all units of `data` for the effect of `to` against `from`, given the predictions under both; the outcomes are
    /// means over ranges of elements. None if a unit has no outcome, or if too few units received these treatments or similar ones.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if the units or treatments do not fit the model.
    fn robust_terms(
        &self,
        data: &Dataset,
        [from, to]: [&Units; 2],
        predictions: &HeldOutPredictions<'_>,
        [low, high]: &[Predicted; 2],
        outcomes: &[Range<usize>],
    ) -> Result<Option<RobustTerms>> {
        let observed = data.y().mask().is_none_or(|mask| mask.iter().all(|observed| *observed));
        if !observed || data.subjects().unwrap_or(data.len()) < 2 {
            return Ok(None);
        }
        let (first, second) = (from.row(0), to.row(0));
        let Some(weights) = ContrastWeights::fit(data, &first, &second, self.config().seed)? else {
            return Ok(None);
        };
        let (own, posteriors) = (predictions.under(data.t())?, predictions.posteriors());
        let n = data.len();
        let observed =
            OutcomeMeans { values: data.y().values().iter().map(|&y| f64::from(y)).collect(), d: low.all.d };
        let terms = |[low, high, own]: [&OutcomeMeans; 3]| -> Vec<Vec<f64>> {
            let term = |i: usize, range: &Range<usize>| {
                let [low, high, own, y] = [low, high, own, &observed].map(|means| means.of(i, range));
                high - low + weights.of(i) * (y - own)
            };
            outcomes.iter().map(|range| (0..n).map(|i| term(i, range)).collect()).collect()
        };
        let of_class = |k: usize| terms([low, high, &own].map(|prediction| &prediction.classes[k]));
        // what members say of average effects
        let effect = |m: usize, k: usize, i: usize, range: &Range<usize>| {
            high.members[m][k].of(i, range) - low.members[m][k].of(i, range)
        };
        let of_class_by = |m: usize, k: usize, range: &Range<usize>| -> f64 {
            (0..n).map(|i| posteriors.members[m][k][i] * effect(m, k, i, range)).sum()
        };
        let error = |average: &dyn Fn(usize) -> f64| {
            let averages: Vec<f64> = (0..posteriors.members.len()).map(average).collect();
            JACKKNIFE_RATIO.sqrt() * standard_deviation(&averages)
        };
        let class_error = |k: usize, range: &Range<usize>| {
            let size = |m: usize| posteriors.members[m][k].iter().sum::<f64>().max(f64::MIN_POSITIVE);
            error(&|m| of_class_by(m, k, range) / size(m))
        };
        let all = |m: usize, range: &Range<usize>| {
            (0..self.classes()).map(|k| of_class_by(m, k, range)).sum::<f64>() / n as f64
        };
        let left = |range| match weights.are_local {
            true => LOCAL_SHARE.sqrt() * error(&|m| all(m, range)),
            false => 0.0,
        };
        let errors = outcomes.iter().map(left).collect();
        let class_errors = |k: usize| outcomes.iter().map(|range| class_error(k, range)).collect();
        Ok(Some(RobustTerms {
            all: terms([low, high, &own].map(|prediction| &prediction.all)),
            errors,
            classes: (0..self.classes()).map(of_class).collect(),
            class_errors: (0..self.classes()).map(class_errors).collect(),
            posteriors: posteriors.held_out,
            groups: data.groups().map(<[u32]>::to_vec),
            weights,
        }))
    }
}

/// Outcomes or their means, `[units, elements]`.
struct OutcomeMeans {
    values: Vec<f64>,
    d: usize,
}

impl OutcomeMeans {
    /// The mean over some elements of unit `i`.
    fn of(&self, i: usize, range: &Range<usize>) -> f64 {
        mean(&self.values[i * self.d..][range.clone()])
    }
}

/// The means of outcomes given covariates and a treatment.
struct Predicted {
    /// Over all groups of members and their classes, by members that were fitted without the unit.
    all: OutcomeMeans,
    /// In every class of the first group, by the same members.
    classes: Vec<OutcomeMeans>,
    /// The same by every member of the first group, `[members][classes]`.
    members: Vec<Vec<OutcomeMeans>>,
    /// The class weights of the first group: the means over its members, `[units, classes]`.
    weights: Vec<f64>,
}

impl Predicted {
    /// The distance in total variation between the class weights under two treatments: the mean over units.
    fn class_weight_change(&self, other: &Self) -> f64 {
        let units = self.all.values.len() / self.all.d;
        let gaps = self.weights.iter().zip(&other.weights).map(|(a, b)| (a - b).abs());
        0.5 * gaps.sum::<f64>() / units as f64
    }
}

/// P(class) of every unit.
struct Posteriors {
    /// By members that were fitted without the unit, `[classes][units]`.
    held_out: Vec<Vec<f64>>,
    /// `[members][classes][units]`
    members: Vec<Vec<Vec<f64>>>,
}

/// Predictions for units, of which some are those that the model was fitted to.
struct HeldOutPredictions<'a> {
    model: &'a Model,
    ensemble: &'a Ensemble,
    /// With the folds of those that the model was fitted to.
    rows: Rows,
}

impl<'a> HeldOutPredictions<'a> {
    fn new(model: &'a Model, ensemble: &'a Ensemble, data: &Dataset) -> Self {
        let batcher = Batcher { data, scaler: model.scaler(), missing: model.shapes().missing };
        let mut rows = density_rows(&batcher, ensemble.outcome_laws(), &ensemble.scales);
        rows.folds = ensemble.known_folds(&rows);
        Self { model, ensemble, rows }
    }

    /// The mean over the members of a group that were fitted without row `i`.
    fn held_out(&self, i: usize, members: usize, of: impl Fn(usize) -> f64) -> f64 {
        match self.rows.folds.get(&i).filter(|&&fold| fold < members) {
            Some(&fold) => of(fold),
            None => (0..members).map(of).sum::<f64>() / members as f64,
        }
    }

    fn under(&self, t: &Units) -> Result<Predicted> {
        let Self { model, ensemble, rows } = self;
        let (n, d) = (rows.len(), ensemble.elements().len());
        let to = model.shapes().treatments(&model.scaler().t, t, n)?;
        let question = Question { rows, to: &to, from: None, rho: Correlation::Known(0.0) };
        let all_rows: Vec<usize> = (0..n).collect();
        let parts = model.pool.map(all_rows.chunks(UNITS_AT_ONCE).collect(), |part: &[usize]| {
            let mut evaluators = ensemble.evaluators();
            let expected = |&row: &usize| -> Vec<Expected> {
                evaluators.iter_mut().map(|member| ensemble.expected(member, &question, row)).collect()
            };
            part.iter().map(expected).collect::<Vec<_>>()
        });
        let expected: Vec<Vec<Expected>> = parts.into_iter().flatten().collect();
        let scaler = &model.scaler().y;
        let restored = |mut values: Vec<f64>| {
            for unit in values.chunks_exact_mut(d) {
                for (j, value) in unit.iter_mut().enumerate() {
                    *value = f64::from(scaler.mean(j)) + f64::from(scaler.deviation(j)) * *value;
                }
            }
            OutcomeMeans { values, d }
        };
        let all = |i: usize, j: usize| {
            let mut first = 0;
            let of_group = |group: &Group| {
                let own = &expected[i][first..first + group.members];
                first += group.members;
                group.weight * self.held_out(i, group.members, |m| own[m].mean(j))
            };
            ensemble.groups.iter().map(of_group).sum::<f64>()
        };
        let every = |value: &dyn Fn(usize, usize) -> f64| {
            restored((0..n).flat_map(|i| (0..d).map(move |j| (i, j))).map(|(i, j)| value(i, j)).collect())
        };
        let members = ensemble.groups[0].members;
        let of_class = |k: usize| every(&|i, j| self.held_out(i, members, |m| expected[i][m].means[k][j]));
        let of_member = |m: usize| -> Vec<OutcomeMeans> {
            (0..model.classes()).map(|k| every(&|i, j| expected[i][m].means[k][j])).collect()
        };
        let weight = |i: usize, k: usize| {
            expected[i][..members].iter().map(|own| own.weights[k]).sum::<f64>() / members as f64
        };
        let classes = model.classes();
        Ok(Predicted {
            weights: (0..n)
                .flat_map(|i| (0..classes).map(move |k| (i, k)))
                .map(|(i, k)| weight(i, k))
                .collect(),
            all: every(&all),
            classes: (0..model.classes()).map(of_class).collect(),
            members: (0..members).map(of_member).collect(),
        })
    }

    fn posteriors(&self) -> Posteriors {
        let rows = &self.rows;
        let (n, classes) = (rows.len(), self.model.classes());
        let first = self.ensemble.first_group();
        let of_member = |member: &Member| -> Vec<Vec<f64>> {
            let mut evaluator = member.evaluator().with_regressors(&self.ensemble.regressors);
            let mut posteriors = vec![vec![0.0; n]; classes];
            for of_subject in &rows.subjects {
                let views = class_views(&mut evaluator, rows, of_subject);
                for (posteriors, view) in posteriors.iter_mut().zip(&views) {
                    of_subject.iter().for_each(|&row| posteriors[row] = view.posterior);
                }
            }
            posteriors
        };
        let members = self.model.pool.map(first.iter().collect(), of_member);
        let held_out = |k: usize| {
            let of_row = |i: usize| self.held_out(i, first.len(), |m| members[m][k][i]);
            (0..n).map(of_row).collect()
        };
        Posteriors { held_out: (0..classes).map(held_out).collect(), members }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::ask::{AverageEffect, AverageMethod, Contrast, EffectGroup};
    use crate::config::{Base, Classes, FitConfig};
    use crate::data::table::UnitBatch;
    use crate::{Fit, stream};

    /// Two classes with slopes 2 and 0.5, the first with 40% of the units; the covariate drives treatment and outcome.
    fn classes(n: usize, levels: bool) -> Dataset {
        let rng = &mut stream(5, &["robust"]);
        let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n {
            let own: f32 = rng.random_range(-1.0..1.0);
            let noise: f32 = StandardNormal.sample(rng);
            let drawn: f32 = 0.5 * own + rng.random_range(-1.0..1.0);
            let dose = if levels { f32::from(u8::from(drawn > 0.0)) } else { drawn };
            let slope = if rng.random_range(0.0..1.0) < 0.4 { 2.0 } else { 0.5 };
            x.push(own);
            t.push(dose);
            y.push(own + slope * dose + 0.1 * noise);
        }
        let units = |values| Units::new("a", vec![1], values).unwrap();
        Dataset::new(units(x), units(t), units(y)).unwrap()
    }

    fn averages(data: Dataset, classes: usize, base: Base) -> Vec<AverageEffect> {
        let config = FitConfig { classes: Classes::Given(classes), base, ..FitConfig::default() };
        let model = Fit::new(config).run(&data).unwrap();
        let mut contrast = Contrast::new(&model, &[0.0], &[1.0], AskOptions::default());
        let units = UnitBatch::from(data);
        let answers = model.ask(&units.data).effect(0.0, 1.0).answers().unwrap();
        contrast.add(&units, &answers).unwrap();
        contrast.finish().unwrap().averages
    }

    fn of(averages: &[AverageEffect], group: EffectGroup) -> &AverageEffect {
        averages.iter().find(|average| average.group == group).unwrap()
    }

    #[test]
    fn averages_cover_the_truth_whether_or_not_the_model_is_right() {
        // one class is wrong
        for count in [1, 2] {
            let found = averages(classes(800, false), count, Base::Linear);
            let all = of(&found, EffectGroup::All);
            assert_eq!((all.method, all.units), (AverageMethod::DoublyRobust, 800));
            assert!(all.lower < 1.1 && 1.1 < all.upper, "{all:?}");
            assert!(all.standard_error < 0.08, "{all:?}");
        }
    }

    #[test]
    fn averages_over_classes_weigh_units_by_their_posterior() {
        let found = averages(classes(800, false), 2, Base::Linear);
        let mut of_classes: Vec<&AverageEffect> = (0..2).map(|k| of(&found, EffectGroup::Class(k))).collect();
        of_classes.sort_by(|a, b| a.effect.total_cmp(&b.effect));
        for (average, (effect, share)) in of_classes.into_iter().zip([(0.5, 0.6), (2.0, 0.4)]) {
            assert!((average.effect - effect).abs() < 0.1, "{average:?}");
            assert!((average.units as f64 / 800.0 - share).abs() < 0.06, "{average:?}");
        }
    }

    #[test]
    fn a_treatment_of_few_values_does_not_show_the_effects_of_classes() {
        let found = averages(classes(800, true), 2, Base::Auto);
        assert!(found.iter().all(|average| !matches!(average.group, EffectGroup::Class(_))), "{found:?}");
        let all = of(&found, EffectGroup::All);
        assert!(all.lower < 1.1 && 1.1 < all.upper, "{all:?}");
    }
}
