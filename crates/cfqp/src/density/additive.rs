//! Starts: additive mixtures y = g(x) + x D r(t) + h_k(t) + noise, fitted by penalised EM in closed form from many random
//! starts.
//!
//! They are cheap, smooth, and find classes that a network cannot find by itself. Solutions are compared by their
//! approximate evidence: log-likelihood, minus the penalty, minus the log volume of each class's curve.

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::jobs::{Finished, Job};
use super::network::{
    INTERACTION_PRECISION, T_HALF_RANGE, X_HALF_RANGE, interaction_factors, interaction_features,
};
use super::rows::Rows;
use crate::Rng;
use crate::math::{cholesky, cholesky_solve, dot, log_sum_exp_of};

/// The smoothness of curves: factors on the prior precision of cosines.
const SMOOTHNESS: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
/// Rounds after which every curve has the smoothness with the largest evidence.
const GIVEN_SMOOTHNESS_ROUNDS: usize = 6;
/// The prior precision of the slope of a curve in t ...
const SLOPE: f64 = 0.5;
/// ... and of one in a treatment of few values: which group of outcomes under one value belongs to which under another cannot
/// be seen, so the classes are taken to respond as little as possible.
const FEW_VALUES_SLOPE: f64 = 50.0;
/// Degrees of freedom of the noise, for robustness.
const FREEDOM: f64 = 6.0;
/// EM rounds of a start ...
const ROUNDS: usize = 25;
/// ... and of a given start.
const REFINING_ROUNDS: usize = 10;
/// Starts whose classes overlap more than this are one.
const MAX_OVERLAP: f64 = 0.9;
/// The prior precision of the slopes of the class weights.
const WEIGHT_PRECISION: f64 = 4.0;
/// Rounds after which class weights may depend on x.
const CONSTANT_WEIGHT_ROUNDS: usize = 4;

/// A solution: P(class) of every subject.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// `[subjects, classes]`
    pub responsibilities: Vec<f64>,
    pub evidence: f64,
    /// Of the curve of every class.
    pub smoothness: Vec<f64>,
}

/// A matrix of features, with the prior precision of each coefficient.
struct Features {
    values: Vec<f64>,
    width: usize,
    precisions: Vec<f64>,
    /// Which precisions are those of cosines.
    smooth: Vec<bool>,
}

impl Features {
    fn new(precisions: Vec<f64>, smooth: Vec<bool>) -> Self {
        Self { values: Vec::new(), width: precisions.len(), precisions, smooth }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.width..][..self.width]
    }

    /// sum_i w_i f_i f_i', lower half.
    fn gram(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let p = self.width;
        let mut gram = vec![0.0; p * p];
        for (i, row) in self.values.chunks_exact(p).enumerate() {
            let weight = weight(i);
            if weight < 1e-8 {
                continue;
            }
            for (j, &value) in row.iter().enumerate() {
                let value = weight * value;
                gram[j * p..=j * p + j].iter_mut().zip(row).for_each(|(g, f)| *g += value * f);
            }
        }
        gram
    }

    /// sum_i w_i f_i y_i, `[width, d]`
    fn moments(&self, d: usize, target: &[f64], weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut moments = vec![0.0; self.width * d];
        for (i, row) in self.values.chunks_exact(self.width).enumerate() {
            let weight = weight(i);
            for (moments, f) in moments.chunks_exact_mut(d).zip(row) {
                let f = weight * f;
                moments.iter_mut().zip(&target[i * d..][..d]).for_each(|(m, y)| *m += f * y);
            }
        }
        moments
    }

    /// The products of all rows with coefficients `[width, d]`.
    fn fitted(&self, coefficients: &[f64], d: usize) -> Vec<f64> {
        let mut fitted = vec![0.0; self.values.len() / self.width * d];
        for (row, fitted) in self.values.chunks_exact(self.width).zip(fitted.chunks_exact_mut(d)) {
            for (f, c) in row.iter().zip(coefficients.chunks_exact(d)) {
                fitted.iter_mut().zip(c).for_each(|(sum, c)| *sum += f * c);
            }
        }
        fitted
    }
}

