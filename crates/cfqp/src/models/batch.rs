//! Standardised batches of a data set, gathered on demand.

use burn::tensor::{Device, Tensor};

use super::Input;
use crate::data::{ChannelScaler, Dataset, Scaler, Units};
use crate::nn::tensor;

/// Gathers units of a data set, standardises them and copies them to a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batcher<'a> {
    pub data: &'a Dataset,
    pub scaler: &'a Scaler,
    /// Whether the networks expect an indicator of missing x.
    pub missing: bool,
}

/// Standardised outcomes `[n, y elements]`, with 1 where observed, where some are not.
pub(crate) struct Target {
    pub y: Tensor<2>,
    pub observed: Option<Tensor<2>>,
}

/// The class input of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClassInput<'a> {
    /// The network has no class input.
    None,
    /// The class of every row of the data set.
    PerRow { labels: &'a [usize], classes: usize },
    /// The same class for all rows.
    Same { class: usize, classes: usize },
}

impl ClassInput<'_> {
    fn one_hot(self, rows: &[usize], device: &Device) -> Option<Tensor<2>> {
        let classes = match self {
            Self::None => return None,
            Self::PerRow { classes, .. } | Self::Same { classes, .. } => classes,
        };
        let mut values = vec![0.0; rows.len() * classes];
        for (i, &row) in rows.iter().enumerate() {
            let class = match self {
                Self::PerRow { labels, .. } => labels[row],
                Self::Same { class, .. } => class,
                Self::None => continue,
            };
            values[i * classes + class] = 1.0;
        }
        Some(tensor(values, [rows.len(), classes], device))
    }
}

/// Steps or pixels per batch in prediction, about ...
const PREDICTION_SITES: usize = 50_000;
/// ... but never more units than this.
const MAX_PREDICTION_UNITS: usize = 256;

impl Batcher<'_> {
    /// Whether a covariate or outcome of a unit is extremely far from the mean of the training units.
    pub(crate) fn has_extreme_value(&self, row: usize) -> bool {
        let (x, y) = (self.data.x(), self.data.y());
        self.scaler.x.has_extreme(&x.row(row), x.mask_row(row))
            || self.scaler.y.has_extreme(&y.row(row), y.mask_row(row))
    }

    /// Units per batch in prediction: fewer for images, whose layers are large.
    pub(crate) fn at_once(&self) -> usize {
        (PREDICTION_SITES / self.scaler.y.sites()).clamp(1, MAX_PREDICTION_UNITS)
    }

    /// The network input of `rows`.
    pub(crate) fn input(&self, rows: &[usize], class: ClassInput<'_>, device: &Device) -> Input {
        let t = self.treatments(rows);
        self.input_under(rows, t, class, device)
    }

    /// As [`input`](Self::input), with other, standardised treatments.
    pub(crate) fn input_under(
        &self,
        rows: &[usize],
        t: Vec<f32>,
        class: ClassInput<'_>,
        device: &Device,
    ) -> Input {
        let (n, each, d_t) = (rows.len(), self.scaler.x.elements(), self.scaler.t.elements());
        let x = tensor(self.covariates(rows), [n, each], device);
        let missing = self.missing.then(|| tensor(self.missing_x(rows), [n, each], device));
        Input {
            x,
            missing,
            t: tensor(t, [n, d_t], device),
            class: class.one_hot(rows, device),
            dropout: None,
        }
    }

    /// Standardised covariates of `rows`; zero, the training mean, where missing.
    pub(crate) fn covariates(&self, rows: &[usize]) -> Vec<f32> {
        gather(self.data.x(), &self.scaler.x, rows)
    }

    /// 1 where x is missing.
    pub(crate) fn missing_x(&self, rows: &[usize]) -> Vec<f32> {
        let units = self.data.x();
        let mut missing = Vec::with_capacity(rows.len() * units.elements());
        for &row in rows {
            match units.mask_row(row) {
                Some(mask) => missing.extend(mask.iter().map(|&observed| f32::from(u8::from(!observed)))),
                None => missing.resize(missing.len() + units.elements(), 0.0),
            }
        }
        missing
    }

    /// Standardised treatments of `rows`; zero, the training mean, where missing.
    pub(crate) fn treatments(&self, rows: &[usize]) -> Vec<f32> {
        gather(self.data.t(), &self.scaler.t, rows)
    }

    /// Standardised outcomes of `rows`, as numbers; zero, the training mean, where missing.
    pub(crate) fn outcomes(&self, rows: &[usize]) -> Vec<f32> {
        gather(self.data.y(), &self.scaler.y, rows)
    }

    /// How many elements of the outcomes of `rows` were observed.
    pub(crate) fn observed(&self, rows: &[usize]) -> usize {
        let units = self.data.y();
        let seen = |&row: &usize| {
            units.mask_row(row).map_or(units.elements(), |mask| mask.iter().filter(|m| **m).count())
        };
        rows.iter().map(seen).sum()
    }

    /// Standardised outcomes of `rows`, as tensors.
    pub(crate) fn target(&self, rows: &[usize], device: &Device) -> Target {
        let shape = [rows.len(), self.scaler.y.elements()];
        let observed = self.data.y().mask().is_some().then(|| {
            let masks = rows.iter().filter_map(|&row| self.data.y().mask_row(row));
            let values = masks.flatten().map(|&observed| f32::from(u8::from(observed))).collect();
            tensor(values, shape, device)
        });
        Target { y: tensor(self.outcomes(rows), shape, device), observed }
    }
}

fn gather(units: &Units, moments: &ChannelScaler, rows: &[usize]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * units.elements());
    for &row in rows {
        moments.standardise_into(&units.row(row), &mut out);
        if let Some(mask) = units.mask_row(row) {
            let start = out.len() - mask.len();
            let values = out[start..].iter_mut().zip(mask);
            values.filter(|(_, observed)| !**observed).for_each(|(value, _)| *value = 0.0);
        }
    }
    out
}
