//! Rivals: other ways to answer the same question, on the same data, behind the same contract as our own model.
//!
//! | | |
//! |---|---|
//! | Deep-ITE | m(x, t') of one model for all units: ignores what the unit showed |
//! | SC | the unit's x rebuilt from training units that got t' |
//! | Deep-SCM | a conditional normalising flow: the unit's noise is read off and pushed through under t' |
//! | Diff-SCM | a diffusion: noise is read off along its probability flow and followed back under t' |
//! | CFQP, k-means or GMM | the published algorithm |
//!
//! None of them sees the truth. Each is fixed by data, settings and seed, to the bit, for any number of threads.

#[cfg(test)]
mod contract;
mod deep_scm;
mod descent;
mod diff_scm;
mod dopri;
mod flow;
mod method;
mod mixture;
mod pyramid;
mod simplex;
mod synthetic_control;

pub use deep_scm::{DeepScm, DeepScmConfig};
pub use diff_scm::{DiffScm, DiffScmConfig};
pub use method::{Method, MethodConfig};
pub use mixture::{DeepIte, Own, Published};
pub use synthetic_control::{SyntheticControl, SyntheticControlConfig};

use crate::data::{Batcher, Dataset, Units};
use crate::em::{Fitted, Pool, Prepared};
use crate::{Ask, Result};

/// The answers of a method that learned from `prepared`, in parallel over batches: `answer` is told the rows of `data`
/// and their new treatments, standardised, and answers in the units of the data.
fn in_batches(
    prepared: &Prepared,
    data: &Dataset,
    to: &Units,
    threads: usize,
    answer: impl Fn(&Batcher<'_>, &[usize], &[f32]) -> Result<Vec<f32>> + Sync,
) -> Result<Units> {
    let shapes = &prepared.shapes;
    shapes.check(data)?;
    let to = shapes.treatments(&prepared.scaler.t, to, data.len())?;
    let (batcher, rows): (_, Vec<usize>) = (prepared.batcher(data), (0..data.len()).collect());
    let parts = Pool::new(threads)?.try_map(rows.chunks(batcher.at_once()).collect(), |rows| {
        answer(&batcher, rows, &to[rows[0] * shapes.t..][..rows.len() * shapes.t])
    })?;
    Units::new("answer", shapes.y.clone(), parts.concat())
}

/// A fitted method.
pub trait Counterfactual: Send + Sync {
    /// The outcome of each unit of `data`, had its treatment been that of `to`, in the units of the data.
    ///
    /// `to` has one treatment per unit, or one for all.
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units>;

    /// The loss on training units that were held out, in the method's own terms: settings of one method may be chosen by
    /// it, methods not compared. Of a mixture: the squared error in standardised outcomes.
    fn validation_loss(&self) -> Option<f64> {
        self.mixture().map(|(fitted, _)| fitted.report().val_mse)
    }

    /// The mixture of classes behind the answers, where there is one, and how it is asked.
    fn mixture(&self) -> Option<(&Fitted, Ask)> {
        None
    }
}
