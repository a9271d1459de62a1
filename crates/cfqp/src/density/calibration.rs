//! Calibration of intervals by a simulated second world.
//!
//! One member is taken as the truth: classes and noise are drawn, both worlds are made, and the other members answer. The
//! level at which their intervals hold the truth as often as promised is then used for that promise.

use std::collections::HashMap;

use rand::RngExt as _;

use super::ensemble::{Ensemble, IntervalQuestion};
use super::heads::HeadLaw;
use super::levels::{CORRELATIONS, Correlation, LEVELS, LevelCalibration, LevelTable};
use super::member::Evaluator;
use super::network::Element;
use super::rows::Rows;
use super::views::{Distribution, Location, Question};
use crate::math::{mixture_cdf, normal_cdf, normal_quantile};
use crate::runtime::Pool;
use crate::stream;

/// Simulated subjects per correlation.
const SUBJECTS: usize = 1200;
/// Widenings to try, in standard deviations between members.
const SPREADS: [f64; 6] = [0.5, 0.75, 1.0, 1.5, 2.5, 4.0];
/// The largest level that may be needed at level 0.9 before intervals are widened instead.
const MAX_NEEDED: f64 = 0.97;

impl LevelCalibration {
    /// Calibrates `ensemble`, which need not be calibrated before, on simulated outcomes of `rows`.
    pub(crate) fn fit(ensemble: &Ensemble, rows: &Rows, d_t: usize, seed: u64, pool: &Pool) -> Calibrations {
        let mut settings: Vec<Correlation> = CORRELATIONS.map(Correlation::Known).to_vec();
        settings.push(Correlation::Unknown);
        let mut tables = pool.map(settings, |rho| {
            let world = SecondWorld { ensemble, rows, d_t, seed, purpose: "calibrate" };
            let (chances, outcomes): (Vec<_>, Vec<_>) =
                world.simulate(rho).into_iter().partition(|answer| answer.element.is_chance());
            Tables { outcomes: fit_table(&outcomes), chances: fit_table(&chances) }
        });
        let unknown = tables.pop().unwrap_or_default();
        let calibration = |of: fn(&Tables) -> &LevelTable| Self {
            known: tables.iter().map(|tables| of(tables).clone()).collect(),
            unknown: of(&unknown).clone(),
        };
        let has_chances = ensemble.elements().into_iter().any(Element::is_chance);
        Calibrations {
            outcomes: calibration(|tables| &tables.outcomes),
            chances: has_chances.then(|| calibration(|tables| &tables.chances)),
        }
    }
}

/// The smallest widening with which the level needed for 0.9 is not extreme, and the levels needed with it.
fn fit_table(simulated: &[SimulatedAnswer]) -> LevelTable {
    let mut table = LevelTable { spread: SPREADS[0], needed: LEVELS.to_vec() };
    if simulated.is_empty() {
        return table;
    }
    for spread in SPREADS {
        let mut depths: Vec<f64> = simulated.iter().map(|answer| answer.depth(spread)).collect();
        depths.sort_by(f64::total_cmp);
        let quantile = |level: f64| {
            let at = ((level * depths.len() as f64) as usize).min(depths.len() - 1);
            depths[at].clamp(1e-4, 0.999)
        };
        table = LevelTable { spread, needed: LEVELS.map(quantile).to_vec() };
        if quantile(0.9) <= MAX_NEEDED {
            break;
        }
    }
    table
}

/// An answer in the second world, and the truth there.
pub(crate) struct SimulatedAnswer {
    element: Element,
    distribution: Distribution,
    truth: f64,
}

impl SimulatedAnswer {
    /// The level of the central interval that just holds the truth.
    fn depth(&self, spread: f64) -> f64 {
        let rank = mixture_cdf(&self.distribution.widened(spread), self.truth);
        (2.0 * rank - 1.0).abs()
    }
}

/// A simulated second world.
pub(crate) struct SecondWorld<'a> {
    pub ensemble: &'a Ensemble,
    pub rows: &'a Rows,
    pub d_t: usize,
    pub seed: u64,
    pub purpose: &'a str,
}

