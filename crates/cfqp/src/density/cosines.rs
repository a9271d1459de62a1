//! A column as a smooth curve: its value and a few cosines of it.

use std::ops::{Mul, Sub};

/// Appends x and cos(a), cos(2 a), ..., cos(count a), given `cosine` = cos(a), by
/// cos((j + 1) a) = 2 cos(a) cos(j a) - cos((j - 1) a).
#[inline(always)]
pub(super) fn push_cosines<T>(x: T, cosine: T, count: usize, out: &mut Vec<T>)
where
    T: Copy + From<f32> + Mul<Output = T> + Sub<Output = T>,
{
    out.push(x);
    let twice = T::from(2.0) * cosine;
    let (mut before, mut now) = (T::from(1.0), cosine);
    for _ in 0..count {
        out.push(now);
        (before, now) = (now, twice * now - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_followed_by_cosines_of_multiples_of_the_angle() {
        let mut features = Vec::new();
        push_cosines(7.0, 0.3_f64.cos(), 3, &mut features);
        let expected = [7.0, 0.3_f64.cos(), 0.6_f64.cos(), 0.9_f64.cos()];
        assert_eq!(features.len(), 4);
        features.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} for {b}"));
        let mut single = Vec::new();
        push_cosines(7.0, 0.3_f32.cos(), 0, &mut single);
        assert_eq!(single, [7.0]);
    }
}
