//! The noise scales s_kd(t), per class and outcome element.
//!
//! log s_kd(t)^2 = a_kd + sum_j b_kdj phi_j(t), with phi the standardised treatments and their squares, or with
//! the constant alone. Fitted by Fisher scoring of the Gaussian likelihood of held-out residuals r,
//! beta += (Phi' Phi)^-1 Phi' (r^2 / s^2 - 1); the curve in t is kept if it lowers the BIC.

use serde::{Deserialize, Serialize};

use crate::math::cholesky_solve;

/// Smallest standard deviation, in standardised outcomes; it keeps likelihoods finite.
const MIN_SCALE: f64 = 1e-3;
/// The weight of the scales of all classes together in those of each class, in units.
const POOLED_UNITS: f64 = 4.0;
/// The smallest number of units per coefficient from which a curve in t is fitted.
const MIN_UNITS_PER_COEFFICIENT: usize = 10;
/// The number of steps of Fisher scoring.
const SCORING_STEPS: usize = 12;
/// The largest change of a coefficient in one step of Fisher scoring.
const MAX_SCORING_STEP: f64 = 1.0;

/// The noise scales of all classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scales {
    pub(crate) classes: Vec<ScaleCurve>,
}

/// The log variances of one class: `[1 + features, elements]`, or `[1, elements]` if they are constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScaleCurve {
    pub(crate) elements: usize,
    pub(crate) coefficients: Vec<f32>,
    /// The range of each standardised treatment. Beyond it the scale is that at its end.
    pub(crate) range: Vec<TreatmentRange>,
}

impl ScaleCurve {
    /// The smallest log variance.
    pub(crate) fn min_log_variance() -> f32 {
        (2.0 * MIN_SCALE.ln()) as f32
    }
}

/// The range of one standardised treatment, serialised as `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f32, f32)", into = "(f32, f32)")]
pub(crate) struct TreatmentRange {
    pub(crate) low: f32,
    pub(crate) high: f32,
}

impl From<(f32, f32)> for TreatmentRange {
    fn from((low, high): (f32, f32)) -> Self {
        Self { low, high }
    }
}

impl From<TreatmentRange> for (f32, f32) {
    fn from(range: TreatmentRange) -> Self {
        (range.low, range.high)
    }
}

/// The residuals of the units of one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residuals {
    /// Standardised treatments `[n, d_t]`.
    pub t: Vec<f32>,
    /// Squared residuals `[n, elements]`; NaN where the outcome is missing.
    pub squares: Vec<f32>,
}

impl Residuals {
    /// Adds the residuals of other units.
    pub(crate) fn append(&mut self, other: Self) {
        self.t.extend(other.t);
        self.squares.extend(other.squares);
    }

    /// Adds the residual of one unit.
    pub(crate) fn push(&mut self, t: &[f32], y: &[f32], mean: &[f32], mask: Option<&[bool]>) {
        self.t.extend_from_slice(t);
        for (d, (y, mean)) in y.iter().zip(mean).enumerate() {
            let observed = mask.is_none_or(|mask| mask[d]);
            self.squares.push(if observed { (y - mean).powi(2) } else { f32::NAN });
        }
    }
}

impl Scales {
    /// Scales from the residuals of each class, shrunk towards those of all classes together. They are constant, or with
    /// `curves` depend on t where that lowers the BIC.
    pub(crate) fn fit(classes: &[Residuals], elements: usize, d_t: usize, curves: bool) -> Self {
        let sum = |class: &Residuals| {
            let mut sums = vec![(0.0, 0.0); elements];
            for row in class.squares.chunks_exact(elements) {
                for (sum, &square) in sums.iter_mut().zip(row).filter(|(_, square)| !square.is_nan()) {
                    *sum = (sum.0 + 1.0, sum.1 + f64::from(square));
                }
            }
            sums
        };
        let sums: Vec<Vec<(f64, f64)>> = classes.iter().map(sum).collect();
        let pooled = |d: usize| {
            let (n, total) = sums.iter().map(|sums| sums[d]).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            if n > 0.0 { total / n } else { 1.0 }
        };
        let pooled: Vec<f64> = (0..elements).map(pooled).collect();
        let curve = |(class, sums): (&Residuals, &Vec<(f64, f64)>)| {
            let shrunk = |((n, total), pooled): (&(f64, f64), &f64)| {
                (total + POOLED_UNITS * pooled) / (n + POOLED_UNITS)
            };
            let variance = sums.iter().zip(&pooled).map(shrunk).map(|v| v.max(MIN_SCALE * MIN_SCALE));
            let constant: Vec<f64> = variance.map(f64::ln).collect();
            let in_t = if curves { fit_curve(class, &constant, d_t) } else { None };
            let coefficients = in_t.unwrap_or(constant).into_iter().map(|c| c as f32).collect();
            ScaleCurve { elements, coefficients, range: treatment_ranges(&class.t, d_t) }
        };
        Self { classes: classes.iter().zip(&sums).map(curve).collect() }
    }

