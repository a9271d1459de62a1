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
    ClassWeights, Form, MAX_LOGIT_CHANGE, MAX_SCALE_CHANGE, Member, OutcomeScale, Regressor, T_HALF_RANGE,
    X_HALF_RANGE,
};
use crate::models::Shapes;
use crate::process::Process;
use crate::trees::{Boosted, TreeNode};

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
    let network = Network {
        form: &member.form,
        parameters: &member.parameters,
        regressors: member.regressors.as_deref(),
    };
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
    regressors: Option<&'a [Regressor]>,
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
        terms.extend(self.value_terms(graph, batch));
        terms.extend(self.product_term(graph, batch));
        terms.extend(self.regressor_term(graph, batch));
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

    /// The weights of the `i`-th function of the treatments: of each class, and of all if they share some.
    fn treatment(&self, i: usize) -> Vec<f32> {
        let mut row = self.curve(self.form.x_cosines.len() + i).to_vec();
        if self.form.shared_response {
            add(&mut row, &self.additive(self.first_shared_treatment() + i));
        }
        row
    }

    /// The place of the functions of treatments among the features that all classes share.
    fn first_shared_treatment(&self) -> usize {
        let basis = self.form.basis();
        basis.covariates() + if self.form.interactions { basis.products() } else { 0 }
    }

    /// The place of the first function of every treatment.
    fn treatment_places(&self) -> Vec<usize> {
        let basis = self.form.basis();
        let width = |j: usize| 1 + self.form.t_cosines[j].max(basis.values(j).len());
        (0..self.form.t_cosines.len()).map(|j| (0..j).map(width).sum()).collect()
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
        weights.extend(self.treatment_places().into_iter().flat_map(|place| self.treatment(place)));
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
        for (i, (&count, place)) in t_cosines.iter().zip(self.treatment_places()).enumerate() {
            let column = x_cosines.len() + i;
            (1..=count).for_each(|j| push(column, T_HALF_RANGE, j, &self.treatment(place + j)));
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

    /// The hat functions of treatments of few values.
    fn value_terms(&self, graph: &mut Graph, batch: &Batch) -> Vec<Term> {
        let mut terms = Vec::new();
        for (j, place) in self.treatment_places().into_iter().enumerate() {
            let values = self.form.basis().values(j).to_vec();
            if !values.is_empty() {
                let weights = (1..=values.len()).flat_map(|i| self.treatment(place + i)).collect();
                terms.push(Term { features: hats(graph, batch, j, &values), weights });
            }
        }
        terms
    }

    /// Covariates times functions of the treatments: the treatment within its usual range and a cosine of it, or hat functions.
    fn product_term(&self, graph: &mut Graph, batch: &Batch) -> Option<Term> {
        let Form { interactions, class_interactions, product_columns, .. } = self.form;
        let basis = self.form.basis();
        let count = basis.products();
        if !(*interactions || *class_interactions) || count == 0 {
            return None;
        }
        let mut factors = Vec::new();
        for j in 0..self.form.t_cosines.len() {
            let values = basis.values(j).to_vec();
            if !values.is_empty() {
                factors.push(hats(graph, batch, j, &values));
                continue;
            }
            let range = T_HALF_RANGE as f32;
            let t = select(graph, &batch.t, &[j as i64]);
            let t = graph.clip(&t, -range, range);
            factors.push(t.clone());
            if basis.factors(j) > 1 {
                let factor = graph.number(PI / range);
                let angle = graph.multiply(&t, &factor);
                factors.push(graph.apply("Cos", &[&angle]));
            }
        }
        let factors = graph.concatenate(&factors, 1);
        let factors = graph.reshape(&factors, &[count / product_columns.len(), 1]);
        let columns: Vec<i64> = product_columns.iter().map(|&column| column as i64).collect();
        let x = select(graph, &batch.x, &columns);
        let x = graph.reshape(&x, &[1, columns.len()]);
        let products = graph.multiply(&factors, &x);
        let first_of_class = self.form.x_cosines.len() + basis.treatments();
        let weights = (0..count).flat_map(|i| {
            let mut row = if *interactions { self.additive(basis.covariates() + i) } else { Vec::new() };
            match (row.is_empty(), *class_interactions) {
                (true, _) => row = self.curve(first_of_class + i).to_vec(),
                (false, true) => add(&mut row, self.curve(first_of_class + i)),
                (false, false) => {}
            }
            row
        });
        Some(Term { features: graph.reshape(&products, &[count]), weights: weights.collect() })
    }

    /// Predictions of other regressors.
    fn regressor_term(&self, graph: &mut Graph, batch: &Batch) -> Option<Term> {
        let regressors = self.regressors?;
        let predict = |regressor: &Regressor| match regressor {
            Regressor::Trees(trees) => {
                graph.apply_trees("TreeEnsembleRegressor", &[&batch.inputs], tree_attributes(trees))
            }
            Regressor::Process(process) => process_prediction(graph, &batch.inputs, process),
        };
        let predictions: Vec<Value> = regressors.iter().map(predict).collect();
        let first = self.first_shared_treatment() + self.form.shared_treatments();
        let weights = (first..first + regressors.len()).flat_map(|i| self.additive(i)).collect();
        Some(Term { features: graph.concatenate(&predictions, 1), weights })
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

/// The hat functions of the values of treatment `j`: differences of ramps from each value to the next.
fn hats(graph: &mut Graph, batch: &Batch, j: usize, values: &[f32]) -> Value {
    let ramps = values.len() - 1;
    let t = select(graph, &batch.t, &vec![j as i64; ramps]);
    let slopes: Vec<f32> = values.windows(2).map(|pair| 1.0 / (pair[1] - pair[0])).collect();
    let shifts: Vec<f32> = values.iter().zip(&slopes).map(|(value, slope)| -value * slope).collect();
    let (slopes, shifts) = (graph.constant(&slopes, &[ramps]), graph.constant(&shifts, &[ramps]));
    let ramp = graph.multiply(&t, &slopes);
    let ramp = graph.add(&ramp, &shifts);
    let ramp = graph.clip(&ramp, 0.0, 1.0);
    let mut weights = vec![0.0; ramps * values.len()];
    for i in 0..ramps {
        weights[i * values.len() + i] = -1.0;
        weights[i * values.len() + i + 1] = 1.0;
    }
    let mut bias = vec![0.0; values.len()];
    bias[0] = 1.0;
    graph.affine(&ramp, &weights, &bias)
}

/// The attributes of an operation that predicts with trees.
fn tree_attributes(trees: &Boosted) -> Vec<Attribute> {
    let nodes = trees.nodes();
    let ints = |of: fn(&TreeNode) -> i64| nodes.iter().map(of).collect::<Vec<i64>>();
    let leaves: Vec<&TreeNode> = nodes.iter().filter(|node| node.is_leaf()).collect();
    let of_leaves = |of: fn(&TreeNode) -> i64| leaves.iter().map(|node| of(node)).collect::<Vec<i64>>();
    let mode = |node: &TreeNode| if node.is_leaf() { "LEAF" } else { "BRANCH_LEQ" }.to_owned();
    let value = |node: &TreeNode| if node.is_leaf() { 0.0 } else { node.value };
    vec![
        Attribute::ints("nodes_treeids", &ints(|node| node.tree)),
        Attribute::ints("nodes_nodeids", &ints(|node| node.node)),
        Attribute::ints("nodes_featureids", &ints(|node| node.column)),
        Attribute::ints("nodes_truenodeids", &ints(|node| node.left)),
        Attribute::ints("nodes_falsenodeids", &ints(|node| if node.is_leaf() { 0 } else { node.left + 1 })),
        Attribute::ints("nodes_missing_value_tracks_true", &ints(|node| i64::from(node.missing_left))),
        Attribute::strings("nodes_modes", nodes.iter().map(mode).collect()),
        Attribute::floats("nodes_values", nodes.iter().map(value).collect()),
        Attribute::ints("target_treeids", &of_leaves(|node| node.tree)),
        Attribute::ints("target_nodeids", &of_leaves(|node| node.node)),
        Attribute::ints("target_ids", &of_leaves(|_| 0)),
        Attribute::floats("target_weights", leaves.iter().map(|node| node.value).collect()),
        Attribute::floats("base_values", vec![trees.base() as f32]),
        Attribute::int("n_targets", 1),
    ]
}

/// The prediction of a Gaussian process, `[n, 1]`.
fn process_prediction(graph: &mut Graph, inputs: &Value, process: &Process) -> Value {
    let parts = process.parts();
    let (columns, points) = (parts.used.len(), parts.weights.len());
    let used: Vec<i64> = parts.used.iter().map(|&column| column as i64).collect();
    let x = select(graph, inputs, &used);
    let x = graph.clip(&x, -parts.max_input, parts.max_input);
    let linear = graph.affine(&x, parts.slopes, &[parts.intercept]);
    let lengths = graph.constant(parts.lengths, &[columns]);
    let scaled = graph.multiply(&x, &lengths);
    let scaled = graph.reshape(&scaled, &[columns, 1]);
    let centres: Vec<f32> = parts.points.iter().map(|point| -point).collect();
    let centres = graph.constant(&centres, &[columns, points]);
    let gaps = graph.add(&scaled, &centres);
    let squares = graph.multiply(&gaps, &gaps);
    let axes = graph.integers(&[1]);
    let distances = graph.apply_with("ReduceSum", &[&squares, &axes], vec![Attribute::int("keepdims", 0)]);
    let half = graph.number(-0.5);
    let exponents = graph.multiply(&distances, &half);
    let kernels = graph.apply("Exp", &[&exponents]);
    let smooth = graph.affine(&kernels, parts.weights, &[0.0]);
    graph.add(&linear, &smooth)
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
