//! Answers of an ensemble of mixture density networks: a mixture over members, classes and residuals.
//!
//! Every member has its own posterior over classes. Under a class, the residual keeps its rank: with correlation rho its
//! normal score g becomes N(rho g, 1 - rho^2) under the other treatment. Where rho is unknown, it is uniform on [0, 1].

use super::law::ResidualComponent;
use super::levels::{Correlation, LevelCalibration};
use super::member::{Evaluator, Member};
use super::network::ClassWeights;
use super::rows::Rows;
use super::scale::OutcomeScale;
use crate::math::{GaussianComponent, UNIFORM_NODES, central_interval, log_sum_exp_of, normal_half_width};

/// Classes less probable than this are left out.
const MIN_POSTERIOR: f64 = 1e-3;
/// The smallest standard deviation of a component, in standardised outcomes; rounding errors are smaller.
const MIN_DEVIATION: f64 = 1e-4;
/// A correlation from which on noise is the same.
const SAME_NOISE: f64 = 0.9999;

/// Several members, each fitted to half of the subjects. Class k is the same class in all members that have the number of
/// classes of the first. Members with another number of classes stand for numbers that held-out units do not rule out.
#[derive(Clone, Debug)]
pub(crate) struct Ensemble {
    pub members: Vec<Member>,
    pub scales: Vec<OutcomeScale>,
    pub calibration: LevelCalibration,
    /// The correlation of the noise of two rows of one subject, if subjects were seen more than once.
    pub learned_rho: Option<f64>,
    /// The variance of the ensemble's error over that between members.
    pub error_ratio: f64,
}

/// A question about the rows of some subjects, with treatments of every row, standardised, `[rows, d_t]`.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub rows: &'a Rows,
    pub to: &'a [f32],
    pub from: Option<&'a [f32]>,
    pub rho: Correlation,
}

/// The distribution of one element of an answer, before calibration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    pub components: Vec<GaussianComponent>,
    /// The variance between members of the class of every component.
    pub between: Vec<f64>,
}

/// The answer for one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowAnswer {
    /// P(class), the mean over members.
    pub posterior: Vec<f64>,
    /// Of every outcome element.
    pub elements: Vec<Distribution>,
}

impl Distribution {
    /// The mean.
    pub(crate) fn mean(&self) -> f64 {
        self.components.iter().map(|component| component.weight * component.mean).sum()
    }

    /// The components, widened by `spread` standard deviations between members.
    pub(crate) fn widened(&self, spread: f64) -> Vec<GaussianComponent> {
        let widen = |(component, between): (&GaussianComponent, &f64)| GaussianComponent {
            deviation: (component.deviation.powi(2) + spread.powi(2) * between).sqrt().max(MIN_DEVIATION),
            ..*component
        };
        self.components.iter().zip(&self.between).map(widen).collect()
    }
}

/// One member's view of the rows of a subject under one class.
pub(crate) struct ClassView {
    pub posterior: f64,
    /// Normal scores of every element of every row, `[rows, d]`; NaN where missing.
    pub scores: Vec<f64>,
    /// log s of every element of every row, `[rows, d]`.
    log_scales: Vec<f64>,
}

impl ClassView {
    /// The smaller scale over the larger one, of element `j` of the `i`-th row and its prediction.
    fn scale_ratio(&self, prediction: &Prediction, i: usize, k: usize, j: usize, d: usize) -> f64 {
        (-(self.log_scales[i * d + j] - prediction.to.log_scales[k * d + j]).abs()).exp()
    }
}

/// Scales closer to each other than this are the same.
const SAME_SCALE: f64 = 0.97;

