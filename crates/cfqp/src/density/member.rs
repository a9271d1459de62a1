//! One fitted mixture density network: likelihoods and posteriors of subjects.

use std::sync::Arc;

use super::heads::HeadLaw;
use super::law::{Noise, ResidualComponent};
use super::network::{Element, Form, Parts, Pass};
use super::regressor::Regressor;
use super::rows::Rows;
use super::scale::OutcomeScale;
use crate::math::log_sum_exp_of;
use crate::math::simd::with_simd;

/// A network with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub form: Form,
    pub parameters: Vec<f32>,
    /// The regressors whose predictions are a part of the means; none if the form has none, or if rows have
    /// predictions of their own.
    pub regressors: Option<Arc<[Regressor]>>,
}

/// A member of an ensemble, and the subjects that it was not fitted to.
#[derive(Clone)]
pub(crate) struct FittedMember {
    pub member: Member,
    pub held_out: Vec<usize>,
    pub steps: usize,
    /// Of the curve of every class.
    pub smoothness: Vec<f64>,
}

impl FittedMember {
    /// Gives class k the place `order[k]`.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.member.reorder(order);
        let old = self.smoothness.clone();
        order.iter().zip(old).for_each(|(&to, smoothness)| self.smoothness[to] = smoothness);
    }
}

/// A member ready to be evaluated.
pub(crate) struct Evaluator<'a> {
    pub member: &'a Member,
    pub parts: Parts,
    pub noise: Noise,
    pub pass: Pass,
    /// The regressors of all folds.
    regressors: Vec<Arc<[Regressor]>>,
    /// Predictions of the regressors for the last input.
    offsets: Vec<f32>,
}

impl Member {
    pub(crate) fn evaluator(&self) -> Evaluator<'_> {
        let parts = self.form.parts();
        let noise = self.form.noise(&parts, &self.parameters);
        Evaluator {
            member: self,
            parts,
            noise,
            pass: Pass::default(),
            regressors: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// log p(outcomes of a subject | its inputs) of every subject.
    pub(crate) fn log_likelihoods(&self, rows: &Rows, subjects: &[usize]) -> Vec<f64> {
        let mut evaluator = self.evaluator();
        let mut joint = Vec::new();
        let mut likelihoods = Vec::with_capacity(subjects.len());
        with_simd(
            #[inline(always)]
            || {
                for &subject in subjects {
                    evaluator.joint(rows, &rows.subjects[subject], &mut joint);
                    likelihoods.push(log_sum_exp_of(&joint));
                }
            },
        );
        likelihoods
    }

    /// P(class | all rows of the subject), `[subjects, classes]`.
    pub(crate) fn posteriors(&self, rows: &Rows, subjects: &[usize]) -> Vec<f64> {
        let mut evaluator = self.evaluator();
        let mut joint = Vec::new();
        let mut posteriors = Vec::with_capacity(subjects.len() * self.form.classes);
        with_simd(
            #[inline(always)]
            || {
                for &subject in subjects {
                    evaluator.joint(rows, &rows.subjects[subject], &mut joint);
                    let total = log_sum_exp_of(&joint);
                    posteriors.extend(joint.iter().map(|log| (log - total).exp()));
                }
            },
        );
        posteriors
    }

    /// The same member with its classes in another order: class k becomes `order[k]`.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        self.form.reorder(&mut self.parameters, order);
    }
}

impl Evaluator<'_> {
    /// With the regressors of all folds, for rows that some of them were fitted to.
    pub(crate) fn with_regressors(self, regressors: &[Arc<[Regressor]>]) -> Self {
        Self { regressors: regressors.to_vec(), ..self }
    }

    /// Means, scales and logits of one input, in `pass`; with the regressors of a fold, or else the member's own.
    #[inline(always)]
    pub(crate) fn forward(&mut self, input: &[f32], fold: Option<usize>) {
        let Self { member, parts, pass, regressors, offsets, .. } = self;
        offsets.clear();
        if let Some(own) = &member.regressors {
            let regressors = fold.and_then(|fold| regressors.get(fold)).unwrap_or(own);
            offsets.extend(regressors.iter().map(|regressor| regressor.predict(input) as f32));
        }
        member.form.forward(parts, &member.parameters, input, offsets, pass);
    }

    /// The same for a row, with its own predictions of regressors if it has any.
    #[inline(always)]
    pub(crate) fn forward_row(&mut self, rows: &Rows, row: usize) {
        if rows.offset(row).is_empty() {
            return self.forward(rows.input(row), rows.folds.get(&row).copied());
        }
        let Self { member, parts, pass, .. } = self;
        member.form.forward(parts, &member.parameters, rows.input(row), rows.offset(row), pass);
    }

    /// log p_k of the outcome of `row` under every class, without class weights, given the last forward pass; added to
    /// `out`.
    #[inline(always)]
    pub(crate) fn add_densities(&self, rows: &Rows, row: usize, out: &mut [f64]) {
        let d = rows.d;
        for (k, log) in out.iter_mut().enumerate() {
            for (j, &y) in rows.outcome(row).iter().enumerate().filter(|&(j, _)| rows.is_observed(row, j)) {
                let law = self.member.form.outcome_law(j);
                if *law != HeadLaw::Number {
                    *log += law.log_mass(f64::from(y), self.pass.head_input(k, j, d)).value;
                    continue;
                }
                let log_scale = self.pass.log_scales[k * d + j];
                let z = (f64::from(y) - f64::from(self.pass.means[k * d + j])) * (-log_scale).exp();
                *log += self.noise.log_density(z) - log_scale;
            }
        }
    }

    /// log w_k p_k of all outcomes of one subject. The weights are those of the mean logits of its rows.
    #[inline(always)]
    pub(crate) fn joint(&mut self, rows: &Rows, of_subject: &[usize], out: &mut Vec<f64>) {
        let classes = self.member.form.classes;
        out.clear();
        out.resize(classes, 0.0);
        let mut logits = vec![0.0; classes];
        for &row in of_subject {
            self.forward_row(rows, row);
            self.add_densities(rows, row, out);
            logits.iter_mut().zip(&self.pass.logits).for_each(|(sum, logit)| *sum += logit);
        }
        logits.iter_mut().for_each(|logit| *logit /= of_subject.len().max(1) as f64);
        let total = log_sum_exp_of(&logits);
        out.iter_mut().zip(&logits).for_each(|(out, logit)| *out += logit - total);
    }
}

