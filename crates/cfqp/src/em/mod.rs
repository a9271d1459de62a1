//! Fitting: starts, E step, M step, and what comes of it.

mod cluster;
mod components;
mod explore;
mod mixture;
mod pool;
mod prior;
mod run;
mod scales;
mod split;
mod starts;
mod trainer;
#[cfg(test)]
mod scratch;

pub use cluster::{Choice, Clusters, GaussianMixture, GaussianMixtureFit, KMeans, Rows};
pub use prior::Prior;
pub use scales::Scales;
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
