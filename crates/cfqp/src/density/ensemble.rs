//! Answers of an ensemble of mixture density networks: a mixture over groups of members, classes and residuals.
//!
//! The members of a group have one form and leave out one fold each; groups have the weights of their held-out likelihood. Every
//! member has its own posterior over classes. Under a class, the residual keeps its rank: with correlation rho its normal score
//! g becomes N(rho g, 1 - rho^2) under the other treatment. Where rho is unknown, it is uniform on [0, 1].

use std::collections::HashMap;
use std::sync::Arc;

use super::discrete::{MemberView, distribution};
use super::group::Group;
use super::heads::HeadLaw;
use super::known::KnownRows;
use super::member::{Evaluator, Member};
use super::network::{ClassWeights, Element};
use super::numbers::{GroupViews, NumberQuestion, score_under};
use super::regressor::Regressor;
use super::rows::Rows;
use super::scale::{OutcomeRange, OutcomeScale};
use super::selection::FOLDS;
use super::views::{ClassView, Distribution, Prediction, Question, class_views};
use crate::math::{GaussianComponent, central_interval, normal_cdf, normal_half_width};

/// The weight in intervals of all groups together that have more classes than were chosen, at least.
const MORE_CLASSES: f64 = 0.3;

/// Several groups of members. Classes that are reported are those of the first group.
#[derive(Clone, Debug)]
pub(crate) struct Ensemble {
    /// The members of all groups, one group after the other.
    pub members: Vec<Member>,
    pub groups: Vec<Group>,
    pub scales: Vec<OutcomeScale>,
    /// The range of every element of the outcomes that the model was fitted to; empty in models of 0.1.0.
    pub ranges: Vec<OutcomeRange>,
    /// The regressors of every fold, and the rows that they were fitted to; empty if no form has regressors.
    pub regressors: Vec<Arc<[Regressor]>>,
    pub known: KnownRows,
    /// The correlation of the noise of two rows of one subject, if subjects were seen more than once.
    pub learned_rho: Option<f64>,
}

/// The answer for one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowAnswer {
    /// P(class), the mean over the members of the first group.
    pub posterior: Vec<f64>,
    /// Of every outcome element.
    pub elements: Vec<Distribution>,
}

impl RowAnswer {
    /// Whether there are classes, the answer depends on which class under one treatment is which under the other, and the data do
    /// not show it.
    pub(crate) fn is_not_identified(&self) -> bool {
        self.posterior.len() > 1 && self.elements.iter().any(|element| element.unidentified > 0.5)
    }
}

impl Ensemble {
    /// The number of classes that was chosen.
    pub(crate) fn classes(&self) -> usize {
        self.members[0].form.classes
    }

    /// The number of answers without one fold each that an answer has.
    pub(crate) fn folds(&self) -> usize {
        self.groups.iter().map(|group| group.members).max().unwrap_or(0)
    }

    /// The members of the first group.
    pub(crate) fn first_group(&self) -> &[Member] {
        &self.members[..self.groups[0].members]
    }

    /// The number of folds and of predictions of regressors for a row in each that the forms of members need.
    pub(crate) fn offset_counts(&self) -> (usize, usize) {
        let offsets = self.members.iter().map(|member| member.form.offsets).max().unwrap_or(0);
        if offsets > 0 { (FOLDS, offsets) } else { (0, 0) }
    }

    /// Gives members whose form has regressors those of their fold.
    pub(crate) fn set_regressors(&mut self, regressors: Vec<Arc<[Regressor]>>) {
        let mut first = 0;
        for group in &self.groups {
            for (fold, member) in self.members[first..][..group.members].iter_mut().enumerate() {
                member.regressors = regressors.get(fold).filter(|_| member.form.offsets > 0).cloned();
            }
            first += group.members;
        }
        self.regressors = regressors;
    }

    /// The folds of the rows that the model was fitted to.
    pub(crate) fn known_folds(&self, rows: &Rows) -> HashMap<usize, usize> {
        let known = |row: usize| self.known.fold(rows, row).map(|fold| (row, fold));
        (0..rows.len()).filter_map(known).collect()
    }

