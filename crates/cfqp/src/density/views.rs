//! What members say of the rows of a subject: classes, scores and predictions; and the distribution of an answer.

use super::correlation::Correlation;
use super::heads::HeadInput;
use super::member::Evaluator;
use super::network::{ClassWeights, Pass};
use super::rows::Rows;
use super::scale::OutcomeScale;
use crate::math::{GaussianComponent, log_sum_exp_of};

/// A question about the rows of some subjects, with treatments of every row, standardised, `[rows, d_t]`.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub rows: &'a Rows,
    pub to: &'a [f32],
    pub from: Option<&'a [f32]>,
    pub rho: Correlation,
}

/// The smallest standard deviation of a component, in standardised outcomes; rounding errors are smaller.
const MIN_DEVIATION: f64 = 1e-4;

/// The distribution of one element of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    pub components: Vec<GaussianComponent>,
    /// The scale of the components: an answer is what it restores.
    pub scale: OutcomeScale,
    /// The sum of the point answers, and of their weights; and the scale that they are averaged on.
    pub point: f64,
    pub weight: f64,
    pub point_scale: OutcomeScale,
    /// The mean answer without every fold; of outcomes that are not numbers with fresh noise, as what a unit showed is the same
    /// for all members.
    pub members: Vec<f64>,
    /// The sum of the weights of those means.
    pub(super) member_weight: f64,
    /// The probability that the answer depends on which class under one treatment is which under the other.
    pub unidentified: f64,
}

impl Distribution {
    /// The point answer.
    pub(crate) fn mean(&self) -> f64 {
        self.point_scale.restore(self.point / self.weight)
    }

    /// Adds the answers of the members of a group, each a weight and a sum.
    pub(super) fn add_members(&mut self, weight: f64, sums: &[(f64, f64)]) {
        self.members.resize(sums.len().max(self.members.len()), 0.0);
        self.member_weight += weight;
        let count = sums.len();
        for (i, member) in self.members.iter_mut().enumerate() {
            let (own, sum) = sums[i % count];
            *member += weight * sum / own.max(f64::MIN_POSITIVE);
        }
    }

    /// Makes weights add up to 1 and deviations positive.
    pub(super) fn normalise(&mut self) {
        let total: f64 = self.components.iter().map(|component| component.weight).sum();
        for component in &mut self.components {
            component.weight /= total;
            component.deviation = component.deviation.max(MIN_DEVIATION);
        }
        self.members.iter_mut().for_each(|member| *member /= self.member_weight);
    }
}

/// One member's view of the rows of a subject under one class.
pub(crate) struct ClassView {
    pub posterior: f64,
    /// Normal scores of every element of every row, `[rows, d]`; NaN where missing.
    pub scores: Vec<f64>,
    /// The logarithm of the scale of every element of every row, `[rows, d]`.
    pub log_scales: Vec<f64>,
}

/// Posterior and scores of every class. The class weights are those of the mean logits of the rows whose treatment is
/// known; without such rows, those of the mean weights over the possible treatments of every row.
pub(crate) fn class_views(member: &mut Evaluator<'_>, rows: &Rows, of_subject: &[usize]) -> Vec<ClassView> {
    let (classes, d) = (member.member.form.classes, rows.d);
    let mut joint = vec![0.0; classes];
    let mut logits = vec![0.0; classes];
    let mut scores = vec![Vec::with_capacity(of_subject.len() * d); classes];
    let mut log_scales = scores.clone();
    let by_treatment = member.member.form.weights == ClassWeights::CovariatesAndTreatment;
    let unknown_t = |row: usize| rows.possible_treatments.get(&row).filter(|_| by_treatment);
    let any_known = of_subject.iter().any(|&row| unknown_t(row).is_none());
    let mut counted = 0.0;
    for &row in of_subject {
        let unknown_t = unknown_t(row);
        let averaged = unknown_t.filter(|_| !any_known).map(|t| mean_log_weights(member, rows.input(row), t));
        member.forward_row(rows, row);
        member.add_densities(rows, row, &mut joint);
        if unknown_t.is_none() || !any_known {
            let of_row = averaged.as_ref().unwrap_or(&member.pass.logits);
            logits.iter_mut().zip(of_row).for_each(|(sum, logit)| *sum += logit);
            counted += 1.0;
        }
        for (k, scores) in scores.iter_mut().enumerate() {
            scores.extend((0..d).map(|j| member.score(rows, row, k, j)));
            log_scales[k].extend_from_slice(&member.pass.log_scales[k * d..][..d]);
        }
    }
    logits.iter_mut().for_each(|logit| *logit /= counted);
    joint.iter_mut().zip(&logits).for_each(|(joint, logit)| *joint += logit);
    let total = log_sum_exp_of(&joint);
    let each = joint.iter().zip(scores).zip(log_scales);
    let view = |((joint, scores), log_scales): ((&f64, Vec<f64>), Vec<f64>)| {
        let posterior = (joint - total).exp();
        ClassView { posterior, scores, log_scales }
    };
    each.map(view).collect()
}

