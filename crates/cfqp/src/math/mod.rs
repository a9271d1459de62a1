//! Numerical methods that know nothing of units, models or files: special functions, linear algebra, statistics,
//! clustering, agreement of partitions, quadrature and coverage of intervals.

pub(crate) mod cluster;
mod coverage;
pub(crate) mod isa;
mod linear;
mod mixture_quantile;
mod partition;
pub(crate) mod product;
mod quadrature;
pub(crate) mod simd;
mod special;
mod stats;

pub use coverage::Coverage;
pub(crate) use coverage::coverage;
pub(crate) use linear::{
    GrowingCholesky, NotPositiveDefinite, cholesky, cholesky_solve, dot, solve_lower, solve_with_factor,
};
pub(crate) use mixture_quantile::{GaussianComponent, central_interval};
pub(crate) use partition::best_assignment;
pub use partition::{adjusted_rand_index, best_matching, class_accuracy};
pub(crate) use quadrature::{QuadratureNode, UNIFORM_NODES};
pub(crate) use special::{
    chi_squared_tail, ln_gamma, normal_cdf, normal_density, normal_half_width, normal_quantile,
    student_half_width,
};
pub(crate) use stats::{
    argmax, argmin, log_sum_exp, log_sum_exp_of, mean, mean_observed, paired_difference, standard_deviation,
};
