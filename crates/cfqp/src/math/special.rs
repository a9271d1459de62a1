//! The standard normal distribution and the logarithm of the gamma function, to double precision.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The steps of Halley's method: each triples the number of correct digits, and the first guess has three.
const HALLEY_STEPS: usize = 3;

/// Phi(z) = P(Z <= z) = erfc(-z / sqrt 2) / 2 for a standard normal Z.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// exp(-z^2 / 2) / sqrt(2 pi), the density of a standard normal.
pub(crate) fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Phi^-1(p): the z with P(Z <= z) = p for a standard normal Z, for p in [1e-300, 1).
///
/// Starts from the rational approximation 26.2.23 of Abramowitz and Stegun, whose error is below 4.5e-4, and refines
/// it by Halley's method on Phi. The lower tail is solved and mirrored, so that no digits cancel.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let t = (-2.0 * p.ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = numerator / denominator - t;
    for _ in 0..HALLEY_STEPS {
        let newton = (normal_cdf(z) - p) / normal_density(z);
        z -= newton / (1.0 + 0.5 * z * newton);
    }
    z
}

/// The z >= 0 with P(|Z| <= z) = `level` for a standard normal Z, for a level in [0, 1).
pub(crate) fn normal_half_width(level: f64) -> f64 {
    // at level 0 rounding may leave a z just below 0
    (-normal_quantile(0.5 * (1.0 - level))).max(0.0)
}

/// The half width of a central interval of Student's t with `freedom` degrees of freedom, given that of a standard normal:
/// the Cornish-Fisher expansion, within 0.01 for three and more.
pub(crate) fn student_half_width(z: f64, freedom: usize) -> f64 {
    let (nu, square) = (freedom.max(1) as f64, z * z);
    let first = z * (square + 1.0) / 4.0;
    let second = z * (5.0 * square * square + 16.0 * square + 3.0) / 96.0;
    let third = z * (3.0 * square.powi(3) + 19.0 * square * square + 17.0 * square - 15.0) / 384.0;
    z + first / nu + second / nu.powi(2) + third / nu.powi(3)
}

/// P(X > x) for X chi-squared with `freedom` degrees of freedom, at least one: 26.4.4 and 26.4.5 of Abramowitz and Stegun.
pub(crate) fn chi_squared_tail(x: f64, freedom: usize) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let (z, is_odd) = (x.sqrt(), freedom % 2);
    let (first, mut term, factor) = match is_odd {
        0 => (0.0, 1.0, (-0.5 * x).exp()),
        _ => (2.0 * normal_cdf(-z), z, 2.0 * normal_density(z)),
    };
    let mut sum = 0.0;
    for r in 0..freedom / 2 {
        sum += term;
        term *= x / (2 * r + 2 + is_odd) as f64;
    }
    (first + factor * sum).clamp(0.0, 1.0)
}

/// log Gamma(x) for x > 0.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Expected values: tests/golden/special_functions.py.

    #[track_caller]
    fn assert_close(function: fn(f64) -> f64, expected: &[(f64, f64)]) {
        for &(argument, expected) in expected {
            let found = function(argument);
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs(),
                "{argument}: {found:e}, {expected:e}"
            );
        }
    }

    #[test]
    fn tails_of_chi_squared_are_those_of_tables() {
        // the 95th percentiles for 1 to 7, and 19 and 20 degrees of freedom
        let tables = [(1, 3.841_459), (2, 5.991_465), (3, 7.814_728), (4, 9.487_729), (5, 11.070_498)];
        let more = [(6, 12.591_587), (7, 14.067_140), (19, 30.143_527), (20, 31.410_433)];
        for (freedom, x) in tables.into_iter().chain(more) {
            assert!((chi_squared_tail(x, freedom) - 0.05).abs() < 1e-6, "{freedom}: {x}");
        }
        assert!(chi_squared_tail(0.0, 3) == 1.0 && chi_squared_tail(1e6, 4) == 0.0);
    }

    #[test]
    fn half_widths_of_student_are_those_of_tables() {
        let half_width = |freedom| student_half_width(normal_half_width(0.9), freedom);
        for (freedom, expected) in [(3, 2.353), (7, 1.895), (30, 1.697), (1000, 1.646)] {
            assert!((half_width(freedom) - expected).abs() < 0.01, "{freedom}: {}", half_width(freedom));
        }
    }

    #[test]
    fn the_normal_cdf_is_exact_in_both_tails() {
        assert_eq!(normal_cdf(0.0), 0.5);
        let expected = [
            (-37.0, 5.725_571_222_524_577e-300),
            (-10.0, 7.619_853_024_160_525e-24),
            (-5.0, 2.866_515_718_791_939e-7),
            (-1.0, 0.158_655_253_931_457_05),
            (0.3, 0.617_911_422_188_952_7),
            (1.0, 0.841_344_746_068_542_9),
            (2.5, 0.993_790_334_674_223_8),
        ];
        assert_close(normal_cdf, &expected);
    }

    #[test]
    fn the_normal_quantile_is_exact_down_to_tiny_probabilities() {
        assert!(normal_quantile(0.5).abs() < 1e-15);
        let expected = [
            (1e-300, -37.047_096_299_361_2),
            (1e-10, -6.361_340_902_404_057),
            (0.001, -3.090_232_306_167_813_6),
            (0.25, -0.674_489_750_196_081_7),
            (0.75, 0.674_489_750_196_081_7),
            (0.95, 1.644_853_626_951_472_2),
        ];
        assert_close(normal_quantile, &expected);
    }

    #[test]
    fn half_widths_are_those_of_the_tables() {
        assert!((0.0..1e-15).contains(&normal_half_width(0.0)));
        let expected = [
            (0.5, 0.674_489_750_196_081_7),
            (0.8, 1.281_551_565_544_600_6),
            (0.9, 1.644_853_626_951_472_9),
            (0.95, 1.959_963_984_540_053_8),
            (0.99, 2.575_829_303_548_900_4),
            (0.9999, 3.890_591_886_413_121),
        ];
        assert_close(normal_half_width, &expected);
    }

    #[test]
    fn ln_gamma_is_exact_for_small_and_large_arguments() {
        assert_eq!(ln_gamma(1.0), 0.0);
        let expected = [
            (0.001, 6.907_178_885_383_853),
            (0.5, 0.572_364_942_924_700_1),
            (2.5, 0.284_682_870_472_919_2),
            (4.5, 2.453_736_570_842_442_3),
            (20.0, 39.339_884_187_199_495),
            (100.25, 360.284_559_637_764_23),
            (5000.5, 37_586.884_887_281_056),
        ];
        assert_close(ln_gamma, &expected);
    }

    proptest! {
        #[test]
        fn the_quantile_inverts_the_cdf(exponent in -290.0_f64..-0.31) {
            let p = 10_f64.powf(exponent);
            prop_assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-11, "{}", p);
        }

        #[test]
        fn the_quantile_is_odd_about_one_half(p in 0.501_f64..0.999) {
            prop_assert_eq!(normal_quantile(p), -normal_quantile(1.0 - p));
        }

        #[test]
        fn ln_gamma_obeys_its_recurrence(x in 0.01_f64..1e4) {
            let gap = ln_gamma(x + 1.0) - ln_gamma(x) - x.ln();
            prop_assert!(gap.abs() < 1e-12 * ln_gamma(x + 1.0).abs().max(1.0), "{}: {}", x, gap);
        }
    }
}
