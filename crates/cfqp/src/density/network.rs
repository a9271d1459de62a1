//! A mixture density network: the class weights, means and scales of an outcome given covariates x and treatment t.
//!
//! ```text
//! m_k = a_k + h_k(t) + b_k x + g(x) + h(t) + x (D + D_k) r(t) + (c + c_k) phi(x, t) + B o
//! log s_k = e_k (+ linear in x, t, t^2),   w_k = softmax(linear in nothing, in x, or in x, t, t^2)
//! ```
//!
//! h_k, h and g are sums of functions of each column ([`Basis`]); r(t) are those by which covariates change the response to the
//! treatment, in all classes alike (D) or in each on its own (D_k); phi is a perceptron with two hidden layers, shared by all
//! classes; o are the predictions of other regressors, if there are any. All parameters are one flat array, with Gaussian priors
//! about 0.

use std::collections::HashMap;
use std::ops::Range;

use rand::RngExt as _;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::basis::{Basis, TreatmentTerm};
use super::coefficients::Coefficients;
use super::heads::{HeadInput, HeadLaw, NUMBER};
use super::law::{Noise, NoiseLaw};
use crate::Rng;
use crate::math::simd::{add_scaled_all, dot, exp};

/// The most that covariates and treatments change a logarithm of a scale, and a logit of a class.
pub(crate) const MAX_SCALE_CHANGE: f64 = 3.0;
pub(crate) const MAX_LOGIT_CHANGE: f64 = 15.0;

/// The width of the hidden layers, and the cosines of a treatment with many values ...
pub(crate) const HIDDEN: usize = 32;
pub(crate) const T_COSINES: usize = 6;
/// ... and the most of them for many subjects.
const MAX_HIDDEN: usize = 96;
pub(crate) const MAX_COSINES: usize = 64;

/// The prior precision of products of covariates and treatments, in all classes alike and of each class.
pub(super) const INTERACTION_PRECISION: f64 = 20.0;
pub(super) const CLASS_INTERACTION_PRECISION: f64 = 10.0;
/// The prior precision of what classes must not differ in.
pub(super) const ALIKE_PRECISION: f64 = 1e5;
/// The prior precision of the mean under one of few values of a treatment.
pub(super) const VALUE_PRECISION: f64 = 0.5;

/// The part of the random output weights that a network has which starts from an additive mixture.
const FIRST_OUTPUT: f32 = 0.1;

/// What class weights depend on before the outcome is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeights {
    /// The same for all units.
    #[default]
    Constant,
    /// On the covariates.
    Covariates,
    /// On the covariates and the treatment: the class may have influenced who received what.
    CovariatesAndTreatment,
}

/// The form of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    pub classes: usize,
    /// Outcomes that the network has a mean and a scale for, in every class.
    pub outcomes: usize,
    /// Their laws; empty if all are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcome_laws: Vec<HeadLaw>,
    /// The number of cosines of every covariate and every treatment.
    pub x_cosines: Vec<usize>,
    pub t_cosines: Vec<usize>,
    /// The values of every treatment of few values, standardised and ascending; of others none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub t_values: Vec<Vec<f32>>,
    /// Whether covariates change the response to the treatment, in all classes alike: products of x and r(t).
    #[serde(default)]
    pub interactions: bool,
    /// Whether they change it in each class on its own.
    #[serde(default)]
    pub class_interactions: bool,
    /// Whether curves of classes are deviations from a curve of all; not so in networks of 0.1.0.
    #[serde(default)]
    pub shared_response: bool,
    /// Whether all classes respond to the treatment alike: they differ in level, in covariates and in noise only.
    #[serde(default)]
    pub alike: bool,
    /// The covariates that have such products.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub product_columns: Vec<usize>,
    /// The number of predictions of regressors that are a part of the means.
    #[serde(default)]
    pub offsets: usize,
    /// Width of the hidden layers; 0: none.
    pub hidden: usize,
    pub weights: ClassWeights,
    pub law: NoiseLaw,
    /// Whether scales depend on x and t.
    pub varying_scale: bool,
}

/// An element of an outcome, by the first head that models it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// A number.
    Number(usize),
    /// The probability of 1.
    Chance(usize),
    /// The probability of a level of a category.
    Level(usize),
    /// A count or an ordered level.
    Ranked(usize),
    /// Zero or a positive amount: this head says which, the next how much.
    Amount(usize),
}

impl Element {
    /// Whether answers are probabilities.
    pub(crate) fn is_chance(self) -> bool {
        matches!(self, Self::Chance(_) | Self::Level(_))
    }

    /// Whether it is a count or an ordered level.
    pub(crate) fn is_ranked(self) -> bool {
        matches!(self, Self::Ranked(_))
    }
}

