//! Ordinary differential equations with a fixed step size.

/// The state at `t + span`, from `state` at `t`, by `steps` steps of the classical Runge-Kutta rule:
///
/// ```text
/// k1 = f(t, s)    k2 = f(t + h/2, s + h/2 k1)    k3 = f(t + h/2, s + h/2 k2)    k4 = f(t + h, s + h k3)
/// s(t + h) = s + h/6 (k1 + 2 k2 + 2 k3 + k4)
/// ```
///
/// `f` must be smooth on the whole span: integrate piecewise where it jumps.
pub(super) fn rk4<const N: usize>(
    f: impl Fn(f64, &[f64; N]) -> [f64; N],
    t: f64,
    span: f64,
    steps: usize,
    mut state: [f64; N],
) -> [f64; N] {
    let h = span / steps as f64;
    for step in 0..steps {
        let now = t + step as f64 * h;
        let k1 = f(now, &state);
        let k2 = f(now + h / 2.0, &advanced(&state, h / 2.0, &k1));
        let k3 = f(now + h / 2.0, &advanced(&state, h / 2.0, &k2));
        let k4 = f(now + h, &advanced(&state, h, &k3));
        for i in 0..N {
            state[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }
    state
}

/// `state + h * slope`.
fn advanced<const N: usize>(state: &[f64; N], h: f64, slope: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| state[i] + h * slope[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_the_step_divides_the_error_by_sixteen() {
        let error = |steps| {
            let [s] = rk4(|t, [s]| [t.cos() * s], 0.0, 2.0, steps, [1.0]);
            (s - 2.0_f64.sin().exp()).abs()
        };
        let ratio = error(20) / error(40);
        assert!((14.0..18.0).contains(&ratio), "{ratio}");
    }
}
