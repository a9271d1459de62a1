//! Answers about outcomes that are not numbers.
//!
//! With probability rho the noise of a unit is the same under the other treatment, otherwise it is fresh. The same noise
//! is the same rank of an ordered outcome; of categories, as many units as possible keep their level. Answers about
//! yes/no outcomes and categories are probabilities, averaged over classes; their intervals are those of the members.
//! Answers about counts, ordered levels and amounts are distributions of the outcome.

use super::correlation::Correlation;
use super::group::Group;
use super::heads::{HeadLaw, Mass, RankedLaw, Ranks, kept_levels};
use super::member::Evaluator;
use super::network::Element;
use super::rows::Rows;
use super::scale::OutcomeScale;
use super::views::{ClassView, Distribution, Location, Prediction, Question};
use crate::math::{GaussianComponent, normal_cdf, normal_quantile, standard_deviation};

/// Ends of the slices of ranks over which an amount is averaged: narrow where amounts are large.
const AMOUNT_SLICES: [f64; 18] =
    [0.0, 0.06, 0.12, 0.2, 0.28, 0.36, 0.44, 0.52, 0.6, 0.68, 0.76, 0.84, 0.9, 0.94, 0.97, 0.985, 0.995, 1.0];
/// Ranks of amounts are at least this far from 0 and 1.
const MIN_RANK: f64 = 1e-4;
/// The largest ratio of the variance of the error to that between members, of counts, ordered levels and amounts: a larger one
/// would blur their probabilities.
const MAX_OUTCOME_ERROR_RATIO: f64 = 4.0;

/// The distribution of an amount with zeros in one class.
struct AmountLaw<'a> {
    member: &'a Evaluator<'a>,
    location: &'a Location,
    /// The place of the amount among all classes' means.
    at: usize,
    scale: OutcomeScale,
    /// P(0)
    zero: f64,
}

impl AmountLaw<'_> {
    fn at_rank(&self, u: f64) -> f64 {
        if u <= self.zero {
            return 0.0;
        }
        let rank = ((u - self.zero) / (1.0 - self.zero)).clamp(MIN_RANK, 1.0 - MIN_RANK);
        self.scale
            .restore(self.location.at(self.at, self.member.noise.residual_at(normal_quantile(rank))))
            .max(0.0)
    }

    /// The ranks of an observed amount on its own scale, or of zero.
    fn ranks(&self, amount: Option<f64>) -> Ranks {
        let Some(amount) = amount else { return Ranks { low: 0.0, high: self.zero } };
        let score = self.member.noise.normal_score(self.location.residual(self.at, amount));
        let rank = self.zero + (1.0 - self.zero) * normal_cdf(score);
        Ranks { low: rank, high: rank }
    }

    /// The distribution of the amount, or of its difference from that of `from`, if the rank is uniform on `ranks`.
    fn masses(&self, from: Option<&Self>, ranks: Ranks) -> Vec<Mass> {
        let value = |u: f64| self.at_rank(u) - from.map_or(0.0, |from| from.at_rank(u));
        let width = ranks.high - ranks.low;
        if width < 1e-9 {
            return vec![Mass { weight: 1.0, value: value(ranks.low) }];
        }
        let slice = |ends: &[f64]| Mass {
            weight: ends[1] - ends[0],
            value: value(ranks.low + width * 0.5 * (ends[0] + ends[1])),
        };
        AMOUNT_SLICES.windows(2).map(slice).collect()
    }
}

/// One member's view of one row of a subject.
pub(super) struct MemberView<'a> {
    pub member: &'a Evaluator<'a>,
    pub classes: &'a [ClassView],
    pub prediction: &'a Prediction,
    pub rows: &'a Rows,
    pub row: usize,
    pub scales: &'a [OutcomeScale],
    /// The weight of the member's answer; those of all members add up to 1.
    pub weight: f64,
}

