//! Abduction, action, prediction: the posterior over classes and the answer of every class, in standardised outcomes.

use burn::tensor::Device;

use super::Calibration;
use super::mixture::{Mixture, gaussian_nll, member_covariance, member_moments};
use crate::math::{argmax, log_sum_exp};
use crate::models::Batcher;

/// Where scales differ between two treatments, part of the noise may grow with the scale and part may not: transferring
/// all of it by the ratio of scales is then off by a fraction of the growth s(t')^2 (1 - min s^2 / max s^2). For one
/// growing and one constant part that fraction lies between 0 and a third; intervals allow for this much.
const TRANSFER_ERROR: f32 = 0.1;

/// Classes less probable than this do not change the answer visibly.
pub(crate) const MIN_POSTERIOR: f32 = 1e-6;

/// The answer of one class for a batch of n units, all `[n, y elements]`.
pub(crate) struct ClassAnswer {
    pub mean: Vec<f32>,
    /// The members' variance of that mean.
    pub model: Vec<f32>,
    /// Variance of the noise that the two worlds do not share.
    pub noise: Vec<f32>,
    /// Variance from not knowing which part of the noise grows with the scale.
    pub transfer: Vec<f32>,
}

impl ClassAnswer {
    fn zeros(len: usize) -> Self {
        let zeros = || vec![0.0; len];
        Self { mean: zeros(), model: zeros(), noise: zeros(), transfer: zeros() }
    }

    /// Shrinks the effect of element `i` by the probability that the element does not respond.
    fn shrink_effect(&mut self, i: usize, effect: f32, unresponsive: f32, calibration: &Calibration) {
        let responds = 1.0 - unresponsive;
        self.mean[i] -= unresponsive * effect;
        self.model[i] =
            responds * self.model[i] + unresponsive * responds * effect.powi(2) / calibration.member_factor;
        self.transfer[i] *= responds;
    }

    /// Scatters the answers to `places` among `n` units; zero elsewhere.
    fn scatter(self, n: usize, places: &[usize], elements: usize) -> Self {
        let scatter = |values: Vec<f32>| {
            let mut all = vec![0.0; n * elements];
            for (&place, unit) in places.iter().zip(values.chunks_exact(elements)) {
                all[place * elements..(place + 1) * elements].copy_from_slice(unit);
            }
            all
        };
        Self {
            mean: scatter(self.mean),
            model: scatter(self.model),
            noise: scatter(self.noise),
            transfer: scatter(self.transfer),
        }
    }
}

/// The answers of all classes and their posterior; zero for classes too improbable to compute.
pub(crate) struct Abducted {
    /// `[n, classes]`
    pub posterior: Vec<f32>,
    pub classes: Vec<ClassAnswer>,
}

impl Abducted {
    /// The posterior of one unit.
    pub(crate) fn posterior_of(&self, unit: usize) -> &[f32] {
        let classes = self.classes.len();
        &self.posterior[unit * classes..][..classes]
    }
}

/// A question about some units of a data set: their outcome under `to`, or its difference from that under `from`.
/// Treatments are standardised, `[n, d_t]`.
#[derive(Clone, Copy)]
pub(crate) struct BatchQuestion<'a> {
    pub batcher: Batcher<'a>,
    pub rows: &'a [usize],
    pub to: &'a [f32],
    pub from: Option<&'a [f32]>,
    pub calibration: &'a Calibration,
    /// Classes less probable than this are not computed.
    pub min_posterior: f32,
}

/// The rows and treatments of some units of a question.
struct Subset {
    rows: Vec<usize>,
    to: Vec<f32>,
    from: Option<Vec<f32>>,
}

impl Subset {
    fn question<'a>(&'a self, whole: &BatchQuestion<'a>) -> BatchQuestion<'a> {
        BatchQuestion { rows: &self.rows, to: &self.to, from: self.from.as_deref(), ..*whole }
    }
}

impl BatchQuestion<'_> {
    fn subset(&self, places: &[usize]) -> Subset {
        let d_t = self.d_t();
        Subset {
            rows: places.iter().map(|&i| self.rows[i]).collect(),
            to: pick_rows(self.to, places, d_t),
            from: self.from.map(|from| pick_rows(from, places, d_t)),
        }
    }

    fn outcome_shape(&self) -> &[usize] {
        self.batcher.scaler.y.shape()
    }

    fn d_t(&self) -> usize {
        self.batcher.scaler.t.elements()
    }

    /// log s_k(t)^2 of every unit and element at treatments `t`.
    fn log_variance(&self, mixture: &Mixture, k: usize, t: &[f32]) -> Vec<f32> {
        t.chunks_exact(self.d_t()).flat_map(|t| mixture.scales.log_variance(k, t)).collect()
    }

    /// `rho` for observed elements, 0 for missing ones, whose noise is unknown.
    fn rho_by_element(&self, rho: f32) -> Vec<f32> {
        let d = self.batcher.scaler.y.elements();
        let of_unit = |&row: &usize| match self.batcher.data.y().mask_row(row) {
            Some(mask) => mask.iter().map(|&observed| if observed { rho } else { 0.0 }).collect(),
            None => vec![rho; d],
        };
        self.rows.iter().flat_map(of_unit).collect()
    }
}

