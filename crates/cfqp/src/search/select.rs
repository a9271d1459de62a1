//! The choice of the base model and of the number of classes, on held-out units.
//!
//! K is chosen by the rule of all engines ([`crate::choice`]), in log-likelihood with a full covariance. It keeps rising slowly
//! with K wherever units differ in ways other than classes, so every class after the first has a penalty. Base models are
//! compared by the same score, each with its chosen K; of base models within two standard errors of the best, the one with the
//! fewest classes is chosen.

use super::explore::{Attempt, Search, explore, train_single};
use crate::Result;
use crate::choice::{Engine, Score, Tried, smallest_not_improved};
use crate::config::{Base, Classes};
use crate::math::{argmin, mean, paired_difference};
use crate::model::{ClassScore, residuals};
use crate::models::{BaseConfig, LinearConfig, Net};
use crate::train::Context;

/// The penalty per class, in nats per outcome element, of which at most [`MAX_PENALTY_ELEMENTS`] count ...
const PENALTY_PER_ELEMENT: f64 = 0.06;
const MAX_PENALTY_ELEMENTS: usize = 64;
/// ... or, if larger, this fraction of the largest gain of a single class: a real class stands out.
const PENALTY_PER_GAIN: f64 = 0.4;

/// EM solutions for one base model and number of classes, the best first.
pub(crate) struct Candidate {
    pub base: BaseConfig,
    pub classes: usize,
    pub attempts: Vec<Attempt>,
}

impl Candidate {
    /// The log-likelihood of every validation unit, with a full covariance.
    fn score(&self) -> Score<'static> {
        let nll = &self.attempts[0].solution.full_nll;
        Score { classes: self.classes, log_likelihoods: nll.iter().map(|nll| -nll).collect() }
    }
}

/// The chosen candidate, and the scores of all.
pub(crate) struct Selection {
    pub chosen: Candidate,
    pub candidates: Vec<ClassScore>,
    pub one_class_suffices: bool,
}

/// How many numbers of classes are tried.
#[derive(Clone, Copy, PartialEq)]
enum Range {
    /// Until further classes stop improving the score.
    UntilNoGain,
    /// Up to the configured maximum.
    All,
}

/// A table with more covariates per training unit than this has only linear models tried: a perceptron has a weight per covariate
/// and hidden unit, and too few units to learn them.
const MAX_COVARIATES_PER_UNIT: usize = 4;

fn is_wide(context: &Context<'_>) -> bool {
    let x = &context.shapes.x;
    x.len() == 1 && x[0] > MAX_COVARIATES_PER_UNIT * context.split.train.len()
}

/// The base models to try on data of these shapes.
pub(crate) fn base_models(context: &Context<'_>) -> Vec<BaseConfig> {
    let config = context.config;
    let linear = || BaseConfig::Linear(LinearConfig::default());
    let mlp = || BaseConfig::Mlp(config.mlp.clone());
    match config.base {
        Base::Linear => vec![linear()],
        Base::Mlp => vec![mlp()],
        Base::Unet => vec![BaseConfig::Unet(config.unet.clone())],
        Base::Transformer => vec![BaseConfig::Transformer(config.transformer)],
        Base::Auto if context.shapes.x.len() == 3 && context.shapes.x[1..] == context.shapes.y[1..] => {
            vec![BaseConfig::Unet(config.unet.clone())]
        }
        Base::Auto if is_wide(context) => vec![linear()],
        Base::Auto => vec![linear(), mlp()],
    }
}

/// Chooses the base model and the number of classes.
pub(crate) fn select(context: &Context<'_>) -> Result<Selection> {
    choose(context, Range::UntilNoGain)
}

/// Scores every number of classes up to the configured maximum.
pub(crate) fn score_classes(context: &Context<'_>) -> Result<Vec<ClassScore>> {
    Ok(choose(context, Range::All)?.candidates)
}

fn choose(context: &Context<'_>, range: Range) -> Result<Selection> {
    let search = Search::new(context);
    let mut by_base = Vec::new();
    for base in base_models(context) {
        by_base.push(candidates(&search, base, range)?);
    }
    let elements = context.scaler.y.elements();
    let scores: Vec<Vec<Score<'_>>> = by_base.iter().map(|candidates| scores(candidates)).collect();
    let penalty = scores.iter().map(|scores| penalty_per_class(scores, elements)).fold(0.0, f64::max);
    let pick = |scores: &Vec<Score<'_>>| match context.config.classes {
        Classes::Given(_) => scores.len() - 1,
        Classes::Auto => smallest_not_improved(scores, penalty),
    };
    let picks: Vec<usize> = scores.iter().map(pick).collect();
    let picked: Vec<&Score<'_>> = scores.iter().zip(&picks).map(|(scores, &pick)| &scores[pick]).collect();
    let best = best_base(&picked, penalty);
    let chosen = picks[best];
    let (one, top) = (&scores[best][0], &scores[best][chosen]);
    let one_class_suffices = top.classes == 1 || !top.improves_on(one, penalty);
    let mut reports = Vec::new();
    for (i, candidates) in by_base.iter().enumerate() {
        reports.extend(candidates.iter().enumerate().map(|(j, candidate)| ClassScore {
            base: candidate.base.kind(),
            classes: candidate.classes,
            nll: candidate.attempts[0].nll(),
            full_nll: mean(&candidate.attempts[0].solution.full_nll),
            penalty,
            mse: Some(candidate.attempts[0].solution.mse),
            gain_error: None,
            chosen: (i, j) == (best, chosen),
        }));
    }
    drop(scores);
    Ok(Selection {
        chosen: by_base.swap_remove(best).swap_remove(chosen),
        candidates: reports,
        one_class_suffices,
    })
}

