//! The probability of a treatment level given covariates (logistic regression), and the density of a continuous
//! treatment (a Gaussian around a linear regression). Both are fitted to some units and asked about others.

use crate::math::cholesky_solve;

/// Newton steps of a logistic regression.
const MAX_STEPS: usize = 25;
/// The change of a coefficient below which it has converged.
const TOLERANCE: f64 = 1e-8;
/// The ridge penalty per unit, on standardised covariates.
const PENALTY: f64 = 1e-3;

/// The deviation of a treatment, relative to its size, below which it follows from x.
const MIN_DEVIATION: f64 = 1e-6;

/// A linear function of covariates with its constant, the last coefficient.
#[derive(Clone, Debug)]
struct LinearFunction(Vec<f64>);

impl LinearFunction {
    fn value(&self, x: &[f32]) -> f64 {
        let (constant, weights) = self.0.split_last().expect("there is a constant");
        constant + weights.iter().zip(x).map(|(weight, x)| weight * f64::from(*x)).sum::<f64>()
    }
}

/// sum_i weight_i z_i z_i' with z = (x, 1), plus the penalty on all but the constant; and sum_i moment_i z_i.
fn normal_equations<'a>(
    rows: impl Iterator<Item = (&'a [f32], f64, f64)>,
    columns: usize,
    penalty: f64,
) -> (Vec<f64>, Vec<f64>) {
    let p = columns + 1;
    let (mut gram, mut sum) = (vec![0.0; p * p], vec![0.0; p]);
    for (x, weight, moment) in rows {
        let z = |j: usize| if j < columns { f64::from(x[j]) } else { 1.0 };
        for i in 0..p {
            let scaled = weight * z(i);
            gram[i * p..=i * p + i].iter_mut().enumerate().for_each(|(j, gram)| *gram += scaled * z(j));
            sum[i] += moment * z(i);
        }
    }
    for i in 0..p {
        gram[i * p + i] += if i < columns { penalty } else { 1e-9 };
    }
    (gram, sum)
}

/// P(level | x) by logistic regression.
#[derive(Clone, Debug)]
pub(super) struct Propensity(LinearFunction);

impl Propensity {
    /// Fits to the units at `rows`: their covariates `x` and whether they received the level.
    pub(super) fn fit(x: &[Vec<f32>], received: &[bool], rows: &[usize]) -> Self {
        let columns = x.first().map_or(0, Vec::len);
        let mut function = LinearFunction(vec![0.0; columns + 1]);
        for _ in 0..MAX_STEPS {
            let terms = rows.iter().map(|&i| {
                let p = logistic(function.value(&x[i]));
                (&x[i][..], (p * (1.0 - p)).max(1e-10), f64::from(u8::from(received[i])) - p)
            });
            let penalty = PENALTY * rows.len() as f64;
            let (mut hessian, mut step) = normal_equations(terms, columns, penalty);
            function.0[..columns].iter().zip(&mut step).for_each(|(weight, step)| *step -= penalty * weight);
            if cholesky_solve(&mut hessian, columns + 1, &mut step, 1).is_err() {
                break;
            }
            let largest = step.iter().fold(0.0_f64, |max, step| max.max(step.abs()));
            // long steps overshoot where the level is nearly certain
            let scale = (5.0 / largest).min(1.0);
            function.0.iter_mut().zip(&step).for_each(|(weight, step)| *weight += scale * step);
            if largest < TOLERANCE {
                break;
            }
        }
        Self(function)
    }

    /// P(level | x)
    pub(super) fn probability(&self, x: &[f32]) -> f64 {
        logistic(self.0.value(x))
    }
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

/// The density of a treatment given covariates: Gaussian around a linear function.
#[derive(Clone, Debug)]
pub(super) struct TreatmentDensity {
    mean: LinearFunction,
    deviation: f64,
}

impl TreatmentDensity {
    /// Fits to the units at `rows`: their covariates `x` and treatments `t`; none if the treatment follows from x.
    pub(super) fn fit(x: &[Vec<f32>], t: &[f64], rows: &[usize]) -> Option<Self> {
        let columns = x.first().map_or(0, Vec::len);
        let terms = rows.iter().map(|&i| (&x[i][..], 1.0, t[i]));
        let (mut gram, mut weights) = normal_equations(terms, columns, PENALTY * rows.len() as f64);
        cholesky_solve(&mut gram, columns + 1, &mut weights, 1).ok()?;
        let mean = LinearFunction(weights);
        let squares: f64 = rows.iter().map(|&i| (t[i] - mean.value(&x[i])).powi(2)).sum();
        let freedom = (rows.len() as f64 - columns as f64 - 1.0).max(1.0);
        let deviation = (squares / freedom).sqrt();
        let size = rows.iter().map(|&i| t[i].abs()).fold(0.0, f64::max);
        (deviation > MIN_DEVIATION * size).then_some(Self { mean, deviation })
    }

    /// The density at `t`, relative to that at the mean.
    pub(super) fn relative(&self, x: &[f32], t: f64) -> f64 {
        (-0.5 * ((t - self.mean.value(x)) / self.deviation).powi(2)).exp()
    }

    /// The standard deviation of the treatment given x.
    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;

    #[test]
    fn the_coefficients_of_a_logistic_model_are_found() {
        let rng = &mut stream(1, &["propensity"]);
        let x: Vec<Vec<f32>> = (0..20_000).map(|_| vec![rng.random_range(-1.7..1.7)]).collect();
        let received: Vec<bool> =
            x.iter().map(|x| rng.random_range(0.0..1.0) < logistic(0.5 - f64::from(x[0]))).collect();
        let rows: Vec<usize> = (0..x.len()).collect();
        let fitted = Propensity::fit(&x, &received, &rows);
        for x in [-1.0, 0.0, 1.0] {
            let gap = fitted.probability(&[x]) - logistic(0.5 - f64::from(x));
            assert!(gap.abs() < 0.015, "{x}: {gap}");
        }
    }

    #[test]
    fn a_level_that_follows_from_x_has_finite_probabilities() {
        let x: Vec<Vec<f32>> = (0..50).map(|i| vec![i as f32 / 25.0 - 1.0]).collect();
        let received: Vec<bool> = x.iter().map(|x| x[0] > 0.0).collect();
        let fitted = Propensity::fit(&x, &received, &(0..50).collect::<Vec<_>>());
        assert!(fitted.probability(&[1.0]) > 0.9 && fitted.probability(&[-1.0]) < 0.1);
    }

    #[test]
    fn the_density_of_a_treatment_is_that_of_its_residuals() {
        let rng = &mut stream(2, &["density"]);
        let x: Vec<Vec<f32>> = (0..4000).map(|_| vec![rng.random_range(-1.7..1.7)]).collect();
        let t: Vec<f64> =
            x.iter().map(|x| 3.0 + 2.0 * f64::from(x[0]) + rng.random_range(-1.0..1.0)).collect();
        let fitted = TreatmentDensity::fit(&x, &t, &(0..4000).collect::<Vec<_>>()).unwrap();
        assert!((fitted.deviation() - (1.0_f64 / 3.0).sqrt()).abs() < 0.02);
        assert!(fitted.relative(&[1.0], 5.0) > 0.99 && fitted.relative(&[1.0], 3.0) < 0.01);
        assert!(TreatmentDensity::fit(&[vec![1.0], vec![1.0]], &[2.0, 2.0], &[0, 1]).is_none());
    }
}
