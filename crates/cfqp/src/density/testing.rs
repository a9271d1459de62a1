//! Data of unit tests: classes whose outcomes lie on lines.

use std::collections::HashMap;

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::candidate::Choice;
use super::ensemble::Ensemble;
use super::group::Group;
use super::jobs::KeptJobs;
use super::known::KnownRows;
use super::member::FittedMember;
use super::rows::Rows;
use super::scale::OutcomeScale;
use super::selection::Problem;
use super::{ClassWeights, NoiseLaw};
use crate::runtime::Pool;
use crate::stream;

/// Units of some classes, with the class of every subject.
pub(super) struct Lines {
    pub rows: Rows,
    pub classes: Vec<usize>,
}

/// `subjects` subjects with `repeats` rows each: y = slope_k t + 0.3 x + `deviation` times noise.
pub(super) fn lines(slopes: &[f32], subjects: usize, repeats: usize, deviation: f32) -> Lines {
    let mut rng = stream(1, &["lines"]);
    let classes: Vec<usize> = (0..subjects).map(|_| rng.random_range(0..slopes.len())).collect();
    let (mut inputs, mut outcomes) = (Vec::new(), Vec::new());
    for &class in &classes {
        let x: f32 = rng.sample(StandardNormal);
        for _ in 0..repeats {
            let t: f32 = rng.random_range(-1.7..1.7);
            let noise: f32 = rng.sample(StandardNormal);
            inputs.extend([x, t]);
            outcomes.push(slopes[class] * t + 0.3 * x + deviation * noise);
        }
    }
    let of_subject = |subject: usize| (subject * repeats..(subject + 1) * repeats).collect();
    let subjects = (0..subjects).map(of_subject).collect();
    Lines {
        rows: Rows {
            inputs,
            outcomes,
            offsets: Vec::new(),
            folds: HashMap::new(),
            observed: None,
            numeric: None,
            width: 2,
            d: 1,
            subjects,
            possible_treatments: HashMap::new(),
        },
        classes,
    }
}

/// A problem without hidden layers.
pub(super) fn problem<'a>(rows: &'a Rows, pool: &'a Pool) -> Problem<'a> {
    Problem {
        rows,
        x_cosines: vec![0],
        t_cosines: vec![0],
        t_values: Vec::new(),
        product_columns: Vec::new(),
        interactions: false,
        regressors: Vec::new(),
        outcome_laws: Vec::new(),
        hidden: 0,
        seed: 3,
        pool,
        monitor: &(),
        jobs: KeptJobs { outcomes: "linear", kept: &() },
    }
}

/// The members of one form, fitted without one fold each.
pub(super) fn members(problem: &Problem<'_>, classes: usize, count: usize) -> Vec<FittedMember> {
    let candidate = problem.simple_candidate(simple(classes)).unwrap();
    problem.members(vec![(candidate, 1.0)], count).unwrap().remove(0).members
}

/// An ensemble of these members.
pub(super) fn ensemble(members: Vec<FittedMember>) -> Ensemble {
    let group = Group { members: members.len(), weight: 1.0, error_ratio: 14.0, unseen_share: 0.0 };
    Ensemble {
        members: members.into_iter().map(|known| known.member).collect(),
        groups: vec![group],
        scales: vec![OutcomeScale::Identity],
        ranges: Vec::new(),
        regressors: Vec::new(),
        known: KnownRows::default(),
        learned_rho: None,
    }
}

/// Gaussian noise of constant scale, constant class weights.
pub(super) fn simple(classes: usize) -> Choice {
    Choice {
        classes,
        interactions: false,
        class_interactions: false,
        alike: false,
        regressors: false,
        weights: ClassWeights::Constant,
        law: NoiseLaw::Gaussian,
        varying_scale: false,
        overdispersed: true,
    }
}
