//! Hidden classes: starts, E step, M step.

mod cluster;

pub use cluster::{Choice, Clusters, KMeans, Mixture, MixtureFit, Rows};
