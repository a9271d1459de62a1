//! The transformer, with steps as `[n, steps, width]`.

use super::graph::{Graph, Value};
use super::input::Input;
use super::layers::{Affine, treatment_embedding, values};
use super::messages::Attribute;
use crate::models::{Transformer, TransformerLayer, position_features};
use crate::nn::{Attention, LAYER_NORM_EPSILON, LayerNorm, Linear, Sequences};

/// The standardised mean of one class, `[n, y elements]`.
pub(super) fn mean(graph: &mut Graph, net: &Transformer, input: &Input, class: Option<usize>) -> Value {
    let steps = net.x_steps + net.y_steps;
    let seq = Sequences { n: 1, steps, causal: net.x_steps };
    let sequence = sequence(graph, net, input, class);
    let mut h = affine(graph, &net.input, &sequence);
    for layer in &net.layers {
        h = apply_layer(graph, layer, &h, seq);
    }
    let y = affine(graph, &net.output, &h);
    let y = steps_from(graph, &y, net.x_steps - 1, net.y_steps);
    let y = graph.apply_with("Transpose", &[&y], vec![Attribute::ints("perm", &[0, 2, 1])]);
    let [channels] = net.output.bias.dims();
    graph.reshape(&y, &[channels * net.y_steps])
}

/// Steps `start..start + count`.
fn steps_from(graph: &mut Graph, h: &Value, start: usize, count: usize) -> Value {
    let (from, to) = (graph.integers(&[start as i64]), graph.integers(&[(start + count) as i64]));
    let axis = graph.integers(&[1]);
    graph.apply("Slice", &[h, &from, &to, &axis])
}

/// The steps of x and the blank steps of y, with their positions.
fn sequence(graph: &mut Graph, net: &Transformer, input: &Input, class: Option<usize>) -> Value {
    let steps = net.x_steps + net.y_steps;
    let mut known = Vec::new();
    for part in input.covariates() {
        let part = graph.reshape(&part, &[net.channels, net.x_steps]);
        known.push(graph.apply_with("Transpose", &[&part], vec![Attribute::ints("perm", &[0, 2, 1])]));
    }
    let embedding = treatment_embedding(graph, &net.embedding, &input.t, class);
    let [width] = net.embedding.linear.bias.dims();
    let embedding = graph.reshape(&embedding, &[1, width]);
    let each_step = graph.constant(&vec![1.0; net.x_steps], &[1, net.x_steps, 1]);
    known.push(graph.multiply(&embedding, &each_step));
    let known = graph.concatenate(&known, 2);
    let pads = graph.integers(&[0, 0, 0, 0, net.y_steps as i64, 0]);
    let known = graph.apply("Pad", &[&known, &pads]);
    let positions = position_features(steps);
    let columns = positions.len() / steps;
    let positions = graph.repeat(&positions, &input.t);
    let positions = graph.reshape(&positions, &[steps, columns]);
    graph.concatenate(&[positions, known], 2)
}

/// An affine map of the last axis.
fn affine(graph: &mut Graph, linear: &Linear, x: &Value) -> Value {
    let map = Affine::new(linear);
    let weight = graph.constant(&map.weight, &[map.inputs(), map.bias.len()]);
    let bias = graph.constant(&map.bias, &[map.bias.len()]);
    let product = graph.apply("MatMul", &[x, &weight]);
    graph.add(&product, &bias)
}

/// h = norm(x + attention(e)), then norm(h + W2 relu(W1 h)), with e = x W + b
fn apply_layer(graph: &mut Graph, layer: &TransformerLayer, x: &Value, seq: Sequences) -> Value {
    let e = affine(graph, &layer.embed, x);
    let attended = attention(graph, &layer.attention, &e, seq);
    let h = add_and_norm(graph, &layer.norm1, x, &attended);
    let wide = affine(graph, &layer.wide, &h);
    let hidden = graph.apply("Relu", &[&wide]);
    let narrow = affine(graph, &layer.narrow, &hidden);
    add_and_norm(graph, &layer.norm2, &h, &narrow)
}

fn add_and_norm(graph: &mut Graph, norm: &LayerNorm, x: &Value, a: &Value) -> Value {
    let sum = graph.add(x, a);
    let [width] = norm.gain.dims();
    let gain = graph.constant(&values(&norm.gain), &[width]);
    let bias = graph.constant(&values(&norm.bias), &[width]);
    let epsilon = vec![Attribute::float("epsilon", LAYER_NORM_EPSILON)];
    graph.apply_with("LayerNormalization", &[&sum, &gain, &bias], epsilon)
}

/// softmax(q k' / sqrt(depth) + mask) v per head, then an affine map.
fn attention(graph: &mut Graph, attention: &Attention, x: &Value, seq: Sequences) -> Value {
    let [width] = attention.output.bias.dims();
    let (heads, depth) = (attention.heads, width / attention.heads);
    let projected = affine(graph, &attention.project, x);
    let all = graph.reshape(&projected, &[seq.steps, 3 * heads, depth]);
    let all = graph.apply_with("Transpose", &[&all], vec![Attribute::ints("perm", &[0, 2, 1, 3])]);
    let [q, k, v] = [0, 1, 2].map(|part| steps_from(graph, &all, part * heads, heads));
    let scale = graph.number(1.0 / (depth as f32).sqrt());
    let q = graph.multiply(&q, &scale);
    let k = graph.apply_with("Transpose", &[&k], vec![Attribute::ints("perm", &[0, 1, 3, 2])]);
    let scores = graph.apply("MatMul", &[&q, &k]);
    let row = |from| (0..seq.steps).map(move |to| if to < seq.reach(from) { 0.0 } else { -1e9 });
    let mask: Vec<f32> = (0..seq.steps).flat_map(row).collect();
    let mask = graph.constant(&mask, &[seq.steps, seq.steps]);
    let scores = graph.add(&scores, &mask);
    let weights = graph.apply_with("Softmax", &[&scores], vec![Attribute::int("axis", -1)]);
    let gathered = graph.apply("MatMul", &[&weights, &v]);
    let gathered = graph.apply_with("Transpose", &[&gathered], vec![Attribute::ints("perm", &[0, 2, 1, 3])]);
    let gathered = graph.reshape(&gathered, &[seq.steps, width]);
    affine(graph, &attention.output, &gathered)
}