    /// The members of every group.
    pub(crate) fn member_groups(&self) -> impl Iterator<Item = &[Member]> {
        let mut first = 0;
        self.groups.iter().map(move |group| {
            first += group.members;
            &self.members[first - group.members..first]
        })
    }

    /// Whether class weights depend on the treatment. With treatments of few values data do not show whether they do.
    pub(crate) fn weights_depend_on_treatment(&self) -> bool {
        let form = &self.members[0].form;
        form.weights == ClassWeights::CovariatesAndTreatment && form.classes > 1 && !form.has_few_values()
    }

    /// Whether data show which class under one treatment is which under another: not if the treatment has few values.
    pub(crate) fn has_identified_classes(&self) -> bool {
        let form = &self.members[0].form;
        form.classes == 1 || form.alike || !form.has_few_values()
    }

    /// Evaluators of all members.
    pub(crate) fn evaluators(&self) -> Vec<Evaluator<'_>> {
        self.members.iter().map(|member| member.evaluator().with_regressors(&self.regressors)).collect()
    }

    /// The answers for all rows of one subject.
    pub(crate) fn answer(
        &self,
        evaluators: &mut [Evaluator<'_>],
        question: &Question<'_>,
        of_subject: &[usize],
    ) -> Vec<RowAnswer> {
        let views: Vec<Vec<ClassView>> =
            evaluators.iter_mut().map(|member| class_views(member, question.rows, of_subject)).collect();
        let (posterior, elements) = (self.posterior(&views), self.elements());
        let answer = |i: usize| {
            let predictions: Vec<Prediction> = evaluators
                .iter_mut()
                .map(|member| Prediction::new(member, question, of_subject[i]))
                .collect();
            let row = RowViews { evaluators: &*evaluators, views: &views, predictions: &predictions };
            let element = |element: &Element| match *element {
                Element::Number(j) => self.number(row, question, of_subject, i, j),
                other => {
                    let members = row.members(question.rows, of_subject[i], &self.scales, &self.groups);
                    distribution(&members, other, question, &self.groups)
                }
            };
            RowAnswer { posterior: posterior.clone(), elements: elements.iter().map(element).collect() }
        };
        (0..of_subject.len()).map(answer).collect()
    }

    /// P(class), the mean over the members of the first group.
    fn posterior(&self, views: &[Vec<ClassView>]) -> Vec<f64> {
        let first = &views[..self.groups[0].members.min(views.len())];
        let mean =
            |k: usize| first.iter().map(|member| member[k].posterior).sum::<f64>() / first.len() as f64;
        (0..self.classes()).map(mean).collect()
    }

    /// The weight of every group in intervals over that in points: groups with more classes than were chosen, which respond
    /// differently, have at least the weight [`MORE_CLASSES`].
    fn interval_factors(&self) -> Vec<f64> {
        let has_more = |members: &[Member]| {
            let form = &members[0].form;
            form.classes > self.classes() && !form.alike
        };
        let has_more: Vec<bool> = self.member_groups().map(has_more).collect();
        let weights = self.groups.iter().zip(&has_more).filter(|(_, has_more)| **has_more);
        let total: f64 = weights.map(|(group, _)| group.weight).sum();
        if total <= 0.0 || total >= MORE_CLASSES {
            return vec![1.0; self.groups.len()];
        }
        let (more, others) = (MORE_CLASSES / total, (1.0 - MORE_CLASSES) / (1.0 - total));
        has_more.into_iter().map(|has_more| if has_more { more } else { others }).collect()
    }

    /// The laws of outcomes; empty if all are numbers.
    pub(crate) fn outcome_laws(&self) -> &[HeadLaw] {
        &self.members[0].form.outcome_laws
    }

    /// The elements of an outcome.
    pub(crate) fn elements(&self) -> Vec<Element> {
        self.members[0].form.elements()
    }

    /// The distribution of number `j` of the `i`-th row of a subject.
    fn number(
        &self,
        row: RowViews<'_>,
        question: &Question<'_>,
        of_subject: &[usize],
        i: usize,
        j: usize,
    ) -> Distribution {
        let asked = NumberQuestion::new(question, of_subject[i], i, j, self.scales[j]);
        let mut distribution = asked.distribution();
        let mut first = 0;
        for (group, interval_factor) in self.groups.iter().zip(self.interval_factors()) {
            let own = first..first + group.members;
            first = own.end;
            let views = GroupViews {
                group,
                interval_factor,
                members: &row.evaluators[own.clone()],
                views: &row.views[own.clone()],
                predictions: &row.predictions[own],
            };
            views.add_to(&asked, &mut distribution);
        }
        distribution.normalise();
        distribution
    }

    /// The mean answer of the first group under one class, which `choose` picks by the posterior, for all rows of one subject:
    /// `[rows, elements]`.
    pub(crate) fn answer_by_class(
        &self,
        evaluators: &mut [Evaluator<'_>],
        question: &Question<'_>,
        of_subject: &[usize],
        choose: impl Fn(usize, &[f64]) -> usize,
    ) -> Vec<Vec<f64>> {
        let evaluators = &mut evaluators[..self.groups[0].members];
        let views: Vec<Vec<ClassView>> =
            evaluators.iter_mut().map(|member| class_views(member, question.rows, of_subject)).collect();
        let posterior = self.posterior(&views);
        let (d, share) = (question.rows.d, 1.0 / evaluators.len() as f64);
        let elements = self.elements();
        let mut residuals = Vec::new();
        let mut answer = |i: usize, row: usize| {
            let k = choose(row, &posterior);
            let mut sums = vec![0.0; elements.len()];
            for (member, views) in evaluators.iter_mut().zip(&views) {
                let prediction = Prediction::new(member, question, row);
                for (&element, sum) in elements.iter().zip(&mut sums) {
                    let Element::Number(j) = element else {
                        let view = MemberView {
                            member,
                            classes: views,
                            prediction: &prediction,
                            rows: question.rows,
                            row,
                            scales: &self.scales,
                            weight: share,
                        };
                        *sum += share * view.class_mean(element, k, question.rho);
                        continue;
                    };
                    let scores: Vec<f64> = views[k].scores.iter().skip(j).step_by(d).copied().collect();
                    for (weight, rho) in question.rho.nodes() {
                        let (mean, deviation) = score_under(rho, &scores, i);
                        member.noise.given_score(mean, deviation, &mut residuals);
                        let value = |z: f64| prediction.value([k * d + j; 2], z, self.scales[j]);
                        let mean: f64 = residuals.iter().map(|r| r.weight * value(r.mean)).sum();
                        *sum += share * weight * mean;
                    }
                }
            }
            sums
        };
        of_subject.iter().enumerate().map(|(i, &row)| answer(i, row)).collect()
    }

    /// What answers about an element are at least.
    fn floor(&self, element: Element) -> f64 {
        let place = self.elements().iter().position(|other| *other == element);
        let range = place.and_then(|place| self.ranges.get(place));
        range.and_then(|range| range.floor).unwrap_or(f64::NEG_INFINITY)
    }

    /// The point answer of a distribution of `element`; of the difference of two outcomes if `difference`.
    pub(crate) fn point(&self, element: Element, distribution: &Distribution, difference: bool) -> f64 {
        match element {
            Element::Number(_) if !difference => distribution.mean().max(self.floor(element)),
            _ => distribution.mean(),
        }
    }

    /// The interval of a distribution of `element` at a level; of the difference of two outcomes if `difference`.
    pub(crate) fn interval(
        &self,
        element: Element,
        distribution: &Distribution,
        level: f64,
        difference: bool,
    ) -> (f64, f64) {
        let (lower, upper) = central_interval(&distribution.components, level, normal_half_width(level));
        let [lower, upper] = [lower, upper].map(|bound| distribution.scale.restore(bound));
        let within = |least: f64, most: f64| (lower.clamp(least, most), upper.clamp(least, most));
        match element {
            Element::Number(_) if !difference => {
                let floor = self.floor(element);
                (lower.max(floor), upper.max(floor))
            }
            Element::Number(_) => (lower, upper),
            Element::Chance(_) | Element::Level(_) => within(if difference { -1.0 } else { 0.0 }, 1.0),
            Element::Amount(_) if difference => (lower, upper),
            Element::Amount(_) => within(0.0, f64::INFINITY),
            Element::Ranked(_) if difference => (lower.round(), upper.round()),
            Element::Ranked(head) => match self.members[0].form.outcome_law(head) {
                HeadLaw::Ordered { values, .. } => {
                    (nearest_value(values, lower), nearest_value(values, upper))
                }
                _ => (lower.round().max(0.0), upper.round().max(0.0)),
            },
        }
    }
}

impl Ensemble {
    /// The values of a count or an ordered level; of a count, the first `count` ones.
    pub(crate) fn ranked_values(&self, element: Element, count: usize) -> Vec<f32> {
        match (element, self.outcome_laws()) {
            (Element::Ranked(head), laws) => match &laws[head] {
                HeadLaw::Ordered { values, .. } => values.iter().map(|&value| value as f32).collect(),
                _ => (0..count).map(|value| value as f32).collect(),
            },
            _ => Vec::new(),
        }
    }

    /// The probabilities of the values of a count (0, 1, 2, ...) or an ordered level: the mixture over members.
    pub(crate) fn value_probabilities(&self, element: Element, distribution: &Distribution) -> Vec<f64> {
        let components = &distribution.components;
        let ordered = self.ranked_values(element, 0);
        let highest = |component: &GaussianComponent| component.mean + 4.0 * component.deviation;
        let count = components.iter().map(highest).fold(0.0, f64::max).round() as usize + 1;
        let values: Vec<f64> = match ordered.as_slice() {
            [] => (0..count).map(|value| value as f64).collect(),
            values => values.iter().map(|&value| f64::from(value)).collect(),
        };
        // values are rounded to the nearest one
        let cuts: Vec<f64> = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
        let mut probabilities = vec![0.0; values.len()];
        for component in components {
            let reach = 8.0 * component.deviation;
            let from = cuts.partition_point(|&cut| cut < component.mean - reach);
            let mut below = 0.0;
            for (i, probability) in probabilities.iter_mut().enumerate().skip(from) {
                let cut = cuts.get(i).copied().unwrap_or(f64::INFINITY);
                let up_to = normal_cdf((cut - component.mean) / component.deviation);
                *probability += component.weight * (up_to - below);
                below = up_to;
                if cut > component.mean + reach {
                    break;
                }
            }
        }
        probabilities
    }
}

fn nearest_value(values: &[f64], to: f64) -> f64 {
    let distance = |value: &&f64| (**value - to).abs();
    values.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied().unwrap_or(to)
}

/// All members' views of one row of a subject.
#[derive(Clone, Copy)]
struct RowViews<'a> {
    evaluators: &'a [Evaluator<'a>],
    views: &'a [Vec<ClassView>],
    predictions: &'a [Prediction],
}