fn push_cosines(value: f64, half_range: f64, count: usize, out: &mut Vec<f64>) {
    out.push(value);
    let cos = (std::f64::consts::PI * (value / (2.0 * half_range) + 0.5)).cos();
    let (mut before, mut now) = (1.0, cos);
    for _ in 0..count {
        out.push(now);
        (before, now) = (now, 2.0 * cos * now - before);
    }
}

/// Weighted sums of squares and products of the treatments' features and a target.
struct NormalEquations {
    gram: Vec<f64>,
    /// `[width, d]`
    moments: Vec<f64>,
}

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

/// The data of a search, and the fit with one class.
pub(crate) struct Additive {
    d: usize,
    /// Row numbers are those of this search: 0, 1, ...
    subject_rows: Vec<Vec<usize>>,
    subject_of: Vec<usize>,
    outcomes: Vec<f64>,
    covariates: Features,
    /// The Cholesky factor of the covariates' normal equations.
    covariate_factor: Vec<f64>,
    treatments: Features,
    weights: Features,
    /// g(x) and residuals with one class.
    single: Vec<f64>,
    residuals: Vec<f64>,
    deviation: Vec<f64>,
}

/// The features of covariates and treatments, as those of a [`Form`](super::network::Form).
#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub x_cosines: &'a [usize],
    pub t_cosines: &'a [usize],
    pub interactions: bool,
}

impl Basis<'_> {
    /// Prior precisions of the features of the covariates.
    fn covariate_precisions(&self) -> Vec<f64> {
        let of_column = |&count: &usize| (0..=count).map(|j| if j == 0 { 0.1 } else { (j * j) as f64 });
        let count = interaction_features(self.x_cosines.len(), self.t_cosines);
        let count = if self.interactions { count } else { 0 };
        let interactions = std::iter::repeat_n(INTERACTION_PRECISION, count);
        self.x_cosines.iter().flat_map(of_column).chain(interactions).collect()
    }

    /// Appends the features of the covariates, with their interactions.
    fn push_covariates(&self, x: &[f32], t: &[f32], out: &mut Vec<f64>) {
        for (&x, &count) in x.iter().zip(self.x_cosines) {
            push_cosines(x.into(), X_HALF_RANGE, count, out);
        }
        for (&t, &count) in t.iter().zip(self.t_cosines).filter(|_| self.interactions) {
            for factor in interaction_factors(t, count) {
                out.extend(x.iter().map(|&x| f64::from(x * factor)));
            }
        }
    }
}

impl Additive {
    /// The search data of `subjects`.
    pub(crate) fn new(rows: &Rows, subjects: &[usize], basis: Basis<'_>) -> Self {
        let d_x = basis.x_cosines.len();
        let slope = |c: usize| if c == 0 { FEW_VALUES_SLOPE } else { SLOPE };
        let t_terms = basis
            .t_cosines
            .iter()
            .flat_map(|&c| (0..=c).map(move |j| (j > 0, if j == 0 { slope(c) } else { (j * j * j) as f64 })));
        let (mut smooth, mut t_precisions) = (vec![false], vec![0.3]);
        for (is_smooth, precision) in t_terms {
            smooth.push(is_smooth);
            t_precisions.push(precision);
        }
        let x_precisions = basis.covariate_precisions();
        let mut covariates = Features::new(x_precisions.clone(), vec![false; x_precisions.len()]);
        let mut treatments = Features::new(t_precisions, smooth);
        let width = 1 + d_x;
        let mut weights = Features::new(vec![WEIGHT_PRECISION; width], vec![false; width]);
        let mut outcomes = Vec::new();
        let (mut subject_rows, mut subject_of) = (Vec::new(), Vec::new());
        for &subject in subjects {
            let mut own = Vec::new();
            for &row in &rows.subjects[subject] {
                own.push(subject_of.len());
                subject_of.push(subject_rows.len());
                let (x, t) = rows.input(row).split_at(d_x);
                basis.push_covariates(x, t, &mut covariates.values);
                treatments.values.push(1.0);
                for (&t, &count) in t.iter().zip(basis.t_cosines) {
                    push_cosines(t.into(), T_HALF_RANGE, count, &mut treatments.values);
                }
                weights.values.push(1.0);
                weights.values.extend(x.iter().map(|&x| f64::from(x)));
                outcomes.extend(rows.numeric_outcome(row).iter().map(|&y| f64::from(y)));
            }
            subject_rows.push(own);
        }
        let mut search = Self {
            d: rows.d,
            subject_rows,
            subject_of,
            outcomes,
            covariates,
            covariate_factor: Vec::new(),
            treatments,
            weights,
            single: Vec::new(),
            residuals: Vec::new(),
            deviation: Vec::new(),
        };
        search.fit_single();
        search
    }