impl MemberView<'_> {
    fn law(&self, head: usize) -> &HeadLaw {
        self.member.member.form.outcome_law(head)
    }

    /// The observed value of a head.
    fn observed(&self, head: usize) -> Option<f64> {
        self.rows.is_observed(self.row, head).then(|| f64::from(self.rows.outcome(self.row)[head]))
    }

    fn ranked(&self, location: &Location, k: usize, head: usize) -> RankedLaw {
        let law = self.law(head).ranked(location.head_input(k, head, self.rows.d));
        law.expect("the outcome of the head has an order")
    }

    fn amount<'a>(&'a self, location: &'a Location, k: usize, head: usize) -> AmountLaw<'a> {
        let zero = self.ranked(location, k, head).ranks(0.0).high;
        let at = k * self.rows.d + head + 1;
        AmountLaw { member: self.member, location, at, scale: self.scales[head + 1], zero }
    }

    /// The distribution of an element in class `k`, with the same noise and with fresh noise.
    fn masses(&self, element: Element, k: usize) -> SameAndFresh<Vec<Mass>> {
        let Prediction { to, from, here } = self.prediction;
        let here = here.as_ref().expect("the factual prediction is made for outcomes that are not numbers");
        match element {
            Element::Amount(head) => {
                let to = self.amount(to, k, head);
                let from = from.as_ref().map(|from| self.amount(from, k, head));
                let masses = |ranks| to.masses(from.as_ref(), ranks);
                let same = self.observed(head).map(|positive| {
                    let amount = if positive > 0.5 { self.observed(head + 1) } else { None };
                    masses(self.amount(here, k, head).ranks(amount))
                });
                SameAndFresh { same, fresh: masses(Ranks::ALL) }
            }
            Element::Chance(head) | Element::Ranked(head) | Element::Level(head) | Element::Number(head) => {
                let to = self.ranked(to, k, head);
                let from = from.as_ref().map(|from| self.ranked(from, k, head));
                let masses = |ranks| to.masses(from.as_ref(), ranks);
                let same = self.observed(head).map(|y| masses(self.ranked(here, k, head).ranks(y)));
                SameAndFresh { same, fresh: masses(Ranks::ALL) }
            }
        }
    }

    /// The probability of a level, or the difference of two, in class `k`.
    fn level(&self, head: usize, k: usize) -> SameAndFresh<f64> {
        let HeadLaw::Level { level, levels } = *self.law(head) else { unreachable!("the head is a level") };
        let shares = |location: &Location| self.law(head).shares(location.head_input(k, head, self.rows.d));
        let Prediction { to, from, here } = self.prediction;
        let first = head - level;
        let own = (0..levels).find(|&i| self.observed(first + i).is_some_and(|y| y > 0.5));
        let (to, from) = (shares(to), from.as_ref().map(shares));
        let difference = |of: &dyn Fn(&[f64]) -> f64| of(&to) - from.as_ref().map_or(0.0, |from| of(from));
        let same = own.zip(here.as_ref()).map(|(own, here)| {
            let here = shares(here);
            difference(&|there| kept_levels(&here, there, own)[level])
        });
        SameAndFresh { same, fresh: difference(&|there| there[level]) }
    }

    /// The probability of an element, or the difference of two, averaged over classes.
    fn chance(&self, element: Element) -> SameAndFresh<f64> {
        let mut sum = SameAndFresh { same: Some(0.0), fresh: 0.0 };
        for (k, view) in self.classes.iter().enumerate() {
            let own = self.means(element, k);
            sum.fresh += view.posterior * own.fresh;
            sum.same = sum.same.zip(own.same).map(|(sum, own)| sum + view.posterior * own);
        }
        sum
    }

    /// The mean of an element, or the mean difference, in class `k`.
    fn means(&self, element: Element, k: usize) -> SameAndFresh<f64> {
        match element {
            Element::Level(head) => self.level(head, k),
            _ => {
                let SameAndFresh { same, fresh } = self.masses(element, k);
                SameAndFresh { same: same.map(|masses| mean(&masses)), fresh: mean(&fresh) }
            }
        }
    }

    /// The mean of an element in class `k` with fresh noise.
    pub(super) fn fresh_mean(&self, element: Element, k: usize) -> f64 {
        self.means(element, k).fresh
    }

    /// The mean of an element, or the mean difference, in class `k` with correlation `rho` of the noise.
    pub(super) fn class_mean(&self, element: Element, k: usize, rho: Correlation) -> f64 {
        self.means(element, k).mixed(rho.mean())
    }
}

fn mean(masses: &[Mass]) -> f64 {
    masses.iter().map(|mass| mass.weight * mass.value).sum()
}

/// Something with the same noise as was observed, and with fresh noise; only the latter where nothing was observed.
struct SameAndFresh<T> {
    same: Option<T>,
    fresh: T,
}

