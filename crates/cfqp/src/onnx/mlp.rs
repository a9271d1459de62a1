//! The multilayer perceptron.

use super::graph::{Graph, Value};
use super::input::Input;
use super::layers::{Affine, treatment_features};
use crate::models::Mlp;

/// The standardised mean of one class, `[n, y elements]`.
pub(super) fn mean(
    graph: &mut Graph,
    net: &Mlp,
    input: &Input,
    classes: usize,
    class: Option<usize>,
) -> Value {
    let mut columns = input.covariates();
    columns.push(treatment_features(graph, net.treatment(), &input.t));
    let mut h = graph.concatenate(&columns, 1);
    let mut maps: Vec<Affine> = net.maps().map(Affine::new).collect();
    if let Some(k) = class {
        // the last inputs are one indicator per class
        let known = maps[0].inputs() - classes;
        maps[0] = maps[0].clone().with_fixed(known, known + k);
    }
    let last = maps.len() - 1;
    for (i, map) in maps.iter().enumerate() {
        h = map.apply(graph, &h);
        if i < last {
            h = graph.swish(&h);
        }
    }
    h
}
