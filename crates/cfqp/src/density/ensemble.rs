//! Answers of an ensemble of mixture density networks: a mixture over members, classes and residuals.
//!
//! Every member has its own posterior over classes. Under a class, the residual keeps its rank: with correlation rho its
//! normal score g becomes N(rho g, 1 - rho^2) under the other treatment. Where rho is unknown, it is uniform on [0, 1].

use super::discrete::{MemberView, distribution};
use super::heads::HeadLaw;
use super::law::ResidualComponent;
use super::levels::{Correlation, DEFAULT_SPREAD, LevelCalibration};
use super::member::{Evaluator, Member};
use super::network::Element;
use super::rows::Rows;
use super::scale::OutcomeScale;
use super::views::{ClassView, Distribution, Prediction, Question, class_views};
use crate::math::{GaussianComponent, UNIFORM_NODES, central_interval, normal_cdf, normal_half_width};

/// Classes less probable than this are left out.
const MIN_POSTERIOR: f64 = 1e-3;
/// A correlation from which on noise is the same.
const SAME_NOISE: f64 = 0.9999;

/// Several members, each fitted to half of the subjects. Class k is the same class in all members that have the number of
/// classes of the first. Members with another number of classes stand for numbers that held-out units do not rule out.
#[derive(Clone, Debug)]
pub(crate) struct Ensemble {
    pub members: Vec<Member>,
    pub scales: Vec<OutcomeScale>,
    pub calibration: LevelCalibration,
    /// Of intervals of probabilities, if there are any.
    pub chance_calibration: Option<LevelCalibration>,
    /// The correlation of the noise of two rows of one subject, if subjects were seen more than once.
    pub learned_rho: Option<f64>,
    /// The variance of the ensemble's error over that between members, as far as members err independently.
    pub error_ratio: f64,
    /// The variance of the error that all members have in common over that between members.
    pub common_error: f64,
}

/// The answer for one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowAnswer {
    /// P(class), the mean over members.
    pub posterior: Vec<f64>,
    /// Of every outcome element.
    pub elements: Vec<Distribution>,
}

/// Scales closer to each other than this are the same.
const SAME_SCALE: f64 = 0.97;

/// Correlations and their weights.
///
/// Where the noise has another scale under the other treatment, a part of it may not be there under the first: an
/// independent part would leave a correlation as small as the `ratio` of the scales. What it is is not known, so the
/// correlation is multiplied by a factor that is uniform between the ratio and 1.
fn transfer_nodes(rho: Correlation, ratio: f64) -> Vec<(f64, f64)> {
    let nodes = rho.nodes();
    if ratio > SAME_SCALE {
        return nodes;
    }
    let factors = UNIFORM_NODES.map(|node| (node.weight, ratio + (1.0 - ratio) * node.at));
    nodes.iter().flat_map(|(w, rho)| factors.map(|(weight, factor)| (w * weight, rho * factor))).collect()
}

impl Ensemble {
    /// The number of classes that was chosen.
    pub(crate) fn classes(&self) -> usize {
        self.members[0].form.classes
    }

    /// The numbers of classes of all members.
    fn class_counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.members.iter().map(|member| member.form.classes).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The variance of the error of the answering members over that between them: 1 in a simulated second world, where
    /// another member is the truth.
    fn spread_factor(&self, answering: usize) -> f64 {
        if answering < self.members.len() { 1.0 } else { self.error_ratio + self.common_error }
    }