    fn rows(&self) -> usize {
        self.subject_of.len()
    }

    /// One class: backfitting of g(x) and h(t).
    fn fit_single(&mut self) {
        let (p, d) = (self.covariates.width, self.d);
        let mut factor = self.covariates.gram(|_| 1.0);
        for j in 0..p {
            factor[j * p + j] += self.covariates.precisions[j].max(1e-6);
        }
        if cholesky(&mut factor, p).is_ok() {
            self.covariate_factor = factor;
        }
        let ones = vec![1.0; self.rows()];
        self.single = vec![0.0; self.rows() * d];
        let mut curve = vec![0.0; self.rows() * d];
        for _ in 0..15 {
            let target = subtract(&self.outcomes, &self.single);
            let normal = self.normal_equations(&target, &ones);
            curve = self.treatments.fitted(&self.curve(&normal, 1.0, 1.0).coefficients, d);
            self.single = self.fit_covariates(&subtract(&self.outcomes, &curve));
        }
        self.residuals = subtract(&subtract(&self.outcomes, &self.single), &curve);
        let n = self.rows().max(1) as f64;
        let variance = |j: usize| self.residuals.iter().skip(j).step_by(d).map(|r| r * r).sum::<f64>() / n;
        self.deviation = (0..d).map(|j| variance(j).sqrt().max(1e-6)).collect();
    }

    /// g(x) that is nearest to `target`.
    fn fit_covariates(&self, target: &[f64]) -> Vec<f64> {
        if self.covariate_factor.is_empty() {
            return vec![0.0; target.len()];
        }
        let mut coefficients = self.covariates.moments(self.d, target, |_| 1.0);
        crate::math::solve_with_factor(
            &self.covariate_factor,
            self.covariates.width,
            &mut coefficients,
            self.d,
        );
        self.covariates.fitted(&coefficients, self.d)
    }

    /// The normal equations of a curve h(t) near `target`, without its prior.
    fn normal_equations(&self, target: &[f64], weights: &[f64]) -> NormalEquations {
        let weight = |row: usize| weights[row];
        let gram = self.treatments.gram(weight);
        let moments = self.treatments.moments(self.d, target, weight);
        NormalEquations { gram, moments }
    }

    /// The curve with the smoothness of the largest evidence.
    fn best_curve(&self, normal: &NormalEquations, variance: f64, smoothness: &[f64]) -> Curve {
        let curves = smoothness.iter().map(|&smoothness| self.curve(normal, variance, smoothness));
        let best = curves.max_by(|a, b| a.total_evidence.total_cmp(&b.total_evidence));
        best.expect("at least one smoothness")
    }

