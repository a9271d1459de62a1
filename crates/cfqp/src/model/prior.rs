//! Class weights before the outcome is observed: constants w_k, or a gate w_k(x) = softmax_k(G x + g).
//!
//! The gate uses block means of x (at most 64) and is kept only if it predicts the classes of held-out units better than
//! class frequencies do.

use serde::{Deserialize, Serialize};

use crate::math::paired_difference;
use crate::models::Batcher;

/// The largest number of block means.
const MAX_BLOCKS: usize = 64;
/// The smallest number of validation units with which a gate is tried.
const MIN_GATE_UNITS: usize = 20;
/// The number of gradient steps of the gate.
const GATE_STEPS: usize = 300;
/// The momentum of the gate's gradient descent.
const GATE_MOMENTUM: f32 = 0.9;
/// The ridge penalty on the gate's coefficients.
const GATE_PENALTY: f32 = 1e-3;

/// Class weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Prior {
    /// The same for every unit.
    Constant(Vec<f32>),
    /// A function of x.
    Gate {
        /// The number of classes.
        classes: usize,
        /// `[block means + 1, classes]`, the constants last.
        coefficients: Vec<f32>,
    },
}

impl Prior {
    /// The frequencies of `labels`, with one added to every count.
    pub(crate) fn frequencies(labels: impl Iterator<Item = usize>, classes: usize) -> Self {
        let mut counts = vec![1.0; classes];
        labels.for_each(|label| counts[label] += 1.0);
        let total: f32 = counts.iter().sum();
        Self::Constant(counts.into_iter().map(|count| count / total).collect())
    }

    /// A gate fitted to `train`, if it predicts the labels of `valid` better than the frequencies in `train`; otherwise
    /// those. Units are pairs of a row and a label.
    pub(crate) fn fit(
        batcher: &Batcher<'_>,
        train: &[(usize, usize)],
        valid: &[(usize, usize)],
        classes: usize,
    ) -> Self {
        let constant = Self::frequencies(train.iter().map(|unit| unit.1), classes);
        if classes == 1 || valid.len() < MIN_GATE_UNITS {
            return constant;
        }
        let gate = Self::fit_gate(batcher, train, classes);
        let loss = |prior: &Self| -> Vec<f64> {
            let unit = |&(row, label): &(usize, usize)| -f64::from(prior.log(batcher, row)[label]);
            valid.iter().map(unit).collect()
        };
        let gain = paired_difference(&loss(&constant), &loss(&gate));
        if gain.mean > 2.0 * gain.standard_error { gate } else { constant }
    }

    /// A gate fitted by gradient descent with momentum on the penalised cross-entropy.
    fn fit_gate(batcher: &Batcher<'_>, train: &[(usize, usize)], classes: usize) -> Self {
        let features: Vec<Vec<f32>> = train.iter().map(|&(row, _)| gate_features(batcher, row)).collect();
        let p = features[0].len();
        let (mut weights, mut velocity) = (vec![0.0_f32; p * classes], vec![0.0_f32; p * classes]);
        let norm = features.iter().flatten().map(|f| f * f).sum::<f32>() / features.len() as f32;
        let rate = 2.0 / norm.max(1.0);
        for _ in 0..GATE_STEPS {
            let mut gradient = vec![0.0_f32; p * classes];
            for (features, &(_, label)) in features.iter().zip(train) {
                let log = log_softmax(features, &weights, classes);
                for (k, log) in log.iter().enumerate() {
                    let error = log.exp() - f32::from(u8::from(k == label));
                    features.iter().enumerate().for_each(|(j, f)| gradient[j * classes + k] += error * f);
                }
            }
            for ((w, v), g) in weights.iter_mut().zip(&mut velocity).zip(&gradient) {
                *v = GATE_MOMENTUM * *v - rate * (g / train.len() as f32 + GATE_PENALTY * *w);
                *w += *v;
            }
        }
        Self::Gate { classes, coefficients: weights }
    }

    /// log w_k(x) of unit `row`.
    pub(crate) fn log(&self, batcher: &Batcher<'_>, row: usize) -> Vec<f32> {
        match self {
            Self::Constant(weights) => weights.iter().map(|w| w.ln()).collect(),
            Self::Gate { classes, coefficients } => {
                log_softmax(&gate_features(batcher, row), coefficients, *classes)
            }
        }
    }