    /// Evaluators of all members, or of all but one.
    pub(crate) fn evaluators(&self, without: Option<usize>) -> Vec<Evaluator<'_>> {
        let members = self.members.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        members.map(|(_, member)| member.evaluator()).collect()
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
                Element::Number(j) => self.number(row, question, i, j),
                other => {
                    let members = row.members(question.rows, of_subject[i], &self.scales);
                    distribution(&members, other, question, self.spread_factor(views.len()))
                }
            };
            RowAnswer { posterior: posterior.clone(), elements: elements.iter().map(element).collect() }
        };
        (0..of_subject.len()).map(answer).collect()
    }

    /// P(class), the mean over the members with the chosen number of classes.
    fn posterior(&self, views: &[Vec<ClassView>]) -> Vec<f64> {
        let chosen: Vec<_> = views.iter().filter(|views| views.len() == self.classes()).collect();
        let mean = |k: usize| {
            let sum: f64 = chosen.iter().map(|member| member[k].posterior).sum();
            sum / chosen.len().max(1) as f64
        };
        (0..self.classes()).map(mean).collect()
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
    fn number(&self, row: RowViews<'_>, question: &Question<'_>, i: usize, j: usize) -> Distribution {
        let RowViews { evaluators, views, predictions } = row;
        let (d, share) = (question.rows.d, 1.0 / views.len() as f64);
        let mut distribution = Distribution::default();
        let mut residuals: Vec<ResidualComponent> = Vec::new();
        let mut by_member = vec![(0.0, 0.0); views.len()];
        let all = self.class_counts().into_iter().flat_map(|classes| (0..classes).map(move |k| (classes, k)));
        for (classes, k) in all {
            let first = distribution.components.len();
            let mut centres = Centres::default();
            // the member's centre, of every component
            let mut of_component = Vec::new();
            let members = evaluators.iter().zip(views).zip(predictions).zip(&mut by_member);
            for (((member, views), prediction), sums) in
                members.filter(|(((_, views), _), _)| views.len() == classes)
            {
                let view = &views[k];
                if view.posterior < MIN_POSTERIOR {
                    continue;
                }
                let value = |z: f64| prediction.value(k * d + j, z, self.scales[j]);
                let scores: Vec<f64> = view.scores.iter().skip(j).step_by(d).copied().collect();
                let mut centre = 0.0;
                let change = view.scale_ratio(prediction, i, k, j, d);
                for (weight, rho) in transfer_nodes(question.rho, change) {
                    let (mean, deviation) = score_under(rho, &scores, i);
                    member.noise.given_score(mean, deviation, &mut residuals);
                    for residual in &residuals {
                        let at = value(residual.mean);
                        let ends = [-1.0, 1.0].map(|s| value(residual.mean + s * residual.deviation));
                        centre += weight * residual.weight * at;
                        distribution.components.push(GaussianComponent {
                            weight: share * view.posterior * weight * residual.weight,
                            mean: at,
                            deviation: 0.5 * (ends[1] - ends[0]).abs(),
                        });
                    }
                }
                centres.add(view.posterior, centre);
                *sums = (sums.0 + view.posterior, sums.1 + view.posterior * centre);
                of_component.resize(distribution.components.len() - first, centre);
            }
            let factor = self.spread_factor(views.len());
            let mean = centres.sum / centres.weight.max(f64::MIN_POSITIVE);
            for (component, centre) in distribution.components[first..].iter_mut().zip(&of_component) {
                component.mean += (factor.sqrt() - 1.0) * (centre - mean);
            }
            distribution.between.resize(distribution.components.len(), factor * centres.variance());
        }
        distribution.members = by_member.iter().map(|(weight, sum)| sum / weight).collect();
        let total: f64 = distribution.components.iter().map(|component| component.weight).sum();
        distribution.components.iter_mut().for_each(|component| component.weight /= total);
        distribution
    }

    /// The mean answer of all members under one class, which `choose` picks by the posterior, for all rows of one subject:
    /// `[rows, elements]`.
    pub(crate) fn answer_by_class(
        &self,
        evaluators: &mut [Evaluator<'_>],
        question: &Question<'_>,
        of_subject: &[usize],
        choose: impl Fn(usize, &[f64]) -> usize,
    ) -> Vec<Vec<f64>> {
        let views: Vec<Vec<ClassView>> =
            evaluators.iter_mut().map(|member| class_views(member, question.rows, of_subject)).collect();
        let posterior = self.posterior(&views);
        let chosen = views.iter().filter(|views| views.len() == self.classes()).count();
        let (d, share) = (question.rows.d, 1.0 / chosen.max(1) as f64);
        let elements = self.elements();
        let mut residuals = Vec::new();
        let mut answer = |i: usize, row: usize| {
            let k = choose(row, &posterior);
            let mut sums = vec![0.0; elements.len()];
            let members = evaluators.iter_mut().zip(&views);
            for (member, views) in members.filter(|(_, views)| views.len() == posterior.len()) {
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
                        };
                        *sum += share * view.class_mean(element, k, question.rho);
                        continue;
                    };
                    let scores: Vec<f64> = views[k].scores.iter().skip(j).step_by(d).copied().collect();
                    let change = views[k].scale_ratio(&prediction, i, k, j, d);
                    for (weight, rho) in transfer_nodes(question.rho, change) {
                        let (mean, deviation) = score_under(rho, &scores, i);
                        member.noise.given_score(mean, deviation, &mut residuals);
                        let value = |z: f64| prediction.value(k * d + j, z, self.scales[j]);
                        let mean: f64 = residuals.iter().map(|r| r.weight * value(r.mean)).sum();
                        *sum += share * weight * mean;
                    }
                }
            }
            sums
        };
        of_subject.iter().enumerate().map(|(i, &row)| answer(i, row)).collect()
    }

    /// The calibration of intervals of an element.
    fn calibration_of(&self, element: Element) -> &LevelCalibration {
        match &self.chance_calibration {
            Some(calibration) if element.is_chance() => calibration,
            _ => &self.calibration,
        }
    }

    /// The interval of a distribution of `element` at a level; of the difference of two outcomes if `difference`.
    pub(crate) fn interval(
        &self,
        element: Element,
        distribution: &Distribution,
        question: IntervalQuestion,
    ) -> (f64, f64) {
        let IntervalQuestion { rho, level, difference } = question;
        let calibration = self.calibration_of(element);
        let used = calibration.level(rho, level);
        let components = distribution.widened(calibration.spread(rho));
        let (lower, upper) = central_interval(&components, used, normal_half_width(used));
        let within = |least: f64, most: f64| (lower.clamp(least, most), upper.clamp(least, most));
        match element {
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

    /// The probabilities of the values of a count (0, 1, 2, ...) or an ordered level: the mixture over members, widened a little
    /// because there are few of them.
    pub(crate) fn value_probabilities(&self, element: Element, distribution: &Distribution) -> Vec<f64> {
        let components = distribution.widened(DEFAULT_SPREAD);
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
        for component in &components {
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

/// What an interval is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntervalQuestion {
    pub rho: Correlation,
    pub level: f64,
    /// Whether the distribution is that of the difference of two outcomes.
    pub difference: bool,
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
    fn members(self, rows: &'a Rows, row: usize, scales: &'a [OutcomeScale]) -> Vec<MemberView<'a>> {
        let members = self.evaluators.iter().zip(self.views).zip(self.predictions);
        let view =
            |((member, classes), prediction): ((&'a Evaluator<'a>, &'a Vec<ClassView>), &'a Prediction)| {
                MemberView { member, classes, prediction, rows, row, scales }
            };
        members.map(view).collect()
    }
}

/// Weighted members' answers under one class.
#[derive(Default)]
struct Centres {
    count: f64,
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Centres {
    fn add(&mut self, weight: f64, value: f64) {
        self.count += 1.0;
        self.weight += weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
    }

    /// The sample variance; 0 for fewer than two.
    fn variance(&self) -> f64 {
        if self.count < 2.0 {
            return 0.0;
        }
        let mean = self.sum / self.weight;
        (self.squares / self.weight - mean * mean).max(0.0) * self.count / (self.count - 1.0)
    }
}

/// The mean and deviation of the normal score under another treatment, given those of the rows of a subject; `own` is the
/// row that is asked about.
///
/// Scores of one subject have correlation rho with each other, so E[g' | g] = rho sum_r g_r / (1 + (m - 1) rho).
fn score_under(rho: f64, scores: &[f64], own: usize) -> (f64, f64) {
    if rho >= SAME_NOISE {
        return if scores[own].is_nan() { (0.0, 1.0) } else { (scores[own], 0.0) };
    }
    let observed = scores.iter().filter(|score| !score.is_nan());
    let (m, sum) = observed.fold((0.0, 0.0), |(m, sum), score| (m + 1.0, sum + score));
    if m == 0.0 {
        return (0.0, 1.0);
    }
    let shared = 1.0 + (m - 1.0) * rho;
    (rho * sum / shared, (1.0 - rho * rho * m / shared).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::density::ClassWeights;
    use crate::density::selection::Problem;
    use crate::density::testing::{Lines, lines, problem, selected};
    use crate::runtime::Pool;

    /// Two members fitted to two crossing lines.
    fn ensemble(data: &Lines) -> Ensemble {
        let pool = Pool::new(1).unwrap();
        // without cosines, treatments would count as few values, to which classes respond little
        let problem = Problem { t_cosines: vec![2], ..problem(&data.rows, &pool) };
        let halves = problem.members(&selected(2), 2).unwrap();
        Ensemble {
            members: halves.into_iter().map(|half| half.member).collect(),
            scales: vec![OutcomeScale::Identity],
            calibration: LevelCalibration::default(),
            chance_calibration: None,
            learned_rho: None,
            error_ratio: 1.0,
            common_error: 0.0,
        }
    }

    fn answers(ensemble: &Ensemble, rows: &Rows, to: &[f32], rho: Correlation) -> Vec<RowAnswer> {
        let question = Question { rows, to, from: None, rho };
        let mut evaluators = ensemble.evaluators(None);
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
            let asked = IntervalQuestion { rho: Correlation::Known(1.0), level: 0.9, difference: false };
            let (lower, upper) = ensemble.interval(Element::Number(0), &answer.elements[0], asked);
            assert!(lower <= y + 1e-4 && y - 1e-4 <= upper && upper - lower < 1e-2, "{lower} {y} {upper}");
        }
    }

    #[test]
    fn an_error_in_common_doubles_the_variance_between_members_and_leaves_the_mean() {
        let data = lines(&[1.0], 200, 1, 0.3);
        let pool = Pool::new(1).unwrap();
        let problem = Problem { t_cosines: vec![2], ..problem(&data.rows, &pool) };
        let halves = problem.members(&selected(1), 2).unwrap();
        let alone =
            Ensemble { members: halves.into_iter().map(|half| half.member).collect(), ..ensemble(&data) };
        let common = Ensemble { common_error: 1.0, ..alone.clone() };
        let answer = |ensemble: &Ensemble| {
            let to = vec![1.5; data.rows.len()];
            answers(ensemble, &data.rows, &to, Correlation::Known(1.0)).remove(0).elements.remove(0)
        };
        let (alone, common) = (answer(&alone), answer(&common));
        assert!((alone.mean() - common.mean()).abs() < 1e-6);
        let gap = |answer: &Distribution| {
            let means: Vec<f64> = answer.components.iter().map(|component| component.mean).collect();
            means.iter().copied().fold(f64::MIN, f64::max) - means.iter().copied().fold(f64::MAX, f64::min)
        };
        assert!(gap(&alone) > 0.0);
        assert!(
            (gap(&common) / gap(&alone) - 2.0_f64.sqrt()).abs() < 1e-3,
            "{} {}",
            gap(&alone),
            gap(&common)
        );
    }

    #[test]
    fn fresh_noise_forgets_the_outcome_but_for_the_class() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let ensemble = ensemble(&data);
        let one = |y: f32| Rows {
            inputs: vec![0.2, 0.1],
            outcomes: vec![y],
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
            components.iter().flat_map(|component| [component.mean, component.deviation]).collect()
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
        let asked = IntervalQuestion { rho: Correlation::Known(0.0), level: 0.9, difference: false };
        let (lower, upper) = ensemble.interval(Element::Number(0), &fresh.elements[0], asked);
        assert!(lower < -1.3 && upper > 1.3, "both classes are within {lower} to {upper}");
        // of an effect the noise cancels: one of the two slopes, times the change of the treatment
        let question =
            Question { rows: &rows, to: &[1.0], from: Some(&[-1.0]), rho: Correlation::Known(1.0) };
        let effect = ensemble.answer(&mut ensemble.evaluators(None), &question, &[0]).remove(0);
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
