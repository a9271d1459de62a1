//! Starts: additive mixtures y = g(x) + h_k(t) + noise, fitted by penalised EM in closed form from many random starts.
//!
//! They are cheap, smooth, and find classes that a network cannot find by itself. Solutions are compared by their
//! approximate evidence: log-likelihood, minus the penalty, minus the log volume of each class's curve.

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::cosines::push_cosines;
use super::rows::Rows;
use crate::Rng;
use crate::math::{cholesky, cholesky_solve, dot, log_sum_exp_of};

/// The smoothness of curves: factors on the prior precision of cosines.
const SMOOTHNESS: [f64; 3] = [0.1, 1.0, 10.0];
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
    smoothness: f64,
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

/// cos(pi (x / 2 r + 1/2)), the first cosine of a column
fn first_cosine(x: f64, half_range: f64) -> f64 {
    (std::f64::consts::PI * (x / (2.0 * half_range) + 0.5)).cos()
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

/// The numbers of cosines of every column.
#[derive(Clone, Copy)]
pub(crate) struct Cosines<'a> {
    pub x: &'a [usize],
    pub t: &'a [usize],
}

impl Additive {
    /// The search data of `subjects`.
    pub(crate) fn new(rows: &Rows, subjects: &[usize], cosines: Cosines<'_>) -> Self {
        let d_x = cosines.x.len();
        let squares = |j: usize| (j * j) as f64;
        let x_terms =
            cosines.x.iter().flat_map(|&c| (0..=c).map(move |j| if j == 0 { 0.1 } else { squares(j) }));
        let slope = |c: usize| if c == 0 { FEW_VALUES_SLOPE } else { SLOPE };
        let t_terms = cosines
            .t
            .iter()
            .flat_map(|&c| (0..=c).map(move |j| (j > 0, if j == 0 { slope(c) } else { (j * j * j) as f64 })));
        let (mut smooth, mut t_precisions) = (vec![false], vec![0.3]);
        for (is_smooth, precision) in t_terms {
            smooth.push(is_smooth);
            t_precisions.push(precision);
        }
        let x_precisions: Vec<f64> = x_terms.collect();
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
                for (&x, &count) in x.iter().zip(cosines.x) {
                    push_cosines(x.into(), first_cosine(x.into(), 3.0), count, &mut covariates.values);
                }
                treatments.values.push(1.0);
                for (&t, &count) in t.iter().zip(cosines.t) {
                    push_cosines(t.into(), first_cosine(t.into(), 1.8), count, &mut treatments.values);
                }
                weights.values.push(1.0);
                weights.values.extend(x.iter().map(|&x| f64::from(x)));
                outcomes.extend(rows.outcome(row).iter().map(|&y| f64::from(y)));
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
        self.single = vec![0.0; self.rows() * d];
        let mut curve = vec![0.0; self.rows() * d];
        for _ in 0..15 {
            let target = subtract(&self.outcomes, &self.single);
            curve = self.fit_curve(&target, |_| 1.0, 1.0, 1.0).0;
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

    /// h(t) that is nearest to `target`, and its contribution to the evidence.
    fn fit_curve(
        &self,
        target: &[f64],
        weight: impl Fn(usize) -> f64,
        variance: f64,
        smoothness: f64,
    ) -> (Vec<f64>, f64) {
        let (q, d) = (self.treatments.width, self.d);
        let precision = |j: usize| {
            self.treatments.precisions[j] * if self.treatments.smooth[j] { smoothness } else { 1.0 }
        };
        let mut gram = self.treatments.gram(&weight);
        (0..q).for_each(|j| gram[j * q + j] += variance * precision(j));
        let mut coefficients = self.treatments.moments(d, target, &weight);
        if cholesky_solve(&mut gram, q, &mut coefficients, d).is_err() {
            return (vec![0.0; target.len()], f64::NEG_INFINITY);
        }
        let evidence = (0..q).map(|j| {
            let squares: f64 = coefficients[j * d..][..d].iter().map(|c| c * c).sum();
            let volume = 0.5 * (variance * precision(j)).ln() - gram[j * q + j].ln();
            volume * d as f64 - 0.5 * precision(j) * squares
        });
        let evidence = evidence.sum();
        (self.treatments.fitted(&coefficients, d), evidence)
    }

    /// The best distinct solutions of `runs` random starts, best first.
    pub(crate) fn search(&self, classes: usize, runs: usize, keep: usize, rng: &mut Rng) -> Vec<Solution> {
        if classes == 1 {
            let responsibilities = vec![1.0; self.subject_rows.len()];
            return vec![Solution { responsibilities, evidence: 0.0, smoothness: 1.0 }];
        }
        let run = |_| {
            let smoothness = SMOOTHNESS[rng.random_range(0..SMOOTHNESS.len())];
            let start = self.random_start(classes, rng);
            self.em(start, classes, smoothness, ROUNDS)
        };
        Solution::best_distinct((0..runs).map(run).collect(), classes, keep)
    }

    /// EM from given responsibilities of these subjects.
    pub(crate) fn refine(&self, start: Vec<f64>, classes: usize, smoothness: f64) -> Solution {
        if classes == 1 {
            return Solution { responsibilities: start, evidence: 0.0, smoothness };
        }
        self.em(start, classes, smoothness, REFINING_ROUNDS)
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

    fn em(&self, start: Vec<f64>, classes: usize, smoothness: f64, rounds: usize) -> Solution {
        let mut state = EmState::new(self, start, classes, smoothness);
        for round in 0..rounds {
            state.round(round);
        }
        Solution { responsibilities: state.responsibilities, evidence: state.evidence, smoothness }
    }
}

/// The state of one EM run.
struct EmState<'a> {
    search: &'a Additive,
    classes: usize,
    smoothness: f64,
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
    fn new(search: &'a Additive, responsibilities: Vec<f64>, classes: usize, smoothness: f64) -> Self {
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

    fn round(&mut self, round: usize) {
        let search = self.search;
        self.evidence = 0.0;
        let target = subtract(&search.outcomes, &self.covariates);
        let mean_variance = crate::math::mean(&self.variance);
        for k in 0..self.classes {
            let (curve, evidence) =
                search.fit_curve(&target, |row| self.weight(row, k), mean_variance, self.smoothness);
            self.curves[k] = curve;
            self.evidence += evidence;
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

impl Solution {
    /// The smoothness of its curves.
    pub(crate) fn smoothness(&self) -> f64 {
        self.smoothness
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
    use crate::math::{adjusted_rand_index, argmax};
    use crate::stream;

    /// The most probable class of every subject.
    fn labels(solution: &Solution, classes: usize) -> Vec<usize> {
        let of_subject = |p: &[f64]| argmax(p.iter().copied()).unwrap_or(0);
        solution.responsibilities.chunks_exact(classes).map(of_subject).collect()
    }

    #[test]
    fn two_crossing_lines_are_found() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.15);
        let all: Vec<usize> = (0..300).collect();
        let search = Additive::new(&data.rows, &all, Cosines { x: &[3], t: &[3] });
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
        let solution =
            |responsibilities: Vec<f64>, evidence| Solution { responsibilities, evidence, smoothness: 1.0 };
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
        let search = Additive::new(&data.rows, &all, Cosines { x: &[0], t: &[0] });
        let found = search.search(2, 16, 1, &mut stream(1, &["search"]));
        assert_eq!(found[0].responsibilities.len(), 2 * 60);
        assert!(adjusted_rand_index(&labels(&found[0], 2), &data.classes) > 0.85);
    }
}