    /// The number of elements of every block of x whose mean a gate uses.
    pub(crate) fn blocks(elements: usize) -> Vec<usize> {
        let size = elements.div_ceil(MAX_BLOCKS);
        (0..elements).step_by(size).map(|start| size.min(elements - start)).collect()
    }

    /// Whether the weights depend on x.
    pub(crate) fn depends_on_x(&self) -> bool {
        matches!(self, Self::Gate { .. })
    }

    /// The weights of the classes in another order: class `k` of the result is class `order[k]` of this.
    #[cfg(test)]
    pub(crate) fn reordered(&self, order: &[usize]) -> Self {
        match self {
            Self::Constant(weights) => Self::Constant(order.iter().map(|&k| weights[k]).collect()),
            Self::Gate { classes, coefficients } => {
                let rows = coefficients.chunks_exact(*classes);
                let coefficients = rows.flat_map(|row| order.iter().map(|&k| row[k])).collect();
                Self::Gate { classes: *classes, coefficients }
            }
        }
    }

    /// Whether loaded weights can be used for this number of classes and covariates of shape `x`.
    pub(crate) fn is_sound(&self, classes: usize, x: &[usize]) -> bool {
        match self {
            Self::Constant(weights) => {
                weights.len() == classes && weights.iter().all(|w| *w > 0.0 && *w <= 1.0)
            }
            Self::Gate { classes: k, coefficients } => {
                let expected = (block_count(x.iter().product()) + 1) * classes;
                *k == classes && coefficients.len() == expected && coefficients.iter().all(|c| c.is_finite())
            }
        }
    }
}

/// The number of block means of covariates with this number of elements.
fn block_count(elements: usize) -> usize {
    elements.div_ceil(elements.div_ceil(MAX_BLOCKS))
}

/// The means of consecutive blocks of standardised x, at most [`MAX_BLOCKS`].
pub(crate) fn block_means(batcher: &Batcher<'_>, row: usize) -> Vec<f32> {
    let x = batcher.covariates(&[row]);
    let size = x.len().div_ceil(MAX_BLOCKS);
    x.chunks(size).map(|block| block.iter().sum::<f32>() / block.len() as f32).collect()
}

/// The block means and a constant.
fn gate_features(batcher: &Batcher<'_>, row: usize) -> Vec<f32> {
    let mut features = block_means(batcher, row);
    features.push(1.0);
    features
}

/// log softmax of features times weights.
fn log_softmax(features: &[f32], weights: &[f32], classes: usize) -> Vec<f32> {
    let mut scores = vec![0.0; classes];
    for (f, row) in features.iter().zip(weights.chunks_exact(classes)) {
        scores.iter_mut().zip(row).for_each(|(score, w)| *score += f * w);
    }
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_sum = top + scores.iter().map(|score| (score - top).exp()).sum::<f32>().ln();
    scores.iter().map(|score| score - log_sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Scaler, Units};

    fn data(n: usize) -> Dataset {
        let column = |step: usize| (0..n).map(|i| ((i * step) % 97) as f32 / 97.0).collect::<Vec<_>>();
        let units = |step| Units::new("x", vec![1], column(step)).unwrap();
        Dataset::new(units(31), units(17), units(11)).unwrap()
    }

    #[test]
    fn a_gate_is_kept_only_if_x_predicts_the_class() {
        let data = data(400);
        let scaler = Scaler::fit(&data.all(), false);
        let batcher = Batcher { data: &data, scaler: &scaler, missing: false };
        let by_x = |row: usize| (row, usize::from(data.x().row(row)[0] > 0.5));
        let by_chance = |row: usize| (row, (row / 3 + row / 7) % 2);
        let fit = |label: &dyn Fn(usize) -> (usize, usize)| {
            let (train, valid) =
                ((0..300).map(label).collect::<Vec<_>>(), (300..400).map(label).collect::<Vec<_>>());
            Prior::fit(&batcher, &train, &valid, 2)
        };
        let gate = fit(&by_x);
        assert!(gate.depends_on_x() && gate.is_sound(2, &[1]));
        let correct = (0..400).filter(|&row| gate.log(&batcher, row)[by_x(row).1] > 0.5_f32.ln()).count();
        assert!(correct > 380);
        assert!(!fit(&by_chance).depends_on_x());
        let swapped = gate.reordered(&[1, 0]);
        assert_eq!(swapped.log(&batcher, 3)[0], gate.log(&batcher, 3)[1]);
    }
}
