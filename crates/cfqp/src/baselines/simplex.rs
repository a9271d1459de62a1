//! The point of a convex hull nearest to a given one:
//!
//! ```text
//! min |sum_i w_i p_i|^2   over   w_i >= 0,  sum_i w_i = 1,      p_i = donor i - target
//! ```
//!
//! Wolfe's active set method. It keeps a small set S of affinely independent points and z, the point of their hull
//! nearest to the origin. By the conditions of Karush, Kuhn and Tucker z is the solution if no point lies nearer in
//! its direction: gap = |z|^2 - min_i <p_i, z> <= 0. Otherwise the point that violates this most joins S, the nearest
//! point of the affine hull of S is found, and points whose weight would turn negative on the way there leave S. |z|
//! falls with every round, so that no S comes twice and the end is reached, exact but for rounding.

/// More rounds than any problem needs.
const MOST_ROUNDS: usize = 10_000;
/// The gap, against the largest |p|^2, that counts as none.
const TOLERANCE: f64 = 1e-10;

/// Weights on the simplex and how far they may be from the best.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    /// Points with a positive weight, and that weight.
    pub of: Vec<(usize, f64)>,
    /// |z|^2
    pub square: f64,
    /// |z|^2 - min_i <p_i, z>; the best |z|^2 is at most 2 gap below.
    pub gap: f64,
}

/// The weights of the point nearest to the origin in the hull of `points`.
///
/// # Shapes
/// points `[n, d]`, flat, at least one
pub(crate) fn nearest(points: &[f64], d: usize) -> Weights {
    let point = |i: usize| &points[i * d..(i + 1) * d];
    let squares: Vec<f64> = points.chunks_exact(d).map(|p| dot(p, p)).collect();
    let first = argmin(&squares);
    let enough = TOLERANCE * squares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut set = Set { members: vec![first], weights: vec![1.0], factor: Vec::new() };
    set.refactor(points, d);
    let mut z = point(first).to_vec();
    for _ in 0..MOST_ROUNDS {
        let (next, gap) = worst(points, d, &z);
        if gap <= enough || set.members.contains(&next) || !set.join(next, points, d) {
            break;
        }
        set.settle(points, d);
        z = set.point(points, d);
    }
    let gap = worst(points, d, &z).1.max(0.0);
    let of = set.members.iter().copied().zip(set.weights.iter().copied()).filter(|(_, w)| *w > 0.0).collect();
    Weights { of, square: dot(&z, &z), gap }
}

/// The point that lies nearest in the direction of `z`, and the gap.
fn worst(points: &[f64], d: usize, z: &[f64]) -> (usize, f64) {
    let along: Vec<f64> = points.chunks_exact(d).map(|p| dot(p, z)).collect();
    let next = argmin(&along);
    (next, dot(z, z) - along[next])
}

/// Affinely independent points, their weights, and the Cholesky factor of A = <p_i, p_j> + c, row by row: it is
/// positive definite just where they are independent. The constant c > 0 changes no solution.
struct Set {
    members: Vec<usize>,
    weights: Vec<f64>,
    factor: Vec<Vec<f64>>,
}

impl Set {
    /// Take in point `next` with weight 0; not if it depends on the others.
    fn join(&mut self, next: usize, points: &[f64], d: usize) -> bool {
        self.members.push(next);
        self.weights.push(0.0);
        if self.append(self.members.len() - 1, points, d) {
            return true;
        }
        self.members.pop();
        self.weights.pop();
        false
    }

    /// Append the row of member `m` to the factor.
    fn append(&mut self, m: usize, points: &[f64], d: usize) -> bool {
        let point = |i: usize| &points[self.members[i] * d..(self.members[i] + 1) * d];
        let shift = self.shift(points, d);
        let mut row = Vec::with_capacity(m + 1);
        for j in 0..m {
            let known = dot(&row, &self.factor[j][..j]);
            row.push((dot(point(m), point(j)) + shift - known) / self.factor[j][j]);
        }
        let whole = dot(point(m), point(m)) + shift;
        let left = whole - dot(&row, &row);
        // what rounding leaves of a dependent point
        let independent = left > 1e-12 * whole;
        if independent {
            row.push(left.sqrt());
            self.factor.push(row);
        }
        independent
    }

    /// The constant c: of the size of the squares, so that A is well scaled.
    fn shift(&self, points: &[f64], d: usize) -> f64 {
        let first = &points[self.members[0] * d..(self.members[0] + 1) * d];
        dot(first, first).max(f64::MIN_POSITIVE)
    }

    fn refactor(&mut self, points: &[f64], d: usize) {
        self.factor.clear();
        let mut m = 0;
        while m < self.members.len() {
            if self.append(m, points, d) {
                m += 1;
            } else {
                self.members.remove(m);
                self.weights.remove(m);
            }
        }
    }

    /// Move to the nearest point of the affine hull, dropping points whose weight would turn negative on the way.
    fn settle(&mut self, points: &[f64], d: usize) {
        loop {
            let goal = self.affine();
            if goal.iter().all(|&w| w > 0.0) {
                self.weights = goal;
                return;
            }
            let falling = self.weights.iter().zip(&goal).filter(|(_, goal)| **goal <= 0.0);
            let step = falling.map(|(w, goal)| w / (w - goal)).fold(1.0, f64::min);
            let step = if step.is_finite() { step } else { 0.0 };
            let moved: Vec<f64> = self.weights.iter().zip(&goal).map(|(w, g)| w + step * (g - w)).collect();
            let stays: Vec<bool> = moved.iter().zip(&goal).map(|(w, g)| *g > 0.0 || *w > 1e-14).collect();
            let kept = |i: &usize| stays[*i];
            self.members = (0..moved.len()).filter(kept).map(|i| self.members[i]).collect();
            self.weights = (0..moved.len()).filter(kept).map(|i| moved[i].max(0.0)).collect();
            let sum: f64 = self.weights.iter().sum();
            self.weights.iter_mut().for_each(|w| *w /= sum);
            self.refactor(points, d);
        }
    }