    /// h(t) with a given smoothness, and its contribution to the evidence.
    fn curve(&self, normal: &NormalEquations, variance: f64, smoothness: f64) -> Curve {
        let (q, d) = (self.treatments.width, self.d);
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

    /// The best distinct solutions of `runs` random starts, best first.
    pub(crate) fn search(&self, classes: usize, runs: usize, keep: usize, rng: &mut Rng) -> Vec<Solution> {
        if classes == 1 {
            return vec![Solution::one_class(self.subject_rows.len())];
        }
        let run = |_| {
            let smoothness = SMOOTHNESS[rng.random_range(0..SMOOTHNESS.len())];
            let start = self.random_start(classes, rng);
            self.em(start, vec![smoothness; classes], ROUNDS, GIVEN_SMOOTHNESS_ROUNDS)
        };
        Solution::best_distinct((0..runs).map(run).collect(), classes, keep)
    }

    /// EM from given responsibilities of these subjects.
    pub(crate) fn refine(&self, start: Vec<f64>, smoothness: &[f64]) -> Solution {
        self.em(start, smoothness.to_vec(), REFINING_ROUNDS, 1)
    }

    /// Subjects near random lines in (t, residual), or in random cells; each is seeded far from those before it.
    fn random_start(&self, classes: usize, rng: &mut Rng) -> Vec<f64> {
        let lines: bool = rng.random();
        let subjects = self.subject_rows.len();
        let mut nearest = vec![f64::INFINITY; subjects];
        let mut labels = vec![0; subjects];
        for k in 0..classes {
            let centre = self.seed(&nearest, rng);
            let slope = |_| if lines { rng.sample::<f64, _>(StandardNormal) } else { 0.0 };
            let slopes: Vec<f64> = (0..self.d).map(slope).collect();
            for (subject, rows) in self.subject_rows.iter().enumerate() {
                let of_row = |&row: &usize| self.distance(row, centre, &slopes, lines);
                let distance = rows.iter().map(of_row).sum::<f64>() / rows.len() as f64;
                if distance < nearest[subject] {
                    (nearest[subject], labels[subject]) = (distance, k);
                }
            }
        }
        let others = 0.2 / (classes as f64 - 1.0).max(1.0);
        let of_subject = |&label: &usize| (0..classes).map(move |k| if k == label { 0.8 } else { others });
        labels.iter().flat_map(of_subject).collect()
    }

    /// A row of a subject that is drawn with a probability proportional to its distance.
    fn seed(&self, nearest: &[f64], rng: &mut Rng) -> usize {
        let total: f64 = nearest.iter().sum();
        let mut subject = rng.random_range(0..nearest.len());
        if total.is_finite() && total > 0.0 {
            let mut left = rng.random::<f64>() * total;
            let drawn = nearest.iter().position(|distance| {
                left -= distance;
                left < 0.0
            });
            subject = drawn.unwrap_or(subject);
        }
        let rows = &self.subject_rows[subject];
        rows[rng.random_range(0..rows.len())]
    }

    /// The squared distance of a row from the line through `centre`, or from `centre` itself.
    fn distance(&self, row: usize, centre: usize, slopes: &[f64], lines: bool) -> f64 {
        let t = |row: usize| self.treatments.row(row).get(1).copied().unwrap_or(0.0);
        let step = t(row) - t(centre);
        let of_element = |(j, slope): (usize, &f64)| {
            let gap = self.residuals[row * self.d + j] - self.residuals[centre * self.d + j];
            (gap / self.deviation[j] - slope * step).powi(2)
        };
        let along = if lines { 0.0 } else { step * step };
        slopes.iter().enumerate().map(of_element).sum::<f64>() + along
    }

    /// EM with one class per entry of `smoothness`, which is kept for the first `given` rounds.
    fn em(&self, start: Vec<f64>, smoothness: Vec<f64>, rounds: usize, given: usize) -> Solution {
        let mut state = EmState::new(self, start, smoothness);
        for round in 0..rounds {
            state.round(round, round >= given);
        }
        let EmState { responsibilities, evidence, smoothness, .. } = state;
        Solution { responsibilities, evidence, smoothness }
    }
}

/// The state of one EM run.
struct EmState<'a> {
    search: &'a Additive,
    classes: usize,
    /// Of the curve of every class.
    smoothness: Vec<f64>,
    responsibilities: Vec<f64>,
    /// Weights of every row and class that make the fit robust.
    robust: Vec<f64>,
    covariates: Vec<f64>,
    /// h_k(t) of every class.
    curves: Vec<Vec<f64>>,
    variance: Vec<f64>,
    /// Slopes of the logits of the class weights, `[classes, features]`, and the log weights of every subject.
    slopes: Vec<f64>,
    log_weights: Vec<f64>,
    evidence: f64,
}