/// Where each part of the parameters is.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) hidden_1: Range<usize>,
    pub(crate) bias_1: Range<usize>,
    pub(crate) hidden_2: Range<usize>,
    pub(crate) bias_2: Range<usize>,
    /// (outcomes + classes x outcomes) rows of `hidden`: those of all classes first.
    pub(crate) output: Range<usize>,
    pub(crate) intercept: Range<usize>,
    /// `[features, classes x outcomes]`
    pub(crate) curves: Range<usize>,
    /// `[outcomes, features]`
    pub(crate) additive: Range<usize>,
    pub(crate) scale: Range<usize>,
    /// `[outcomes, features]`
    pub(crate) scale_slopes: Range<usize>,
    pub(crate) weight: Range<usize>,
    /// `[classes, features]`
    pub(crate) weight_slopes: Range<usize>,
    pub(super) shape: Range<usize>,
}

/// Prior precisions of the parts; those of cosines grow with the square of their frequency.
mod prior {
    /// Of the perceptron's weights, relative to their number of inputs.
    pub(super) const PERCEPTRON: f32 = 1.0;
    pub(super) const CURVE: f32 = 1.0;
    pub(super) const DEVIATION: f32 = 10.0;
    /// The same where classes differ in how covariates change their responses.
    pub(super) const FREE_DEVIATION: f32 = 3.0;
    /// Of the coefficients of predictions of regressors.
    pub(super) const OFFSET: f32 = 0.1;
    pub(super) const SCALE: f32 = 3.0;
    /// Of the slopes of class weights, relative to their number.
    pub(super) const WEIGHT: f32 = 1.0;
}

impl Form {
    pub(crate) fn inputs(&self) -> usize {
        self.x_cosines.len() + self.t_cosines.len()
    }

    /// The law of outcome `j`.
    #[inline(always)]
    pub(crate) fn outcome_law(&self, j: usize) -> &HeadLaw {
        self.outcome_laws.get(j).unwrap_or(&NUMBER)
    }

    fn d_x(&self) -> usize {
        self.x_cosines.len()
    }

    fn heads(&self) -> usize {
        self.classes * self.outcomes
    }

