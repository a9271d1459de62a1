//! Integrals over [0, 1] by a few weighted points.

/// A point in [0, 1] and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuadratureNode {
    pub at: f64,
    pub weight: f64,
}

/// Gauss-Legendre quadrature with three nodes: exact for polynomials up to degree 5.
pub(crate) const UNIFORM_NODES: [QuadratureNode; 3] = [
    QuadratureNode { at: 0.112_701_665_379_258_31, weight: 5.0 / 18.0 },
    QuadratureNode { at: 0.5, weight: 8.0 / 18.0 },
    QuadratureNode { at: 0.887_298_334_620_741_7, weight: 5.0 / 18.0 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_up_to_five_are_integrated_exactly() {
        for power in 0..=5 {
            let integral: f64 = UNIFORM_NODES.iter().map(|node| node.weight * node.at.powi(power)).sum();
            assert!((integral - 1.0 / f64::from(power + 1)).abs() < 1e-15, "{power}: {integral}");
        }
    }
}
