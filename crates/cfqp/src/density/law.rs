//! Laws of a standardised residual z = (y - m) / s: Gaussian, Student's t, and skewed.
//!
//! The skewed law is that of z = sinh((asinh(g) + e) / d) for a standard normal g (sinh-arcsinh: Jones and Pewsey, 2009); e
//! is its skewness, and d < 1 gives heavy tails.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::math::ln_gamma;

/// The bound of the skewed law's exponent, so that no density is 0.
const MAX_EXPONENT: f64 = 20.0;

/// A family of noise laws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseLaw {
    /// Gaussian.
    #[default]
    Gaussian,
    /// Student's t, for heavy tails.
    StudentT,
    /// The sinh-arcsinh law, for skewed noise.
    Skewed,
}

impl NoiseLaw {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::StudentT => "Student's t",
            Self::Skewed => "skewed",
        }
    }

    /// The parameters that a fit starts from: log(nu - 1), or skewness and log tail.
    pub(crate) fn initial_shape(self) -> &'static [f32] {
        match self {
            Self::Gaussian => &[],
            Self::StudentT => &[1.8],
            Self::Skewed => &[0.0, 0.0],
        }
    }

    /// Keeps parameters where the law is well defined: nu from 2.3 to 56, skewness up to 1.5.
    pub(crate) fn clamp(self, shape: &mut [f32]) {
        match (self, shape) {
            (Self::StudentT, [nu]) => *nu = nu.clamp(0.3, 4.0),
            (Self::Skewed, [skewness, tail]) => {
                *skewness = skewness.clamp(-1.5, 1.5);
                *tail = tail.clamp(-0.9, 0.5);
            }
            _ => {}
        }
    }

    /// The law with these parameters.
    pub(crate) fn noise(self, shape: &[f32]) -> Noise {
        match (self, shape) {
            (Self::StudentT, &[nu]) => Noise::student_t(1.0 + f64::from(nu).exp()),
            (Self::Skewed, &[skewness, tail]) => {
                Noise::Skewed { skewness: skewness.into(), tail: f64::from(tail).exp() }
            }
            _ => Noise::Gaussian,
        }
    }
}

/// A law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    Gaussian,
    StudentT {
        nu: f64,
        /// The logarithm of the density at 0, and its derivative by nu.
        log_peak: f64,
        log_peak_slope: f64,
    },
    Skewed {
        skewness: f64,
        tail: f64,
    },
}

/// The log density at a residual, and its derivatives by the residual and the parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogDensity {
    pub value: f64,
    pub by_z: f64,
    pub by_shape: [f64; 2],
}

impl Noise {
    fn student_t(nu: f64) -> Self {
        let log_peak = |nu: f64| ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * (nu * PI).ln();
        let step = 1e-4 * nu;
        let log_peak_slope = (log_peak(nu + step) - log_peak(nu - step)) / (2.0 * step);
        Self::StudentT { nu, log_peak: log_peak(nu), log_peak_slope }
    }

    /// log p(z)
    pub(crate) fn log_density(&self, z: f64) -> f64 {
        match *self {
            Self::Gaussian => gaussian_peak() - 0.5 * z * z,
            Self::StudentT { nu, log_peak, .. } => log_peak - 0.5 * (nu + 1.0) * (z * z / nu).ln_1p(),
            Self::Skewed { skewness, tail } => {
                let (sinh, cosh) = sinh_cosh(tail * z.asinh() - skewness);
                gaussian_peak() + (tail * cosh).ln() - 0.5 * (z * z).ln_1p() - 0.5 * sinh * sinh
            }
        }
    }

    /// log p(z) with its derivatives.
    pub(crate) fn log_density_and_slopes(&self, z: f64) -> LogDensity {
        match *self {
            Self::Gaussian => {
                LogDensity { value: gaussian_peak() - 0.5 * z * z, by_z: -z, by_shape: [0.0; 2] }
            }
            Self::StudentT { nu, log_peak, log_peak_slope } => {
                let log = (z * z / nu).ln_1p();
                let share = z * z / (nu + z * z);
                let by_nu = log_peak_slope - 0.5 * log + 0.5 * (nu + 1.0) * share / nu;
                LogDensity {
                    value: log_peak - 0.5 * (nu + 1.0) * log,
                    by_z: -(nu + 1.0) * z / (nu + z * z),
                    by_shape: [by_nu * (nu - 1.0), 0.0],
                }
            }
            Self::Skewed { skewness, tail } => {
                let asinh = z.asinh();
                let (sinh, cosh) = sinh_cosh(tail * asinh - skewness);
                let root = (1.0 + z * z).sqrt();
                let by_exponent = sinh / cosh - sinh * cosh;
                LogDensity {
                    value: gaussian_peak() + (tail * cosh / root).ln() - 0.5 * sinh * sinh,
                    by_z: by_exponent * tail / root - z / (root * root),
                    by_shape: [-by_exponent, 1.0 + tail * asinh * by_exponent],
                }
            }
        }
    }

    /// Phi^-1(F(z)), the normal score of a residual's rank. For Student's t by Wallace's approximation (1959), which is
    /// within 0.01 for nu >= 3.
    pub(crate) fn normal_score(&self, z: f64) -> f64 {
        match *self {
            Self::Gaussian => z,
            Self::StudentT { nu, .. } => wallace(nu) * (nu * (z * z / nu).ln_1p()).sqrt() * z.signum(),
            Self::Skewed { skewness, tail } => sinh_cosh(tail * z.asinh() - skewness).0,
        }
    }

