//! The number of parameters of a base model, without building it.

use super::transformer::TIMESCALES;
use super::{BaseConfig, MlpConfig, Shapes, TransformerConfig, TreatmentEmbeddingConfig, UnetConfig};

/// The largest sizes of a header have products of at most 2^100.
type Count = u128;

impl BaseConfig {
    /// The number of parameters of a network for data of these shapes. A model file that claims a large network, but has not
    /// its weights, is refused by this number before the network is built.
    pub(crate) fn parameters(&self, shapes: &Shapes) -> u128 {
        let x = product(&shapes.x) * (1 + Count::from(shapes.missing));
        let (t, y, classes) = (shapes.t as Count, product(&shapes.y), shapes.classes as Count);
        match self {
            Self::Linear(_) => linear(x + t + classes * (1 + t), y),
            Self::Mlp(config) => mlp(config, shapes.t, x + classes, y),
            Self::Unet(config) => unet(config, shapes),
            Self::Transformer(config) => transformer(config, shapes),
        }
    }
}

fn product(sides: &[usize]) -> Count {
    sides.iter().map(|&side| side as Count).product()
}

/// A matrix and a bias.
fn linear(inputs: Count, outputs: Count) -> Count {
    (inputs + 1) * outputs
}

/// The fixed frequencies of treatments of `t` dimensions, and the number of features.
fn features(config: &TreatmentEmbeddingConfig, t: usize) -> (Count, Count) {
    let t = t as Count;
    match *config {
        TreatmentEmbeddingConfig::Smooth { frequencies, .. } => {
            (t * frequencies as Count, 2 * frequencies as Count + t)
        }
        TreatmentEmbeddingConfig::Fourier { frequencies, .. } => {
            (t * frequencies as Count, 2 * frequencies as Count)
        }
    }
}

/// The embedding of the treatment, and of the class if it is an input.
fn embedding(config: &TreatmentEmbeddingConfig, shapes: &Shapes, width: Count) -> Count {
    let (frequencies, inputs) = features(config, shapes.t);
    frequencies + linear(inputs, width) + shapes.classes as Count * width
}

fn mlp(config: &MlpConfig, t: usize, inputs: Count, outputs: Count) -> Count {
    let (frequencies, of_treatment) = features(&config.treatment, t);
    let (mut width, mut count) = (inputs + of_treatment, frequencies);
    for &next in &config.hidden {
        count += linear(width, next as Count);
        width = next as Count;
    }
    count + linear(width, outputs)
}

fn unet(config: &UnetConfig, shapes: &Shapes) -> Count {
    const KERNEL: Count = 3;
    let cover = if shapes.x.len() == 2 { KERNEL } else { KERNEL * KERNEL };
    let channels = |shape: &[usize]| shape.first().map_or(0, |&channels| channels as Count);
    let (embed, [c1, c2, c3, c4]) = (config.embed as Count, config.channels.map(|width| width as Count));
    let first = channels(&shapes.x) * (1 + Count::from(shapes.missing));
    let blocks =
        [(first, c1), (c1, c2), (c2, c3), (c3, c4), (c4, c3), (2 * c3, c2), (2 * c2, c1)].into_iter();
    let block = |(inputs, outputs)| inputs * cover * outputs + linear(embed, outputs) + 2 * outputs;
    let outputs = channels(&shapes.y);
    let last = 2 * c1 * cover * outputs + outputs;
    embedding(&config.treatment, shapes, embed) + blocks.map(block).sum::<Count>() + last
}

fn transformer(config: &TransformerConfig, shapes: &Shapes) -> Count {
    let channels = |shape: &[usize]| shape.first().map_or(0, |&channels| channels as Count);
    let (width, embed) = (config.width as Count, config.embed as Count);
    let inputs = 2 * TIMESCALES as Count + channels(&shapes.x) * (1 + Count::from(shapes.missing)) + embed;
    let wide = config.feed_forward as Count;
    let attention = linear(width, 3 * width) + linear(width, width);
    let layer = linear(width, width) + attention + linear(width, wide) + linear(wide, width) + 4 * width;
    let ends = linear(inputs, width) + linear(width, channels(&shapes.y));
    embedding(&config.treatment, shapes, embed) + ends + config.layers as Count * layer
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::models::LinearConfig;
    use crate::nn::save_weights;
    use crate::stream;

    #[test]
    fn the_number_of_parameters_is_that_of_the_network() {
        let configs = [
            BaseConfig::Linear(LinearConfig {}),
            BaseConfig::Mlp(MlpConfig { hidden: vec![5, 7], ..MlpConfig::default() }),
            BaseConfig::Unet(UnetConfig { channels: [4, 8, 8, 16], groups: 4, ..UnetConfig::default() }),
            BaseConfig::Transformer(TransformerConfig { width: 16, ..TransformerConfig::default() }),
        ];
        let shapes = |x: &[usize], y: &[usize], missing, classes| Shapes {
            x: x.to_vec(),
            t: 2,
            y: y.to_vec(),
            missing,
            classes,
        };
        let mut compared = 0;
        for config in &configs {
            for shapes in [
                shapes(&[2, 9], &[3, 9], false, 0),
                shapes(&[2, 9], &[1, 9], true, 3),
                shapes(&[1, 8, 8], &[2, 8, 8], true, 3),
            ] {
                let Ok(net) = config.init(&shapes, &mut stream(1, &["size"]), &Device::flex()) else {
                    continue;
                };
                let found: usize = save_weights(&net).iter().map(|weight| weight.values.len()).sum();
                assert_eq!(config.parameters(&shapes), found as u128, "{} {shapes:?}", config.name());
                compared += 1;
            }
        }
        assert_eq!(compared, 11, "all but the transformer on images");
    }
}
