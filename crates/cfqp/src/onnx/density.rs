//! The graph of one mixture density network: means, scales and class weights.

use std::f32::consts::{FRAC_PI_2, PI};
use std::ops::Range;

use super::graph::{Graph, Value};
use super::input::Input;
use super::layers::add;
use super::messages::Attribute;
use super::output::{ElementScale, Output};
use crate::data::Scaler;
use crate::density::{
    ClassWeights, Form, MAX_LOGIT_CHANGE, MAX_SCALE_CHANGE, Member, OutcomeScale, T_HALF_RANGE, X_HALF_RANGE,
    interaction_count,
};
use crate::models::Shapes;

/// The graph of a member whose outcomes are numbers.
pub(super) fn member_graph(
    member: &Member,
    shapes: &Shapes,
    scaler: &Scaler,
    scales: &[ElementScale],
) -> Graph {
    let mut graph = Graph::default();
    let input = Input::declare(&mut graph, shapes, scaler);
    let x = graph.concatenate(&input.covariates(), 1);
    let inputs = graph.concatenate(&[x.clone(), input.t.clone()], 1);
    let network = Network { form: &member.form, parameters: &member.parameters };
    let batch = Batch { x, t: input.t, inputs };
    let classes = member.form.classes;
    let output = Output {
        mean: network.means(&mut graph, &batch),
        log_scale: network.log_scales(&mut graph, &batch),
        logits: network.logits(&mut graph, &batch),
    };
    output.declare(&mut graph, classes, scales, &shapes.y);
    graph
}

/// The scale of every element: that of the data, or that of its logarithm.
pub(super) fn element_scales(scales: &[OutcomeScale], data: &[ElementScale]) -> Vec<ElementScale> {
    let of_element = |(scale, data): (&OutcomeScale, &ElementScale)| match *scale {
        OutcomeScale::Identity => *data,
        OutcomeScale::Log { log_mean, log_deviation, .. } => {
            ElementScale { offset: log_mean as f32, factor: log_deviation as f32 }
        }
    };
    scales.iter().zip(data).map(of_element).collect()
}

/// Standardised inputs, `[n, columns]`.
struct Batch {
    /// Covariates and their missing indicators.
    x: Value,
    t: Value,
    /// Both.
    inputs: Value,
}

/// A network with its parameters.
struct Network<'a> {
    form: &'a Form,
    parameters: &'a [f32],
}

/// Features and their weights `[features, classes x outcomes]`.
struct Term {
    features: Value,
    weights: Vec<f32>,
}