    /// The functions of inputs that means are linear in.
    pub(crate) fn basis(&self) -> Basis<'_> {
        Basis {
            x_cosines: &self.x_cosines,
            t_cosines: &self.t_cosines,
            t_values: &self.t_values,
            product_columns: &self.product_columns,
        }
    }

    fn additive_features(&self) -> usize {
        self.basis().covariates() + self.interaction_features() + self.shared_treatments() + self.offsets
    }

    /// The number of functions of treatments that all classes share.
    pub(crate) fn shared_treatments(&self) -> usize {
        if self.shared_response { self.basis().treatments() } else { 0 }
    }

    fn interaction_features(&self) -> usize {
        if self.interactions { self.basis().products() } else { 0 }
    }

    fn class_interaction_features(&self) -> usize {
        if self.class_interactions { self.basis().products() } else { 0 }
    }

    fn curve_features(&self) -> usize {
        self.d_x() + self.basis().treatments() + self.class_interaction_features()
    }

    fn scale_features(&self) -> usize {
        if self.varying_scale { self.d_x() + 2 * self.t_cosines.len() } else { 0 }
    }

    fn weight_features(&self) -> usize {
        match self.weights {
            _ if self.classes == 1 => 0,
            ClassWeights::Constant => 0,
            ClassWeights::Covariates => self.d_x(),
            ClassWeights::CovariatesAndTreatment => self.d_x() + 2 * self.t_cosines.len(),
        }
    }

    /// Where each part of the parameters is.
    pub(crate) fn parts(&self) -> Parts {
        let mut at = 0;
        let mut next = |length: usize| {
            at += length;
            at - length..at
        };
        let (h, heads) = (self.hidden, self.heads());
        Parts {
            hidden_1: next(self.inputs() * h),
            bias_1: next(h),
            hidden_2: next(h * h),
            bias_2: next(h),
            output: next(h * (self.outcomes + heads)),
            intercept: next(heads),
            curves: next(self.curve_features() * heads),
            additive: next(self.additive_features() * self.outcomes),
            scale: next(heads),
            scale_slopes: next(self.scale_features() * self.outcomes),
            weight: next(self.classes),
            weight_slopes: next(self.weight_features() * self.classes),
            shape: next(self.law.initial_shape().len()),
        }
    }

    /// Whether all treatments have few values.
    pub(crate) fn has_few_values(&self) -> bool {
        !self.t_values.is_empty() && self.t_values.iter().all(|values| !values.is_empty())
    }

    /// The number of parameters.
    pub(crate) fn len(&self) -> usize {
        self.parts().shape.end
    }

    /// Whether its sizes are those of a sensible network.
    pub(crate) fn is_bounded(&self) -> bool {
        let cosines = self.x_cosines.iter().chain(&self.t_cosines).all(|&count| count <= MAX_COSINES);
        let sizes = (1..=1000).contains(&self.classes)
            && self.hidden <= 4096
            && self.inputs() < 1 << 20
            && self.offsets < 1 << 10;
        let values = |values: &Vec<f32>| {
            values.len() <= MAX_COSINES
                && values.is_sorted_by(|a, b| a < b)
                && values.iter().all(|v| v.is_finite())
        };
        let values = self.t_values.iter().all(values)
            && (self.t_values.is_empty() || self.t_values.len() == self.t_cosines.len())
            && (0..self.t_values.len()).all(|j| self.t_values[j].is_empty() || self.t_cosines[j] == 0);
        let columns = self.product_columns.iter().all(|&column| column < self.x_cosines.len());
        let laws = &self.outcome_laws;
        let sound = laws.iter().enumerate().all(|(j, law)| law.is_sound(j, laws));
        let laws = laws.is_empty() || laws.len() == self.outcomes;
        cosines && sizes && values && columns && self.outcomes > 0 && laws && sound
    }

    /// Random parameters.
    pub(crate) fn init(&self, rng: &mut Rng) -> Vec<f32> {
        let parts = self.parts();
        let mut parameters = vec![0.0; self.len()];
        let mut draw = |range: Range<usize>, deviation: f32| {
            parameters[range].iter_mut().for_each(|p| *p = deviation * rng.sample::<f32, _>(StandardNormal));
        };
        let (h, shared) = (self.hidden.max(1) as f32, self.hidden * self.outcomes);
        draw(parts.hidden_1, (1.5 / self.inputs() as f32).sqrt());
        draw(parts.bias_1, 0.5);
        draw(parts.hidden_2, (1.5 / h).sqrt());
        draw(parts.output.start..parts.output.start + shared, h.sqrt().recip());
        draw(parts.output.start + shared..parts.output.end, 0.1 * h.sqrt().recip());
        parameters[parts.scale].fill(-0.3);
        parameters[parts.shape].copy_from_slice(self.law.initial_shape());
        parameters
    }

    /// Parameters that compute what an additive mixture does, up to a small random part of the hidden layers.
    pub(super) fn init_from(&self, start: &Coefficients, rng: &mut Rng) -> Vec<f32> {
        let (parts, d, heads) = (self.parts(), self.outcomes, self.heads());
        let mut parameters = self.init(rng);
        let hidden = &mut parameters[parts.output.clone()];
        hidden.iter_mut().for_each(|weight| *weight *= FIRST_OUTPUT);
        let treatments = self.basis().treatments();
        let width = self.additive_features();
        for (i, parameter) in parameters[parts.additive.clone()].iter_mut().enumerate() {
            *parameter = start.shared[i % width * d + i / width] as f32;
        }
        for head in 0..heads {
            let (k, j) = (head / d, head % d);
            let own = |feature: usize| start.classes[k].get(feature * d + j).copied().unwrap_or(0.0);
            parameters[parts.intercept.start + head] = own(0) as f32;
            parameters[parts.scale.start + head] = (0.5 * start.variance[j].ln()) as f32;
            for feature in 0..self.curve_features() {
                let value = match feature.checked_sub(self.d_x()) {
                    None => own(1 + treatments + feature),
                    Some(i) if i < treatments => own(1 + i),
                    Some(i) => own(1 + self.d_x() + i),
                };
                parameters[parts.curves.start + feature * heads + head] = value as f32;
            }
        }
        let width = self.weight_features();
        for k in 0..self.classes {
            let own = &start.weights[k * (1 + self.d_x())..][..1 + self.d_x()];
            parameters[parts.weight.start + k] = own[0] as f32;
            let slopes = &mut parameters[parts.weight_slopes.start + k * width..][..width];
            slopes.iter_mut().zip(&own[1..]).for_each(|(slope, own)| *slope = *own as f32);
        }
        self.clamp(&parts, &mut parameters);
        parameters
    }

    /// Replaces the prior precisions of what all classes share by those that an additive mixture has learned.
    pub(super) fn learned_precisions(&self, start: &Coefficients, precisions: &mut [f32]) {
        let learned = start.precisions.iter().cycle();
        precisions[self.parts().additive].iter_mut().zip(learned).for_each(|(own, &p)| *own = p as f32);
    }

    /// The prior precision of every parameter, given the smoothness of the curve of every class.
    pub(super) fn precisions(&self, smoothness: &[f64]) -> Vec<f32> {
        let parts = self.parts();
        let mut precisions = vec![0.0; self.len()];
        let h = self.hidden as f32;
        precisions[parts.hidden_1].fill(prior::PERCEPTRON * self.inputs() as f32);
        precisions[parts.bias_1].fill(0.3 * prior::PERCEPTRON);
        precisions[parts.hidden_2].fill(prior::PERCEPTRON * h);
        precisions[parts.bias_2].fill(0.3 * prior::PERCEPTRON);
        let shared = parts.output.start + self.hidden * self.outcomes;
        precisions[parts.output.start..shared].fill(prior::PERCEPTRON * h);
        let deviation = match (self.alike, self.class_interactions) {
            (true, _) => ALIKE_PRECISION as f32,
            (_, true) => prior::FREE_DEVIATION,
            (_, false) => prior::DEVIATION,
        };
        precisions[shared..parts.output.end].fill(deviation * h);
        let frequency = |j: usize| 0.1 + (j * j) as f32;
        let (curves, heads) = (&mut precisions[parts.curves], self.heads());
        let (linear, treatments) = curves.split_at_mut(self.d_x() * heads);
        linear.fill(match self.class_interactions {
            true => CLASS_INTERACTION_PRECISION as f32,
            false => 3.0 * prior::DEVIATION,
        });
        let terms = self.basis().treatment_terms();
        let (treatments, products) = treatments.split_at_mut(terms.len() * heads);
        for (row, term) in treatments.chunks_exact_mut(heads).zip(terms) {
            for (own, &smoothness) in row.chunks_exact_mut(self.outcomes).zip(smoothness) {
                own.fill(match term {
                    _ if self.alike => ALIKE_PRECISION as f32,
                    TreatmentTerm::Slope { .. } => prior::CURVE * frequency(0),
                    TreatmentTerm::Cosine(j) => prior::CURVE * smoothness as f32 * frequency(j),
                    TreatmentTerm::Value => VALUE_PRECISION as f32,
                });
            }
        }
        products.fill(if self.alike { ALIKE_PRECISION } else { CLASS_INTERACTION_PRECISION } as f32);
        let covariates =
            self.basis().covariate_frequencies().map(|j| prior::CURVE * frequency(j)).collect::<Vec<_>>();
        let interactions = std::iter::repeat_n(INTERACTION_PRECISION as f32, self.interaction_features());
        let treatments = std::iter::repeat_n(prior::CURVE, self.shared_treatments());
        let offsets = std::iter::repeat_n(prior::OFFSET, self.offsets);
        let of_outcome: Vec<f32> =
            covariates.into_iter().chain(interactions).chain(treatments).chain(offsets).collect();
        let additive = precisions[parts.additive].iter_mut().zip(of_outcome.iter().cycle());
        additive.for_each(|(own, precision)| *own = *precision);
        precisions[parts.scale_slopes].fill(prior::SCALE);
        precisions[parts.weight_slopes].fill(prior::WEIGHT * self.weight_features() as f32);
        precisions
    }

    /// The places of the intercepts and of the slopes and values of the treatments, of all classes.
    pub(super) fn responses(&self) -> Vec<usize> {
        let (parts, heads) = (self.parts(), self.heads());
        let mut places: Vec<usize> = parts.intercept.collect();
        let first = parts.curves.start + self.d_x() * heads;
        for (i, term) in self.basis().treatment_terms().into_iter().enumerate() {
            if !matches!(term, TreatmentTerm::Cosine(_)) {
                places.extend(first + i * heads..first + (i + 1) * heads);
            }
        }
        places
    }

    /// Keeps scales and the shape of the law within bounds.
    pub(super) fn clamp(&self, parts: &Parts, parameters: &mut [f32]) {
        parameters[parts.scale.clone()].iter_mut().for_each(|scale| *scale = scale.clamp(-5.0, 2.0));
        self.law.clamp(&mut parameters[parts.shape.clone()]);
    }
}

