//! The number of parameters of a network, known before it is built: a file must not decide how much memory is reserved.

use super::linear::features;
use super::{BaseConfig, MlpConfig, Shapes, TransformerConfig, UnetConfig};
use crate::nn::TreatmentEmbeddingConfig;

impl BaseConfig {
    /// The number of parameters of a network for data of these shapes; the largest number if there are more.
    pub(crate) fn parameters(&self, shapes: &Shapes) -> u64 {
        match self {
            Self::Linear(_) => affine(features(shapes), elements(&shapes.y)),
            Self::Mlp(config) => mlp(config, shapes),
            Self::Unet(config) => unet(config, shapes),
            Self::Transformer(config) => transformer(config, shapes),
        }
    }
}

fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// A saturating product.
fn product(sides: &[usize]) -> u64 {
    sides.iter().fold(1, |all, &side| all.saturating_mul(side as u64))
}

fn sum(parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}

/// The weights and the bias of an affine map.
fn affine(inputs: usize, outputs: usize) -> u64 {
    product(&[inputs, outputs]).saturating_add(outputs as u64)
}

/// Covariates and their missing indicators.
fn inputs(shapes: &Shapes, x: usize) -> usize {
    x * (1 + usize::from(shapes.missing))
}

/// The parameters and the number of the features of a treatment.
fn treatment_features(config: &TreatmentEmbeddingConfig, t: usize) -> (u64, usize) {
    let (frequencies, raw) = match *config {
        TreatmentEmbeddingConfig::Smooth { frequencies, .. } => (frequencies, t),
        TreatmentEmbeddingConfig::Fourier { frequencies, .. } => (frequencies, 0),
    };
    (product(&[t, frequencies]), frequencies.saturating_mul(2).saturating_add(raw))
}

/// The embedding of treatment and class.
fn embedding(config: &TreatmentEmbeddingConfig, shapes: &Shapes, width: usize) -> u64 {
    let (fixed, features) = treatment_features(config, shapes.t);
    sum([fixed, affine(features, width), product(&[shapes.classes, width])])
}

fn mlp(config: &MlpConfig, shapes: &Shapes) -> u64 {
    let (fixed, features) = treatment_features(&config.treatment, shapes.t);
    let first = inputs(shapes, elements(&shapes.x)).saturating_add(features).saturating_add(shapes.classes);
    let widths: Vec<usize> =
        [first].into_iter().chain(config.hidden.iter().copied()).chain([elements(&shapes.y)]).collect();
    sum([fixed].into_iter().chain(widths.windows(2).map(|pair| affine(pair[0], pair[1]))))
}

fn unet(config: &UnetConfig, shapes: &Shapes) -> u64 {
    let channels = |shape: &[usize]| shape.first().copied().unwrap_or(0);
    // windows of three steps or of three by three pixels
    let cover = if shapes.x.len() == 2 { 3 } else { 9 };
    let [c1, c2, c3, c4] = config.channels;
    let x = inputs(shapes, channels(&shapes.x));
    let blocks = [(x, c1), (c1, c2), (c2, c3), (c3, c4), (c4, c3), (2 * c3, c2), (2 * c2, c1)];
    let block = |(from, to): (usize, usize)| {
        sum([product(&[cover, from, to]), affine(config.embed, to), product(&[2, to])])
    };
    let y = channels(&shapes.y);
    let out = product(&[2 * c1, cover, y]).saturating_add(y as u64);
    sum(blocks.map(block).into_iter().chain([embedding(&config.treatment, shapes, config.embed), out]))
}

fn transformer(config: &TransformerConfig, shapes: &Shapes) -> u64 {
    let channels = |shape: &[usize]| shape.first().copied().unwrap_or(0);
    let TransformerConfig { width, feed_forward, embed, .. } = *config;
    let input = TransformerConfig::POSITIONS + inputs(shapes, channels(&shapes.x)) + embed;
    // embedding, projections, output and feed-forward network; two norms
    let maps =
        [(width, width), (width, 3 * width), (width, width), (width, feed_forward), (feed_forward, width)];
    let layer = sum(maps.map(|(from, to)| affine(from, to)).into_iter().chain([product(&[4, width])]));
    sum([
        embedding(&config.treatment, shapes, embed),
        affine(input, width),
        layer.saturating_mul(config.layers as u64),
        affine(width, channels(&shapes.y)),
    ])
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::models::linear::LinearConfig;
    use crate::nn::save_weights;
    use crate::stream;

    #[test]
    fn networks_have_as_many_parameters_as_counted() {
        let series = Shapes { x: vec![2, 9], t: 2, y: vec![3, 9], missing: false, classes: 0 };
        let image = Shapes { x: vec![1, 8, 9], y: vec![2, 8, 9], ..series.clone() };
        let unet = UnetConfig { channels: [4, 8, 8, 12], embed: 5, groups: 4, ..UnetConfig::default() };
        let small = TransformerConfig { width: 8, heads: 2, feed_forward: 6, ..TransformerConfig::default() };
        let mlp = MlpConfig { hidden: vec![5, 4], treatment: TreatmentEmbeddingConfig::PAPER };
        let bases = [
            (BaseConfig::Linear(LinearConfig {}), &series),
            (BaseConfig::Mlp(MlpConfig { hidden: vec![7], ..MlpConfig::default() }), &series),
            (BaseConfig::Mlp(mlp), &image),
            (BaseConfig::Unet(unet.clone()), &series),
            (BaseConfig::Unet(unet), &image),
            (BaseConfig::Transformer(small), &series),
        ];
        for (base, shapes) in bases {
            for (missing, classes) in [(false, 0), (true, 0), (false, 3), (true, 2)] {
                let shapes = Shapes { missing, classes, ..shapes.clone() };
                let net = base.init(&shapes, &mut stream(1, &[]), &Device::flex()).unwrap();
                let built: usize = save_weights(&net).iter().map(|weight| weight.values.len()).sum();
                assert_eq!(base.parameters(&shapes), built as u64, "{base:?} {shapes:?}");
            }
        }
    }

    #[test]
    fn no_size_overflows() {
        let most = Shapes { x: vec![1 << 24], t: usize::MAX, y: vec![1 << 24], missing: true, classes: 1000 };
        let treatment = TreatmentEmbeddingConfig::Smooth { frequencies: usize::MAX, scale: 1.0 };
        let mlp = BaseConfig::Mlp(MlpConfig { hidden: vec![1 << 14; 64], treatment });
        assert_eq!(mlp.parameters(&most), u64::MAX);
    }
}
