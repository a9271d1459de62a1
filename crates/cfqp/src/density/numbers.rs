//! The distribution of a number under another treatment: what one group of members says of it.
//!
//! Of class k now and class j then, a member has the centre m_j(x, t') + s_j(x, t') z_k. Centres differ between members with
//! variance B; the error of the group's answer has variance V, a multiple of B. What the unit showed tells nothing beyond that
//! error: with S the variance of fresh noise in class j, the noise is carried over with the weight A = S / (S + V), and the
//! variance is A V, never more than S.
//!
//! Where noise is wider under one of two treatments, the data do not show whether it is the same noise on another scale or noise
//! of which a part belongs to one treatment alone, as where responses differ between units without classes. V includes a share of
//! the variance of such a part. Treatments of few values do not show which class under one value is which under
//! another: there every class then is possible, with its weight given x and t'.

use super::correlation::Correlation;
use super::group::Group;
use super::law::ResidualComponent;
use super::member::Evaluator;
use super::scale::OutcomeScale;
use super::views::{ClassView, Distribution, Location, Prediction, Question};
use crate::math::GaussianComponent;

/// Classes less probable than this are left out.
const MIN_POSTERIOR: f64 = 1e-3;
/// A correlation from which on noise is the same.
const SAME_NOISE: f64 = 0.9999;
/// The weight of a member for the variance between members, where its posterior of the class is 0; in mean posteriors.
const MIN_MEMBER_WEIGHT: f64 = 0.05;
/// The probability that classes which respond as much alike as possible are the same under all values of a treatment: in intervals,
/// which allow for units of any kind, and in points.
const SAME_CLASS: f64 = 0.5;
const SAME_CLASS_IN_POINTS: f64 = 0.8;
/// The probability, in intervals for treatments of few values, that noise under one of them tells nothing of that under another: it
/// may be classes that the fit does not show.
const FORGOTTEN: f64 = 0.1;
/// Answers for different classes then are the same if their variance is at most this share of the variance of the noise.
const MAX_PAIRING_VARIANCE: f64 = 0.1;
/// The share of the difference of the noise under two treatments that belongs to one of them alone.
const OWN_NOISE: f64 = 0.5;
/// The variance of the error of an effect over that between members, relative to that of an outcome: for treatments of many values,
/// and of few. Set on random scenarios.
const EFFECT_ERROR_RATIO: f64 = 0.45;
const FEW_VALUES_EFFECT_ERROR_RATIO: f64 = 0.75;
/// The largest variance of a standardised residual.
const MAX_RESIDUAL_VARIANCE: f64 = 3.0;

/// A question about one number of one row.
pub(super) struct NumberQuestion {
    /// The place of the row in its subject, and the outcome.
    i: usize,
    j: usize,
    d: usize,
    scale: OutcomeScale,
    /// The scale on which components are computed: that of the network, unless a difference is asked for.
    component_scale: OutcomeScale,
    rho: Correlation,
    /// Whether the difference of two outcomes is asked for.
    is_difference: bool,
    /// Whether the treatments asked about, and compared with, are the one received; and whether they are equal.
    to_received: bool,
    from_received: bool,
    equal: bool,
    /// How far the treatment asked about is from the one compared with, or received: 0 if they are equal, 1 if far.
    distance: f64,
}

/// 1 - exp(-8 d^2) for standardised treatments at a distance d.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let squared: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    -(-8.0 * squared).exp_m1()
}

impl NumberQuestion {
    pub(super) fn new(question: &Question<'_>, row: usize, i: usize, j: usize, scale: OutcomeScale) -> Self {
        let d_t = question.to.len() / question.rows.len();
        let received = &question.rows.input(row)[question.rows.width - d_t..];
        let to = &question.to[row * d_t..][..d_t];
        let from = question.from.map(|from| &from[row * d_t..][..d_t]);
        let (to_received, from_received) = (to == received, from.is_some_and(|from| from == received));
        Self {
            i,
            j,
            d: question.rows.d,
            scale,
            component_scale: if from.is_some() { scale } else { OutcomeScale::Identity },
            rho: question.rho,
            is_difference: from.is_some(),
            to_received,
            from_received,
            equal: from == Some(to),
            distance: distance(to, from.unwrap_or(received)),
        }
    }

