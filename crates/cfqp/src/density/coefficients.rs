//! What an additive mixture and the network that starts from it have in common.

/// The coefficients of a solution, from which a network starts.
#[derive(Clone, Debug)]
pub(crate) struct Coefficients {
    /// Of the shared features, `[features, outcomes]`; and their prior precisions.
    pub shared: Vec<f64>,
    pub precisions: Vec<f64>,
    /// Of the features of every class, `[features, outcomes]`.
    pub classes: Vec<Vec<f64>>,
    /// Of the noise of every outcome.
    pub variance: Vec<f64>,
    /// Of the class weights, `[classes, 1 + covariates]`.
    pub weights: Vec<f64>,
}
