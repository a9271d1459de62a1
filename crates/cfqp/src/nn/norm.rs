//! Group norm: (x - mean) / sqrt(variance + 1e-5) * gamma + beta, with mean and variance taken over all
//! positions and the channels of a group.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

/// Added to the variance.
pub(crate) const EPSILON: f32 = 1e-5;

/// Group norm with a scale and a shift per channel.
#[derive(Module, Debug)]
pub(crate) struct GroupNorm {
    pub(crate) gamma: Param<Tensor<1>>,
    pub(crate) beta: Param<Tensor<1>>,
    pub(crate) groups: usize,
}

impl GroupNorm {
    /// Scale one, shift zero; `groups` divides `channels`.
    pub(crate) fn init(channels: usize, groups: usize, device: &Device) -> Self {
        let gamma = Param::from_tensor(Tensor::ones([channels], device));
        let beta = Param::from_tensor(Tensor::zeros([channels], device));
        Self { gamma, beta, groups }
    }

    /// # Shapes
    /// `[n, positions, channels]` to `[n, positions, channels]`
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        group_norm(x, self.gamma.val(), self.beta.val(), self.groups)
    }
}

/// Group norm of x.
///
/// # Shapes
/// x `[n, positions, channels]`, gamma and beta `[channels]`, to `[n, positions, channels]`
pub(crate) fn group_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, groups: usize) -> Tensor<3> {
    let [n, positions, channels] = x.dims();
    let size = channels / groups;
    let x = x.reshape([n, positions, groups, size]).swap_dims(1, 2).reshape([n, groups, positions * size]);
    let x = x.clone() - x.mean_dim(2);
    let deviation = (x.clone().square().mean_dim(2) + EPSILON).sqrt();
    let x = (x / deviation).reshape([n, groups, positions, size]).swap_dims(1, 2);
    x.reshape([n, positions, channels]) * gamma.unsqueeze() + beta.unsqueeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tensor;

    #[test]
    fn every_group_of_every_unit_has_mean_zero_and_variance_one() {
        let device = Device::flex();
        let values = (0..2 * 3 * 4).map(|i| (i * i % 17) as f32).collect();
        let norm = GroupNorm::init(4, 2, &device);
        let y = norm.forward(tensor(values, [2, 3, 4], &device)).into_data().try_into_vec::<f32>().unwrap();
        for (unit, group) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let of_group = |i: &usize| i / 12 == unit && i % 4 / 2 == group;
            let y: Vec<f32> = (0..24).filter(of_group).map(|i| y[i]).collect();
            let mean = y.iter().sum::<f32>() / 6.0;
            let variance = y.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / 6.0;
            assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
        }
    }
}