    /// Whether class `k`'s scales depend on the treatment.
    pub(crate) fn depends_on_treatment(&self, k: usize) -> bool {
        self.classes[k].coefficients.len() > self.classes[k].elements
    }

    /// log s_k(t)^2 at standardised `t`, per outcome element.
    pub(crate) fn log_variance(&self, k: usize, t: &[f32]) -> Vec<f32> {
        let curve = &self.classes[k];
        let mut log_variance = curve.coefficients[..curve.elements].to_vec();
        let clamped: Vec<f32> =
            t.iter().zip(&curve.range).map(|(t, range)| t.clamp(range.low, range.high)).collect();
        let slopes = curve.coefficients[curve.elements..].chunks_exact(curve.elements.max(1));
        for (feature, slopes) in features(&clamped).zip(slopes) {
            log_variance.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += feature * slope);
        }
        let floor = ScaleCurve::min_log_variance();
        log_variance.iter_mut().for_each(|value| *value = value.max(floor));
        log_variance
    }

    /// Scales of the classes in another order: class `k` of the result is class `order[k]` of this.
    #[cfg(test)]
    pub(crate) fn reordered(&self, order: &[usize]) -> Self {
        Self { classes: order.iter().map(|&k| self.classes[k].clone()).collect() }
    }

    /// Whether loaded scales can be used for models with these numbers of classes, outcome elements and treatments.
    pub(crate) fn is_sound(&self, classes: usize, elements: usize, d_t: usize) -> bool {
        let is_sound = |curve: &ScaleCurve| {
            let n = curve.coefficients.len();
            let are_finite = curve.coefficients.iter().all(|c| c.is_finite());
            let are_ordered = curve.range.iter().all(|range| range.low <= range.high);
            let has_size = n == elements || n == elements * (1 + 2 * d_t);
            curve.elements == elements && has_size && are_finite && are_ordered && curve.range.len() == d_t
        };
        self.classes.len() == classes && self.classes.iter().all(is_sound)
    }
}

/// phi(t): the treatments and their squares.
fn features(t: &[f32]) -> impl Iterator<Item = f32> + '_ {
    t.iter().copied().chain(t.iter().map(|t| t * t))
}

/// The range of each treatment; zero if there are no units.
fn treatment_ranges(t: &[f32], d_t: usize) -> Vec<TreatmentRange> {
    let mut ranges = vec![TreatmentRange { low: f32::INFINITY, high: f32::NEG_INFINITY }; d_t];
    for row in t.chunks_exact(d_t) {
        for (range, &t) in ranges.iter_mut().zip(row) {
            *range = TreatmentRange { low: range.low.min(t), high: range.high.max(t) };
        }
    }
    let is_empty = |range: &&mut TreatmentRange| range.low > range.high;
    ranges.iter_mut().filter(is_empty).for_each(|range| *range = TreatmentRange { low: 0.0, high: 0.0 });
    ranges
}

