//! Starts: additive mixtures y = g(x) + h(t) + x D r(t) + h_k(t) + noise, fitted by penalised EM in closed form from many
//! random starts. If classes differ in how covariates change their responses, class k also has b_k x + x D_k r(t).
//!
//! They are cheap, smooth, and find classes that a network cannot find by itself. Solutions are compared by their
//! approximate evidence: log-likelihood, minus the penalty, minus the log volume of each class's coefficients. The
//! coefficients of a solution are those that a network starts from.

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::basis::{Basis, TreatmentTerm};
use super::coefficients::Coefficients;
use super::jobs::{Finished, Job};
use super::network::{
    ALIKE_PRECISION, CLASS_INTERACTION_PRECISION, Form, INTERACTION_PRECISION, VALUE_PRECISION,
};
use super::relevance::Regression;
use super::rows::Rows;
use crate::Rng;
use crate::math::{cholesky, cholesky_solve, dot, log_sum_exp_of};

/// The smoothness of curves: factors on the prior precision of cosines.
const SMOOTHNESS: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
/// Rounds after which every curve has the smoothness with the largest evidence; at first every class has a random one.
const GIVEN_SMOOTHNESS_ROUNDS: usize = 10;
/// The prior precision of the slope of a class's curve in t ...
const SLOPE: f64 = 0.5;
/// ... and of one in a treatment of few values: which group of outcomes under one value belongs to which under another cannot
/// be seen, so the classes are taken to respond as much alike as possible.
const FEW_VALUES: f64 = 50.0;
/// The prior precisions of the slope of the curve that all classes share, and of predictions of regressors.
const SHARED_SLOPE: f64 = 0.1;
/// The prior precision of what classes must not have in common.
const NOT_SHARED: f64 = 1e6;
/// Degrees of freedom of the noise, for robustness.
const FREEDOM: f64 = 6.0;
/// EM rounds of a start ...
const ROUNDS: usize = 28;
/// ... and of a given start.
const REFINING_ROUNDS: usize = 10;
/// ... and of a solution that is brought to convergence.
const SETTLING_ROUNDS: usize = 40;
/// Quantiles of a treatment above which two classes may change places, or every value if there are at most this many; rounds of EM
/// after it and the least smoothness at first, the most such moves of a sweep, the most sweeps, and the evidence that a move must
/// gain.
const CUTS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
const MAX_VALUE_CUTS: usize = 12;
const MOVE_ROUNDS: usize = 15;
const MOVE_SMOOTHNESS: f64 = 100.0;
const MAX_MOVES: usize = 24;
const SWEEPS: usize = 3;
const MIN_GAIN: f64 = 0.5;
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
    /// Features whose prior is learned together.
    groups: Vec<Option<usize>>,
}

impl Features {
    fn new(precisions: Vec<f64>, smooth: Vec<bool>) -> Self {
        let groups = vec![None; precisions.len()];
        Self { values: Vec::new(), width: precisions.len(), precisions, smooth, groups }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.width..][..self.width]
    }

    fn push(&mut self, row: &[f32]) {
        self.values.extend(row.iter().map(|&value| f64::from(value)));
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
    /// Where every treatment itself is among these features.
    slopes: Vec<usize>,
    weights: Features,
    /// What all classes share, and residuals, with one class.
    single: Vec<f64>,
    single_coefficients: Vec<f64>,
    residuals: Vec<f64>,
    deviation: Vec<f64>,
}

/// What a mixture is linear in: a part of a [`Form`].
#[derive(Clone, Copy)]
pub(crate) struct AdditiveForm<'a> {
    pub basis: Basis<'a>,
    /// Whether there are products of covariates and treatments, in all classes alike and in each on its own.
    pub interactions: bool,
    pub class_interactions: bool,
    /// Whether classes respond to the treatment alike.
    pub alike: bool,
    /// The number of predictions of regressors that a row has.
    pub offsets: usize,
    /// Whether there are classes whose curves have a smoothness of their own: deviations from a common curve would not be smooth.
    pub own_curves: bool,
}

