//! EM of an additive mixture.
//!
//! ```text
//! y = g(x) + h_k(t) + e,   e ~ t_6(0, v),   P(k | x) = softmax(linear in x)
//! ```
//!
//! Densities are products of powers: with q = e^2 / 6 v, that of one outcome is (1 + q)^-3.5, so no logarithm is taken per class.
//! Arrays are one vector per class or outcome.

use super::{Additive, NormalEquations, SMOOTHNESS, Solution};
use crate::density::coefficients::Coefficients;
use crate::math::simd::{add_scaled_doubles, double_dots, exp, with_simd};
use crate::math::{cholesky_solve, dot, mean};

/// Degrees of freedom of the noise, for robustness.
const FREEDOM: usize = 6;
/// The prior precision of the slopes of the class weights.
const WEIGHT_PRECISION: f64 = 4.0;
/// Rounds after which class weights may depend on x, and their gradient steps in every second round.
const CONSTANT_WEIGHT_ROUNDS: usize = 4;
const WEIGHT_STEPS: usize = 3;
/// Products of densities below this are counted by their logarithm.
const MIN_PRODUCT: f64 = 1e-150;

/// A curve h(t) of one class.
struct Curve {
    /// `[width, d]`
    coefficients: Vec<f64>,
    smoothness: f64,
    /// Its contribution to the evidence of a solution, beside the likelihood ...
    evidence: f64,
    /// ... and with it, up to a term that does not depend on the smoothness.
    total_evidence: f64,
}

impl Additive {
    /// EM with one class per entry of `smoothness`, which is kept for the first `given` rounds. `start` is
    /// `[subjects, classes]`.
    pub(super) fn em(
        &self,
        start: &[f64],
        smoothness: Vec<f64>,
        rounds: usize,
        given: usize,
    ) -> (Solution, Coefficients) {
        let mut state = EmState::new(self, start, smoothness);
        for round in 0..rounds {
            state.round(round, round >= given);
        }
        state.finish()
    }

    /// The curve with the smoothness of the largest evidence.
    fn best_curve(&self, normal: &NormalEquations, variance: f64, smoothness: &[f64]) -> Curve {
        let curves = smoothness.iter().map(|&smoothness| self.curve(normal, variance, smoothness));
        let best = curves.max_by(|a, b| a.total_evidence.total_cmp(&b.total_evidence));
        best.expect("at least one smoothness")
    }

    /// h(t) with a given smoothness, and its contribution to the evidence.
    fn curve(&self, normal: &NormalEquations, variance: f64, smoothness: f64) -> Curve {
        let (q, d) = (self.treatments.width(), self.d);
        let precision = |j: usize| {
            self.treatments.precisions[j] * if self.treatments.smooth[j] { smoothness } else { 1.0 }
        };
        let mut gram = normal.gram.clone();
        (0..q).for_each(|j| gram[j * q + j] += variance * precision(j));
        let mut coefficients = normal.moments.clone();
        if cholesky_solve(&mut gram, q, &mut coefficients, d).is_err() {
            let coefficients = vec![0.0; q * d];
            let none = f64::NEG_INFINITY;
            return Curve { coefficients, smoothness, evidence: none, total_evidence: none };
        }
        let volume = |j: usize| 0.5 * (variance * precision(j)).ln() - gram[j * q + j].ln();
        let own = (0..q).map(|j| {
            let squares: f64 = coefficients[j * d..][..d].iter().map(|c| c * c).sum();
            volume(j) * d as f64 - 0.5 * precision(j) * squares
        });
        let evidence = own.sum();
        let explained = 0.5 * dot(&coefficients, &normal.moments) / variance;
        let total_evidence = (0..q).map(volume).sum::<f64>() * d as f64 + explained;
        Curve { coefficients, smoothness, evidence, total_evidence }
    }
}

