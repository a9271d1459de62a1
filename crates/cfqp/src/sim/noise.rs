//! The noise of tabular worlds. A noise and a standard normal of the same rank, its score, determine each other; noise
//! under two treatments is correlated through the scores, so that its distribution is the same for any correlation.

use std::f64::consts::PI;

use crate::math::{normal_cdf, normal_quantile};

/// Halvings of the bracket in which a quantile is sought.
const BISECTIONS: usize = 60;

/// The form of a distribution with mean 0 and variance 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoiseForm {
    Normal,
    /// Student's t with 3 degrees of freedom, divided by sqrt 3: density 2 / (pi (1 + u^2)^2).
    Student,
    /// An exponential minus 1.
    Exponential,
}

/// The distribution of the noise: a form times its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoiseLaw {
    pub form: NoiseForm,
    pub sd: f64,
}

impl NoiseLaw {
    /// The noise whose rank is that of `score` among standard normals.
    pub(super) fn value(self, score: f64) -> f64 {
        let unit = match self.form {
            NoiseForm::Normal => score,
            NoiseForm::Student => student_tail_quantile(normal_cdf(-score.abs())).copysign(score),
            NoiseForm::Exponential => -normal_cdf(-score).ln() - 1.0,
        };
        self.sd * unit
    }

    /// The standard normal score of the same rank as `noise`.
    pub(super) fn score(self, noise: f64) -> f64 {
        let unit = noise / self.sd;
        match self.form {
            NoiseForm::Normal => unit,
            NoiseForm::Student => (-quantile(student_tail(unit.abs()))).copysign(unit),
            NoiseForm::Exponential => -quantile((-1.0 - unit).exp()),
        }
    }

    /// The logarithm of the density at `noise`.
    pub(super) fn log_density(self, noise: f64) -> f64 {
        let unit = noise / self.sd;
        let log = match self.form {
            NoiseForm::Normal => -0.5 * (unit * unit + (2.0 * PI).ln()),
            NoiseForm::Student => (2.0 / PI).ln() - 2.0 * (unit * unit).ln_1p(),
            NoiseForm::Exponential if unit < -1.0 => f64::NEG_INFINITY,
            NoiseForm::Exponential => -1.0 - unit,
        };
        log - self.sd.ln()
    }
}

/// Phi^-1(p), finite for every p.
fn quantile(p: f64) -> f64 {
    normal_quantile(p.clamp(1e-300, 1.0 - f64::EPSILON))
}

/// P(U > u) for u >= 0 of Student's t with 3 degrees of freedom and variance 1.
fn student_tail(u: f64) -> f64 {
    ((1.0_f64).atan2(u) - u / (1.0 + u * u)) / PI
}

/// The u >= 0 with P(U > u) = `p`, for p from 0 to 1/2.
fn student_tail_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high) > p && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if student_tail(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [NoiseForm; 3] = [NoiseForm::Normal, NoiseForm::Student, NoiseForm::Exponential];

    #[test]
    fn noise_and_score_determine_each_other() {
        for form in FORMS {
            let law = NoiseLaw { form, sd: 0.7 };
            for score in [-3.0, -1.0, -0.2, 0.4, 1.5, 4.0] {
                let back = law.score(law.value(score));
                assert!((back - score).abs() < 1e-6, "{form:?}: {score} {back}");
            }
        }
        // 5.840909 is the 99.5% quantile of Student's t with 3 degrees of freedom
        assert!((student_tail(5.840_909 / 3.0_f64.sqrt()) - 0.005).abs() < 1e-8);
    }

    #[test]
    fn densities_have_mass_1_mean_0_and_their_variance() {
        for form in FORMS {
            let law = NoiseLaw { form, sd: 0.5 };
            let step = 1e-3;
            let moments = (0..=2).map(|power| {
                let term = |i: i32| {
                    let e = (f64::from(i) + 0.5) * step;
                    e.powi(power) * law.log_density(e).exp() * step
                };
                (-1_000_000..1_000_000).map(term).sum::<f64>()
            });
            for (found, expected) in moments.zip([1.0, 0.0, 0.25]) {
                assert!((found - expected).abs() < 1e-3, "{form:?}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn the_density_is_that_of_the_values() {
        // P(value(a) < e < value(b)) = Phi(b) - Phi(a)
        for form in FORMS {
            let law = NoiseLaw { form, sd: 2.0 };
            let (low, high, steps) = (law.value(-0.5), law.value(1.2), 10_000);
            let width = (high - low) / f64::from(steps);
            let mass: f64 =
                (0..steps).map(|i| law.log_density(low + (f64::from(i) + 0.5) * width).exp() * width).sum();
            assert!((mass - normal_cdf(1.2) + normal_cdf(-0.5)).abs() < 1e-6, "{form:?}: {mass}");
        }
    }
}
