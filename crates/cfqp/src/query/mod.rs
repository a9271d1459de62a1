//! Counterfactual queries: this unit had x, got t, showed y; what would it have shown under t'?
//!
//! Abduction: the posterior P(k | x, t, y) over classes by Bayes' rule on the fitted mixture, and in each class the
//! unit's own noise u_k = (y - m_k(x, t)) / s_k(t). Action: set t'. Prediction: in each class
//!
//! ```text
//! m_k(x, t') + rho s_k(t') u_k,   variance (1 - rho^2) s_k(t')^2 + the members' own uncertainty
//! ```
//!
//! and over classes the mixture of these by the posterior. rho says how much of the noise is the same in both
//! worlds: 1 is "everything else being equal", 0 draws it anew.
//!
//! What an interval promises is written in [`Calibration`](crate::Calibration); the point answer is the mean of
//! the mixture.

mod abduct;
mod answer;
mod interval;

pub use answer::{Answers, Ask, Diagnosis};
