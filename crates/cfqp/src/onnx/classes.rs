//! The graph of one member of class networks: the means of its networks, with the scales and weights of the mixture.

use super::graph::{Graph, Value};
use super::input::Input;
use super::output::{ElementScale, Output};
use super::{linear, mlp, transformer, unet};
use crate::data::{ChannelScaler, Scaler};
use crate::model::{Components, Mixture, Prior, ScaleCurve};
use crate::models::{ClassInput, Net, Shapes};

/// The graph of member `member`.
pub(super) fn member_graph(mixture: &Mixture, member: usize, shapes: &Shapes, scaler: &Scaler) -> Graph {
    let mut graph = Graph::default();
    let input = Input::declare(&mut graph, shapes, scaler);
    let elements = scaler.y.elements();
    let components = &mixture.members[member];
    let means: Vec<Value> = (0..components.classes)
        .map(|k| {
            let mean = class_mean(&mut graph, components, k, &input, shapes);
            graph.reshape(&mean, &[1, elements])
        })
        .collect();
    let scales: Vec<Value> = mixture
        .scales
        .classes
        .iter()
        .map(|curve| {
            let log_scale = log_scale(&mut graph, curve, &input.t);
            graph.reshape(&log_scale, &[1, elements])
        })
        .collect();
    let output = Output {
        mean: graph.concatenate(&means, 1),
        log_scale: graph.concatenate(&scales, 1),
        logits: logits(&mut graph, &mixture.prior, &input, scaler.x.elements()),
    };
    output.declare(&mut graph, components.classes, &element_scales(&scaler.y), &shapes.y);
    graph
}

/// The scale of the data, of every element of an outcome.
pub(super) fn element_scales(y: &ChannelScaler) -> Vec<ElementScale> {
    (0..y.elements()).map(|i| ElementScale { offset: y.mean(i), factor: y.deviation(i) }).collect()
}

/// The standardised mean of class `k`, `[n, y elements]`.
fn class_mean(graph: &mut Graph, components: &Components, k: usize, input: &Input, shapes: &Shapes) -> Value {
    let (net, class) = components.network(k);
    let class = match class {
        ClassInput::Same { class, .. } => Some(class),
        ClassInput::None | ClassInput::PerRow { .. } => None,
    };
    match net {
        Net::Linear(net) => linear::mean(graph, net, input, shapes, class),
        Net::Mlp(net) => mlp::mean(graph, net, input, components.classes, class),
        Net::Unet(net) => unet::mean(graph, net, input, class),
        Net::Transformer(net) => transformer::mean(graph, net, input, class),
    }
}

/// log s(t) = (a + b phi(t)) / 2 with t within its range, `[n, y elements]`.
fn log_scale(graph: &mut Graph, curve: &ScaleCurve, t: &Value) -> Value {
    let (constant, slopes) = curve.coefficients.split_at(curve.elements);
    let log_variance = if slopes.is_empty() {
        graph.repeat(constant, t)
    } else {
        let low: Vec<f32> = curve.range.iter().map(|range| range.low).collect();
        let high: Vec<f32> = curve.range.iter().map(|range| range.high).collect();
        let (low, high) = (graph.constant(&low, &[low.len()]), graph.constant(&high, &[high.len()]));
        let t = graph.apply("Min", &[t, &high]);
        let t = graph.apply("Max", &[&t, &low]);
        let squares = graph.multiply(&t, &t);
        let features = graph.concatenate(&[t, squares], 1);
        graph.affine(&features, slopes, constant)
    };
    let floor = graph.number(ScaleCurve::min_log_variance());
    let log_variance = graph.apply("Max", &[&log_variance, &floor]);
    let half = graph.number(0.5);
    graph.multiply(&log_variance, &half)
}

/// The logarithms of the class weights up to a constant, `[n, classes]`.
fn logits(graph: &mut Graph, prior: &Prior, input: &Input, elements: usize) -> Value {
    match prior {
        Prior::Constant(weights) => {
            let logs: Vec<f32> = weights.iter().map(|weight| weight.ln()).collect();
            graph.repeat(&logs, &input.t)
        }
        Prior::Gate { classes, coefficients } => {
            let (slopes, constant) = coefficients.split_at(coefficients.len() - classes);
            let of_blocks = slopes.chunks_exact(*classes);
            let blocks = Prior::blocks(elements).into_iter().zip(of_blocks);
            // the mean of a block as weights of its elements
            let weights: Vec<f32> = blocks
                .flat_map(|(size, row)| (0..size).flat_map(move |_| row.iter().map(move |w| w / size as f32)))
                .collect();
            graph.affine(&input.x, &weights, constant)
        }
    }
}