impl SecondWorld<'_> {
    /// The share of simulated outcomes that intervals hold; none for a single member.
    pub(crate) fn coverage(&self, rho: Correlation, level: f64) -> Option<f64> {
        let simulated = self.simulate(rho);
        if simulated.is_empty() {
            return None;
        }
        let held = simulated.iter().filter(|answer| {
            let asked = IntervalQuestion { rho, level, difference: false };
            let (lower, upper) = self.ensemble.interval(answer.element, &answer.distribution, asked);
            (lower..=upper).contains(&answer.truth)
        });
        Some(held.count() as f64 / simulated.len() as f64)
    }

    /// Answers of all members but one, which is the truth.
    fn simulate(&self, rho: Correlation) -> Vec<SimulatedAnswer> {
        let members = self.ensemble.members.len();
        if members < 2 {
            return Vec::new();
        }
        let subjects: Vec<usize> = (0..self.rows.subjects.len()).collect();
        let (each, elements) = (SUBJECTS.div_ceil(members), self.ensemble.elements());
        let mut answers = Vec::new();
        for truth in 0..members {
            let mut rng = stream(self.seed, &["second world", self.purpose, &truth.to_string()]);
            let mut of_truth = self.ensemble.members[truth].evaluator();
            let mut others = self.ensemble.evaluators(Some(truth));
            for _ in 0..each {
                let subject = subjects[rng.random_range(0..subjects.len())];
                let world = self.draw(&mut of_truth, subject, rho, &mut rng);
                let question = Question { rows: &world.rows, to: &world.to, from: None, rho };
                let own: Vec<usize> = (0..world.rows.len()).collect();
                let Some(answer) = self.ensemble.answer(&mut others, &question, &own).into_iter().next()
                else {
                    continue;
                };
                let outcome = self.true_outcome(&mut of_truth, world, &own);
                let each = elements.iter().zip(answer.elements).zip(outcome);
                answers.extend(each.map(|((&element, distribution), truth)| SimulatedAnswer {
                    element,
                    distribution,
                    truth,
                }));
            }
        }
        answers
    }

    /// Draws the class and noise of a subject: its rows with simulated outcomes, the treatments asked about, and the true
    /// outcome of its first row under them.
    fn draw(
        &self,
        truth: &mut Evaluator<'_>,
        subject: usize,
        rho: Correlation,
        rng: &mut crate::Rng,
    ) -> SimulatedWorld {
        let (rows, d) = (self.rows, self.rows.d);
        let d_x = rows.width - self.d_t;
        let own = &rows.subjects[subject];
        let rho = match rho {
            Correlation::Known(rho) => rho,
            Correlation::Unknown => rng.random(),
        };
        truth.forward(rows.input(own[0]));
        let class = draw_class(&truth.pass.logits, rng.random());
        let mut normal = || normal_quantile(rng.random_range(1e-9..1.0 - 1e-9));
        let shared: Vec<f64> = (0..d).map(|_| normal()).collect();
        let mut score = |j: usize| rho.sqrt() * shared[j] + (1.0 - rho).max(0.0).sqrt() * normal();
        let mut outcomes = Vec::with_capacity(own.len() * d);
        let mut first = Vec::new();
        for (i, &row) in own.iter().enumerate() {
            let (x, t) = rows.input(row).split_at(d_x);
            let location = Location::new(truth, x, t);
            let scores: Vec<f64> = (0..d).map(&mut score).collect();
            outcomes.extend(heads_at(truth, &location, class, &scores).into_iter().map(|y| y as f32));
            if i == 0 {
                first = scores;
            }
        }
        let mut scores: Vec<f64> = (0..d).map(|j| if rho >= 1.0 { first[j] } else { score(j) }).collect();
        let other = rng.random_range(0..rows.len());
        let (x, t) = rows.input(own[0]).split_at(d_x);
        let t_new = &rows.input(other)[d_x..];
        let (here, there) = (Location::new(truth, x, t), Location::new(truth, x, t_new));
        for (j, score) in scores.iter_mut().enumerate() {
            // noise of another scale is another noise, as far as the answers assume
            let ratio = match truth.member.form.outcome_law(j) {
                HeadLaw::Number => here.scale_ratio(&there, class * d + j),
                _ => 1.0,
            };
            let shared: f64 = ratio + (1.0 - ratio) * rng.random::<f64>();
            let fresh = normal_quantile(rng.random_range(1e-9..1.0 - 1e-9));
            *score = shared * *score + (1.0 - shared * shared).max(0.0).sqrt() * fresh;
        }
        let laws = &truth.member.form.outcome_laws;
        let is_observed = |(i, _): (usize, &f32)| match (i % d).checked_sub(1).and_then(|j| laws.get(j)) {
            Some(HeadLaw::Positive { .. }) => outcomes[i - 1] > 0.5,
            _ => true,
        };
        let observed = (!laws.is_empty()).then(|| outcomes.iter().enumerate().map(is_observed).collect());
        let rows = Rows {
            inputs: own.iter().flat_map(|&row| rows.input(row).iter().copied()).collect(),
            outcomes,
            observed,
            numeric: None,
            width: rows.width,
            d,
            subjects: vec![(0..own.len()).collect()],
            possible_treatments: HashMap::new(),
        };
        let to = own.iter().flat_map(|_| t_new.iter().copied()).collect();
        SimulatedWorld { rows, to, heads: heads_at(truth, &there, class, &scores), rho }
    }

    /// What the answers should hold: the outcome, or its probability under the true member.
    fn true_outcome(&self, truth: &mut Evaluator<'_>, world: SimulatedWorld, own: &[usize]) -> Vec<f64> {
        let SimulatedWorld { rows, to, heads, rho } = world;
        let elements = self.ensemble.elements();
        let answer = elements.iter().any(|element| element.is_chance()).then(|| {
            let question = Question { rows: &rows, to: &to, from: None, rho: Correlation::Known(rho) };
            self.ensemble.answer(std::slice::from_mut(truth), &question, own).swap_remove(0)
        });
        let restore = |head: usize| self.ensemble.scales[head].restore(heads[head]);
        let of_element = |(i, &element): (usize, &Element)| match element {
            Element::Number(head) => restore(head),
            Element::Ranked(head) => heads[head],
            Element::Amount(head) if heads[head] < 0.5 => 0.0,
            Element::Amount(head) => restore(head + 1),
            Element::Chance(_) | Element::Level(_) => {
                answer.as_ref().map_or(0.0, |row| row.elements[i].mean())
            }
        };
        elements.iter().enumerate().map(of_element).collect()
    }
}

