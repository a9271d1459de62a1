//! The functions of covariates x and treatments t that class means are linear in.
//!
//! ```text
//! covariates   x_i and its cosines
//! treatments   t_j with its cosines or, of few values, with one hat function per value
//! products     x_i r(t_j): t_j itself and a cosine or, of few values, its hat functions
//! ```
//!
//! A hat function is 1 at its value, 0 at all others and linear between them, so a treatment of few values has a free mean per
//! value, and amounts in between are interpolated.

/// Half the range of a standardised column that its cosines cover.
pub(crate) const X_HALF_RANGE: f64 = 3.0;
pub(crate) const T_HALF_RANGE: f64 = 1.8;

/// Which functions there are of every column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis<'a> {
    /// The number of cosines of every covariate and of every treatment.
    pub x_cosines: &'a [usize],
    pub t_cosines: &'a [usize],
    /// The values of every treatment of few values, ascending; of others none. May be empty if no treatment has any.
    pub t_values: &'a [Vec<f32>],
    /// The covariates that have products with the treatments.
    pub product_columns: &'a [usize],
}

/// What a function of a treatment is: its prior depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreatmentTerm {
    /// The treatment itself; of a treatment that has no other function if `only`.
    Slope { only: bool },
    /// The cosine of this frequency.
    Cosine(usize),
    /// One of several values.
    Value,
}