/// What held-out members say of one row.
#[derive(Clone, Debug)]
pub(crate) struct RowSummary {
    /// The number of members.
    pub count: f64,
    /// The sum of the predicted means, in standardised outcomes, of every element.
    pub predicted: Vec<f64>,
    /// The sum of P(class).
    pub posterior: Vec<f64>,
    /// Mean absolute and squared distance from the mean of every class, of the last member.
    pub distances: Vec<(f64, f64)>,
}

impl RowSummary {
    pub(crate) fn new(outcomes: usize, classes: usize) -> Self {
        Self {
            count: 0.0,
            predicted: vec![0.0; outcomes],
            posterior: vec![0.0; classes],
            distances: vec![(0.0, 0.0); classes],
        }
    }
}

impl Evaluator<'_> {
    /// The normal score of outcome `j` of `row` under class `k`, given the last forward pass: the mean score of its ranks
    /// if it is no number. NaN where missing, and for levels of categories.
    pub(crate) fn score(&self, rows: &Rows, row: usize, k: usize, j: usize) -> f64 {
        if !rows.is_observed(row, j) {
            return f64::NAN;
        }
        let (at, y) = (k * rows.d + j, f64::from(rows.outcome(row)[j]));
        let law = self.member.form.outcome_law(j);
        if *law != HeadLaw::Number {
            let ranked = law.ranked(self.pass.head_input(k, j, rows.d));
            return ranked.map_or(f64::NAN, |law| law.ranks(y).mean_score());
        }
        let gap = y - f64::from(self.pass.means[at]);
        self.noise.normal_score(gap * (-self.pass.log_scales[at]).exp())
    }

    /// The mean of an element in class `k`, in standardised outcomes, given the last forward pass. `residuals` are those of
    /// the noise.
    fn element_mean(
        &self,
        element: Element,
        k: usize,
        scales: &[OutcomeScale],
        residuals: &[ResidualComponent],
    ) -> f64 {
        let (form, d) = (&self.member.form, scales.len());
        let input = |head: usize| self.pass.head_input(k, head, d);
        let number = |head: usize| -> f64 {
            let at = k * d + head;
            let (location, scale) = (f64::from(self.pass.means[at]), self.pass.log_scales[at].exp());
            let value = |z: f64| scales[head].restore(location + scale * z);
            residuals.iter().map(|residual| residual.weight * value(residual.mean)).sum()
        };
        let ranked = |head: usize| form.outcome_law(head).ranked(input(head)).map_or(0.0, |law| law.mean());
        match element {
            Element::Number(head) => number(head),
            Element::Chance(head) | Element::Ranked(head) => ranked(head),
            Element::Level(head) => {
                let shares = form.outcome_law(head).shares(input(head));
                let HeadLaw::Level { level, .. } = form.outcome_law(head) else { return 0.0 };
                shares[*level]
            }
            Element::Amount(head) => ranked(head) * number(head + 1),
        }
    }

    /// Adds this member's view of `row` alone to `summary`.
    pub(crate) fn summarise(
        &mut self,
        rows: &Rows,
        row: usize,
        scales: &[OutcomeScale],
        summary: &mut RowSummary,
    ) {
        self.forward_row(rows, row);
        let classes = self.member.form.classes;
        let weight_total = log_sum_exp_of(&self.pass.logits);
        let mut joint: Vec<f64> = self.pass.logits.iter().map(|logit| logit - weight_total).collect();
        let weights: Vec<f64> = joint.iter().map(|log| log.exp()).collect();
        self.add_densities(rows, row, &mut joint);
        let total = log_sum_exp_of(&joint);
        summary.count += 1.0;
        let mut residuals = Vec::new();
        self.noise.given_score(0.0, 1.0, &mut residuals);
        let elements = self.member.form.elements();
        let count = elements.len() as f64;
        for k in 0..classes {
            summary.posterior[k] += (joint[k] - total).exp();
            let mut distance = (0.0, 0.0);
            for (i, &element) in elements.iter().enumerate() {
                let mean = self.element_mean(element, k, scales, &residuals);
                summary.predicted[i] += weights[k] * mean;
                if let Some(y) = rows.element(row, element, scales) {
                    let gap = y - mean;
                    distance = (distance.0 + gap.abs() / count, distance.1 + gap * gap / count);
                }
            }
            summary.distances[k] = distance;
        }
    }
}
