//! Fitting: starts, E step, M step, and what comes of it.

mod calibrate;
mod cluster;
mod components;
mod explore;
mod fit;
mod fitted;
mod members;
mod mixture;
mod paper;
mod pool;
mod prior;
mod run;
mod scales;
mod select;
mod split;
mod starts;
mod support;
mod trainer;
#[cfg(test)]
mod scratch;

pub use calibrate::Calibration;
pub use cluster::{Choice, Clusters, GaussianMixture, GaussianMixtureFit, KMeans, Rows};
pub(crate) use calibrate::{normal_cdf, normal_half_width};
pub(crate) use components::{BATCH, Components};
pub use fit::{Resources, fit};
pub use fitted::{FitReport, Fitted, StartReport, Tried};
pub(crate) use mixture::{Mixture, gaussian_nll, log_sum_exp, spread};
pub(crate) use pool::Pool;
pub use prior::Prior;
pub use scales::Scales;
pub use support::Support;
pub use trainer::Schedule;

/// Hears how a fit goes on, and may ask it to stop.
pub trait Monitor: Sync {
    /// A network finished an epoch with this loss.
    fn epoch(&self, _loss: f64) {}
    /// Whether the fit should stop.
    fn stopped(&self) -> bool {
        false
    }
}

/// Hears nothing.
impl Monitor for () {}
