//! What a fit needs before it starts: validated settings, split and standardised data, threads, a checkpoint.

use std::sync::Arc;

use super::Fit;
use crate::Result;
use crate::config::Recipe;
use crate::data::Dataset;
use crate::runtime::Pool;
use crate::train::{Checkpoint, Context, Prepared, check_size};

/// Validates, splits and standardises, then calls `run`.
pub(super) fn with_context<R>(
    fit: &Fit<'_>,
    data: &Dataset,
    run: impl FnOnce(&Context<'_>) -> Result<R>,
) -> Result<R> {
    let config = fit.config.clone().into_valid()?;
    let device = fit.resources.device.open()?;
    check_size(data)?;
    data.check_observed()?;
    data.check_scales()?;
    fit.validation.map_or(Ok(()), |validation| validation.units.check_observed())?;
    let raw_treatment = config.recipe == Recipe::Paper;
    let joined = fit.validation.map(|validation| data.join(validation.units)).transpose()?;
    let validation_units = fit.validation.map_or(0, |validation| validation.units.len());
    let data = joined.as_ref().unwrap_or(data);
    let prepared = match fit.validation {
        None => Prepared::new(data, config.seed, raw_treatment)?,
        Some(_) => Prepared::with_validation(data, validation_units, config.seed, raw_treatment),
    };
    let pool = Arc::new(Pool::new(fit.resources.threads)?);
    let checkpoint = Checkpoint::open(&fit.resources, &config, data, validation_units)?;
    run(&Context {
        config: &config,
        data,
        scaler: &prepared.scaler,
        shapes: &prepared.shapes,
        split: &prepared.split,
        device: &device,
        pool: &pool,
        monitor: fit.monitor,
        checkpoint: &checkpoint,
    })
}