/// Candidates of one base model, from one class up.
fn candidates(search: &Search<'_>, base: BaseConfig, range: Range) -> Result<Vec<Candidate>> {
    let context = search.context;
    let single = train_single(search, &base)?.net;
    let residuals = residuals(&single, &context.batcher(), &search.rows, context.device, context.pool);
    let max_classes = context.config.max_classes.min(search.rows.len() / 8).max(1);
    let engine = BaseSearch { search, base, single, residuals };
    let mut tried = Tried::default();
    let patience = range == Range::UntilNoGain;
    match context.config.classes {
        Classes::Given(classes) => engine.try_classes([1, classes], patience, &mut tried)?,
        Classes::Auto => engine.try_classes(1..=max_classes, patience, &mut tried)?,
    }
    Ok(tried.0.into_iter().map(|(_, candidate)| candidate).collect())
}

/// The search with one base model.
struct BaseSearch<'a> {
    search: &'a Search<'a>,
    base: BaseConfig,
    /// One network for all units, without classes ...
    single: Net,
    /// ... and its residuals.
    residuals: Vec<f32>,
}

impl Engine for BaseSearch<'_> {
    type Fit = Candidate;
    const PATIENCE: usize = 3;

    fn fit(&self, classes: usize, _: &Tried<Candidate>) -> Result<Candidate> {
        let attempts = explore(self.search, &self.base, &self.single, &self.residuals, classes)?;
        Ok(Candidate { base: self.base.clone(), classes, attempts })
    }

    fn scores<'a>(&self, tried: &'a Tried<Candidate>) -> Vec<Score<'a>> {
        tried.0.iter().map(|(_, candidate)| candidate.score()).collect()
    }

    fn penalty(&self, scores: &[Score<'_>]) -> f64 {
        penalty_per_class(scores, self.search.context.scaler.y.elements())
    }
}

fn scores(candidates: &[Candidate]) -> Vec<Score<'_>> {
    candidates.iter().map(Candidate::score).collect()
}

/// The candidate of lowest penalised score, or one with fewer classes that is within two standard errors of it: a base
/// model that needs more classes compensates for its own misfit.
fn best_base(candidates: &[&Score<'_>], penalty: f64) -> usize {
    let cost =
        |candidate: &&Score<'_>| penalty * (candidate.classes - 1) as f64 - mean(&candidate.log_likelihoods);
    let best = argmin(candidates.iter().map(cost)).expect("there are base models");
    let is_as_good = |candidate: &&Score<'_>| {
        let (own, best) = (&candidate.log_likelihoods, candidates[best]);
        let error = paired_difference(&best.log_likelihoods, own).standard_error;
        cost(candidate) - cost(&best) <= 2.0 * error
    };
    let good = (0..candidates.len()).filter(|&i| is_as_good(&candidates[i]));
    good.min_by_key(|&i| (candidates[i].classes, i != best)).unwrap_or(best)
}

/// The penalty per class, given the scores of one base model.
fn penalty_per_class(scores: &[Score<'_>], elements: usize) -> f64 {
    let means: Vec<(usize, f64)> =
        scores.iter().map(|score| (score.classes, mean(&score.log_likelihoods))).collect();
    let gains = means.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0) as f64);
    let minimum = PENALTY_PER_ELEMENT * elements.min(MAX_PENALTY_ELEMENTS) as f64;
    gains.fold(minimum, |penalty, gain| penalty.max(PENALTY_PER_GAIN * gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(classes: usize, log_likelihoods: &[f64]) -> Score<'_> {
        Score { classes, log_likelihoods: log_likelihoods.into() }
    }

    #[test]
    fn the_penalised_score_is_highest_where_classes_stop_standing_out() {
        let best = |means: &[f64], elements: usize| {
            let scores: Vec<Score<'_>> =
                (1..).zip(means.chunks(1)).map(|(classes, mean)| score(classes, mean)).collect();
            let penalty = penalty_per_class(&scores, elements);
            let total = |score: &Score<'_>| score.log_likelihoods[0] - penalty * (score.classes - 1) as f64;
            scores.iter().max_by(|a, b| total(a).total_cmp(&total(b))).map(|score| score.classes)
        };
        assert_eq!(best(&[-50.0, -40.0, -32.0, -31.5, -31.6], 20), Some(3));
        assert_eq!(best(&[-50.0, -49.0, -48.5, -48.4], 20), Some(1), "less than 0.06 nats per element");
        assert_eq!(
            best(&[-50.0, -27.0, -19.0, -17.0, -14.0], 20),
            Some(2),
            "later gains are small beside the first"
        );
        assert_eq!(best(&[-800.0, -400.0, -200.0, 0.0, 400.0, 1000.0, 1010.0], 2352), Some(6));
        let apart = [score(1, &[-50.0]), score(6, &[0.0])];
        assert_eq!(penalty_per_class(&apart, 20), 4.0, "a gain of ten per class");
    }

    #[test]
    fn of_equally_good_base_models_the_one_with_fewer_classes_is_chosen() {
        let noisy = |shift: f64| (0..100).map(|i| f64::from(i * 37 % 100) / 25.0 - shift).collect::<Vec<_>>();
        let (a, b, c) = (noisy(0.0), noisy(0.1).into_iter().rev().collect::<Vec<_>>(), noisy(5.0));
        let best = |first: (usize, &[f64]), second: (usize, &[f64])| {
            best_base(&[&score(first.0, first.1), &score(second.0, second.1)], 0.0)
        };
        assert_eq!(best((3, &a), (2, &b)), 1, "within two standard errors");
        assert_eq!(best((3, &b), (3, &a)), 1, "as many classes: the better one");
        assert_eq!(best((3, &a), (2, &c)), 0, "clearly worse");
    }
}