impl Network<'_> {
    fn part(&self, range: Range<usize>) -> &[f32] {
        &self.parameters[range]
    }

    /// Means of standardised outcomes, `[n, classes, outcomes]`.
    fn means(&self, graph: &mut Graph, batch: &Batch) -> Value {
        let mut terms = vec![self.linear_term(batch)];
        terms.extend(self.cosine_term(graph, batch));
        terms.extend(self.interaction_term(graph, batch));
        terms.extend(self.hidden_term(graph, batch));
        let features: Vec<Value> = terms.iter().map(|term| term.features.clone()).collect();
        let features = graph.concatenate(&features, 1);
        let weights: Vec<f32> = terms.into_iter().flat_map(|term| term.weights).collect();
        let means = graph.affine(&features, &weights, self.part(self.form.parts().intercept));
        graph.reshape(&means, &[self.form.classes, self.form.outcomes])
    }

    /// A weight of every outcome, the same for all classes, as a row of weights.
    fn in_all_classes(&self, of_outcome: impl Fn(usize) -> f32) -> Vec<f32> {
        let (classes, outcomes) = (self.form.classes, self.form.outcomes);
        (0..classes * outcomes).map(|head| of_outcome(head % outcomes)).collect()
    }

    /// Row `i` of the weights of the features of curves.
    fn curve(&self, i: usize) -> &[f32] {
        let heads = self.form.classes * self.form.outcomes;
        &self.part(self.form.parts().curves)[i * heads..][..heads]
    }

    /// The weights of additive feature `i`, in all classes alike.
    fn additive(&self, i: usize) -> Vec<f32> {
        let additive = self.part(self.form.parts().additive);
        let width = additive.len() / self.form.outcomes;
        self.in_all_classes(|j| additive[j * width + i])
    }

    /// Covariates, with the weights of each class and those of all, and treatments.
    fn linear_term(&self, batch: &Batch) -> Term {
        let mut weights = Vec::new();
        let mut place = 0;
        for (i, cosines) in self.form.x_cosines.iter().enumerate() {
            let mut row = self.curve(i).to_vec();
            add(&mut row, &self.additive(place));
            weights.extend(row);
            place += 1 + cosines;
        }
        let mut place = self.form.x_cosines.len();
        for cosines in &self.form.t_cosines {
            weights.extend_from_slice(self.curve(place));
            place += 1 + cosines;
        }
        Term { features: batch.inputs.clone(), weights }
    }

    /// cos(j pi (v / 2 r + 1/2)) of all columns, j = 1, 2, ...
    fn cosine_term(&self, graph: &mut Graph, batch: &Batch) -> Option<Term> {
        let Form { x_cosines, t_cosines, .. } = self.form;
        let (mut columns, mut factors, mut shifts, mut weights) = (vec![], vec![], vec![], vec![]);
        let mut push = |column: usize, half_range: f64, j: usize, row: &[f32]| {
            columns.push(column as i64);
            factors.push(j as f32 * PI / (2.0 * half_range as f32));
            shifts.push(j as f32 * FRAC_PI_2);
            weights.extend_from_slice(row);
        };
        let mut place = 0;
        for (i, &count) in x_cosines.iter().enumerate() {
            (1..=count).for_each(|j| push(i, X_HALF_RANGE, j, &self.additive(place + j)));
            place += 1 + count;
        }
        let mut place = x_cosines.len();
        for (i, &count) in t_cosines.iter().enumerate() {
            let column = x_cosines.len() + i;
            (1..=count).for_each(|j| push(column, T_HALF_RANGE, j, self.curve(place + j)));
            place += 1 + count;
        }
        if columns.is_empty() {
            return None;
        }
        let width = [columns.len()];
        let chosen = select(graph, &batch.inputs, &columns);
        let (factors, shifts) = (graph.constant(&factors, &width), graph.constant(&shifts, &width));
        let angle = graph.multiply(&chosen, &factors);
        let angle = graph.add(&angle, &shifts);
        Some(Term { features: graph.apply("Cos", &[&angle]), weights })
    }

    /// Covariates times the treatment within its usual range, and times a cosine of it.
    fn interaction_term(&self, graph: &mut Graph, batch: &Batch) -> Option<Term> {
        let Form { x_cosines, t_cosines, interactions, .. } = self.form;
        if !interactions {
            return None;
        }
        let range = T_HALF_RANGE as f32;
        let t = graph.clip(&batch.t, -range, range);
        let factor = graph.number(PI / range);
        let angle = graph.multiply(&t, &factor);
        let cosine = graph.apply("Cos", &[&angle]);
        let both = graph.concatenate(&[t, cosine], 1);
        let d_t = t_cosines.len();
        let of_treatment =
            |(j, &cosines): (usize, &usize)| [j, d_t + j].into_iter().take(interaction_count(cosines));
        let columns: Vec<i64> =
            t_cosines.iter().enumerate().flat_map(of_treatment).map(|c| c as i64).collect();
        let factors = select(graph, &both, &columns);
        let factors = graph.reshape(&factors, &[columns.len(), 1]);
        let x = graph.reshape(&batch.x, &[1, x_cosines.len()]);
        let products = graph.multiply(&factors, &x);
        let count = columns.len() * x_cosines.len();
        let first: usize = x_cosines.iter().map(|cosines| 1 + cosines).sum();
        Some(Term {
            features: graph.reshape(&products, &[count]),
            weights: (first..first + count).flat_map(|i| self.additive(i)).collect(),
        })
    }

    /// The hidden layers.
    fn hidden_term(&self, graph: &mut Graph, batch: &Batch) -> Option<Term> {
        let (form, parts, h) = (self.form, self.form.parts(), self.form.hidden);
        if h == 0 {
            return None;
        }
        let first = graph.affine(&batch.inputs, self.part(parts.hidden_1), self.part(parts.bias_1));
        let first = graph.swish(&first);
        let second = graph.affine(&first, self.part(parts.hidden_2), self.part(parts.bias_2));
        let features = graph.swish(&second);
        // rows of `hidden` weights: those of all classes for every outcome, then those of each class
        let output = self.part(parts.output);
        let (shared, own) = output.split_at(form.outcomes * h);
        let weights = (0..h).flat_map(|i| {
            let mut row = self.in_all_classes(|j| shared[j * h + i]);
            let own: Vec<f32> = own.iter().skip(i).step_by(h).copied().collect();
            add(&mut row, &own);
            row
        });
        Some(Term { features, weights: weights.collect() })
    }

    /// Inputs and t^2 - 1.
    fn quadratic(graph: &mut Graph, batch: &Batch) -> Value {
        let squares = graph.multiply(&batch.t, &batch.t);
        let minus_one = graph.number(-1.0);
        let squares = graph.add(&squares, &minus_one);
        graph.concatenate(&[batch.inputs.clone(), squares], 1)
    }

    /// Logarithms of scales, `[n, classes, outcomes]`.
    fn log_scales(&self, graph: &mut Graph, batch: &Batch) -> Value {
        let (form, parts) = (self.form, self.form.parts());
        let constant = graph.repeat(self.part(parts.scale), &batch.t);
        let constant = graph.reshape(&constant, &[form.classes, form.outcomes]);
        if !form.varying_scale {
            return constant;
        }
        let features = Self::quadratic(graph, batch);
        let change = product_by_rows(graph, &features, self.part(parts.scale_slopes), form.outcomes);
        let change = graph.clip(&change, -MAX_SCALE_CHANGE as f32, MAX_SCALE_CHANGE as f32);
        let change = graph.reshape(&change, &[1, form.outcomes]);
        graph.add(&constant, &change)
    }

    /// Logarithms of class weights up to a constant, `[n, classes]`.
    fn logits(&self, graph: &mut Graph, batch: &Batch) -> Value {
        let (form, parts) = (self.form, self.form.parts());
        let constant = graph.repeat(self.part(parts.weight), &batch.t);
        let features = match form.weights {
            _ if form.classes == 1 => return constant,
            ClassWeights::Constant => return constant,
            ClassWeights::Covariates => batch.x.clone(),
            ClassWeights::CovariatesAndTreatment => Self::quadratic(graph, batch),
        };
        let change = product_by_rows(graph, &features, self.part(parts.weight_slopes), form.classes);
        let change = graph.clip(&change, -MAX_LOGIT_CHANGE as f32, MAX_LOGIT_CHANGE as f32);
        graph.add(&constant, &change)
    }
}

/// Columns of a matrix.
fn select(graph: &mut Graph, from: &Value, columns: &[i64]) -> Value {
    let columns = graph.integers(columns);
    graph.apply_with("Gather", &[from, &columns], vec![Attribute::int("axis", 1)])
}

/// The products of features `[n, features]` with rows of weights `[rows, features]`.
fn product_by_rows(graph: &mut Graph, features: &Value, weights: &[f32], rows: usize) -> Value {
    let weights = graph.constant(weights, &[rows, weights.len() / rows]);
    let transposed = vec![Attribute::int("transB", 1)];
    graph.apply_with("Gemm", &[features, &weights], transposed)
}