    fn is_averaged_as_logarithm(&self) -> bool {
        !self.is_difference && self.scale.is_wide()
    }

    /// The distribution of the answer, without components.
    pub(super) fn distribution(&self) -> Distribution {
        Distribution {
            scale: if self.is_difference { OutcomeScale::Identity } else { self.scale },
            point_scale: if self.is_averaged_as_logarithm() { self.scale } else { OutcomeScale::Identity },
            ..Distribution::default()
        }
    }

    /// The place of the outcome in class `k` among the means of all classes.
    fn head(&self, k: usize) -> usize {
        k * self.d + self.j
    }

    /// The classes under the treatment asked about and the one compared with, for a unit of class `k`, and their probability
    /// given the class weights there. If `free`, classes under another treatment are the same with the probability `same`, and
    /// otherwise independent.
    fn pairings(&self, k: usize, free: bool, same: f64, prediction: &Prediction) -> Vec<([usize; 2], f64)> {
        if !free {
            return vec![([k, k], 1.0)];
        }
        let under = |received: bool, location: &Location| match received {
            true => vec![(k, 1.0)],
            false => {
                let share = |a: usize| if a == k { same } else { 0.0 };
                let weights = location.weights().into_iter().enumerate();
                weights.map(|(a, weight)| (a, (1.0 - same) * weight + share(a))).collect()
            }
        };
        let of_to = under(self.to_received, &prediction.to);
        let from = prediction.from.as_ref().filter(|_| !self.equal);
        let Some(from) = from else { return of_to.into_iter().map(|(a, p)| ([a, a], p)).collect() };
        let of_from = under(self.from_received, from);
        let pair = |&(a, p): &(usize, f64)| of_from.iter().map(move |&(b, q)| ([a, b], p * q));
        of_to.iter().flat_map(pair).collect()
    }
}

/// What the members of a group say of a row.
pub(super) struct GroupViews<'a> {
    pub group: &'a Group,
    /// Its weight in intervals over that in points.
    pub interval_factor: f64,
    pub members: &'a [Evaluator<'a>],
    pub views: &'a [Vec<ClassView>],
    pub predictions: &'a [Prediction],
}

