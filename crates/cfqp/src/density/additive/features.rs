//! The functions of rows that additive mixtures are linear in, column by column, with the priors of their coefficients.

use crate::density::basis::{Basis, TreatmentTerm};
use crate::density::network::{
    ALIKE_PRECISION, CLASS_INTERACTION_PRECISION, Form, INTERACTION_PRECISION, VALUE_PRECISION,
};
use crate::math::simd::{add_scaled_doubles, double_dots, with_simd};

/// The prior precision of the slope of a class's curve in t ...
const SLOPE: f64 = 0.5;
/// ... and of one in a treatment of few values: which group of outcomes under one value belongs to which under another cannot
/// be seen, so the classes are taken to respond as much alike as possible.
const FEW_VALUES: f64 = 50.0;
/// The prior precisions of the slope of the curve that all classes share, and of predictions of regressors.
const SHARED_SLOPE: f64 = 0.1;
/// The prior precision of what classes must not have in common.
const NOT_SHARED: f64 = 1e6;

/// Columns of features, with the prior precision of each coefficient.
pub(super) struct Features {
    pub columns: Vec<Vec<f64>>,
    pub precisions: Vec<f64>,
    /// Which precisions are those of cosines.
    pub smooth: Vec<bool>,
    /// Features whose prior is learned together.
    pub groups: Vec<Option<usize>>,
}

impl Features {
    /// Without rows.
    pub(super) fn new(precisions: Vec<f64>, smooth: Vec<bool>) -> Self {
        let groups = vec![None; precisions.len()];
        Self { columns: vec![Vec::new(); precisions.len()], precisions, smooth, groups }
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }

    /// sum_i w_i f_i f_i', lower half, and sum_i w_i f_i y_i, `[width, targets]`.
    pub(super) fn normal_equations(&self, weights: &[f64], targets: &[Vec<f64>]) -> NormalEquations {
        let (p, d) = (self.width(), targets.len());
        let (mut gram, mut moments) = (vec![0.0; p * p], vec![0.0; p * d]);
        let mut weighted = vec![0.0; weights.len()];
        with_simd(
            #[inline(always)]
            || {
                for (j, column) in self.columns.iter().enumerate() {
                    let products = weights.iter().zip(column).map(|(weight, value)| weight * value);
                    weighted.iter_mut().zip(products).for_each(|(weighted, product)| *weighted = product);
                    dots(&weighted, &self.columns[..=j], &mut gram[j * p..=j * p + j]);
                    dots(&weighted, targets, &mut moments[j * d..][..d]);
                }
            },
        );
        NormalEquations { gram, moments }
    }

    /// sum_i f_i y_i, `[width, targets]`.
    pub(super) fn moments(&self, targets: &[Vec<f64>]) -> Vec<f64> {
        let mut moments = vec![0.0; self.width() * targets.len()];
        with_simd(
            #[inline(always)]
            || {
                for (column, moments) in self.columns.iter().zip(moments.chunks_exact_mut(targets.len())) {
                    dots(column, targets, moments);
                }
            },
        );
        moments
    }

    /// Writes the products of all rows with coefficients `[width, outputs]`, of which those of one output are used.
    pub(super) fn fit(&self, coefficients: &[f64], output: usize, outputs: usize, out: &mut [f64]) {
        out.fill(0.0);
        with_simd(
            #[inline(always)]
            || {
                for (column, of_feature) in self.columns.iter().zip(coefficients.chunks_exact(outputs)) {
                    add_scaled_doubles(out, of_feature[output], column);
                }
            },
        );
    }
}

/// sum_i a_i b_i for every column b.
#[inline(always)]
fn dots(a: &[f64], columns: &[Vec<f64>], out: &mut [f64]) {
    let ((fours, rest), (out_fours, out_rest)) = (columns.as_chunks::<4>(), out.as_chunks_mut::<4>());
    for ([b, c, d, e], out) in fours.iter().zip(out_fours) {
        *out = double_dots(a, [b, c, d, e]);
    }
    for (b, out) in rest.iter().zip(out_rest) {
        [*out] = double_dots(a, [b]);
    }
}

/// Weighted sums of squares and products of features and targets.
pub(super) struct NormalEquations {
    pub gram: Vec<f64>,
    /// `[width, targets]`
    pub moments: Vec<f64>,
}

/// What a mixture is linear in: a part of a [`Form`].
#[derive(Clone, Copy)]
pub(crate) struct AdditiveForm<'a> {
    pub basis: Basis<'a>,
    /// Whether there are products of covariates and treatments, in all classes alike and in each on its own.
    pub interactions: bool,
    pub class_interactions: bool,
    /// Whether classes respond to the treatment alike.
    pub alike: bool,
    /// The number of predictions of regressors that a row has.
    pub offsets: usize,
    /// Whether there are classes whose curves have a smoothness of their own: deviations from a common curve would not be smooth.
    pub own_curves: bool,
}

