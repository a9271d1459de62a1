//! A conditional normalising flow of affine couplings.
//!
//! A coupling keeps some elements of v and maps the others, given those, a condition c and the treatment t:
//!
//! ```text
//! u = kept v + (1 - kept) (v - m) exp(-s),      (m, s) = network(kept v, c, t)
//! log |du/dv| = - sum of s over the mapped elements
//! ```
//!
//! Its inverse is v = kept u + (1 - kept) (u exp(s) + m), as m and s depend on the kept elements only. s is bounded by
//! bound tanh(s / bound). A flow is a stack of couplings: v -> u -> ... -> noise.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::seq::SliceRandom;

use crate::models::{BaseConfig, Input, Net, Network, Shapes};
use crate::nn::tensor;
use crate::{Result, Rng};

/// The largest log scale: a factor of 400.
const MAX_LOG_SCALE: f64 = 6.0;

/// What a flow is conditioned on.
///
/// # Shapes
/// condition `[n, values]`, t `[n, d_t]`
#[derive(Clone)]
pub(super) struct Conditioning {
    pub condition: Tensor<2>,
    pub t: Tensor<2>,
}

/// An affine coupling; see the module.
#[derive(Module, Debug)]
pub(super) struct Coupling {
    /// 1 where an element is kept, `[1, elements]`; none if all are mapped.
    kept: Option<Param<Tensor<2>>>,
    net: Net,
}

impl Coupling {
    /// m and s of the mapped elements, zero for the kept ones.
    fn affine(&self, v: &Tensor<2>, given: &Conditioning) -> (Tensor<2>, Tensor<2>) {
        let kept = self.kept.as_ref().map(Param::val);
        let x = match &kept {
            Some(kept) => Tensor::cat(vec![v.clone() * kept.clone(), given.condition.clone()], 1),
            None => given.condition.clone(),
        };
        let input = Input { x, missing: None, t: given.t.clone(), class: None, dropout: None };
        let out = self.net.forward(&input);
        let d = v.dims()[1];
        let (m, s) =
            (out.clone().narrow(1, 0, d), (out.narrow(1, d, d) / MAX_LOG_SCALE).tanh() * MAX_LOG_SCALE);
        match kept {
            Some(kept) => {
                let mapped = kept.neg() + 1.0;
                (m * mapped.clone(), s * mapped)
            }
            None => (m, s),
        }
    }

    /// u and log |du/dv| per unit.
    fn forward(&self, v: Tensor<2>, given: &Conditioning) -> (Tensor<2>, Tensor<2>) {
        let (m, s) = self.affine(&v, given);
        ((v - m) * s.clone().neg().exp(), s.sum_dim(1).neg())
    }

    fn inverse(&self, u: Tensor<2>, given: &Conditioning) -> Tensor<2> {
        // kept elements are the same in u and v, and the others do not enter m and s
        let (m, s) = self.affine(&u, given);
        u * s.exp() + m
    }
}

/// A stack of couplings.
#[derive(Module, Debug)]
pub(super) struct Flow {
    couplings: Vec<Coupling>,
}

/// The shape of a flow.
pub(super) struct FlowShape {
    /// The shape of v: `[channels]` or, on a grid, `[channels, height, width]`.
    pub v: Vec<usize>,
    /// Channels of the condition, on the same grid.
    pub condition: usize,
    /// Treatment dimensions.
    pub t: usize,
}

impl Flow {
    /// A flow of `couplings`: the first maps every element, the others a random half and then the other half.
    pub(super) fn init(
        shape: &FlowShape,
        couplings: usize,
        base: &BaseConfig,
        rng: &mut Rng,
        device: &Device,
    ) -> Result<Self> {
        let channels = |channels: usize| [&[channels], &shape.v[1..]].concat();
        let d: usize = shape.v.iter().product();
        let mut kept: Option<Vec<f32>> = None;
        let mut all = Vec::with_capacity(couplings);
        for i in 0..couplings {
            kept = match kept {
                None if i == 0 => None,
                Some(before) if i % 2 == 0 => Some(before.iter().map(|kept| 1.0 - kept).collect()),
                _ => Some(random_half(d, rng)),
            };
            let shapes = Shapes {
                x: channels(shape.condition + if kept.is_some() { shape.v[0] } else { 0 }),
                t: shape.t,
                y: channels(2 * shape.v[0]),
                missing: false,
                classes: 0,
            };
            let mask =
                |kept: Vec<f32>| Param::from_tensor(tensor(kept, [1, d], device)).set_require_grad(false);
            all.push(Coupling { kept: kept.clone().map(mask), net: base.init(&shapes, rng, device)? });
        }
        Ok(Self { couplings: all })
    }