    /// F^-1(Phi(g)), the residual with normal score g.
    pub(crate) fn residual_at(&self, g: f64) -> f64 {
        match *self {
            Self::Gaussian => g,
            Self::StudentT { nu, .. } => {
                let score = g / wallace(nu);
                (nu * (score * score / nu).exp_m1()).sqrt() * g.signum()
            }
            Self::Skewed { skewness, tail } => sinh_cosh((g.asinh() + skewness) / tail).0,
        }
    }

    /// The means of the slices of a normal score by which laws that are not Gaussian are approximated.
    pub(crate) fn slices() -> Vec<f64> {
        SLICES.iter().map(|slice| slice.0).collect()
    }

    /// A Gaussian approximation of z given that its normal score is N(mean, deviation^2): the weights, means and
    /// deviations of a few components. Exact for a Gaussian law.
    pub(crate) fn given_score(&self, mean: f64, deviation: f64, out: &mut Vec<ResidualComponent>) {
        out.clear();
        if *self == Self::Gaussian || deviation < 1e-6 {
            out.push(ResidualComponent { weight: 1.0, mean: self.residual_at(mean), deviation });
            return;
        }
        for &(score, width) in &SLICES {
            let (g, step) = (mean + deviation * score, 0.5 * deviation * width);
            let (low, high) = (self.residual_at(g - step), self.residual_at(g + step));
            let weight = 1.0 / SLICES.len() as f64;
            out.push(ResidualComponent { weight, mean: self.residual_at(g), deviation: 0.5 * (high - low) });
        }
    }
}

/// One component of the distribution of a residual.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidualComponent {
    pub weight: f64,
    pub mean: f64,
    pub deviation: f64,
}

/// Means and standard deviations of six slices of equal probability of a standard normal.
const SLICES: [(f64, f64); 6] = [
    (-1.499_1, 0.450_5),
    (-0.682_5, 0.153_7),
    (-0.212_1, 0.123_9),
    (0.212_1, 0.123_9),
    (0.682_5, 0.153_7),
    (1.499_1, 0.450_5),
];

fn gaussian_peak() -> f64 {
    -0.5 * (2.0 * PI).ln()
}

fn wallace(nu: f64) -> f64 {
    (8.0 * nu + 1.0) / (8.0 * nu + 3.0)
}

/// sinh and cosh of a bounded exponent.
fn sinh_cosh(exponent: f64) -> (f64, f64) {
    let e = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT).exp();
    (0.5 * (e - 1.0 / e), 0.5 * (e + 1.0 / e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> [Noise; 4] {
        [
            Noise::Gaussian,
            NoiseLaw::StudentT.noise(&[1.0]),
            NoiseLaw::Skewed.noise(&[0.4, -0.2]),
            NoiseLaw::Skewed.noise(&[-0.8, 0.1]),
        ]
    }

    #[test]
    fn densities_integrate_to_one() {
        for noise in laws() {
            let step = 0.01;
            let sum: f64 =
                (-20_000..20_000).map(|i| step * noise.log_density((f64::from(i) + 0.5) * step).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{noise:?}: {sum}");
        }
    }

    #[test]
    fn slopes_agree_with_differences() {
        let shapes: [(NoiseLaw, &[f32]); 3] =
            [(NoiseLaw::Gaussian, &[]), (NoiseLaw::StudentT, &[1.2]), (NoiseLaw::Skewed, &[0.3, -0.2])];
        for (law, shape) in shapes {
            for z in [-2.5, -0.3, 0.0, 0.7, 3.0] {
                let at = law.noise(shape).log_density_and_slopes(z);
                assert!((at.value - law.noise(shape).log_density(z)).abs() < 1e-12);
                let e = 1e-5;
                let noise = law.noise(shape);
                let by_z = (noise.log_density(z + e) - noise.log_density(z - e)) / (2.0 * e);
                assert!((at.by_z - by_z).abs() < 1e-6, "{law:?} {z}");
                for i in 0..shape.len() {
                    let moved = |by: f32| {
                        let mut shape = shape.to_vec();
                        shape[i] += by;
                        law.noise(&shape).log_density(z)
                    };
                    let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                    assert!(
                        (at.by_shape[i] - slope).abs() < 2e-3 * (1.0 + slope.abs()),
                        "{law:?} {z}: {} {slope}",
                        at.by_shape[i]
                    );
                }
            }
        }
    }

    #[test]
    fn normal_scores_are_inverse_to_each_other_and_to_the_distribution() {
        for noise in laws() {
            for g in [-2.0, -0.5, 0.0, 1.0, 2.5] {
                let z = noise.residual_at(g);
                assert!((noise.normal_score(z) - g).abs() < 1e-9);
                // the share below z
                let step = 0.002;
                let from = -60.0;
                let steps = ((z - from) / step) as i64;
                let below: f64 =
                    (0..steps).map(|i| step * noise.log_density(from + (i as f64 + 0.5) * step).exp()).sum();
                let error = (below - crate::math::normal_cdf(g)).abs();
                assert!(error < 0.01, "{noise:?} {g}: {below}");
            }
        }
    }

    #[test]
    fn components_have_the_mean_of_the_law() {
        let mut components = Vec::new();
        Noise::Gaussian.given_score(0.5, 0.2, &mut components);
        assert_eq!((components.len(), components[0].mean, components[0].deviation), (1, 0.5, 0.2));
        let noise = NoiseLaw::Skewed.noise(&[0.4, 0.0]);
        noise.given_score(0.0, 1.0, &mut components);
        let mean: f64 = components.iter().map(|c| c.weight * c.mean).sum();
        let step = 0.01;
        let expected: f64 = (-3000..3000)
            .map(|i| (f64::from(i) + 0.5) * step)
            .map(|z| step * z * noise.log_density(z).exp())
            .sum();
        assert!((mean - expected).abs() < 0.05, "{mean} {expected}");
    }
}
