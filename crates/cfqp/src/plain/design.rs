//! The columns that a plain regression works on: covariates, the treatment, and functions of both.

use rand_distr::{Distribution, StandardNormal};

use crate::data::Units;
use crate::{Rng, stream};

/// More covariates than this are projected at random onto as many.
const MAX_COVARIATES: usize = 512;
/// Quantiles of a treatment at which its piecewise linear curve may bend.
const KNOTS: [f64; 6] = [0.1, 0.25, 0.4, 0.6, 0.75, 0.9];
/// Quantiles of a covariate at which its curve may bend ...
const X_KNOTS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// ... with at least so many units per bend.
const UNITS_PER_BEND: usize = 4;

/// The functions of covariates and treatment in a regression. All contain x and t, and all but the first their products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Basis {
    /// With a piecewise linear curve of t, the same for all x.
    Additive,
    /// With t^2.
    Quadratic,
    /// With a piecewise linear curve of t.
    Curve,
    /// With piecewise linear curves of t and of every covariate.
    Bent,
}

impl Basis {
    /// All that are tried.
    pub(super) const ALL: [Self; 4] = [Self::Additive, Self::Quadratic, Self::Curve, Self::Bent];
}

/// Standardised values of one array per unit: a column per element that varies, and an indicator per element that is
/// missing in some units.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Element, mean and deviation of every column.
    elements: Vec<(usize, f64, f64)>,
    missing: Vec<usize>,
    /// `[columns before, MAX_COVARIATES]`, where there are too many.
    projection: Option<Vec<f32>>,
}

impl Columns {
    pub(super) fn fit(units: &Units, rng: &mut Rng) -> Self {
        let (d, n) = (units.elements(), units.len());
        let mut sums = vec![(0.0, 0.0, 0.0); d];
        for i in 0..n {
            let (values, mask) = (units.row(i), units.mask_row(i));
            for j in (0..d).filter(|&j| mask.is_none_or(|mask| mask[j])) {
                let value = f64::from(values[j]);
                sums[j] = (sums[j].0 + 1.0, sums[j].1 + value, sums[j].2 + value * value);
            }
        }
        let moments = |(count, sum, squares): (f64, f64, f64)| {
            let mean = sum / count.max(1.0);
            (mean, (squares / count.max(1.0) - mean * mean).max(0.0).sqrt())
        };
        let scaled = sums.iter().map(|sums| moments(*sums)).enumerate();
        let varies = |(_, (mean, deviation)): &(usize, (f64, f64))| *deviation > 1e-6 * mean.abs().max(1e-6);
        let elements: Vec<_> = scaled.filter(varies).map(|(j, (mean, scale))| (j, mean, scale)).collect();
        let missing: Vec<usize> = (0..d).filter(|&j| (0.5..n as f64 - 0.5).contains(&sums[j].0)).collect();
        let wide = elements.len() + missing.len();
        let projection = (wide > MAX_COVARIATES).then(|| {
            let scale = 1.0 / (wide as f32).sqrt();
            let draw = |_| scale * Distribution::<f32>::sample(&StandardNormal, rng);
            (0..wide * MAX_COVARIATES).map(draw).collect()
        });
        Self { elements, missing, projection }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        (self.elements.len() + self.missing.len()).min(MAX_COVARIATES)
    }

    /// The columns of unit `i`.
    pub(super) fn row(&self, units: &Units, i: usize) -> Vec<f32> {
        let (values, mask) = (units.row(i), units.mask_row(i));
        let observed = |j: usize| mask.is_none_or(|mask| mask[j]);
        let value = |&(j, mean, scale): &(usize, f64, f64)| {
            if observed(j) { ((f64::from(values[j]) - mean) / scale) as f32 } else { 0.0 }
        };
        let mut row: Vec<f32> = self.elements.iter().map(value).collect();
        row.extend(self.missing.iter().map(|&j| f32::from(u8::from(!observed(j)))));
        let Some(projection) = &self.projection else { return row };
        let mut projected = vec![0.0; MAX_COVARIATES];
        for (value, weights) in row.iter().zip(projection.chunks_exact(MAX_COVARIATES)) {
            projected.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
        }
        projected
    }
}

/// How units and treatments become columns of a regression.
#[derive(Clone, Debug)]
pub(super) struct Design {
    pub x: Columns,
    t: Columns,
    basis: Basis,
    /// The knots of every treatment, standardised ...
    knots: Vec<Vec<f32>>,
    /// ... and of every covariate.
    x_knots: Vec<Vec<f32>>,
}