/// A subject with simulated outcomes, the treatments that are asked about, and what the first row's outcome is under them.
struct SimulatedWorld {
    rows: Rows,
    to: Vec<f32>,
    heads: Vec<f64>,
    rho: f64,
}

/// The tables of one correlation.
#[derive(Default)]
struct Tables {
    outcomes: LevelTable,
    chances: LevelTable,
}

/// Calibrations of intervals of outcomes and, if there are any, of probabilities.
pub(crate) struct Calibrations {
    pub outcomes: LevelCalibration,
    pub chances: Option<LevelCalibration>,
}

/// The outcomes of all heads in a class, at normal scores of their noise.
fn heads_at(member: &Evaluator<'_>, location: &Location, class: usize, scores: &[f64]) -> Vec<f64> {
    let d = scores.len();
    let law = |j: usize| member.member.form.outcome_law(j);
    let ranked = |j: usize| law(j).ranked(location.head_input(class, j, d));
    let number = |j: usize, score: f64| location.at(class * d + j, member.noise.residual_at(score));
    let value = |j: usize| match law(j) {
        HeadLaw::Number if j > 0 && matches!(law(j - 1), HeadLaw::Positive { .. }) => {
            let zero = ranked(j - 1).map_or(0.0, |law| law.ranks(0.0).high);
            let rank = (normal_cdf(scores[j - 1]) - zero) / (1.0 - zero);
            if rank > 0.0 { number(j, normal_quantile(rank.clamp(1e-9, 1.0 - 1e-9))) } else { 0.0 }
        }
        HeadLaw::Number => number(j, scores[j]),
        HeadLaw::Level { level, .. } => {
            let shares = law(j).shares(location.head_input(class, j, d));
            let logits: Vec<f64> = shares.iter().map(|share| share.max(1e-12).ln()).collect();
            let drawn = draw_class(&logits, normal_cdf(scores[j - level]));
            if drawn == *level { 1.0 } else { 0.0 }
        }
        _ => ranked(j).map_or(0.0, |law| law.at_rank(normal_cdf(scores[j]))),
    };
    (0..d).map(value).collect()
}