    /// The noise u of v, and log |du/dv| of every unit.
    ///
    /// # Shapes
    /// `[n, elements]` to `[n, elements]` and `[n, 1]`
    pub(super) fn forward(&self, v: Tensor<2>, given: &Conditioning) -> (Tensor<2>, Tensor<2>) {
        let (n, device) = (v.dims()[0], v.device());
        let mut log_det = Tensor::zeros([n, 1], &device);
        let mut u = v;
        for coupling in &self.couplings {
            let (next, change) = coupling.forward(u, given);
            (u, log_det) = (next, log_det + change);
        }
        (u, log_det)
    }

    /// v from its noise u.
    pub(super) fn inverse(&self, u: Tensor<2>, given: &Conditioning) -> Tensor<2> {
        self.couplings.iter().rev().fold(u, |v, coupling| coupling.inverse(v, given))
    }

    /// The mean over elements of -log p(v) = |u|^2 / 2 - log |du/dv|, up to a constant.
    pub(super) fn loss(&self, v: Tensor<2>, given: &Conditioning) -> Tensor<1> {
        let [n, d] = v.dims();
        let (u, log_det) = self.forward(v, given);
        (u.square().sum() * 0.5 - log_det.sum()) / (n * d) as f64
    }
}

/// 1 for a random half of `d` elements, else 0.
fn random_half(d: usize, rng: &mut Rng) -> Vec<f32> {
    let mut kept: Vec<f32> = (0..d).map(|i| f32::from(u8::from(i < d.div_ceil(2)))).collect();
    kept.shuffle(rng);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{MlpConfig, UnetConfig};
    use crate::nn::testing::random;
    use crate::stream;

    fn values(tensor: Tensor<2>) -> Vec<f32> {
        tensor.into_data().try_into_vec().unwrap()
    }

    fn mlp() -> BaseConfig {
        BaseConfig::Mlp(MlpConfig { hidden: vec![16, 16], ..MlpConfig::default() })
    }

    fn unet() -> BaseConfig {
        BaseConfig::Unet(UnetConfig { channels: [4, 8, 8, 8], embed: 8, groups: 4, ..UnetConfig::default() })
    }

    #[test]
    fn the_inverse_restores_the_values() {
        let device = Device::flex().autodiff();
        for (v, condition, base) in [(vec![7], 3, mlp()), (vec![2, 8, 8], 1, unet())] {
            let mut rng = stream(1, &["flow"]);
            let d = v.iter().product();
            let width = condition * v[1..].iter().product::<usize>();
            let flow = Flow::init(&FlowShape { v, condition, t: 1 }, 5, &base, &mut rng, &device).unwrap();
            let y = random([6, d], &mut rng, &device);
            let given = Conditioning {
                condition: random([6, width], &mut rng, &device),
                t: random([6, 1], &mut rng, &device),
            };
            let (u, _) = flow.forward(y.clone(), &given);
            assert!(values(u.clone() - y.clone()).iter().any(|gap| gap.abs() > 1e-2));
            let gap = values(flow.inverse(u, &given) - y);
            assert!(gap.iter().all(|gap| gap.abs() < 1e-4));
        }
    }

    /// log |det| by Gaussian elimination.
    fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
        let (n, mut sum) = (a.len(), 0.0);
        for i in 0..n {
            let pivot = (i..n).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).unwrap();
            a.swap(i, pivot);
            sum += a[i][i].abs().ln();
            let above = a[i].clone();
            for row in &mut a[i + 1..] {
                let factor = row[i] / above[i];
                row.iter_mut().zip(&above).for_each(|(value, above)| *value -= factor * above);
            }
        }
        sum
    }

    #[test]
    fn the_log_determinant_agrees_with_finite_differences() {
        let device = Device::flex().autodiff();
        let mut rng = stream(2, &["flow"]);
        let d = 4;
        let flow =
            Flow::init(&FlowShape { v: vec![d], condition: 2, t: 1 }, 4, &mlp(), &mut rng, &device).unwrap();
        let y = random([1, d], &mut rng, &device);
        let given = Conditioning {
            condition: random([1, 2], &mut rng, &device),
            t: random([1, 1], &mut rng, &device),
        };
        let step = 1e-2;
        let at = |j: usize, sign: f32| {
            let mut moved = values(y.clone());
            moved[j] += sign * step;
            values(flow.forward(tensor(moved, [1, d], &device), &given).0)
        };
        let column = |j: usize| {
            let (high, low) = (at(j, 1.0), at(j, -1.0));
            (0..d).map(|i| f64::from(high[i] - low[i]) / f64::from(2.0 * step)).collect::<Vec<_>>()
        };
        // the matrix is transposed, which does not change its determinant
        let expected = log_det((0..d).map(column).collect());
        let found = f64::from(values(flow.forward(y, &given).1)[0]);
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        assert!(found.abs() > 0.01);
    }
}
