//! Starts: additive mixtures y = g(x) + h(t) + x D r(t) + h_k(t) + noise, fitted by penalised EM in closed form from many
//! random starts. If classes differ in how covariates change their responses, class k also has b_k x + x D_k r(t).
//!
//! They are cheap, smooth, and find classes that a network cannot find by itself. Solutions are compared by their
//! approximate evidence: log-likelihood, minus the penalty, minus the log volume of each class's coefficients. The
//! coefficients of a solution are those that a network starts from.

mod em;
mod features;
mod search;
mod solution;

pub(crate) use features::AdditiveForm;
pub(crate) use solution::{Solution, overlap_table};

use super::basis::TreatmentTerm;
use super::coefficients::Coefficients;
use super::relevance::Regression;
use super::rows::Rows;
use crate::math::{cholesky, dot, mean, solve_with_factor};
use em::difference;
use features::{Features, NormalEquations};

/// The smoothness of curves: factors on the prior precision of cosines.
const SMOOTHNESS: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
/// EM rounds of a given start, after the first of which every curve has the smoothness with the largest evidence.
const REFINING_ROUNDS: usize = 10;

/// The data of a search, and the fit with one class.
pub(crate) struct Additive {
    /// The number of outcomes.
    d: usize,
    /// Row numbers are those of this search: 0, 1, ...
    subject_rows: Vec<Vec<usize>>,
    subject_of: Vec<usize>,
    /// `[outcomes, rows]`
    outcomes: Vec<Vec<f64>>,
    covariates: Features,
    /// The Cholesky factor of the covariates' normal equations.
    covariate_factor: Vec<f64>,
    treatments: Features,
    /// Where every treatment itself is among these features.
    slopes: Vec<usize>,
    /// 1 and the mean covariates of every subject.
    weights: Features,
    /// What all classes share, and residuals, with one class: `[outcomes, rows]`.
    single: Vec<Vec<f64>>,
    single_coefficients: Vec<f64>,
    residuals: Vec<Vec<f64>>,
    deviation: Vec<f64>,
}

impl Additive {
    /// The search data of `subjects`.
    pub(crate) fn new(rows: &Rows, subjects: &[usize], form: AdditiveForm<'_>) -> Self {
        let d_x = form.basis.x_cosines.len();
        let slope = |(i, term)| matches!(term, TreatmentTerm::Slope { .. }).then_some(i);
        let mut search = Self {
            d: rows.d,
            subject_rows: Vec::new(),
            subject_of: Vec::new(),
            outcomes: vec![Vec::new(); rows.d],
            covariates: form.shared(),
            covariate_factor: Vec::new(),
            treatments: form.of_class(),
            slopes: (1..).zip(form.basis.treatment_terms()).filter_map(slope).collect(),
            weights: Features::new(vec![0.0; 1 + d_x], vec![false; 1 + d_x]),
            single: Vec::new(),
            single_coefficients: Vec::new(),
            residuals: Vec::new(),
            deviation: Vec::new(),
        };
        subjects.iter().for_each(|&subject| search.push(rows, subject, &form));
        search.fit_single();
        search
    }

    /// Adds the rows of one subject.
    fn push(&mut self, rows: &Rows, subject: usize, form: &AdditiveForm<'_>) {
        let d_x = form.basis.x_cosines.len();
        let (first, own) = (self.rows(), &rows.subjects[subject]);
        let share = 1.0 / own.len().max(1) as f64;
        let mut means = vec![0.0; d_x];
        let mut features = Vec::new();
        for &row in own {
            let (x, t) = rows.input(row).split_at(d_x);
            features.clear();
            form.push_shared(x, t, rows.offset(row), &mut features);
            self.covariates.push(features.iter().copied().map(f64::from));
            features.clear();
            form.push_of_class(x, t, &mut features);
            self.treatments.push(features.iter().copied().map(f64::from));
            means.iter_mut().zip(x).for_each(|(mean, &x)| *mean += share * f64::from(x));
            let outcomes = self.outcomes.iter_mut().zip(rows.numeric_outcome(row));
            outcomes.for_each(|(column, &y)| column.push(f64::from(y)));
            self.subject_of.push(self.subject_rows.len());
        }
        self.weights.push(std::iter::once(1.0).chain(means));
        self.subject_rows.push((first..self.rows()).collect());
    }

    fn rows(&self) -> usize {
        self.subject_of.len()
    }

    /// One class: a regression on the shared features, whose prior is relative to the noise that it leaves.
    fn fit_single(&mut self) {
        let (p, n) = (self.covariates.width(), self.rows().max(1) as f64);
        let centred = |outcomes: &Vec<f64>| {
            let centre = mean(outcomes);
            outcomes.iter().map(|y| y - centre).collect::<Vec<f64>>()
        };
        let targets: Vec<Vec<f64>> = self.outcomes.iter().map(centred).collect();
        let NormalEquations { gram, moments } =
            self.covariates.normal_equations(&vec![1.0; self.rows()], &targets);
        let squares = targets.iter().map(|target| dot(target, target)).sum();
        let regression = Regression { gram: &gram, moments: &moments, outputs: self.d, squares, rows: n };
        let relevance = regression.relevance(&self.covariates.precisions, &self.covariates.groups);
        self.covariates.precisions = relevance.precisions;
        let mut factor = gram;
        for j in 0..p {
            factor[j * p + j] += relevance.variance * self.covariates.precisions[j].max(1e-6);
        }
        if cholesky(&mut factor, p).is_ok() {
            self.covariate_factor = factor;
        }
        (self.single, self.single_coefficients) = self.fit_covariates(&targets);
        self.residuals = targets.iter().zip(&self.single).map(|(y, single)| difference(y, single)).collect();
        let deviation = |residuals: &Vec<f64>| (dot(residuals, residuals) / n).sqrt().max(1e-6);
        self.deviation = self.residuals.iter().map(deviation).collect();
    }

    /// The shared part that is nearest to `targets`, and its coefficients.
    fn fit_covariates(&self, targets: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut fitted = vec![vec![0.0; self.rows()]; self.d];
        if self.covariate_factor.is_empty() {
            return (fitted, vec![0.0; self.covariates.width() * self.d]);
        }
        let mut coefficients = self.covariates.moments(targets);
        solve_with_factor(&self.covariate_factor, self.covariates.width(), &mut coefficients, self.d);
        for (j, fitted) in fitted.iter_mut().enumerate() {
            self.covariates.fit(&coefficients, j, self.d, fitted);
        }
        (fitted, coefficients)
    }

    /// EM from given responsibilities of these subjects, `[subjects, classes]`.
    pub(crate) fn refine(&self, start: &[f64], smoothness: &[f64]) -> (Solution, Coefficients) {
        self.em(start, smoothness.to_vec(), REFINING_ROUNDS, 1)
    }
}
