//! One step of Adam in one pass over a parameter.

use super::vectorised::add;

/// The factors of one step.
///
/// ```text
/// m = beta_1 m + (1 - beta_1) g        v = beta_2 v + (1 - beta_2) g^2
/// p = keep p - rate m / (sqrt(v) + epsilon)
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    /// The decay rate of m.
    pub beta_1: f32,
    /// 1 - beta_1, computed before rounding to f32.
    pub rest_1: f32,
    /// The decay rate of v.
    pub beta_2: f32,
    /// 1 - beta_2, computed before rounding to f32.
    pub rest_2: f32,
    /// The learning rate, corrected for the bias of m and v.
    pub rate: f32,
    /// Added to the denominator, corrected in the same way.
    pub epsilon: f32,
    /// The factor that weight decay leaves of p.
    pub keep: f32,
}

/// Parameters of at least this many elements are split over two threads.
const MIN_PARALLEL_LEN: usize = 1 << 15;

/// Elements whose gradients are summed at a time, in the first-level cache.
const CHUNK: usize = 2048;

/// One step along the sum of `gradients`; p, m and v are updated in place.
pub(crate) fn adam(step: AdamStep, p: &mut [f32], gradients: &[&[f32]], m: &mut [f32], v: &mut [f32]) {
    if p.len() >= MIN_PARALLEL_LEN {
        let half = p.len() / 2;
        let (p, m, v) = (p.split_at_mut(half), m.split_at_mut(half), v.split_at_mut(half));
        let (first, second): (Vec<_>, Vec<_>) = gradients.iter().map(|g| g.split_at(half)).unzip();
        rayon::join(|| adam(step, p.0, &first, m.0, v.0), || adam(step, p.1, &second, m.1, v.1));
        return;
    }
    if let [g] = gradients {
        return pass(&step, p, g, m, v);
    }
    let mut sum = [0.0; CHUNK];
    let chunks = p.chunks_mut(CHUNK).zip(m.chunks_mut(CHUNK)).zip(v.chunks_mut(CHUNK));
    for (i, ((p, m), v)) in chunks.enumerate() {
        let (sum, at) = (&mut sum[..p.len()], i * CHUNK);
        sum.fill(0.0);
        gradients.iter().for_each(|g| add(sum, &g[at..][..p.len()]));
        pass(&step, p, sum, m, v);
    }
}

vectorised! {
    fn pass(step: &AdamStep, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        let AdamStep { beta_1, rest_1, beta_2, rest_2, rate, epsilon, keep } = *step;
        let n = p.len();
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            m[i] = beta_1 * m[i] + rest_1 * g[i];
            v[i] = beta_2 * v[i] + rest_2 * (g[i] * g[i]);
            p[i] = keep * p[i] - rate * m[i] / (v[i].sqrt() + epsilon);
        }
    }
}