/// Answers `question` with correlation `rho` of the noise: posterior and answer of every class.
pub(crate) fn abduct(mixture: &Mixture, question: &BatchQuestion<'_>, rho: f32, device: &Device) -> Abducted {
    let mut answers = abduct_each(mixture, question, &[rho], device);
    answers.pop().expect("there is an answer for every rho")
}

/// As [`abduct`], for several values of rho. The networks run once.
pub(crate) fn abduct_each(
    mixture: &Mixture,
    question: &BatchQuestion<'_>,
    rhos: &[f32],
    device: &Device,
) -> Vec<Abducted> {
    let (batcher, rows, classes) = (&question.batcher, question.rows, mixture.classes());
    let (y, t) = (batcher.outcomes(rows), batcher.treatments(rows));
    let factual: Vec<Prediction> =
        (0..classes).map(|k| Prediction::new(mixture, question, k, &t, device)).collect();
    let posterior = posterior(mixture, question, &y, &factual);
    let mut answers: Vec<Abducted> =
        rhos.iter().map(|_| Abducted { posterior: posterior.clone(), classes: Vec::new() }).collect();
    for (k, prediction) in factual.into_iter().enumerate() {
        let computed: Vec<usize> =
            (0..rows.len()).filter(|i| posterior[i * classes + k] >= question.min_posterior).collect();
        let asked = ClassQuestion { mixture, question, k, rhos, device };
        let of_class = asked.answers_for(&computed, &y, &prediction);
        answers.iter_mut().zip(of_class).for_each(|(all, class)| all.classes.push(class));
    }
    answers
}

/// A question to one class, for several values of rho.
#[derive(Clone, Copy)]
struct ClassQuestion<'a> {
    mixture: &'a Mixture,
    question: &'a BatchQuestion<'a>,
    k: usize,
    rhos: &'a [f32],
    device: &'a Device,
}

impl ClassQuestion<'_> {
    /// The answers for every rho.
    fn answers(&self, y: &[f32], prediction: &Prediction) -> Vec<ClassAnswer> {
        let asked = AskedPrediction::new(self.mixture, self.question, self.k, self.device);
        let answer = |&rho: &f32| {
            let rho = self.question.rho_by_element(rho);
            class_answer(self.question, &Factual { y, rho: &rho, prediction }, &asked)
        };
        self.rhos.iter().map(answer).collect()
    }

    /// The answers for the units that are `computed`; zero for the others.
    fn answers_for(&self, computed: &[usize], y: &[f32], prediction: &Prediction) -> Vec<ClassAnswer> {
        let (d, n) = (self.question.batcher.scaler.y.elements(), self.question.rows.len());
        if computed.is_empty() {
            return self.rhos.iter().map(|_| ClassAnswer::zeros(n * d)).collect();
        }
        if computed.len() == n {
            return self.answers(y, prediction);
        }
        let subset = self.question.subset(computed);
        let question = &subset.question(self.question);
        let (y, prediction) = (pick_rows(y, computed, d), prediction.pick(computed, d));
        let answers = ClassQuestion { question, ..*self }.answers(&y, &prediction);
        answers.into_iter().map(|answer| answer.scatter(n, computed, d)).collect()
    }
}

/// The effect on every observed element with the same noise, by the most probable class of each unit.
pub(crate) fn most_probable_effects(
    mixture: &Mixture,
    question: &BatchQuestion<'_>,
    device: &Device,
) -> Vec<f32> {
    let (batcher, d, classes) = (&question.batcher, question.batcher.scaler.y.elements(), mixture.classes());
    let abducted = abduct(mixture, question, 1.0, device);
    let y = batcher.outcomes(question.rows);
    let mut effects = Vec::with_capacity(y.len());
    for (i, &row) in question.rows.iter().enumerate() {
        let answer = &abducted.classes[most_probable(&abducted.posterior[i * classes..][..classes])];
        let mask = batcher.data.y().mask_row(row);
        let observed = (0..d).filter(|&j| mask.is_none_or(|mask| mask[j])).map(|j| i * d + j);
        effects.extend(observed.map(|at| answer.mean[at] - y[at]));
    }
    effects
}

