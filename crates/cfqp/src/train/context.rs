//! What every part of a fit works with.

use std::sync::Arc;

use burn::tensor::Device;

use super::checkpoint::{Checkpoint, JobResult};
use super::split::Split;
use super::trainer::{Task, Trained};
use crate::config::ValidConfig;
use crate::data::{Dataset, NamedArray, Scaler};
use crate::models::{BaseConfig, Batcher, ClassInput, Net, Shapes};
use crate::nn::{load_weights, save_weights};
use crate::runtime::{Monitor, Pool};
use crate::{Result, stream};

/// Data, settings and resources of one fit.
pub(crate) struct Context<'a> {
    pub config: &'a ValidConfig,
    pub data: &'a Dataset,
    pub scaler: &'a Scaler,
    pub shapes: &'a Shapes,
    pub split: &'a Split,
    pub device: &'a Device,
    pub pool: &'a Arc<Pool>,
    pub monitor: &'a dyn Monitor,
    pub checkpoint: &'a Checkpoint,
}

impl<'a> Context<'a> {
    /// Standardised batches of the data.
    pub(crate) fn batcher(&self) -> Batcher<'a> {
        Batcher { data: self.data, scaler: self.scaler, missing: self.shapes.missing }
    }

    /// Training of one network on all training units, with early stopping on the validation units.
    pub(crate) fn task(&self) -> Task<'a> {
        Task {
            batcher: self.batcher(),
            train: &self.split.train,
            valid: &self.split.valid,
            class: ClassInput::None,
            device: self.device,
            alone: true,
        }
    }

    /// A network with random weights from the stream `name`; with the class as input if `classes` is not zero.
    pub(crate) fn init(&self, base: &BaseConfig, classes: usize, name: &[&str]) -> Result<Net> {
        let shapes = Shapes { classes, ..self.shapes.clone() };
        base.init(&shapes, &mut stream(self.config.seed, name), self.device)
    }

    /// A network with the given weights.
    pub(crate) fn restore(&self, base: &BaseConfig, classes: usize, weights: &[NamedArray]) -> Result<Net> {
        load_weights(self.init(base, classes, &[])?, weights)
    }

    /// The trained network of the job `key`: from the checkpoint, or by `train`.
    pub(crate) fn trained(
        &self,
        key: &str,
        base: &BaseConfig,
        classes: usize,
        train: impl FnOnce() -> Result<Trained>,
    ) -> Result<Trained> {
        if let Some(JobResult { nets, numbers }) = self.checkpoint.get(key)
            && let ([weights], &[loss, epochs]) = (&nets[..], &numbers[..])
        {
            return Ok(Trained { net: self.restore(base, classes, weights)?, loss, epochs: epochs as usize });
        }
        let trained = train()?;
        let numbers = vec![trained.loss, trained.epochs as f64];
        self.checkpoint.insert(key, JobResult { nets: vec![save_weights(&trained.net)], numbers })?;
        Ok(trained)
    }
}
