//! The outputs of a graph: what abduction needs to know of every class, on the scale of the data.

use super::graph::{Graph, Value};

/// What one member says of a batch of units.
#[derive(Debug)]
pub(super) struct Output {
    /// Standardised means, `[n, classes, elements]`.
    pub mean: Value,
    /// Logarithms of the scales of standardised outcomes, `[n, classes, elements]`.
    pub log_scale: Value,
    /// Logarithms of the class weights up to a constant, `[n, classes]`.
    pub logits: Value,
}

/// The scale of one outcome element: its value is offset + factor * the standardised one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ElementScale {
    pub offset: f32,
    pub factor: f32,
}

impl Output {
    /// Declares the outputs `mean` and `scale`, `[n, classes, y]`, and `log_weight`, `[n, classes]`.
    pub(super) fn declare(self, graph: &mut Graph, classes: usize, scales: &[ElementScale], y: &[usize]) {
        let shape: Vec<usize> = std::iter::once(classes).chain(y.iter().copied()).collect();
        let column = |value: fn(&ElementScale) -> f32| scales.iter().map(value).collect::<Vec<_>>();
        let factor = graph.constant(&column(|scale| scale.factor), &[scales.len()]);
        let offset = graph.constant(&column(|scale| scale.offset), &[scales.len()]);
        let mean = graph.multiply(&self.mean, &factor);
        let mean = graph.add(&mean, &offset);
        let mean = graph.reshape(&mean, &shape);
        graph.output("mean", &mean, &shape);
        let scale = graph.apply("Exp", &[&self.log_scale]);
        let scale = graph.multiply(&scale, &factor);
        let scale = graph.reshape(&scale, &shape);
        graph.output("scale", &scale, &shape);
        let log_weight = graph.apply("LogSoftmax", &[&self.logits]);
        graph.output("log_weight", &log_weight, &[classes]);
    }
}
