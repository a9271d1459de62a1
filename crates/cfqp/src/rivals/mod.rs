//! Other methods that answer counterfactual queries, on the same data and behind the same trait as the library's own.
//!
//! | | |
//! |---|---|
//! | Deep-ITE | m(x, t') of one model for all units; the factual outcome is not used |
//! | SC | synthetic control: the unit's x as a weighted mean of training units treated with t' |
//! | Deep-SCM | a conditional normalising flow: noise is abducted under t and pushed through under t' |
//! | Diff-SCM | a diffusion: noise is abducted along the probability flow under t, which is followed back under t' |
//! | CFQP, k-means or GMM | the published algorithm |
//! | regression | m(x, t') of cross-fitted boosted trees |
//! | residual | the same plus the unit's residual, m(x, t') + y - m(x, t) |
//! | shrunk residual | the same with half of the residual, or the share that repeats of a subject have in common |
//! | conformal | the regression, with intervals by weighted cross-conformal prediction |
//!
//! None of them uses the truth. Equal data, settings and seed give equal bits, for any number of threads.

mod cfqp;
mod conformal;
#[cfg(test)]
mod contract;
mod deep_scm;
mod descent;
mod diff_scm;
mod dopri;
mod flow;
mod method;
mod plain;
mod pyramid;
mod simplex;
mod synthetic_control;

pub use deep_scm::DeepScmConfig;
pub use diff_scm::DiffScmConfig;
pub use method::{Method, MethodConfig};
pub use synthetic_control::SyntheticControlConfig;

use crate::ask::AskOptions;
use crate::data::{Dataset, Units};
use crate::model::Model;
use crate::models::Batcher;
use crate::runtime::Pool;
use crate::train::Prepared;
use crate::{Error, Result};

/// The answers of a method that was fitted to `prepared`, in parallel over batches. `answer` gets rows of `data` and their
/// new treatments, standardised, and returns outcomes in the units of the data.
fn answer_in_batches(
    prepared: &Prepared,
    data: &Dataset,
    to: &Units,
    pool: &Pool,
    answer: impl Fn(&Batcher<'_>, &[usize], &[f32]) -> Result<Vec<f32>> + Sync,
) -> Result<Units> {
    let shapes = &prepared.shapes;
    shapes.check(data)?;
    let to = shapes.treatments(&prepared.scaler.t, to, data.len())?;
    let (batcher, rows): (_, Vec<usize>) = (prepared.batcher(data), (0..data.len()).collect());
    let parts = pool.try_map(rows.chunks(batcher.at_once()).collect(), |rows| {
        answer(&batcher, rows, &to[rows[0] * shapes.t..][..rows.len() * shapes.t])
    })?;
    Units::new("answer", shapes.y.clone(), parts.concat())
}

/// Checks that none of the named settings is 0.
fn check_positive(settings: &[(&'static str, usize)]) -> Result<()> {
    match settings.iter().find(|(_, value)| *value == 0) {
        Some(&(name, _)) => Err(Error::config(name, "must be at least 1, is 0", "give a positive integer")),
        None => Ok(()),
    }
}

/// The model behind the answers of a method, and how it is asked.
#[derive(Clone, Copy, Debug)]
pub struct MixtureView<'a> {
    /// The model.
    pub model: &'a Model,
    /// The options of its questions.
    pub options: AskOptions,
}

/// A fitted method with intervals.
pub trait PredictIntervals {
    /// The lower and the upper ends of intervals of level 0.9 for the outcome of each unit of `data` under the treatment
    /// `to`, which holds one per unit or one for all.
    fn interval_ends(&self, data: &Dataset, to: &Units) -> Result<[Units; 2]>;
}

/// A fitted method.
pub trait Counterfactual: Send + Sync {
    /// The outcome of each unit of `data` under the treatment `to`, in the units of the data.
    ///
    /// `to` holds one treatment per unit, or one for all.
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units>;

    /// The intervals of a method that has them without being a mixture.
    fn intervals(&self) -> Option<&dyn PredictIntervals> {
        None
    }

    /// The loss on held-out training units, on the method's own scale: it can choose between settings of one method, not
    /// between methods. For a mixture it is the squared error of standardised outcomes.
    fn validation_loss(&self) -> Option<f64> {
        self.mixture().map(|mixture| mixture.model.fit_report().val_mse)
    }

    /// The mixture of classes behind the answers and the options of its questions, if there is one.
    fn mixture(&self) -> Option<MixtureView<'_>> {
        None
    }
}
