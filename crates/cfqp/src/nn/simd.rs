//! Loops over plain slices, compiled for the widest vectors that the processor has.
//!
//! Sums are kept in a fixed number of lanes, so that every processor adds in the same order.

/// Lanes that sums are kept in.
pub(crate) const LANES: usize = 16;

/// Run `f`, compiled for AVX-512, for AVX2 or for the plain target, by what the processor has. What `f` calls is compiled
/// along with it where it is always inlined.
#[inline(always)]
pub(crate) fn wide<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        use std::is_x86_feature_detected as has;

        #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
        fn avx512<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // the standard library asks the processor once and remembers
        if has!("avx2") && has!("fma") {
            if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
                // SAFETY: the processor has every feature that the function is compiled for.
                return unsafe { avx512(f) };
            }
            // SAFETY: as above.
            return unsafe { avx2(f) };
        }
    }
    f()
}

pub(super) use super::kernels::exp;

/// Values side by side; held by value, they stay in a register.
pub(crate) type Lanes = [f32; LANES];

/// f of two sets of lanes.
#[inline(always)]
pub(crate) fn zip(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(
        #[inline(always)]
        |i| f(a[i], b[i]),
    )
}

/// y += a x, for the whole sets of lanes of the shorter one.
#[inline(always)]
pub(crate) fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    for (y, x) in y.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0) {
        *y = zip(y, x, |y, x| y + a * x);
    }
}

/// sum of a b
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        lanes = zip(&lanes, &zip(a, b, |a, b| a * b), |sum, product| sum + product);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    fold(lanes, |a, b| a + b) + rest
}

/// sum of x
#[inline(always)]
pub(crate) fn sum(x: &[f32]) -> f32 {
    let (x, rest) = x.as_chunks();
    let lanes = x.iter().fold([0.0; LANES], |lanes, x| zip(&lanes, x, |a, b| a + b));
    fold(lanes, |a, b| a + b) + rest.iter().sum::<f32>()
}

/// The largest element; of a length that [`LANES`] divides.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let lanes = x.as_chunks().0.iter().fold([f32::NEG_INFINITY; LANES], |lanes, x| zip(&lanes, x, larger));
    fold(lanes, larger)
}

/// All lanes as one, halves upon halves.
#[inline(always)]
fn fold(lanes: Lanes, f: impl Fn(f32, f32) -> f32) -> f32 {
    // Opaque: else the loop before is compiled for pairs of lanes, to suit the sums here, at a quarter of its speed.
    let lanes = std::hint::black_box(lanes);
    let eight: [f32; 8] = std::array::from_fn(|i| f(lanes[i], lanes[i + 8]));
    let four: [f32; 4] = std::array::from_fn(|i| f(eight[i], eight[i + 4]));
    f(f(four[0], four[2]), f(four[1], four[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_maxima() {
        let a: Vec<f32> = (0..48).map(|i| (i * 7 % 13) as f32 - 6.0).collect();
        assert_eq!(wide(|| dot(&a, &a)), a.iter().map(|v| v * v).sum::<f32>());
        assert_eq!(wide(|| largest(&a)), 6.0);
        let mut y = a.clone();
        wide(|| add_scaled(&mut y, -2.0, &a[..37]));
        assert!((0..48).all(|i| y[i] == if i < 32 { -a[i] } else { a[i] }));
        assert_eq!(wide(|| sum(&a[..37])), a[..37].iter().sum::<f32>());
        assert_eq!(wide(|| dot(&a[..37], &a[..37])), a[..37].iter().map(|v| v * v).sum::<f32>());
    }
}
