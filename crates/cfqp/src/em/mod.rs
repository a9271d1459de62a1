//! Fitting: starts, E step, M step, and what comes of it.

mod calibrate;
mod cluster;
mod components;
mod evidence;
mod explore;
mod fit;
mod fitted;
mod learner;
mod members;
mod mixture;
mod paper;
mod pool;
mod prepared;
mod prior;
mod resources;
mod run;
mod scales;
mod select;
mod split;
mod starts;
mod still;
mod store;
mod support;
mod told;
mod trainer;

pub use calibrate::Calibration;
pub(crate) use calibrate::{normal_cdf, normal_half_width};
pub use cluster::{Choice, Clusters, GaussianMixture, GaussianMixtureFit, KMeans, Rows};
pub(crate) use components::Components;
pub use fit::{compare_classes, fit};
pub use fitted::{FitReport, Fitted, StartReport, Tried};
pub(crate) use mixture::{Mixture, around, covariance, gaussian_nll, log_sum_exp, spread};
pub(crate) use pool::Pool;
pub(crate) use prepared::Prepared;
pub use prior::Prior;
pub use resources::{DeviceKind, Resources};
pub use scales::Scales;
pub use still::Stillness;
pub(crate) use store::fingerprint;
pub use support::Support;
pub(crate) use told::fit_told;
pub use trainer::Schedule;
pub(crate) use trainer::Trainer;

/// Hears how a fit goes on, and may ask it to stop. Called from several threads.
pub trait Monitor: Sync {
    /// Work begins that will take about so many epochs, on top of what was announced before.
    fn stage(&self, _name: &str, _epochs: usize) {}
    /// A network finished an epoch with this loss.
    fn epoch(&self, _loss: f64) {}
    /// Whether the fit should stop: it then ends with [`Error::Interrupted`](crate::Error::Interrupted).
    fn stopped(&self) -> bool {
        false
    }
}

/// Hears nothing.
impl Monitor for () {}