/// The state of one EM run.
struct EmState<'a> {
    search: &'a Additive,
    /// Of the curve of every class.
    smoothness: Vec<f64>,
    /// P(class) of every subject.
    responsibilities: Vec<Vec<f64>>,
    /// Factors on the weights of every row that make the fit robust, and both together.
    robust: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    /// g(x) of every outcome, and its coefficients.
    covariates: Vec<Vec<f64>>,
    shared: Vec<f64>,
    /// h(t) of every class and outcome, `[classes, outcomes]`, and its coefficients.
    curves: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
    variance: Vec<f64>,
    /// Slopes of the logits of the class weights, `[classes, features]`, and the class weights of every subject.
    slopes: Vec<f64>,
    class_weights: Vec<Vec<f64>>,
    /// Of every row under every class.
    densities: Vec<Vec<f64>>,
    evidence: f64,
}

impl<'a> EmState<'a> {
    fn new(search: &'a Additive, start: &[f64], smoothness: Vec<f64>) -> Self {
        let (classes, rows, subjects) = (smoothness.len(), search.rows(), search.subject_rows.len());
        let of_class = |k: usize| start.iter().skip(k).step_by(classes).copied().collect();
        let mut state = Self {
            search,
            smoothness,
            responsibilities: (0..classes).map(of_class).collect(),
            robust: vec![vec![1.0; rows]; classes],
            weights: vec![vec![0.0; rows]; classes],
            covariates: search.single.clone(),
            shared: search.single_coefficients.clone(),
            curves: vec![vec![0.0; rows]; classes * search.d],
            coefficients: vec![Vec::new(); classes],
            variance: search.deviation.iter().map(|s| 0.5 * s * s).collect(),
            slopes: vec![0.0; classes * search.weights.width()],
            class_weights: vec![vec![1.0 / classes as f64; subjects]; classes],
            densities: vec![vec![1.0; rows]; classes],
            evidence: 0.0,
        };
        state.weigh();
        state
    }

    fn classes(&self) -> usize {
        self.smoothness.len()
    }

    fn finish(self) -> (Solution, Coefficients) {
        let subjects = 0..self.search.subject_rows.len();
        let of_subject = |subject: usize| self.responsibilities.iter().map(move |own| own[subject]);
        let responsibilities = subjects.flat_map(of_subject).collect();
        let coefficients = Coefficients {
            shared: self.shared,
            precisions: self.search.covariates.precisions.clone(),
            classes: self.coefficients,
            variance: self.variance,
            weights: self.slopes,
        };
        (Solution { responsibilities, evidence: self.evidence, smoothness: self.smoothness }, coefficients)
    }

    /// The weight of every row in every class.
    fn weigh(&mut self) {
        for ((weights, own), robust) in self.weights.iter_mut().zip(&self.responsibilities).zip(&self.robust)
        {
            let rows = self.search.subject_of.iter().zip(robust);
            weights
                .iter_mut()
                .zip(rows)
                .for_each(|(weight, (&subject, robust))| *weight = own[subject] * robust);
        }
    }

    fn round(&mut self, round: usize, choose_smoothness: bool) {
        let (search, d) = (self.search, self.search.d);
        self.evidence = 0.0;
        let without_covariates = |j: usize| difference(&search.outcomes[j], &self.covariates[j]);
        let targets: Vec<Vec<f64>> = (0..d).map(without_covariates).collect();
        let mean_variance = mean(&self.variance);
        for k in 0..self.classes() {
            let normal = search.treatments.normal_equations(&self.weights[k], &targets);
            let candidates = if choose_smoothness { &SMOOTHNESS[..] } else { &self.smoothness[k..=k] };
            let curve = search.best_curve(&normal, mean_variance, candidates);
            self.smoothness[k] = curve.smoothness;
            self.evidence += curve.evidence;
            for (j, fitted) in self.curves[k * d..][..d].iter_mut().enumerate() {
                search.treatments.fit(&curve.coefficients, j, d, fitted);
            }
            self.coefficients[k] = curve.coefficients;
        }
        if round % 2 == 1 {
            self.fit_covariates();
        }
        self.fit_variance();
        if round >= CONSTANT_WEIGHT_ROUNDS && round.is_multiple_of(2) {
            (0..WEIGHT_STEPS).for_each(|_| self.step_weights());
        }
        self.evidence -= 0.5 * WEIGHT_PRECISION * dot(&self.slopes, &self.slopes);
        self.evidence += self.e_step();
        self.weigh();
    }