impl Form {
    /// The elements of an outcome.
    pub(crate) fn elements(&self) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut head = 0;
        while head < self.outcomes {
            let (element, heads) = match self.outcome_law(head) {
                HeadLaw::Number => (Element::Number(head), 1),
                HeadLaw::Chance { .. } => (Element::Chance(head), 1),
                HeadLaw::Level { .. } => (Element::Level(head), 1),
                HeadLaw::Count { .. } | HeadLaw::Ordered { .. } => (Element::Ranked(head), 1),
                HeadLaw::Positive { .. } => (Element::Amount(head), 2),
            };
            elements.push(element);
            head += heads;
        }
        elements
    }
}

/// The values of one unit's input that the parameters are multiplied with, and what the network makes of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    hidden_1: Vec<f32>,
    slope_1: Vec<f32>,
    hidden_2: Vec<f32>,
    slope_2: Vec<f32>,
    by_hidden_1: Vec<f32>,
    by_hidden_2: Vec<f32>,
    curve_features: Vec<f32>,
    additive_features: Vec<f32>,
    weight_features: Vec<f32>,
    scale_features: Vec<f32>,
    /// `[classes, outcomes]`
    pub means: Vec<f32>,
    /// `[classes, outcomes]`
    pub log_scales: Vec<f64>,
    /// Not normalised.
    pub logits: Vec<f64>,
}

