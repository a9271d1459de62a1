//! The last step of a member's training: intercepts and treatment slopes are fitted to all its subjects, given the rest.
//!
//! Early stopping halts the network on its way from zero, where the held-out half of the subjects is best predicted. That
//! shrinks the response to the treatment, and draws two members that were fitted to complementary halves together, so that
//! their average effects are too small and differ too little. Here the penalised likelihood of the member's own subjects
//! is maximised over few parameters, by scoring: the information is the sum of the outer products of the subjects' scores.

use super::network::Form;
use super::training::{Learner, Task};
use crate::math::cholesky_solve;

/// Steps of scoring.
const MAX_STEPS: usize = 12;
/// Halvings of a step that brings no gain.
const MAX_HALVINGS: usize = 5;
/// Fitting ends with a gain in log-likelihood below this.
const MIN_GAIN: f64 = 1e-3;

/// Maximises the penalised likelihood over the intercepts and the slopes of the treatments.
pub(super) fn refit_responses(form: &Form, task: &Task<'_>, parameters: Vec<f32>) -> Vec<f32> {
    let places = form.responses();
    let mut learner = Learner::new(form, &task.start.smoothness, task.train.len(), parameters);
    let mut value = learner.objective(task);
    for _ in 0..MAX_STEPS {
        let Some(step) = scoring_step(&mut learner, task, &places) else { break };
        let start = learner.parameters().to_vec();
        let before = value;
        for halvings in 0..=MAX_HALVINGS {
            let factor = 0.5_f64.powi(halvings as i32);
            for (&place, step) in places.iter().zip(&step) {
                learner.parameters_mut()[place] = start[place] + (factor * step) as f32;
            }
            value = learner.objective(task);
            if value > before {
                break;
            }
        }
        if value <= before {
            return start;
        }
        if value - before < MIN_GAIN {
            break;
        }
    }
    learner.into_parameters()
}

/// The step in the parameters at `places`; none if the information is singular.
fn scoring_step(learner: &mut Learner<'_>, task: &Task<'_>, places: &[usize]) -> Option<Vec<f64>> {
    let p = places.len();
    let (mut information, mut step) = (vec![0.0; p * p], vec![0.0; p]);
    learner.for_each_score(task, |score| {
        for (i, &place) in places.iter().enumerate() {
            let own = f64::from(score[place]);
            step[i] -= own;
            for (sum, &other) in information[i * p..=i * p + i].iter_mut().zip(places) {
                *sum += own * f64::from(score[other]);
            }
        }
    });
    for (i, &place) in places.iter().enumerate() {
        let precision = learner.precision(place);
        information[i * p + i] += precision + 1e-6;
        step[i] -= precision * f64::from(learner.parameters()[place]);
    }
    cholesky_solve(&mut information, p, &mut step, 1).ok()?;
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::HeadLaw;
    use crate::density::additive::Solution;
    use crate::density::testing::{lines, problem, simple};
    use crate::runtime::Pool;

    /// The largest slope of the penalised likelihood at the places that are fitted.
    fn largest_slope(learner: &mut Learner<'_>, task: &Task<'_>, places: &[usize]) -> f64 {
        let mut slopes = vec![0.0; learner.parameters().len()];
        learner.for_each_score(task, |score| {
            slopes.iter_mut().zip(score).for_each(|(sum, s)| *sum += f64::from(*s));
        });
        let slope = |&place: &usize| {
            let prior = learner.precision(place) * f64::from(learner.parameters()[place]);
            (slopes[place] + prior).abs()
        };
        places.iter().map(slope).fold(0.0, f64::max)
    }

    fn assert_fitted(classes: usize, laws: Vec<HeadLaw>, yes_no: bool) {
        let mut data = lines(&[1.0, -0.6][..classes], 120, 2, 0.4);
        if yes_no {
            data.rows.outcomes.iter_mut().for_each(|y| *y = f32::from(*y > 0.0));
        }
        let pool = Pool::new(1).unwrap();
        let problem = crate::density::Problem { outcome_laws: laws, ..problem(&data.rows, &pool) };
        let form = problem.form(simple(classes));
        let train: Vec<usize> = (0..120).collect();
        let certain = |&class: &usize| (0..classes).map(move |k| if k == class { 1.0 } else { 0.0 });
        let responsibilities = data.classes.iter().flat_map(certain).collect();
        let start = Solution { responsibilities, evidence: 0.0, smoothness: vec![1.0; classes] };
        let task = Task { rows: &data.rows, train: &train, held_out: &[], start: &start, coefficients: None };
        let mut parameters = form.init(&mut crate::stream(1, &["refit"]));
        let places = form.responses();
        assert_eq!(places.len(), 2 * classes, "an intercept and a slope per class");
        // classes on their sides
        (0..classes).for_each(|k| parameters[places[classes + k]] = if k == 0 { 0.3 } else { -0.3 });
        let learner = |parameters| Learner::new(&form, &start.smoothness, train.len(), parameters);
        let mut before = learner(parameters.clone());
        let mut after = learner(refit_responses(&form, &task, parameters.clone()));
        assert!(after.objective(&task) > before.objective(&task));
        let [slope_before, slope_after] = [&mut before, &mut after].map(|l| largest_slope(l, &task, &places));
        assert!(slope_after < 0.02 * slope_before, "{slope_before} to {slope_after}");
        for (place, (new, old)) in after.parameters().iter().zip(&parameters).enumerate() {
            assert!(places.contains(&place) || new == old, "parameter {place} is not a response");
        }
    }

    #[test]
    fn responses_reach_the_maximum_and_other_parameters_stay() {
        assert_fitted(1, Vec::new(), false);
        assert_fitted(2, Vec::new(), false);
        assert_fitted(1, vec![HeadLaw::Chance { offset: 0.1 }], true);
    }
}