impl<'a> EmState<'a> {
    fn new(search: &'a Additive, responsibilities: Vec<f64>, smoothness: Vec<f64>) -> Self {
        let classes = smoothness.len();
        Self {
            search,
            classes,
            smoothness,
            robust: vec![1.0; search.rows() * classes],
            covariates: search.single.clone(),
            curves: vec![Vec::new(); classes],
            variance: search.deviation.iter().map(|s| 0.5 * s * s).collect(),
            slopes: vec![0.0; classes * search.weights.width],
            log_weights: vec![-(classes as f64).ln(); responsibilities.len()],
            responsibilities,
            evidence: 0.0,
        }
    }

    fn weight(&self, row: usize, k: usize) -> f64 {
        self.responsibilities[self.search.subject_of[row] * self.classes + k]
            * self.robust[row * self.classes + k]
    }

    fn round(&mut self, round: usize, choose_smoothness: bool) {
        let search = self.search;
        self.evidence = 0.0;
        let target = subtract(&search.outcomes, &self.covariates);
        let mean_variance = crate::math::mean(&self.variance);
        for k in 0..self.classes {
            let weights: Vec<f64> = (0..search.rows()).map(|row| self.weight(row, k)).collect();
            let normal = search.normal_equations(&target, &weights);
            let candidates = if choose_smoothness { &SMOOTHNESS[..] } else { &self.smoothness[k..=k] };
            let curve = search.best_curve(&normal, mean_variance, candidates);
            self.smoothness[k] = curve.smoothness;
            self.evidence += curve.evidence;
            self.curves[k] = search.treatments.fitted(&curve.coefficients, search.d);
        }
        if round % 2 == 1 {
            self.fit_covariates();
        }
        self.fit_variance();
        if round >= CONSTANT_WEIGHT_ROUNDS && round.is_multiple_of(2) {
            (0..3).for_each(|_| self.step_weights());
        }
        self.evidence -= 0.5 * WEIGHT_PRECISION * self.slopes.iter().map(|s| s * s).sum::<f64>();
        self.evidence += self.e_step();
    }

    /// g(x) given the classes' curves; rows far from all curves move it little.
    fn fit_covariates(&mut self) {
        let (search, d) = (self.search, self.search.d);
        let mut target = self.covariates.clone();
        for row in 0..search.rows() {
            let total: f64 = (0..self.classes).map(|k| self.weight(row, k)).sum();
            let damping = total.min(1.0) / total.max(1e-9);
            for j in 0..d {
                let at = row * d + j;
                let gap = |k: usize| search.outcomes[at] - self.curves[k][at] - self.covariates[at];
                target[at] += damping * (0..self.classes).map(|k| self.weight(row, k) * gap(k)).sum::<f64>();
            }
        }
        self.covariates = search.fit_covariates(&target);
    }

    fn residual(&self, at: usize, k: usize) -> f64 {
        self.search.outcomes[at] - self.covariates[at] - self.curves[k][at]
    }

    fn fit_variance(&mut self) {
        let (rows, d) = (self.search.rows(), self.search.d);
        for j in 0..d {
            let of_row = |row: usize| {
                let of_class = |k: usize| self.weight(row, k) * self.residual(row * d + j, k).powi(2);
                (0..self.classes).map(of_class).sum::<f64>()
            };
            let sum: f64 = (0..rows).map(of_row).sum();
            self.variance[j] = (sum / rows as f64).max(1e-4 * self.search.deviation[j].powi(2));
        }
    }

