//! Data prepared for training: the split, the standardisation and the shapes.

use super::split::Split;
use crate::data::{Dataset, MIN_SUBJECTS, MIN_UNITS, Scaler};
use crate::models::{Batcher, Shapes};
use crate::{Error, Result, stream};

/// What every method trains on; equal for all methods that share data and seed.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub split: Split,
    pub scaler: Scaler,
    pub shapes: Shapes,
}

impl Prepared {
    /// `data`, split at random by `seed`. With `raw_treatment`, t is not standardised.
    pub(crate) fn new(data: &Dataset, seed: u64, raw_treatment: bool) -> Result<Self> {
        check_size(data)?;
        Ok(Self::with_split(data, Split::new(data, &mut stream(seed, &["split"])), raw_treatment))
    }

    /// As [`new`](Self::new), with the last `validation_units` units for validation and calibration.
    pub(crate) fn with_validation(
        data: &Dataset,
        validation_units: usize,
        seed: u64,
        raw_treatment: bool,
    ) -> Self {
        let split = Split::with_held_out(data, validation_units, &mut stream(seed, &["split"]));
        Self::with_split(data, split, raw_treatment)
    }

    fn with_split(data: &Dataset, split: Split, raw_treatment: bool) -> Self {
        let scaler = Scaler::fit(&data.view(split.train.clone()), raw_treatment);
        Self { split, scaler, shapes: Shapes::from_data(data) }
    }

    /// Batches of `data`, which has these shapes.
    pub(crate) fn batcher<'a>(&'a self, data: &'a Dataset) -> Batcher<'a> {
        Batcher { data, scaler: &self.scaler, missing: self.shapes.missing }
    }
}

/// Checks that there are enough units and subjects to fit a model to.
pub(crate) fn check_size(data: &Dataset) -> Result<()> {
    if data.len() < MIN_UNITS {
        let problem = format!("{} units are too few to fit a model to", data.len());
        return Err(Error::data("x", problem, format!("give at least {MIN_UNITS}")));
    }
    match data.subjects().filter(|subjects| *subjects < MIN_SUBJECTS) {
        None => Ok(()),
        Some(subjects) => {
            let problem = format!("{subjects} subjects are too few to fit a model to");
            let hint =
                format!("give at least {MIN_SUBJECTS}; subjects are split into sets, their units are not");
            Err(Error::data("group", problem, hint))
        }
    }
}