    /// g(x) given the classes' curves; rows far from all curves move it little.
    fn fit_covariates(&mut self) {
        let (search, d) = (self.search, self.search.d);
        let mut total = vec![0.0; search.rows()];
        with_simd(
            #[inline(always)]
            || {
                self.weights.iter().for_each(|own| add_scaled_doubles(&mut total, 1.0, own));
                let mut targets = self.covariates.clone();
                for (j, target) in targets.iter_mut().enumerate() {
                    let covariates = &self.covariates[j];
                    for (k, weights) in self.weights.iter().enumerate() {
                        let (outcomes, curve) = (&search.outcomes[j], &self.curves[k * d + j]);
                        for (i, target) in target.iter_mut().enumerate() {
                            let share = weights[i] * (total[i].min(1.0) / total[i].max(1e-9));
                            *target += share * (outcomes[i] - curve[i] - covariates[i]);
                        }
                    }
                }
                (self.covariates, self.shared) = search.fit_covariates(&targets);
            },
        );
    }

    /// Writes the squared residuals of outcome `j` under class `k`.
    #[inline(always)]
    fn squares(&self, k: usize, j: usize, out: &mut [f64]) {
        let (outcomes, curve) = (&self.search.outcomes[j], &self.curves[k * self.search.d + j]);
        let of_model = curve.iter().zip(&self.covariates[j]);
        for ((out, y), (curve, covariates)) in out.iter_mut().zip(outcomes).zip(of_model) {
            let residual = y - covariates - curve;
            *out = residual * residual;
        }
    }

    fn fit_variance(&mut self) {
        let rows = self.search.rows();
        let mut squares = vec![0.0; rows];
        for j in 0..self.search.d {
            let mut sum = 0.0;
            for k in 0..self.classes() {
                with_simd(
                    #[inline(always)]
                    || {
                        self.squares(k, j, &mut squares);
                        sum += double_dots(&self.weights[k], [&squares])[0];
                    },
                );
            }
            self.variance[j] = (sum / rows as f64).max(1e-4 * self.search.deviation[j].powi(2));
        }
    }

    /// A gradient step of the class weights.
    fn step_weights(&mut self) {
        let (features, subjects) = (&self.search.weights, self.search.subject_rows.len());
        let width = features.width();
        let squares: f64 = features.columns.iter().map(|column| dot(column, column)).sum();
        let step = 8.0 / (0.25 * squares + subjects as f64);
        for (k, (own, weights)) in self.responsibilities.iter().zip(&self.class_weights).enumerate() {
            let gap = difference(own, weights);
            let slopes = &mut self.slopes[k * width..][..width];
            let gradient = features.moments(&[gap]);
            for (slope, gradient) in slopes.iter_mut().zip(gradient) {
                *slope += step * (gradient - WEIGHT_PRECISION * *slope);
            }
        }
        for (weights, slopes) in self.class_weights.iter_mut().zip(self.slopes.chunks_exact(width)) {
            features.fit(slopes, 0, 1, weights);
        }
        softmax(&mut self.class_weights);
    }

    /// Responsibilities and robust factors; returns the log-likelihood.
    fn e_step(&mut self) -> f64 {
        let search = self.search;
        for k in 0..self.classes() {
            self.compare(k);
        }
        let log_scale: f64 = self.variance.iter().map(|v| 0.5 * v.ln()).sum();
        let mut likelihood = Likelihood::default();
        let mut joint = vec![0.0; self.classes()];
        for (subject, rows) in search.subject_rows.iter().enumerate() {
            joint.iter_mut().zip(&self.class_weights).for_each(|(joint, own)| *joint = own[subject]);
            for &row in rows {
                let mut total = 0.0;
                for (joint, densities) in joint.iter_mut().zip(&self.densities) {
                    *joint *= densities[row];
                    total += *joint;
                }
                likelihood.multiply(total);
                let inverse = 1.0 / total.max(f64::MIN_POSITIVE);
                joint.iter_mut().for_each(|joint| *joint *= inverse);
            }
            self.responsibilities.iter_mut().zip(&joint).for_each(|(own, joint)| own[subject] = *joint);
        }
        likelihood.logarithm() - log_scale * search.rows() as f64
    }