    /// A gradient step of the class weights.
    fn step_weights(&mut self) {
        let (features, classes) = (&self.search.weights, self.classes);
        let (subjects, width) = (self.search.subject_rows.len(), features.width);
        let mut gradient: Vec<f64> = self.slopes.iter().map(|slope| -WEIGHT_PRECISION * slope).collect();
        for (subject, rows) in self.search.subject_rows.iter().enumerate() {
            let share = 1.0 / rows.len().max(1) as f64;
            for k in 0..classes {
                let at = subject * classes + k;
                let gap = share * (self.responsibilities[at] - self.log_weights[at].exp());
                for &row in rows {
                    let own = &mut gradient[k * width..][..width];
                    own.iter_mut().zip(features.row(row)).for_each(|(g, f)| *g += gap * f);
                }
            }
        }
        let squares = dot(&features.values, &features.values) / self.search.rows() as f64;
        let step = 8.0 / (subjects as f64 * (0.25 * squares + 1.0));
        self.slopes.iter_mut().zip(&gradient).for_each(|(slope, g)| *slope += step * g);
        let mut logits = vec![0.0; classes];
        for (subject, rows) in self.search.subject_rows.iter().enumerate() {
            for (k, logit) in logits.iter_mut().enumerate() {
                let own = &self.slopes[k * width..][..width];
                *logit = rows.iter().map(|&row| dot(features.row(row), own)).sum::<f64>() / rows.len() as f64;
            }
            let total = log_sum_exp_of(&logits);
            for (k, logit) in logits.iter().enumerate() {
                self.log_weights[subject * classes + k] = logit - total;
            }
        }
    }

    /// Responsibilities and robust weights; returns the log-likelihood.
    fn e_step(&mut self) -> f64 {
        let (d, classes) = (self.search.d, self.classes);
        let log_scale: f64 = self.variance.iter().map(|v| 0.5 * v.ln()).sum();
        let mut likelihood = 0.0;
        let mut logs = vec![0.0; classes];
        for (subject, rows) in self.search.subject_rows.iter().enumerate() {
            logs.copy_from_slice(&self.log_weights[subject * classes..][..classes]);
            for &row in rows {
                for (k, log) in logs.iter_mut().enumerate() {
                    let square = |j: usize| self.residual(row * d + j, k).powi(2) / self.variance[j];
                    let distance: f64 = (0..d).map(square).sum();
                    let freedom = FREEDOM + d as f64;
                    self.robust[row * classes + k] = freedom / (FREEDOM + distance);
                    *log -= log_scale + 0.5 * freedom * (distance / FREEDOM).ln_1p();
                }
            }
            let total = log_sum_exp_of(&logs);
            likelihood += total;
            for (k, log) in logs.iter().enumerate() {
                self.responsibilities[subject * classes + k] = (log - total).exp();
            }
        }
        likelihood
    }
}

/// The best solutions of a search; the setting is the number of classes and that of the subjects.
impl Job for Vec<Solution> {
    type Setting = (usize, usize);

    fn finished(&self) -> Finished {
        let numbers = |solution: &Solution| {
            let Solution { responsibilities, evidence, smoothness } = solution;
            [&[*evidence], &smoothness[..], responsibilities].concat()
        };
        Finished { arrays: Vec::new(), numbers: self.iter().flat_map(numbers).collect() }
    }

    fn restore(&(classes, subjects): &(usize, usize), kept: Finished) -> Option<Self> {
        let solution = |numbers: &[f64]| Solution {
            evidence: numbers[0],
            smoothness: numbers[1..=classes].to_vec(),
            responsibilities: numbers[1 + classes..].to_vec(),
        };
        let solutions = kept.numbers.chunks_exact(1 + classes + classes * subjects);
        let complete = solutions.len() > 0 && solutions.remainder().is_empty();
        complete.then(|| solutions.map(solution).collect())
    }
}

impl Solution {
    /// All subjects in one class.
    pub(crate) fn one_class(subjects: usize) -> Self {
        Self { responsibilities: vec![1.0; subjects], evidence: 0.0, smoothness: vec![1.0] }
    }