impl Pass {
    /// What the law of outcome `head` of class `k` depends on, of `outcomes`.
    #[inline(always)]
    pub(super) fn head_input(&self, k: usize, head: usize, outcomes: usize) -> HeadInput<'_> {
        let means = &self.means[k * outcomes..][..outcomes];
        HeadInput { head, means, log_scale: self.log_scales[k * outcomes + head] }
    }
}

/// Derivatives of a loss by what the network gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slopes {
    pub means: Vec<f32>,
    pub log_scales: Vec<f32>,
    pub logits: Vec<f32>,
}

/// Replaces z by swish(z) = z / (1 + exp(-z)), and keeps the derivative.
#[inline(always)]
fn swish(z: &mut [f32], slopes: &mut Vec<f32>) {
    slopes.resize(z.len(), 0.0);
    for (z, slope) in z.iter_mut().zip(slopes) {
        let sigmoid = 1.0 / (1.0 + exp(-*z));
        *slope = sigmoid + *z * sigmoid * (1.0 - sigmoid);
        *z *= sigmoid;
    }
}

impl Form {
    /// The features that are linear in the parameters.
    #[inline(always)]
    fn features(&self, input: &[f32], offsets: &[f32], pass: &mut Pass) {
        let (x, t) = input.split_at(self.d_x());
        let Pass { curve_features, additive_features, weight_features, scale_features, .. } = pass;
        for features in
            [&mut *curve_features, &mut *additive_features, &mut *weight_features, &mut *scale_features]
        {
            features.clear();
        }
        let basis = self.basis();
        curve_features.extend_from_slice(x);
        basis.push_treatments(t, curve_features);
        if self.class_interactions {
            basis.push_products(x, t, curve_features);
        }
        basis.push_covariates(x, additive_features);
        if self.interactions {
            basis.push_products(x, t, additive_features);
        }
        if self.shared_response {
            basis.push_treatments(t, additive_features);
        }
        additive_features.extend_from_slice(&offsets[..self.offsets]);
        let quadratic = |out: &mut Vec<f32>| {
            out.extend_from_slice(input);
            out.extend(t.iter().map(|t| t * t - 1.0));
        };
        match self.weights {
            _ if self.classes == 1 => {}
            ClassWeights::Constant => {}
            ClassWeights::Covariates => weight_features.extend_from_slice(x),
            ClassWeights::CovariatesAndTreatment => quadratic(weight_features),
        }
        if self.varying_scale {
            quadratic(scale_features);
        }
    }

    /// Means, scales and logits of one unit; `offsets` are the predictions of regressors for it, if the form has any.
    #[inline(always)]
    pub(crate) fn forward(
        &self,
        parts: &Parts,
        parameters: &[f32],
        input: &[f32],
        offsets: &[f32],
        pass: &mut Pass,
    ) {
        self.features(input, offsets, pass);
        let (h, d) = (self.hidden, self.outcomes);
        pass.means.clear();
        pass.means.extend_from_slice(&parameters[parts.intercept.clone()]);
        let curves = parameters[parts.curves.clone()].chunks_exact(self.heads());
        for (&feature, row) in pass.curve_features.iter().zip(curves) {
            add_scaled_all(&mut pass.means, feature, row);
        }
        if h > 0 {
            self.forward_hidden(parts, parameters, input, pass);
        }
        let width = pass.additive_features.len();
        for j in 0..d {
            let mut shared =
                dot(&pass.additive_features, &parameters[parts.additive.clone()][j * width..][..width]);
            if h > 0 {
                shared += dot(&pass.hidden_2, &parameters[parts.output.clone()][j * h..][..h]);
            }
            (0..self.classes).for_each(|k| pass.means[k * d + j] += shared);
        }
        pass.log_scales.clear();
        pass.log_scales.extend(parameters[parts.scale.clone()].iter().map(|&scale| f64::from(scale)));
        if self.varying_scale {
            let width = pass.scale_features.len();
            for j in 0..d {
                let slopes = &parameters[parts.scale_slopes.clone()][j * width..][..width];
                let change =
                    f64::from(dot(&pass.scale_features, slopes)).clamp(-MAX_SCALE_CHANGE, MAX_SCALE_CHANGE);
                (0..self.classes).for_each(|k| pass.log_scales[k * d + j] += change);
            }
        }
        pass.logits.clear();
        pass.logits.extend(parameters[parts.weight.clone()].iter().map(|&weight| f64::from(weight)));
        let width = pass.weight_features.len();
        if width > 0 {
            for (k, logit) in pass.logits.iter_mut().enumerate() {
                let slopes = &parameters[parts.weight_slopes.clone()][k * width..][..width];
                *logit +=
                    f64::from(dot(&pass.weight_features, slopes)).clamp(-MAX_LOGIT_CHANGE, MAX_LOGIT_CHANGE);
            }
        }
    }