impl Design {
    /// The columns for these units; `seed` determines projections.
    pub(super) fn fit(x: &Units, t: &Units, basis: Basis, seed: u64) -> Self {
        let rng = &mut stream(seed, &["plain", "design"]);
        let (x_columns, t_columns) = (Columns::fit(x, rng), Columns::fit(t, rng));
        let knots = if basis == Basis::Quadratic { Vec::new() } else { quantiles(&t_columns, t, &KNOTS) };
        let bends = x_columns.len() * X_KNOTS.len();
        let bent = basis == Basis::Bent && bends * UNITS_PER_BEND <= x.len();
        let x_knots = if bent { quantiles(&x_columns, x, &X_KNOTS) } else { Vec::new() };
        Self { x: x_columns, t: t_columns, basis, knots, x_knots }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        let (d_x, d_t) = (self.x.len(), self.t.len());
        let curves: usize = self.knots.iter().chain(&self.x_knots).map(Vec::len).sum();
        let squares = if self.has_squares() { d_t } else { 0 };
        let products = if self.has_products() { d_x * d_t } else { 0 };
        // a design without columns has one of zeros
        (d_x + d_t + squares + curves + products).max(1)
    }

    fn has_squares(&self) -> bool {
        self.basis == Basis::Quadratic
    }

    fn has_products(&self) -> bool {
        self.basis != Basis::Additive
    }

    /// The columns of unit `i` with treatment `j` of `t`.
    fn row_into(&self, x: &Units, i: usize, t: &Units, j: usize, out: &mut Vec<f32>) {
        let (x, t) = (self.x.row(x, i), self.t.row(t, j));
        let start = out.len();
        out.extend_from_slice(&x);
        out.extend_from_slice(&t);
        if self.has_squares() {
            out.extend(t.iter().map(|t| t * t));
        }
        for (value, knots) in t.iter().zip(&self.knots).chain(x.iter().zip(&self.x_knots)) {
            out.extend(knots.iter().map(|knot| (value - knot).max(0.0)));
        }
        if self.has_products() {
            t.iter().for_each(|t| out.extend(x.iter().map(|x| x * t)));
        }
        if out.len() == start {
            out.push(0.0);
        }
    }

    /// The columns of `rows` of x, with a treatment each or one for all.
    ///
    /// # Shapes
    /// `[rows, len]`
    pub(super) fn matrix(&self, x: &Units, t: &Units, rows: &[usize]) -> Vec<f32> {
        let mut out = Vec::with_capacity(rows.len() * self.len());
        rows.iter().for_each(|&i| self.row_into(x, i, t, if t.len() == 1 { 0 } else { i }, &mut out));
        out
    }
}

/// Quantiles of every column, each once.
fn quantiles(columns: &Columns, units: &Units, shares: &[f64]) -> Vec<Vec<f32>> {
    let rows: Vec<Vec<f32>> = (0..units.len()).map(|i| columns.row(units, i)).collect();
    let knots = |j: usize| {
        let mut values: Vec<f32> = rows.iter().map(|row| row[j]).collect();
        values.sort_by(f32::total_cmp);
        let at = |share: &f64| values[((values.len() - 1) as f64 * share).round() as usize];
        let mut knots: Vec<f32> = shares.iter().map(at).collect();
        knots.dedup();
        knots
    };
    (0..columns.len()).map(knots).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_standardised_and_missing_values_are_marked() {
        let mask = Some(vec![true, true, true, false, true, true]);
        let x = Units::with_mask("x", vec![2], vec![1.0, 5.0, 3.0, 0.0, 1.0, 5.0], mask).unwrap();
        let columns = Columns::fit(&x, &mut stream(1, &["a"]));
        assert_eq!(columns.len(), 2, "the second element is constant, but missing in a unit");
        assert_eq!(columns.row(&x, 1)[1], 1.0);
        assert!((columns.row(&x, 0)[0] + columns.row(&x, 1)[0] + columns.row(&x, 2)[0]).abs() < 1e-6);
    }

    #[test]
    fn every_basis_has_as_many_columns_as_it_says() {
        let values: Vec<f32> = (0..80).map(|i| ((i * 37) % 23) as f32).collect();
        let (x, t) = (
            Units::new("x", vec![2], values.clone()).unwrap(),
            Units::new("t", vec![1], values[..40].to_vec()).unwrap(),
        );
        for basis in Basis::ALL {
            let design = Design::fit(&x, &t, basis, 1);
            assert_eq!(design.matrix(&x, &t, &[3, 5]).len(), 2 * design.len(), "{basis:?}");
        }
        let constant = Units::new("x", vec![1], vec![1.0; 40]).unwrap();
        let design = Design::fit(&constant, &constant, Basis::Quadratic, 1);
        assert_eq!(design.matrix(&constant, &constant, &[0]), [0.0]);
    }

    #[test]
    fn many_covariates_are_projected() {
        let x = Units::new("x", vec![600], (0..1200).map(|i| (i % 7) as f32 + (i / 600) as f32).collect())
            .unwrap();
        let columns = Columns::fit(&x, &mut stream(1, &["a"]));
        assert_eq!((columns.len(), columns.row(&x, 1).len()), (MAX_COVARIATES, MAX_COVARIATES));
    }
}
