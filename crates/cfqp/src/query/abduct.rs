//! Posterior and answer of every class, in standardised outcomes.

use burn::tensor::Device;

use crate::data::Batcher;
use crate::em::{Mixture, gaussian_nll, log_sum_exp, spread};

/// Where scales differ between two treatments, part of the noise may grow with the scale and part stay: carrying all
/// of it over by the ratio of scales is then off by a share of the growth s(t')^2 (1 - min s^2 / max s^2). For one
/// growing and one constant part that share lies between 0 and a third; this is what intervals allow for.
const TRANSPORT: f32 = 0.1;

/// What one class answers for a batch of n units.
pub(crate) struct ClassAnswer {
    /// `[n, y elements]`
    pub mean: Vec<f32>,
    /// The members' variance of that mean, `[n, y elements]`.
    pub model: Vec<f32>,
    /// Variance of the noise that is not the same in both worlds, `[n, y elements]`.
    pub noise: Vec<f32>,
    /// Variance from not knowing which part of the noise grows with the scale, `[n, y elements]`.
    pub transport: Vec<f32>,
}

impl ClassAnswer {
    fn none(len: usize) -> Self {
        let zeros = || vec![0.0; len];
        Self { mean: zeros(), model: zeros(), noise: zeros(), transport: zeros() }
    }

    /// The same answers at their places among `n` units, zero elsewhere.
    fn among(self, n: usize, places: &[usize], each: usize) -> Self {
        let put = |values: Vec<f32>| {
            let mut all = vec![0.0; n * each];
            for (&place, row) in places.iter().zip(values.chunks_exact(each)) {
                all[place * each..(place + 1) * each].copy_from_slice(row);
            }
            all
        };
        Self { mean: put(self.mean), model: put(self.model), noise: put(self.noise), transport: put(self.transport) }
    }
}

/// The answers of all classes and how probable each class is; zero where a class is too improbable to ask.
pub(crate) struct Abducted {
    /// `[n, classes]`
    pub posterior: Vec<f32>,
    pub classes: Vec<ClassAnswer>,
}

/// A question about some units of a data set: their outcome under `to`, or how much that lies above their outcome
/// under `from`. Treatments are standardised, `[n, d_t]`.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub batcher: Batcher<'a>,
    pub rows: &'a [usize],
    pub to: &'a [f32],
    pub from: Option<&'a [f32]>,
    pub rho: f32,
}

/// Some units of a question.
struct Portion {
    rows: Vec<usize>,
    to: Vec<f32>,
    from: Option<Vec<f32>>,
}

impl Portion {
    /// As a question of its own.
    fn question<'a>(&'a self, whole: &Question<'a>) -> Question<'a> {
        Question { rows: &self.rows, to: &self.to, from: self.from.as_deref(), ..*whole }
    }
}

impl Question<'_> {
    /// The same question about the units at `places`.
    fn of(&self, places: &[usize]) -> Portion {
        let d_t = self.d_t();
        Portion {
            rows: places.iter().map(|&i| self.rows[i]).collect(),
            to: pick(self.to, places, d_t),
            from: self.from.map(|from| pick(from, places, d_t)),
        }
    }

    fn d_t(&self) -> usize {
        self.batcher.scaler.t.each()
    }

    /// log s_k(t)^2 of every unit and element at treatments `t`.
    fn log_variance(&self, mixture: &Mixture, k: usize, t: &[f32]) -> Vec<f32> {
        t.chunks_exact(self.d_t()).flat_map(|t| mixture.scales.log_variance(k, t)).collect()
    }

    /// rho where an outcome was observed, 0 where it was not: there is no noise to carry over.
    fn kept(&self) -> Vec<f32> {
        let d = self.batcher.scaler.y.each();
        let kept = |&row: &usize| match self.batcher.data.y().mask_row(row) {
            Some(mask) => mask.iter().map(|&seen| if seen { self.rho } else { 0.0 }).collect(),
            None => vec![self.rho; d],
        };
        self.rows.iter().flat_map(kept).collect()
    }
}

/// Classes less probable than this are not asked: their answers could not be seen in the sum.
pub(crate) const NEGLIGIBLE: f32 = 1e-6;

/// Abduction, action, prediction.
pub(crate) fn abduct(mixture: &Mixture, question: &Question<'_>, device: &Device) -> Abducted {
    let (batcher, rows, classes) = (&question.batcher, question.rows, mixture.classes());
    let (y, t) = (batcher.outcomes(rows), batcher.treatments(rows));
    let factual: Vec<Vec<Vec<f32>>> = (0..classes)
        .map(|k| mixture.members.iter().map(|m| m.mean(k, batcher, rows, Some(&t), device)).collect())
        .collect();
    let seen: Vec<Vec<f32>> = (0..classes).map(|k| question.log_variance(mixture, k, &t)).collect();
    let posterior = posterior(mixture, question, &y, &factual, &seen);
    let kept = question.kept();
    let answers = (0..classes).map(|k| {
        let factual = Factual { y: &y, kept: &kept, seen: &seen[k], members: &factual[k] };
        let asked: Vec<usize> =
            (0..rows.len()).filter(|i| posterior[i * classes + k] >= NEGLIGIBLE).collect();
        if asked.len() == rows.len() {
            return class_answer(mixture, question, k, &factual, device);
        }
        let part = question.of(&asked);
        let (d, n) = (batcher.scaler.y.each(), rows.len());
        let members: Vec<Vec<f32>> = factual.members.iter().map(|m| pick(m, &asked, d)).collect();
        let [y, kept, seen] = [factual.y, factual.kept, factual.seen].map(|values| pick(values, &asked, d));
        let own = Factual { y: &y, kept: &kept, seen: &seen, members: &members };
        if asked.is_empty() {
            return ClassAnswer::none(n * d);
        }
        class_answer(mixture, &part.question(question), k, &own, device).among(n, &asked, d)
    });
    Abducted { classes: answers.collect(), posterior }
}

