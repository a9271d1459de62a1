//! The choice of the base model and of the number of classes, on held-out units.
//!
//! Held-out likelihood keeps rising slowly with K wherever units differ in ways other than classes. So every class after
//! the first has a penalty. The chosen K is the smallest that no larger K improves on by more than its penalty and two
//! standard errors, in negative log-likelihood with a full covariance. Base models are compared by the same score, each with
//! its chosen K; of base models within two standard errors of the best, the one with the fewest classes is chosen.

use super::explore::{Attempt, Search, explore, train_single};
use crate::Result;
use crate::config::{Base, Classes};
use crate::math::{argmin, mean, paired_difference};
use crate::model::{ClassScore, residuals};
use crate::models::{BaseConfig, LinearConfig};
use crate::train::Context;

/// The penalty per class, in nats per outcome element, of which at most [`MAX_PENALTY_ELEMENTS`] count ...
const PENALTY_PER_ELEMENT: f64 = 0.06;
const MAX_PENALTY_ELEMENTS: usize = 64;
/// ... or, if larger, this fraction of the largest gain of a single class: a real class stands out.
const PENALTY_PER_GAIN: f64 = 0.4;

/// The search for K stops after this many K in a row without improvement: some classes pay only together.
const PATIENCE: usize = 3;

/// EM solutions for one base model and number of classes, the best first.
pub(crate) struct Candidate {
    pub base: BaseConfig,
    pub classes: usize,
    pub attempts: Vec<Attempt>,
}

impl Candidate {
    /// Negative log-likelihood of every validation unit, with a full covariance.
    fn full_nll(&self) -> &[f64] {
        &self.attempts[0].solution.full_nll
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
    let penalty = by_base.iter().map(|candidates| penalty(candidates, elements)).fold(0.0, f64::max);
    let picks: Vec<usize> =
        by_base.iter().map(|candidates| pick(candidates, context.config.classes, penalty)).collect();
    let picked = by_base.iter().zip(&picks).map(|(candidates, &pick)| &candidates[pick]);
    let per_unit: Vec<PerUnit<'_>> =
        picked.map(|picked| PerUnit { classes: picked.classes, nll: picked.full_nll() }).collect();
    let best = best_base(&per_unit, penalty);
    let chosen = picks[best];
    let (one, top) = (&by_base[best][0], &by_base[best][chosen]);
    let one_class_suffices = top.classes == 1 || !improves(one, top, penalty);
    let mut scores = Vec::new();
    for (i, candidates) in by_base.iter().enumerate() {
        scores.extend(candidates.iter().enumerate().map(|(j, candidate)| ClassScore {
            base: candidate.base.kind(),
            classes: candidate.classes,
            nll: candidate.attempts[0].nll(),
            full_nll: mean(candidate.full_nll()),
            penalty,
            mse: Some(candidate.attempts[0].solution.mse),
            gain_error: None,
            chosen: (i, j) == (best, chosen),
        }));
    }
    Ok(Selection {
        chosen: by_base.swap_remove(best).swap_remove(chosen),
        candidates: scores,
        one_class_suffices,
    })
}

/// Candidates of one base model, from one class up.
fn candidates(search: &Search<'_>, base: BaseConfig, range: Range) -> Result<Vec<Candidate>> {
    let context = search.context;
    let single = train_single(search, &base)?;
    let residuals = residuals(&single.net, &context.batcher(), &search.rows, context.device, context.pool);
    let candidate = |classes: usize| -> Result<Candidate> {
        let attempts = explore(search, &base, &single.net, &residuals, classes)?;
        Ok(Candidate { base: base.clone(), classes, attempts })
    };
    let mut candidates = vec![candidate(1)?];
    match context.config.classes {
        Classes::Given(1) => {}
        Classes::Given(classes) => candidates.push(candidate(classes)?),
        Classes::Auto => {
            let elements = context.scaler.y.elements();
            let max_classes = context.config.max_classes.min(search.rows.len() / 8).max(1);
            let mut best = 0;
            for classes in 2..=max_classes {
                candidates.push(candidate(classes)?);
                let last = candidates.len() - 1;
                if improves(&candidates[best], &candidates[last], penalty(&candidates, elements)) {
                    best = last;
                } else if range == Range::UntilNoGain && last - best >= PATIENCE {
                    break;
                }
            }
        }
    }
    Ok(candidates)
}

/// The requested candidate, or the first that no later one improves on.
fn pick(candidates: &[Candidate], requested: Classes, penalty: f64) -> usize {
    if requested != Classes::Auto {
        return candidates.len() - 1;
    }
    let beaten = |i: usize| candidates[i + 1..].iter().any(|more| improves(&candidates[i], more, penalty));
    (0..candidates.len()).find(|&i| !beaten(i)).unwrap_or(0)
}

/// The candidate of lowest penalised score, or one with fewer classes that is within two standard errors of it: a base
/// model that needs more classes compensates for its own misfit.
fn best_base(candidates: &[PerUnit<'_>], penalty: f64) -> usize {
    let score = |candidate: &PerUnit<'_>| mean(candidate.nll) + penalty * (candidate.classes - 1) as f64;
    let best = argmin(candidates.iter().map(score)).expect("there are base models");
    let is_as_good = |candidate: &PerUnit<'_>| {
        let error = paired_difference(candidate.nll, candidates[best].nll).standard_error;
        score(candidate) - score(&candidates[best]) <= 2.0 * error
    };
    let good = (0..candidates.len()).filter(|&i| is_as_good(&candidates[i]));
    good.min_by_key(|&i| (candidates[i].classes, i != best)).unwrap_or(best)
}

/// A number of classes and the negative log-likelihood of every validation unit.
struct PerUnit<'a> {
    classes: usize,
    nll: &'a [f64],
}