impl<'a> RowViews<'a> {
    fn members(
        self,
        rows: &'a Rows,
        row: usize,
        scales: &'a [OutcomeScale],
        groups: &[Group],
    ) -> Vec<MemberView<'a>> {
        let share = |group: &Group| std::iter::repeat_n(group.weight / group.members as f64, group.members);
        let members = self.evaluators.iter().zip(self.views).zip(self.predictions);
        members
            .zip(groups.iter().flat_map(share))
            .map(|(((member, classes), prediction), weight)| MemberView {
                member,
                classes,
                prediction,
                rows,
                row,
                scales,
                weight,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::density::Correlation;
    use crate::density::selection::Problem;
    use crate::density::testing::{self, Lines, lines, members, problem};
    use crate::runtime::Pool;

    /// Members fitted to two crossing lines.
    fn ensemble(data: &Lines) -> Ensemble {
        let pool = Pool::new(2).unwrap();
        let problem = Problem { t_cosines: vec![2], ..problem(&data.rows, &pool) };
        testing::ensemble(members(&problem, 2, 5))
    }

    fn answers(ensemble: &Ensemble, rows: &Rows, to: &[f32], rho: Correlation) -> Vec<RowAnswer> {
        let question = Question { rows, to, from: None, rho };
        let mut evaluators = ensemble.evaluators();
        let of_subject = |own: &Vec<usize>| ensemble.answer(&mut evaluators, &question, own);
        rows.subjects.iter().flat_map(of_subject).collect()
    }

    fn treatments(rows: &Rows) -> Vec<f32> {
        (0..rows.len()).map(|row| rows.input(row)[1]).collect()
    }

    #[test]
    fn the_same_noise_under_the_same_treatment_gives_the_outcome_back() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let ensemble = ensemble(&data);
        for (row, answer) in answers(&ensemble, &data.rows, &treatments(&data.rows), Correlation::Known(1.0))
            .iter()
            .enumerate()
        {
            let y = f64::from(data.rows.outcome(row)[0]);
            assert!((answer.elements[0].mean() - y).abs() < 1e-4);
            let (lower, upper) = ensemble.interval(Element::Number(0), &answer.elements[0], 0.9, false);
            assert!(lower <= y + 1e-4 && y - 1e-4 <= upper && upper - lower < 1e-2, "{lower} {y} {upper}");
        }
    }

    #[test]
    fn responses_that_the_fit_does_not_show_widen_answers_about_other_treatments() {
        let data = lines(&[1.0], 200, 1, 0.3);
        let pool = Pool::new(2).unwrap();
        let own = testing::ensemble(members(&problem(&data.rows, &pool), 1, 5));
        let received = treatments(&data.rows);
        let other: Vec<f32> = received.iter().map(|t| t + 1.0).collect();
        let width = |unseen_share: f64, from: Option<&[f32]>, to: &[f32], rho: Correlation| {
            let mut ensemble = own.clone();
            ensemble.groups[0].unseen_share = unseen_share;
            let question = Question { rows: &data.rows, to, from, rho };
            let answer = ensemble.answer(&mut ensemble.evaluators(), &question, &[0]).remove(0);
            let difference = from.is_some();
            let (lower, upper) = ensemble.interval(Element::Number(0), &answer.elements[0], 0.9, difference);
            upper - lower
        };
        let (same, unknown) = (Correlation::Known(1.0), Correlation::Unknown);
        for (from, rho) in [(None, same), (Some(&received[..]), same), (Some(&received[..]), unknown)] {
            let [seen, unseen] = [0.0, 0.2].map(|share| width(share, from, &other, rho));
            assert!(unseen > 1.2 * seen, "{from:?} {rho:?}: {seen} {unseen}");
        }
        assert!(
            width(0.2, None, &received, same) < 1e-2,
            "the outcome under the treatment received is known"
        );
        assert!(width(0.2, Some(&other), &other, same) < 1e-2, "equal treatments have no effect");
        let effect = |rho| width(0.2, Some(&received), &other, rho);
        assert!(effect(unknown) > 0.99 * effect(same), "an unknown rho is not narrower than a given one");
    }

    #[test]
    fn a_larger_error_widens_intervals_up_to_those_of_fresh_noise() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let own = ensemble(&data);
        let width = |ratio: f64, rho: f64| {
            let mut ensemble = own.clone();
            ensemble.groups[0].error_ratio = ratio;
            let to = vec![1.5; data.rows.len()];
            let answers = answers(&ensemble, &data.rows, &to, Correlation::Known(rho));
            let width = |answer: &RowAnswer| {
                let (lower, upper) = ensemble.interval(Element::Number(0), &answer.elements[0], 0.9, false);
                upper - lower
            };
            crate::math::mean(&answers.iter().map(width).collect::<Vec<_>>())
        };
        let (narrow, wide, widest) = (width(1.0, 1.0), width(16.0, 1.0), width(900.0, 1.0));
        assert!(narrow < wide && wide < widest, "{narrow} {wide} {widest}");
        assert!(widest < 1.2 * width(900.0, 0.0), "what was observed never widens an interval");
        // an unknown rho is not narrower than any that it may be
        let [same, unknown] = [Correlation::Known(1.0), Correlation::Unknown].map(|rho| {
            let to = vec![1.5; data.rows.len()];
            let answers = answers(&own, &data.rows, &to, rho);
            let (lower, upper) = own.interval(Element::Number(0), &answers[0].elements[0], 0.9, false);
            upper - lower
        });
        assert!(unknown > same);
    }