impl<'a> From<&'a Form> for AdditiveForm<'a> {
    fn from(form: &'a Form) -> Self {
        Self {
            basis: form.basis(),
            interactions: form.interactions,
            class_interactions: form.class_interactions,
            alike: form.alike,
            offsets: form.offsets,
            own_curves: form.classes > 1 && !form.alike,
        }
    }
}

impl AdditiveForm<'_> {
    /// Features that all classes share: covariates, products, treatments, predictions of regressors.
    fn shared(&self) -> Features {
        let of_frequency = |j: usize| if j == 0 { 0.1 } else { (j * j) as f64 };
        let products = if self.interactions { self.basis.products() } else { 0 };
        let of_term = |term: TreatmentTerm| match term {
            TreatmentTerm::Slope { only: false } | TreatmentTerm::Cosine(_) if self.own_curves => NOT_SHARED,
            TreatmentTerm::Slope { .. } => SHARED_SLOPE,
            TreatmentTerm::Cosine(j) => of_frequency(j),
            TreatmentTerm::Value => VALUE_PRECISION,
        };
        let mut precisions: Vec<f64> = self.basis.covariate_frequencies().map(of_frequency).collect();
        precisions.extend(std::iter::repeat_n(INTERACTION_PRECISION, products));
        precisions.extend(self.basis.treatment_terms().into_iter().map(of_term));
        precisions.extend(std::iter::repeat_n(SHARED_SLOPE, self.offsets));
        let smooth = vec![false; precisions.len()];
        Features { groups: self.shared_groups(), ..Features::new(precisions, smooth) }
    }

    /// The shared features whose prior is learned together: every covariate, its cosines, its products, and every treatment
    /// and its other functions.
    fn shared_groups(&self) -> Vec<Option<usize>> {
        let (d_x, d_t) = (self.basis.x_cosines.len(), self.basis.t_cosines.len());
        let mut groups = Vec::new();
        for (i, &cosines) in self.basis.x_cosines.iter().enumerate() {
            groups.extend((0..=cosines).map(|j| Some(2 * i + usize::from(j > 0))));
        }
        if self.interactions {
            let columns = self.basis.product_columns;
            let factors: usize = (0..d_t).map(|j| self.basis.factors(j)).sum();
            groups.extend((0..factors).flat_map(|_| columns.iter().map(|&i| Some(2 * d_x + i))));
        }
        for j in 0..d_t {
            let others = self.basis.t_cosines[j].max(self.basis.values(j).len());
            let is_learned = !(self.own_curves && self.basis.t_cosines[j] > 0);
            groups.push(is_learned.then_some(3 * d_x + 2 * j));
            groups.extend(std::iter::repeat_n(is_learned.then_some(3 * d_x + 2 * j + 1), others));
        }
        groups.extend((0..self.offsets).map(|i| Some(3 * d_x + 2 * d_t + i)));
        groups
    }

    /// Features of every class: an intercept, treatments and, if classes differ in them, covariates and products.
    fn of_class(&self) -> Features {
        let (mut precisions, mut smooth) = (vec![0.3], vec![false]);
        for term in self.basis.treatment_terms() {
            smooth.push(matches!(term, TreatmentTerm::Cosine(_)));
            precisions.push(match term {
                _ if self.alike => ALIKE_PRECISION,
                TreatmentTerm::Slope { only: false } => SLOPE,
                TreatmentTerm::Slope { only: true } | TreatmentTerm::Value => FEW_VALUES,
                TreatmentTerm::Cosine(j) => (j * j * j) as f64,
            });
        }
        if self.class_interactions {
            let products = if self.alike { ALIKE_PRECISION } else { CLASS_INTERACTION_PRECISION };
            precisions.extend(std::iter::repeat_n(CLASS_INTERACTION_PRECISION, self.basis.x_cosines.len()));
            precisions.extend(std::iter::repeat_n(products, self.basis.products()));
        }
        smooth.resize(precisions.len(), false);
        Features::new(precisions, smooth)
    }

    fn push_shared(&self, x: &[f32], t: &[f32], offsets: &[f32], out: &mut Vec<f32>) {
        self.basis.push_covariates(x, out);
        if self.interactions {
            self.basis.push_products(x, t, out);
        }
        self.basis.push_treatments(t, out);
        out.extend_from_slice(&offsets[..self.offsets]);
    }

    fn push_of_class(&self, x: &[f32], t: &[f32], out: &mut Vec<f32>) {
        out.push(1.0);
        self.basis.push_treatments(t, out);
        if self.class_interactions {
            out.extend_from_slice(x);
            self.basis.push_products(x, t, out);
        }
    }
}

