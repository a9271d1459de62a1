//! How far outcomes lie from their class's mean: s_kd(t), per class and outcome element.
//!
//! log s_kd(t)^2 = a_kd + sum_j b_kdj phi_j(t), with phi the standardised treatments and their squares, or with
//! the constant alone. Fitted by Fisher scoring of the Gaussian likelihood of held-out residuals r,
//! beta += (Phi' Phi)^-1 Phi' (r^2 / s^2 - 1); the curve in t is kept where it pays for its parameters (BIC).

use serde::{Deserialize, Serialize};

use crate::models::ridge::cholesky_solve;

/// The least deviation, in standardised outcomes: below it a likelihood means nothing.
const FLOOR: f64 = 1e-3;
/// Pseudo-units from all classes together, added to each class.
const SHRINKAGE: f64 = 4.0;

/// Scales of all classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    classes: Vec<Curve>,
}

/// log variances of one class: `[1 + features, elements]`, or `[1, elements]` where they are constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    elements: usize,
    coefficients: Vec<f32>,
    /// The standardised treatments seen, per dimension: a curve is not followed beyond them.
    range: Vec<(f32, f32)>,
}

/// Residuals of the units of one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residuals {
    /// Standardised treatments `[n, d_t]`.
    pub t: Vec<f32>,
    /// Squared residuals `[n, elements]`; NaN where the outcome is missing.
    pub squares: Vec<f32>,
}

impl Residuals {
    pub fn push(&mut self, t: &[f32], y: &[f32], mean: &[f32], mask: Option<&[bool]>) {
        self.t.extend_from_slice(t);
        for (d, (y, mean)) in y.iter().zip(mean).enumerate() {
            let seen = mask.is_none_or(|mask| mask[d]);
            self.squares.push(if seen { (y - mean).powi(2) } else { f32::NAN });
        }
    }
}

impl Scales {
    /// Constant scales from `classes`' residuals, shrunk towards those of all classes together; with `curves`,
    /// scales that depend on t where the residuals say so.
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
            let shrunk =
                |((n, total), pooled): (&(f64, f64), &f64)| (total + SHRINKAGE * pooled) / (n + SHRINKAGE);
            let variance = sums.iter().zip(&pooled).map(shrunk).map(|v| v.max(FLOOR * FLOOR));
            let constant: Vec<f64> = variance.map(f64::ln).collect();
            let followed = if curves { follow(class, &constant, d_t) } else { None };
            let coefficients = followed.unwrap_or(constant).into_iter().map(|c| c as f32).collect();
            Curve { elements, coefficients, range: range(&class.t, d_t) }
        };
        Self { classes: classes.iter().zip(&sums).map(curve).collect() }
    }

    /// Whether class `k`'s scales depend on the treatment.
    pub fn depends_on_treatment(&self, k: usize) -> bool {
        self.classes[k].coefficients.len() > self.classes[k].elements
    }

    /// log s_k(t)^2 at standardised `t`, per outcome element.
    pub(crate) fn log_variance(&self, k: usize, t: &[f32]) -> Vec<f32> {
        let curve = &self.classes[k];
        let mut out = curve.coefficients[..curve.elements].to_vec();
        let inside: Vec<f32> =
            t.iter().zip(&curve.range).map(|(t, range)| t.clamp(range.0, range.1)).collect();
        let rest = curve.coefficients[curve.elements..].chunks_exact(curve.elements.max(1));
        for (feature, row) in features(&inside).zip(rest) {
            out.iter_mut().zip(row).for_each(|(out, b)| *out += feature * b);
        }
        let floor = (2.0 * FLOOR.ln()) as f32;
        out.iter_mut().for_each(|out| *out = out.max(floor));
        out
    }

    /// Scales of the classes in another order: class `k` of the result is class `order[k]` of this.
    #[cfg(test)]
    pub(crate) fn reordered(&self, order: &[usize]) -> Self {
        Self { classes: order.iter().map(|&k| self.classes[k].clone()).collect() }
    }

    /// Whether a loaded value can be used for so many classes, elements and treatments.
    pub(crate) fn is_sound(&self, classes: usize, elements: usize, d_t: usize) -> bool {
        let sound = |curve: &Curve| {
            let n = curve.coefficients.len();
            let finite = curve.coefficients.iter().all(|c| c.is_finite());
            let ordered = curve.range.iter().all(|range| range.0 <= range.1);
            let sizes = n == elements || n == elements * (1 + 2 * d_t);
            curve.elements == elements && sizes && finite && ordered && curve.range.len() == d_t
        };
        self.classes.len() == classes && self.classes.iter().all(sound)
    }
}

