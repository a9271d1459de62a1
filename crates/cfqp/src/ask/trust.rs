//! Whether the answers can be trusted: the verdicts, and warnings about the data.

use serde::Serialize;

use super::options::AskOptions;
use super::rho::UsedRho;
use super::verdict::{Grade, Verdict};
use crate::Result;
use crate::data::table::TreatmentValue;
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
    /// The treatments that the verdicts are about; none if they are about typical ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contrast: Option<TrustContrast>,
    /// The verdict on each assumption.
    pub verdicts: Vec<Verdict>,
    /// What makes the data unsuitable, however well the assumptions hold.
    pub warnings: Vec<Warning>,
}

/// One treatment against another.
#[derive(Clone, Debug, Serialize)]
pub struct TrustContrast {
    /// The reference treatment.
    pub from: Vec<TreatmentValue>,
    /// The treatment that is compared with it.
    pub to: Vec<TreatmentValue>,
}

impl Model {
    /// A verdict on every assumption that can be checked, and warnings about `data`; see [`verdicts`](Self::verdicts), and
    /// [`verdicts_for`](Self::verdicts_for) if the answers are about the second treatment of `contrast` against the first.
    ///
    /// # Errors
    /// As [`verdicts_for`](Self::verdicts_for).
    pub fn trust(&self, data: &Dataset, contrast: Option<[&[f32]; 2]>, options: AskOptions) -> Result<Trust> {
        let verdicts = match contrast {
            None => self.verdicts(data, options)?,
            Some([from, to]) => self.verdicts_for(data, from, to, options)?,
        };
        let contrast = contrast.map(|ends| ends.map(|t| self.treatment_values(t)));
        Ok(Trust {
            units: data.len(),
            ok: verdicts.iter().all(|verdict| verdict.grade != Grade::Failed),
            rho: self.used_rho(options.rho),
            contrast: contrast.map(|[from, to]| TrustContrast { from, to }),
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