impl GroupViews<'_> {
    /// Whether classes need not be the same under all values of the treatments, because these have few values.
    fn is_free(&self) -> bool {
        let form = &self.members[0].member.form;
        form.classes > 1 && !form.alike && form.has_few_values()
    }

    /// P(class), the mean over members.
    fn posterior(&self, k: usize) -> f64 {
        self.views.iter().map(|views| views[k].posterior).sum::<f64>() / self.views.len() as f64
    }

    /// The value of member `m` at a normal score, of the heads under both treatments, on the scale of the components.
    fn value(&self, m: usize, heads: [usize; 2], score: f64, asked: &NumberQuestion) -> f64 {
        self.predictions[m].value(heads, self.members[m].noise.residual_at(score), asked.component_scale)
    }

    /// Adds the answers of the group.
    pub(super) fn add_to(&self, asked: &NumberQuestion, out: &mut Distribution) {
        let (classes, share) = (self.views[0].len(), self.group.weight / self.members.len() as f64);
        let in_intervals = share * self.interval_factor;
        let free = self.is_free();
        let nodes = self.nodes(asked);
        let mut sums = vec![(0.0, 0.0); self.members.len()];
        for k in 0..classes {
            let posterior = self.posterior(k);
            if posterior < MIN_POSTERIOR {
                continue;
            }
            let pairings = |same: f64| -> Vec<Vec<([usize; 2], f64)>> {
                self.predictions.iter().map(|prediction| asked.pairings(k, free, same, prediction)).collect()
            };
            let (pairings, in_points) = (pairings(SAME_CLASS), pairings(SAME_CLASS_IN_POINTS));
            if pairings[0].len() > 1 && self.differ(asked, &pairings[0]) {
                out.unidentified += self.group.weight * posterior;
            }
            for (p, &(pair, _)) in pairings[0].iter().enumerate() {
                for &([node, in_point], rho) in &nodes {
                    let carried = Carried::new(self, asked, k, pair, rho);
                    for (m, sums) in sums.iter_mut().enumerate() {
                        let posterior = self.views[m][k].posterior;
                        let weight = share * posterior * in_point * in_points[m][p].1;
                        let weights = [in_intervals * posterior * node * pairings[m][p].1, weight];
                        let sum = weight * carried.add(self, m, asked, weights, out);
                        *sums = (sums.0 + weight, sums.1 + sum);
                    }
                }
            }
        }
        out.add_members(self.group.weight, &sums);
    }

    /// Values of rho, with their weights in the distribution and in the point.
    fn nodes(&self, asked: &NumberQuestion) -> Vec<([f64; 2], f64)> {
        let may_forget = self.members[0].member.form.has_few_values() && !asked.is_difference;
        let forgotten = if may_forget && !asked.to_received { FORGOTTEN } else { 0.0 };
        let nodes = asked.rho.nodes().into_iter().map(|(node, rho)| ([(1.0 - forgotten) * node, node], rho));
        nodes.chain((forgotten > 0.0).then_some(([forgotten, 0.0], 0.0))).collect()
    }

    /// The logarithms of the scale of the noise of member `m` under the treatment asked about, and under the one compared with or
    /// received.
    fn log_scales(&self, m: usize, asked: &NumberQuestion, k: usize, [to, from]: [usize; 2]) -> [f64; 2] {
        let prediction = &self.predictions[m];
        let other = match &prediction.from {
            Some(location) => location.log_scale(asked.head(from)),
            None => self.views[m][k].log_scales[asked.i * asked.d + asked.j],
        };
        [prediction.to.log_scale(asked.head(to)), other]
    }

    /// The smaller scale of the noise over the larger one: the mean over members.
    fn common_scale(&self, asked: &NumberQuestion, k: usize, pair: [usize; 2]) -> f64 {
        let of_member = |m: usize| {
            let [to, other] = self.log_scales(m, asked, k, pair);
            (-(to - other).abs()).exp()
        };
        (0..self.members.len()).map(of_member).sum::<f64>() / self.members.len() as f64
    }

    /// The variance of the part of the noise that belongs to one of two treatments alone, if what is common to both is the smaller
    /// of both: the mean over members.
    fn own_noise(&self, asked: &NumberQuestion, k: usize, pair: [usize; 2]) -> f64 {
        let of_member = |m: usize| {
            let [to, other] = self.log_scales(m, asked, k, pair);
            let at = |z: f64| self.predictions[m].to.at(asked.head(pair[0]), z);
            let ends = [-1.0, 1.0].map(|z| asked.component_scale.restore(at(z)));
            let largest = if asked.is_difference { to.max(other) } else { to };
            let variance = (0.5 * (ends[1] - ends[0])).powi(2) * (2.0 * (largest - to)).exp();
            variance * (1.0 - (-2.0 * (to - other).abs()).exp())
        };
        (0..self.members.len()).map(of_member).sum::<f64>() / self.members.len() as f64
    }

    /// The variance of the outcome under the treatment asked about with fresh noise: the mean over members.
    fn fresh_variance(&self, asked: &NumberQuestion, pair: [usize; 2]) -> f64 {
        let of_member = |m: usize| {
            let at =
                |z: f64| self.predictions[m].to.at(asked.head(pair[0]), self.members[m].noise.residual_at(z));
            let ends = [-1.0, 1.0].map(|z| asked.component_scale.restore(at(z)));
            (0.5 * (ends[1] - ends[0])).powi(2)
        };
        (0..self.members.len()).map(of_member).sum::<f64>() / self.members.len() as f64
    }

    /// The variance of what belongs to one of two treatments alone: noise, and responses that differ between units without a class
    /// of the fit. In an outcome with noise of its own it is a part of that noise.
    fn own_error(&self, asked: &NumberQuestion, k: usize, pair: [usize; 2], rho: f64) -> f64 {
        let unseen = match self.group.unseen_share * asked.distance {
            0.0 => 0.0,
            share => share * self.fresh_variance(asked, pair),
        };
        let noise = || OWN_NOISE * self.own_noise(asked, k, pair);
        match asked.rho {
            _ if asked.is_difference => noise() + unseen,
            // a smaller correlation stands for such noise
            Correlation::Unknown => rho * rho * unseen,
            Correlation::Known(_) => rho * rho * (noise() + unseen),
        }
    }

    /// Whether classes then, of which some are not improbable, give different answers.
    fn differ(&self, asked: &NumberQuestion, pairings: &[([usize; 2], f64)]) -> bool {
        let mut spread = Weighted::default();
        let mut fresh = 0.0;
        for (pair, weight) in pairings {
            let heads = pair.map(|class| asked.head(class));
            let count = self.members.len();
            let mean =
                |z: f64| (0..count).map(|m| self.value(m, heads, z, asked)).sum::<f64>() / count as f64;
            spread.add(*weight, mean(0.0));
            fresh += weight * (0.5 * (mean(1.0) - mean(-1.0))).powi(2);
        }
        let variance = (spread.squares / spread.weight - (spread.sum / spread.weight).powi(2)).max(0.0);
        variance > MAX_PAIRING_VARIANCE * fresh.max(1e-6)
    }
}

