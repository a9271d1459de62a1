//! The inputs of a graph, standardised as the networks expect them.

use super::graph::{Graph, Value};
use crate::data::{ChannelScaler, Scaler};
use crate::models::Shapes;

/// Covariates and treatments of a batch, standardised.
#[derive(Debug)]
pub(super) struct Input {
    /// `[n, x elements]`; 0 where missing.
    pub x: Value,
    /// 1 where x is missing, `[n, x elements]`, in models for data with missing values.
    pub missing: Option<Value>,
    /// `[n, d_t]`
    pub t: Value,
}

impl Input {
    /// Declares the inputs `x` and `t` on the scale of the data, and standardises them. A missing value of x is NaN.
    pub(super) fn declare(graph: &mut Graph, shapes: &Shapes, scaler: &Scaler) -> Self {
        let raw_x = graph.input("x", &shapes.x);
        let raw_t = graph.input("t", &[shapes.t]);
        let elements = scaler.x.elements();
        let raw_x = graph.reshape(&raw_x, &[elements]);
        let t = standardise(graph, &raw_t, &scaler.t);
        let x = standardise(graph, &raw_x, &scaler.x);
        if !shapes.missing {
            return Self { x, missing: None, t };
        }
        let is_missing = graph.apply("IsNaN", &[&raw_x]);
        let (zero, one) = (graph.number(0.0), graph.number(1.0));
        let x = graph.apply("Where", &[&is_missing, &zero, &x]);
        let missing = graph.apply("Where", &[&is_missing, &one, &zero]);
        Self { x, missing: Some(missing), t }
    }

    /// x and its missing indicators, `[n, columns]`.
    pub(super) fn covariates(&self) -> Vec<Value> {
        std::iter::once(&self.x).chain(&self.missing).cloned().collect()
    }
}

/// (value - mean) / deviation, within the bounds of the scaler, `[n, elements]`.
fn standardise(graph: &mut Graph, values: &Value, scaler: &ChannelScaler) -> Value {
    let of_elements = |value: fn(&ChannelScaler, usize) -> f32| -> Vec<f32> {
        (0..scaler.elements()).map(|i| value(scaler, i)).collect()
    };
    let width = [scaler.elements()];
    let mean = graph.constant(&of_elements(ChannelScaler::mean), &width);
    let factor = graph.constant(&of_elements(|scaler, i| 1.0 / scaler.deviation(i)), &width);
    let high = graph.constant(&of_elements(ChannelScaler::bound), &width);
    let low = graph.constant(&of_elements(|scaler, i| -scaler.bound(i)), &width);
    let centred = graph.apply("Sub", &[values, &mean]);
    let scaled = graph.multiply(&centred, &factor);
    let scaled = graph.apply("Min", &[&scaled, &high]);
    graph.apply("Max", &[&scaled, &low])
}