impl Basis<'_> {
    /// The values of treatment `j` that have hat functions.
    pub(crate) fn values(&self, j: usize) -> &[f32] {
        match self.t_values.get(j) {
            // a slope alone tells two values apart
            Some(values) if values.len() > 2 => values,
            _ => &[],
        }
    }

    pub(crate) fn covariates(&self) -> usize {
        self.x_cosines.iter().map(|cosines| 1 + cosines).sum()
    }

    pub(crate) fn treatments(&self) -> usize {
        (0..self.t_cosines.len()).map(|j| 1 + self.t_cosines[j].max(self.values(j).len())).sum()
    }

    /// The number of functions of treatment `j` that covariates are multiplied with.
    pub(crate) fn factors(&self, j: usize) -> usize {
        match self.values(j) {
            [] if self.t_cosines[j] == 0 => 1,
            [] => 2,
            values => values.len(),
        }
    }

    pub(crate) fn products(&self) -> usize {
        self.product_columns.len() * (0..self.t_cosines.len()).map(|j| self.factors(j)).sum::<usize>()
    }

    /// The functions of the treatments, in their order.
    pub(crate) fn treatment_terms(&self) -> Vec<TreatmentTerm> {
        let of_treatment = |j: usize| {
            let (cosines, values) = (self.t_cosines[j], self.values(j).len());
            let slope = TreatmentTerm::Slope { only: cosines == 0 && values == 0 };
            let cosines = (1..=cosines).map(TreatmentTerm::Cosine);
            std::iter::once(slope).chain(cosines).chain(std::iter::repeat_n(TreatmentTerm::Value, values))
        };
        (0..self.t_cosines.len()).flat_map(of_treatment).collect()
    }

    /// The frequencies of the functions of the covariates, in their order; 0 for a covariate itself.
    pub(crate) fn covariate_frequencies(&self) -> impl Iterator<Item = usize> {
        self.x_cosines.iter().flat_map(|&cosines| 0..=cosines)
    }

    #[inline(always)]
    pub(crate) fn push_covariates(&self, x: &[f32], out: &mut Vec<f32>) {
        for (&x, &count) in x.iter().zip(self.x_cosines) {
            push_cosines(x, X_HALF_RANGE as f32, count, out);
        }
    }

    #[inline(always)]
    pub(crate) fn push_treatments(&self, t: &[f32], out: &mut Vec<f32>) {
        for (j, &t) in t.iter().enumerate() {
            match self.values(j) {
                [] => push_cosines(t, T_HALF_RANGE as f32, self.t_cosines[j], out),
                values => {
                    out.push(t);
                    push_hats(t, values, out);
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn push_products(&self, x: &[f32], t: &[f32], out: &mut Vec<f32>) {
        let columns = self.product_columns;
        for (j, &t) in t.iter().enumerate() {
            let values = self.values(j);
            if values.is_empty() {
                let r = T_HALF_RANGE as f32;
                let t = t.clamp(-r, r);
                let both = [t, (std::f32::consts::PI * t / r).cos()];
                for factor in &both[..self.factors(j)] {
                    out.extend(columns.iter().map(|&i| x[i] * factor));
                }
                continue;
            }
            let first = out.len();
            out.resize(first + values.len() * columns.len(), 0.0);
            for (value, height) in hats(t, values) {
                let own = &mut out[first + value * columns.len()..][..columns.len()];
                own.iter_mut().zip(columns).for_each(|(product, &i)| *product += height * x[i]);
            }
        }
    }
}

/// Appends x and its cosines, cos(j pi (x / 2 r + 1/2)) for j = 1, 2, ...
#[inline(always)]
fn push_cosines(x: f32, half_range: f32, count: usize, out: &mut Vec<f32>) {
    out.push(x);
    let cos = (std::f32::consts::PI * (x / (2.0 * half_range) + 0.5)).cos();
    let (mut before, mut now) = (1.0, cos);
    for _ in 0..count {
        out.push(now);
        (before, now) = (now, 2.0 * cos * now - before);
    }
}

/// Appends the hat function of every value.
#[inline(always)]
fn push_hats(t: f32, values: &[f32], out: &mut Vec<f32>) {
    let first = out.len();
    out.resize(first + values.len(), 0.0);
    for (value, height) in hats(t, values) {
        out[first + value] += height;
    }
}

/// The two values around `t` with their hat functions; outside of all values, the nearest one twice.
#[inline(always)]
fn hats(t: f32, values: &[f32]) -> [(usize, f32); 2] {
    let above = values.partition_point(|&value| value < t);
    if above == 0 || above == values.len() {
        let nearest = above.saturating_sub(usize::from(above > 0));
        return [(nearest, 1.0), (nearest, 0.0)];
    }
    let share = (t - values[above - 1]) / (values[above] - values[above - 1]);
    [(above - 1, 1.0 - share), (above, share)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hats_are_one_at_their_value_and_linear_between() {
        let hats = |t: f32| {
            let mut out = Vec::new();
            push_hats(t, &[-1.0, 0.0, 2.0], &mut out);
            out
        };
        assert_eq!(hats(-1.0), [1.0, 0.0, 0.0]);
        assert_eq!(hats(0.0), [0.0, 1.0, 0.0]);
        assert_eq!(hats(0.5), [0.0, 0.75, 0.25]);
        assert_eq!((hats(-7.0), hats(3.0)), (vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]));
    }

    #[test]
    fn every_function_has_a_place() {
        let values = [vec![-1.0, 0.0, 1.0, 2.0], vec![0.0, 1.0], Vec::new()];
        let basis =
            Basis { x_cosines: &[2, 0], t_cosines: &[0, 0, 3], t_values: &values, product_columns: &[1] };
        let (x, t) = ([0.3, -0.2], [0.0, 1.0, 0.4]);
        let length = |push: &dyn Fn(&mut Vec<f32>)| {
            let mut out = Vec::new();
            push(&mut out);
            out.len()
        };
        assert_eq!(length(&|out| basis.push_covariates(&x, out)), basis.covariates());
        assert_eq!(length(&|out| basis.push_treatments(&t, out)), basis.treatments());
        assert_eq!(length(&|out| basis.push_products(&x, &t, out)), basis.products());
        assert_eq!((basis.covariates(), basis.treatments(), basis.products()), (4, 5 + 1 + 4, 4 + 1 + 2));
        assert_eq!(basis.treatment_terms().len(), basis.treatments());
        assert_eq!(basis.covariate_frequencies().collect::<Vec<_>>(), [0, 1, 2, 0]);
    }
}
