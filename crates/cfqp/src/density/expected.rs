//! What covariates and a treatment alone tell of an outcome: its mean in every class, with fresh noise.

use super::discrete::MemberView;
use super::ensemble::Ensemble;
use super::member::Evaluator;
use super::network::Element;
use super::views::{Prediction, Question};

/// Points and weights of a Gauss-Hermite quadrature for a standard normal.
const NODES: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];

/// The means of one member.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// The class weights given x and t.
    pub weights: Vec<f64>,
    /// `[classes][elements]`, on the scale of standardised outcomes.
    pub means: Vec<Vec<f64>>,
}

impl Expected {
    /// The mean of element `j` over classes.
    pub(crate) fn mean(&self, j: usize) -> f64 {
        self.weights.iter().zip(&self.means).map(|(weight, means)| weight * means[j]).sum()
    }
}

impl Ensemble {
    /// What a member expects of `row` under the treatment asked about.
    pub(crate) fn expected(
        &self,
        member: &mut Evaluator<'_>,
        question: &Question<'_>,
        row: usize,
    ) -> Expected {
        let prediction = Prediction::new(member, question, row);
        let weights = prediction.to.weights();
        let (elements, d) = (self.elements(), question.rows.d);
        let mut residuals = Vec::new();
        member.noise.given_score(0.0, 1.0, &mut residuals);
        let number = |k: usize, j: usize| -> f64 {
            let value = |z: f64| prediction.value([k * d + j; 2], z, self.scales[j]);
            let nodes = residuals.iter().flat_map(|residual| {
                NODES
                    .map(|(z, share)| share * residual.weight * value(residual.mean + residual.deviation * z))
            });
            nodes.sum()
        };
        let view = MemberView {
            member,
            classes: &[],
            prediction: &prediction,
            rows: question.rows,
            row,
            scales: &self.scales,
            weight: 1.0,
        };
        let mean = |k: usize, element: &Element| match *element {
            Element::Number(j) => number(k, j),
            other => view.fresh_mean(other, k),
        };
        let means = (0..weights.len()).map(|k| elements.iter().map(|element| mean(k, element)).collect());
        Expected { means: means.collect(), weights }
    }
}
