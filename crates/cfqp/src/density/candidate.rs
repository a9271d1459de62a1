//! Candidates: forms of the network with their held-out likelihoods, and the weights with which they are averaged.

use std::sync::Arc;

use rand::RngExt as _;

use super::jobs::{Finished, Job};
use super::member::FittedMember;
use super::network::{ClassWeights, Form};
use super::regressor::Regressor;
use super::{Member, NoiseLaw};
use crate::Rng;
use crate::math::{dot, log_sum_exp_of, mean};

/// Draws of the bootstrap.
const BOOTSTRAPS: usize = 200;
/// Candidates with a smaller weight are left out ...
const MIN_WEIGHT: f64 = 0.05;
/// ... and so are those after the first ones; but of one class more than the chosen number, the best one stays.
const MAX_CANDIDATES: usize = 6;
/// The smallest weight of a candidate that stays.
const MIN_KEPT_WEIGHT: f64 = 1e-3;

/// A candidate's form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub classes: usize,
    /// Whether covariates change the response to the treatment, in all classes alike.
    pub interactions: bool,
    /// Whether they do so in each class on its own.
    pub class_interactions: bool,
    /// Whether all classes respond to the treatment alike.
    pub alike: bool,
    /// Whether predictions of regressors are a part of the means.
    pub regressors: bool,
    pub weights: ClassWeights,
    pub law: NoiseLaw,
    pub varying_scale: bool,
    /// Whether counts vary more than Poisson counts.
    pub overdispersed: bool,
}

/// A form, fitted without each fold in turn.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub choice: Choice,
    /// The held-out log-likelihood of every subject on which candidates are compared.
    pub likelihoods: Vec<f64>,
    /// One per fold.
    pub members: Vec<FittedMember>,
}

impl Candidate {
    pub(crate) fn score(&self) -> f64 {
        mean(&self.likelihoods)
    }
}

/// The network of one fold, and the held-out log-likelihoods of the fold's subjects.
#[derive(Clone)]
pub(super) struct FoldFit {
    pub parameters: Vec<f32>,
    pub steps: usize,
    pub smoothness: Vec<f64>,
    pub likelihoods: Vec<f64>,
}

/// The setting is the form and the number of subjects of the fold.
impl Job for FoldFit {
    type Setting = (Form, usize);

    fn finished(&self) -> Finished {
        let numbers = [&[self.steps as f64], &self.smoothness[..], &self.likelihoods].concat();
        Finished { arrays: vec![self.parameters.clone()], numbers }
    }

    fn restore((form, subjects): &(Form, usize), kept: Finished) -> Option<Self> {
        let Finished { mut arrays, numbers } = kept;
        let parameters = arrays.pop().filter(|parameters| parameters.len() == form.len())?;
        let fits = numbers.len() == 1 + form.classes + subjects;
        fits.then(|| Self {
            parameters,
            steps: numbers[0] as usize,
            smoothness: numbers[1..=form.classes].to_vec(),
            likelihoods: numbers[1 + form.classes..].to_vec(),
        })
    }
}

/// The probabilities of candidates: softmax of the held-out log-likelihood, averaged over the Bayesian bootstrap of the subjects
/// (pseudo-BMA+: Yao, Vehtari, Simpson and Gelman, 2018).
pub(crate) fn candidate_weights(likelihoods: &[&[f64]], rng: &mut Rng) -> Vec<f64> {
    let n = likelihoods.first().map_or(0, |first| first.len());
    let mut weights = vec![0.0; likelihoods.len()];
    for _ in 0..BOOTSTRAPS {
        let of_subjects: Vec<f64> = (0..n).map(|_| -f64::ln(1.0 - rng.random::<f64>())).collect();
        let scale = n as f64 / of_subjects.iter().sum::<f64>();
        let logs: Vec<f64> = likelihoods.iter().map(|own| scale * dot(&of_subjects, own)).collect();
        let total = log_sum_exp_of(&logs);
        for (weight, log) in weights.iter_mut().zip(&logs) {
            *weight += (log - total).exp() / BOOTSTRAPS as f64;
        }
    }
    weights
}