/// Correlations and their weights.
///
/// Where the noise has another scale under the other treatment, a part of it may not be there under the first: an
/// independent part would leave a correlation as small as the `ratio` of the scales. What it is is not known, so the
/// correlation is multiplied by a factor that is uniform between the ratio and 1.
fn transfer_nodes(rho: Correlation, ratio: f64) -> Vec<(f64, f64)> {
    let nodes = rho.nodes();
    if ratio > SAME_SCALE {
        return nodes;
    }
    let factors = UNIFORM_NODES.map(|node| (node.weight, ratio + (1.0 - ratio) * node.at));
    nodes.iter().flat_map(|(w, rho)| factors.map(|(weight, factor)| (w * weight, rho * factor))).collect()
}

impl Ensemble {
    /// The number of classes that was chosen.
    pub(crate) fn classes(&self) -> usize {
        self.members[0].form.classes
    }

    /// The numbers of classes of all members.
    fn class_counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.members.iter().map(|member| member.form.classes).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The variance of the error of the answering members over that between them: 1 in a simulated second world, where
    /// another member is the truth.
    fn spread_factor(&self, answering: usize) -> f64 {
        if answering < self.members.len() { 1.0 } else { self.error_ratio }
    }

    /// Evaluators of all members, or of all but one.
    pub(crate) fn evaluators(&self, without: Option<usize>) -> Vec<Evaluator<'_>> {
        let members = self.members.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        members.map(|(_, member)| member.evaluator()).collect()
    }

    /// The answers for all rows of one subject.
    pub(crate) fn answer(
        &self,
        evaluators: &mut [Evaluator<'_>],
        question: &Question<'_>,
        of_subject: &[usize],
    ) -> Vec<RowAnswer> {
        let views: Vec<Vec<ClassView>> =
            evaluators.iter_mut().map(|member| class_views(member, question.rows, of_subject)).collect();
        let posterior = self.posterior(&views);
        let answer = |i: usize| {
            let predictions: Vec<Prediction> = evaluators
                .iter_mut()
                .map(|member| Prediction::new(member, question, of_subject[i]))
                .collect();
            let element = |j: usize| self.element(evaluators, &views, &predictions, question, i, j);
            RowAnswer { posterior: posterior.clone(), elements: (0..question.rows.d).map(element).collect() }
        };
        (0..of_subject.len()).map(answer).collect()
    }

    /// P(class), the mean over the members with the chosen number of classes.
    fn posterior(&self, views: &[Vec<ClassView>]) -> Vec<f64> {
        let chosen: Vec<_> = views.iter().filter(|views| views.len() == self.classes()).collect();
        let mean = |k: usize| {
            let sum: f64 = chosen.iter().map(|member| member[k].posterior).sum();
            sum / chosen.len().max(1) as f64
        };
        (0..self.classes()).map(mean).collect()
    }

    /// The distribution of element `j` of the `i`-th row of a subject.
    fn element(
        &self,
        evaluators: &[Evaluator<'_>],
        views: &[Vec<ClassView>],
        predictions: &[Prediction],
        question: &Question<'_>,
        i: usize,
        j: usize,
    ) -> Distribution {
        let (d, share) = (question.rows.d, 1.0 / views.len() as f64);
        let mut distribution = Distribution::default();
        let mut residuals: Vec<ResidualComponent> = Vec::new();
        let all = self.class_counts().into_iter().flat_map(|classes| (0..classes).map(move |k| (classes, k)));
        for (classes, k) in all {
            let first = distribution.components.len();
            let mut centres = Centres::default();
            // the member's centre, of every component
            let mut of_component = Vec::new();
            let members = evaluators.iter().zip(views).zip(predictions);
            for ((member, views), prediction) in members.filter(|((_, views), _)| views.len() == classes) {
                let view = &views[k];
                if view.posterior < MIN_POSTERIOR {
                    continue;
                }
                let value = |z: f64| prediction.value(k * d + j, z, self.scales[j]);
                let scores: Vec<f64> = view.scores.iter().skip(j).step_by(d).copied().collect();
                let mut centre = 0.0;
                let change = view.scale_ratio(prediction, i, k, j, d);
                for (weight, rho) in transfer_nodes(question.rho, change) {
                    let (mean, deviation) = score_under(rho, &scores, i);
                    member.noise.given_score(mean, deviation, &mut residuals);
                    for residual in &residuals {
                        let at = value(residual.mean);
                        let ends = [-1.0, 1.0].map(|s| value(residual.mean + s * residual.deviation));
                        centre += weight * residual.weight * at;
                        distribution.components.push(GaussianComponent {
                            weight: share * view.posterior * weight * residual.weight,
                            mean: at,
                            deviation: 0.5 * (ends[1] - ends[0]).abs(),
                        });
                    }
                }
                centres.add(view.posterior, centre);
                of_component.resize(distribution.components.len() - first, centre);
            }
            let factor = self.spread_factor(views.len());
            let mean = centres.sum / centres.weight.max(f64::MIN_POSITIVE);
            for (component, centre) in distribution.components[first..].iter_mut().zip(&of_component) {
                component.mean += (factor.sqrt() - 1.0) * (centre - mean);
            }
            distribution.between.resize(distribution.components.len(), factor * centres.variance());
        }
        let total: f64 = distribution.components.iter().map(|component| component.weight).sum();
        distribution.components.iter_mut().for_each(|component| component.weight /= total);
        distribution
    }

    /// The mean answer of all members under one class, which `choose` picks by the posterior, for all rows of one subject:
    /// `[rows, d]`.
    pub(crate) fn answer_by_class(
        &self,
        evaluators: &mut [Evaluator<'_>],
        question: &Question<'_>,
        of_subject: &[usize],
        choose: impl Fn(usize, &[f64]) -> usize,
    ) -> Vec<Vec<f64>> {
        let views: Vec<Vec<ClassView>> =
            evaluators.iter_mut().map(|member| class_views(member, question.rows, of_subject)).collect();
        let posterior = self.posterior(&views);
        let chosen = views.iter().filter(|views| views.len() == self.classes()).count();
        let (d, share) = (question.rows.d, 1.0 / chosen.max(1) as f64);
        let mut residuals = Vec::new();
        let mut answer = |i: usize, row: usize| {
            let k = choose(row, &posterior);
            let mut sums = vec![0.0; d];
            let members = evaluators.iter_mut().zip(&views);
            for (member, views) in members.filter(|(_, views)| views.len() == posterior.len()) {
                let prediction = Prediction::new(member, question, row);
                for (j, sum) in sums.iter_mut().enumerate() {
                    let scores: Vec<f64> = views[k].scores.iter().skip(j).step_by(d).copied().collect();
                    let change = views[k].scale_ratio(&prediction, i, k, j, d);
                    for (weight, rho) in transfer_nodes(question.rho, change) {
                        let (mean, deviation) = score_under(rho, &scores, i);
                        member.noise.given_score(mean, deviation, &mut residuals);
                        let value = |z: f64| prediction.value(k * d + j, z, self.scales[j]);
                        let mean: f64 = residuals.iter().map(|r| r.weight * value(r.mean)).sum();
                        *sum += share * weight * mean;
                    }
                }
            }
            sums
        };
        of_subject.iter().enumerate().map(|(i, &row)| answer(i, row)).collect()
    }

    /// The interval of a distribution at a level.
    pub(crate) fn interval(&self, distribution: &Distribution, rho: Correlation, level: f64) -> (f64, f64) {
        let used = self.calibration.level(rho, level);
        let components = distribution.widened(self.calibration.spread(rho));
        central_interval(&components, used, normal_half_width(used))
    }
}

/// Weighted members' answers under one class.
#[derive(Default)]
struct Centres {
    count: f64,
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Centres {
    fn add(&mut self, weight: f64, value: f64) {
        self.count += 1.0;
        self.weight += weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
    }

    /// The sample variance; 0 for fewer than two.
    fn variance(&self) -> f64 {
        if self.count < 2.0 {
            return 0.0;
        }
        let mean = self.sum / self.weight;
        (self.squares / self.weight - mean * mean).max(0.0) * self.count / (self.count - 1.0)
    }
}

/// The mean and deviation of the normal score under another treatment, given those of the rows of a subject; `own` is the
/// row that is asked about.
///
/// Scores of one subject have correlation rho with each other, so E[g' | g] = rho sum_r g_r / (1 + (m - 1) rho).
fn score_under(rho: f64, scores: &[f64], own: usize) -> (f64, f64) {
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
        member.forward(rows.input(row));
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
    each.map(|((joint, scores), log_scales)| {
        let posterior = (joint - total).exp();
        ClassView { posterior, scores, log_scales }
    })
    .collect()
}

/// log of the mean of w_k(x, t) over `treatments`, `[n, d_t]`, in place of the treatment of `input`.
fn mean_log_weights(member: &mut Evaluator<'_>, input: &[f32], treatments: &[f32]) -> Vec<f64> {
    let d_t = member.member.form.t_cosines.len();
    let mut sums = vec![0.0; member.member.form.classes];
    let mut input = input.to_vec();
    let covariates = input.len() - d_t;
    for t in treatments.chunks_exact(d_t) {
        input[covariates..].copy_from_slice(t);
        member.forward(&input);
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
}

impl Location {
    /// Those of covariates `x` under treatment `t`.
    pub(crate) fn new(member: &mut Evaluator<'_>, x: &[f32], t: &[f32]) -> Self {
        let input: Vec<f32> = x.iter().chain(t).copied().collect();
        member.forward(&input);
        Self { means: member.pass.means.clone(), log_scales: member.pass.log_scales.clone() }
    }

    /// The smaller scale over the larger one, of element `i` here and there.
    pub(crate) fn scale_ratio(&self, other: &Self, i: usize) -> f64 {
        (-(self.log_scales[i] - other.log_scales[i]).abs()).exp()
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

    /// m + s z
    pub(crate) fn at(&self, i: usize, z: f64) -> f64 {
        f64::from(self.means[i]) + self.log_scales[i].exp() * z
    }
}

/// One member's prediction under the treatments of a question.
struct Prediction {
    to: Location,
    from: Option<Location>,
}

impl Prediction {
    fn new(member: &mut Evaluator<'_>, question: &Question<'_>, row: usize) -> Self {
        let d_t = question.to.len() / question.rows.len();
        let x = &question.rows.input(row)[..question.rows.width - d_t];
        let mut under = |t: &[f32]| Location::new(member, x, &t[row * d_t..][..d_t]);
        Self { to: under(question.to), from: question.from.map(&mut under) }
    }

    /// The outcome, or the effect, at residual z, in standardised outcomes.
    fn value(&self, i: usize, z: f64, scale: OutcomeScale) -> f64 {
        let to = scale.restore(self.to.at(i, z));
        to - self.from.as_ref().map_or(0.0, |from| scale.restore(from.at(i, z)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::density::selection::Problem;
    use crate::density::testing::{Lines, lines, problem, selected};
    use crate::runtime::Pool;

    /// Two members fitted to two crossing lines.
    fn ensemble(data: &Lines) -> Ensemble {
        let pool = Pool::new(1).unwrap();
        // without cosines, treatments would count as few values, to which classes respond little
        let problem = Problem { t_cosines: vec![2], ..problem(&data.rows, &pool) };
        let halves = problem.members(&selected(2), 2).unwrap();
        Ensemble {
            members: halves.into_iter().map(|half| half.member).collect(),
            scales: vec![OutcomeScale::Identity],
            calibration: LevelCalibration::default(),
            learned_rho: None,
            error_ratio: 1.0,
        }
    }

    fn answers(ensemble: &Ensemble, rows: &Rows, to: &[f32], rho: Correlation) -> Vec<RowAnswer> {
        let question = Question { rows, to, from: None, rho };
        let mut evaluators = ensemble.evaluators(None);
        let of_subject = |own: &Vec<usize>| ensemble.answer(&mut evaluators, &question, own);
        rows.subjects.iter().flat_map(of_subject).collect()
    }

    fn treatments(rows: &Rows) -> Vec<f32> {
        (0..rows.len()).map(|row| rows.input(row)[1]).collect()
    }

    #[test]
    fn the_same_noise_under_the_same_treatment_gives_the_outcome_back() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let ensemble = ensemble(&data);
        for (row, answer) in answers(&ensemble, &data.rows, &treatments(&data.rows), Correlation::Known(1.0))
            .iter()
            .enumerate()
        {
            let y = f64::from(data.rows.outcome(row)[0]);
            assert!((answer.elements[0].mean() - y).abs() < 1e-4);
            let (lower, upper) = ensemble.interval(&answer.elements[0], Correlation::Known(1.0), 0.9);
            assert!(lower <= y + 1e-4 && y - 1e-4 <= upper && upper - lower < 1e-2, "{lower} {y} {upper}");
        }
    }

    #[test]
    fn fresh_noise_forgets_the_outcome_but_for_the_class() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let ensemble = ensemble(&data);
        let one = |y: f32| Rows {
            inputs: vec![0.2, 0.1],
            outcomes: vec![y],
            observed: None,
            width: 2,
            d: 1,
            subjects: vec![vec![0]],
            possible_treatments: HashMap::new(),
        };
        let under = |y: f32, rho: f64| answers(&ensemble, &one(y), &[1.5], Correlation::Known(rho)).remove(0);
        let (low, high) = (under(0.0, 0.0), under(0.25, 0.0));
        assert_ne!(low.posterior, high.posterior);
        let parts = |answer: &RowAnswer| -> Vec<f64> {
            let components = &answer.elements[0].components;
            components.iter().flat_map(|component| [component.mean, component.deviation]).collect()
        };
        assert_eq!(parts(&low), parts(&high));
        let keeps = under(0.25, 1.0);
        assert_ne!(parts(&keeps), parts(&under(0.0, 1.0)), "with the same noise the outcome counts");
        // an unknown correlation lies between both
        let unknown = answers(&ensemble, &one(0.25), &[1.5], Correlation::Unknown).remove(0);
        let means = [&high, &unknown, &keeps].map(|answer| answer.elements[0].mean());
        assert!((means[0] - means[1]) * (means[1] - means[2]) > 0.0, "{means:?}");
    }

    /// Rows with x = 0.2 of one subject, with an outcome and treatment 1 each, or without both.
    fn subject(outcomes: &[Option<f32>], possible: &[f32]) -> Rows {
        let missing = |(row, y): (usize, &Option<f32>)| y.is_none().then(|| (row, possible.to_vec()));
        let t = |y: &Option<f32>| if y.is_some() { 1.0 } else { 0.0 };
        Rows {
            inputs: outcomes.iter().flat_map(|y| [0.2, t(y)]).collect(),
            outcomes: outcomes.iter().map(|y| y.unwrap_or(0.0)).collect(),
            observed: Some(outcomes.iter().map(Option::is_some).collect()),
            width: 2,
            d: 1,
            subjects: vec![(0..outcomes.len()).collect()],
            possible_treatments: outcomes.iter().enumerate().filter_map(missing).collect(),
        }
    }

    #[test]
    fn without_an_outcome_classes_have_their_weights_and_noise_is_fresh() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.2);
        let ensemble = ensemble(&data);
        let rows = subject(&[None], &[0.5]);
        let under = |rho: f64| answers(&ensemble, &rows, &[1.5], Correlation::Known(rho)).remove(0);
        let (fresh, same) = (under(0.0), under(1.0));
        assert!(fresh.posterior.iter().all(|p| (0.3..0.7).contains(p)), "{:?}", fresh.posterior);
        assert_eq!(fresh.elements[0].mean(), same.elements[0].mean());
        let (lower, upper) = ensemble.interval(&fresh.elements[0], Correlation::Known(0.0), 0.9);
        assert!(lower < -1.3 && upper > 1.3, "both classes are within {lower} to {upper}");
        // of an effect the noise cancels: one of the two slopes, times the change of the treatment
        let question =
            Question { rows: &rows, to: &[1.0], from: Some(&[-1.0]), rho: Correlation::Known(1.0) };
        let effect = ensemble.answer(&mut ensemble.evaluators(None), &question, &[0]).remove(0);
        let far = |component: &GaussianComponent| (component.mean.abs() - 2.0).abs() > 0.3;
        let means: Vec<f64> = effect.elements[0].components.iter().map(|component| component.mean).collect();
        assert!(!effect.elements[0].components.iter().any(far), "{means:?}");
    }

    #[test]
    fn other_rows_of_a_subject_tell_the_class_of_one_without_an_outcome() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.2);
        let ensemble = ensemble(&data);
        let rows = subject(&[Some(1.1), None], &[0.5]);
        let both = answers(&ensemble, &rows, &[1.5, 1.5], Correlation::Known(0.0));
        assert_eq!(both[0].posterior, both[1].posterior);
        assert!(both[1].elements[0].mean() > 1.2, "{}", both[1].elements[0].mean());
    }

    #[test]
    fn weights_by_treatment_are_averaged_over_possible_treatments() {
        let data = lines(&[1.0, -1.0], 200, 1, 0.3);
        let mut member = ensemble(&data).members.remove(0);
        let posterior = |member: &Member, possible: &[f32]| {
            class_views(&mut member.evaluator(), &subject(&[None], possible), &[0])[0].posterior
        };
        let constant = posterior(&member, &[-1.0, 1.0]);
        assert_eq!(constant, posterior(&member, &[0.5]), "these weights do not depend on the treatment");
        member.form.weights = ClassWeights::CovariatesAndTreatment;
        member.parameters = (0..member.form.len()).map(|i| (i as f32 * 0.7).sin()).collect();
        let (low, high) = (posterior(&member, &[-1.0]), posterior(&member, &[1.0]));
        assert!((low - high).abs() > 0.01);
        assert!((posterior(&member, &[-1.0, 1.0]) - 0.5 * (low + high)).abs() < 1e-6);
    }

    #[test]
    fn more_rows_of_a_subject_sharpen_its_class() {
        let data = lines(&[1.0, -1.0], 100, 4, 0.6);
        let ensemble = ensemble(&data);
        let rho = Correlation::Known(0.0);
        let to = treatments(&data.rows);
        let certainty = |rows: &Rows| {
            let largest = |answer: &RowAnswer| answer.posterior.iter().copied().fold(0.0, f64::max);
            crate::math::mean(&answers(&ensemble, rows, &to, rho).iter().map(largest).collect::<Vec<_>>())
        };
        let alone = Rows { subjects: (0..400).map(|row| vec![row]).collect(), ..data.rows.clone() };
        let (alone, together) = (certainty(&alone), certainty(&data.rows));
        assert!(together > alone + 0.05 && together > 0.95, "{alone} {together}");
    }

    #[test]
    fn scores_of_several_rows_are_averaged() {
        assert_eq!(score_under(1.0, &[0.4, 2.0], 0), (0.4, 0.0), "the same noise: the row's own");
        assert_eq!(score_under(0.0, &[0.4, 2.0], 0), (0.0, 1.0));
        assert_eq!(score_under(0.5, &[f64::NAN], 0), (0.0, 1.0), "a missing outcome says nothing");
        let (one, two) = (score_under(0.5, &[1.0], 0), score_under(0.5, &[1.0, 1.0], 0));
        assert!((one.0 - 0.5).abs() < 1e-12 && (two.0 - 2.0 / 3.0).abs() < 1e-12);
        assert!(two.1 < one.1, "two rows tell more than one");
    }
}
