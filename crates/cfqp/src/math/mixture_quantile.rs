//! Quantiles of a mixture of Gaussians, F(y) = sum_k w_k Phi((y - m_k) / s_k).

use super::special::{normal_cdf, normal_density};

/// A component with at least this weight is the whole mixture.
const CERTAIN_WEIGHT: f64 = 0.999;
/// A quantile is found to this share of the width of the mixture.
const RELATIVE_TOLERANCE: f64 = 1e-9;
/// Steps of the root search; bisection alone would reach the tolerance in 30.
const MAX_STEPS: usize = 40;

/// One component: its weight, mean and standard deviation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GaussianComponent {
    pub weight: f64,
    pub mean: f64,
    pub deviation: f64,
}

impl GaussianComponent {
    /// Phi((y - m) / s); a step at m where s is 0.
    fn cdf(&self, y: f64) -> f64 {
        if self.deviation > 0.0 {
            return normal_cdf((y - self.mean) / self.deviation);
        }
        match y.total_cmp(&self.mean) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 1.0,
        }
    }

    /// The density at y; 0 where s is 0.
    fn density(&self, y: f64) -> f64 {
        if self.deviation > 0.0 {
            normal_density((y - self.mean) / self.deviation) / self.deviation
        } else {
            0.0
        }
    }
}

/// The quantiles (1 - level) / 2 and (1 + level) / 2 of a mixture; `z` is the half width of a standard normal at that
/// level.
pub(crate) fn central_interval(components: &[GaussianComponent], level: f64, z: f64) -> (f64, f64) {
    if let Some(only) = components.iter().find(|component| component.weight > CERTAIN_WEIGHT) {
        return (only.mean - z * only.deviation, only.mean + z * only.deviation);
    }
    let tail = 0.5 * (1.0 - level);
    (quantile(components, tail, z), quantile(components, 1.0 - tail, z))
}

/// Newton's method within a bracket, with bisection where a step would leave it.
fn quantile(components: &[GaussianComponent], p: f64, z: f64) -> f64 {
    let reach = |component: &GaussianComponent| (z + 1.0).max(4.0) * component.deviation;
    let lows = components.iter().map(|component| component.mean - reach(component));
    let highs = components.iter().map(|component| component.mean + reach(component));
    let mut low = lows.fold(f64::INFINITY, f64::min);
    let mut high = highs.fold(f64::NEG_INFINITY, f64::max);
    let tolerance = RELATIVE_TOLERANCE * (high - low);
    let mut at = 0.5 * (low + high);
    for _ in 0..MAX_STEPS {
        let excess = mixture_cdf(components, at) - p;
        if excess < 0.0 {
            low = at;
        } else {
            high = at;
        }
        let newton = at - excess / density(components, at);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - at).abs() <= tolerance {
            return next;
        }
        at = next;
    }
    at
}

/// F(y)
fn mixture_cdf(components: &[GaussianComponent], y: f64) -> f64 {
    components.iter().map(|component| component.weight * component.cdf(y)).sum()
}

fn density(components: &[GaussianComponent], y: f64) -> f64 {
    components.iter().map(|component| component.weight * component.density(y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{UNIFORM_NODES, normal_half_width};
    use proptest::prelude::*;

    fn component(weight: f64, mean: f64, deviation: f64) -> GaussianComponent {
        GaussianComponent { weight, mean, deviation }
    }

    fn interval(components: &[GaussianComponent]) -> (f64, f64) {
        central_interval(components, 0.9, normal_half_width(0.9))
    }

    #[test]
    fn one_gaussian_has_its_own_quantiles() {
        let (low, high) = interval(&[component(1.0, 2.0, 0.5)]);
        assert!((low - (2.0 - 0.5 * 1.644_853_626_951_472_9)).abs() < 1e-12);
        assert!((high - (2.0 + 0.5 * 1.644_853_626_951_472_9)).abs() < 1e-12);
        let (same_low, same_high) = interval(&[component(0.5, 2.0, 0.5), component(0.5, 2.0, 0.5)]);
        assert!((same_low - low).abs() < 1e-8 && (same_high - high).abs() < 1e-8);
    }

    #[test]
    fn an_interval_of_two_distant_components_spans_both() {
        // each tail of 0.05 is a tail of 0.1 of its component
        let (low, high) = interval(&[component(0.5, 0.0, 0.5), component(0.5, 10.0, 0.5)]);
        let half = 0.5 * normal_half_width(0.8);
        assert!((low + half).abs() < 1e-6 && (high - 10.0 - half).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn a_component_without_deviation_is_a_step() {
        let mixture = [component(0.3, 0.0, 0.1), component(0.6, 8.0, 2.0), component(0.1, -5.0, 0.0)];
        for p in [0.04, 0.05, 0.09] {
            assert!((quantile(&mixture, p, 1.6449) + 5.0).abs() < 1e-6, "{p}");
        }
        for p in [0.3, 0.5, 0.95, 0.999] {
            let found = mixture_cdf(&mixture, quantile(&mixture, p, 1.6449));
            assert!((found - p).abs() < 1e-6, "{p}: {found}");
        }
    }

    #[test]
    fn three_nodes_stand_for_a_uniform_correlation() {
        // a standard normal y with correlation rho to u is N(rho u, 1 - rho^2)
        let given = |weight: f64, rho: f64, u: f64| component(weight, rho * u, (1.0 - rho * rho).sqrt());
        for u in [0.0, 0.5, 1.0, 2.0, 3.0] {
            let nodes: Vec<_> = UNIFORM_NODES.iter().map(|node| given(node.weight, node.at, u)).collect();
            let (low, high) = interval(&nodes);
            let uniform: Vec<_> = (0..1000).map(|i| given(0.001, (f64::from(i) + 0.5) / 1000.0, u)).collect();
            let covered = mixture_cdf(&uniform, high) - mixture_cdf(&uniform, low);
            assert!((covered - 0.9).abs() < 0.005, "u = {u}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_distribution(
            means in prop::collection::vec(-5.0_f64..5.0, 3),
            deviations in prop::collection::vec(0.1_f64..3.0, 3),
            p in 0.01_f64..0.99,
        ) {
            let mixture: Vec<_> = means.iter().zip(&deviations).map(|(m, s)| component(1.0 / 3.0, *m, *s)).collect();
            prop_assert!((mixture_cdf(&mixture, quantile(&mixture, p, 2.6)) - p).abs() < 1e-6);
        }
    }
}