/// The candidates that an ensemble consists of, with their weights; the first is the best one with the chosen number of classes.
pub(crate) fn averaged(candidates: Vec<Candidate>, classes: usize, rng: &mut Rng) -> Vec<(Candidate, f64)> {
    let likelihoods: Vec<&[f64]> = candidates.iter().map(|candidate| &candidate.likelihoods[..]).collect();
    let mut weights = candidate_weights(&likelihoods, rng);
    // every further class halves the prior, which the forms with one number of classes share
    for (weight, candidate) in weights.iter_mut().zip(&candidates) {
        let same = |other: &&Candidate| other.choice.classes == candidate.choice.classes;
        let forms = candidates.iter().filter(same).count();
        *weight *= 0.5_f64.powi(candidate.choice.classes as i32 - 1) / forms as f64;
    }
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    let mut weighted: Vec<(Candidate, f64)> = candidates.into_iter().zip(weights).collect();
    // the chosen number of classes first, then by weight
    weighted.sort_by(|(a, a_weight), (b, b_weight)| {
        let other = |candidate: &Candidate| candidate.choice.classes != classes;
        other(a).cmp(&other(b)).then(b_weight.total_cmp(a_weight))
    });
    let (first, mut others) = (weighted.remove(0), weighted);
    // few units do not show that there are more classes: intervals allow for one more
    let has_more = |candidate: &Candidate| candidate.choice.classes > classes && !candidate.choice.alike;
    let next = others.iter().filter(|(candidate, _)| has_more(candidate));
    let next = next.filter(|(candidate, _)| candidate.choice.classes == classes + 1);
    let next = next.max_by(|a, b| a.0.score().total_cmp(&b.0.score())).cloned();
    others.retain(|(_, weight)| *weight >= MIN_WEIGHT);
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others.truncate(MAX_CANDIDATES - 1);
    if !others.iter().any(|(candidate, _)| has_more(candidate)) {
        others.extend(next.map(|(candidate, weight)| (candidate, weight.max(MIN_KEPT_WEIGHT))));
    }
    let first = (first.0, first.1.max(MIN_WEIGHT));
    let mut kept: Vec<(Candidate, f64)> = std::iter::once(first).chain(others).collect();
    let total: f64 = kept.iter().map(|(_, weight)| weight).sum();
    kept.iter_mut().for_each(|(_, weight)| *weight /= total);
    kept
}

impl FoldFit {
    /// The member with these parameters and regressors.
    pub(super) fn member(
        &self,
        form: &Form,
        held_out: Vec<usize>,
        regressors: Option<Arc<[Regressor]>>,
    ) -> FittedMember {
        FittedMember {
            member: Member { form: form.clone(), parameters: self.parameters.clone(), regressors },
            held_out,
            steps: self.steps,
            smoothness: self.smoothness.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::simple;
    use crate::stream;

    fn candidate(classes: usize, likelihoods: Vec<f64>) -> Candidate {
        Candidate { choice: simple(classes), likelihoods, members: Vec::new() }
    }

    #[test]
    fn equal_candidates_have_equal_weights_and_worse_ones_little() {
        let good: Vec<f64> = (0..200).map(|i| f64::from(i % 7) / 10.0).collect();
        let worse: Vec<f64> = good.iter().map(|log| log - 1.0).collect();
        let weights = candidate_weights(&[&good, &good, &worse], &mut stream(1, &["weights"]));
        assert!((weights[0] - 0.5).abs() < 1e-6 && weights[2] < 1e-6, "{weights:?}");
        // a gain that is within its standard error leaves both
        let noisy: Vec<f64> = good.iter().rev().map(|log| log + 0.01).collect();
        let weights = candidate_weights(&[&good, &noisy], &mut stream(1, &["weights"]));
        assert!((0.1..0.9).contains(&weights[0]), "{weights:?}");
    }

    #[test]
    fn the_chosen_number_of_classes_comes_first() {
        let likelihoods: Vec<f64> = (0..100).map(|i| f64::from(i % 5)).collect();
        let lower = |by: f64| likelihoods.iter().map(|log| log - by).collect::<Vec<_>>();
        let found = averaged(
            vec![candidate(1, lower(2.0)), candidate(2, lower(0.05)), candidate(3, likelihoods.clone())],
            2,
            &mut stream(1, &["averaged"]),
        );
        let classes: Vec<usize> = found.iter().map(|(candidate, _)| candidate.choice.classes).collect();
        assert_eq!(classes, [2, 3]);
        assert!((found.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