/// The most probable class.
pub(crate) fn most_probable<T: Copy + Into<f64>>(posterior: &[T]) -> usize {
    argmax(posterior.iter().copied()).unwrap_or(0)
}

/// P(class | x, t, y), `[n, classes]`.
fn posterior(mixture: &Mixture, question: &BatchQuestion<'_>, y: &[f32], factual: &[Prediction]) -> Vec<f32> {
    let (batcher, d) = (&question.batcher, question.batcher.scaler.y.elements());
    let weight = 1.0 / mixture.members.len() as f32;
    let mut posterior = Vec::with_capacity(question.rows.len() * factual.len());
    let mut mean = vec![0.0; d];
    for (i, &row) in question.rows.iter().enumerate() {
        let unit = i * d..(i + 1) * d;
        let mask = batcher.data.y().mask_row(row);
        let log_prior = mixture.prior.log(batcher, row);
        let nll = factual.iter().zip(log_prior).map(|(class, log_prior)| {
            mean.fill(0.0);
            for member in &class.members {
                mean.iter_mut().zip(&member[unit.clone()]).for_each(|(sum, m)| *sum += m * weight);
            }
            gaussian_nll(&y[unit.clone()], &mean, &class.log_variance[unit.clone()], mask)
                - f64::from(log_prior)
        });
        let nll: Vec<f64> = nll.collect();
        let total = log_sum_exp(&nll);
        posterior.extend(nll.iter().map(|nll| (-nll - total).exp() as f32));
    }
    posterior
}

/// Rows `which` of an array of rows of `width`.
fn pick_rows(values: &[f32], which: &[usize], width: usize) -> Vec<f32> {
    which.iter().flat_map(|&i| &values[i * width..(i + 1) * width]).copied().collect()
}

/// One class's prediction under some treatments, all `[n, y elements]`.
struct Prediction {
    /// m(t) of every member.
    members: Vec<Vec<f32>>,
    /// log s(t)^2
    log_variance: Vec<f32>,
}

impl Prediction {
    fn new(mixture: &Mixture, question: &BatchQuestion<'_>, k: usize, t: &[f32], device: &Device) -> Self {
        let mean =
            |member: &super::Components| member.mean(k, &question.batcher, question.rows, Some(t), device);
        Self {
            members: mixture.members.iter().map(mean).collect(),
            log_variance: question.log_variance(mixture, k, t),
        }
    }

    fn pick(&self, places: &[usize], width: usize) -> Self {
        Self {
            members: self.members.iter().map(|member| pick_rows(member, places, width)).collect(),
            log_variance: pick_rows(&self.log_variance, places, width),
        }
    }

    /// s(t) of element `i`.
    fn scale(&self, i: usize) -> f32 {
        (0.5 * self.log_variance[i]).exp()
    }
}

/// One class's predictions under the treatments that a question asks about.
struct AskedPrediction {
    to: Prediction,
    from: Option<Prediction>,
}

impl AskedPrediction {
    fn new(mixture: &Mixture, question: &BatchQuestion<'_>, k: usize, device: &Device) -> Self {
        let at = |t: &[f32]| Prediction::new(mixture, question, k, t, device);
        Self { to: at(question.to), from: question.from.map(at) }
    }
}

/// The factual outcomes of a batch, and one class's prediction of them.
struct Factual<'a> {
    y: &'a [f32],
    rho: &'a [f32],
    prediction: &'a Prediction,
}

impl Factual<'_> {
    /// The answer for element `i` under its factual treatment: m(t) + rho (y - m(t)).
    fn answer(&self, i: usize) -> f32 {
        let members = &self.prediction.members;
        let mean = members.iter().map(|m| m[i]).sum::<f32>() / members.len() as f32;
        mean + self.rho[i] * (self.y[i] - mean)
    }
}

