//! Training of a mixture density network on the marginal likelihood of subjects, by Adam, with early stopping.

use rand::seq::SliceRandom as _;

use super::additive::Solution;
use super::coefficients::Coefficients;
use super::heads::{HeadLaw, LogMass};
use super::law::{LogDensity, Noise};
use super::member::Member;
use super::network::{Form, Parts, Pass, Slopes};
use super::rows::Rows;
use crate::math::simd::with_simd;
use crate::math::{log_sum_exp_of, mean};
use crate::nn::Adam;
use crate::runtime::Monitor;
use crate::{Error, Result, Rng};

/// Held-out likelihoods are computed this often during a training.
const EVALUATIONS: usize = 40;
/// Training ends if this many evaluations in a row bring no gain.
const PATIENCE: usize = 6;
/// Held-out subjects that decide when to stop.
const MAX_STOPPING_SUBJECTS: usize = 3000;
/// The share of steps during which classes are those of the start.
const WARM_UP: f64 = 0.15;

/// How long and how fast a network is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    pub steps: usize,
    pub batch: usize,
    pub learning_rate: f32,
}

impl Schedule {
    /// The schedule for this many subjects; shorter for a network that starts from an additive mixture.
    pub(crate) fn new(subjects: usize, has_start: bool) -> Self {
        let (steps, learning_rate) = if has_start { (2000, 2e-3) } else { (4000, 5e-3) };
        Self { steps, batch: (subjects / 32).clamp(8, 32).max(subjects / 128), learning_rate }
    }
}

/// What a network is trained on.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub rows: &'a Rows,
    /// Subjects to learn from.
    pub train: &'a [usize],
    /// Subjects on which training is stopped.
    pub held_out: &'a [usize],
    /// P(class) of the training subjects to begin with, and the smoothness of the classes' curves.
    pub start: &'a Solution,
    /// What the network computes to begin with; none: it starts from random parameters, with the classes of the start given at
    /// first.
    pub coefficients: Option<&'a Coefficients>,
}

impl Task<'_> {
    /// P(class) of the `i`-th training subject to begin with.
    fn given(&self, i: usize, classes: usize) -> &[f64] {
        &self.start.responsibilities[i * classes..][..classes]
    }
}

/// Parameters, their gradient, and the moments of Adam.
struct Descent {
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    steps: usize,
}

impl Descent {
    fn new(parameters: Vec<f32>) -> Self {
        let zero = vec![0.0; parameters.len()];
        Self { gradient: zero.clone(), first: zero.clone(), second: zero, parameters, steps: 0 }
    }

    /// One step along the gradient plus `precisions` times the parameters.
    fn step(&mut self, rate: f32, precisions: &[f32]) {
        self.steps += 1;
        let Self { parameters, gradient, first, second, steps } = self;
        for ((g, p), precision) in gradient.iter_mut().zip(&*parameters).zip(precisions) {
            *g += precision * p;
        }
        Adam::default().update((*steps, f64::from(rate)), parameters, gradient, [first, second]);
    }
}

/// A trained network.
pub(crate) struct Trained {
    pub member: Member,
    pub steps: usize,
}

/// Trains a network of the given form.
///
/// # Errors
/// [`Error::Interrupted`] if the monitor stops the fit.
pub(crate) fn train(
    form: &Form,
    task: &Task<'_>,
    schedule: &Schedule,
    rng: &mut Rng,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let parameters = match task.coefficients {
        Some(start) => form.init_from(start, rng),
        None => form.init(rng),
    };
    let mut precisions = form.precisions(&task.start.smoothness);
    if let Some(start) = task.coefficients {
        form.learned_precisions(start, &mut precisions);
    }
    let mut learner = Learner::with_precisions(form, precisions, task.train.len(), parameters);
    let mut order: Vec<usize> = (0..task.train.len()).collect();
    let batch = schedule.batch.clamp(1, order.len().max(1));
    let per_epoch = order.len().div_ceil(batch).max(1);
    let epochs = (schedule.steps / per_epoch).max(10);
    let total = epochs * per_epoch;
    let warm_up = if task.coefficients.is_some() { 0 } else { (total as f64 * WARM_UP) as usize };
    let every = (total / EVALUATIONS).max(1);
    let mut stopping = Stopping::new(task, learner.average.clone());
    if task.coefficients.is_some() && !task.held_out.is_empty() {
        stopping.should_stop(form, &learner.average, 0, every);
    }
    for step in 1..=total {
        let at = (step - 1) % per_epoch;
        if at == 0 {
            order.shuffle(rng);
        }
        let chunk = &order[at * batch..((at + 1) * batch).min(order.len())];
        let progress = step as f32 / total as f32;
        let rate = schedule.learning_rate * (0.5 * (1.0 + (std::f32::consts::PI * progress).cos())).max(0.02);
        let is_given = step <= warm_up;
        let given = |i: usize| is_given.then(|| task.given(i, form.classes));
        learner.step(task.rows, chunk.iter().map(|&i| (task.train[i], given(i))), rate);
        learner.average((2 * per_epoch) as f32);
        if step % every == 0 && step > warm_up / 2 {
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            if stopping.should_stop(form, &learner.average, step, every) {
                break;
            }
        }
    }
    let parameters = stopping.best;
    Ok(Trained {
        member: Member { form: form.clone(), parameters, regressors: None },
        steps: stopping.best_step,
    })
}