impl Additive {
    /// The search data of `subjects`.
    pub(crate) fn new(rows: &Rows, subjects: &[usize], form: AdditiveForm<'_>) -> Self {
        let d_x = form.basis.x_cosines.len();
        let (mut covariates, mut treatments) = (form.shared(), form.of_class());
        let width = 1 + d_x;
        let mut weights = Features::new(vec![WEIGHT_PRECISION; width], vec![false; width]);
        let mut outcomes = Vec::new();
        let (mut subject_rows, mut subject_of) = (Vec::new(), Vec::new());
        let mut features = Vec::new();
        for &subject in subjects {
            let mut own = Vec::new();
            for &row in &rows.subjects[subject] {
                own.push(subject_of.len());
                subject_of.push(subject_rows.len());
                let (x, t) = rows.input(row).split_at(d_x);
                features.clear();
                form.push_shared(x, t, rows.offset(row), &mut features);
                covariates.push(&features);
                features.clear();
                form.push_of_class(x, t, &mut features);
                treatments.push(&features);
                weights.values.push(1.0);
                weights.values.extend(x.iter().map(|&x| f64::from(x)));
                outcomes.extend(rows.numeric_outcome(row).iter().map(|&y| f64::from(y)));
            }
            subject_rows.push(own);
        }
        let slope = |(i, term)| matches!(term, TreatmentTerm::Slope { .. }).then_some(i);
        let mut search = Self {
            d: rows.d,
            subject_rows,
            subject_of,
            outcomes,
            covariates,
            covariate_factor: Vec::new(),
            treatments,
            slopes: (1..).zip(form.basis.treatment_terms()).filter_map(slope).collect(),
            weights,
            single: Vec::new(),
            single_coefficients: Vec::new(),
            residuals: Vec::new(),
            deviation: Vec::new(),
        };
        search.fit_single();
        search
    }

    fn rows(&self) -> usize {
        self.subject_of.len()
    }

    /// One class: a regression on the shared features, whose prior is relative to the noise that it leaves.
    fn fit_single(&mut self) {
        let (p, d, n) = (self.covariates.width, self.d, self.rows().max(1) as f64);
        let gram = self.covariates.gram(|_| 1.0);
        let variance =
            |residuals: &[f64], j: usize| residuals.iter().skip(j).step_by(d).map(|r| r * r).sum::<f64>() / n;
        let centre: Vec<f64> =
            (0..d).map(|j| self.outcomes.iter().skip(j).step_by(d).sum::<f64>() / n).collect();
        let target: Vec<f64> = self.outcomes.iter().enumerate().map(|(i, y)| y - centre[i % d]).collect();
        let moments = self.covariates.moments(d, &target, |_| 1.0);
        let squares = dot(&target, &target);
        let regression = Regression { gram: &gram, moments: &moments, outputs: d, squares, rows: n };
        let relevance = regression.relevance(&self.covariates.precisions, &self.covariates.groups);
        self.covariates.precisions = relevance.precisions;
        let mut factor = gram;
        for j in 0..p {
            factor[j * p + j] += relevance.variance * self.covariates.precisions[j].max(1e-6);
        }
        if cholesky(&mut factor, p).is_ok() {
            self.covariate_factor = factor;
        }
        (self.single, self.single_coefficients) = self.fit_covariates(&target);
        self.residuals = subtract(&target, &self.single);
        self.deviation = (0..d).map(|j| variance(&self.residuals, j).sqrt().max(1e-6)).collect();
    }

