//! Ordinary differential equations dy/ds = f(s, y) by the embedded Runge-Kutta pair 5(4) of Dormand and Prince.
//!
//! Each step of size h gives a solution of order 5 and, from one of order 4, an estimate e of its error. With
//!
//! ```text
//! error = sqrt(mean (e / (absolute + relative max(|y|, |y next|)))^2)
//! ```
//!
//! over the whole batch, a step is accepted if error <= 1, and the next has size 0.9 h error^(-1/5), at most five times
//! longer or shorter.

/// The nodes, the rows of the tableau (the last gives the solution of order 5) and the weights of the error estimate.
const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const ROWS: [&[f64]; 6] = [
    &[0.2],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// More steps than a well-posed equation needs.
const MAX_STEPS: usize = 2000;

/// The tolerated error of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

/// y at `to`, from y at `from`; none where the step size becomes too small or the solution is not finite.
pub(super) fn solve(
    f: impl Fn(f64, &[f32]) -> Vec<f32>,
    mut y: Vec<f32>,
    from: f64,
    to: f64,
    tolerance: Tolerance,
) -> Option<Vec<f32>> {
    let (mut s, mut h) = (from, (to - from) / 20.0);
    let mut first = f(s, &y);
    for _ in 0..MAX_STEPS {
        let last = (to - s).abs() <= h.abs() * 1.000_001;
        if last {
            h = to - s;
        }
        let (next, slopes) = step(&f, s, &y, first.clone(), h);
        let error = error(&y, &next, &slopes, h, tolerance);
        if !error.is_finite() {
            h *= 0.2;
            continue;
        }
        if error <= 1.0 {
            (s, y) = (s + h, next);
            if last {
                return Some(y);
            }
            // the last slope of a step is the first slope of the next
            first = slopes.into_iter().next_back()?;
        }
        h *= (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
        if h.abs() < 1e-9 * (to - from).abs() {
            return None;
        }
    }
    None
}

/// The solution of order 5 after a step of `h`, and all slopes.
fn step(
    f: &impl Fn(f64, &[f32]) -> Vec<f32>,
    s: f64,
    y: &[f32],
    first: Vec<f32>,
    h: f64,
) -> (Vec<f32>, Vec<Vec<f32>>) {
    let mut slopes = vec![first];
    let mut next = Vec::new();
    for (row, node) in ROWS.iter().zip(&NODES[1..]) {
        next = y.to_vec();
        for (weight, slope) in row.iter().zip(&slopes).filter(|(weight, _)| **weight != 0.0) {
            let weight = (h * weight) as f32;
            next.iter_mut().zip(slope).for_each(|(next, slope)| *next += weight * slope);
        }
        slopes.push(f(s + node * h, &next));
    }
    (next, slopes)
}

fn error(y: &[f32], next: &[f32], slopes: &[Vec<f32>], h: f64, tolerance: Tolerance) -> f64 {
    let square = |i: usize| {
        let estimate: f64 =
            ERROR.iter().zip(slopes).map(|(weight, slope)| weight * f64::from(slope[i])).sum();
        let size = f64::from(y[i].abs().max(next[i].abs()));
        (h * estimate / (tolerance.absolute + tolerance.relative * size)).powi(2)
    };
    ((0..y.len()).map(square).sum::<f64>() / y.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Tolerance = Tolerance { relative: 1e-5, absolute: 1e-5 };

    #[test]
    fn a_rotation_is_followed_forwards_and_backwards() {
        let turn = |_: f64, y: &[f32]| vec![-y[1], y[0]];
        let quarter = solve(turn, vec![1.0, 0.0], 0.0, std::f64::consts::FRAC_PI_2, FINE).unwrap();
        assert!(quarter[0].abs() < 1e-4 && (quarter[1] - 1.0).abs() < 1e-4, "{quarter:?}");
        let back = solve(turn, quarter, std::f64::consts::FRAC_PI_2, 0.0, FINE).unwrap();
        assert!((back[0] - 1.0).abs() < 1e-4 && back[1].abs() < 1e-4, "{back:?}");
    }

    #[test]
    fn steps_adapt_to_fast_changes_and_a_diverging_solution_is_reported() {
        // y = atan(50 s) changes within 0.02 of s = 0
        let bend = |s: f64, _: &[f32]| vec![(50.0 / (1.0 + 2500.0 * s * s)) as f32];
        let found = solve(bend, vec![-(50.0_f32).atan()], -1.0, 1.0, FINE).unwrap();
        assert!((found[0] - 50.0_f32.atan()).abs() < 1e-3, "{found:?}");
        let explodes = |_: f64, y: &[f32]| vec![y[0] * y[0]];
        assert!(solve(explodes, vec![1.0], 0.0, 2.0, FINE).is_none());
    }
}
