//! Whether the answers can be trusted: the verdicts, and warnings about the data.

use serde::Serialize;

use super::options::AskOptions;
use super::rho::UsedRho;
use super::verdict::{Grade, Verdict};
use crate::Result;
use crate::data::{Dataset, Warning};
use crate::model::Model;

/// Whether a model's answers about some units can be trusted.
#[derive(Clone, Debug, Serialize)]
pub struct Trust {
    /// The number of units that the verdicts are based on; of more than 5,000, an even sample is used.
    pub units: usize,
    /// Whether no assumption failed.
    pub ok: bool,
    /// The correlation of the noise in both worlds that the answers assume.
    #[serde(flatten)]
    pub rho: UsedRho,
    /// The verdict on each assumption.
    pub verdicts: Vec<Verdict>,
    /// What makes the data unsuitable, however well the assumptions hold.
    pub warnings: Vec<Warning>,
}

impl Model {
    /// A verdict on every assumption that can be checked, and warnings about `data`; see [`verdicts`](Self::verdicts).
    ///
    /// # Errors
    /// As [`verdicts`](Self::verdicts).
    pub fn trust(&self, data: &Dataset, options: AskOptions) -> Result<Trust> {
        let verdicts = self.verdicts(data, options)?;
        Ok(Trust {
            units: data.len(),
            ok: verdicts.iter().all(|verdict| verdict.grade != Grade::Failed),
            rho: self.used_rho(options.rho),
            verdicts,
            warnings: Warning::find(data, self.layout()),
        })
    }
}

impl Trust {
    /// The worst grade of all assumptions.
    pub fn worst(&self) -> Grade {
        self.verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Ok)
    }
}