impl<'a> From<&'a Form> for AdditiveForm<'a> {
    fn from(form: &'a Form) -> Self {
        Self {
            basis: form.basis(),
            interactions: form.interactions,
            class_interactions: form.class_interactions,
            alike: form.alike,
            offsets: form.offsets,
            own_curves: form.classes > 1 && !form.alike,
        }
    }
}

impl AdditiveForm<'_> {
    /// Features that all classes share: covariates, products, treatments, predictions of regressors.
    pub(super) fn shared(&self) -> Features {
        let of_frequency = |j: usize| if j == 0 { 0.1 } else { (j * j) as f64 };
        let products = if self.interactions { self.basis.products() } else { 0 };
        let of_term = |term: TreatmentTerm| match term {
            TreatmentTerm::Slope { only: false } | TreatmentTerm::Cosine(_) if self.own_curves => NOT_SHARED,
            TreatmentTerm::Slope { .. } => SHARED_SLOPE,
            TreatmentTerm::Cosine(j) => of_frequency(j),
            TreatmentTerm::Value => VALUE_PRECISION,
        };
        let mut precisions: Vec<f64> = self.basis.covariate_frequencies().map(of_frequency).collect();
        precisions.extend(std::iter::repeat_n(INTERACTION_PRECISION, products));
        precisions.extend(self.basis.treatment_terms().into_iter().map(of_term));
        precisions.extend(std::iter::repeat_n(SHARED_SLOPE, self.offsets));
        let smooth = vec![false; precisions.len()];
        Features { groups: self.shared_groups(), ..Features::new(precisions, smooth) }
    }

    /// The shared features whose prior is learned together: every covariate, its cosines, its products, and every treatment
    /// and its other functions.
    fn shared_groups(&self) -> Vec<Option<usize>> {
        let (d_x, d_t) = (self.basis.x_cosines.len(), self.basis.t_cosines.len());
        let mut groups = Vec::new();
        for (i, &cosines) in self.basis.x_cosines.iter().enumerate() {
            groups.extend((0..=cosines).map(|j| Some(2 * i + usize::from(j > 0))));
        }
        if self.interactions {
            let columns = self.basis.product_columns;
            let factors: usize = (0..d_t).map(|j| self.basis.factors(j)).sum();
            groups.extend((0..factors).flat_map(|_| columns.iter().map(|&i| Some(2 * d_x + i))));
        }
        for j in 0..d_t {
            let others = self.basis.t_cosines[j].max(self.basis.values(j).len());
            let is_learned = !(self.own_curves && self.basis.t_cosines[j] > 0);
            groups.push(is_learned.then_some(3 * d_x + 2 * j));
            groups.extend(std::iter::repeat_n(is_learned.then_some(3 * d_x + 2 * j + 1), others));
        }
        groups.extend((0..self.offsets).map(|i| Some(3 * d_x + 2 * d_t + i)));
        groups
    }

    /// Features of every class: an intercept, treatments and, if classes differ in them, covariates and products.
    pub(super) fn of_class(&self) -> Features {
        let (mut precisions, mut smooth) = (vec![0.3], vec![false]);
        for term in self.basis.treatment_terms() {
            smooth.push(matches!(term, TreatmentTerm::Cosine(_)));
            precisions.push(match term {
                _ if self.alike => ALIKE_PRECISION,
                TreatmentTerm::Slope { only: false } => SLOPE,
                TreatmentTerm::Slope { only: true } | TreatmentTerm::Value => FEW_VALUES,
                TreatmentTerm::Cosine(j) => (j * j * j) as f64,
            });
        }
        if self.class_interactions {
            let products = if self.alike { ALIKE_PRECISION } else { CLASS_INTERACTION_PRECISION };
            precisions.extend(std::iter::repeat_n(CLASS_INTERACTION_PRECISION, self.basis.x_cosines.len()));
            precisions.extend(std::iter::repeat_n(products, self.basis.products()));
        }
        smooth.resize(precisions.len(), false);
        Features::new(precisions, smooth)
    }

    pub(super) fn push_shared(&self, x: &[f32], t: &[f32], offsets: &[f32], out: &mut Vec<f32>) {
        self.basis.push_covariates(x, out);
        if self.interactions {
            self.basis.push_products(x, t, out);
        }
        self.basis.push_treatments(t, out);
        out.extend_from_slice(&offsets[..self.offsets]);
    }

    pub(super) fn push_of_class(&self, x: &[f32], t: &[f32], out: &mut Vec<f32>) {
        out.push(1.0);
        self.basis.push_treatments(t, out);
        if self.class_interactions {
            out.extend_from_slice(x);
            self.basis.push_products(x, t, out);
        }
    }
}