/// log of the mean of w_k(x, t) over `treatments`, `[n, d_t]`, in place of the treatment of `input`.
fn mean_log_weights(member: &mut Evaluator<'_>, input: &[f32], treatments: &[f32]) -> Vec<f64> {
    let d_t = member.member.form.t_cosines.len();
    let mut sums = vec![0.0; member.member.form.classes];
    let mut input = input.to_vec();
    let covariates = input.len() - d_t;
    for t in treatments.chunks_exact(d_t) {
        input[covariates..].copy_from_slice(t);
        member.forward(&input, None);
        let total = log_sum_exp_of(&member.pass.logits);
        sums.iter_mut().zip(&member.pass.logits).for_each(|(sum, logit)| *sum += (logit - total).exp());
    }
    let count = (treatments.len() / d_t).max(1) as f64;
    sums.into_iter().map(|sum| (sum / count).max(f64::MIN_POSITIVE).ln()).collect()
}

/// Location and scale of every class and element.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    means: Vec<f32>,
    log_scales: Vec<f64>,
    /// Of the class weights, not normalised.
    logits: Vec<f64>,
}

impl Location {
    /// Those of covariates `x` under treatment `t`, of a row of `fold` if the model was fitted to it.
    pub(crate) fn new(member: &mut Evaluator<'_>, x: &[f32], t: &[f32], fold: Option<usize>) -> Self {
        let input: Vec<f32> = x.iter().chain(t).copied().collect();
        member.forward(&input, fold);
        let Pass { means, log_scales, logits, .. } = &member.pass;
        Self { means: means.clone(), log_scales: log_scales.clone(), logits: logits.clone() }
    }

    /// The class weights.
    pub(super) fn weights(&self) -> Vec<f64> {
        let total = log_sum_exp_of(&self.logits);
        self.logits.iter().map(|logit| (logit - total).exp()).collect()
    }

    /// The change of the mean of element `i` from here to there.
    pub(super) fn response(&self, other: &Self, i: usize) -> f64 {
        f64::from(other.means[i] - self.means[i])
    }

    /// The root mean square of the scales of some elements.
    pub(super) fn pooled_scale(&self, elements: impl Iterator<Item = usize>) -> f64 {
        let squares: Vec<f64> = elements.map(|i| (2.0 * self.log_scales[i]).exp()).collect();
        crate::math::mean(&squares).sqrt()
    }

    /// What the law of outcome `head` of class `k` depends on, of `outcomes`.
    pub(super) fn head_input(&self, k: usize, head: usize, outcomes: usize) -> HeadInput<'_> {
        let means = &self.means[k * outcomes..][..outcomes];
        HeadInput { head, means, log_scale: self.log_scales[k * outcomes + head] }
    }

    /// (y - m) / s
    pub(super) fn residual(&self, i: usize, y: f64) -> f64 {
        (y - f64::from(self.means[i])) * (-self.log_scales[i]).exp()
    }

    /// log s
    pub(super) fn log_scale(&self, i: usize) -> f64 {
        self.log_scales[i]
    }

    /// m + s z
    pub(crate) fn at(&self, i: usize, z: f64) -> f64 {
        f64::from(self.means[i]) + self.log_scales[i].exp() * z
    }
}

/// One member's prediction under the treatments of a question.
pub(super) struct Prediction {
    pub to: Location,
    pub from: Option<Location>,
    /// Under the factual treatment; none if all outcomes are numbers.
    pub here: Option<Location>,
}

impl Prediction {
    pub(super) fn new(member: &mut Evaluator<'_>, question: &Question<'_>, row: usize) -> Self {
        let d_t = question.to.len() / question.rows.len();
        let (x, own) = question.rows.input(row).split_at(question.rows.width - d_t);
        let has_others = !member.member.form.outcome_laws.is_empty();
        let fold = question.rows.folds.get(&row).copied();
        let here = has_others.then(|| Location::new(member, x, own, fold));
        let mut under = |t: &[f32]| Location::new(member, x, &t[row * d_t..][..d_t], fold);
        Self { to: under(question.to), from: question.from.map(&mut under), here }
    }

    /// The outcome, or the effect, at residual z, as `scale` restores it; of the heads under both treatments.
    pub(super) fn value(&self, heads: [usize; 2], z: f64, scale: OutcomeScale) -> f64 {
        let to = scale.restore(self.to.at(heads[0], z));
        to - self.from.as_ref().map_or(0.0, |from| scale.restore(from.at(heads[1], z)))
    }
}