    /// The hidden layers, and what they add to each class's mean alone.
    #[inline(always)]
    fn forward_hidden(&self, parts: &Parts, parameters: &[f32], input: &[f32], pass: &mut Pass) {
        let (h, d) = (self.hidden, self.outcomes);
        pass.hidden_1.clear();
        pass.hidden_1.extend_from_slice(&parameters[parts.bias_1.clone()]);
        for (&value, row) in input.iter().zip(parameters[parts.hidden_1.clone()].chunks_exact(h)) {
            add_scaled_all(&mut pass.hidden_1, value, row);
        }
        swish(&mut pass.hidden_1, &mut pass.slope_1);
        pass.hidden_2.clear();
        pass.hidden_2.extend_from_slice(&parameters[parts.bias_2.clone()]);
        for (&value, row) in pass.hidden_1.iter().zip(parameters[parts.hidden_2.clone()].chunks_exact(h)) {
            add_scaled_all(&mut pass.hidden_2, value, row);
        }
        swish(&mut pass.hidden_2, &mut pass.slope_2);
        let own = parameters[parts.output.clone()][d * h..].chunks_exact(h);
        for (mean, row) in pass.means.iter_mut().zip(own) {
            *mean += dot(&pass.hidden_2, row);
        }
    }

    /// Adds the gradient of a loss by the parameters, given its `slopes`, for the unit of the last forward pass.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        parts: &Parts,
        parameters: &[f32],
        input: &[f32],
        pass: &mut Pass,
        slopes: &Slopes,
        gradient: &mut [f32],
    ) {
        let (d, heads) = (self.outcomes, self.heads());
        add_scaled_all(&mut gradient[parts.intercept.clone()], 1.0, &slopes.means);
        for (&feature, row) in
            pass.curve_features.iter().zip(gradient[parts.curves.clone()].chunks_exact_mut(heads))
        {
            add_scaled_all(row, feature, &slopes.means);
        }
        add_scaled_all(&mut gradient[parts.scale.clone()], 1.0, &slopes.log_scales);
        add_scaled_all(&mut gradient[parts.weight.clone()], 1.0, &slopes.logits);
        let over_classes =
            |values: &[f32], j: usize| (0..self.classes).map(|k| values[k * d + j]).sum::<f32>();
        for j in 0..d {
            let width = pass.additive_features.len();
            let row = &mut gradient[parts.additive.clone()][j * width..][..width];
            add_scaled_all(row, over_classes(&slopes.means, j), &pass.additive_features);
            let width = pass.scale_features.len();
            let row = &mut gradient[parts.scale_slopes.clone()][j * width..][..width];
            add_scaled_all(row, over_classes(&slopes.log_scales, j), &pass.scale_features);
        }
        let width = pass.weight_features.len();
        if width > 0 {
            let rows = gradient[parts.weight_slopes.clone()].chunks_exact_mut(width);
            rows.zip(&slopes.logits)
                .for_each(|(row, &slope)| add_scaled_all(row, slope, &pass.weight_features));
        }
        if self.hidden > 0 {
            let shared: Vec<f32> = (0..d).map(|j| over_classes(&slopes.means, j)).collect();
            self.backward_hidden(parts, parameters, input, pass, [&shared, &slopes.means], gradient);
        }
    }

    #[inline(always)]
    fn backward_hidden(
        &self,
        parts: &Parts,
        parameters: &[f32],
        input: &[f32],
        pass: &mut Pass,
        by_output: [&[f32]; 2],
        gradient: &mut [f32],
    ) {
        let h = self.hidden;
        pass.by_hidden_2.clear();
        pass.by_hidden_2.resize(h, 0.0);
        let rows = parts.output.clone().step_by(h);
        for (row, &slope) in rows.zip(by_output.into_iter().flatten()) {
            add_scaled_all(&mut gradient[row..row + h], slope, &pass.hidden_2);
            add_scaled_all(&mut pass.by_hidden_2, slope, &parameters[row..row + h]);
        }
        pass.by_hidden_2.iter_mut().zip(&pass.slope_2).for_each(|(by, slope)| *by *= slope);
        add_scaled_all(&mut gradient[parts.bias_2.clone()], 1.0, &pass.by_hidden_2);
        pass.by_hidden_1.clear();
        for (i, row) in parts.hidden_2.clone().step_by(h).enumerate() {
            add_scaled_all(&mut gradient[row..row + h], pass.hidden_1[i], &pass.by_hidden_2);
            pass.by_hidden_1.push(dot(&parameters[row..row + h], &pass.by_hidden_2) * pass.slope_1[i]);
        }
        add_scaled_all(&mut gradient[parts.bias_1.clone()], 1.0, &pass.by_hidden_1);
        for (&value, row) in input.iter().zip(parts.hidden_1.clone().step_by(h)) {
            add_scaled_all(&mut gradient[row..row + h], value, &pass.by_hidden_1);
        }
    }

    /// The noise law of these parameters.
    pub(crate) fn noise(&self, parts: &Parts, parameters: &[f32]) -> Noise {
        self.law.noise(&parameters[parts.shape.clone()])
    }
}