    #[test]
    fn classes_under_few_values_need_not_be_the_same() {
        let mut data = lines(&[0.1, -0.1], 400, 1, 0.2);
        for row in 0..400 {
            let t = if data.rows.inputs[2 * row + 1] > 0.0 { 1.0 } else { -1.0 };
            data.rows.inputs[2 * row + 1] = t;
            let level = if data.classes[row] == 0 { 1.0 } else { -1.0 };
            data.rows.outcomes[row] = level + 0.1 * data.rows.outcomes[row];
        }
        let pool = Pool::new(2).unwrap();
        let problem = Problem { t_values: vec![vec![-1.0, 1.0]], ..problem(&data.rows, &pool) };
        let ensemble = testing::ensemble(members(&problem, 2, 5));
        let rho = Correlation::Known(1.0);
        let other: Vec<f32> = treatments(&data.rows).iter().map(|t| -t).collect();
        let under_other = answers(&ensemble, &data.rows, &other, rho).remove(0);
        assert!(under_other.is_not_identified());
        let (lower, upper) = ensemble.interval(Element::Number(0), &under_other.elements[0], 0.9, false);
        assert!(lower < -0.8 && upper > 0.8, "both classes are possible: {lower} to {upper}");
        let under_own = answers(&ensemble, &data.rows, &treatments(&data.rows), rho).remove(0);
        assert!(!under_own.is_not_identified());
    }