/// What the members of a group say of one class now, one pair of classes then, and one correlation.
struct Carried {
    heads: [usize; 2],
    /// The normal score of every member, and its deviation.
    scores: Vec<(f64, f64)>,
    /// How much of the carried noise to believe, in intervals and in points.
    believed: f64,
    believed_in_points: f64,
    /// The variance to add.
    variance: f64,
}

impl Carried {
    fn new(of: &GroupViews<'_>, asked: &NumberQuestion, k: usize, pair: [usize; 2], rho: f64) -> Self {
        let heads = pair.map(|class| asked.head(class));
        // an unknown correlation is smaller if a part of the noise belongs to one treatment alone; a given one is used as it is
        let rho = match asked.rho {
            Correlation::Unknown => rho * (1.0 - OWN_NOISE * (1.0 - of.common_scale(asked, k, pair))),
            Correlation::Known(_) => rho,
        };
        let score = |views: &Vec<ClassView>| {
            let scores: Vec<f64> = views[k].scores.iter().skip(asked.j).step_by(asked.d).copied().collect();
            score_under(rho, &scores, asked.i)
        };
        let scores: Vec<(f64, f64)> = of.views.iter().map(score).collect();
        // without an outcome there is no noise to carry over
        let rho = if scores[0] == (0.0, 1.0) { 0.0 } else { rho };
        let posterior = of.posterior(k);
        let (mut centres, mut fresh) = (Weighted::default(), 0.0);
        for (m, score) in scores.iter().enumerate() {
            let value = |score: f64| of.value(m, heads, score, asked);
            centres.add(of.views[m][k].posterior + MIN_MEMBER_WEIGHT * posterior, value(score.0));
            fresh += (0.5 * (value(1.0) - value(-1.0))).powi(2) / scores.len() as f64;
        }
        let between = centres.variance();
        let ratio = match (asked.is_difference, of.members[0].member.form.has_few_values()) {
            (false, _) => of.group.error_ratio,
            (true, false) => EFFECT_ERROR_RATIO * of.group.error_ratio,
            (true, true) => FEW_VALUES_EFFECT_ERROR_RATIO * of.group.error_ratio,
        };
        let fresh = fresh * residual_excess(&of.members[0].noise);
        let error = ratio * between + of.own_error(asked, k, pair, rho);
        let believed = if asked.is_difference || error <= 0.0 { 1.0 } else { fresh / (fresh + error) };
        let kept = 1.0 - rho * rho * (1.0 - believed);
        Self {
            heads,
            scores,
            believed,
            believed_in_points: if of.is_free() { believed } else { 1.0 },
            variance: (error - between).max(0.0) * kept,
        }
    }