impl Form {
    /// Gives class k the place `order[k]`.
    pub(super) fn reorder(&self, parameters: &mut [f32], order: &[usize]) {
        let parts = self.parts();
        let (h, d, heads) = (self.hidden, self.outcomes, self.heads());
        let old = parameters.to_vec();
        let own = parts.output.start + h * d;
        let mut copy = |from: usize, to: usize, width: usize| {
            parameters[to..to + width].copy_from_slice(&old[from..from + width]);
        };
        for (k, &to) in order.iter().enumerate() {
            copy(own + k * d * h, own + to * d * h, d * h);
            copy(parts.intercept.start + k * d, parts.intercept.start + to * d, d);
            copy(parts.scale.start + k * d, parts.scale.start + to * d, d);
            copy(parts.weight.start + k, parts.weight.start + to, 1);
            let width = self.weight_features();
            copy(parts.weight_slopes.start + k * width, parts.weight_slopes.start + to * width, width);
            for row in parts.curves.clone().step_by(heads) {
                copy(row + k * d, row + to * d, d);
            }
        }
    }
}

/// The size of a network. It grows with the number of subjects: otherwise the error that networks of one size have in common
/// would in the end be larger than the differences between members, of which intervals are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// The cosines of a treatment, if it has any.
    pub t_cosines: usize,
    /// The width of the hidden layers, if there are any.
    pub hidden: usize,
}

impl Capacity {
    /// The capacity for members of an ensemble with this many subjects in all.
    pub(crate) fn new(subjects: usize) -> Self {
        let growth = |from: f64| (subjects as f64 / from).max(1.0).powf(0.25);
        let t_cosines = (T_COSINES as f64 * growth(2000.0)).round() as usize;
        let hidden = 8 * (HIDDEN as f64 / 8.0 * growth(50_000.0)).round() as usize;
        Self { t_cosines: t_cosines.min(MAX_COSINES), hidden: hidden.min(MAX_HIDDEN) }
    }
}

impl Form {
    /// This form with at least the given capacity.
    pub(super) fn with_capacity(&self, capacity: Capacity) -> Self {
        let at_least = |have: usize, wanted: usize| if have == 0 { 0 } else { have.max(wanted) };
        Self {
            t_cosines: self.t_cosines.iter().map(|&c| at_least(c, capacity.t_cosines)).collect(),
            hidden: at_least(self.hidden, capacity.hidden),
            ..self.clone()
        }
    }

    /// Parameters of the larger form `to` with which it computes what this form computes with `parameters`. New hidden units
    /// have random inputs, and nothing depends on them yet.
    pub(super) fn extend(&self, parameters: &[f32], to: &Self, rng: &mut Rng) -> Vec<f32> {
        let known: HashMap<Place, f32> = self.places().into_iter().zip(parameters.iter().copied()).collect();
        let is_new = |unit: usize| unit >= self.hidden;
        let extended = to.places().into_iter().zip(to.init(rng)).map(|(place, drawn)| {
            let unused = match place {
                Place { part: Part::Hidden2, row, column } => is_new(row) && !is_new(column),
                Place { part: Part::Output, column, .. } => is_new(column),
                _ => false,
            };
            if unused { 0.0 } else { known.get(&place).copied().unwrap_or(drawn) }
        });
        extended.collect()
    }

    /// What every parameter belongs to, in their order.
    fn places(&self) -> Vec<Place> {
        let (h, heads, d) = (self.hidden, self.heads(), self.outcomes);
        let numbers = |count: usize| (0..count).collect::<Vec<_>>();
        let cosines = |first: usize, counts: &[usize]| -> Vec<usize> {
            let of_column =
                |(i, &count): (usize, &usize)| (0..=count).map(move |j| first + i * MAX_FEATURES + j);
            counts.iter().enumerate().flat_map(of_column).collect()
        };
        let last = |column: usize, count: usize| (0..count).map(move |i| column * MAX_FEATURES + i);
        let columns = self.d_x() + self.t_cosines.len();
        let widths: Vec<usize> =
            (0..self.t_cosines.len()).map(|j| self.t_cosines[j].max(self.basis().values(j).len())).collect();
        let mut curves = [numbers(self.d_x()), cosines(self.d_x(), &widths)].concat();
        curves.extend(last(columns, self.class_interaction_features()));
        let shared =
            if self.shared_response { cosines(columns + 2 * MAX_PRODUCTS, &widths) } else { Vec::new() };
        let additive = cosines(0, &self.x_cosines)
            .into_iter()
            .chain(last(columns, self.interaction_features()))
            .chain(shared)
            .chain(last(columns + MAX_PRODUCTS, self.offsets))
            .collect();
        let parts = [
            (Part::Hidden1, numbers(self.inputs()), numbers(h)),
            (Part::Bias1, numbers(1), numbers(h)),
            (Part::Hidden2, numbers(h), numbers(h)),
            (Part::Bias2, numbers(1), numbers(h)),
            (Part::Output, numbers(d + heads), numbers(h)),
            (Part::Intercept, numbers(1), numbers(heads)),
            (Part::Curves, curves, numbers(heads)),
            (Part::Additive, numbers(d), additive),
            (Part::Others, numbers(1), numbers(self.len() - self.parts().scale.start)),
        ];
        let of_part = |(part, rows, columns): (Part, Vec<usize>, Vec<usize>)| -> Vec<Place> {
            let row = |row| columns.iter().map(move |&column| Place { part, row, column });
            rows.into_iter().flat_map(row).collect()
        };
        parts.into_iter().flat_map(of_part).collect()
    }
}