fn features(t: &[f32]) -> impl Iterator<Item = f32> + '_ {
    t.iter().copied().chain(t.iter().map(|t| t * t))
}

fn range(t: &[f32], d_t: usize) -> Vec<(f32, f32)> {
    let mut range = vec![(f32::INFINITY, f32::NEG_INFINITY); d_t];
    for row in t.chunks_exact(d_t) {
        range.iter_mut().zip(row).for_each(|(range, &t)| *range = (range.0.min(t), range.1.max(t)));
    }
    range.iter_mut().filter(|range| range.0 > range.1).for_each(|range| *range = (0.0, 0.0));
    range
}

/// Coefficients of a curve in t, if its gain in likelihood pays for them.
fn follow(class: &Residuals, constant: &[f64], d_t: usize) -> Option<Vec<f64>> {
    let (n, elements, p) = (class.t.len() / d_t, constant.len(), 1 + 2 * d_t);
    if n < 10 * p {
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
        let before = likelihood(&phi, &squares, &beta);
        for _ in 0..12 {
            score_step(&phi, &squares, &mut beta);
        }
        let after = likelihood(&phi, &squares, &beta);
        if after.is_finite() && after > before {
            gain += after - before;
        } else {
            beta = vec![0.0; p];
            beta[0] = constant[d];
        }
        (0..p).for_each(|j| coefficients[j * elements + d] = beta[j]);
    }
    let price = 0.5 * (n as f64).ln() * (elements * (p - 1)) as f64;
    (gain > price).then_some(coefficients)
}

fn predict(phi: &[f64], beta: &[f64]) -> f64 {
    phi.iter().zip(beta).map(|(phi, beta)| phi * beta).sum::<f64>().max(2.0 * FLOOR.ln())
}

fn likelihood(phi: &[f64], squares: &[f64], beta: &[f64]) -> f64 {
    let rows = phi.chunks_exact(beta.len()).zip(squares).filter(|(_, square)| !square.is_nan());
    let term = |(phi, square): (&[f64], &f64)| {
        let log_variance = predict(phi, beta);
        -0.5 * (log_variance + square * (-log_variance).exp())
    };
    rows.map(term).sum()
}

/// One step of Fisher scoring, held to at most 1 in any coefficient.
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
    cholesky_solve(&mut information, p, &mut score, 1);
    beta.iter_mut().zip(&score).for_each(|(beta, step)| *beta += step.clamp(-1.0, 1.0));
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
    fn a_scale_that_grows_with_the_treatment_is_followed() {
        let scales = Scales::fit(&[residuals(|t| (0.5 * t).exp())], 1, 1, true);
        assert!(scales.depends_on_treatment(0));
        for t in [-1.0, 0.0, 1.0] {
            assert!((scales.log_variance(0, &[t])[0] - t).abs() < 0.15);
        }
        let (edge, beyond) = (scales.log_variance(0, &[1.0]), scales.log_variance(0, &[9.0]));
        assert!((edge[0] - beyond[0]).abs() < 0.1, "not followed beyond what was seen");
    }

    #[test]
    fn a_constant_scale_stays_constant() {
        let scales = Scales::fit(&[residuals(|_| 0.3)], 1, 1, true);
        assert!(!scales.depends_on_treatment(0));
        assert!((scales.log_variance(0, &[0.0])[0] - 0.09_f32.ln()).abs() < 0.1);
        assert!(scales.is_sound(1, 1, 1) && !scales.is_sound(2, 1, 1));
    }
}