/// Whether the additional classes of `more` improve on `fewer` by more than their penalty.
fn improves(fewer: &Candidate, more: &Candidate, penalty: f64) -> bool {
    clearly_better(more.full_nll(), fewer.full_nll(), penalty * (more.classes - fewer.classes) as f64)
}

/// The penalty per class, given the scores of the candidates.
fn penalty(candidates: &[Candidate], elements: usize) -> f64 {
    let scores: Vec<Score> = candidates
        .iter()
        .map(|candidate| Score { classes: candidate.classes, nll: mean(candidate.full_nll()) })
        .collect();
    penalty_per_class(&scores, elements)
}

/// A number of classes and its mean negative log-likelihood.
#[derive(Clone, Copy)]
struct Score {
    classes: usize,
    nll: f64,
}

fn penalty_per_class(scores: &[Score], elements: usize) -> f64 {
    let gains = scores
        .windows(2)
        .map(|pair| (pair[0].nll - pair[1].nll) / (pair[1].classes - pair[0].classes) as f64);
    let minimum = PENALTY_PER_ELEMENT * elements.min(MAX_PENALTY_ELEMENTS) as f64;
    gains.fold(minimum, |penalty, gain| penalty.max(PENALTY_PER_GAIN * gain))
}

/// Whether the mean of `a` is below that of `b` by more than two standard errors and by at least `margin`.
fn clearly_better(a: &[f64], b: &[f64], margin: f64) -> bool {
    let gain = paired_difference(b, a);
    gain.mean > 2.0 * gain.standard_error && gain.mean >= margin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(nll: &[f64]) -> Vec<Score> {
        (1..).zip(nll).map(|(classes, &nll)| Score { classes, nll }).collect()
    }

    #[test]
    fn the_penalised_score_is_lowest_where_classes_stop_standing_out() {
        let best = |nll: &[f64], elements: usize| {
            let scores = scores(nll);
            let penalty = penalty_per_class(&scores, elements);
            let total = |score: &Score| score.nll + penalty * (score.classes - 1) as f64;
            scores.iter().min_by(|a, b| total(a).total_cmp(&total(b))).map(|score| score.classes)
        };
        assert_eq!(best(&[50.0, 40.0, 32.0, 31.5, 31.6], 20), Some(3));
        assert_eq!(best(&[50.0, 49.0, 48.5, 48.4], 20), Some(1), "less than 0.06 nats per element");
        assert_eq!(
            best(&[50.0, 27.0, 19.0, 17.0, 14.0], 20),
            Some(2),
            "later gains are small beside the first"
        );
        assert_eq!(best(&[800.0, 400.0, 200.0, 0.0, -400.0, -1000.0, -1010.0], 2352), Some(6));
        let apart = [Score { classes: 1, nll: 50.0 }, Score { classes: 6, nll: 0.0 }];
        assert_eq!(penalty_per_class(&apart, 20), 4.0, "a gain of ten per class");
    }

    #[test]
    fn of_equally_good_base_models_the_one_with_fewer_classes_is_chosen() {
        let noisy = |shift: f64| (0..100).map(|i| shift + f64::from(i * 37 % 100) / 25.0).collect::<Vec<_>>();
        let (a, b, c) = (noisy(0.0), noisy(0.1).into_iter().rev().collect::<Vec<_>>(), noisy(5.0));
        let best = |candidates: &[(usize, &Vec<f64>)]| {
            let per_unit = candidates.iter().map(|&(classes, nll)| PerUnit { classes, nll });
            best_base(&per_unit.collect::<Vec<_>>(), 0.0)
        };
        assert_eq!(best(&[(3, &a), (2, &b)]), 1, "within two standard errors");
        assert_eq!(best(&[(3, &b), (3, &a)]), 1, "as many classes: the better one");
        assert_eq!(best(&[(3, &a), (2, &c)]), 0, "clearly worse");
    }

    #[test]
    fn a_gain_must_be_significant_and_large_enough() {
        let flat = vec![1.0; 50];
        let wild: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { -4.0 } else { 5.0 }).collect();
        assert!(clearly_better(&[0.5; 50], &flat, 0.1));
        assert!(!clearly_better(&[0.999; 50], &flat, 0.1), "too small");
        assert!(!clearly_better(&wild, &flat, 0.1), "not significant");
    }
}