    /// The best solutions that differ from those before them, at most `keep`.
    pub(crate) fn best_distinct(mut solutions: Vec<Self>, classes: usize, keep: usize) -> Vec<Self> {
        solutions.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
        let mut distinct: Vec<Self> = Vec::new();
        for solution in solutions {
            let same = |other: &Self| {
                overlap(&other.responsibilities, &solution.responsibilities, classes) > MAX_OVERLAP
            };
            if !distinct.iter().any(same) {
                distinct.push(solution);
            }
            if distinct.len() == keep {
                break;
            }
        }
        distinct
    }
}

/// sum_i a_ik b_il of every pair of classes, `[classes, classes]`.
pub(crate) fn overlap_table(a: &[f64], b: &[f64], classes: usize) -> Vec<f64> {
    let mut table = vec![0.0; classes * classes];
    for (a, b) in a.chunks_exact(classes).zip(b.chunks_exact(classes)) {
        for (row, a) in table.chunks_exact_mut(classes).zip(a) {
            row.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
    table
}

/// How far two solutions have the same classes, from 0 to 1, whatever the order of the classes.
fn overlap(a: &[f64], b: &[f64], classes: usize) -> f64 {
    let table = overlap_table(a, b, classes);
    let order = crate::math::best_assignment(&table, classes);
    let matched: f64 = order.iter().enumerate().map(|(column, &row)| table[row * classes + column]).sum();
    matched / (dot(a, a) * dot(b, b)).sqrt().max(1e-9)
}

fn subtract(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::lines;
    use crate::math::adjusted_rand_index;
    use crate::stream;

    /// The most probable class of every subject.
    fn labels(solution: &Solution, classes: usize) -> Vec<usize> {
        let of_subject = |p: &[f64]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0);
        solution.responsibilities.chunks_exact(classes).map(of_subject).collect()
    }

    #[test]
    fn two_crossing_lines_are_found() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.15);
        let all: Vec<usize> = (0..300).collect();
        let search =
            Additive::new(&data.rows, &all, Basis { x_cosines: &[3], t_cosines: &[3], interactions: false });
        let found = search.search(2, 16, 2, &mut stream(1, &["search"]));
        // near the crossing nobody can tell the classes apart
        let apart: Vec<usize> = (0..300).filter(|&i| data.rows.input(i)[1].abs() > 0.4).collect();
        let labels = labels(&found[0], 2);
        let of = |labels: &[usize]| apart.iter().map(|&i| labels[i]).collect::<Vec<_>>();
        let agreement = adjusted_rand_index(&of(&labels), &of(&data.classes));
        assert!(agreement > 0.9, "{agreement}");
        assert!(found.len() == 1 || found[0].evidence >= found[1].evidence, "best first");
    }

    #[test]
    fn solutions_that_differ_in_the_order_of_classes_are_one() {
        let solution = |responsibilities: Vec<f64>, evidence| Solution {
            responsibilities,
            evidence,
            smoothness: vec![1.0; 2],
        };
        let solutions = vec![
            solution(vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], 1.0),
            solution(vec![0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0], 3.0),
            solution(vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], 2.0),
        ];
        let kept = Solution::best_distinct(solutions, 2, 3);
        assert_eq!(kept.iter().map(|solution| solution.evidence).collect::<Vec<_>>(), [3.0, 2.0]);
    }

    #[test]
    fn rows_of_one_subject_have_one_class() {
        let data = lines(&[1.0, -1.0], 60, 4, 0.3);
        let all: Vec<usize> = (0..60).collect();
        let search =
            Additive::new(&data.rows, &all, Basis { x_cosines: &[0], t_cosines: &[0], interactions: false });
        let found = search.search(2, 16, 1, &mut stream(1, &["search"]));
        assert_eq!(found[0].responsibilities.len(), 2 * 60);
        assert!(adjusted_rand_index(&labels(&found[0], 2), &data.classes) > 0.85);
    }
}