impl SameAndFresh<f64> {
    fn mixed(&self, rho: f64) -> f64 {
        self.same.map_or(self.fresh, |same| rho * same + (1.0 - rho) * self.fresh)
    }
}

/// The distribution of an element that is not a number.
pub(super) fn distribution(
    members: &[MemberView<'_>],
    element: Element,
    question: &Question<'_>,
    groups: &[Group],
) -> Distribution {
    let mut distribution = match element.is_chance() {
        true => chance_distribution(members, element, question, groups),
        false => outcome_distribution(members, element, question, groups),
    };
    distribution.normalise();
    distribution
}

/// The variance of the error of the answers of every member's group, given the members' answers. The ratio to the variance between
/// members is at most `max_ratio`.
fn group_errors(groups: &[Group], centres: &[f64], max_ratio: f64) -> Vec<f64> {
    let mut first = 0;
    let of_group = |group: &Group| {
        let own = &centres[first..first + group.members];
        first += group.members;
        std::iter::repeat_n(group.error_ratio.min(max_ratio) * standard_deviation(own).powi(2), group.members)
    };
    groups.iter().flat_map(of_group).collect()
}

fn add_member_means(groups: &[Group], means: &[f64], out: &mut Distribution) {
    let mut first = 0;
    for group in groups {
        let sums: Vec<(f64, f64)> =
            means[first..first + group.members].iter().map(|&mean| (1.0, mean)).collect();
        first += group.members;
        out.add_members(group.weight, &sums);
    }
}

/// Every member's probability, at every value of rho.
fn chance_distribution(
    members: &[MemberView<'_>],
    element: Element,
    question: &Question<'_>,
    groups: &[Group],
) -> Distribution {
    let parts: Vec<SameAndFresh<f64>> = members.iter().map(|member| member.chance(element)).collect();
    let centres: Vec<f64> = parts.iter().map(|part| part.mixed(question.rho.mean())).collect();
    let errors = group_errors(groups, &centres, f64::INFINITY);
    let mut distribution = Distribution::default();
    add_member_means(groups, &parts.iter().map(|part| part.fresh).collect::<Vec<_>>(), &mut distribution);
    for (node, rho) in question.rho.nodes() {
        for ((part, member), error) in parts.iter().zip(members).zip(&errors) {
            let (weight, mean) = (node * member.weight, part.mixed(rho));
            distribution.components.push(GaussianComponent { weight, mean, deviation: error.sqrt() });
            distribution.point += weight * mean;
            distribution.weight += weight;
        }
    }
    distribution
}

/// The distribution of the outcome over members, classes and noise.
fn outcome_distribution(
    members: &[MemberView<'_>],
    element: Element,
    question: &Question<'_>,
    groups: &[Group],
) -> Distribution {
    let rho = question.rho.mean();
    let mut distribution = Distribution::default();
    let (mut centres, mut fresh_means) = (Vec::new(), Vec::new());
    let mut ends = Vec::new();
    for member in members {
        let (mut centre, mut fresh_mean) = (0.0, 0.0);
        for (k, view) in member.classes.iter().enumerate() {
            let SameAndFresh { same, fresh } = member.masses(element, k);
            fresh_mean += view.posterior * mean(&fresh);
            let fresh_share = if same.is_some() { 1.0 - rho } else { 1.0 };
            let parts = [(rho, same.unwrap_or_default()), (fresh_share, fresh)];
            for (part, masses) in parts.iter().filter(|(part, _)| *part > 0.0) {
                for &Mass { weight, value } in masses {
                    let weight = view.posterior * part * weight;
                    centre += weight * value;
                    let weight = member.weight * weight;
                    distribution.components.push(GaussianComponent { weight, mean: value, deviation: 0.0 });
                }
            }
        }
        distribution.point += member.weight * centre;
        distribution.weight += member.weight;
        centres.push(centre);
        fresh_means.push(fresh_mean);
        ends.push(distribution.components.len());
    }
    let mut first = 0;
    for (end, error) in ends.into_iter().zip(group_errors(groups, &centres, MAX_OUTCOME_ERROR_RATIO)) {
        distribution.components[first..end]
            .iter_mut()
            .for_each(|component| component.deviation = error.sqrt());
        first = end;
    }
    add_member_means(groups, &fresh_means, &mut distribution);
    distribution
}