/// More than the features of one column, and, in such columns, than the products.
const MAX_FEATURES: usize = 1 + MAX_COSINES;
const MAX_PRODUCTS: usize = 1 << 20;

/// What a parameter belongs to: rows and columns have the same numbers in forms of any capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    part: Part,
    row: usize,
    column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Hidden1,
    Bias1,
    Hidden2,
    Bias2,
    Output,
    Intercept,
    Curves,
    Additive,
    /// Scales, weights and shape, whose number does not depend on the capacity.
    Others,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::Member;
    use crate::density::testing::lines;
    use crate::stream;

    fn form() -> Form {
        Form {
            classes: 3,
            outcomes: 1,
            outcome_laws: Vec::new(),
            x_cosines: vec![3],
            t_cosines: vec![2],
            t_values: Vec::new(),
            interactions: true,
            class_interactions: true,
            shared_response: true,
            alike: false,
            product_columns: vec![0],
            offsets: 0,
            hidden: 4,
            weights: ClassWeights::CovariatesAndTreatment,
            law: NoiseLaw::Skewed,
            varying_scale: true,
        }
    }

    #[test]
    fn another_order_of_the_classes_changes_no_likelihood() {
        let rows = lines(&[1.0, -1.0], 20, 2, 0.3).rows;
        let all: Vec<usize> = (0..20).collect();
        let mut rng = stream(5, &["parameters"]);
        let form = form();
        let parameters = (0..form.len()).map(|_| rng.random_range(-0.5..0.5)).collect();
        let member = Member { form, parameters, regressors: None };
        let mut moved = member.clone();
        moved.reorder(&[2, 0, 1]);
        let (before, after) = (member.log_likelihoods(&rows, &all), moved.log_likelihoods(&rows, &all));
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-9));
        let (before, after) = (member.posteriors(&rows, &all), moved.posteriors(&rows, &all));
        for (before, after) in before.chunks_exact(3).zip(after.chunks_exact(3)) {
            let back = [after[2], after[0], after[1]];
            assert!(before.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-9), "class 0 became class 2");
        }
    }

    #[test]
    fn a_larger_network_computes_the_same_at_first() {
        let rows = lines(&[1.0, -1.0], 20, 2, 0.3).rows;
        let all: Vec<usize> = (0..20).collect();
        let mut rng = stream(5, &["parameters"]);
        let capacity = Capacity { t_cosines: 9, hidden: 7 };
        for form in [form(), Form { hidden: 0, outcomes: 1, interactions: false, ..form() }] {
            let larger = form.with_capacity(capacity);
            assert_eq!(larger.t_cosines, [9]);
            assert_eq!(larger.hidden, if form.hidden == 0 { 0 } else { 7 });
            let parameters: Vec<f32> = (0..form.len()).map(|_| rng.random_range(-0.5..0.5)).collect();
            let extended = form.extend(&parameters, &larger, &mut rng);
            let before = Member { form, parameters, regressors: None }.log_likelihoods(&rows, &all);
            let after =
                Member { form: larger, parameters: extended, regressors: None }.log_likelihoods(&rows, &all);
            assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-5), "{before:?} {after:?}");
        }
        assert_eq!(form().with_capacity(Capacity { t_cosines: 1, hidden: 1 }), form());
    }

    #[test]
    fn every_parameter_has_a_place_and_a_precision() {
        let form = form();
        assert_eq!(form.precisions(&[1.0; 3]).len(), form.len());
        let parameters = form.init(&mut stream(1, &["init"]));
        assert_eq!(parameters.len(), form.len());
        assert!(parameters.iter().all(|p| p.is_finite()) && form.is_bounded());
        assert!(!Form { outcomes: 0, ..form }.is_bounded());
    }
}
