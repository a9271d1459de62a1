//! Dropout: x * mask, where mask = 1/(1 - p) with probability 1 - p, else 0.
//!
//! Masks are drawn from the library's own generator. Burn's generator is shared by the whole process: on several threads
//! the same seed would give other masks each time.

use std::sync::Arc;

use burn::tensor::Tensor;
use rand::Rng as _;

use super::tensor;
use crate::{Rng, stream};

/// The dropout of one forward pass: every call of [`Dropout::mask`] draws the next mask of its stream.
pub(crate) struct Dropout {
    /// None in evaluation.
    rng: Option<Rng>,
    /// A value is dropped where 16 random bits fall below this.
    threshold: u16,
}

impl Dropout {
    /// Dropout of `rate` in [0, 1) with the masks of `seed`; no dropout without a seed.
    pub(crate) fn new(rate: f32, seed: Option<u64>) -> Self {
        let threshold = (rate * 65536.0).round() as u16;
        let seed = seed.filter(|_| threshold > 0);
        Self { rng: seed.map(|seed| stream(seed, &["dropout"])), threshold }
    }

    /// The next mask, for `len` values; None in evaluation.
    pub(crate) fn mask(&mut self, len: usize) -> Option<Mask> {
        let rng = self.rng.as_mut()?;
        let mut bits = vec![[0; 2]; len];
        rng.fill_bytes(bits.as_flattened_mut());
        Some(Mask { bits, threshold: self.threshold })
    }
}

/// x times the mask; x itself without a mask.
pub(crate) fn masked<const D: usize>(x: Tensor<D>, mask: Option<&Mask>) -> Tensor<D> {
    let Some(mask) = mask else { return x };
    let (shape, device) = (x.dims(), x.device());
    let mut factors = vec![1.0; mask.bits.len()];
    mask.multiply(0, &mut factors);
    x * tensor(factors, shape, &device)
}

/// A mask that an operation and its backward pass share; none in evaluation.
#[derive(Clone, Debug)]
pub(super) struct SharedMask(pub(crate) Option<Arc<Mask>>);

/// The values that are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    /// 16 random bits per value.
    bits: Vec<[u8; 2]>,
    threshold: u16,
}

impl Mask {
    /// 1/(1 - p), the factor of values that are not dropped.
    #[inline(always)]
    pub(crate) fn kept_factor(&self) -> f32 {
        65536.0 / (65536.0 - f32::from(self.threshold))
    }

    /// Multiplies `values` by the mask's elements from `start` on.
    #[inline(always)]
    pub(crate) fn multiply(&self, start: usize, values: &mut [f32]) {
        let kept = self.kept_factor();
        for (value, bits) in values.iter_mut().zip(&self.bits[start..]) {
            *value *= if u16::from_le_bytes(*bits) < self.threshold { 0.0 } else { kept };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn masks(seed: Option<u64>) -> Vec<f32> {
        let mut dropout = Dropout::new(0.1, seed);
        let ones = Tensor::<2>::ones([100, 200], &Device::flex());
        let drawn = [(); 2].map(|()| masked(ones.clone(), dropout.mask(20_000).as_ref()));
        Tensor::cat(drawn.to_vec(), 0).into_data().try_into_vec().unwrap()
    }

    #[test]
    fn a_seed_determines_the_masks_and_without_one_nothing_is_dropped() {
        assert!(masks(None).iter().all(|&v| v == 1.0));
        let drawn = masks(Some(3));
        assert_eq!(drawn, masks(Some(3)));
        assert_ne!(drawn, masks(Some(4)));
        assert_ne!(drawn[..20_000], drawn[20_000..]);
    }

    #[test]
    fn a_rate_of_a_tenth_drops_a_tenth_and_keeps_the_mean() {
        let drawn = masks(Some(5));
        let (n, dropped) = (drawn.len() as f32, drawn.iter().filter(|&&v| v == 0.0).count() as f32);
        assert!((dropped / n - 0.1).abs() < 0.006, "{dropped} of {n}");
        assert!((drawn.iter().sum::<f32>() / n - 1.0).abs() < 0.006);
    }
}
