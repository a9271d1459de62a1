//! One fitted mixture density network: likelihoods and posteriors of subjects.

use super::law::Noise;
use super::network::{Form, Parts, Pass};
use super::rows::Rows;
use crate::math::log_sum_exp_of;

/// A network with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub form: Form,
    pub parameters: Vec<f32>,
}

/// A member ready to be evaluated.
pub(crate) struct Evaluator<'a> {
    pub member: &'a Member,
    pub parts: Parts,
    pub noise: Noise,
    pub pass: Pass,
}

impl Member {
    pub(crate) fn evaluator(&self) -> Evaluator<'_> {
        let parts = self.form.parts();
        let noise = self.form.noise(&parts, &self.parameters);
        Evaluator { member: self, parts, noise, pass: Pass::default() }
    }

    /// log p(outcomes of a subject | its inputs) of every subject.
    pub(crate) fn log_likelihoods(&self, rows: &Rows, subjects: &[usize]) -> Vec<f64> {
        let mut evaluator = self.evaluator();
        let mut joint = Vec::new();
        let of_subject = |&subject: &usize| {
            evaluator.joint(rows, &rows.subjects[subject], &mut joint);
            log_sum_exp_of(&joint)
        };
        subjects.iter().map(of_subject).collect()
    }

    /// P(class | all rows of the subject), `[subjects, classes]`.
    pub(crate) fn posteriors(&self, rows: &Rows, subjects: &[usize]) -> Vec<f64> {
        let mut evaluator = self.evaluator();
        let mut joint = Vec::new();
        let mut posteriors = Vec::with_capacity(subjects.len() * self.form.classes);
        for &subject in subjects {
            evaluator.joint(rows, &rows.subjects[subject], &mut joint);
            let total = log_sum_exp_of(&joint);
            posteriors.extend(joint.iter().map(|log| (log - total).exp()));
        }
        posteriors
    }

    /// The same member with its classes in another order: class k becomes `order[k]`.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        self.form.reorder(&mut self.parameters, order);
    }
}

impl Evaluator<'_> {
    /// Means, scales and logits of one input, in `pass`.
    #[inline(always)]
    pub(crate) fn forward(&mut self, input: &[f32]) {
        let Self { member, parts, pass, .. } = self;
        member.form.forward(parts, &member.parameters, input, pass);
    }

    /// log p_k of the outcome of `row` under every class, without class weights, given the last forward pass; added to
    /// `out`.
    pub(crate) fn add_densities(&self, rows: &Rows, row: usize, out: &mut [f64]) {
        let d = rows.d;
        for (k, log) in out.iter_mut().enumerate() {
            for (j, &y) in rows.outcome(row).iter().enumerate().filter(|&(j, _)| rows.is_observed(row, j)) {
                let log_scale = self.pass.log_scales[k * d + j];
                let z = (f64::from(y) - f64::from(self.pass.means[k * d + j])) * (-log_scale).exp();
                *log += self.noise.log_density(z) - log_scale;
            }
        }
    }

    /// log w_k p_k of all outcomes of one subject. The weights are those of the mean logits of its rows.
    pub(crate) fn joint(&mut self, rows: &Rows, of_subject: &[usize], out: &mut Vec<f64>) {
        let classes = self.member.form.classes;
        out.clear();
        out.resize(classes, 0.0);
        let mut logits = vec![0.0; classes];
        for &row in of_subject {
            self.forward(rows.input(row));
            self.add_densities(rows, row, out);
            logits.iter_mut().zip(&self.pass.logits).for_each(|(sum, logit)| *sum += logit);
        }
        logits.iter_mut().for_each(|logit| *logit /= of_subject.len().max(1) as f64);
        let total = log_sum_exp_of(&logits);
        out.iter_mut().zip(&logits).for_each(|(out, logit)| *out += logit - total);
    }
}