/// P(class | x, t, y), `[n, classes]`.
fn posterior(
    mixture: &Mixture,
    question: &Question<'_>,
    y: &[f32],
    factual: &[Vec<Vec<f32>>],
    seen: &[Vec<f32>],
) -> Vec<f32> {
    let (batcher, d) = (&question.batcher, question.batcher.scaler.y.each());
    let share = 1.0 / mixture.members.len() as f32;
    let mut out = Vec::with_capacity(question.rows.len() * factual.len());
    let mut mean = vec![0.0; d];
    for (i, &row) in question.rows.iter().enumerate() {
        let (own, mask, prior) = (i * d..(i + 1) * d, batcher.data.y().mask_row(row), mixture.prior.log(batcher, row));
        let nll = factual.iter().zip(seen).zip(prior).map(|((members, seen), prior)| {
            mean.fill(0.0);
            members.iter().for_each(|m| mean.iter_mut().zip(&m[own.clone()]).for_each(|(sum, m)| *sum += m * share));
            gaussian_nll(&y[own.clone()], &mean, &seen[own.clone()], mask) - f64::from(prior)
        });
        let nll: Vec<f64> = nll.collect();
        let total = log_sum_exp(&nll);
        out.extend(nll.iter().map(|nll| (-nll - total).exp() as f32));
    }
    out
}

/// Rows `which` of an array of rows of `each`.
fn pick(values: &[f32], which: &[usize], each: usize) -> Vec<f32> {
    which.iter().flat_map(|&i| &values[i * each..(i + 1) * each]).copied().collect()
}

/// What was seen of a batch, and what class k's members make of it.
struct Factual<'a> {
    y: &'a [f32],
    kept: &'a [f32],
    /// log s_k(t)^2
    seen: &'a [f32],
    members: &'a [Vec<f32>],
}

fn class_answer(
    mixture: &Mixture,
    question: &Question<'_>,
    k: usize,
    factual: &Factual<'_>,
    device: &Device,
) -> ClassAnswer {
    let (batcher, rows) = (&question.batcher, question.rows);
    let to = question.log_variance(mixture, k, question.to);
    let from = question.from.map(|from| question.log_variance(mixture, k, from));
    // how much of a factual residual is carried over: rho s_k(t') / s_k(t), less the same under `from`
    let deviation = |log_variance: f32| (0.5 * log_variance).exp();
    let ratio =
        |log_variance: &[f32], i: usize| factual.kept[i] * deviation(log_variance[i] - factual.seen[i]);
    let carried: Vec<f32> =
        (0..to.len()).map(|i| ratio(&to, i) - from.as_ref().map_or(0.0, |from| ratio(from, i))).collect();
    let member = |(member, seen): (&crate::em::Components, &Vec<f32>)| {
        let mut answer = member.mean(k, batcher, rows, Some(question.to), device);
        if let Some(from) = question.from {
            let other = member.mean(k, batcher, rows, Some(from), device);
            answer.iter_mut().zip(other).for_each(|(a, b)| *a -= b);
        }
        answer.iter_mut().zip(seen.iter().zip(&carried)).for_each(|(a, (seen, c))| *a -= c * seen);
        answer
    };
    let members = mixture.members.iter().zip(factual.members).map(member).collect();
    let spread = spread(members, batcher.scaler.y.each() / batcher.scaler.y.shape()[0]);
    let mean = spread.mean.iter().zip(factual.y.iter().zip(&carried)).map(|(m, (y, c))| m + c * y).collect();
    let fresh = |i: usize| {
        let gap = deviation(to[i]) - from.as_ref().map_or(0.0, |from| deviation(from[i]));
        (1.0 - factual.kept[i].powi(2)) * gap.powi(2)
    };
    let noise = (0..to.len()).map(fresh).collect();
    let transport = (0..to.len()).map(|i| {
        let (there, here) = (to[i].exp(), factual.seen[i].exp());
        let grown = 1.0 - there.min(here) / there.max(here);
        TRANSPORT * factual.kept[i].powi(2) * there * grown
    });
    let transport = transport.collect();
    // one member knows nothing of its own uncertainty: say no less than the noise
    let model = if mixture.members.len() > 1 {
        spread.variance
    } else {
        to.iter().map(|log_variance| log_variance.exp()).collect()
    };
    ClassAnswer { mean, model, noise, transport }
}