    /// The weights, of sum 1, of the nearest point of the affine hull: A b = 1, w = b / sum b.
    fn affine(&self) -> Vec<f64> {
        let n = self.factor.len();
        let mut b = Vec::with_capacity(n);
        for i in 0..n {
            b.push((1.0 - dot(&b, &self.factor[i][..i])) / self.factor[i][i]);
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| self.factor[j][i] * b[j]).sum();
            b[i] = (b[i] - known) / self.factor[i][i];
        }
        let sum: f64 = b.iter().sum();
        b.iter().map(|b| b / sum).collect()
    }

    fn point(&self, points: &[f64], d: usize) -> Vec<f64> {
        let mut z = vec![0.0; d];
        for (&i, w) in self.members.iter().zip(&self.weights) {
            z.iter_mut().zip(&points[i * d..(i + 1) * d]).for_each(|(z, p)| *z += w * p);
        }
        z
    }
}

/// The sum of products, in eight parts so that it can be vectorised.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (a_parts, b_parts) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        parts.iter_mut().zip(a.iter().zip(b)).for_each(|(part, (a, b))| *part += a * b);
    }
    parts.iter().sum::<f64>() + rest
}

fn argmin(values: &[f64]) -> usize {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).expect("there is a point")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;

    fn weights(found: &Weights, n: usize) -> Vec<f64> {
        let mut all = vec![0.0; n];
        found.of.iter().for_each(|&(i, w)| all[i] = w);
        all
    }

    #[test]
    fn the_nearest_point_of_an_edge_of_a_corner_and_of_the_inside_is_known() {
        // the edge from (1, -1) to (1, 2) is nearest at (1, 0), the third point is not needed
        let edge = nearest(&[1.0, -1.0, 1.0, 2.0, 3.0, 0.0], 2);
        let expected = [2.0 / 3.0, 1.0 / 3.0, 0.0];
        assert!(weights(&edge, 3).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!((edge.square - 1.0).abs() < 1e-12 && edge.gap < 1e-10);
        let corner = nearest(&[1.0, 1.0, 2.0, 1.0, 1.0, 3.0], 2);
        assert_eq!(corner, Weights { of: vec![(0, 1.0)], square: 2.0, gap: 0.0 });
        // the origin is the mean of a triangle's corners
        let inside = nearest(&[1.0, 0.0, -0.5, 0.75, -0.5, -0.75], 2);
        assert!(inside.square < 1e-20);
        assert!(weights(&inside, 3).iter().all(|w| (w - 1.0 / 3.0).abs() < 1e-9));
    }

    /// Projected gradient with a falling step, for very many steps: another way to the same optimum.
    fn slow(points: &[f64], d: usize) -> f64 {
        let n = points.len() / d;
        let largest: f64 = points.iter().map(|p| p * p).sum();
        let mut w = vec![1.0 / n as f64; n];
        let mut square = f64::INFINITY;
        for _ in 0..20_000 {
            let z: Vec<f64> = (0..d).map(|j| (0..n).map(|i| w[i] * points[i * d + j]).sum::<f64>()).collect();
            square = dot(&z, &z);
            let moved: Vec<f64> =
                (0..n).map(|i| w[i] - dot(&points[i * d..(i + 1) * d], &z) / largest).collect();
            let mut sorted = moved.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let (mut sum, mut level) = (0.0, 0.0);
            for (k, v) in sorted.iter().enumerate() {
                sum += v;
                let next = (sum - 1.0) / (k + 1) as f64;
                if v - next > 0.0 {
                    level = next;
                }
            }
            w = moved.iter().map(|v| (v - level).max(0.0)).collect();
        }
        square
    }

    #[test]
    fn random_problems_end_at_the_optimum_with_no_gap() {
        let mut rng = stream(1, &["simplex"]);
        for (n, d) in [(1, 3), (5, 2), (12, 7), (30, 4), (9, 20)] {
            let points: Vec<f64> = (0..n * d).map(|_| rng.random_range(-1.0..1.5)).collect();
            let found = nearest(&points, d);
            assert!((found.of.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(found.of.iter().all(|(_, w)| *w > 0.0) && found.gap < 1e-8, "{found:?}");
            assert!((found.square - slow(&points, d)).abs() < 1e-4, "{n} {d}");
        }
    }

    #[test]
    fn points_that_come_twice_are_no_trouble() {
        let points = [1.0, -1.0, 1.0, -1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let found = nearest(&points, 2);
        assert!((found.square - 1.0).abs() < 1e-12 && found.gap < 1e-10);
        assert_eq!(nearest(&[0.0, 0.0, 0.0, 0.0], 2).square, 0.0);
    }

    #[test]
    fn a_thousand_points_of_a_digit_are_quick() {
        let mut rng = stream(2, &["simplex"]);
        let (n, d) = (300, 196);
        let points: Vec<f64> = (0..n * d).map(|_| rng.random_range(-1.0..1.2)).collect();
        assert!(nearest(&points, d).gap < 1e-6);
    }
}