/// Keeps the parameters with the best held-out likelihood.
struct Stopping<'a> {
    rows: &'a Rows,
    held_out: Vec<usize>,
    best: Vec<f32>,
    best_step: usize,
    best_score: f64,
}

impl<'a> Stopping<'a> {
    fn new(task: &Task<'a>, parameters: Vec<f32>) -> Self {
        let step = task.held_out.len().div_ceil(MAX_STOPPING_SUBJECTS).max(1);
        let held_out = task.held_out.iter().copied().step_by(step).collect();
        Self { rows: task.rows, held_out, best: parameters, best_step: 0, best_score: f64::NEG_INFINITY }
    }

    fn should_stop(&mut self, form: &Form, parameters: &[f32], step: usize, every: usize) -> bool {
        let member = Member { form: form.clone(), parameters: parameters.to_vec(), regressors: None };
        let score = match self.held_out.is_empty() {
            true => step as f64,
            false => mean(&member.log_likelihoods(self.rows, &self.held_out)),
        };
        if score > self.best_score {
            (self.best, self.best_step, self.best_score) = (member.parameters, step, score);
        }
        step > self.best_step + PATIENCE * every
    }
}

/// A network in training.
pub(super) struct Learner<'a> {
    form: &'a Form,
    parts: Parts,
    /// The number of subjects to learn from.
    subjects: usize,
    descent: Descent,
    /// Prior precisions, divided by the number of subjects.
    precisions: Vec<f32>,
    /// The running mean of the parameters.
    average: Vec<f32>,
    scratch: Scratch,
}

/// Buffers of one gradient.
#[derive(Default)]
struct Scratch {
    pass: Pass,
    slopes: Slopes,
    joint: Vec<f64>,
    logits: Vec<f64>,
    /// Of every element of every row of a subject: `[rows, classes, outcomes]`.
    likelihoods: Vec<ElementLikelihood>,
}

/// The likelihood of one outcome element under one class.
#[derive(Clone, Copy)]
enum ElementLikelihood {
    Missing,
    Number { z: f64, inverse_scale: f64, log: LogDensity },
    Other(LogMass),
}

impl<'a> Learner<'a> {
    /// A network with these parameters, which learns from `subjects` subjects. Of every class, the smoothness of its curve.
    pub(super) fn new(form: &'a Form, smoothness: &[f64], subjects: usize, parameters: Vec<f32>) -> Self {
        Self::with_precisions(form, form.precisions(smoothness), subjects, parameters)
    }

    /// The same with given prior precisions.
    fn with_precisions(form: &'a Form, precisions: Vec<f32>, subjects: usize, parameters: Vec<f32>) -> Self {
        let share = 1.0 / subjects.max(1) as f32;
        let precisions = precisions.into_iter().map(|precision| precision * share).collect();
        let average = parameters.clone();
        let descent = Descent::new(parameters);
        Self {
            form,
            parts: form.parts(),
            subjects,
            descent,
            precisions,
            average,
            scratch: Scratch::default(),
        }
    }

    /// One step on a batch of subjects, each with P(class) if it is given.
    pub(super) fn step<'r>(
        &mut self,
        rows: &Rows,
        batch: impl ExactSizeIterator<Item = (usize, Option<&'r [f64]>)>,
        rate: f32,
    ) {
        self.descent.gradient.fill(0.0);
        let share = 1.0 / batch.len() as f32;
        let noise = self.form.noise(&self.parts, &self.descent.parameters);
        with_simd(
            #[inline(always)]
            || {
                for (subject, given) in batch {
                    self.add_gradient(rows, subject, given, &noise, share);
                }
            },
        );
        self.descent.step(rate, &self.precisions);
        self.form.clamp(&self.parts, &mut self.descent.parameters);
    }