/// The class whose share of the weights holds `u` in [0, 1).
fn draw_class(logits: &[f64], u: f64) -> usize {
    let total = crate::math::log_sum_exp_of(logits);
    let mut sum = 0.0;
    for (k, logit) in logits.iter().enumerate() {
        sum += (logit - total).exp();
        if u < sum {
            return k;
        }
    }
    logits.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::OutcomeScale;
    use crate::density::testing::{lines, problem, selected};

    #[test]
    fn tables_are_monotone_and_hold_in_another_second_world() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let pool = Pool::new(2).unwrap();
        let problem = problem(&data.rows, &pool);
        let halves = problem.members(&selected(2), 4).unwrap();
        let mut ensemble = Ensemble {
            members: halves.into_iter().map(|half| half.member).collect(),
            scales: vec![OutcomeScale::Identity],
            calibration: LevelCalibration::default(),
            chance_calibration: None,
            learned_rho: None,
            error_ratio: 1.0,
            common_error: 0.0,
        };
        ensemble.calibration = LevelCalibration::fit(&ensemble, &data.rows, 1, 1, &pool).outcomes;
        let calibration = &ensemble.calibration;
        assert!(calibration.is_sound());
        for table in calibration.known.iter().chain([&calibration.unknown]) {
            assert!(table.needed.is_sorted(), "{table:?}");
            assert!(SPREADS.contains(&table.spread));
        }
        let levels: Vec<f64> =
            (1..100).map(|i| calibration.level(Correlation::Unknown, f64::from(i) / 100.0)).collect();
        assert!(levels.is_sorted());
        let world = SecondWorld { ensemble: &ensemble, rows: &data.rows, d_t: 1, seed: 1, purpose: "test" };
        for rho in [Correlation::Known(0.0), Correlation::Known(1.0), Correlation::Unknown] {
            let coverage = world.coverage(rho, 0.9).unwrap();
            // less than the nominal share of misses is allowed
            assert!((0.87..0.97).contains(&coverage), "{rho:?}: {coverage}");
        }
    }

    #[test]
    fn one_member_has_no_second_world() {
        let data = lines(&[1.0], 40, 1, 0.3);
        let pool = Pool::new(1).unwrap();
        let half = problem(&data.rows, &pool).members(&selected(1), 1).unwrap().remove(0);
        let ensemble = Ensemble {
            members: vec![half.member],
            scales: vec![OutcomeScale::Identity],
            calibration: LevelCalibration::default(),
            chance_calibration: None,
            learned_rho: None,
            error_ratio: 1.0,
            common_error: 0.0,
        };
        let world = SecondWorld { ensemble: &ensemble, rows: &data.rows, d_t: 1, seed: 1, purpose: "test" };
        assert_eq!(world.coverage(Correlation::Known(1.0), 0.9), None);
        assert!(LevelCalibration::fit(&ensemble, &data.rows, 1, 1, &pool).outcomes.is_sound());
    }

    #[test]
    fn classes_are_drawn_by_their_weights() {
        let logits = [0.0, 3.0_f64.ln()];
        assert_eq!([0.0, 0.24, 0.26, 0.999].map(|u| draw_class(&logits, u)), [0, 0, 1, 1]);
        assert_eq!(draw_class(&logits, 1.0), 1);
    }
}
