//! Posterior and answer of every class, in standardised outcomes.

use burn::tensor::Device;

use crate::data::Batcher;
use crate::em::{Calibration, Mixture, covariance, gaussian_nll, log_sum_exp, spread};

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

    /// Element `i`, which goes so far, stays where it was with probability `stays`.
    fn hold(&mut self, i: usize, moved: f32, stays: f32, calibration: &Calibration) {
        let goes = 1.0 - stays;
        self.mean[i] -= stays * moved;
        self.model[i] = goes * self.model[i] + stays * goes * moved.powi(2) / calibration.spread;
        self.transport[i] *= goes;
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
        Self {
            mean: put(self.mean),
            model: put(self.model),
            noise: put(self.noise),
            transport: put(self.transport),
        }
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
    /// What part of a residual is noise, and what the members' variance must be multiplied by.
    pub calibration: &'a Calibration,
    /// Classes less probable than this are not asked.
    pub least: f32,
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

    /// Of an outcome.
    fn shape(&self) -> &[usize] {
        self.batcher.scaler.y.shape()
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

/// Answers of classes less probable than this could not be seen in the sum.
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
            (0..rows.len()).filter(|i| posterior[i * classes + k] >= question.least).collect();
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

/// How far every element that was seen would go from there, as the most probable class of each unit says.
pub(crate) fn effects(mixture: &Mixture, question: &Question<'_>, device: &Device) -> Vec<f32> {
    let (batcher, d, classes) = (&question.batcher, question.batcher.scaler.y.each(), mixture.classes());
    let abducted = abduct(mixture, question, device);
    let y = batcher.outcomes(question.rows);
    let mut out = Vec::with_capacity(y.len());
    for (i, &row) in question.rows.iter().enumerate() {
        let answer = &abducted.classes[likeliest(&abducted.posterior[i * classes..][..classes])];
        let mask = batcher.data.y().mask_row(row);
        let seen = (0..d).filter(|&j| mask.is_none_or(|mask| mask[j])).map(|j| i * d + j);
        out.extend(seen.map(|at| answer.mean[at] - y[at]));
    }
    out
}

/// The most probable class.
pub(crate) fn likeliest(posterior: &[f32]) -> usize {
    (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b])).unwrap_or(0)
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
        let (own, mask, prior) =
            (i * d..(i + 1) * d, batcher.data.y().mask_row(row), mixture.prior.log(batcher, row));
        let nll = factual.iter().zip(seen).zip(prior).map(|((members, seen), prior)| {
            mean.fill(0.0);
            members
                .iter()
                .for_each(|m| mean.iter_mut().zip(&m[own.clone()]).for_each(|(sum, m)| *sum += m * share));
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

impl Factual<'_> {
    /// The answer for element `i`, were its treatment what it was.
    fn unmoved(&self, i: usize) -> f32 {
        let mean = self.members.iter().map(|m| m[i]).sum::<f32>() / self.members.len() as f32;
        mean + self.kept[i] * (self.y[i] - mean)
    }
}

/// What class k answers.
///
/// A factual residual r = y - m(t) is noise e, of variance a s(t)^2, and the model's own error b(t), of variance v, which
/// the members' differences tell. Of the noise rho s(t') / s(t) is carried over; of the model's error what it has in
/// common with that at t', by the members' covariance:
///
/// ```text
/// answer = m(t') + c r,   c = rho (a s(t) s(t') + cov(b(t), b(t'))) / (a s(t)^2 + v)
/// ```
///
/// At t' = t and rho = 1 this is y itself, and so it is for an element that is [still](crate::Stillness).
fn class_answer(
    mixture: &Mixture,
    question: &Question<'_>,
    k: usize,
    factual: &Factual<'_>,
    device: &Device,
) -> ClassAnswer {
    let under = |t: &[f32]| -> Under {
        let means =
            mixture.members.iter().map(|m| m.mean(k, &question.batcher, question.rows, Some(t), device));
        Under { log_variance: question.log_variance(mixture, k, t), means: means.collect() }
    };
    let (to, from) = (under(question.to), question.from.map(under));
    let own = Own::new(question, factual);
    let (mut noise_kept, mut carried) = own.carried(question, factual, &to);
    if let Some(from) = &from {
        let (kept, other) = own.carried(question, factual, from);
        noise_kept.iter_mut().zip(kept).for_each(|(a, b)| *a -= b);
        carried.iter_mut().zip(other).for_each(|(a, b)| *a -= b);
    }
    let member = |j: usize| -> Vec<f32> {
        let less = |i: usize| from.as_ref().map_or(0.0, |from| from.means[j][i]);
        let answer = |i: usize| to.means[j][i] - less(i) - carried[i] * factual.members[j][i];
        (0..carried.len()).map(answer).collect()
    };
    let spread = spread((0..mixture.members.len()).map(member).collect(), question.shape());
    let mean = spread.mean.iter().zip(factual.y.iter().zip(&carried)).map(|(m, (y, c))| m + c * y).collect();
    let deviation = |log_variance: f32| (0.5 * log_variance).exp();
    let fresh = |i: usize| {
        let gap =
            deviation(to.log_variance[i]) - from.as_ref().map_or(0.0, |from| deviation(from.log_variance[i]));
        (1.0 - factual.kept[i].powi(2)) * gap.powi(2)
    };
    let transport = |i: usize| {
        let (there, here) = (to.log_variance[i].exp(), factual.seen[i].exp());
        let grown = 1.0 - there.min(here) / there.max(here);
        let unknown = (noise_kept[i] - carried[i]).powi(2) * own.noise[i];
        TRANSPORT * factual.kept[i].powi(2) * there * grown + unknown
    };
    // one member knows nothing of its own uncertainty: say no less than the noise
    let model = if mixture.members.len() > 1 {
        spread.variance
    } else {
        to.log_variance.iter().map(|log_variance| log_variance.exp()).collect()
    };
    let all = 0..carried.len();
    let mut answer = ClassAnswer {
        mean,
        model,
        noise: all.clone().map(fresh).collect(),
        transport: all.map(transport).collect(),
    };
    if let Some(still) = question.calibration.still {
        for (i, kept) in factual.kept.iter().enumerate() {
            let moved = answer.mean[i] - if from.is_some() { 0.0 } else { factual.unmoved(i) };
            // what an element showed speaks for it only as far as its noise is the same
            answer.hold(i, moved, kept * (1.0 - still.responds(moved)), question.calibration);
        }
    }
    answer
}

/// Members' means and log s_k^2 under some treatments.
struct Under {
    log_variance: Vec<f32>,
    means: Vec<Vec<f32>>,
}

/// The variance of factual residuals, in its parts.
struct Own {
    noise: Vec<f32>,
    /// Of the members' own error.
    error: Vec<f32>,
}

impl Own {
    fn new(question: &Question<'_>, factual: &Factual<'_>) -> Self {
        let Calibration { noise, spread, .. } = question.calibration;
        let mut error = covariance(factual.members, factual.members, question.shape());
        error.iter_mut().for_each(|v| *v *= spread);
        let noise = factual.seen.iter().zip(noise.iter().cycle()).map(|(seen, share)| share * seen.exp());
        Self { noise: noise.collect(), error }
    }

    /// How much of a residual's noise goes over to other treatments, and how much of the residual.
    fn carried(&self, question: &Question<'_>, factual: &Factual<'_>, under: &Under) -> (Vec<f32>, Vec<f32>) {
        let shared = covariance(factual.members, &under.means, question.shape());
        let of = |i: usize| {
            let kept = factual.kept[i] * (0.5 * (under.log_variance[i] - factual.seen[i])).exp();
            let error = factual.kept[i] * question.calibration.spread * shared[i];
            let all = (self.noise[i] + self.error[i]).max(f32::MIN_POSITIVE);
            (kept, (kept * self.noise[i] + error) / all)
        };
        (0..shared.len()).map(of).unzip()
    }
}
