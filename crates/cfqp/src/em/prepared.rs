//! Data made ready to learn from: who trains, selects and calibrates, and how everything is standardised.

use super::split::Split;
use crate::data::{Batcher, Dataset, Scaler};
use crate::models::Shapes;
use crate::{Error, Result, stream};

/// Fewest units that a fit accepts.
const LEAST_UNITS: usize = 20;

/// What every method learns from; the same for all that share data and seed.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub split: Split,
    pub scaler: Scaler,
    pub shapes: Shapes,
}

impl Prepared {
    /// `data` split by `seed`. With `raw_treatment`, t is not standardised.
    pub fn new(data: &Dataset, seed: u64, raw_treatment: bool) -> Result<Self> {
        enough(data)?;
        Ok(Self::with(data, Split::new(data.len(), &mut stream(seed, &["split"])), raw_treatment))
    }

    /// As [`new`](Self::new), with the last `others` units to select and calibrate on.
    pub fn given(data: &Dataset, others: usize, seed: u64, raw_treatment: bool) -> Self {
        let split = Split::given(data.len() - others, others, &mut stream(seed, &["split"]));
        Self::with(data, split, raw_treatment)
    }

    fn with(data: &Dataset, split: Split, raw_treatment: bool) -> Self {
        let scaler = Scaler::fit(&data.view(split.train.clone()), raw_treatment);
        Self { split, scaler, shapes: Shapes::of(data) }
    }

    /// Batches of `data`, which has these shapes.
    pub fn batcher<'a>(&'a self, data: &'a Dataset) -> Batcher<'a> {
        Batcher { data, scaler: &self.scaler, missing: self.shapes.missing }
    }
}

/// Whether a model can be fitted to `data`.
pub(crate) fn enough(data: &Dataset) -> Result<()> {
    if data.len() >= LEAST_UNITS {
        return Ok(());
    }
    let problem = format!("{} units are too few to fit a model on", data.len());
    Err(Error::data("x", problem, format!("give at least {LEAST_UNITS}")))
}