    /// Adds what member `m` says, with its weights in the distribution and in the point; gives its mean answer.
    fn add(
        &self,
        of: &GroupViews<'_>,
        m: usize,
        asked: &NumberQuestion,
        [weight, point_weight]: [f64; 2],
        out: &mut Distribution,
    ) -> f64 {
        let (score, deviation) = self.scores[m];
        let on = |scale: OutcomeScale| move |z: f64| of.predictions[m].value(self.heads, z, scale);
        let value = on(asked.component_scale);
        let noise = &of.members[m].noise;
        let mut residuals: Vec<ResidualComponent> = Vec::new();
        noise.given_score(self.believed * score, deviation, &mut residuals);
        for residual in &residuals {
            let ends = [-1.0, 1.0].map(|s| value(residual.mean + s * residual.deviation));
            let own = 0.5 * (ends[1] - ends[0]);
            out.components.push(GaussianComponent {
                weight: weight * residual.weight,
                mean: value(residual.mean),
                deviation: (own * own + self.variance).sqrt(),
            });
        }
        noise.given_score(self.believed_in_points * score, deviation, &mut residuals);
        let mean = |value: &dyn Fn(f64) -> f64| -> f64 {
            residuals.iter().map(|residual| residual.weight * value(residual.mean)).sum()
        };
        let arithmetic = mean(&on(asked.scale));
        out.point += point_weight * if asked.is_averaged_as_logarithm() { mean(&value) } else { arithmetic };
        out.weight += point_weight;
        arithmetic
    }
}

/// The variance of a residual over that of its middle two thirds.
fn residual_excess(noise: &super::law::Noise) -> f64 {
    match *noise {
        super::law::Noise::StudentT { nu, .. } => (nu / (nu - 2.0).max(0.1)).min(MAX_RESIDUAL_VARIANCE),
        _ => 1.0,
    }
}

/// A weighted mean and variance.
#[derive(Default)]
struct Weighted {
    weight: f64,
    squared_weight: f64,
    sum: f64,
    squares: f64,
}

impl Weighted {
    fn add(&mut self, weight: f64, value: f64) {
        self.weight += weight;
        self.squared_weight += weight * weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
    }

    /// The variance of the population; 0 for fewer than two values.
    fn variance(&self) -> f64 {
        let effective = self.weight * self.weight / self.squared_weight.max(f64::MIN_POSITIVE);
        let mean = self.sum / self.weight;
        let variance = (self.squares / self.weight - mean * mean).max(0.0);
        // rounding errors of squares are no variance
        if variance < 1e-10 * (1.0 + mean * mean) {
            0.0
        } else {
            variance * effective / (effective - 1.0).max(0.5)
        }
    }
}

/// The mean and deviation of the normal score under another treatment, given those of the rows of a subject; `own` is the
/// row that is asked about.
///
/// Scores of one subject have correlation rho with each other, so E[g' | g] = rho sum_r g_r / (1 + (m - 1) rho).
pub(super) fn score_under(rho: f64, scores: &[f64], own: usize) -> (f64, f64) {
    if rho >= SAME_NOISE {
        return if scores[own].is_nan() { (0.0, 1.0) } else { (scores[own], 0.0) };
    }
    let observed = scores.iter().filter(|score| !score.is_nan());
    let (m, sum) = observed.fold((0.0, 0.0), |(m, sum), score| (m + 1.0, sum + score));
    if m == 0.0 {
        return (0.0, 1.0);
    }
    let shared = 1.0 + (m - 1.0) * rho;
    (rho * sum / shared, (1.0 - rho * rho * m / shared).max(0.0).sqrt())
}