    /// The densities of all rows under class `k`, but for their scale, and the robust factors.
    fn compare(&mut self, k: usize) {
        let d = self.search.d;
        let freedom = FREEDOM + d;
        let mut squares = vec![0.0; self.search.rows()];
        let mut ratios = squares.clone();
        with_simd(
            #[inline(always)]
            || {
                for j in 0..d {
                    self.squares(k, j, &mut squares);
                    add_scaled_doubles(&mut ratios, 1.0 / (FREEDOM as f64 * self.variance[j]), &squares);
                }
                ratios.iter_mut().for_each(|ratio| *ratio = 1.0 / (1.0 + *ratio));
                let factor = freedom as f64 / FREEDOM as f64;
                self.robust[k].iter_mut().zip(&ratios).for_each(|(robust, ratio)| *robust = factor * ratio);
                let densities = &mut self.densities[k];
                densities.fill(1.0);
                for _ in 0..freedom / 2 {
                    densities.iter_mut().zip(&ratios).for_each(|(density, ratio)| *density *= ratio);
                }
                if freedom % 2 == 1 {
                    let rows = densities.iter_mut().zip(&ratios);
                    rows.for_each(|(density, ratio)| *density *= ratio.sqrt());
                }
            },
        );
    }
}

/// The logarithm of a product, most of which is taken at once.
struct Likelihood {
    product: f64,
    logarithm: f64,
}

impl Default for Likelihood {
    fn default() -> Self {
        Self { product: 1.0, logarithm: 0.0 }
    }
}

impl Likelihood {
    #[inline(always)]
    fn multiply(&mut self, density: f64) {
        if self.product * density < MIN_PRODUCT {
            self.logarithm += self.product.ln();
            self.product = 1.0;
        }
        self.product *= density.max(f64::MIN_POSITIVE);
    }

    fn logarithm(self) -> f64 {
        self.logarithm + self.product.ln()
    }
}

/// Replaces logits, one vector per class, by probabilities.
fn softmax(logits: &mut [Vec<f64>]) {
    let n = logits.first().map_or(0, Vec::len);
    let (mut largest, mut total) = (vec![f64::NEG_INFINITY; n], vec![0.0; n]);
    with_simd(
        #[inline(always)]
        || {
            for own in &*logits {
                largest
                    .iter_mut()
                    .zip(own)
                    .for_each(|(max, logit)| *max = if *logit > *max { *logit } else { *max });
            }
            for own in &mut *logits {
                for ((logit, max), total) in own.iter_mut().zip(&largest).zip(&mut total) {
                    *logit = f64::from(exp((*logit - max) as f32));
                    *total += *logit;
                }
            }
            for own in logits {
                own.iter_mut().zip(&total).for_each(|(weight, total)| *weight /= total);
            }
        },
    );
}

/// a - b
pub(super) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_many_small_densities_have_the_sum_of_their_logarithms() {
        let densities: Vec<f64> = (0..300).map(|i| 10.0_f64.powi(-(i * 37 % 200))).collect();
        let mut likelihood = Likelihood::default();
        densities.iter().for_each(|&density| likelihood.multiply(density));
        let expected: f64 = densities.iter().map(|density| density.ln()).sum();
        assert!((likelihood.logarithm() / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn weights_of_classes_sum_to_one() {
        let mut logits = vec![vec![0.0, 800.0, -3.0], vec![3.0_f64.ln(), 0.0, -3.0]];
        softmax(&mut logits);
        let expected = [[0.25, 1.0, 0.5], [0.75, 0.0, 0.5]];
        for (own, expected) in logits.iter().zip(expected) {
            assert!(own.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{own:?}");
        }
    }
}