    /// Averages the parameters over the last quarter of the steps, at most `horizon`.
    pub(super) fn average(&mut self, horizon: f32) {
        let horizon = (self.descent.steps as f32 / 4.0 + 1.0).min(horizon).max(1.0);
        for (average, p) in self.average.iter_mut().zip(&self.descent.parameters) {
            *average += (p - *average) / horizon;
        }
    }

    /// The network with the averaged parameters.
    pub(super) fn averaged(&self) -> Member {
        Member { form: self.form.clone(), parameters: self.average.clone(), regressors: None }
    }

    /// The number of steps so far.
    pub(super) fn steps(&self) -> usize {
        self.descent.steps
    }

    /// Adds the gradient of -log likelihood of a subject; with P(class), if it is given, in place of the posterior.
    #[inline(always)]
    fn add_gradient(
        &mut self,
        rows: &Rows,
        subject: usize,
        given: Option<&[f64]>,
        noise: &Noise,
        share: f32,
    ) {
        let Self { form, parts, descent, scratch, .. } = self;
        let (classes, d) = (form.classes, form.outcomes);
        let of_subject = &rows.subjects[subject];
        let Descent { parameters, gradient, .. } = descent;
        let Scratch { pass, slopes, joint, logits, likelihoods } = scratch;
        joint.clear();
        joint.resize(classes, 0.0);
        logits.clear();
        logits.resize(classes, 0.0);
        likelihoods.clear();
        for &row in of_subject {
            form.forward(parts, parameters, rows.input(row), rows.offset(row), pass);
            logits.iter_mut().zip(&pass.logits).for_each(|(sum, logit)| *sum += logit);
            for (k, joint) in joint.iter_mut().enumerate() {
                for (j, &y) in rows.outcome(row).iter().enumerate() {
                    if !rows.is_observed(row, j) {
                        likelihoods.push(ElementLikelihood::Missing);
                        continue;
                    }
                    let law = form.outcome_law(j);
                    if *law != HeadLaw::Number {
                        let log = law.log_mass(f64::from(y), pass.head_input(k, j, d));
                        *joint += log.value;
                        likelihoods.push(ElementLikelihood::Other(log));
                        continue;
                    }
                    let log_scale = pass.log_scales[k * d + j];
                    let inverse_scale = (-log_scale).exp();
                    let z = (f64::from(y) - f64::from(pass.means[k * d + j])) * inverse_scale;
                    let log = noise.log_density_and_slopes(z);
                    *joint += log.value - log_scale;
                    likelihoods.push(ElementLikelihood::Number { z, inverse_scale, log });
                }
            }
        }
        let of_rows = 1.0 / of_subject.len() as f64;
        logits.iter_mut().for_each(|logit| *logit *= of_rows);
        let weight_total = log_sum_exp_of(logits);
        joint.iter_mut().zip(&*logits).for_each(|(joint, logit)| *joint += logit - weight_total);
        let total = log_sum_exp_of(joint);
        // from here on: responsibilities
        for (k, joint) in joint.iter_mut().enumerate() {
            *joint = given.map_or_else(|| (*joint - total).exp(), |given| given[k]);
        }
        for (r, &row) in of_subject.iter().enumerate() {
            if of_subject.len() > 1 {
                form.forward(parts, parameters, rows.input(row), rows.offset(row), pass);
            }
            slopes.means.clear();
            slopes.log_scales.clear();
            slopes.logits.clear();
            for (k, &responsibility) in joint.iter().enumerate() {
                let weight = (logits[k] - weight_total).exp();
                slopes.logits.push(share * ((weight - responsibility) * of_rows) as f32);
                for likelihood in &likelihoods[(r * classes + k) * d..][..d] {
                    let (by_mean, by_scale) = match likelihood {
                        ElementLikelihood::Missing => (0.0, 0.0),
                        ElementLikelihood::Other(log) => {
                            (-responsibility * log.by_mean, -responsibility * log.by_log_scale)
                        }
                        ElementLikelihood::Number { z, inverse_scale, log } => {
                            for (at, by_shape) in parts.shape.clone().zip(log.by_shape) {
                                gradient[at] -= share * (responsibility * by_shape) as f32;
                            }
                            (responsibility * log.by_z * inverse_scale, responsibility * (log.by_z * z + 1.0))
                        }
                    };
                    slopes.means.push(share * by_mean as f32);
                    slopes.log_scales.push(share * by_scale as f32);
                }
            }
            form.backward(parts, parameters, rows.input(row), pass, slopes, gradient);
        }
    }
}

