//! Layers that several networks have: affine maps and the embedding of the treatment.

use burn::module::Param;
use burn::tensor::Tensor;

use super::graph::{Graph, Value};
use crate::nn::{Embedding, Linear, TreatmentEmbedding};

/// The values of a parameter.
pub(super) fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Vec<f32> {
    parameter.val().into_data().try_into_vec::<f32>().expect("parameters are f32")
}

/// An affine map y = x W + b with W `[inputs, outputs]`.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

impl Affine {
    pub(super) fn new(linear: &Linear) -> Self {
        Self { weight: values(&linear.weight), bias: values(&linear.bias) }
    }

    /// The number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len()
    }

    /// The weights of input `i`.
    pub(super) fn row(&self, i: usize) -> &[f32] {
        &self.weight[i * self.bias.len()..][..self.bias.len()]
    }

    /// The weights of input `i`, mutable.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let outputs = self.bias.len();
        &mut self.weight[i * outputs..][..outputs]
    }

    /// The map of the first inputs alone, with input `one` fixed at 1 and the others after them at 0.
    pub(super) fn with_fixed(mut self, first: usize, one: usize) -> Self {
        let row = self.row(one).to_vec();
        add(&mut self.bias, &row);
        self.weight.truncate(first * self.bias.len());
        self
    }

    /// The map of a batch.
    pub(super) fn apply(&self, graph: &mut Graph, x: &Value) -> Value {
        graph.affine(x, &self.weight, &self.bias)
    }
}

/// Adds `values` to `sum`.
pub(super) fn add(sum: &mut [f32], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Sines, cosines and, in the smooth variant, t itself.
pub(super) fn treatment_features(graph: &mut Graph, embedding: &Embedding, t: &Value) -> Value {
    let [d_t, frequencies] = embedding.frequencies.dims();
    if frequencies == 0 {
        return t.clone();
    }
    let weight = graph.constant(&values(&embedding.frequencies), &[d_t, frequencies]);
    let turns = graph.apply("MatMul", &[t, &weight]);
    let tau = graph.number(std::f32::consts::TAU);
    let angle = graph.multiply(&turns, &tau);
    let mut parts = vec![graph.apply("Sin", &[&angle]), graph.apply("Cos", &[&angle])];
    parts.extend(embedding.raw.then(|| t.clone()));
    graph.concatenate(&parts, 1)
}

/// The embedding of the treatment and of the class, if the network has it as input.
pub(super) fn treatment_embedding(
    graph: &mut Graph,
    embedding: &TreatmentEmbedding,
    t: &Value,
    class: Option<usize>,
) -> Value {
    let features = treatment_features(graph, &embedding.features, t);
    let mut map = Affine::new(&embedding.linear);
    if let (Some(rows), Some(k)) = (&embedding.class, class) {
        let width = map.bias.len();
        add(&mut map.bias, &values(rows)[k * width..][..width]);
    }
    let embedded = map.apply(graph, &features);
    graph.swish(&embedded)
}
