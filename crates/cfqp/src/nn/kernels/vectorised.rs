//! A macro for kernels that are compiled for several instruction sets, and functions that vectorise in them.

/// Defines a function whose body runs under [`with_simd`](crate::math::simd::with_simd).
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $type),*) {
            #[inline(always)]
            fn plain($($arg: $type),*) $body

            $crate::math::simd::with_simd(
                #[inline(always)]
                || plain($($arg),*),
            )
        }
    };
}

pub(in crate::nn) use crate::math::simd::exp;

/// 1 / x within 2 units in the last place, for x in [1, 2^125].
///
/// Subtracting the bits of x from a constant negates its exponent, with a relative error of at most 1/8; each of three
/// Newton steps squares the error. Dividing wide vectors takes four times as long.
#[inline(always)]
fn reciprocal(x: f32) -> f32 {
    let mut y = f32::from_bits(0x7EF1_27EA - x.to_bits());
    for _ in 0..3 {
        y *= x.mul_add(-y, 2.0);
    }
    y
}

/// 1 / (1 + exp(-x)), with x clamped to at least -80
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    reciprocal(1.0 + exp((-x).min(80.0)))
}

/// swish'(x) = s + x s (1 - s), with s = sigmoid(x)
#[inline(always)]
pub(super) fn swish_slope(x: f32) -> f32 {
    let s = sigmoid(x);
    s * (1.0 + x * (1.0 - s))
}

vectorised! {
    /// total += addend
    pub(super) fn add(total: &mut [f32], addend: &[f32]) {
        for (total, addend) in total.iter_mut().zip(addend) {
            *total += addend;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    vectorised! {
        fn exp_all(x: &[f32], y: &mut [f32]) {
            for (x, y) in x.iter().zip(y) {
                *y = exp(*x);
            }
        }
    }

    #[test]
    fn exp_is_within_two_units_in_the_last_place_and_the_same_vectorised() {
        let x: Vec<f32> = (-86_900..88_000).map(|i| i as f32 * 1e-3).collect();
        let mut y = vec![0.0; x.len()];
        exp_all(&x, &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            assert_eq!(y.to_bits(), exp(x).to_bits(), "{x}");
            let exact = f64::from(x).exp();
            assert!((f64::from(y) - exact).abs() <= 2.0 * f64::from(f32::EPSILON) * exact, "{x}: {y}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e9) < 1e-37 && exp(1e9) > 1e38);
    }

    #[test]
    fn reciprocals_are_within_two_units_in_the_last_place() {
        for exponent in 0..125 {
            for i in 0..1000 {
                let x = 2.0_f32.powi(exponent) * (1.0 + i as f32 / 1000.0);
                let (y, exact) = (f64::from(reciprocal(x)), 1.0 / f64::from(x));
                assert!((y - exact).abs() <= 2.0 * f64::from(f32::EPSILON) * exact, "{x}: {y}");
            }
        }
        for x in [-1e9_f32, -88.0, -80.0, -30.0, 0.0, 30.0, 1e9] {
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(sigmoid(x)) - exact).abs() <= 1e-6 * exact + 1e-34, "{x}: {}", sigmoid(x));
        }
    }

    #[test]
    fn swish_slope_is_the_derivative() {
        for x in [-20.0_f32, -3.0, -0.5, 0.0, 0.1, 2.0, 30.0] {
            let swish = |x: f64| x / (1.0 + (-x).exp());
            let x64 = f64::from(x);
            let slope = (swish(x64 + 1e-5) - swish(x64 - 1e-5)) / 2e-5;
            assert!((f64::from(swish_slope(x)) - slope).abs() < 1e-6, "{x}");
        }
    }
}