/// The coefficients of a curve in t, if it has a lower BIC than the constant.
fn fit_curve(class: &Residuals, constant: &[f64], d_t: usize) -> Option<Vec<f64>> {
    let (n, elements, p) = (class.t.len() / d_t, constant.len(), 1 + 2 * d_t);
    if n < MIN_UNITS_PER_COEFFICIENT * p {
        return None;
    }
    let phi: Vec<f64> = class
        .t
        .chunks_exact(d_t)
        .flat_map(|t| std::iter::once(1.0).chain(features(t)).map(f64::from).collect::<Vec<_>>())
        .collect();
    let mut coefficients = vec![0.0; p * elements];
    let mut gain = 0.0;
    for d in 0..elements {
        let squares: Vec<f64> =
            class.squares.iter().skip(d).step_by(elements).map(|&s| f64::from(s)).collect();
        let mut beta = vec![0.0; p];
        beta[0] = constant[d];
        let before = log_likelihood(&phi, &squares, &beta);
        for _ in 0..SCORING_STEPS {
            score_step(&phi, &squares, &mut beta);
        }
        let after = log_likelihood(&phi, &squares, &beta);
        if after.is_finite() && after > before {
            gain += after - before;
        } else {
            beta = vec![0.0; p];
            beta[0] = constant[d];
        }
        (0..p).for_each(|j| coefficients[j * elements + d] = beta[j]);
    }
    let penalty = 0.5 * (n as f64).ln() * (elements * (p - 1)) as f64;
    (gain > penalty).then_some(coefficients)
}

/// The log variance beta' phi, not below that of the smallest scale.
fn predict(phi: &[f64], beta: &[f64]) -> f64 {
    phi.iter().zip(beta).map(|(phi, beta)| phi * beta).sum::<f64>().max(2.0 * MIN_SCALE.ln())
}

/// The Gaussian log-likelihood of squared residuals, up to a constant.
fn log_likelihood(phi: &[f64], squares: &[f64], beta: &[f64]) -> f64 {
    let rows = phi.chunks_exact(beta.len()).zip(squares).filter(|(_, square)| !square.is_nan());
    let term = |(phi, square): (&[f64], &f64)| {
        let log_variance = predict(phi, beta);
        -0.5 * (log_variance + square * (-log_variance).exp())
    };
    rows.map(term).sum()
}

/// One step of Fisher scoring, at most [`MAX_SCORING_STEP`] in each coefficient. No step if the information matrix is not
/// positive definite.
fn score_step(phi: &[f64], squares: &[f64], beta: &mut [f64]) {
    let p = beta.len();
    let (mut information, mut score) = (vec![0.0; p * p], vec![0.0; p]);
    for (phi, square) in phi.chunks_exact(p).zip(squares).filter(|(_, square)| !square.is_nan()) {
        let excess = square * (-predict(phi, beta)).exp() - 1.0;
        for i in 0..p {
            score[i] += phi[i] * excess;
            (0..p).for_each(|j| information[i * p + j] += phi[i] * phi[j]);
        }
    }
    (0..p).for_each(|i| information[i * p + i] += 1e-3);
    if cholesky_solve(&mut information, p, &mut score, 1).is_ok() {
        beta.iter_mut()
            .zip(&score)
            .for_each(|(beta, step)| *beta += step.clamp(-MAX_SCORING_STEP, MAX_SCORING_STEP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    fn residuals(scale: impl Fn(f32) -> f32) -> Residuals {
        let mut rng = stream(3, &["scales"]);
        let mut class = Residuals::default();
        for i in 0..4000 {
            let t = (i % 100) as f32 / 50.0 - 1.0;
            let noise: f32 = StandardNormal.sample(&mut rng);
            class.push(&[t], &[scale(t) * noise], &[0.0], None);
        }
        class
    }

    #[test]
    fn a_scale_that_grows_with_the_treatment_depends_on_it() {
        let scales = Scales::fit(&[residuals(|t| (0.5 * t).exp())], 1, 1, true);
        assert!(scales.depends_on_treatment(0));
        for t in [-1.0, 0.0, 1.0] {
            assert!((scales.log_variance(0, &[t])[0] - t).abs() < 0.15);
        }
        let (edge, beyond) = (scales.log_variance(0, &[1.0]), scales.log_variance(0, &[9.0]));
        assert!((edge[0] - beyond[0]).abs() < 0.1, "constant beyond the treatments of the units");
    }

    #[test]
    fn a_constant_scale_stays_constant() {
        let scales = Scales::fit(&[residuals(|_| 0.3)], 1, 1, true);
        assert!(!scales.depends_on_treatment(0));
        assert!((scales.log_variance(0, &[0.0])[0] - 0.09_f32.ln()).abs() < 0.1);
        assert!(scales.is_sound(1, 1, 1) && !scales.is_sound(2, 1, 1));
    }
}
