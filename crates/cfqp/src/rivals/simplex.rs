//! The point of a convex hull nearest to a given one:
//!
//! ```text
//! min |sum_i w_i p_i|^2   over   w_i >= 0,  sum_i w_i = 1,      p_i = donor i - target
//! ```
//!
//! Wolfe's active-set method. It keeps a small active set S of affinely independent points and z, the point of their
//! hull nearest to the origin. By the Karush-Kuhn-Tucker conditions z is the solution if the duality gap
//! |z|^2 - min_i <p_i, z> is at most 0. Otherwise the point that violates this most joins S, z moves to the nearest
//! point of the affine hull of S, and points whose weight would turn negative on the way leave S. |z| decreases in
//! every round, so no S occurs twice and the method ends, exact up to rounding.

use crate::math::{GrowingCholesky, argmin, dot};

/// More rounds than any problem needs.
const MAX_ROUNDS: usize = 10_000;
/// A gap below this share of the largest |p|^2 counts as none.
const GAP_TOLERANCE: f64 = 1e-10;

/// The weights of a point of the hull.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HullWeights {
    /// The index and weight of every point whose weight is positive.
    pub positive: Vec<(usize, f64)>,
    /// |z|^2
    pub square: f64,
    /// The duality gap |z|^2 - min_i <p_i, z>; the minimum of |z|^2 is at most twice the gap below.
    pub gap: f64,
}

/// The weights of the point nearest to the origin in the hull of `points`.
///
/// # Shapes
/// points `[n, d]`, row-major
///
/// # Panics
/// If there is no point.
pub(crate) fn nearest_in_hull(points: &[f64], d: usize) -> HullWeights {
    let point = |i: usize| &points[i * d..(i + 1) * d];
    let squares: Vec<f64> = points.chunks_exact(d).map(|p| dot(p, p)).collect();
    let first = argmin(squares.iter().copied()).expect("there is a point");
    let tolerance = GAP_TOLERANCE * squares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut set = ActiveSet { members: vec![first], weights: vec![1.0], factor: GrowingCholesky::default() };
    set.refactor(points, d);
    let mut z = point(first).to_vec();
    for _ in 0..MAX_ROUNDS {
        let (next, gap) = most_violating(points, d, &z);
        if gap <= tolerance || set.members.contains(&next) || !set.join(next, points, d) {
            break;
        }
        set.settle(points, d);
        z = set.point(points, d);
    }
    let gap = most_violating(points, d, &z).1.max(0.0);
    let weights = set.members.iter().copied().zip(set.weights.iter().copied());
    let positive = weights.filter(|(_, weight)| *weight > 0.0).collect();
    HullWeights { positive, square: dot(&z, &z), gap }
}

/// The point with the smallest <p_i, z>, and the duality gap.
fn most_violating(points: &[f64], d: usize, z: &[f64]) -> (usize, f64) {
    let along: Vec<f64> = points.chunks_exact(d).map(|p| dot(p, z)).collect();
    let next = argmin(along.iter().copied()).expect("there is a point");
    (next, dot(z, z) - along[next])
}

/// Affinely independent points, their weights, and the Cholesky factor of A = <p_i, p_j> + c, which is positive
/// definite exactly where they are independent. The constant c > 0 changes no solution.
struct ActiveSet {
    members: Vec<usize>,
    weights: Vec<f64>,
    factor: GrowingCholesky,
}

impl ActiveSet {
    /// Adds point `next` with weight 0; returns false, and adds nothing, if it depends on the others.
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

    /// Appends the row of member `m` to the factor.
    fn append(&mut self, m: usize, points: &[f64], d: usize) -> bool {
        let shift = self.shift(points, d);
        let point = |i: usize| &points[self.members[i] * d..(self.members[i] + 1) * d];
        self.factor.append(|j| dot(point(m), point(j)) + shift, dot(point(m), point(m)) + shift)
    }

    /// The constant c: the square of the first member, so that A is well scaled.
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

    /// Moves to the nearest point of the affine hull, removing points whose weight would turn negative on the way.
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

    /// The weights of the nearest point of the affine hull: A b = 1, w = b / sum b.
    fn affine(&self) -> Vec<f64> {
        let b = self.factor.solve_ones();
        let sum: f64 = b.iter().sum();
        b.iter().map(|b| b / sum).collect()
    }

    /// z = sum_i w_i p_i
    fn point(&self, points: &[f64], d: usize) -> Vec<f64> {
        let mut z = vec![0.0; d];
        for (&i, w) in self.members.iter().zip(&self.weights) {
            z.iter_mut().zip(&points[i * d..(i + 1) * d]).for_each(|(z, p)| *z += w * p);
        }
        z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt as _;

    fn weights(found: &HullWeights, n: usize) -> Vec<f64> {
        let mut all = vec![0.0; n];
        found.positive.iter().for_each(|&(i, w)| all[i] = w);
        all
    }

    #[test]
    fn the_nearest_point_is_found_on_an_edge_at_a_corner_and_inside() {
        // the edge from (1, -1) to (1, 2) is nearest at (1, 0); the third point has no weight
        let edge = nearest_in_hull(&[1.0, -1.0, 1.0, 2.0, 3.0, 0.0], 2);
        let expected = [2.0 / 3.0, 1.0 / 3.0, 0.0];
        assert!(weights(&edge, 3).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!((edge.square - 1.0).abs() < 1e-12 && edge.gap < 1e-10);
        let corner = nearest_in_hull(&[1.0, 1.0, 2.0, 1.0, 1.0, 3.0], 2);
        assert_eq!(corner, HullWeights { positive: vec![(0, 1.0)], square: 2.0, gap: 0.0 });
        // the origin is the mean of a triangle's corners
        let inside = nearest_in_hull(&[1.0, 0.0, -0.5, 0.75, -0.5, -0.75], 2);
        assert!(inside.square < 1e-20);
        assert!(weights(&inside, 3).iter().all(|w| (w - 1.0 / 3.0).abs() < 1e-9));
    }

    /// |z|^2 at the optimum by projected gradient descent.
    fn by_projected_gradient(points: &[f64], d: usize) -> f64 {
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
    fn random_problems_are_solved_to_the_optimum() {
        let mut rng = stream(1, &["simplex"]);
        for (n, d) in [(1, 3), (5, 2), (12, 7), (30, 4), (9, 20)] {
            let points: Vec<f64> = (0..n * d).map(|_| rng.random_range(-1.0..1.5)).collect();
            let found = nearest_in_hull(&points, d);
            assert!((found.positive.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(found.positive.iter().all(|(_, w)| *w > 0.0) && found.gap < 1e-8, "{found:?}");
            assert!((found.square - by_projected_gradient(&points, d)).abs() < 1e-4, "{n} {d}");
        }
    }

    #[test]
    fn repeated_points_are_handled() {
        let points = [1.0, -1.0, 1.0, -1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let found = nearest_in_hull(&points, 2);
        assert!((found.square - 1.0).abs() < 1e-12 && found.gap < 1e-10);
        assert_eq!(nearest_in_hull(&[0.0, 0.0, 0.0, 0.0], 2).square, 0.0);
    }

    #[test]
    fn a_problem_of_the_size_of_digits_converges() {
        let mut rng = stream(2, &["simplex"]);
        let (n, d) = (300, 196);
        let points: Vec<f64> = (0..n * d).map(|_| rng.random_range(-1.0..1.2)).collect();
        assert!(nearest_in_hull(&points, d).gap < 1e-6);
    }
}
