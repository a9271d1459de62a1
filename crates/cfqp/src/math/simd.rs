//! Loops over plain slices, compiled for several instruction sets and dispatched at run time.
//!
//! Sums are kept in a fixed number of lanes, so that every processor adds in the same order.

#[cfg(target_arch = "x86_64")]
use super::isa::Isa;

/// The number of partial sums.
pub(crate) const LANES: usize = 16;

/// Calls `f`, compiled for the instruction set in use.
/// Functions that `f` calls are compiled in the same way if they are always inlined.
#[inline(always)]
pub(crate) fn with_simd<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
        fn avx512<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        match Isa::active() {
            // SAFETY: `Isa::active` is at most `Isa::widest`, which detected every target feature of `avx512`.
            Isa::Avx512 => return unsafe { avx512(f) },
            // SAFETY: `Isa::active` is at most `Isa::widest`, which detected both target features of `avx2`.
            Isa::Avx2 => return unsafe { avx2(f) },
            Isa::Portable => {}
        }
    }
    f()
}

/// One vector of values; passed by value, it stays in a register.
pub(crate) type Lanes = [f32; LANES];

/// f(a_i, b_i) in every lane.
#[inline(always)]
pub(crate) fn zip(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(
        #[inline(always)]
        |i| f(a[i], b[i]),
    )
}

/// y += a x, up to the last full vector of the shorter slice.
#[inline(always)]
pub(crate) fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    for (y, x) in y.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0) {
        *y = zip(y, x, |y, x| y + a * x);
    }
}

/// exp(x) within 2 units in the last place, with x clamped to [-87, 88].
///
/// x = n ln 2 + r with a whole n and |r| <= ln 2 / 2; a polynomial for exp(r), and n in the exponent bits.
/// Without branches and calls, so that loops over it are vectorised (except on processors without fused multiply-add).
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it rounds to a whole number in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first exact in few bits.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x = x.clamp(-87.0, 88.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x));
    let mut p = 1.987_569_1e-4_f32;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        p = p.mul_add(r, coefficient);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    (p.mul_add(r * r, r) + 1.0) * power
}

/// y += a x
#[inline(always)]
pub(crate) fn add_scaled_all(y: &mut [f32], a: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// sum_i a_i b_i
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        lanes = zip(&lanes, &zip(a, b, |a, b| a * b), |sum, product| sum + product);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    reduce(lanes, |a, b| a + b) + rest
}

/// The number of partial sums in double precision.
const DOUBLE_LANES: usize = 8;

/// sum_i a_i b_i in double precision, for every b.
#[inline(always)]
pub(crate) fn double_dots<const N: usize>(a: &[f64], b: [&[f64]; N]) -> [f64; N] {
    let (chunks, rest) = a.as_chunks::<DOUBLE_LANES>();
    let of_b = b.map(|b| b[..a.len()].as_chunks::<DOUBLE_LANES>());
    let mut lanes = [[0.0; DOUBLE_LANES]; N];
    for (i, a) in chunks.iter().enumerate() {
        for (lanes, (b, _)) in lanes.iter_mut().zip(&of_b) {
            for (sum, (a, b)) in lanes.iter_mut().zip(a.iter().zip(&b[i])) {
                *sum += a * b;
            }
        }
    }
    // as in `reduce`
    let lanes = std::hint::black_box(lanes);
    std::array::from_fn(|n| {
        let sums = &lanes[n];
        let four: [f64; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
        let of_rest: f64 = rest.iter().zip(of_b[n].1).map(|(a, b)| a * b).sum();
        (four[0] + four[2]) + (four[1] + four[3]) + of_rest
    })
}

/// y += a x in double precision.
#[inline(always)]
pub(crate) fn add_scaled_doubles(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// sum_i x_i
#[inline(always)]
pub(crate) fn sum(x: &[f32]) -> f32 {
    let (x, rest) = x.as_chunks();
    let lanes = x.iter().fold([0.0; LANES], |lanes, x| zip(&lanes, x, |a, b| a + b));
    reduce(lanes, |a, b| a + b) + rest.iter().sum::<f32>()
}

/// max_i x_i, for a length that is a multiple of [`LANES`].
#[inline(always)]
pub(crate) fn max(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let lanes = x.as_chunks().0.iter().fold([f32::NEG_INFINITY; LANES], |lanes, x| zip(&lanes, x, larger));
    reduce(lanes, larger)
}

/// Reduces all lanes to one value, pairwise by halves.
#[inline(always)]
fn reduce(lanes: Lanes, f: impl Fn(f32, f32) -> f32) -> f32 {
    // without `black_box` the loop before is compiled for pairs of lanes, to suit the sums here, at a quarter of the speed
    let lanes = std::hint::black_box(lanes);
    let eight: [f32; 8] = std::array::from_fn(|i| f(lanes[i], lanes[i + 8]));
    let four: [f32; 4] = std::array::from_fn(|i| f(eight[i], eight[i + 4]));
    f(f(four[0], four[2]), f(four[1], four[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_maxima_are_exact_on_whole_numbers() {
        let a: Vec<f32> = (0..48).map(|i| (i * 7 % 13) as f32 - 6.0).collect();
        assert_eq!(with_simd(|| dot(&a, &a)), a.iter().map(|v| v * v).sum::<f32>());
        assert_eq!(with_simd(|| max(&a)), 6.0);
        let mut y = a.clone();
        with_simd(|| add_scaled(&mut y, -2.0, &a[..37]));
        assert!((0..48).all(|i| y[i] == if i < 32 { -a[i] } else { a[i] }));
        assert_eq!(with_simd(|| sum(&a[..37])), a[..37].iter().sum::<f32>());
        assert_eq!(with_simd(|| dot(&a[..37], &a[..37])), a[..37].iter().map(|v| v * v).sum::<f32>());
        let doubles: Vec<f64> = a[..37].iter().copied().map(f64::from).collect();
        let sums = with_simd(|| double_dots(&doubles, [&doubles[..], &[1.0; 37]]));
        assert_eq!(sums, [doubles.iter().map(|v| v * v).sum(), doubles.iter().sum::<f64>()]);
    }
}