/// The answer of class k.
///
/// A factual residual r = y - m(t) is the sum of noise e, of variance a s(t)^2, and the model's error b(t), of variance v,
/// estimated from the differences between members. Of the noise, rho s(t') / s(t) is transferred; of the model's error,
/// what it has in common with that at t':
///
/// ```text
/// answer = m(t') + c r,   c = rho (a s(t) s(t') + cov(b(t), b(t'))) / (a s(t)^2 + v)
/// ```
///
/// At t' = t and rho = 1 this is y itself; so it is for an element that [does not respond](super::SparseEffects). An
/// effect is the difference of two such answers.
fn class_answer(question: &BatchQuestion<'_>, factual: &Factual<'_>, asked: &AskedPrediction) -> ClassAnswer {
    let AskedPrediction { to, from } = asked;
    let residual = ResidualVariance::new(question, factual);
    let mut transfer = residual.transfer(question, factual, to);
    if let Some(from) = from {
        transfer.subtract(&residual.transfer(question, factual, from));
    }
    let elements = 0..factual.y.len();
    // m(t') - c m(t) of every member; its mean plus c y is the answer
    let member = |j: usize| -> Vec<f32> {
        let baseline = |i: usize| from.as_ref().map_or(0.0, |from| from.members[j][i]);
        let answer =
            |i| to.members[j][i] - baseline(i) - transfer.residual[i] * factual.prediction.members[j][i];
        elements.clone().map(answer).collect()
    };
    let members = (0..to.members.len()).map(member).collect();
    let moments = member_moments(members, question.outcome_shape());
    let mut answer = ClassAnswer {
        mean: elements.clone().map(|i| moments.mean[i] + transfer.residual[i] * factual.y[i]).collect(),
        model: if to.members.len() > 1 {
            moments.variance
        } else {
            // a single member does not know its own uncertainty: assume that of the noise
            to.log_variance.iter().map(|log_variance| log_variance.exp()).collect()
        },
        noise: elements.clone().map(|i| fresh_noise(i, factual, to, from.as_ref())).collect(),
        transfer: elements.map(|i| transfer_variance(i, factual, to, &transfer, &residual)).collect(),
    };
    if let Some(sparse) = question.calibration.sparse_effects {
        for (i, rho) in factual.rho.iter().enumerate() {
            let effect = answer.mean[i] - if from.is_some() { 0.0 } else { factual.answer(i) };
            // the factual value says where an unresponsive element stays only as far as its noise is shared
            let unresponsive = rho * (1.0 - sparse.responds(effect));
            answer.shrink_effect(i, effect, unresponsive, question.calibration);
        }
    }
    answer
}

/// Variance of the noise that the two worlds do not share: (1 - rho^2) (s(t') - s(t''))^2, without t'' for an outcome.
fn fresh_noise(i: usize, factual: &Factual<'_>, to: &Prediction, from: Option<&Prediction>) -> f32 {
    let scale = to.scale(i) - from.map_or(0.0, |from| from.scale(i));
    (1.0 - factual.rho[i].powi(2)) * scale.powi(2)
}

/// Variance from not knowing how the noise grows with the scale, and from the noise that `transfer` leaves behind.
fn transfer_variance(
    i: usize,
    factual: &Factual<'_>,
    to: &Prediction,
    transfer: &Transfer,
    residual: &ResidualVariance,
) -> f32 {
    let (there, here) = (to.log_variance[i].exp(), factual.prediction.log_variance[i].exp());
    let growth = 1.0 - there.min(here) / there.max(here);
    let lost = (transfer.noise[i] - transfer.residual[i]).powi(2) * residual.noise[i];
    TRANSFER_ERROR * factual.rho[i].powi(2) * there * growth + lost
}

/// The two parts of the variance of factual residuals, `[n, y elements]`.
struct ResidualVariance {
    /// a s(t)^2
    noise: Vec<f32>,
    /// v
    model: Vec<f32>,
}

/// The fraction of the noise and of the whole residual that is added to the prediction at t', `[n, y elements]`.
struct Transfer {
    /// rho s(t') / s(t)
    noise: Vec<f32>,
    /// c
    residual: Vec<f32>,
}

impl Transfer {
    fn subtract(&mut self, other: &Self) {
        self.noise.iter_mut().zip(&other.noise).for_each(|(a, b)| *a -= b);
        self.residual.iter_mut().zip(&other.residual).for_each(|(a, b)| *a -= b);
    }
}

impl ResidualVariance {
    fn new(question: &BatchQuestion<'_>, factual: &Factual<'_>) -> Self {
        let Calibration { noise_share, member_factor, .. } = question.calibration;
        let Prediction { members, log_variance } = factual.prediction;
        let mut model = member_covariance(members, members, question.outcome_shape());
        model.iter_mut().for_each(|v| *v *= member_factor);
        let noise = log_variance.iter().zip(noise_share.iter().cycle()).map(|(log, share)| share * log.exp());
        Self { noise: noise.collect(), model }
    }

    fn transfer(&self, question: &BatchQuestion<'_>, factual: &Factual<'_>, to: &Prediction) -> Transfer {
        let here = factual.prediction;
        let shared = member_covariance(&here.members, &to.members, question.outcome_shape());
        let of_element = |i: usize| {
            let noise = factual.rho[i] * (0.5 * (to.log_variance[i] - here.log_variance[i])).exp();
            let error = factual.rho[i] * question.calibration.member_factor * shared[i];
            let total = (self.noise[i] + self.model[i]).max(f32::MIN_POSITIVE);
            (noise, (noise * self.noise[i] + error) / total)
        };
        let (noise, residual) = (0..shared.len()).map(of_element).unzip();
        Transfer { noise, residual }
    }
}

#[cfg(test)]
mod tests;