    /// The shared part that is nearest to `target`, and its coefficients.
    fn fit_covariates(&self, target: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut coefficients = self.covariates.moments(self.d, target, |_| 1.0);
        if self.covariate_factor.is_empty() {
            coefficients.fill(0.0);
            return (vec![0.0; target.len()], coefficients);
        }
        crate::math::solve_with_factor(
            &self.covariate_factor,
            self.covariates.width,
            &mut coefficients,
            self.d,
        );
        (self.covariates.fitted(&coefficients, self.d), coefficients)
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
            let smoothness =
                (0..classes).map(|_| SMOOTHNESS[rng.random_range(0..SMOOTHNESS.len())]).collect();
            let start = self.random_start(classes, rng);
            self.em(start, smoothness, ROUNDS, GIVEN_SMOOTHNESS_ROUNDS).0
        };
        Solution::best_distinct((0..runs).map(run).collect(), classes, keep)
    }

    /// The solution that EM converges to, from `start` and from what becomes of it if two classes change places above an
    /// amount: where curves cross, only the evidence of smooth curves tells which branch continues which.
    pub(crate) fn settle(&self, start: Solution) -> Solution {
        let mut best = self.em(start.responsibilities, start.smoothness, SETTLING_ROUNDS, 0).0;
        let classes = best.smoothness.len();
        let pairs = (0..classes).flat_map(|a| (0..a).map(move |b| [a, b]));
        let cuts = self.cuts();
        let moves: Vec<([usize; 2], (usize, f64))> =
            pairs.flat_map(|pair| cuts.iter().map(move |&cut| (pair, cut))).collect();
        let step = moves.len().div_ceil(MAX_MOVES).max(1);
        for sweep in 0..SWEEPS {
            let before = best.evidence;
            for &(pair, cut) in moves.iter().skip(sweep % step).step_by(step) {
                let swapped = self.swapped(&best, pair, cut);
                // smooth curves at first, which do not bend back to where they were
                let smoothness = best.smoothness.iter().map(|own| own.max(MOVE_SMOOTHNESS)).collect();
                let found = self.em(swapped, smoothness, MOVE_ROUNDS, MOVE_ROUNDS / 2).0;
                if found.evidence > best.evidence + MIN_GAIN {
                    best = self.em(found.responsibilities, found.smoothness, MOVE_ROUNDS, 0).0;
                }
            }
            if best.evidence <= before {
                break;
            }
        }
        best
    }

    /// The places of treatments, each with amounts above which classes may change places.
    fn cuts(&self) -> Vec<(usize, f64)> {
        let of_treatment = |&column: &usize| {
            let mut amounts: Vec<f64> =
                (0..self.rows()).map(|row| self.treatments.row(row)[column]).collect();
            amounts.sort_by(f64::total_cmp);
            let mut values = amounts.clone();
            values.dedup();
            let cuts = if values.len() <= MAX_VALUE_CUTS {
                values[..values.len() - 1].to_vec()
            } else {
                CUTS.iter().map(|share| amounts[(share * (amounts.len() - 1) as f64) as usize]).collect()
            };
            cuts.into_iter().map(move |cut| (column, cut)).collect::<Vec<_>>()
        };
        self.slopes.iter().flat_map(of_treatment).collect()
    }

    /// The responsibilities of a solution with two classes in each other's place for subjects with more than `cut` of the treatment
    /// at `column`.
    fn swapped(&self, solution: &Solution, [a, b]: [usize; 2], (column, cut): (usize, f64)) -> Vec<f64> {
        let mut responsibilities = solution.responsibilities.clone();
        let subjects = responsibilities.chunks_exact_mut(solution.smoothness.len());
        for (own, rows) in subjects.zip(&self.subject_rows) {
            let amounts = rows.iter().map(|&row| self.treatments.row(row)[column]);
            if amounts.sum::<f64>() > cut * rows.len() as f64 {
                own.swap(a, b);
            }
        }
        responsibilities
    }

    /// The first treatment of a row.
    fn amount(&self, row: usize) -> f64 {
        self.slopes.first().map_or(0.0, |&column| self.treatments.row(row)[column])
    }

    /// EM from given responsibilities of these subjects.
    pub(crate) fn refine(&self, start: Vec<f64>, smoothness: &[f64]) -> (Solution, Coefficients) {
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
        let step = self.amount(row) - self.amount(centre);
        let of_element = |(j, slope): (usize, &f64)| {
            let gap = self.residuals[row * self.d + j] - self.residuals[centre * self.d + j];
            (gap / self.deviation[j] - slope * step).powi(2)
        };
        let along = if lines { 0.0 } else { step * step };
        slopes.iter().enumerate().map(of_element).sum::<f64>() + along
    }

    /// EM with one class per entry of `smoothness`, which is kept for the first `given` rounds.
    fn em(
        &self,
        start: Vec<f64>,
        smoothness: Vec<f64>,
        rounds: usize,
        given: usize,
    ) -> (Solution, Coefficients) {
        let mut state = EmState::new(self, start, smoothness);
        for round in 0..rounds {
            state.round(round, round >= given);
        }
        let EmState {
            responsibilities, evidence, smoothness, shared, coefficients, variance, slopes, ..
        } = state;
        let precisions = self.covariates.precisions.clone();
        let coefficients =
            Coefficients { shared, precisions, classes: coefficients, variance, weights: slopes };
        (Solution { responsibilities, evidence, smoothness }, coefficients)
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
    /// The coefficients of the shared part.
    shared: Vec<f64>,
    /// The part of every class, and its coefficients.
    curves: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
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
            shared: search.single_coefficients.clone(),
            curves: vec![Vec::new(); classes],
            coefficients: vec![Vec::new(); classes],
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
            self.coefficients[k] = curve.coefficients;
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
        (self.covariates, self.shared) = search.fit_covariates(&target);
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

    fn form<'a>(x_cosines: &'a [usize], t_cosines: &'a [usize]) -> AdditiveForm<'a> {
        let basis = Basis { x_cosines, t_cosines, t_values: &[], product_columns: &[] };
        AdditiveForm {
            basis,
            interactions: false,
            class_interactions: false,
            alike: false,
            offsets: 0,
            own_curves: true,
        }
    }

    /// The most probable class of every subject.
    fn labels(solution: &Solution, classes: usize) -> Vec<usize> {
        let of_subject = |p: &[f64]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0);
        solution.responsibilities.chunks_exact(classes).map(of_subject).collect()
    }

    #[test]
    fn two_crossing_lines_are_found() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.15);
        let all: Vec<usize> = (0..300).collect();
        let search = Additive::new(&data.rows, &all, form(&[3], &[3]));
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
    fn branches_that_were_exchanged_are_put_back() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.15);
        let all: Vec<usize> = (0..400).collect();
        let search = Additive::new(&data.rows, &all, form(&[3], &[6]));
        let truth: Vec<f64> = data
            .classes
            .iter()
            .flat_map(|&k| [f64::from(u8::from(k == 0)), f64::from(u8::from(k == 1))])
            .collect();
        let right =
            search.settle(Solution { responsibilities: truth, evidence: 0.0, smoothness: vec![100.0; 2] });
        let middle = search.cuts()[1];
        let exchanged =
            Solution { responsibilities: search.swapped(&right, [0, 1], middle), ..right.clone() };
        let settled = search.settle(exchanged);
        assert!(settled.evidence > right.evidence - 1.0, "{} {}", settled.evidence, right.evidence);
        assert!(overlap(&settled.responsibilities, &right.responsibilities, 2) > 0.95);
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
        let search = Additive::new(&data.rows, &all, form(&[0], &[0]));
        let found = search.search(2, 16, 1, &mut stream(1, &["search"]));
        assert_eq!(found[0].responsibilities.len(), 2 * 60);
        assert!(adjusted_rand_index(&labels(&found[0], 2), &data.classes) > 0.85);
    }
}