/// A network in training, between two steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LearnerState {
    /// Parameters, first and second moments, averaged parameters.
    pub arrays: [Vec<f32>; 4],
    pub steps: usize,
}

impl Learner<'_> {
    /// What the next steps depend on.
    pub(super) fn state(&self) -> LearnerState {
        let Descent { parameters, first, second, steps, .. } = &self.descent;
        LearnerState { arrays: [parameters, first, second, &self.average].map(Vec::clone), steps: *steps }
    }

    /// Goes on from a state.
    pub(super) fn set_state(&mut self, state: LearnerState) {
        [self.descent.parameters, self.descent.first, self.descent.second, self.average] = state.arrays;
        self.descent.steps = state.steps;
    }

    pub(super) fn parameters(&self) -> &[f32] {
        &self.descent.parameters
    }

    pub(super) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.descent.parameters
    }

    pub(super) fn into_parameters(self) -> Vec<f32> {
        self.descent.parameters
    }

    /// The prior precision of the parameter at `place`.
    pub(super) fn precision(&self, place: usize) -> f64 {
        f64::from(self.precisions[place]) * self.subjects as f64
    }

    /// The log-likelihood of the training subjects with that of the prior.
    pub(super) fn objective(&self, task: &Task<'_>) -> f64 {
        let member =
            Member { form: self.form.clone(), parameters: self.descent.parameters.clone(), regressors: None };
        let penalty = |(precision, p): (&f32, &f32)| f64::from(precision * p * p);
        let penalty: f64 = self.precisions.iter().zip(&self.descent.parameters).map(penalty).sum();
        let n = self.subjects as f64;
        member.log_likelihoods(task.rows, task.train).iter().sum::<f64>() - 0.5 * n * penalty
    }

    /// Calls `f` with the gradient of -log likelihood of every training subject.
    pub(super) fn for_each_score(&mut self, task: &Task<'_>, mut f: impl FnMut(&[f32])) {
        let noise = self.form.noise(&self.parts, &self.descent.parameters);
        for &subject in task.train {
            self.descent.gradient.fill(0.0);
            self.add_gradient(task.rows, subject, None, &noise, 1.0);
            f(&self.descent.gradient);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::RngExt as _;

    use super::*;
    use crate::density::{ClassWeights, NoiseLaw};
    use crate::math::isa::testing::with_each_isa;
    use crate::stream;

    /// Subjects of one to three rows, with two outcomes, one of which is missing in two rows.
    fn rows() -> Rows {
        let mut rng = stream(1, &["rows"]);
        let mut values = |n: usize| (0..n).map(|_| rng.random_range(-1.5..1.5)).collect::<Vec<f32>>();
        let mut observed = vec![true; 12];
        (observed[3], observed[8]) = (false, false);
        Rows {
            inputs: values(6 * 3),
            outcomes: values(6 * 2),
            offsets: values(6 * 2),
            folds: HashMap::new(),
            observed: Some(observed),
            numeric: None,
            width: 3,
            d: 2,
            subjects: vec![vec![0], vec![1, 2], vec![3, 4, 5]],
            possible_treatments: HashMap::new(),
        }
    }

    fn form(law: NoiseLaw, weights: ClassWeights, varying_scale: bool, hidden: usize) -> Form {
        Form {
            classes: 3,
            outcomes: 2,
            outcome_laws: Vec::new(),
            x_cosines: vec![2, 0],
            t_cosines: vec![3],
            t_values: Vec::new(),
            interactions: true,
            class_interactions: true,
            shared_response: true,
            alike: false,
            product_columns: vec![0, 1],
            offsets: 2,
            hidden,
            weights,
            law,
            varying_scale,
        }
    }

    fn random_parameters(form: &Form) -> Vec<f32> {
        let mut rng = stream(2, &["parameters"]);
        (0..form.len()).map(|_| rng.random_range(-0.5..0.5)).collect()
    }

    /// The gradient of the negative log-likelihood of all subjects.
    fn gradient(form: &Form, rows: &Rows, parameters: &[f32], start: Option<&[f64]>) -> Vec<f32> {
        let train: Vec<usize> = (0..rows.subjects.len()).collect();
        let mut learner = Learner::new(form, &vec![1.0; form.classes], train.len(), parameters.to_vec());
        let noise = form.noise(&learner.parts, parameters);
        for i in train {
            let given = start.map(|start| &start[i * form.classes..][..form.classes]);
            learner.add_gradient(rows, i, given, &noise, 1.0);
        }
        learner.descent.gradient
    }

    fn loss(form: &Form, rows: &Rows, parameters: Vec<f32>) -> f64 {
        let all: Vec<usize> = (0..rows.subjects.len()).collect();
        -Member { form: form.clone(), parameters, regressors: None }
            .log_likelihoods(rows, &all)
            .iter()
            .sum::<f64>()
    }

    /// Compares the gradient at random parameters with differences of the loss.
    fn assert_gradient(form: &Form, rows: &Rows, place: &str) {
        let parameters = random_parameters(form);
        for (i, slope) in gradient(form, rows, &parameters, None).into_iter().enumerate() {
            let moved = |by: f32| {
                let mut parameters = parameters.clone();
                parameters[i] += by;
                loss(form, rows, parameters)
            };
            let step = 2e-3;
            let expected = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            let error = (f64::from(slope) - expected).abs();
            assert!(error < 2e-3 * (1.0 + expected.abs()), "{place}, parameter {i}: {slope} for {expected}");
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let rows = rows();
        let weights =
            [ClassWeights::Constant, ClassWeights::Covariates, ClassWeights::CovariatesAndTreatment];
        for law in [NoiseLaw::Gaussian, NoiseLaw::StudentT, NoiseLaw::Skewed] {
            for weights in weights {
                for (varying_scale, hidden) in [(false, 4), (true, 4), (true, 0)] {
                    let form = form(law, weights, varying_scale, hidden);
                    assert_gradient(
                        &form,
                        &rows,
                        &format!("{law:?}, {weights:?}, {varying_scale}, {hidden}"),
                    );
                }
            }
        }
    }

    #[test]
    fn gradients_of_all_kinds_of_outcome_agree_with_differences() {
        let laws = vec![
            HeadLaw::Chance { offset: 0.2 },
            HeadLaw::Count { offset: 0.7, overdispersed: true },
            HeadLaw::Ordered { values: vec![1.0, 2.0, 3.0], thresholds: vec![-0.5, 0.8] },
            HeadLaw::Level { level: 0, levels: 2 },
            HeadLaw::Level { level: 1, levels: 2 },
            HeadLaw::Positive { offset: -0.3 },
            HeadLaw::Number,
        ];
        let units = [[0.0, 3.0, 1.0, 1.0, 0.0, 1.0, 0.4], [1.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0]];
        let mut rows = Rows { d: 7, outcomes: units.concat().repeat(3), ..rows() };
        rows.observed = Some((0..6 * 7).map(|i| i % 14 != 13).collect());
        let form = Form {
            outcomes: 7,
            outcome_laws: laws,
            ..form(NoiseLaw::Skewed, ClassWeights::CovariatesAndTreatment, true, 3)
        };
        assert_gradient(&form, &rows, "all kinds");
    }

    #[test]
    fn given_classes_that_are_the_posterior_give_the_same_gradient() {
        let rows = rows();
        let form = form(NoiseLaw::Skewed, ClassWeights::CovariatesAndTreatment, true, 4);
        let parameters = random_parameters(&form);
        let member = Member { form: form.clone(), parameters: parameters.clone(), regressors: None };
        let start = member.posteriors(&rows, &[0, 1, 2]);
        let [free, given] = [None, Some(&start[..])].map(|start| gradient(&form, &rows, &parameters, start));
        assert!(free.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-5));
        let certain = [1.0, 0.0, 0.0].repeat(3);
        assert_ne!(gradient(&form, &rows, &parameters, Some(&certain)), free);
    }

    #[test]
    fn each_instruction_set_gives_the_same_bits() {
        let rows = rows();
        let form = form(NoiseLaw::Skewed, ClassWeights::CovariatesAndTreatment, true, 4);
        let responsibilities = [0.6, 0.3, 0.1].repeat(3);
        let start = Solution { responsibilities, evidence: 0.0, smoothness: vec![1.0; 3] };
        let task =
            Task { rows: &rows, train: &[0, 1, 2], held_out: &[0, 2], start: &start, coefficients: None };
        let schedule = Schedule { steps: 200, batch: 2, learning_rate: 5e-3 };
        let results = with_each_isa(1, || {
            let trained = train(&form, &task, &schedule, &mut stream(3, &["train"]), &()).unwrap();
            let member = trained.member;
            let likelihoods = member.log_likelihoods(&rows, &[0, 1, 2]);
            (member.posteriors(&rows, &[0, 1, 2]), likelihoods, member.parameters, trained.steps)
        });
        assert!(results[0].1.3 > 20, "training was stopped at its start");
        assert!(results.iter().all(|(_, result)| *result == results[0].1));
    }
}