    #[test]
    fn fresh_noise_forgets_the_outcome_but_for_the_class() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let ensemble = ensemble(&data);
        let one = |y: f32| Rows {
            inputs: vec![0.2, 0.1],
            outcomes: vec![y],
            offsets: Vec::new(),
            folds: HashMap::new(),
            numeric: None,
            observed: None,
            width: 2,
            d: 1,
            subjects: vec![vec![0]],
            possible_treatments: HashMap::new(),
        };
        let under = |y: f32, rho: f64| answers(&ensemble, &one(y), &[1.5], Correlation::Known(rho)).remove(0);
        let (low, high) = (under(0.0, 0.0), under(0.25, 0.0));
        assert_ne!(low.posterior, high.posterior);
        let parts = |answer: &RowAnswer| -> Vec<f64> {
            let components = &answer.elements[0].components;
            components.iter().map(|component| component.mean).collect()
        };
        assert_eq!(parts(&low), parts(&high));
        let keeps = under(0.25, 1.0);
        assert_ne!(parts(&keeps), parts(&under(0.0, 1.0)), "with the same noise the outcome counts");
        // an unknown correlation lies between both
        let unknown = answers(&ensemble, &one(0.25), &[1.5], Correlation::Unknown).remove(0);
        let means = [&high, &unknown, &keeps].map(|answer| answer.elements[0].mean());
        assert!((means[0] - means[1]) * (means[1] - means[2]) > 0.0, "{means:?}");
    }

    /// Rows with x = 0.2 of one subject, with an outcome and treatment 1 each, or without both.
    fn subject(outcomes: &[Option<f32>], possible: &[f32]) -> Rows {
        let missing = |(row, y): (usize, &Option<f32>)| y.is_none().then(|| (row, possible.to_vec()));
        let t = |y: &Option<f32>| if y.is_some() { 1.0 } else { 0.0 };
        Rows {
            inputs: outcomes.iter().flat_map(|y| [0.2, t(y)]).collect(),
            outcomes: outcomes.iter().map(|y| y.unwrap_or(0.0)).collect(),
            offsets: Vec::new(),
            folds: HashMap::new(),
            numeric: None,
            observed: Some(outcomes.iter().map(Option::is_some).collect()),
            width: 2,
            d: 1,
            subjects: vec![(0..outcomes.len()).collect()],
            possible_treatments: outcomes.iter().enumerate().filter_map(missing).collect(),
        }
    }

    #[test]
    fn without_an_outcome_classes_have_their_weights_and_noise_is_fresh() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.2);
        let ensemble = ensemble(&data);
        let rows = subject(&[None], &[0.5]);
        let under = |rho: f64| answers(&ensemble, &rows, &[1.5], Correlation::Known(rho)).remove(0);
        let (fresh, same) = (under(0.0), under(1.0));
        assert!(fresh.posterior.iter().all(|p| (0.3..0.7).contains(p)), "{:?}", fresh.posterior);
        assert_eq!(fresh.elements[0].mean(), same.elements[0].mean());
        let (lower, upper) = ensemble.interval(Element::Number(0), &fresh.elements[0], 0.9, false);
        assert!(lower < -1.3 && upper > 1.3, "both classes are within {lower} to {upper}");
        // of an effect the noise cancels: one of the two slopes, times the change of the treatment
        let question =
            Question { rows: &rows, to: &[1.0], from: Some(&[-1.0]), rho: Correlation::Known(1.0) };
        let effect = ensemble.answer(&mut ensemble.evaluators(), &question, &[0]).remove(0);
        let far = |component: &GaussianComponent| (component.mean.abs() - 2.0).abs() > 0.3;
        let means: Vec<f64> = effect.elements[0].components.iter().map(|component| component.mean).collect();
        assert!(!effect.elements[0].components.iter().any(far), "{means:?}");
    }

    #[test]
    fn other_rows_of_a_subject_tell_the_class_of_one_without_an_outcome() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.2);
        let ensemble = ensemble(&data);
        let rows = subject(&[Some(1.1), None], &[0.5]);
        let both = answers(&ensemble, &rows, &[1.5, 1.5], Correlation::Known(0.0));
        assert_eq!(both[0].posterior, both[1].posterior);
        assert!(both[1].elements[0].mean() > 1.2, "{}", both[1].elements[0].mean());
    }

    #[test]
    fn weights_by_treatment_are_averaged_over_possible_treatments() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let mut member = ensemble(&data).members.remove(0);
        let posterior = |member: &Member, possible: &[f32]| {
            class_views(&mut member.evaluator(), &subject(&[None], possible), &[0])[0].posterior
        };
        let constant = posterior(&member, &[-1.0, 1.0]);
        assert_eq!(constant, posterior(&member, &[0.5]), "these weights do not depend on the treatment");
        member.form.weights = ClassWeights::CovariatesAndTreatment;
        member.parameters = (0..member.form.len()).map(|i| (i as f32 * 0.7).sin()).collect();
        let (low, high) = (posterior(&member, &[-1.0]), posterior(&member, &[1.0]));
        assert!((low - high).abs() > 0.01);
        assert!((posterior(&member, &[-1.0, 1.0]) - 0.5 * (low + high)).abs() < 1e-6);
    }

    #[test]
    fn more_rows_of_a_subject_sharpen_its_class() {
        let data = lines(&[1.0, -1.0], 100, 4, 0.6);
        let ensemble = ensemble(&data);
        let rho = Correlation::Known(0.0);
        let to = treatments(&data.rows);
        let certainty = |rows: &Rows| {
            let largest = |answer: &RowAnswer| answer.posterior.iter().copied().fold(0.0, f64::max);
            crate::math::mean(&answers(&ensemble, rows, &to, rho).iter().map(largest).collect::<Vec<_>>())
        };
        let alone = Rows { subjects: (0..400).map(|row| vec![row]).collect(), ..data.rows.clone() };
        let (alone, together) = (certainty(&alone), certainty(&data.rows));
        assert!(together > alone + 0.05 && together > 0.95, "{alone} {together}");
    }

    #[test]
    fn scores_of_several_rows_are_averaged() {
        assert_eq!(score_under(1.0, &[0.4, 2.0], 0), (0.4, 0.0), "the same noise: the row's own");
        assert_eq!(score_under(0.0, &[0.4, 2.0], 0), (0.0, 1.0));
        assert_eq!(score_under(0.5, &[f64::NAN], 0), (0.0, 1.0), "a missing outcome says nothing");
        let (one, two) = (score_under(0.5, &[1.0], 0), score_under(0.5, &[1.0, 1.0], 0));
        assert!((one.0 - 0.5).abs() < 1e-12 && (two.0 - 2.0 / 3.0).abs() < 1e-12);
        assert!(two.1 < one.1, "two rows tell more than one");
    }
}
