//! Data of unit tests: classes whose outcomes lie on lines.

use std::collections::HashMap;

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::jobs::KeptJobs;
use super::rows::Rows;
use super::selection::{Choice, Problem, Selected};
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
        interactions: false,
        outcome_laws: Vec::new(),
        hidden: 0,
        seed: 3,
        pool,
        monitor: &(),
        jobs: KeptJobs { outcomes: "linear", kept: &() },
    }
}

/// Gaussian noise of constant scale, constant class weights.
pub(super) fn simple(classes: usize) -> Choice {
    let (weights, law) = (ClassWeights::Constant, NoiseLaw::Gaussian);
    Choice { classes, interactions: false, weights, law, varying_scale: false, overdispersed: true }
}

/// [`simple`] without alternatives.
pub(super) fn selected(classes: usize) -> Selected {
    Selected { choice: simple(classes), tried: Vec::new(), others: Vec::new() }
}
