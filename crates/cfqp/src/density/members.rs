//! The members of an ensemble: the networks of the folds of every candidate that is averaged, their classes aligned.

use super::additive::{Solution, overlap_table};
use super::candidate::{Candidate, Choice};
use super::heads::HeadLaw;
use super::member::FittedMember;
use super::network::{Capacity, Form};
use super::refit::refit_responses;
use super::selection::{FOLDS, MAX_START_SUBJECTS, Problem, split_fold};
use super::training::Task;
use crate::Result;
use crate::math::{argmax, best_assignment, mean};
use crate::runtime::Stage;

/// Factors on the scales of the noise, and the held-out subjects of a member on which they are compared.
const TEMPERATURES: [f64; 8] = [1.0, 0.9, 0.95, 1.05, 1.1, 1.2, 1.35, 1.5];
const MAX_TEMPERED_SUBJECTS: usize = 1200;

/// The most subjects that the coefficients are fitted to which a network starts from: more take memory and change little.
const MAX_STARTED_SUBJECTS: usize = 20_000;

/// The variance of the error of an average over that between members, each of which lacks one of several folds (the delete-d
/// jackknife).
pub(crate) const JACKKNIFE_RATIO: f64 = ((FOLDS - 1) * (FOLDS - 1)) as f64 / FOLDS as f64;

/// What is added to the variance of an answer about one unit. Set on random scenarios.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitErrors {
    /// The variance of the error over that between members. It may be larger than [`JACKKNIFE_RATIO`], because members have a part
    /// of their error in common, and because a variance of five numbers is uncertain: most of all where classes are told by a
    /// curve. With treatments of few values less is in common, since means are free.
    pub ratio: f64,
    /// The variance of differences between responses that the fit does not show, over that of the noise. It is for fits with one
    /// class: few units do not show that there are more.
    pub unseen_share: f64,
}

/// The members of one form, one per fold, with classes in the same order, and the weight of their answers.
#[derive(Clone)]
pub(crate) struct MemberGroup {
    pub members: Vec<FittedMember>,
    pub weight: f64,
}

impl Form {
    /// The variance of the error of an answer about one unit over that between members, and the variance of responses that
    /// differ without a class of the fit over that of the noise.
    pub(crate) fn unit_errors(&self) -> UnitErrors {
        let are_numbers = self.outcome_laws.is_empty();
        let (ratio, unseen_share) = match self.classes {
            _ if self.has_few_values() => (3.0, 0.0),
            1 if are_numbers => (5.0, 0.06),
            1 => (10.0, 0.0),
            _ if are_numbers => (20.0, 0.0),
            _ => (24.0, 0.0),
        };
        UnitErrors { ratio, unseen_share }
    }
}

