//! Gradient boosting of regression trees on quantile bins, for squared loss.
//!
//! ```text
//! f(x) = mean + sum_r rate tree_r(x),  tree_r fitted to y - f_(r-1)(x)
//! ```
//!
//! Columns are put into at most 255 bins once per table ([`BinnedRows`]); all fits to the table share them. A tree grows
//! best leaf first: sums of residuals by bin give the gain of every split, and those of a leaf's sibling are differences.
//! Missing values (NaN) have a bin of their own and go to the side with the larger gain. One fit runs on one thread and adds
//! in a fixed order, so its bits do not depend on threads; [`cross_fit`] runs the folds side by side.

mod bins;
mod boosted;
mod config;
mod cross_fit;
mod grow;
mod histogram;
#[cfg(test)]
mod tests;

pub(crate) use bins::BinnedRows;
#[cfg(test)]
use boosted::BoostTask;
pub(crate) use boosted::{Boosted, TreeNode};
pub(crate) use config::BoostConfig;
pub(crate) use cross_fit::{CrossFitTask, CrossFittedTrees, cross_fit};