impl Problem<'_> {
    /// The members of candidates that are averaged with these weights, at most `per_form` of each. If candidates were compared
    /// on some of the subjects only, members are trained again, on all.
    pub(crate) fn members(
        &self,
        averaged: Vec<(Candidate, f64)>,
        per_form: usize,
    ) -> Result<Vec<MemberGroup>> {
        let mut groups = Vec::new();
        for (i, (candidate, weight)) in averaged.into_iter().enumerate() {
            let Candidate { choice, mut members, likelihoods } = candidate;
            members.truncate(per_form.max(1));
            if likelihoods.len() < self.rows.subjects.len() {
                members = self.train_on_all(i, choice, members)?;
            }
            if self.refits_responses() {
                self.refit(&mut members);
            }
            self.temper(&mut members);
            self.align(&mut members);
            groups.push(MemberGroup { members, weight });
        }
        Ok(groups)
    }

    /// Trains members on all subjects but those of their fold, from the classes that they have found.
    fn train_on_all(
        &self,
        group: usize,
        choice: Choice,
        members: Vec<FittedMember>,
    ) -> Result<Vec<FittedMember>> {
        self.monitor.stage(Stage::Ensemble, members.len());
        let form = self.form(choice).with_capacity(Capacity::new(self.rows.subjects.len()));
        let order = self.order();
        self.pool.try_map(
            members.into_iter().enumerate().collect(),
            |(fold, known): (usize, FittedMember)| {
                let (held_out, train_on) = split_fold(&order, fold);
                let setting = (form.clone(), held_out.len());
                let fit = self.jobs.run(
                    &format!("member {fold} of group {group}, {choice:?}"),
                    &setting,
                    || {
                        let started = self.started(&train_on);
                        let start = Solution {
                            responsibilities: known.member.posteriors(self.rows, started),
                            evidence: 0.0,
                            smoothness: known.smoothness.clone(),
                        };
                        let (start, coefficients) = self.refined_start(&start, started, started, &form);
                        let name = ["density", "member", &fold.to_string()];
                        self.train_fold(&form, [&train_on, &held_out], (&start, &coefficients), &name)
                    },
                )?;
                self.monitor.epoch(-mean(&fit.likelihoods));
                Ok(fit.member(&form, held_out, known.member.regressors))
            },
        )
    }

    /// The subjects, in random order, that the coefficients are fitted to which a network of numbers starts from. Networks of other
    /// outcomes start from the classes of all subjects.
    fn started<'s>(&self, train_on: &'s [usize]) -> &'s [usize] {
        match self.outcome_laws.is_empty() {
            true => &train_on[..train_on.len().min(MAX_STARTED_SUBJECTS)],
            false => train_on,
        }
    }

    /// Fits intercepts and responses to the subjects of every member.
    fn refit(&self, members: &mut [FittedMember]) {
        let order = self.order();
        let refitted = self.pool.map(members.iter().collect(), |known: &FittedMember| {
            let held_out: std::collections::HashSet<usize> = known.held_out.iter().copied().collect();
            let train: Vec<usize> =
                order.iter().copied().filter(|subject| !held_out.contains(subject)).collect();
            let start = Solution {
                responsibilities: Vec::new(),
                evidence: 0.0,
                smoothness: known.smoothness.clone(),
            };
            let task =
                Task { rows: self.rows, train: &train, held_out: &[], start: &start, coefficients: None };
            refit_responses(&known.member.form, &task, known.member.parameters.clone())
        });
        members.iter_mut().zip(refitted).for_each(|(known, own)| known.member.parameters = own);
    }

    /// Multiplies the scales of numbers with the factor that is best for the subjects that members were not fitted to: networks
    /// explain a part of the noise of their own subjects.
    fn temper(&self, members: &mut [FittedMember]) {
        let tempered = |known: &FittedMember, factor: f64| {
            let mut member = known.member.clone();
            let d = member.form.outcomes;
            for (i, place) in member.form.parts().scale.enumerate() {
                if *member.form.outcome_law(i % d) == HeadLaw::Number {
                    member.parameters[place] += factor.ln() as f32;
                }
            }
            member
        };
        let score = |&factor: &f64| -> f64 {
            let of_member = |known: &FittedMember| {
                let subjects = &known.held_out[..known.held_out.len().min(MAX_TEMPERED_SUBJECTS)];
                tempered(known, factor).log_likelihoods(self.rows, subjects).iter().sum::<f64>()
            };
            members.iter().map(of_member).sum()
        };
        let scores = self.pool.map(TEMPERATURES.iter().collect(), score);
        let best = TEMPERATURES[argmax(scores).unwrap_or(0)];
        members.iter_mut().for_each(|known| known.member = tempered(known, best));
    }

    /// Whether early stopping would shrink the responses to the treatments: outcomes that are not numbers tell little of
    /// them, and networks of them start from zero.
    fn refits_responses(&self) -> bool {
        !self.outcome_laws.is_empty()
    }

    /// Orders the classes of every member like those of the first.
    fn align(&self, members: &mut [FittedMember]) {
        let mut subjects = self.order();
        subjects.truncate(MAX_START_SUBJECTS);
        let mut reference: Option<Vec<f64>> = None;
        for known in members {
            let classes = known.member.form.classes;
            let posteriors = known.member.posteriors(self.rows, &subjects);
            match &reference {
                None => reference = Some(posteriors),
                Some(reference) => {
                    let table = overlap_table(reference, &posteriors, classes);
                    known.reorder(&best_assignment(&table, classes));
                }
            }
        }
    }
}
